//! The audit: compares acknowledged rows with the rows found, after all statements have ended.
//!
//! It waits until the target is idle, resolves unknown outcomes, compares per key bucket, narrows wrong buckets to
//! their rows, and then reads the server's own counters and replicas. It reports its progress to the run's observer.
//! Must not decide whether a run is audited, or judge.

mod own_sql;
mod patient;
mod replaced;
mod resolve;
mod table;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::rc::Rc;

use futures_util::future::{Either, select};

use highwater_analysis::sums::EXAMPLES_MAX;
use highwater_driver::{Admin, Target, Timeline};
use highwater_model::audit_record::GoneTable;
use highwater_model::event::{AuditProgress, AuditStage, Event, Part};
use highwater_model::op::BoundTable;
use highwater_model::plan::AuditLevel;
use highwater_model::record::{AuditRecord, AuditStatus, InvariantRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_workload::{Invariant, whole};

use self::patient::{PatientAdmin, Waits};
use self::table::{Figures, Regenerator, TableAudit, TableTimes, add};
use crate::ledger::Ledger;
use crate::request::Observer;
use crate::time_limits::until;

pub(crate) use own_sql::form;
pub(crate) use table::{AuditInput, push_range};

/// Number of checks for a table that seems to be dropped; their waits add up to 8 seconds.
const MISSING_LOOKS: u32 = 5;
/// Maximum number of shards with different copies to name.
const SHARDS_NAMED_MAX: usize = 20;
/// One part in this many of the limit is reserved for the steps after the rows are read back.
const RESERVED_PARTS: u64 = 10;

/// Whether this run wrote anything that can be audited.
pub(crate) fn is_due(ledgers: &[Ledger]) -> bool {
    !ledgers.iter().all(Ledger::is_empty)
}

/// Estimated duration of an audit.
pub(crate) fn estimate(level: AuditLevel, ledgers: &[Ledger], ns_per_row: u64) -> Nanos {
    let rows: u64 =
        ledgers.iter().map(Ledger::totals).map(|all| all.acknowledged + all.unknown).sum();
    let reads_per_row = match level {
        AuditLevel::Off => 0,
        AuditLevel::Count | AuditLevel::Sums => 1,
        // Counted first, then read back.
        AuditLevel::Full => 2,
    };
    Nanos(rows.saturating_mul(ns_per_row).saturating_mul(reads_per_row))
}

/// The result of an audit.
pub(crate) struct AuditOutcome {
    pub(crate) record: AuditRecord,
    /// False if statements may still be running.
    pub(crate) idle: bool,
    /// Rows that must be in each table, including those of earlier runs; absent if unknown.
    pub(crate) rows: Option<Vec<u64>>,
}

impl AuditOutcome {
    /// The outcome of an audit that did not run.
    pub(crate) fn skipped(record: AuditRecord) -> Self {
        Self { record, idle: true, rows: None }
    }
}

/// Audits, unless the user ends the run at once.
pub(crate) async fn audit_unless(
    stopped: impl Future,
    input: &AuditInput<'_>,
    ledgers: &mut [Ledger],
    admin: &mut Box<dyn Admin>,
    target: &dyn Target,
    timeline: &Rc<dyn Timeline>,
) -> AuditOutcome {
    let audited = {
        let mut admin = PatientAdmin::new(admin, target, timeline, &input.progress);
        let audit = std::pin::pin!(audit(input, ledgers, &mut admin, timeline));
        let reporting = std::pin::pin!(input.progress.keep_reporting());
        let reported = async {
            match select(audit, reporting).await {
                Either::Left((audited, _)) => audited,
                Either::Right((never, _)) => match never {},
            }
        };
        match select(std::pin::pin!(stopped), std::pin::pin!(reported)).await {
            Either::Right((audited, _)) => Some(audited),
            Either::Left(_) => None,
        }
    };
    audited.unwrap_or_else(|| AuditOutcome::skipped(stopped_at_once(input.level, ledgers)))
}

/// Waits until the target is reachable and idle, then compares, within the limit.
async fn audit(
    input: &AuditInput<'_>,
    ledgers: &mut [Ledger],
    admin: &mut PatientAdmin<'_>,
    timeline: &Rc<dyn Timeline>,
) -> AuditOutcome {
    let begin = timeline.now();
    let deadline = begin.saturating_add(input.limit);
    let record = not_done(input.level, ledgers, AuditStatus::Off, None);
    let mut outcome = AuditOutcome::skipped(record);
    let comparison = compare(input, ledgers, admin, timeline, deadline, &mut outcome);
    let found = until(deadline, timeline.as_ref(), std::pin::pin!(comparison)).await;
    let record = &mut outcome.record;
    match &found {
        Some(Ok(())) => {
            let holds = record.invariants.iter().all(|invariant| invariant.holds);
            let is_unsuspected = holds && !record.is_wrong();
            record.status = match input.plan.share.of {
                // The outcome of some rows is unknown, and no other row is suspect.
                _ if !record.wrong_sql.is_empty() && is_unsuspected => AuditStatus::Failed,
                2.. => AuditStatus::Partial,
                _ => AuditStatus::Done,
            };
            if record.status == AuditStatus::Failed {
                let wrong = record.wrong_sql.iter().map(ToString::to_string);
                record.error = Some(wrong.collect::<Vec<_>>().join("; "));
            }
        }
        Some(Err(error)) => {
            record.status = AuditStatus::Failed;
            record.error = Some(error.message.clone());
            record.hint = hint_of(error);
            outcome.idle = true;
        }
        None => {
            record.status = AuditStatus::Timeout;
            record.error = Some(format!("it was still {}", input.progress.current_stage()));
            // An unreachable target cannot be running a statement.
            outcome.idle = admin.is_away();
        }
    }
    outcome.record.exhausted = admin.exhausted.take();
    outcome.record.duration_ns = timeline.now().saturating_sub(begin).0;
    if !outcome.idle || !matches!(found, Some(Ok(()))) {
        outcome.rows = None;
    }
    outcome
}

/// Hint for a failed audit: the driver's, or else one for the kind of error. Missing privileges explain only a
/// rejection.
fn hint_of(error: &UserError) -> Option<String> {
    let of_kind = match error.kind {
        UserErrorKind::Statement | UserErrorKind::MissingTable => {
            "the target does not have what the audit's statement uses: --audit count compares keys alone"
        }
        _ => return error.hint.clone(),
    };
    error.hint.clone().or_else(|| Some(of_kind.to_owned()))
}

/// Compares all tables, and checks the invariants, the server's counters and the replicas.
async fn compare(
    input: &AuditInput<'_>,
    ledgers: &mut [Ledger],
    admin: &mut PatientAdmin<'_>,
    timeline: &Rc<dyn Timeline>,
    deadline: Nanos,
    outcome: &mut AuditOutcome,
) -> Result<(), UserError> {
    let AuditOutcome { record, idle, rows } = outcome;
    input.progress.stage(AuditStage::WaitingForStatements, 0);
    admin.until_present().await?;
    *idle = admin.quiesce(deadline).await?;
    for invariant in input.invariants {
        let name = invariant.name.clone();
        input.progress.stage(AuditStage::Invariant { name }, 0);
        record.invariants.push(check_invariant(invariant, admin).await?);
    }
    if !is_due(ledgers) {
        // All writes came from statements whose effect only the invariants check.
        return Ok(());
    }
    let narrow_until = deadline.saturating_sub(Nanos(input.limit.0 / RESERVED_PARTS));
    let tables = input.bound.tables.iter().zip(ledgers).enumerate();
    record.narrowed = true;
    *rows = Some(Vec::new());
    for (position, (table, ledger)) in tables {
        if input.changed.get(position) == Some(&true) {
            let unknown = ledger.totals();
            record.acknowledged -= unknown.acknowledged;
            record.unknown -= unknown.unknown;
            *rows = None;
            continue;
        }
        if table.columns.is_empty() {
            // Its creation filled it: only invariants know its rows.
            if let Some(rows) = rows {
                rows.push(0);
            }
            continue;
        }
        let times = TableTimes { timeline, narrow_until };
        let figures = compare_table(input, position, ledger, &mut *admin, times).await?;
        if let Some(wrong) = figures.wrong_sql {
            record.wrong_sql.push(wrong);
            *rows = None;
            continue;
        }
        if let Some(how) = figures.removal {
            let table = table.name.clone();
            record.gone.push(GoneTable { table, how });
        }
        *idle &= figures.late == 0;
        if let Some(rows) = rows {
            rows.push(figures.rows_due);
        }
        add(record, figures.record);
        record.examples.truncate(EXAMPLES_MAX);
    }
    if record.is_wrong() && !record.narrowed && timeline.now() >= narrow_until {
        // The interrupted query may still be running on the connection.
        record.error = Some(format!("time was up while {}", input.progress.current_stage()));
        return Ok(());
    }
    if !record.gone.is_empty() || input.met > Some(1) {
        return Ok(());
    }
    input.progress.stage(AuditStage::ServerCounters, 0);
    if record.replaced.is_none() && !input.stored {
        let counter = admin.ask(async |admin| admin.rows_inserted(input.bound).await).await?;
        record.server_counter =
            counter.map(|now| now.saturating_sub(input.tables.counter.unwrap_or(0)));
    }
    compare_copies(input, admin, record).await
}

/// Compares the table at a position of the workload.
async fn compare_table(
    input: &AuditInput<'_>,
    position: usize,
    ledger: &mut Ledger,
    admin: &mut PatientAdmin<'_>,
    times: TableTimes<'_>,
) -> Result<Figures, UserError> {
    let table = &input.bound.tables[position];
    let before =
        input.tables.rows_before().get(position).copied().filter(|_| !input.stored).unwrap_or(0);
    let acknowledged = ledger.totals().acknowledged;
    let mut audit = TableAudit {
        input,
        table,
        position,
        ledger,
        admin: &mut *admin,
        rows: Regenerator::new(input.workload, position, &table.columns),
        figures: Figures::default(),
        before,
    };
    let left_out = match audit.uncomparable().await {
        // The comparison reports this as well.
        Err(error) if error.kind == UserErrorKind::MissingTable => Vec::new(),
        left_out => left_out?,
    };
    let compared = resolve::without(table, &left_out);
    if !left_out.is_empty() {
        audit.table = &compared;
        audit.rows = Regenerator::new(input.workload, position, &compared.columns);
    }
    let compared = match input.workload.replacing_column(position) {
        Some(column) => audit.run_replaced(column, times).await,
        None => audit.run(times).await,
    };
    let compared = match compared {
        Err(error) if error.kind == UserErrorKind::Statement => {
            // The target may reject one of the workload's expressions although its rows are right.
            let unknown = BTreeSet::new();
            let wrong = audit.distrusts_own_sql(&unknown, times);
            if wrong.await? { Ok(()) } else { Err(error) }
        }
        compared => compared,
    };
    let compared = compared.map(|()| audit.figures);
    if let Ok(figures) = &compared
        && figures.record.missing > 0
    {
        check_visible(admin, table).await?;
    }
    match compared {
        Err(error) if error.kind == UserErrorKind::MissingTable && input.plan.share.of == 1 => {
            confirm_missing(admin, table, &error).await?;
            check_visible(admin, table).await?;
            Ok(Figures::of_dropped(acknowledged, before))
        }
        compared => compared,
    }
}

/// Fails if some rows of the table may be hidden from this user: rows that cannot be seen are not lost.
async fn check_visible(admin: &mut PatientAdmin<'_>, table: &BoundTable) -> Result<(), UserError> {
    let hidden = admin.ask(async |admin| admin.hidden_rows(table).await).await?;
    hidden.map_or(Ok(()), |why| {
        let name = &table.name;
        Err(UserError::statement(format!(
            "rows of table `{name}` may be hidden from this connection: {why}"
        )))
    })
}

/// Fails unless the table stays missing for a while: a target that just started may not list all of its tables yet.
async fn confirm_missing(
    admin: &mut PatientAdmin<'_>,
    table: &BoundTable,
    error: &UserError,
) -> Result<(), UserError> {
    let mut waits = Waits::default();
    for _ in 0..MISSING_LOOKS {
        let why = AuditStage::WaitingForTable { error: error.to_string() };
        admin.pause(why, &mut waits).await;
        match admin.count_by_key(table, u64::MAX).await {
            Err(again) if again.kind == UserErrorKind::MissingTable => {}
            Err(again) => return Err(again),
            Ok(_) => return Err(error.clone()),
        }
    }
    Ok(())
}

/// Whether all copies of each shard hold the same number of rows and, where checksums are compared, the
/// same values.
async fn compare_copies(
    input: &AuditInput<'_>,
    admin: &mut PatientAdmin<'_>,
    record: &mut AuditRecord,
) -> Result<(), UserError> {
    // Other load generators may still write, so copies counted one after the other would differ.
    if input.plan.share.of > 1 && input.met.is_none() {
        return Ok(());
    }
    let with_values = input.level != AuditLevel::Count;
    let shards = admin.ask(async |admin| admin.copies(input.bound, with_values).await).await?;
    for shard in shards {
        record.copies += shard.rows.len() as u64;
        record.copies_missing += shard.missing;
        let differ = |figures: &[u64]| figures.windows(2).any(|pair| pair[0] != pair[1]);
        let values_differ = differ(&shard.sums);
        if (differ(&shard.rows) || values_differ) && record.copies_differ.len() < SHARDS_NAMED_MAX {
            let rows: Vec<String> = shard.rows.iter().map(u64::to_string).collect();
            let other = if values_differ { ", not the same ones" } else { "" };
            let named = format!("{}: {} rows{other}", shard.shard, rows.join(", "));
            record.copies_differ.push(named);
        }
    }
    Ok(())
}

async fn check_invariant(
    invariant: &Invariant,
    admin: &mut PatientAdmin<'_>,
) -> Result<InvariantRecord, UserError> {
    let found = single(admin.ask(async |admin| admin.query(&invariant.sql).await).await?);
    Ok(InvariantRecord {
        name: invariant.name.clone(),
        expected: invariant.expected(),
        before: invariant.before().map(|value| value.to_string()),
        holds: found.as_deref().is_some_and(|found| invariant.holds(found)),
        found,
    })
}

/// The only value of a response.
fn single(rows: Vec<Vec<Option<String>>>) -> Option<String> {
    match <[_; 1]>::try_from(rows).ok()?.map(<[_; 1]>::try_from) {
        [Ok([value])] => value,
        [Err(_)] => None,
    }
}

/// The values before the load of those invariants that compare with them; null is `None`.
pub(crate) async fn values_before(
    invariants: &[Invariant],
    admin: &mut dyn Admin,
) -> Result<Vec<Option<i128>>, UserError> {
    let mut values = Vec::with_capacity(invariants.len());
    for invariant in invariants {
        let value = if invariant.needs_value_before() {
            single(admin.query(&invariant.sql).await?)
        } else {
            None
        };
        let number = value.as_deref().and_then(whole);
        if let Some(value) = value.filter(|_| number.is_none()) {
            let message = format!("invariant `{}` is {value} before the load", invariant.name);
            let hint = "`grows_by` is for a query of one whole number";
            return Err(UserError::statement(message).with_hint(hint));
        }
        values.push(number);
    }
    Ok(values)
}

/// The record of a run whose user stopped it before the end of the audit.
pub(crate) fn stopped_at_once(level: AuditLevel, ledgers: &[Ledger]) -> AuditRecord {
    let why = "the run was stopped at once".to_owned();
    not_done(level, ledgers, AuditStatus::Failed, Some(why))
}

/// The record of a run that was not audited.
pub(crate) fn not_done(
    level: AuditLevel,
    ledgers: &[Ledger],
    status: AuditStatus,
    error: Option<String>,
) -> AuditRecord {
    let totals = ledgers.iter().map(Ledger::totals);
    AuditRecord {
        status,
        error,
        acknowledged: totals.clone().map(|all| all.acknowledged).sum(),
        unknown: totals.map(|all| all.unknown).sum(),
        ..AuditRecord::empty(level)
    }
}

/// Rows read between two events.
const ROWS_PER_EVENT: u64 = 1 << 14;
/// Longest time without an event.
const REPORTED_EVERY: Nanos = Nanos::from_secs(10);

/// Reports the progress of an audit.
pub(crate) struct AuditProgressReporter<'a> {
    observer: &'a dyn Observer,
    timeline: Rc<dyn Timeline>,
    begin: Nanos,
    progress: RefCell<AuditProgress>,
}

