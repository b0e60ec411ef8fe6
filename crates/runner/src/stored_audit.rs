//! The audit of a run that has ended or was killed, from its ledger file.
//!
//! Rows that the file calls acknowledged must exist. If the process was killed, rows in flight have an unknown outcome
//! and are searched for. Rows of other runs are ignored: they have their own ledgers. Must not compare.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use highwater_analysis as analysis;
use highwater_driver::{Admin, RegistryEntry, Target, Timeline};
use highwater_model::display::count;
use highwater_model::event::{Event, Part};
use highwater_model::op::{BoundTable, BoundWorkload};
use highwater_model::plan::AuditLevel;
use highwater_model::record::{AuditRecord, AuditStatus, IncidentKind, Record, RunRecord};
use highwater_model::units::Nanos;
use highwater_workload::Workload;

use crate::audit::{self, AuditInput, AuditOutcome, AuditProgressReporter, audit_unless};
use crate::ledger::Ledger;
use crate::ledger::stored::{StoredLedger, restore};
use crate::request::Observer;
use crate::store::{self, LedgerLine, PageRenderer, RunDirectory};
use crate::stored_shares::{StoredShare, stored_shares};
use crate::table_setup::{DeclaredTables, ExistingTables, end_of, rows_in};
use crate::{executor, record, table_setup};
use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_driver::interrupts::Interrupts;
use highwater_model::user_error::{UserError, UserErrorKind};

/// The request for the audit of a stored run.
pub struct StoredAuditRequest {
    /// The run's directory, or its record.
    pub run: PathBuf,
    /// The workload of its plan.
    pub workload: Arc<Workload>,
    /// The database that it wrote to.
    pub target: Arc<dyn Target>,
    /// Maximum level; the plan's if absent.
    pub level: Option<AuditLevel>,
    /// Time limit of the audit.
    pub limit: Nanos,
    /// Wall clock, RFC 3339.
    pub now: String,
    /// Makes the page of the record with the findings.
    pub page: PageRenderer,
}

/// Audits a stored run; returns its record with the audit's findings, which is stored if the audit completed.
pub fn audit_stored(
    request: StoredAuditRequest,
    observer: Rc<dyn Observer>,
    interrupts: Interrupts,
) -> Result<RunRecord, UserError> {
    let directory = store::reopen(&request.run)?.with_page(request.page);
    let record = plain_run(record::read_ended(&request.run)?)?;
    check(&record, &request)?;
    let ledgers = read_ledgers(directory.path(), &record)?;
    let tables = request.workload.tables();
    let lines = ledgers.iter().flat_map(|(lines, _)| lines);
    let mut stored = StoredLedger::from_lines(lines, tables);
    stored.ended = ledgers.iter().all(|(lines, _)| lines.iter().any(|line| line.ended));
    let replaces = |table| request.workload.replacing_column(table).is_some();
    if !stored.ended && (0..tables).any(replaces) {
        let hint = "rows that replace each other are compared by the times of their writes, which are stored when a \
                    load ends";
        let message =
            format!("{}: its process was killed before its load had ended", record.header.id);
        return Err(refused(message, hint));
    }
    if stored.overflowed {
        let message = format!("{}: its ledger is not complete", record.header.id);
        let hint = "more batches were refused or unknown than it keeps; audit such a run when it \
                    ends";
        return Err(refused(message, hint));
    }
    RealTimeline::block_on(RealClock::start(), |timeline| {
        let audit = StoredAudit {
            request,
            directory,
            record,
            ledgers,
            stored,
            observer,
            interrupts,
            timeline,
        };
        audit.whole()
    })
    .unwrap_or_else(|error| Err(UserError::cannot("run", &error)))
}

fn refused(message: String, hint: &str) -> UserError {
    UserError::usage(message).with_hint(hint)
}

fn no_ledger(record: &RunRecord) -> UserError {
    UserError::usage(format!("{}: it kept no ledger", record.header.id))
        .with_hint("a run with --audit off, or of an earlier version, has none")
}

/// The run, if it was written by Highwater and is not an experiment.
fn plain_run(record: Record) -> Result<RunRecord, UserError> {
    match record {
        Record::Run(run) => Ok(*run),
        Record::Experiment(_) | Record::Imported(_) => Err(refused(
            format!("{} is not a plain run", record.header().id),
            "name one of its runs, such as a directory below probes/",
        )),
    }
}

