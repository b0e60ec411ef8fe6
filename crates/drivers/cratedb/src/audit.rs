//! Counts, checksums by key, and rows read back, over HTTP. The SQL is the same as over the PostgreSQL wire; this
//! module handles its responses, and limits their length: the server builds a response in memory before it sends the
//! first byte.

use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::stored::{KeyRange, StoredRow, is_within};

use super::query::{AdminConnection, name_list};
use highwater_driver::contract::{RowTaker, ShardCopies};
use highwater_driver::sql::audit as sql;
use highwater_driver::sql::connection::Texts;
use highwater_driver::sql::cratedb::CRATEDB;
use highwater_model::user_error::UserError;

/// Maximum number of rows of the first response, and of any response.
const ROWS_FIRST: usize = 4_000;
const ROWS_MAX: usize = 400_000;
/// Approximate bytes of the values of one response, unless all of its rows have the same key: the server keeps several
/// times as much in memory.
const BYTES_MAX: usize = 8 << 20;

/// Runs a statement after making a table's writes visible, and reads its response; `read` returns `None` if it does not
/// consist of integers.
pub(super) async fn of_integers<T>(
    connection: &mut AdminConnection,
    table: &BoundTable,
    statement: String,
    read: impl FnOnce(&Texts) -> Option<T>,
) -> Result<T, UserError> {
    connection.refresh(&table.name).await?;
    let rows = connection.long_rows(&statement).await?;
    read(&rows).ok_or_else(|| sql::not_integers(&connection.node.shown))
}

/// See [`highwater_driver::contract::TableReader::read_rows`].
pub(super) async fn read(
    connection: &mut AdminConnection,
    table: &BoundTable,
    ranges: &[KeyRange],
    take: &mut RowTaker<'_>,
) -> Result<(), UserError> {
    connection.refresh(&table.name).await?;
    let mut walk = Walk::default();
    for (statement, part) in sql::reads(&CRATEDB, table, ranges) {
        let mut from = Some(0);
        while let Some(first) = from {
            let page = sql::page(&CRATEDB, &statement, first, walk.rows);
            let rows = connection.long_rows(&page).await?;
            let (found, next) = walk.next(table, rows);
            found.into_iter().filter(|row| is_within(part, row.key)).for_each(&mut *take);
            from = match next {
                Next::End => None,
                Next::From(key) => Some(key),
                Next::AllOf(key) => {
                    let all = sql::of_key(&CRATEDB, &statement, key);
                    let rows = connection.long_rows(&all).await?;
                    let found = rows.into_iter().filter_map(|row| sql::stored(table, row));
                    found.filter(|row| is_within(part, row.key)).for_each(&mut *take);
                    Some(key + 1)
                }
            };
        }
    }
    Ok(())
}

/// Walks the keys of a table in ascending order, with responses of about equal size.
struct Walk {
    /// Maximum number of rows of the next response.
    rows: usize,
}

impl Default for Walk {
    fn default() -> Self {
        Self { rows: ROWS_FIRST }
    }
}

/// The position from which a walk continues.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    End,
    /// At this key, some of whose rows are not known yet.
    From(u64),
    /// With all rows of this key, because they are more than a response may have.
    AllOf(u64),
}

impl Walk {
    /// The rows of a response that are new and whose key is complete, and the next position.
    fn next(&mut self, table: &BoundTable, rows: Texts) -> (Vec<StoredRow>, Next) {
        let (count, limit) = (rows.len(), self.rows);
        let bytes: usize = rows.iter().flatten().flatten().map(String::len).sum();
        let mut found: Vec<StoredRow> =
            rows.into_iter().filter_map(|row| sql::stored(table, row)).collect();
        if count < limit {
            return (found, Next::End);
        }
        let fit = (BYTES_MAX / (bytes / count.max(1)).max(1)).clamp(1, ROWS_MAX);
        self.rows = fit.min(limit.saturating_mul(8));
        let Some(last) = found.last().map(|row| row.key) else {
            return (found, Next::End);
        };
        found.retain(|row| row.key < last);
        let next = if found.is_empty() { Next::AllOf(last) } else { Next::From(last) };
        (found, next)
    }
}

/// Rows of each copy of each shard; see [`highwater_driver::contract::TableReader::copies`].
pub(super) async fn copies(
    connection: &mut AdminConnection,
    workload: &BoundWorkload,
) -> Result<Vec<ShardCopies>, UserError> {
    let tables: Vec<String> = workload.tables.iter().map(|t| t.name.clone()).collect();
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    for table in &tables {
        connection.refresh(table).await?;
    }
    let rows = connection
        .long_rows(&format!(
            "SELECT table_name, partition_ident, id, num_docs, \
             CASE WHEN routing_state IN ('STARTED', 'RELOCATING') THEN 1 ELSE 0 END FROM sys.shards \
             WHERE schema_name = current_schema AND table_name IN ({}) \
             ORDER BY table_name, partition_ident, id, \"primary\" DESC",
            name_list(&tables)
        ))
        .await?;
    of_rows(&rows).ok_or_else(|| sql::not_integers(&connection.node.shown))
}