impl<'a> AuditProgressReporter<'a> {
    /// The reporter of an audit at this level, with its estimated duration.
    pub(crate) fn new(
        observer: &'a dyn Observer,
        timeline: &Rc<dyn Timeline>,
        level: AuditLevel,
        estimate: Nanos,
        ledgers: &[Ledger],
    ) -> Self {
        let reads = ledgers.iter().map(|ledger| {
            // Rows that replace each other are counted and then read back, as `full` does for all rows.
            let twice = level == AuditLevel::Full || ledger.has_replacements();
            rows_of(ledger).saturating_mul(if twice { 2 } else { 1 })
        });
        let progress = AuditProgress {
            of: reads.fold(0, u64::saturating_add),
            estimate,
            ..AuditProgress::default()
        };
        Self {
            observer,
            timeline: Rc::clone(timeline),
            begin: timeline.now(),
            progress: RefCell::new(progress),
        }
    }

    /// Reports progress every ten seconds, because one statement may take long.
    async fn keep_reporting(&self) -> Infallible {
        loop {
            let next = self.timeline.now().saturating_add(REPORTED_EVERY);
            self.timeline.sleep_until(next).await;
            self.report(&self.progress.borrow());
        }
    }

    fn report(&self, progress: &AuditProgress) {
        let mut progress = progress.clone();
        progress.elapsed = self.timeline.now().saturating_sub(self.begin);
        self.observer.event(&Event::Audit(progress));
    }

