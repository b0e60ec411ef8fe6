//! MySQL's specifics for operations before and after the load. Must not measure time.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::contract::{ShardCopies, TargetFacts, Timeline};
use highwater_driver::sql::admin::{SqlAdmin, SqlServer};
use highwater_driver::sql::connection::SqlConnection;
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql::facts::number;
use highwater_model::op::BoundWorkload;
use highwater_model::table_shape::TableShape;
use highwater_model::user_error::UserError;

use super::cluster::Peers;
use super::connect::OpenConnection;
use super::dialect::MYSQL;
use super::encode::Mode;
use super::facts::Product;
use super::options::Node;
use super::wire::Connection;
use super::{dialect, facts};

/// The views of the files of tables: for MariaDB, and for MySQL.
const FILES: [&str; 2] = ["innodb_sys_tablespaces", "innodb_tablespaces"];

/// A server as it identified itself.
pub(super) struct MySqlServer {
    product: Product,
    mode: Mode,
    /// The other nodes, if it belongs to a cluster.
    peers: Option<Peers>,
}

/// Operations before and after the load on that connection.
pub(super) fn admin(
    opened: OpenConnection,
    node: &Node,
    peers: Peers,
    mode: Mode,
    timeline: Rc<dyn Timeline>,
) -> SqlAdmin<MySqlServer> {
    let login = &node.login;
    let (place, timeout) = (node.shown.clone(), login.connect_timeout);
    let server =
        MySqlServer { product: opened.product, mode, peers: opened.replicates.then_some(peers) };
    SqlAdmin::new(
        server,
        SqlConnection::new(opened.connection, place, timeout, timeline),
        login.application_name.clone(),
        Arc::clone(&node.lingering),
        node.is_local(),
    )
}

impl SqlServer for MySqlServer {
    type Wire = Connection;

    fn dialect(&self) -> &'static Dialect {
        &MYSQL
    }

    async fn facts(
        &mut self,
        connection: &mut SqlConnection<Connection>,
    ) -> Result<TargetFacts, UserError> {
        let mut facts = facts::read(connection, self.product, self.mode).await?;
        if let Some(peers) = &mut self.peers {
            facts.settings.extend(peers.facts(connection).await?);
            let size = facts.settings.get("wsrep_cluster_size");
            facts.traits.extend(size.map(|size| format!("galera={size}")));
        }
        Ok(facts)
    }

    async fn others_are_idle(
        &mut self,
        connection: &mut SqlConnection<Connection>,
    ) -> Result<bool, UserError> {
        match &mut self.peers {
            Some(peers) => peers.are_idle(connection).await,
            None => Ok(true),
        }
    }

    async fn copies(
        &mut self,
        connection: &mut SqlConnection<Connection>,
        workload: &BoundWorkload,
        with_values: bool,
    ) -> Result<Vec<ShardCopies>, UserError> {
        match &mut self.peers {
            Some(peers) => peers.copies(connection, workload, with_values).await,
            None => Ok(Vec::new()),
        }
    }

    async fn describe(
        &self,
        connection: &mut SqlConnection<Connection>,
        table: &str,
    ) -> Result<TableShape, UserError> {
        dialect::describe(connection, table).await
    }

    async fn directories(&self, connection: &mut SqlConnection<Connection>) -> Vec<PathBuf> {
        let sql = "SELECT @@datadir, @@innodb_log_group_home_dir";
        let rows = connection.rows(sql).await.unwrap_or_default();
        let places = rows.into_iter().flatten().flatten().map(PathBuf::from);
        // A log next to the tables has no separate directory.
        places.filter(|place| place.is_absolute()).collect()
    }

    /// The files' sizes, if the account may see them: the server's table statistics may be outdated.
    async fn storage_bytes(
        &self,
        connection: &mut SqlConnection<Connection>,
        workload: &BoundWorkload,
    ) -> Result<Option<u64>, UserError> {
        let names = workload.tables.iter().map(|table| self.dialect().literal(&table.name));
        let names = names.collect::<Vec<String>>().join(", ");
        if names.is_empty() {
            return Ok(Some(0));
        }
        for files in FILES {
            let sql = format!(
                "SELECT CAST(coalesce(sum(file_size), 0) AS SIGNED) FROM information_schema.{files} \
                 WHERE name LIKE concat(database(), '/%') AND substring_index(\
                 substring(name, char_length(database()) + 2), '#', 1) IN ({names})"
            );
            let bytes = connection.rows(&sql).await.map(|rows| number(&rows, 0));
            if let Ok(bytes @ 1..) = bytes {
                return Ok(Some(bytes));
            }
        }
        let statistics = format!(
            "SELECT CAST(coalesce(sum(data_length + index_length), 0) AS SIGNED) \
             FROM information_schema.tables \
             WHERE table_schema = database() AND table_name IN ({names})"
        );
        let rows = connection.rows(&statistics).await?;
        Ok(Some(number(&rows, 0)))
    }
}
