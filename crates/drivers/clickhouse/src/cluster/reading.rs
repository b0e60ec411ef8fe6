//! Reads the tables of all servers as one, for the audit: each server reads its own concurrently, and the results are
//! combined here. So no server aggregates others' results, and none can be left out.

use std::collections::BTreeMap;

use highwater_driver::contract::{
    BucketSums, KeyCounts, KeySums, Response, RowTaker, TableDescriber, TableReader,
};
use highwater_driver::sql::admin::SqlAdmin;
use highwater_driver::sql_query::Texts;
use highwater_model::op::{BoundTable, Value};
use highwater_model::stored::KeyRange;
use highwater_model::table_shape::TableShape;
use highwater_model::user_error::UserError;

use super::{ABOVE, Cluster, Opened, each};
use crate::admin::ClickHouseServer;
use crate::dialect::CLICKHOUSE;

impl Opened {
    /// The connection to the table of that name with its own rows: a table that the user created on each server has the
    /// name of the `Distributed` one.
    /// server has the name of the one above.
    async fn holder(&mut self, table: &str) -> Result<&mut SqlAdmin<ClickHouseServer>, UserError> {
        let own = self.node.own_database();
        let sql = format!(
            "SELECT database FROM system.tables WHERE name = {} AND engine <> '{ABOVE}' \
             AND database IN ({}, {})",
            CLICKHOUSE.literal(table),
            CLICKHOUSE.literal(&self.node.database),
            CLICKHOUSE.literal(&own)
        );
        let databases = self.above.connection().rows(&sql).await?;
        let databases: Vec<String> = databases.into_iter().flatten().flatten().collect();
        let is_above = !databases.is_empty() && !databases.contains(&own);
        Ok(if is_above { &mut self.above } else { &mut self.own })
    }
}

impl TableReader for Cluster {
    fn count_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> Response<'a, KeyCounts> {
        Box::pin(async move {
            let mut opened = self.all().await?;
            let counts = each(&mut opened, |server| {
                Box::pin(async move {
                    let holder = server.holder(&table.name).await?;
                    holder.count_by_key(table, width).await
                })
            });
            Ok(counts_together(counts.await?))
        })
    }

    fn sums_by_key<'a>(&'a mut self, table: &'a BoundTable, width: u64) -> Response<'a, KeySums> {
        Box::pin(async move {
            let mut opened = self.all().await?;
            let sums = each(&mut opened, |server| {
                Box::pin(async move {
                    let holder = server.holder(&table.name).await?;
                    holder.sums_by_key(table, width).await
                })
            });
            Ok(sums_together(sums.await?))
        })
    }

    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> Response<'a, ()> {
        Box::pin(async move {
            for server in self.all().await? {
                let holder = server.holder(&table.name).await?;
                let mut pass_on = |row| take(row);
                holder.read_rows(table, ranges, &mut pass_on).await?;
            }
            Ok(())
        })
    }

    fn condition(&self, table: &BoundTable, row: &[Value]) -> Option<String> {
        Some(CLICKHOUSE.condition(table, row))
    }

    fn query<'a>(&'a mut self, sql: &'a str) -> Response<'a, Texts> {
        Box::pin(async move { self.first().await?.above.query(sql).await })
    }
}

impl TableDescriber for Cluster {
    /// A sample of all servers' rows; the order and the number of rows are those of the servers' own tables.
    fn describe<'a>(&'a mut self, table: &'a str) -> Response<'a, TableShape> {
        Box::pin(async move {
            let mut shape = self.first().await?.above.describe(table).await?;
            let mut opened = self.all().await?;
            let own = each(&mut opened, |server| server.own.describe(table)).await;
            if let Ok(own) = own {
                shape.rows_all = own.iter().map(|own| own.rows_all).sum();
                if let Some(own) = own.into_iter().next() {
                    shape.indexes = own.indexes;
                }
            }
            Ok(shape)
        })
    }
}

/// The servers' counts by bucket, in one list.
fn counts_together(counts: Vec<KeyCounts>) -> KeyCounts {
    let mut buckets: BTreeMap<u64, u64> = BTreeMap::new();
    let mut without_key = 0;
    for count in counts {
        without_key += count.without_key;
        for (bucket, rows) in count.buckets {
            *buckets.entry(bucket).or_default() += rows;
        }
    }
    KeyCounts { buckets: buckets.into_iter().collect(), without_key }
}

/// The same for checksums, which are sums modulo 2⁶⁴ over the rows of any server.
fn sums_together(all: Vec<KeySums>) -> KeySums {
    let mut together = KeySums::default();
    let mut buckets: Vec<BucketSums> = Vec::new();
    for sums in all {
        together.without_key += sums.without_key;
        if together.covered.is_empty() {
            together.covered = sums.covered;
        }
        buckets.extend(sums.buckets);
    }
    buckets.sort_by_key(|sums| sums.bucket);
    for BucketSums { bucket, rows, sums } in &buckets {
        together.add(*bucket, *rows, sums);
    }
    together
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_one_bucket_are_added_up_whatever_server_has_them() {
        let counts = |buckets: &[(u64, u64)], without_key| KeyCounts {
            buckets: buckets.to_vec(),
            without_key,
        };
        let found = counts_together(vec![
            counts(&[(1, 5), (9, 2)], 1),
            counts(&[], 0),
            counts(&[(0, 3), (9, 4)], 2),
        ]);
        assert_eq!(found, counts(&[(0, 3), (1, 5), (9, 6)], 3));
    }

    #[test]
    fn checksums_are_added_up_modulo_two_to_the_64() {
        let bucket =
            |bucket, rows, sums: [u64; 2]| BucketSums { bucket, rows, sums: sums.to_vec() };
        let sums = |buckets: &[BucketSums], without_key| KeySums {
            buckets: buckets.to_vec(),
            covered: vec![true, false],
            without_key,
        };
        let found = sums_together(vec![
            sums(&[bucket(4, 2, [u64::MAX, 0])], 1),
            sums(&[bucket(3, 1, [7, 0]), bucket(4, 1, [3, 0])], 1),
        ]);
        let expected = sums(&[bucket(3, 1, [7, 0]), bucket(4, 3, [2, 0])], 2);
        assert_eq!(found, expected);
    }
}