    /// Begins the next stage, which reads `rows` rows; the previous stage is complete.
    fn stage(&self, what: AuditStage, rows: u64) {
        let mut progress = self.progress.borrow_mut();
        progress.rows += std::mem::replace(&mut progress.under_way, rows);
        progress.of = progress.of.max(progress.rows + rows);
        progress.doing = what;
        self.report(&progress);
    }

    /// A separate event for a long step, for readers without a terminal.
    pub(crate) fn announce(&self, part: Part) {
        self.observer.event(&Event::Part(part));
    }

    /// Shows why the current stage waits; returns the stage, for [`Self::resume`].
    pub(crate) fn wait(&self, why: AuditStage) -> AuditStage {
        let mut progress = self.progress.borrow_mut();
        let stage = std::mem::replace(&mut progress.doing, why);
        self.report(&progress);
        stage
    }

    /// Resumes a stage that had to wait.
    fn resume(&self, stage: AuditStage) {
        drop(self.wait(stage));
    }

    /// Counts the rows of a table slice that was summed.
    pub(crate) fn slice(&self, rows: u64) {
        let mut progress = self.progress.borrow_mut();
        let rows = rows.min(progress.under_way);
        progress.under_way -= rows;
        progress.rows += rows;
        self.report(&progress);
    }

