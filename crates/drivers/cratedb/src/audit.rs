//! Counts and checksums by key and rows read back, over HTTP. The SQL is that of the same dialect over the
//! PostgreSQL wire; here are its answers, and that none of them grows too long: the server builds
//! an answer in its memory before it sends the first byte.

use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::stored::{KeyRange, is_within};

use super::admin_connection::AdminConnection;
use super::query::name_list;
use highwater_driver::contract::{RowTaker, ShardCopies, TargetError};
use highwater_driver::sql::audit as sql;
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql_query::Texts;

/// Rows of one answer, at most, unless they all have one key.
const ROWS_MAX: usize = 20_000;

/// Runs a statement on what was written to a table, and reads its answer; `read` returns none where
/// that is not made of integers.
pub(super) async fn of_integers<T>(
    connection: &mut AdminConnection,
    table: &BoundTable,
    statement: String,
    read: impl FnOnce(&Texts) -> Option<T>,
) -> Result<T, TargetError> {
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
) -> Result<(), TargetError> {
    connection.refresh(&table.name).await?;
    let mut left = vec![ranges.to_vec()];
    while let Some(ranges) = left.pop() {
        for (statement, part) in sql::reads(Dialect::CrateDb, table, &ranges) {
            let halves = halves(part);
            let limit = match halves {
                Some(_) => format!(" LIMIT {}", ROWS_MAX + 1),
                None => String::new(),
            };
            let rows = connection.long_rows(&format!("{statement}{limit}")).await?;
            match halves {
                Some(halves) if rows.len() > ROWS_MAX => left.extend(halves),
                _ => {
                    rows.into_iter()
                        .filter_map(|row| sql::stored(table, row))
                        .filter(|row| is_within(part, row.key))
                        .for_each(&mut *take);
                }
            }
        }
    }
    Ok(())
}

/// The keys of these ranges in two halves; none where there is no more than one key.
fn halves(ranges: &[KeyRange]) -> Option<[Vec<KeyRange>; 2]> {
    if let [only] = ranges {
        let middle = only.first + only.keys() / 2;
        let low = KeyRange { first: only.first, end: middle };
        let high = KeyRange { first: middle, end: only.end };
        return (only.keys() > 1).then(|| [vec![low], vec![high]]);
    }
    let (low, high) = ranges.split_at(ranges.len() / 2);
    (!low.is_empty()).then(|| [low.to_vec(), high.to_vec()])
}

/// Rows of each copy of each shard; see [`highwater_driver::contract::TableReader::copies`].
pub(super) async fn copies(
    connection: &mut AdminConnection,
    workload: &BoundWorkload,
) -> Result<Vec<ShardCopies>, TargetError> {
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

/// The copies of each shard: table, partition, shard, rows, and 1 for a copy that is in use. A copy on no node has no rows
/// to compare. Absent where a cell is no number.
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
        if in_use == "1" {
            copies.rows.push(rows.as_deref()?.parse().ok()?);
        } else {
            copies.missing += 1;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use highwater_model::op::{BoundColumn, ColumnType};

    use super::super::recordings::recording;
    use super::*;

    /// The plans are those that CrateDB 6.4.3 gave for these very statements: rows are added up where they are,
    /// and none is fetched to the node that was asked, whose memory would then grow with the table.
    #[test]
    fn checksums_are_made_where_the_rows_are() {
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
            let statement = format!("EXPLAIN {}", sql::sums(Dialect::CrateDb, table, 256));
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
        ];
        let of = |shard: &str, rows: &[u64], missing| ShardCopies {
            shard: shard.to_owned(),
            rows: rows.to_vec(),
            missing,
            ..ShardCopies::default()
        };
        let expected = vec![of("t shard 0", &[100], 1), of("t shard 1", &[7, 7], 0)];
        assert_eq!(of_rows(&rows), Some(expected));
        assert_eq!(of_rows(&vec![row("0", Some("many"), "1")]), None);
    }

    #[test]
    fn ranges_are_halved_down_to_one_key() {
        let range = |first, end| KeyRange { first, end };
        let both = |ranges: &[KeyRange]| halves(ranges).map(|[low, high]| (low, high));
        assert_eq!(both(&[range(4, 5)]), None);
        assert_eq!(both(&[]), None);
        let halved = (vec![range(4, 5)], vec![range(5, 7)]);
        assert_eq!(both(&[range(4, 7)]), Some(halved));
        let halved = (vec![range(0, 9)], vec![range(10, 11)]);
        assert_eq!(both(&[range(0, 9), range(10, 11)]), Some(halved));
    }
}
