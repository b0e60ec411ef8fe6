//! Sets up the tables of a run: creates or keeps them, and finds the index of the first new row, and binds the workload
//! to the target's dialect and to its tables' types.
//!
//! While a run writes, the table registry marks its tables. A killed run leaves this mark; the next run then queries
//! the table itself for its last row. Must not contain SQL, or names of databases.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{Admin, KeyCounts, RegistryEntry, TableFeatures, TablePolicy, Timeline};
use highwater_model::audit_record::EarlierAudit;
use highwater_model::op::{BoundTable, BoundWorkload, PlaceholderStyle, RowGenerator};
use highwater_model::plan::AuditLevel;
use highwater_model::record::{TableRecord, TableStart};
use highwater_model::stored::{DeclaredColumn, StoredForm};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_workload::Workload;

use crate::ledger::Ledger;
use crate::pass::{PassRecord, Passes};
use crate::request::{RunRequest, rows_per_op};
use crate::time_limits::within;

/// Keys per range when searching for the end of a table's rows; only the keys of the last range are then counted one by
/// one.
const END_SEARCH_WIDTH: u64 = 65_536;
/// Time limit for statements that an ended run left behind.
const IDLE_LIMIT: Nanos = Nanos::from_secs(30);
/// Time limit for writing the table registry after a run.
const REGISTER_LIMIT: Nanos = Nanos::from_secs(10);

/// The tables before this run.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExistingTables {
    entries: Vec<RegistryEntry>,
    /// One record per table; unknown row counts are absent.
    pub(crate) tables: Vec<TableRecord>,
    /// Index of the first row that this run may write.
    pub(crate) first_row: u64,
    /// Rows of earlier runs were counted, because no run had registered their number.
    taken_as_found: bool,
    /// The server's counter of inserted rows, before this run's first one.
    pub(crate) counter: Option<u64>,
    /// The tables' own settings.
    pub(crate) settings: BTreeMap<String, String>,
}

/// Whether a run may write rows.
pub(crate) fn writes(request: &RunRequest) -> bool {
    let inserts =
        request.plan.streams.iter().map(|stream| rows_per_op(&request.workload, &stream.name));
    request.plan.workload.rows_to_load > 0 || inserts.sum::<u64>() > 0
}

/// Whether it may write rows that are compared afterwards, which requires a count of earlier rows.
fn counts_rows(request: &RunRequest) -> bool {
    writes(request) && request.plan.audit.level != AuditLevel::Off
}

/// Creates or keeps the tables of a run, whose rows have this identity, and finds the index of the first new row.
pub(crate) async fn prepare(
    admin: &mut dyn Admin,
    bound: &BoundWorkload,
    request: &RunRequest,
    row_identity: &str,
    timeline: &Rc<dyn Timeline>,
) -> Result<ExistingTables, UserError> {
    if bound.tables.is_empty() {
        // The user's own tables are neither created, filled nor registered by a run.
        return Ok(ExistingTables::default());
    }
    let policy = TablePolicy {
        fingerprint: row_identity,
        seed: request.plan.seed,
        drop: request.options.drop,
        drop_foreign: &request.options.drop_foreign,
        settings: &request.options.tables.settings,
    };
    let mut entries = admin.create_tables(bound, &policy).await?;
    if request.plan.share.of > 1 {
        refuse_to_share(&entries)?;
    }
    let recovered: Vec<bool> = entries.iter().map(|entry| entry.writing).collect();
    let noted: Vec<bool> = entries.iter().map(|entry| entry.rows.is_some()).collect();
    let completed = complete_entries(admin, bound, request, &mut entries, timeline);
    let limit = request.plan.audit.limit;
    let completed = within(limit, timeline.as_ref(), std::pin::pin!(completed)).await;
    completed.unwrap_or_else(|| Err(too_long(limit)))?;
    let first_row = entries.iter().map(|entry| entry.next_index).max().unwrap_or(0);
    let counter = if first_row > 0 && counts_rows(request) {
        admin.rows_inserted(bound).await?
    } else {
        None
    };
    let taken_as_found = entries
        .iter()
        .zip(&recovered)
        .zip(noted)
        .any(|((entry, recovered), noted)| entry.rows > Some(0) && (*recovered || !noted));
    let tables = entries
        .iter()
        .zip(recovered)
        .map(|(entry, recovered)| TableRecord {
            name: entry.name.clone(),
            start: if entry.next_index > 0 { TableStart::Continued } else { TableStart::Fresh },
            rows_before: entry.rows,
            first_index: first_row,
            next_index: None,
            recovered,
        })
        .collect();
    let settings = admin.table_settings(bound).await?;
    Ok(ExistingTables { entries, tables, first_row, taken_as_found, counter, settings })
}

