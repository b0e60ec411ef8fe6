//! The ground that a run builds on: which tables it finds, and at which row its own rows begin.
//!
//! While a run writes, the list of tables says so. A run that ended without a word, because it was
//! killed, leaves that mark; the next one then asks the table itself how far the rows go. What
//! must not be here: SQL, and names of databases.

use std::rc::Rc;

use futures_util::future::{Either, select};
use highwater_core::model::op::{BoundTable, BoundWorkload};
use highwater_core::model::plan::AuditLevel;
use highwater_core::model::record::TableRecord;
use highwater_core::model::units::Nanos;
use highwater_core::workload::Workload;
use highwater_driver::{
    Admin, KeyCounts, RegistryEntry, TablePolicy, TargetError, TargetErrorKind, Timeline,
};

use crate::pass::PassRecord;
use crate::pass::Passes;
use crate::request::{RunRequest, rows_per_op};

/// Keys per range when the end of a table's rows is looked for; so few are then looked at one by
/// one.
const LOOK_WIDTH: u64 = 65_536;
/// How long statements that an ended run left behind are waited for.
const QUIET_LIMIT: Nanos = Nanos::from_secs(30);
/// How long writing the list may take after a run.
const NOTE_LIMIT: Nanos = Nanos::from_secs(10);

/// What was there before the run.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExistingTables {
    notes: Vec<RegistryEntry>,
    /// Of each table; rows that nobody has counted are absent.
    pub(crate) tables: Vec<TableRecord>,
    /// Index of the first row that this run may write.
    pub(crate) first_row: u64,
    /// The server's own counter of rows inserted, before this run's first one.
    pub(crate) counter: Option<u64>,
}

/// What a run intends with its tables.
pub(crate) struct Intention<'a> {
    pub(crate) wish: TablePolicy<'a>,
    /// Whether it may write rows.
    pub(crate) writes: bool,
    /// Whether rows are compared afterwards, so that those of earlier runs must be known.
    pub(crate) audits: bool,
    /// Load generators of the plan.
    pub(crate) shares: u32,
    /// Bound of counting rows of earlier runs.
    pub(crate) limit: Nanos,
}

impl<'a> Intention<'a> {
    /// What a request intends.
    pub(crate) fn of(request: &'a RunRequest) -> Self {
        let plan = &request.plan;
        let streams = plan.streams.iter();
        let inserts = streams.map(|stream| rows_per_op(&request.workload, &stream.name));
        Self {
            wish: TablePolicy {
                fingerprint: &plan.workload.fingerprint,
                seed: plan.seed,
                drop: request.drop_tables,
                drop_foreign: &request.drop_foreign,
                settings: &request.tables.settings,
            },
            writes: plan.workload.rows_to_load > 0 || inserts.sum::<u64>() > 0,
            audits: plan.audit.level != AuditLevel::Off,
            shares: plan.share.of,
            limit: plan.audit.limit,
        }
    }
}

/// Creates or keeps the tables, and finds out where rows go on.
pub(crate) async fn prepare(
    admin: &mut dyn Admin,
    bound: &BoundWorkload,
    definition: &Intention<'_>,
    timeline: &Rc<dyn Timeline>,
) -> Result<ExistingTables, TargetError> {
    if bound.tables.is_empty() {
        // The user's own tables are nothing that this run creates, fills or notes.
        return Ok(ExistingTables::default());
    }
    let mut notes = admin.create_tables(bound, &definition.wish).await?;
    if definition.shares > 1 {
        refuse_to_share(&notes)?;
    }
    let recovered: Vec<bool> = notes.iter().map(|note| note.writing).collect();
    let deadline = timeline.now().saturating_add(definition.limit);
    {
        let look = std::pin::pin!(look(admin, bound, definition, &mut notes, timeline));
        match select(look, timeline.sleep_until(deadline)).await {
            Either::Left((looked, _)) => looked?,
            Either::Right(_) => return Err(too_long(definition.limit)),
        }
    }
    let first_row = notes.iter().map(|note| note.next_index).max().unwrap_or(0);
    let counter = if first_row > 0 && definition.writes && definition.audits {
        admin.rows_inserted(bound).await?
    } else {
        None
    };
    let tables = notes
        .iter()
        .zip(recovered)
        .map(|(note, recovered)| TableRecord {
            name: note.name.clone(),
            rows_before: note.rows,
            first_index: first_row,
            next_index: None,
            recovered,
        });
    let ground = ExistingTables {
        tables: tables.collect(),
        first_row,
        counter,
        notes,
    };
    Ok(ground)
}