/// The copies of each shard: table, partition, shard, rows, and 1 for a copy in use. An unassigned copy has no rows to
/// compare. Neither does one that a node is just taking over: it is in use and reports none. `None` if a cell is not a
/// number.
fn of_rows(rows: &Texts) -> Option<Vec<ShardCopies>> {
    let mut found: Vec<ShardCopies> = Vec::new();
    for row in rows {
        let [Some(table), Some(partition), Some(shard), rows, Some(in_use)] = row.as_slice() else {
            return None;
        };
        let shard = format!("{table} {partition} shard {shard}").replace("  ", " ");
        if found.last().is_none_or(|last| last.shard != shard) {
            found.push(ShardCopies { shard, ..ShardCopies::default() });
        }
        let copies = found.last_mut()?;
        match rows.as_deref().filter(|_| in_use == "1") {
            Some(rows) => copies.rows.push(rows.parse().ok()?),
            None => copies.missing += 1,
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use highwater_model::op::{BoundColumn, ColumnType};

    use super::super::recordings::recording;
    use super::*;

    /// Plans of CrateDB 6.4.3 for these statements: rows are aggregated on their nodes, and not fetched to the handler
    /// node, whose memory use would then grow with the table.
    #[test]
    fn checksums_are_computed_on_the_nodes_of_the_rows() {
        let whole = BoundTable {
            name: "loadtest".to_owned(),
            columns: vec![BoundColumn::new("data", ColumnType::Text)],
            key: "CAST(substr(data, 1, 12) AS BIGINT)".to_owned(),
            ..BoundTable::default()
        };
        let slice = KeyRange { first: 4_194_304, end: 8_388_608 };
        let part = BoundTable { slice: Some(slice), ..whole.clone() };
        for (table, name) in [(&whole, "46-explain-sums"), (&part, "46b-explain-sums-slice")] {
            let recorded = recording(name);
            let request: serde_json::Value = serde_json::from_str(&recorded.request).unwrap();
            let statement = format!("EXPLAIN {}", sql::sums(&CRATEDB, table, 256));
            assert_eq!(request["stmt"], statement, "record its plan anew");
            for step in ["Fetch", "_fetchid", "Limit"] {
                assert!(!recorded.body.contains(step), "{name}: {}", recorded.body);
            }
            assert!(recorded.body.contains("GroupHashAggregate"));
        }
    }

    #[test]
    fn copies_on_no_node_are_counted_and_not_compared() {
        let row = |shard: &str, rows: Option<&str>, in_use: &str| {
            let cells = [Some("t"), Some(""), Some(shard), rows, Some(in_use)];
            cells.map(|cell| cell.map(str::to_owned)).to_vec()
        };
        let rows = vec![
            row("0", Some("100"), "1"),
            row("0", None, "0"),
            row("1", Some("7"), "1"),
            row("1", Some("7"), "1"),
            row("2", Some("5"), "1"),
            row("2", None, "1"),
        ];
        let of = |shard: &str, rows: &[u64], missing| ShardCopies {
            shard: shard.to_owned(),
            rows: rows.to_vec(),
            missing,
            ..ShardCopies::default()
        };
        let expected =
            vec![of("t shard 0", &[100], 1), of("t shard 1", &[7, 7], 0), of("t shard 2", &[5], 1)];
        assert_eq!(of_rows(&rows), Some(expected));
        assert_eq!(of_rows(&vec![row("0", Some("many"), "1")]), None);
    }

    /// Walks a table with these keys to its end; returns the keys in the order in which they were read,
    /// and the limits of the responses.
    fn walked(keys: &[u64], text: &str) -> (Vec<u64>, Vec<usize>) {
        let columns = vec![BoundColumn::new("data", ColumnType::Text)];
        let table = BoundTable { columns, ..BoundTable::default() };
        let row = |key: &u64| vec![Some(key.to_string()), Some(text.to_owned())];
        let (mut walk, mut taken, mut limits) = (Walk::default(), Vec::new(), Vec::new());
        let mut from = 0;
        loop {
            limits.push(walk.rows);
            let page = keys.iter().filter(|key| **key >= from).take(walk.rows).map(row);
            let (found, next) = walk.next(&table, page.collect());
            taken.extend(found.iter().map(|row| row.key));
            match next {
                Next::End => return (taken, limits),
                Next::From(key) => from = key,
                Next::AllOf(key) => {
                    taken.extend(keys.iter().filter(|other| **other == key));
                    from = key + 1;
                }
            }
        }
    }

    #[test]
    fn a_walk_reads_each_row_once_for_any_keys() {
        let many = ROWS_FIRST as u64 * 3;
        let all: Vec<u64> = (0..many).collect();
        let some = ROWS_FIRST as u64 / 2;
        let twice: Vec<u64> = (0..many).flat_map(|key| [key, key]).collect();
        let crowd: Vec<u64> =
            (0..some).chain(vec![some; ROWS_FIRST * 2]).chain([some + 9]).collect();
        for keys in [&all, &twice, &crowd, &vec![7; ROWS_FIRST], &vec![7; ROWS_FIRST * 9], &vec![]]
        {
            assert_eq!(&walked(keys, "").0, keys);
        }
    }

    #[test]
    fn a_response_has_as_many_rows_as_fit_and_no_more_than_its_bound() {
        let keys: Vec<u64> = (0..200_000).collect();
        let (_, short) = walked(&keys, "");
        assert!(short.len() < 10 && short.iter().all(|rows| *rows <= ROWS_MAX), "{short:?}");
        let (_, long) = walked(&keys[..9_000], &"x".repeat(BYTES_MAX / 1_000));
        assert!(long[1..].iter().all(|rows| (900..=1_000).contains(rows)), "{long:?}");
    }
}
