//! ClickHouse's specifics for operations before and after the load. Must not measure time.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::contract::{TargetFacts, Timeline};
use highwater_driver::network::is_loopback;
use highwater_driver::sql::admin::{SqlAdmin, SqlServer};
use highwater_driver::sql::connection::{SqlConnection, Texts, pairs};
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql::facts::number;
use highwater_driver::table_registry::REGISTRY_TABLE;
use highwater_model::table_shape::TableShape;
use highwater_model::user_error::UserError;

use super::options::Node;
use super::plan::Mode;
use super::spools::{Spooling, Spools};
use super::wire::Wire;
use super::{describe, facts};
use crate::dialect::CLICKHOUSE;

/// Inserts that other servers forward to this one, from their `Distributed` tables.
const PASSED_ON: &str = "SELECT count() FROM system.processes WHERE NOT is_initial_query \
    AND query LIKE 'INSERT INTO %' AND position(query, currentDatabase()) > 0";

/// A server.
pub(super) struct ClickHouseServer {
    mode: Mode,
    spooling: Spooling,
    /// Set if the connection uses the `Distributed` tables: their spools.
    spools: Option<Spools>,
}

/// Operations before and after the load on that connection; `spools` are those of its tables.
pub(super) fn admin(
    wire: Wire,
    node: &Node,
    mode: Mode,
    timeline: Rc<dyn Timeline>,
    spools: Option<Spools>,
) -> SqlAdmin<ClickHouseServer> {
    let (place, timeout) = (node.shown.clone(), node.connect_timeout);
    let server = ClickHouseServer { mode, spooling: node.spooling.clone(), spools };
    SqlAdmin::new(
        server,
        SqlConnection::new(wire, place, timeout, timeline),
        node.application_name.clone(),
        Arc::clone(&node.lingering),
        is_loopback(&node.host),
    )
}

impl SqlServer for ClickHouseServer {
    type Wire = Wire;

    fn dialect(&self) -> &'static Dialect {
        &CLICKHOUSE
    }

    async fn facts(
        &mut self,
        connection: &mut SqlConnection<Wire>,
    ) -> Result<TargetFacts, UserError> {
        facts::read_facts(connection, self.mode, self.spooling.is_used()).await
    }

    async fn others_are_idle(
        &mut self,
        connection: &mut SqlConnection<Wire>,
    ) -> Result<bool, UserError> {
        if self.mode.is_distributed && number(&connection.rows(PASSED_ON).await?, 0) > 0 {
            return Ok(false);
        }
        match &mut self.spools {
            Some(spools) => spools.are_empty(connection).await,
            None => Ok(true),
        }
    }

    async fn describe(
        &self,
        connection: &mut SqlConnection<Wire>,
        table: &str,
    ) -> Result<TableShape, UserError> {
        describe::describe(connection, table).await
    }

    /// Newer versions list their disks; for older ones, the tables' directories are used.
    async fn directories(&self, connection: &mut SqlConnection<Wire>) -> Vec<PathBuf> {
        let disks = "SELECT path FROM system.disks";
        let tables = format!(
            "SELECT data_path FROM system.tables \
             WHERE database = currentDatabase() AND name = '{REGISTRY_TABLE}'"
        );
        for sql in [disks, &tables] {
            let rows = connection.rows(sql).await.unwrap_or_default();
            let places: Vec<PathBuf> = rows
                .into_iter()
                .flatten()
                .flatten()
                .map(PathBuf::from)
                .filter(|place| place.is_absolute())
                .collect();
            if !places.is_empty() {
                return places;
            }
        }
        Vec::new()
    }

    fn storage_query(&self, names: &str) -> Option<String> {
        Some(format!(
            "SELECT sum(bytes_on_disk) FROM system.parts \
             WHERE active AND database = currentDatabase() AND table IN ({names})"
        ))
    }

    async fn table_settings(
        &self,
        connection: &mut SqlConnection<Wire>,
        names: &str,
    ) -> Result<Texts, UserError> {
        let sql = format!(
            "SELECT name, engine_full FROM system.tables \
             WHERE database = currentDatabase() AND name IN ({names})"
        );
        let found = pairs(connection.rows(&sql).await?).flat_map(|(table, engine)| {
            let of_table = move |(name, value)| vec![Some(table.clone()), Some(name), Some(value)];
            engine_settings(&engine).into_iter().map(of_table).collect::<Texts>()
        });
        Ok(found.collect())
    }
}

/// The settings at the end of a table's engine, such as `MergeTree ORDER BY k SETTINGS a = 1, b = 'x'`.
fn engine_settings(engine: &str) -> Vec<(String, String)> {
    let Some((_, settings)) = engine.rsplit_once(" SETTINGS ") else {
        return Vec::new();
    };
    let pairs = settings.split(", ").filter_map(|pair| pair.split_once(" = "));
    pairs.map(|(name, value)| (name.to_owned(), value.trim_matches('\'').to_owned())).collect()
}
