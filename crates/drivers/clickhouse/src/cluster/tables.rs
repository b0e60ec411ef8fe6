//! Creates the tables of a workload on every server, with a `Distributed` table over all, and reads them as one, for
//! the audit.
//!
//! Each server reads its own concurrently, and the results are combined here. So no server aggregates others' results,
//! and none can be left out. It also contains operations on all servers together, such as the maintenance of their
//! tables.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;

use highwater_driver::Right;
use highwater_driver::contract::{
    BucketSums, KeyCounts, KeySums, Response, RowTaker, ServerAdmin, TableAdmin, TableDescriber,
    TableReader, TargetFacts,
};
use highwater_driver::network::one_line;
use highwater_driver::regular_file::DiskSpace;
use highwater_driver::sql::admin::SqlAdmin;
use highwater_driver::sql::connection::{Texts, first_value};
use highwater_driver::table_registry::{Lease, LeaseAction, RegistryEntry, TablePolicy};
use highwater_model::op::{BoundTable, BoundWorkload, Value};
use highwater_model::stored::KeyRange;
use highwater_model::table_shape::TableShape;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::{ABOVE, CLUSTER, Cluster, ServerConnections, each};
use crate::admin::ClickHouseServer;
use crate::dialect::CLICKHOUSE;
use crate::{cluster, spools};

/// Time limit for servers to forward the rows in their spools before tables are created.
const SPOOLED_LIMIT: Nanos = Nanos::from_secs(30);

/// See [`TableAdmin::create_tables`]. Each server registers its own and its `Distributed` tables, so that a run against
/// a single server knows their owner.
pub(super) async fn create(
    cluster: &mut Cluster,
    workload: &BoundWorkload,
    policy: &TablePolicy<'_>,
) -> Result<Vec<RegistryEntry>, UserError> {
    if let Some(table) = workload.tables.iter().find(|table| table.replaces) {
        return Err(UserError::usage(format!(
            "rows of table `{}` replace each other, which each server of a cluster does with its own alone",
            table.name
        ))
        .with_hint("name one server"));
    }
    // Determines the clusters of the servers.
    drop(cluster.all().await?);
    let is_name = |setting: &&(String, String)| setting.0.eq_ignore_ascii_case(CLUSTER);
    let named = policy.settings.iter().find(is_name);
    let name = cluster::choose(&cluster.clusters, named.map(|(_, value)| value.as_str()))?;
    let of_tables = |setting: &&(String, String)| !is_name(setting) && !spools::is_name(&setting.0);
    let settings: Vec<(String, String)> =
        policy.settings.iter().filter(of_tables).cloned().collect();
    let own = TablePolicy { settings: &settings, ..*policy };
    let above = TablePolicy { settings: &[], ..*policy };
    // The same on all servers.
    let database = cluster.members.first().map(|member| member.node.own_database());
    let tables = tables_above(&database.unwrap_or_default(), workload, &name);
    let deadline = cluster.timeline.now().saturating_add(SPOOLED_LIMIT);
    let mut opened = cluster.all().await?;
    let (own, above, tables, name) = (&own, &above, &tables, name.as_str());
    let checked = each(&mut opened, |server| {
        Box::pin(async move {
            server.own.check_tables(workload, own).await?;
            server.above.check_tables(tables, above).await?;
            server.check_engines(workload, name, policy).await
        })
    });
    checked.await?;
    // Rows that are still in a spool, such as those of the canary, would be written to the new tables.
    if opened.iter().any(|server| server.node.spooling.is_used()) {
        let empty = each(&mut opened, |server| server.above.quiesce(deadline)).await?;
        if !empty.into_iter().all(|empty| empty) {
            let message =
                "rows that were sent before still wait in a spool of a `Distributed` table";
            return Err(UserError::statement(message).with_hint(
                "wait until other loads of this database are over; else the server's log says what keeps them",
            ));
        }
    }
    let registered = each(&mut opened, |server| {
        Box::pin(async move {
            let entries = server.own.create_tables(workload, own).await?;
            server.above.create_tables(tables, above).await?;
            Ok(entries)
        })
    });
    let entries = agreed(&registered.await?, policy);
    update(&mut opened, &entries).await?;
    cluster.remarks = cluster::remarks(cluster, &entries).await?;
    Ok(entries)
}

/// See [`TableAdmin::update_registry`]: updates first the registry that is read first.
async fn update(
    opened: &mut [&mut ServerConnections],
    entries: &[RegistryEntry],
) -> Result<(), UserError> {
    for server in opened {
        server.own.update_registry(entries).await?;
        server.above.update_registry(entries).await?;
    }
    Ok(())
}