    /// Counts one row that was read.
    pub(crate) fn row(&self) {
        let mut progress = self.progress.borrow_mut();
        if progress.under_way > 0 {
            progress.under_way -= 1;
            progress.rows += 1;
        }
        if progress.rows.is_multiple_of(ROWS_PER_EVENT) {
            self.report(&progress);
        }
    }

    /// The current stage.
    fn current_stage(&self) -> String {
        self.progress.borrow().doing.to_string()
    }
}

/// Rows that an audit of a table reads.
pub(crate) fn rows_of(ledger: &Ledger) -> u64 {
    let totals = ledger.totals();
    totals.acknowledged.saturating_add(totals.unknown)
}

#[cfg(test)]
mod tests {
    use futures_util::future::select;

    use highwater_driver::clock::SimulatedTimeline;
    use highwater_model::event::TableStep;

    use super::*;

    #[test]
    fn only_a_refusal_is_a_question_of_privileges() {
        for (kind, own, hint) in [
            (UserErrorKind::Statement, None, Some("--audit count")),
            (UserErrorKind::MissingTable, None, Some("--audit count")),
            (UserErrorKind::Statement, Some("as the driver says"), Some("as the driver says")),
            (UserErrorKind::Refused, Some("grant the user the right"), Some("grant the user")),
            (UserErrorKind::Exhausted, None, None),
        ] {
            let mut error = UserError::new(kind, "function md5(date) does not exist");
            error.hint = own.map(str::to_owned);
            let found = hint_of(&error);
            let is_it = |hint: &str| found.as_ref().is_some_and(|found| found.contains(hint));
            assert!(hint.map_or(found.is_none(), is_it), "{error:?}: {found:?}");
        }
    }