/// Rejects a run that cannot be audited afterwards.
fn check(record: &RunRecord, request: &StoredAuditRequest) -> Result<(), UserError> {
    let (id, plan) = (&record.header.id, &record.plan.definition);
    if plan.share.of > 1 {
        let hint = "merge the shares' records with `highwater show`: it compares what they found";
        let message = format!("{id} is one share of {}", plan.share.of);
        return Err(refused(message, hint));
    }
    if record.target.simulated || record.target.sink {
        let message = format!("{id} had a target that is gone with its process");
        return Err(refused(message, "only what a database stored can be audited"));
    }
    if record.audit.acknowledged == 0 && !record.audit.invariants.is_empty() {
        let message = format!("{id}: its data were checked by invariants alone");
        let hint = "they hold when a run ends; what others changed since is not told apart";
        return Err(refused(message, hint));
    }
    let missing = request.target.files().into_iter().next().filter(|file| !file.exists());
    if let Some(file) = missing {
        let message = format!("{id}: its database {} does not exist any more", file.display());
        let hint = "a plain run removes the database in its own directory after a clean audit, unless it has --keep; \
                    `highwater clean` removes it too";
        return Err(refused(message, hint));
    }
    if request.workload.fingerprint() != plan.workload.fingerprint {
        let message = format!("{id}: its workload is not the one of this name any more");
        return Err(refused(message, "bring the workload's file back as it was"));
    }
    Ok(())
}

/// Refuses tables that were created anew since the run, which therefore hold none of its rows: those of a later run with
/// `--drop` end before this one began, or before it ended.
fn check_tables(
    record: &RunRecord,
    bound: &BoundWorkload,
    first_row: u64,
    entries: &[RegistryEntry],
) -> Result<(), UserError> {
    let id = &record.header.id;
    let is_older = |entry: &&RegistryEntry| {
        let mut own = record.target.tables.iter().filter(|table| table.name == entry.name);
        // While this run wrote, or after it was killed, its first row was the next one.
        let is_before = entry.next_index < first_row
            || entry.next_index == first_row && first_row > 0 && !entry.writing
            || own.any(|table| table.next_index.is_some_and(|next| entry.next_index < next));
        is_before && bound.tables.iter().any(|table| table.name == entry.name)
    };
    let Some(entry) = entries.iter().find(is_older) else {
        return Ok(());
    };
    let (name, next, first) = (&entry.name, count(entry.next_index), count(first_row));
    let message = format!(
        "{id}: table `{name}` was created anew since: its rows end at {next}, and this run wrote rows from {first} on"
    );
    Err(refused(
        message,
        "a later run with --drop replaced it, or a backup was restored; audit a run before its tables are dropped",
    ))
}

/// The lines of a ledger file, and the error of the begin from which its times count.
type ReadLedger = (Vec<LedgerLine>, Nanos);

/// The ledger of a run, or those of its shares.
fn read_ledgers(directory: &Path, record: &RunRecord) -> Result<Vec<ReadLedger>, UserError> {
    if let Some(lines) = store::read_ledger(directory)? {
        return Ok(vec![(lines, Nanos::ZERO)]);
    }
    if record.meeting.is_none() {
        return Err(no_ledger(record));
    }
    let shares = stored_shares(store::list(&directory.join(store::SHARES))?, record);
    let read = |share: StoredShare| {
        let lines = store::read_ledger(&share.path)?.ok_or_else(|| no_ledger(record))?;
        Ok((lines, share.error))
    };
    shares.into_iter().map(read).collect()
}

/// The begin of the load, from which the times of a ledger count, on a clock for the audit alone.
const ORIGIN: Nanos = Nanos::from_secs(1_000_000_000);

/// The audit of a stored run.
struct StoredAudit {
    request: StoredAuditRequest,
    directory: RunDirectory,
    record: RunRecord,
    ledgers: Vec<ReadLedger>,
    stored: StoredLedger,
    observer: Rc<dyn Observer>,
    interrupts: Interrupts,
    timeline: Rc<dyn Timeline>,
}

impl StoredAudit {
    async fn whole(mut self) -> Result<RunRecord, UserError> {
        let target = Arc::clone(&self.request.target);
        target.configure(&record::settings_given(&self.record))?;
        let mut admin = target.administer(Rc::clone(&self.timeline)).await?;
        let facts = admin.facts().await?;
        let literals = self.record.plan.definition.workload.literals;
        let style = target.placeholders();
        let mut bound =
            table_setup::bind(&self.request.workload, literals, &facts.dialects, style)?;
        let declared = DeclaredTables::read(admin.as_mut(), &bound).await?;
        declared.bind(&mut bound);
        let tables = ExistingTables::of_record(&self.record.target.tables);
        // A driver without a list of tables knows nothing of later runs.
        let entries = admin.listed_tables(&[]).await.unwrap_or_default();
        check_tables(&self.record, &bound, tables.first_row, &entries)?;
        let mut ledgers = self.ledgers(&bound, &tables, admin.as_mut()).await?;
        let ends = ledgers.iter().map(|ledger| ledger.rows().end).max();
        let end = self.stored.next_row.or(ends).unwrap_or(0);
        let own = rows_in(&bound, tables.first_row.min(end)..end);
        let outcome = self.audit(&bound, &own, &tables, &mut ledgers, &mut admin).await;
        self.concluded(outcome)
    }

