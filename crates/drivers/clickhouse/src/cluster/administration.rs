//! Operations on all servers together, and the maintenance of their tables. Must not read a table.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::join_all;
use highwater_driver::Right;
use highwater_driver::contract::{Response, ServerAdmin, TableAdmin, TargetFacts};
use highwater_driver::network::one_line;
use highwater_driver::regular_file::DiskSpace;
use highwater_driver::sql_query::first_value;
use highwater_driver::table_registry::{Lease, LeaseAction};
use highwater_driver::table_registry::{RegistryEntry, TablePolicy};
use highwater_model::op::BoundWorkload;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::{Cluster, each, tables};

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
            settings.insert("nodes".to_owned(), nodes.join(", "));
            facts.traits.push(format!("{} shards", nodes.len()));
            let versions: BTreeSet<String> = versions.into_iter().collect();
            if versions.len() > 1 {
                facts.traits.push("shards of several versions".to_owned());
            }
            Ok(facts)
        })
    }

    /// First all servers, and then their spools, to which no statement adds rows any more.
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

    /// Of the connected servers: an unavailable one must not end the run.
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
        Box::pin(tables::create(self, workload, policy))
    }

    fn update_registry<'a>(&'a mut self, entries: &'a [RegistryEntry]) -> Response<'a, ()> {
        Box::pin(async move { tables::update(&mut self.all().await?, entries).await })
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

    /// Those of the first server: the tables of all were made alike.
    fn table_settings<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
    ) -> Response<'a, BTreeMap<String, String>> {
        Box::pin(async move { self.first().await?.own.table_settings(workload).await })
    }
}
