//! Operations before and after the load on a server with a text protocol: quiescence, tables, counts. A driver adds its
//! server's specifics as a [`SqlServer`].
//!
//! Must not measure time, or know a wire.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use highwater_model::op::{BoundColumn, BoundTable, BoundWorkload, Value};
use highwater_model::stored::{DeclaredColumn, KeyRange, is_within};
use highwater_model::table_shape::TableShape;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::connection::{Kept, Row, SqlConnection, TextWire};
use super::dialect::Dialect;
use super::facts::{number, readable};
use super::leases::LeaseWords;
use super::{audit, facts, leases, tables};
use crate::contract::{
    KeyCounts, KeySums, Response, RowTaker, ServerAdmin, ShardCopies, TableAdmin, TableDescriber,
    TableReader, TargetFacts,
};
use crate::regular_file::DiskSpace;
use crate::sql::connection::{SqlQuery, Texts, first_value};
use crate::table_registry::{self, Lease, LeaseAction, RegistryEntry, Right, TablePolicy};
use crate::time_limit::LingeringBackends;

/// First pause between two polls of a busy server.
const PAUSE_MIN: Nanos = Nanos::from_millis(10);
/// Longest pause between two polls.
pub const PAUSE_MAX: Nanos = Nanos::from_millis(250);

/// The driver's part: statements that only its server understands.
#[expect(async_fn_in_trait, reason = "a connection stays on its thread")]
pub trait SqlServer {
    /// Its wire.
    type Wire: TextWire;

    /// Its SQL.
    fn dialect(&self) -> &'static Dialect;

    /// See [`ServerAdmin::refused_inserts`].
    fn refused_inserts(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// The SQL of its leases.
    fn lease_words(&self) -> LeaseWords {
        self.dialect().leases
    }

    /// See [`ServerAdmin::facts`].
    async fn facts(
        &mut self,
        connection: &mut SqlConnection<Self::Wire>,
    ) -> Result<TargetFacts, UserError>;

    /// See [`TableDescriber::describe`].
    async fn describe(
        &self,
        connection: &mut SqlConnection<Self::Wire>,
        table: &str,
    ) -> Result<TableShape, UserError>;

    /// Whether no statement of this program's sessions is running on other servers, which the connection does not
    /// cover.
    async fn others_are_idle(
        &mut self,
        _connection: &mut SqlConnection<Self::Wire>,
    ) -> Result<bool, UserError> {
        Ok(true)
    }

    /// See [`TableReader::copies`].
    async fn copies(
        &mut self,
        _connection: &mut SqlConnection<Self::Wire>,
        _workload: &BoundWorkload,
        _with_values: bool,
    ) -> Result<Vec<ShardCopies>, UserError> {
        Ok(Vec::new())
    }

    /// Directories of its tables and its log, if it reports them. Read only if the server runs on this machine.
    async fn directories(&self, connection: &mut SqlConnection<Self::Wire>) -> Vec<PathBuf>;

    /// See [`TableAdmin::rows_inserted`].
    async fn rows_inserted(
        &self,
        _connection: &mut SqlConnection<Self::Wire>,
        _workload: &BoundWorkload,
    ) -> Result<Option<u64>, UserError> {
        Ok(None)
    }

    /// Selects the own settings of tables, as table, name, and value; the tables are a list of
    /// literals.
    async fn table_settings(
        &self,
        _connection: &mut SqlConnection<Self::Wire>,
        _names: &str,
    ) -> Result<Texts, UserError> {
        Ok(Vec::new())
    }

    /// Queries the sizes in bytes of tables, a list of literals; `None` if the server does not report
    /// sizes.
    fn storage_query(&self, _names: &str) -> Option<String> {
        None
    }

    /// See [`TableAdmin::storage_bytes`].
    async fn storage_bytes(
        &self,
        connection: &mut SqlConnection<Self::Wire>,
        workload: &BoundWorkload,
    ) -> Result<Option<u64>, UserError> {
        let names = literals(self.dialect(), workload);
        match self.storage_query(&names) {
            Some(_) if names.is_empty() => Ok(Some(0)),
            Some(query) => Ok(Some(number(&connection.rows(&query).await?, 0))),
            None => Ok(None),
        }
    }
}

/// Whether the server itself rejected a statement, and would do so again.
fn is_lasting(error: &UserError) -> bool {
    use UserErrorKind::{MissingTable, Statement};
    matches!(error.kind, Statement | MissingTable)
}

/// Operations before and after the load, on a separate connection.
pub struct SqlAdmin<S: SqlServer> {
    server: S,
    connection: SqlConnection<S::Wire>,
    application_name: String,
    lingering: Arc<LingeringBackends>,
    /// The server's directories, if it is on this machine; `None` until queried.
    directories: Option<Vec<PathBuf>>,
    /// It lacked resources for a statement of the audit: the next ones use less memory, and take
    /// longer.
    is_frugal: bool,
}

impl<S: SqlServer> SqlAdmin<S> {
    /// For the sessions with this name, whose lingering backends are recorded there.
    pub fn new(
        server: S,
        connection: SqlConnection<S::Wire>,
        application_name: String,
        lingering: Arc<LingeringBackends>,
        is_local: bool,
    ) -> Self {
        Self {
            server,
            connection,
            application_name,
            lingering,
            directories: (!is_local).then(Vec::new),
            is_frugal: false,
        }
    }