/// Rejects shares on tables with rows: each load generator would need the others' first rows.
fn refuse_to_share(entries: &[RegistryEntry]) -> Result<(), UserError> {
    let mut entries = entries.iter();
    let Some(entry) = entries.find(|entry| entry.writing || entry.next_index > 0) else {
        return Ok(());
    };
    let message = format!(
        "--share: table `{}` holds rows already, and shares begin with empty tables",
        entry.name
    );
    Err(UserError::usage(message).with_hint("give --drop to the first share"))
}

fn too_long(limit: Nanos) -> UserError {
    let limit = limit.as_secs_f64();
    let message = format!("the rows of earlier runs could not be counted within {limit} s");
    UserError::statement(message)
        .with_hint("give more time with --audit-timeout, or recreate the tables with --drop")
}

/// Completes the registry entries that an earlier run left without a number of rows.
async fn complete_entries(
    admin: &mut dyn Admin,
    bound: &BoundWorkload,
    request: &RunRequest,
    entries: &mut [RegistryEntry],
    timeline: &Rc<dyn Timeline>,
) -> Result<(), UserError> {
    let counts = counts_rows(request);
    let unclear = |entry: &RegistryEntry| entry.writing || (entry.rows.is_none() && counts);
    if !entries.iter().any(unclear) {
        return Ok(());
    }
    let deadline = timeline.now().saturating_add(IDLE_LIMIT);
    if !admin.quiesce(deadline).await? {
        return Err(busy(entries));
    }
    for (entry, table) in entries.iter_mut().zip(&bound.tables) {
        if entry.writing {
            // There may be more rows after the hidden ones.
            if let Some(why) = admin.hidden_rows(table).await? {
                return Err(hidden(&entry.name, &why));
            }
            let (next_index, rows) = end_of(admin, table).await?;
            entry.next_index = entry.next_index.max(next_index);
            entry.rows = Some(rows);
            entry.writing = false;
        } else if unclear(entry) && !table.columns.is_empty() {
            entry.rows = Some(rows_of(&admin.count_by_key(table, u64::MAX).await?));
        }
    }
    Ok(())
}

fn hidden(table: &str, why: &str) -> UserError {
    let message =
        format!("table `{table}`: where the rows of a run that was killed end is not known: {why}");
    UserError::new(UserErrorKind::ForeignTable, message)
        .with_hint("run as a user who sees every row, or recreate the table with --drop")
}

fn busy(entries: &[RegistryEntry]) -> UserError {
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let names = names.join(", ");
    let message = format!("statements of another run are still running on {names}");
    UserError::new(UserErrorKind::ForeignTable, message)
        .with_hint("wait until that run has ended; two runs cannot fill one table")
}

/// The index after the last row of a table, and its number of rows. All rows must be visible. Rows that its creation
/// made do not count.
pub(crate) async fn end_of(
    admin: &mut dyn Admin,
    table: &BoundTable,
) -> Result<(u64, u64), UserError> {
    if table.columns.is_empty() {
        return Ok((0, 0));
    }
    let counts = admin.count_by_key(table, END_SEARCH_WIDTH).await?;
    let rows = rows_of(&counts);
    let Some((last, _)) = counts.buckets.last() else {
        return Ok((0, rows));
    };
    let begin = last.saturating_mul(END_SEARCH_WIDTH);
    let within = admin.count_by_key(&from_key(table, begin), 1).await?;
    let end = within.buckets.last().map_or(begin, |(key, _)| key + 1);
    Ok((end, rows))
}

fn rows_of(counts: &KeyCounts) -> u64 {
    let with_key: u64 = counts.buckets.iter().map(|(_, rows)| rows).sum();
    with_key + counts.without_key
}

/// The table with a key expression that is NULL below this key, so that those rows are counted separately.
fn from_key(table: &BoundTable, first: u64) -> BoundTable {
    let key = &table.key;
    BoundTable { key: format!("CASE WHEN ({key}) >= {first} THEN ({key}) END"), ..table.clone() }
}

/// The table with a key expression that is NULL outside this range.
fn between_keys(table: &BoundTable, keys: Range<u64>) -> BoundTable {
    let (key, Range { start, end }) = (&table.key, keys);
    BoundTable {
        key: format!("CASE WHEN ({key}) >= {start} AND ({key}) < {end} THEN ({key}) END"),
        ..table.clone()
    }
}

/// The tables as seen by an audit of only these rows: other rows have no key.
pub(crate) fn rows_in(bound: &BoundWorkload, rows: Range<u64>) -> BoundWorkload {
    let mut own = bound.clone();
    for table in &mut own.tables {
        *table = between_keys(table, rows.clone());
    }
    own
}

impl ExistingTables {
    /// The tables before a stored run.
    pub(crate) fn of_record(tables: &[TableRecord]) -> Self {
        Self {
            tables: tables.to_vec(),
            first_row: tables.iter().map(|table| table.first_index).max().unwrap_or(0),
            ..Self::default()
        }
    }