impl ServerConnections {
    /// Fails if a table that would be kept is not a `Distributed` table over this cluster.
    async fn check_engines(
        &mut self,
        workload: &BoundWorkload,
        cluster: &str,
        policy: &TablePolicy<'_>,
    ) -> Result<(), UserError> {
        for table in &workload.tables {
            if policy.drop || policy.drop_foreign.contains(&table.name) {
                continue;
            }
            let sql = format!(
                "SELECT engine, engine_full FROM system.tables \
                 WHERE database = currentDatabase() AND name = {}",
                CLICKHOUSE.literal(&table.name)
            );
            let rows = self.above.connection().rows(&sql).await?;
            let mut texts = rows.into_iter().flatten().flatten();
            let (Some(engine), full) = (texts.next(), texts.next().unwrap_or_default()) else {
                continue;
            };
            if engine == ABOVE && is_above(&full, cluster, &self.node.own_database()) {
                continue;
            }
            let message = format!(
                "{}: table `{}` is not above tables of the cluster {cluster}: its engine is {engine}",
                self.node.shown, table.name
            );
            return Err(UserError::new(UserErrorKind::ForeignTable, message)
                .with_hint("add --drop to recreate it, or give another database"));
        }
        Ok(())
    }
}

/// Whether an engine is `Distributed` over tables of this database of this cluster, from its text in the server's
/// catalog, such as `Distributed(c, d_local, t, rand())`; newer servers quote the names.
fn is_above(engine: &str, cluster: &str, database: &str) -> bool {
    let behind = |text: &str, name: &str| {
        let names = [name.to_owned(), CLICKHOUSE.literal(name), CLICKHOUSE.identifier(name)];
        let mut names = names.iter();
        let rest = names.find_map(|name| text.strip_prefix(name.as_str())?.strip_prefix(','));
        rest.map(|rest| rest.trim_start().to_owned())
    };
    let tables = || {
        let arguments = engine.strip_prefix(ABOVE)?.strip_prefix('(')?;
        behind(&behind(arguments, cluster)?, database)
    };
    tables().is_some()
}

/// The `Distributed` tables of a workload: a row inserted there is stored on any of the servers.
fn tables_above(database: &str, workload: &BoundWorkload, cluster: &str) -> BoundWorkload {
    let (identifier, literal) = (CLICKHOUSE.identifier(database), CLICKHOUSE.literal(database));
    let tables = workload.tables.iter().map(|table| {
        let name = CLICKHOUSE.identifier(&table.name);
        let create = format!(
            "CREATE TABLE {name} AS {identifier}.{name} \
             ENGINE = {ABOVE}({}, {literal}, {}, rand())",
            CLICKHOUSE.literal(cluster),
            CLICKHOUSE.literal(&table.name)
        );
        BoundTable { create: vec![create], ..table.clone() }
    });
    BoundWorkload { tables: tables.collect(), ..BoundWorkload::default() }
}

/// The entries of the servers' own tables. A server that was added has just created its tables, so its entry is that of
/// a new table; the first other entry is used.
fn agreed(registered: &[Vec<RegistryEntry>], policy: &TablePolicy<'_>) -> Vec<RegistryEntry> {
    let Some(first) = registered.first() else {
        return Vec::new();
    };
    let agreed = first.iter().enumerate().map(|(at, entry)| {
        let mut kept = registered
            .iter()
            .filter_map(|entries| entries.get(at))
            .filter(|entry| **entry != policy.new_entry(&entry.name));
        kept.next().unwrap_or(entry).clone()
    });
    agreed.collect()
}

impl ServerConnections {
    /// The connection to the table of that name with its own rows: a table that the user created on each server has the
    /// name of the `Distributed` one.
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

impl ServerAdmin for Cluster {
    fn facts(&mut self) -> Response<'_, TargetFacts> {
        Box::pin(async move {
            let mut opened = self.all().await?;
            let versions = each(&mut opened, |server| {
                Box::pin(server.own.connection().rows("SELECT version()"))
            });
            let versions: Vec<String> = versions
                .await?
                .into_iter()
                .map(first_value)
                .map(Option::unwrap_or_default)
                .collect();
            let nodes = opened.iter().zip(&versions).map(|(server, version)| {
                format!("{} {}", server.node.address(), one_line(version))
            });
            let nodes: Vec<String> = nodes.collect();
            let mut facts = self.first().await?.above.facts().await?;
            let settings = &mut facts.settings;
            settings.insert("clusters".to_owned(), one_line(&self.clusters.join(", ")));
            settings.insert("servers".to_owned(), nodes.join(", "));
            // Each host is one shard without replicas: other clusters are not those of the URL.
            for (name, count) in [("nodes", nodes.len()), ("shards", nodes.len()), ("replicas", 0)]
            {
                settings.insert(name.to_owned(), count.to_string());
            }
            facts.traits.push(format!("{} shards", nodes.len()));
            let versions: BTreeSet<String> = versions.into_iter().collect();
            if versions.len() > 1 {
                facts.traits.push("shards of several versions".to_owned());
            }
            Ok(facts)
        })
    }