    /// The connection, for the driver's own statements.
    pub fn connection(&mut self) -> &mut SqlConnection<S::Wire> {
        &mut self.connection
    }

    /// Fails if a table could not be created, and changes none.
    pub async fn check_tables(
        &mut self,
        workload: &BoundWorkload,
        policy: &TablePolicy<'_>,
    ) -> Result<(), UserError> {
        let dialect = self.server.dialect();
        let checked = tables::check(&mut self.connection, dialect, workload, policy).await;
        checked.map_err(|error| error.of_table(self.connection.place()))
    }

    /// A statement whose client has disconnected is listed until it is done. A closed connection of Highwater lingers
    /// until the server has read everything sent on it.
    async fn wait_until_idle(&mut self, deadline: Nanos) -> Result<bool, UserError> {
        let dialect = self.server.dialect();
        let name = dialect.literal(&self.application_name);
        let mut pause = PAUSE_MIN;
        let begun = self.connection.now();
        loop {
            let lingering = self.lingering.list();
            let waited = self.connection.now().saturating_sub(begun);
            let unread =
                !lingering.is_empty() && dialect.unread_inserts.is_some_and(|limit| waited < limit);
            let running = dialect.count_running(&name, &lingering);
            let idle = number(&self.connection.rows(&running).await?, 0) == 0 && !unread;
            if idle && self.server.others_are_idle(&mut self.connection).await? {
                self.lingering.forget(&lingering);
                return self.make_all_visible().await.map(|()| true);
            }
            let now = self.connection.now();
            if now >= deadline {
                return Ok(false);
            }
            let next = pause.min(deadline.saturating_sub(now));
            self.connection.pause(next).await;
            pause = Nanos(pause.0.saturating_mul(2)).min(PAUSE_MAX);
        }
    }

    /// Makes writes to the tables of the schema visible, if that requires a statement.
    async fn make_all_visible(&mut self) -> Result<(), UserError> {
        let dialect = self.server.dialect();
        if dialect.refresh.is_none() {
            return Ok(());
        }
        let tables = "SELECT table_name FROM information_schema.tables \
                      WHERE table_schema = current_schema() AND table_type = 'BASE TABLE'";
        let tables = self.connection.rows(tables).await?;
        for name in tables.into_iter().flatten().flatten() {
            if let Some(statement) = dialect.refresh(&name) {
                self.connection.texts(&statement).await?;
            }
        }
        Ok(())
    }

    /// Prepares for reading a whole table: makes writes visible.
    async fn make_visible(&mut self, table: &BoundTable) -> Result<(), UserError> {
        if let Some(statement) = self.server.dialect().refresh(&table.name) {
            self.connection.long_rows(&statement).await?;
        }
        Ok(())
    }

    /// Runs an audit statement in a transaction with its own settings, and passes on its rows. Statements of one
    /// message are one transaction.
    async fn each_audited(
        &mut self,
        sql: &str,
        take: &mut dyn FnMut(Row) -> io::Result<()>,
    ) -> Result<(), UserError> {
        let dialect = self.server.dialect();
        let settings = dialect.audit_settings.map(|settings| format!("{settings}; "));
        let ending = dialect.audit_endings[usize::from(self.is_frugal)];
        let mut is_of_settings = settings.is_some();
        let mut behind = |row| {
            if std::mem::take(&mut is_of_settings) {
                return Ok(());
            }
            take(row)
        };
        let all = format!("{}{sql}{ending}", settings.unwrap_or_default());
        let read = self.connection.each_row(&all, &mut behind).await;
        self.is_frugal |= matches!(&read, Err(of) if of.kind == UserErrorKind::Exhausted);
        read
    }