    /// The ledgers: the file's content, with the rest as unknown outcomes.
    async fn ledgers(
        &self,
        bound: &BoundWorkload,
        tables: &ExistingTables,
        admin: &mut dyn Admin,
    ) -> Result<Vec<Ledger>, UserError> {
        self.observer.event(&Event::Part(Part::LedgerReading));
        let plan = &self.record.plan.definition;
        let mut ledgers = executor::ledgers(plan, bound, &self.directory);
        let all = ledgers.iter_mut().zip(&self.stored.tables);
        for (position, (ledger, spans)) in all.enumerate() {
            let mut end = spans.end();
            if !self.stored.ended {
                end = end.max(last_row(admin, &bound.tables[position]).await?);
            }
            let workload = &self.request.workload;
            if workload.replacing_column(position).is_some() {
                for (lines, error) in &self.ledgers {
                    let of_table = lines.iter().filter(|line| line.table == position);
                    for replaced in of_table.filter_map(|line| line.replaced.as_ref()) {
                        ledger.add_replaced(replaced, ORIGIN, *error);
                    }
                }
                continue;
            }
            let make = |first, rows| workload.row_batch(position, first, rows);
            restore(ledger, spans, tables.first_row.min(end)..end, &make);
        }
        Ok(ledgers)
    }

    async fn audit(
        &mut self,
        bound: &BoundWorkload,
        own: &BoundWorkload,
        tables: &ExistingTables,
        ledgers: &mut [Ledger],
        admin: &mut Box<dyn Admin>,
    ) -> AuditOutcome {
        let plan = &self.record.plan.definition;
        let capabilities = self.request.target.capabilities();
        let level = self.request.level.unwrap_or(plan.audit.level);
        let level = level.min(plan.audit.level).min(capabilities.auditable);
        if !audit::is_due(ledgers) {
            let nothing = AuditStatus::NothingWritten;
            return AuditOutcome::skipped(audit::not_done(level, ledgers, nothing, None));
        }
        let estimate = audit::estimate(level, ledgers, capabilities.audit_ns_per_row);
        self.observer.event(&Event::Part(Part::Audit { level, estimate }));
        let names = plan.streams.iter().map(|stream| stream.name.as_str());
        let changed = self.request.workload.changed_by_statements(names);
        let observer = self.observer.as_ref();
        let input = AuditInput {
            level,
            limit: self.request.limit,
            plan,
            bound: own,
            whole: bound,
            tables,
            workload: &self.request.workload,
            changed: &changed,
            invariants: &[],
            directory: &self.directory,
            progress: AuditProgressReporter::new(
                observer,
                &self.timeline,
                level,
                estimate,
                ledgers,
            ),
            met: None,
            stored: true,
        };
        let (target, timeline) = (self.request.target.as_ref(), &self.timeline);
        let stopped = self.interrupts.next();
        audit_unless(stopped, &input, ledgers, admin, target, timeline).await
    }

    /// The record with the audit's findings.
    fn concluded(self, outcome: AuditOutcome) -> Result<RunRecord, UserError> {
        let mut record = self.record;
        let is_done =
            matches!(outcome.record.status, AuditStatus::Done | AuditStatus::NothingWritten);
        let invariants = std::mem::take(&mut record.audit.invariants);
        record.audit = AuditRecord { later: true, invariants, ..outcome.record };
        let of_first = [IncidentKind::AuditInterrupted, IncidentKind::NotIdle];
        record.incidents.retain(|i| !of_first.contains(&i.kind));
        let how = if self.stored.ended {
            "after the run"
        } else {
            "after the program was killed; what it had in flight was searched for"
        };
        let message = format!(
            "audited {how}, at {}, from the run's ledger; rows of other runs were not looked at",
            self.request.now
        );
        record.notes.push(record::note(AUDITED_LATER, message));
        record.judgments = analysis::judge(&record);
        record.limit = analysis::limit(&record);
        if is_done {
            self.directory.write_record(&record)?;
        }
        Ok(record)
    }
}

/// Note code of a record that was audited again.
const AUDITED_LATER: &str = "audited_later";

/// The index after the last row of a table; 0 if the table does not exist.
async fn last_row(admin: &mut dyn Admin, table: &BoundTable) -> Result<u64, UserError> {
    match end_of(admin, table).await {
        Ok((end, _)) => Ok(end),
        Err(error) if error.kind == UserErrorKind::MissingTable => Ok(0),
        Err(error) => Err(error),
    }
}
