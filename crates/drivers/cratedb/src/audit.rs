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
                    let stored = rows.into_iter().filter_map(|row| sql::stored(table, row));
                    stored
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
        let low = KeyRange {
            first: only.first,
            end: middle,
        };
        let high = KeyRange {
            first: middle,
            end: only.end,
        };
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
            "SELECT table_name, partition_ident, id, num_docs FROM sys.shards \
             WHERE schema_name = current_schema AND table_name IN ({}) \
             AND routing_state IN ('STARTED', 'RELOCATING') \
             ORDER BY table_name, partition_ident, id, \"primary\" DESC",
            name_list(&tables)
        ))
        .await?;
    let mut found: Vec<ShardCopies> = Vec::new();
    for row in rows {
        let [Some(table), Some(partition), Some(shard), Some(rows)] = row.as_slice() else {
            return Err(sql::not_integers(&connection.node.shown));
        };
        let Ok(rows) = rows.parse() else {
            return Err(sql::not_integers(&connection.node.shown));
        };
        let shard = format!("{table} {partition} shard {shard}").replace("  ", " ");
        match found.last_mut() {
            Some(last) if last.shard == shard => last.rows.push(rows),
            _ => found.push(ShardCopies {
                shard,
                rows: vec![rows],
                sums: Vec::new(),
            }),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

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