    /// First all servers, then their spools, to which no statement can add rows by then.
    fn quiesce(&mut self, deadline: Nanos) -> Response<'_, bool> {
        Box::pin(async move {
            let mut opened = self.all().await?;
            let idle = each(&mut opened, |server| server.own.quiesce(deadline));
            if !idle.await?.into_iter().all(|idle| idle) {
                return Ok(false);
            }
            let empty = each(&mut opened, |server| server.above.quiesce(deadline));
            Ok(empty.await?.into_iter().all(|empty| empty))
        })
    }

    /// Only the connected servers: an unavailable one must not end the run.
    fn disk(&mut self) -> Response<'_, Option<DiskSpace>> {
        Box::pin(async move {
            let opened = self.members.iter_mut();
            let disks =
                opened.filter_map(|member| member.opened.as_mut()).map(|server| server.own.disk());
            let known = join_all(disks).await.into_iter().flatten().flatten();
            Ok(known.min_by_key(|disk| disk.free_bytes))
        })
    }

    /// A refusal by one server counts as a refusal.
    fn try_rights<'a>(&'a mut self, table: &'a str) -> Response<'a, Option<Vec<Right>>> {
        Box::pin(async move {
            let mut opened = self.all().await?;
            let tried = each(&mut opened, |server| server.own.try_rights(table));
            let is_refused = |right: &Right| right.refusal.is_some();
            let known = tried.await?.into_iter().flatten();
            // Servers whose user has all privileges are equivalent.
            Ok(known.max_by_key(|rights| rights.iter().any(is_refused)))
        })
    }

    fn remarks(&mut self) -> Response<'_, Vec<String>> {
        let remarks = std::mem::take(&mut self.remarks);
        Box::pin(std::future::ready(Ok(remarks)))
    }
}

impl TableAdmin for Cluster {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> Response<'a, Vec<RegistryEntry>> {
        Box::pin(create(self, workload, policy))
    }

    fn update_registry<'a>(&'a mut self, entries: &'a [RegistryEntry]) -> Response<'a, ()> {
        Box::pin(async move { update(&mut self.all().await?, entries).await })
    }

    fn leases<'a>(&'a mut self, action: LeaseAction<'a>) -> Response<'a, Vec<Lease>> {
        Box::pin(async move { self.first().await?.above.leases(action).await })
    }

    fn storage_bytes<'a>(&'a mut self, workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(async move {
            let mut opened = self.all().await?;
            let bytes = each(&mut opened, |server| server.own.storage_bytes(workload));
            let bytes: Result<Vec<Option<u64>>, UserError> = bytes.await;
            Ok(bytes?.into_iter().sum())
        })
    }

    /// The first server's settings: all servers' tables were created in the same way.
    fn table_settings<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
    ) -> Response<'a, BTreeMap<String, String>> {
        Box::pin(async move { self.first().await?.own.table_settings(workload).await })
    }
}

#[cfg(test)]
mod tests {
    use highwater_model::units::Seed;

    use super::*;

    #[test]
    fn a_cluster_whose_name_is_part_of_another_name_is_not_that_one() {
        for engine in [
            "Distributed(shards, t_local, cpu, rand())",
            "Distributed('shards', 't_local', 'cpu', rand())",
            "Distributed(`shards`, `t_local`, `cpu`)",
        ] {
            assert!(is_above(engine, "shards", "t_local"), "{engine}");
            for (cluster, database) in [
                ("shard", "t_local"),
                ("hards", "t_local"),
                ("shards2", "t_local"),
                ("t_local", "cpu"),
                ("shards", "t"),
                ("shards", "cpu"),
            ] {
                assert!(!is_above(engine, cluster, database), "{engine} {cluster} {database}");
            }
        }
        assert!(!is_above("MergeTree() ORDER BY shards, t_local,", "shards", "t_local"));
    }

    #[test]
    fn an_added_server_continues_at_the_position_of_the_others() {
        let policy = TablePolicy::new("f", Seed(1));
        let new = |name: &str| policy.new_entry(name);
        let kept = RegistryEntry { next_index: 70, ..new("u") };
        let older = RegistryEntry { next_index: 60, ..new("u") };
        let added = vec![new("t"), new("u")];
        let found =
            agreed(&[added.clone(), vec![new("t"), kept.clone()], vec![new("t"), older]], &policy);
        assert_eq!(found, [new("t"), kept]);
        assert_eq!(agreed(&[added.clone(), added.clone()], &policy), added);
    }

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
