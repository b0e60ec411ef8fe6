//! Creates the tables of a workload on every server, with a `Distributed` table over all. Must not read rows.

use highwater_driver::contract::TableAdmin;
use highwater_driver::table_registry::{RegistryEntry, TablePolicy};
use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::user_error::{UserError, UserErrorKind};

use super::membership::{self, CLUSTER};
use super::spread;
use super::{ABOVE, Cluster, Opened, each};
use crate::dialect::CLICKHOUSE;
use crate::spooling;

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
    let name = membership::choose(&cluster.clusters, named.map(|(_, value)| value.as_str()))?;
    let of_tables =
        |setting: &&(String, String)| !is_name(setting) && !spooling::is_name(&setting.0);
    let settings: Vec<(String, String)> =
        policy.settings.iter().filter(of_tables).cloned().collect();
    let own = TablePolicy { settings: &settings, ..*policy };
    let above = TablePolicy { settings: &[], ..*policy };
    // The same on all servers.
    let database = cluster.members.first().map(|member| member.node.own_database());
    let tables = tables_above(&database.unwrap_or_default(), workload, &name);
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
    let registered = each(&mut opened, |server| {
        Box::pin(async move {
            let entries = server.own.create_tables(workload, own).await?;
            server.above.create_tables(tables, above).await?;
            Ok(entries)
        })
    });
    let entries = agreed(&registered.await?, policy);
    update(&mut opened, &entries).await?;
    cluster.remarks = spread::remarks(cluster, &entries).await?;
    Ok(entries)
}

/// See [`TableAdmin::update_registry`]: updates first the registry that is read first.
pub(super) async fn update(
    opened: &mut [&mut Opened],
    entries: &[RegistryEntry],
) -> Result<(), UserError> {
    for server in opened {
        server.own.update_registry(entries).await?;
        server.above.update_registry(entries).await?;
    }
    Ok(())
}

impl Opened {
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

/// The `Distributed` tables of a workload: a row inserted there goes to any of the servers.
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
    fn a_server_that_was_added_goes_on_where_the_others_are() {
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
}
