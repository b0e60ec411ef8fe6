//! The real databases in which faults are planted, and how each one is changed without the run's knowledge.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use highwater_driver::{Target, TargetOptions};
use highwater_model::units::{Nanos, Seed};
use highwater_testing::clickhouse::{self, ClickHouse};
use highwater_testing::mariadb::{self, MariaDb};
use highwater_testing::postgres::{self, Postgres};

use super::planted::Planted;
use crate::beside::wait_for;

/// Checks a database, if it is installed, with a directory for runs.
pub(crate) fn on(database: Option<Database>, check: impl FnOnce(&Database, &Path)) {
    if let Some(database) = database {
        let root = tempfile::tempdir().unwrap();
        check(&database, root.path());
    }
}

/// Checks SQLite, and PostgreSQL if it is installed.
pub(crate) fn on_both(check: impl Fn(&Database, &Path)) {
    let root = tempfile::tempdir().unwrap();
    check(&Database::sqlite(root.path()), root.path());
    on(Database::postgres(), check);
}

/// A real database.
#[derive(Clone)]
pub(crate) enum Database {
    Sqlite(PathBuf),
    Postgres(Arc<Postgres>),
    MariaDb(Arc<MariaDb>),
    ClickHouse(Arc<ClickHouse>),
}

impl Database {
    pub(crate) fn sqlite(root: &Path) -> Self {
        Self::Sqlite(root.join("meters.db"))
    }

    /// `None` if it is skipped.
    pub(crate) fn postgres() -> Option<Self> {
        (!postgres::skipped()).then(|| Self::Postgres(Arc::new(Postgres::start())))
    }

    /// `None` if it is skipped.
    pub(crate) fn mariadb() -> Option<Self> {
        (!mariadb::skipped()).then(|| Self::MariaDb(Arc::new(MariaDb::start())))
    }

    /// `None` if it is skipped.
    pub(crate) fn clickhouse() -> Option<Self> {
        (!clickhouse::skipped()).then(|| Self::ClickHouse(Arc::new(ClickHouse::start())))
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite(_) => "sqlite",
            Self::Postgres(_) => "postgres",
            Self::MariaDb(_) => "mariadb",
            Self::ClickHouse(_) => "clickhouse",
        }
    }

    /// Whether a trigger on a table can change other rows of it.
    pub(crate) fn has_triggers(&self) -> bool {
        matches!(self, Self::Sqlite(_) | Self::Postgres(_))
    }

    /// Whether a connection lives as long as its session, rather than being replaced when idle.
    pub(crate) fn has_sessions(&self) -> bool {
        matches!(self, Self::Postgres(_) | Self::MariaDb(_))
    }

    /// Port for a proxy.
    pub(crate) fn port(&self) -> Option<u16> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(server) => Some(server.port()),
            Self::MariaDb(server) => Some(server.port()),
            Self::ClickHouse(server) => Some(server.port()),
        }
    }

    fn url(&self, port: Option<u16>) -> String {
        let url = match self {
            Self::Sqlite(path) => format!("sqlite:{}", path.display()),
            Self::Postgres(server) => server.url(postgres::SUPERUSER, "postgres"),
            Self::MariaDb(server) => server.url(mariadb::SUPERUSER),
            Self::ClickHouse(server) => server.url(clickhouse::SUPERUSER),
        };
        match self.port().zip(port) {
            Some((own, port)) => url.replace(&format!(":{own}"), &format!(":{port}")),
            None => url,
        }
    }

    /// The target, behind a proxy at `port`, with this insert mode.
    pub(crate) fn open(&self, port: Option<u16>, insert: Option<&str>) -> Arc<dyn Target> {
        let options = TargetOptions {
            insert: insert.map(str::to_owned),
            data_directory: None,
            leases_directory: None,
            application_name: "audit".to_owned(),
            seed: Seed(42),
            connect_timeout: Nanos::from_secs(5),
        };
        highwater_drivers::open(&[self.url(port)], &options).unwrap()
    }

    /// Statements that plant a fault as soon as its last row is inserted.
    pub(crate) fn trigger(&self, planted: Planted) -> String {
        let (row, sql) = (planted.last_row(), planted.sql());
        match self {
            Self::Sqlite(_) => format!(
                "CREATE TRIGGER plant_{row} AFTER INSERT ON meters WHEN NEW.id = {row} \
                 BEGIN {sql} END;"
            ),
            Self::Postgres(_) => format!(
                "CREATE OR REPLACE FUNCTION plant_{row}() RETURNS trigger LANGUAGE plpgsql \
                 AS $$ BEGIN {sql} RETURN NULL; END $$; \
                 CREATE TRIGGER plant_{row} AFTER INSERT ON meters FOR EACH ROW \
                 WHEN (NEW.id = {row} AND pg_trigger_depth() = 0) \
                 EXECUTE FUNCTION plant_{row}();"
            ),
            Self::MariaDb(_) | Self::ClickHouse(_) => panic!("{} has no such trigger", self.name()),
        }
    }

    /// Plants faults in existing rows.
    pub(crate) fn plant(&self, planted: &[Planted]) {
        match self {
            Self::ClickHouse(server) => {
                for planted in planted {
                    self.execute(&mutation(server, *planted));
                }
            }
            _ => self.execute(&planted.iter().map(|planted| planted.sql()).collect::<String>()),
        }
    }

    /// Executes statements on a separate connection; their changes are complete when it returns.
    pub(crate) fn execute(&self, sql: &str) {
        if sql.is_empty() {
            return;
        }
        match self {
            Self::Sqlite(path) => {
                let connection = rusqlite::Connection::open(path).unwrap();
                connection.busy_timeout(Duration::from_secs(5)).unwrap();
                connection.execute_batch(sql).unwrap();
            }
            Self::Postgres(server) => drop(server.sql("postgres", sql)),
            Self::MariaDb(server) => {
                drop(server.sql(&format!("SET sql_mode = 'PIPES_AS_CONCAT'; {sql}")));
            }
            Self::ClickHouse(server) => {
                for statement in sql.split_terminator(';') {
                    server.sql(statement);
                }
                let is_done = "SELECT count() = 0 FROM system.mutations WHERE NOT is_done";
                wait_for("mutations", || server.sql(is_done) == "1");
            }
        }
    }
}

/// The statement for a server that changes rows by mutations.
fn mutation(server: &ClickHouse, planted: Planted) -> String {
    match planted {
        Planted::Dropped(row) => format!("ALTER TABLE meters DELETE WHERE id = {row};"),
        Planted::Duplicated(_) | Planted::Strange(_) => planted.sql(),
        Planted::Swapped(one, other) => {
            let value = |row| server.sql(&format!("SELECT n FROM meters WHERE id = {row}"));
            let (first, second) = (value(one), value(other));
            format!(
                "ALTER TABLE meters UPDATE n = if(id = {one}, {second}, {first}) \
                 WHERE id IN ({one}, {other});"
            )
        }
        Planted::Offset(one, other) => format!(
            "ALTER TABLE meters UPDATE n = n + if(id = {one}, 7, -7) WHERE id IN ({one}, {other});"
        ),
        Planted::Edited(row) => format!(
            "ALTER TABLE meters UPDATE note = concat(substring(note, 1, 10), \
             if(substring(note, 11, 1) = '1', '2', '1')) WHERE id = {row};"
        ),
    }
}
