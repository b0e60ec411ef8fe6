//! PostgreSQL's specifics for operations before and after the load. Must not measure time.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use highwater_model::op::BoundWorkload;
use highwater_model::table_shape::TableShape;
use highwater_model::units::Nanos;
use postgres_protocol::escape::escape_literal;

use super::connect::{self, OpenConnection};
use super::options::Node;
use super::product::Product;
use super::wire::Connection;
use super::{describe, facts};
use highwater_driver::contract::{TargetFacts, Timeline};
use highwater_driver::sql::admin::{PAUSE_MAX, SqlAdmin, SqlServer};
use highwater_driver::sql::connection::{SqlConnection, Texts, first_value};
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::sql::facts::number;
use highwater_driver::sql::leases::LeaseWords;
use highwater_model::user_error::{UserError, UserErrorKind};

/// A counter that stayed constant for this long is final; backends report once a second.
const COUNTER_STILL: Nanos = Nanos::from_millis(1_200);
/// The differences behind a pooler, for the facts.
const POOLER: &str = "PgBouncer or its kin: statements have no names, leases rest on heartbeats alone, and --insert \
    copy is not possible";
/// Maximum wait for a counter to become constant.
const COUNTER_WAIT_MAX: Nanos = Nanos::from_secs(12);

/// How rows are inserted.
pub(super) struct Inserts {
    /// The mode, for the facts.
    pub(super) used: &'static str,
    /// The modes that the server does not support, each with the reason.
    pub(super) refused: Vec<(&'static str, &'static str)>,
}

/// A server as it identified itself.
pub(super) struct PostgresServer {
    product: Product,
    /// Whether it is behind a pooler.
    pooled: bool,
    insert: Inserts,
    /// The other nodes of the URL, if each lists only its own statements.
    others: Vec<Node>,
    /// The application name of this program's sessions.
    application_name: String,
    timeline: Rc<dyn Timeline>,
}

/// Operations before and after the load on that connection to one of the nodes.
pub(super) fn admin(
    opened: OpenConnection,
    node: &Node,
    nodes: &[Node],
    insert: Inserts,
    timeline: Rc<dyn Timeline>,
) -> SqlAdmin<PostgresServer> {
    let login = &node.login;
    let (place, timeout) = (node.shown.clone(), login.connect_timeout);
    let lists_own = opened.product == Product::YugabyteDb;
    let others = nodes.iter().filter(|other| lists_own && other.shown != node.shown);
    let server = PostgresServer {
        product: opened.product,
        pooled: opened.pooled,
        insert,
        others: others.cloned().collect(),
        application_name: login.application_name.clone(),
        timeline: Rc::clone(&timeline),
    };
    SqlAdmin::new(
        server,
        SqlConnection::new(opened.connection, place, timeout, timeline),
        login.application_name.clone(),
        Arc::clone(&node.lingering),
        node.is_local(),
    )
}

impl SqlServer for PostgresServer {
    type Wire = Connection;