/// Each load generator would have to know where the rows of the others begin.
fn refuse_to_share(notes: &[RegistryEntry]) -> Result<(), TargetError> {
    let Some(note) = notes
        .iter()
        .find(|note| note.writing || note.next_index > 0)
    else {
        return Ok(());
    };
    let message = format!(
        "--share: table `{}` holds rows already, and shares begin with empty tables",
        note.name
    );
    Err(TargetError::usage(message).with_hint("give --drop to the first share"))
}

fn too_long(limit: Nanos) -> TargetError {
    TargetError {
        kind: TargetErrorKind::Statement,
        message: format!(
            "the rows of earlier runs could not be counted within {} s",
            limit.as_secs_f64()
        ),
        hint: Some("give more time with --audit-timeout, or start anew with --drop".to_owned()),
    }
}

/// Completes the notes of tables that an earlier run left without saying what they hold.
async fn look(
    admin: &mut dyn Admin,
    bound: &BoundWorkload,
    definition: &Intention<'_>,
    notes: &mut [RegistryEntry],
    timeline: &Rc<dyn Timeline>,
) -> Result<(), TargetError> {
    let unclear = |note: &RegistryEntry| {
        note.writing || (note.rows.is_none() && definition.writes && definition.audits)
    };
    if !notes.iter().any(unclear) {
        return Ok(());
    }
    let deadline = timeline.now().saturating_add(QUIET_LIMIT);
    if !admin.quiesce(deadline).await? {
        return Err(busy(notes));
    }
    for (note, table) in notes.iter_mut().zip(&bound.tables) {
        if note.writing {
            let (next_index, rows) = end_of(admin, table).await?;
            note.next_index = note.next_index.max(next_index);
            note.rows = Some(rows);
            note.writing = false;
        } else if unclear(note) {
            note.rows = Some(rows_of(&admin.count_by_key(table, u64::MAX).await?));
        }
    }
    Ok(())
}

fn busy(notes: &[RegistryEntry]) -> TargetError {
    let names: Vec<&str> = notes.iter().map(|note| note.name.as_str()).collect();
    TargetError {
        kind: TargetErrorKind::ForeignTable,
        message: format!(
            "statements of another run are still at work on {}",
            names.join(", ")
        ),
        hint: Some("wait until that run has ended; two runs cannot fill one table".to_owned()),
    }
}

/// The index after the last row of a table, and the number of its rows. All is visible.
async fn end_of(admin: &mut dyn Admin, table: &BoundTable) -> Result<(u64, u64), TargetError> {
    let counts = admin.count_by_key(table, LOOK_WIDTH).await?;
    let rows = rows_of(&counts);
    let Some((last, _)) = counts.buckets.last() else {
        return Ok((0, rows));
    };
    let begin = last.saturating_mul(LOOK_WIDTH);
    let within = admin.count_by_key(&from_key(table, begin), 1).await?;
    let end = within.buckets.last().map_or(begin, |(key, _)| key + 1);
    Ok((end, rows))
}

fn rows_of(counts: &KeyCounts) -> u64 {
    let with_key: u64 = counts.buckets.iter().map(|(_, rows)| rows).sum();
    with_key + counts.without_key
}