    /// The positions of empty tables that no run has written to.
    pub(crate) async fn unwritten(
        &self,
        admin: &mut dyn Admin,
        bound: &BoundWorkload,
    ) -> Result<Vec<usize>, UserError> {
        let mut unwritten = Vec::new();
        for (position, (entry, table)) in self.entries.iter().zip(&bound.tables).enumerate() {
            let is_new = entry.next_index == 0 && !entry.writing && entry.rows == Some(0);
            let is_new = is_new && !table.columns.is_empty();
            if is_new && rows_of(&admin.count_by_key(table, u64::MAX).await?) == 0 {
                unwritten.push(position);
            }
        }
        Ok(unwritten)
    }

    /// Registers that these tables contain canary rows, which must not stay.
    pub(crate) async fn begin_canary(
        &self,
        admin: &mut dyn Admin,
        positions: &[usize],
    ) -> Result<(), UserError> {
        let entries: Vec<RegistryEntry> = positions
            .iter()
            .filter_map(|at| self.entries.get(*at))
            .map(RegistryEntry::as_canary)
            .collect();
        admin.update_registry(&entries).await
    }

    /// Recreates the tables that contain canary rows.
    pub(crate) async fn end_canary(
        &mut self,
        admin: &mut dyn Admin,
        bound: &BoundWorkload,
        request: &RunRequest,
        row_identity: &str,
    ) -> Result<(), UserError> {
        let policy = TablePolicy {
            settings: &request.options.tables.settings,
            ..TablePolicy::new(row_identity, request.plan.seed)
        };
        self.entries = admin.create_tables(bound, &policy).await?;
        Ok(())
    }

    /// The tables as seen by the audit of this run: rows of earlier runs have no key.
    pub(crate) fn own_rows(&self, bound: &BoundWorkload) -> BoundWorkload {
        let mut own = bound.clone();
        if self.first_row > 0 {
            for table in &mut own.tables {
                *table = from_key(table, self.first_row);
            }
        }
        own
    }

    /// Registers that a run writes from here on.
    pub(crate) async fn begin(&self, admin: &mut dyn Admin) -> Result<(), UserError> {
        let entries = self.entries_with(self.first_row, true, None);
        admin.update_registry(&entries).await
    }

    /// Rows of earlier runs, by table.
    pub(crate) fn rows_before(&self) -> Vec<u64> {
        self.entries.iter().map(|entry| entry.rows.unwrap_or(0)).collect()
    }

    /// Rows that must be in each table after a run without an audit; absent if unknown.
    pub(crate) fn rows_due(&self, ledgers: &[Ledger]) -> Option<Vec<u64>> {
        let due = self.entries.iter().zip(ledgers).map(|(entry, ledger)| {
            let (before, written) = (entry.rows?, ledger.totals());
            let is_certain = written.unknown == 0 && !ledger.has_replacements();
            is_certain.then(|| before + written.acknowledged)
        });
        due.collect()
    }

    /// Rows that exist before a load. A killed run leaves gaps before its last row, so the counted number is preferred.
    /// If rows replace each other or were not counted, it is the number of rows ever written.
    pub(crate) fn filled(&self, workload: &Workload) -> u64 {
        let replaces =
            (0..self.entries.len()).any(|table| workload.replacing_column(table).is_some());
        let last = self.entries.iter().max_by_key(|entry| entry.next_index);
        last.and_then(|entry| entry.rows)
            .filter(|_| !replaces)
            .map_or(self.first_row, |rows| rows.min(self.first_row))
    }

    /// Index after the last row that a run may have sent.
    pub(crate) fn rows_end(&self, request: &RunRequest, passes: &Passes) -> u64 {
        let plan = &request.plan.workload;
        let ops = |pass: &Option<PassRecord>, stream: usize| -> u64 {
            let ends = pass.as_ref().and_then(|pass| pass.ends.get(stream));
            ends.copied().unwrap_or(0)
        };
        let loaded = ops(&passes.load, 0).saturating_mul(plan.load_batch);
        let begin = self.first_row.max(plan.rows_to_load);
        let loaded = self.first_row.saturating_add(loaded).min(begin);
        let ends = request.plan.streams.iter().enumerate().filter_map(|(position, stream)| {
            let spec = request.workload.stream(&stream.name)?;
            let sent = request.workload.rows_before(&spec, ops(&passes.main, position));
            (sent > 0).then(|| begin.saturating_add(sent))
        });
        ends.fold(loaded, u64::max)
    }