    fn dialect(&self) -> &'static Dialect {
        self.product.dialect()
    }

    async fn facts(
        &mut self,
        connection: &mut SqlConnection<Connection>,
    ) -> Result<TargetFacts, UserError> {
        let mut facts = facts::read(connection, self.product, self.insert.used).await?;
        if self.pooled {
            facts.settings.insert("pooler".to_owned(), POOLER.to_owned());
            facts.traits.push("behind a pooler".to_owned());
        }
        Ok(facts)
    }

    fn refused_inserts(&self) -> Vec<(&'static str, &'static str)> {
        self.insert.refused.clone()
    }

    fn lease_words(&self) -> LeaseWords {
        let words = self.dialect().leases;
        if self.pooled {
            // A lock would stay with the server connection that took it.
            return LeaseWords { lock: None, is_locked: "NULL", ..words };
        }
        words
    }

    async fn describe(
        &self,
        connection: &mut SqlConnection<Connection>,
        table: &str,
    ) -> Result<TableShape, UserError> {
        if self.product == Product::QuestDb {
            let place = connection.place();
            let cause = format!("{place}: this server's tables cannot be described");
            return Err(UserError::usage(cause).with_hint(
                "write the workload file by hand; `highwater workloads show cpu` is one",
            ));
        }
        describe::describe(connection, self.product, table).await
    }

    async fn others_are_idle(
        &mut self,
        _connection: &mut SqlConnection<Connection>,
    ) -> Result<bool, UserError> {
        let name = self.dialect().literal(&self.application_name);
        for node in &self.others {
            let opened = match connect::open(node, &self.timeline).await {
                // Its statements end with it; work that it had sent to the storage completes or fails within moments.
                Err(error) if error.kind == UserErrorKind::Unreachable => continue,
                opened => opened?,
            };
            let lingering = node.lingering.list();
            let (place, timeout) = (node.shown.clone(), node.login.connect_timeout);
            let timeline = Rc::clone(&self.timeline);
            let mut other = SqlConnection::new(opened.connection, place, timeout, timeline);
            let running = self.dialect().count_running(&name, &lingering);
            if number(&other.rows(&running).await?, 0) > 0 {
                return Ok(false);
            }
            node.lingering.forget(&lingering);
        }
        Ok(true)
    }

    async fn directories(&self, connection: &mut SqlConnection<Connection>) -> Vec<PathBuf> {
        if self.product != Product::PostgreSql {
            return Vec::new();
        }
        let mut found = Vec::new();
        for question in ["SHOW data_directory", TABLESPACE] {
            let rows = connection.rows(question).await.unwrap_or_default();
            let place = first_value(rows).filter(|place| !place.is_empty());
            found.extend(place.map(PathBuf::from));
        }
        // Often a link to a separate disk.
        let log = found.first().map(|directory| directory.join("pg_wal"));
        found.extend(log);
        found
    }

    async fn rows_inserted(
        &self,
        connection: &mut SqlConnection<Connection>,
        workload: &BoundWorkload,
    ) -> Result<Option<u64>, UserError> {
        match self.product {
            Product::PostgreSql => settled_inserts(connection, workload).await.map(Some),
            _ => Ok(None),
        }
    }

    async fn table_settings(
        &self,
        connection: &mut SqlConnection<Connection>,
        names: &str,
    ) -> Result<Texts, UserError> {
        if self.product != Product::PostgreSql {
            return Ok(Vec::new());
        }
        let sql = format!(
            "SELECT c.relname, o.option_name, o.option_value FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace, \
             pg_catalog.pg_options_to_table(c.reloptions) o \
             WHERE n.nspname = current_schema() AND c.relname IN ({names})"
        );
        connection.rows(&sql).await
    }

    async fn storage_bytes(
        &self,
        connection: &mut SqlConnection<Connection>,
        workload: &BoundWorkload,
    ) -> Result<Option<u64>, UserError> {
        let bytes = "pg_catalog.pg_total_relation_size(oid)";
        match self.product {
            Product::PostgreSql => sum(connection, workload, bytes).await.map(Some),
            Product::QuestDb => partitions(connection, workload).await.map(Some),
            _ => Ok(None),
        }
    }
}

/// The sizes of all partitions of the workload's tables, in QuestDB.
async fn partitions(
    connection: &mut SqlConnection<Connection>,
    workload: &BoundWorkload,
) -> Result<u64, UserError> {
    let mut bytes = 0;
    for table in &workload.tables {
        let name = Product::QuestDb.dialect().literal(&table.name);
        let sizes = format!("SELECT sum(diskSize) FROM table_partitions({name})");
        bytes += number(&connection.rows(&sizes).await?, 0);
    }
    Ok(bytes)
}

/// The sum of a function over the workload's tables and their partitions.
async fn sum(
    connection: &mut SqlConnection<Connection>,
    workload: &BoundWorkload,
    expression: &str,
) -> Result<u64, UserError> {
    let names: Vec<String> =
        workload.tables.iter().map(|table| escape_literal(&table.name)).collect();
    if names.is_empty() {
        return Ok(0);
    }
    let rows = connection
        .rows(&format!(
            "WITH RECURSIVE tree(oid) AS (\
             SELECT c.oid FROM pg_catalog.pg_class c \
             JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = current_schema() AND c.relname IN ({}) \
             UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i \
             JOIN tree ON i.inhparent = tree.oid) \
             SELECT coalesce(sum({expression}), 0)::bigint FROM tree",
            names.join(", ")
        ))
        .await?;
    Ok(number(&rows, 0))
}

/// Reads the counter until it stays constant: backends report their work with a delay.
async fn settled_inserts(
    connection: &mut SqlConnection<Connection>,
    workload: &BoundWorkload,
) -> Result<u64, UserError> {
    let read = "pg_catalog.pg_stat_get_tuples_inserted(oid)";
    let begun = connection.now();
    let mut value = sum(connection, workload, read).await?;
    let mut since = begun;
    loop {
        let now = connection.now();
        if now.saturating_sub(since) >= COUNTER_STILL
            || now.saturating_sub(begun) >= COUNTER_WAIT_MAX
        {
            return Ok(value);
        }
        connection.pause(PAUSE_MAX).await;
        let next = sum(connection, workload, read).await?;
        if next != value {
            value = next;
            since = connection.now();
        }
    }
}

/// Location of new tables, if not in the data directory.
const TABLESPACE: &str = "SELECT pg_catalog.pg_tablespace_location(s.oid) \
    FROM pg_catalog.pg_tablespace s JOIN pg_catalog.pg_database d \
    ON d.datname = current_database() \
    AND CASE current_setting('default_tablespace') WHEN '' THEN s.oid = d.dattablespace \
    ELSE s.spcname = current_setting('default_tablespace') END";