    /// Runs an audit statement, and reads its response; `read` returns `None` if it does not consist of integers.
    async fn audited<T>(
        &mut self,
        table: &BoundTable,
        sql: &str,
        read: impl FnOnce(&Texts) -> Option<T>,
    ) -> Result<T, UserError> {
        self.make_visible(table).await?;
        let mut kept = Kept::default();
        self.each_audited(sql, &mut |row| kept.take(row)).await?;
        read(&kept.rows).ok_or_else(|| audit::not_integers(self.connection.place()))
    }
}

impl<S: SqlServer> ServerAdmin for SqlAdmin<S> {
    fn refused_inserts(&self) -> Vec<(&'static str, &'static str)> {
        self.server.refused_inserts()
    }

    fn facts(&mut self) -> Response<'_, TargetFacts> {
        Box::pin(self.server.facts(&mut self.connection))
    }

    fn quiesce(&mut self, deadline: Nanos) -> Response<'_, bool> {
        Box::pin(self.wait_until_idle(deadline))
    }

    fn disk(&mut self) -> Response<'_, Option<DiskSpace>> {
        Box::pin(async move {
            if self.directories.is_none() {
                let found = self.server.directories(&mut self.connection).await;
                self.directories = Some(found);
            }
            let disks =
                self.directories.iter().flatten().filter_map(|path| DiskSpace::of_path(path));
            // The run ends when the first one is full.
            Ok(disks.min_by_key(|disk| disk.free_bytes))
        })
    }

    fn try_rights<'a>(&'a mut self, table: &'a str) -> Response<'a, Option<Vec<Right>>> {
        Box::pin(async move {
            let dialect = self.server.dialect();
            let (name, options) = (dialect.identifier(table), dialect.options);
            let rights = table_registry::try_all(&mut self.connection, &name, options).await;
            rights.map(Some)
        })
    }
}

impl<S: SqlServer> TableAdmin for SqlAdmin<S> {
    fn create_tables<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        policy: &'a TablePolicy<'a>,
    ) -> Response<'a, Vec<RegistryEntry>> {
        Box::pin(async move {
            let dialect = self.server.dialect();
            let made = tables::create(&mut self.connection, dialect, workload, policy).await;
            made.map_err(|error| error.of_table(self.connection.place()))
        })
    }

    fn update_registry<'a>(&'a mut self, entries: &'a [RegistryEntry]) -> Response<'a, ()> {
        let dialect = self.server.dialect();
        Box::pin(tables::update(&mut self.connection, dialect, entries))
    }

    fn leases<'a>(&'a mut self, action: LeaseAction<'a>) -> Response<'a, Vec<Lease>> {
        Box::pin(async move {
            let words = self.server.lease_words();
            let connection = &mut self.connection;
            if let Some(create) = words.appended {
                return leases::perform_appended(connection, &words, create, action).await;
            }
            leases::perform(connection, &words, action).await
        })
    }

    fn listed_tables<'a>(&'a mut self, drop: &'a [String]) -> Response<'a, Vec<RegistryEntry>> {
        let dialect = self.server.dialect();
        Box::pin(tables::listed_tables(self, dialect, drop))
    }

    fn rows_inserted<'a>(&'a mut self, workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(self.server.rows_inserted(&mut self.connection, workload))
    }

    fn storage_bytes<'a>(&'a mut self, workload: &'a BoundWorkload) -> Response<'a, Option<u64>> {
        Box::pin(self.server.storage_bytes(&mut self.connection, workload))
    }

    fn table_settings<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
    ) -> Response<'a, BTreeMap<String, String>> {
        Box::pin(async move {
            let names = literals(self.server.dialect(), workload);
            if names.is_empty() {
                return Ok(BTreeMap::new());
            }
            let found = self.server.table_settings(&mut self.connection, &names).await;
            Ok(facts::of_tables(workload.tables.len(), readable(found)?))
        })
    }
}

/// The names of the workload's tables in a list of literals.
fn literals(dialect: &Dialect, workload: &BoundWorkload) -> String {
    let names = workload.tables.iter().map(|table| dialect.literal(&table.name));
    names.collect::<Vec<String>>().join(", ")
}