    /// A sentence for the reader, if earlier runs left rows; `earlier` is the comparison of those rows.
    pub(crate) fn continued_note(&self, earlier: Option<&EarlierAudit>) -> Option<String> {
        let compared = earlier.filter(|earlier| earlier.error.is_none());
        let rows: Option<u64> = self.entries.iter().map(|entry| entry.rows).sum();
        (self.first_row > 0).then(|| {
            let rows = rows.map_or("rows".to_owned(), |rows| format!("{rows} rows"));
            let how = match (compared.map(|compared| compared.from_row), self.taken_as_found) {
                (Some(0), _) => "; they were compared with the ledgers of those runs".to_owned(),
                (Some(from), false) => {
                    format!("; those from index {from} on were compared with the runs' ledgers")
                }
                (Some(from), true) => format!(
                    "; those from index {from} on were compared with the runs' ledgers, and those \
                     before were counted: a loss of them before this run is not seen"
                ),
                (None, true) => "; how many of them were acknowledged is not known, so those that \
                                 are there were counted, and a loss before this run is not seen"
                    .to_owned(),
                (None, false) => String::new(),
            };
            let not = earlier.and_then(|earlier| earlier.error.as_deref());
            let not = not.map_or(String::new(), |why| format!("; they were only counted: {why}"));
            format!("earlier runs left {rows}; rows go on from index {}{how}{not}", self.first_row)
        })
    }

    /// A sentence for the reader, if this run's shards and replicas were not used to create a table.
    pub(crate) fn spread_note(&self, features: TableFeatures) -> Option<String> {
        let kept = self.first_row > 0 && features.shards;
        kept.then(|| {
            "the tables have the shards and replicas that they were created with, whatever the \
             parameters of this run say"
                .to_owned()
        })
    }

    /// Registers the end of this run's rows, and the number of rows that its audit found.
    pub(crate) async fn close(
        &mut self,
        admin: &mut dyn Admin,
        next_index: u64,
        rows: Option<&[u64]>,
        timeline: &Rc<dyn Timeline>,
    ) -> Result<(), UserError> {
        for table in &mut self.tables {
            table.next_index = Some(next_index);
        }
        let entries = self.entries_with(next_index, false, rows);
        let registered = admin.update_registry(&entries);
        let registered = within(REGISTER_LIMIT, timeline.as_ref(), registered).await;
        let late = || UserError::unreachable("the target did not answer in time");
        registered.unwrap_or_else(|| Err(late()))
    }

    fn entries_with(
        &self,
        next_index: u64,
        writing: bool,
        rows: Option<&[u64]>,
    ) -> Vec<RegistryEntry> {
        self.entries
            .iter()
            .enumerate()
            .map(|(table, entry)| RegistryEntry {
                next_index,
                writing,
                rows: rows.and_then(|rows| rows.get(table).copied()),
                ..entry.clone()
            })
            .collect()
    }
}

/// Binds the workload to the first of these dialects that it supports; `literals` writes values into the text of
/// queries.
pub(crate) fn bind(
    workload: &Arc<Workload>,
    literals: bool,
    dialects: &[String],
    style: PlaceholderStyle,
) -> Result<BoundWorkload, UserError> {
    let mut bound = if literals {
        workload.bind_literally(dialects)?
    } else {
        workload.bind(dialects, style)?
    };
    let workload = Arc::clone(workload);
    let fill = move |table, first, rows, batch: &mut _| {
        workload.fill_row_batch(table, first, rows, batch);
    };
    bound.rows = Some(RowGenerator(Arc::new(fill)));
    Ok(bound)
}

/// The declared columns of a workload's tables, by table; empty for a missing table.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeclaredTables(Vec<Vec<DeclaredColumn>>);

impl DeclaredTables {
    /// Reads the declarations.
    pub(crate) async fn read(
        admin: &mut dyn Admin,
        bound: &BoundWorkload,
    ) -> Result<Self, UserError> {
        let mut tables = Vec::with_capacity(bound.tables.len());
        for table in &bound.tables {
            tables.push(admin.declared_columns(table).await?);
        }
        Ok(Self(tables))
    }

    /// Excludes columns that cannot be compared.
    pub(crate) fn leave_out(&mut self, columns: &[(usize, usize)], bound: &BoundWorkload) {
        self.0.resize_with(bound.tables.len(), Vec::new);
        for (table, column) in columns {
            let Some(declared) = self.0.get_mut(*table) else {
                continue;
            };
            let columns = bound.tables.get(*table).map_or(0, |table| table.columns.len());
            declared.resize_with(columns, DeclaredColumn::default);
            if let Some(declared) = declared.get_mut(*column) {
                declared.form = StoredForm::Uncompared;
            }
        }
    }

    /// Makes the audit expect the values as these columns store them.
    pub(crate) fn bind(&self, bound: &mut BoundWorkload) {
        for (table, columns) in bound.tables.iter_mut().zip(&self.0) {
            for (column, declared) in table.columns.iter_mut().zip(columns) {
                column.declared.clone_from(declared);
            }
        }
    }
}