/// The same table, whose rows below a key have no key: they are counted apart from the others.
fn from_key(table: &BoundTable, first: u64) -> BoundTable {
    let key = &table.key;
    BoundTable {
        key: format!("CASE WHEN ({key}) >= {first} THEN ({key}) END"),
        ..table.clone()
    }
}

impl ExistingTables {
    /// The tables as the audit of this run sees them: rows of earlier runs have no key.
    pub(crate) fn own_rows(&self, bound: &BoundWorkload) -> BoundWorkload {
        let mut own = bound.clone();
        if self.first_row > 0 {
            for table in &mut own.tables {
                *table = from_key(table, self.first_row);
            }
        }
        own
    }

    /// Says in the list that a run writes from here on.
    pub(crate) async fn begin(&self, admin: &mut dyn Admin) -> Result<(), TargetError> {
        let notes = self.notes_with(self.first_row, true, None);
        admin.note_tables(&notes).await
    }

    /// Rows of earlier runs, by table.
    pub(crate) fn rows_before(&self) -> Vec<u64> {
        let rows = self.notes.iter().map(|note| note.rows.unwrap_or(0));
        rows.collect()
    }

    /// Rows that a load finds. A run that was killed leaves gaps before its last row: what was
    /// counted is what is there. Where rows replace each other, and where nobody counted, as many as
    /// were ever written.
    pub(crate) fn filled(&self, workload: &Workload) -> u64 {
        let replaces =
            (0..self.notes.len()).any(|table| workload.replacing_column(table).is_some());
        let last = self.notes.iter().max_by_key(|note| note.next_index);
        let counted = last.and_then(|note| note.rows).filter(|_| !replaces);
        counted.map_or(self.first_row, |rows| rows.min(self.first_row))
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
        let streams = request.plan.streams.iter().enumerate();
        let ends = streams.filter_map(|(position, stream)| {
            let spec = request.workload.stream(&stream.name)?;
            let sent = request
                .workload
                .rows_before(&spec, ops(&passes.main, position));
            (sent > 0).then(|| begin.saturating_add(sent))
        });
        ends.fold(loaded, u64::max)
    }

    /// One sentence for the reader, where earlier runs have left something.
    pub(crate) fn told(&self) -> Option<String> {
        let known: Option<u64> = self.notes.iter().map(|note| note.rows).sum();
        let found = self.tables.iter().any(|table| table.recovered);
        (self.first_row > 0).then(|| {
            let rows = known.map_or("rows".to_owned(), |rows| format!("{rows} rows"));
            let how = if found {
                "; an earlier run did not say how far it came, so the table was asked"
            } else {
                ""
            };
            format!(
                "{rows} of earlier runs were there; rows go on from index {}{how}",
                self.first_row
            )
        })
    }

    /// Writes into the list how far this run came, and the rows that its audit found.
    pub(crate) async fn close(
        &mut self,
        admin: &mut dyn Admin,
        next_index: u64,
        rows: Option<&[u64]>,
        timeline: &Rc<dyn Timeline>,
    ) -> Result<(), TargetError> {
        for table in &mut self.tables {
            table.next_index = Some(next_index);
        }
        let notes = self.notes_with(next_index, false, rows);
        let limit = timeline.sleep_until(timeline.now().saturating_add(NOTE_LIMIT));
        match select(admin.note_tables(&notes), limit).await {
            Either::Left((noted, _)) => noted,
            Either::Right(_) => Err(TargetError::unreachable(
                "the target did not answer in time",
            )),
        }
    }

    fn notes_with(
        &self,
        next_index: u64,
        writing: bool,
        rows: Option<&[u64]>,
    ) -> Vec<RegistryEntry> {
        let notes = self.notes.iter().enumerate();
        notes
            .map(|(table, note)| RegistryEntry {
                next_index,
                writing,
                rows: rows.and_then(|rows| rows.get(table).copied()),
                ..note.clone()
            })
            .collect()
    }
}