impl<S: SqlServer> TableReader for SqlAdmin<S> {
    fn count_by_key<'a>(
        &'a mut self,
        table: &'a BoundTable,
        width: u64,
    ) -> Response<'a, KeyCounts> {
        Box::pin(async move {
            let sql = audit::counts(self.server.dialect(), table, width);
            self.audited(table, &sql, audit::counted).await
        })
    }

    fn sums_by_key<'a>(&'a mut self, table: &'a BoundTable, width: u64) -> Response<'a, KeySums> {
        Box::pin(async move {
            let sql = audit::sums(self.server.dialect(), table, width);
            let read = |rows: &Texts| audit::summed(table, width, rows);
            self.audited(table, &sql, read).await
        })
    }

    fn read_rows<'a>(
        &'a mut self,
        table: &'a BoundTable,
        ranges: &'a [KeyRange],
        take: &'a mut RowTaker<'a>,
    ) -> Response<'a, ()> {
        Box::pin(async move {
            self.make_visible(table).await?;
            for (sql, ranges) in audit::reads(self.server.dialect(), table, ranges) {
                let mut pick = |row| {
                    let stored = audit::stored(table, row);
                    if let Some(stored) = stored.filter(|row| is_within(ranges, row.key)) {
                        take(stored);
                    }
                    Ok(())
                };
                self.each_audited(&sql, &mut pick).await?;
            }
            Ok(())
        })
    }

    fn declared_columns<'a>(
        &'a mut self,
        table: &'a BoundTable,
    ) -> Response<'a, Vec<DeclaredColumn>> {
        Box::pin(async move {
            let dialect = self.server.dialect();
            let Some(query) = dialect.declared_columns(&table.name) else {
                return Ok(Vec::new());
            };
            match self.connection.rows(&query).await {
                Ok(rows) => Ok(dialect.declared(table, &rows)),
                // The table does not exist, or a compatible server has other catalogs.
                Err(error) if !is_lasting(&error) => Err(error),
                Err(_) => Ok(Vec::new()),
            }
        })
    }

    fn text_in<'a>(
        &'a mut self,
        column: &'a BoundColumn,
        text: &'a str,
    ) -> Response<'a, Option<String>> {
        Box::pin(async move {
            let dialect = self.server.dialect();
            let Some(query) = dialect.text_in(text, &column.declared) else {
                return Ok(None);
            };
            let mut kept = Kept::default();
            let read = self.each_audited(&query, &mut |row| kept.take(row)).await;
            match read {
                Ok(()) => Ok(first_value(kept.rows)),
                Err(error) if is_lasting(&error) => Ok(None),
                Err(error) => Err(error),
            }
        })
    }

    fn hidden_rows<'a>(&'a mut self, table: &'a BoundTable) -> Response<'a, Option<String>> {
        Box::pin(async move {
            let dialect = self.server.dialect();
            // The registry remains if only its table is dropped: if both are missing, this is another place.
            let entry = tables::select(dialect, &table.name);
            let registered = match self.connection.rows(&entry).await {
                Err(error) if is_lasting(&error) => false,
                entry => !entry?.is_empty(),
            };
            if !registered {
                let why = "the registry of the tables that Highwater created is not there: the \
                           search path, the schema or the database is another one than before";
                return Ok(Some(why.to_owned()));
            }
            let Some(query) = dialect.hides_rows else {
                return Ok(None);
            };
            let query = dialect.about(query, &table.name);
            let answered = match self.connection.rows(&query).await {
                // A compatible server may not know the function, and then hides nothing this way.
                Err(error) if is_lasting(&error) => return Ok(None),
                answered => answered?,
            };
            let hides = first_value(answered).is_some_and(|text| text == "t");
            Ok(hides.then(|| "a row-level security policy applies to this user".to_owned()))
        })
    }

    fn condition(&self, table: &BoundTable, row: &[Value]) -> Option<String> {
        Some(self.server.dialect().condition(table, row))
    }

    fn query<'a>(&'a mut self, sql: &'a str) -> Response<'a, Texts> {
        Box::pin(self.connection.long_rows(sql))
    }

    fn copies<'a>(
        &'a mut self,
        workload: &'a BoundWorkload,
        with_values: bool,
    ) -> Response<'a, Vec<ShardCopies>> {
        let (server, connection) = (&mut self.server, &mut self.connection);
        Box::pin(server.copies(connection, workload, with_values))
    }
}

impl<S: SqlServer> TableDescriber for SqlAdmin<S> {
    fn describe<'a>(&'a mut self, table: &'a str) -> Response<'a, TableShape> {
        Box::pin(self.server.describe(&mut self.connection, table))
    }
}