    #[derive(Default)]
    struct ReceivedEvents(RefCell<Vec<(AuditStage, u64, u64, u64)>>);

    impl Observer for ReceivedEvents {
        fn event(&self, event: &Event) {
            if let Event::Audit(progress) = event {
                let stage = progress.doing.clone();
                let figures = (stage, progress.rows, progress.under_way, progress.of);
                self.0.borrow_mut().push(figures);
            }
        }
    }

    #[test]
    fn an_audit_reports_rows_read_under_way_and_in_total() {
        let events = ReceivedEvents::default();
        let reading = || AuditStage::Table { table: "cpu".to_owned(), step: TableStep::Reading };
        let timeline: Rc<dyn Timeline> = Rc::new(SimulatedTimeline::new());
        let (level, estimate) = (AuditLevel::Sums, Nanos::SECOND);
        let reporter = AuditProgressReporter::new(&events, &timeline, level, estimate, &[]);
        reporter.stage(AuditStage::ServerCounters, 20_000);
        reporter.stage(reading(), 30_000);
        for _ in 0..ROWS_PER_EVENT {
            reporter.row();
        }
        reporter.stage(AuditStage::WaitingForStatements, 0);
        assert_eq!(reporter.current_stage(), "waiting for statements to end");
        assert_eq!(
            *events.0.borrow(),
            [
                (AuditStage::ServerCounters, 0, 20_000, 20_000),
                (reading(), 20_000, 30_000, 50_000),
                (reading(), 32_768, 17_232, 50_000),
                (AuditStage::WaitingForStatements, 50_000, 0, 50_000),
            ]
        );
    }

    #[test]
    fn an_audit_reports_every_ten_seconds_while_one_statement_is_at_work() {
        let simulated = SimulatedTimeline::new();
        let timeline: Rc<dyn Timeline> = Rc::new(simulated.clone());
        let reported = simulated.block_on(async move {
            let events = ReceivedEvents::default();
            let (level, estimate) = (AuditLevel::Sums, Nanos::SECOND);
            let reporter = AuditProgressReporter::new(&events, &timeline, level, estimate, &[]);
            let statement = timeline.sleep_until(Nanos::from_secs(45));
            let reporting = std::pin::pin!(reporter.keep_reporting());
            drop(select(statement, reporting).await);
            events.0.borrow().len()
        });
        assert_eq!(reported, Some(4));
    }
}
