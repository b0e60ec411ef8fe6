//! A run from beginning to end: connect, create, load, measure, drain, audit, record.
//!
//! Shows the sequence of a run; each step is a separate module, and they share the state that is here.
//!
//! Queries with mostly empty responses get a note: a query that finds no rows is fast, so its figures mean little. The
//! usual cause is a query for the current time on older data.

mod auditing;
mod earlier_audit;
mod passes;
mod preparing;

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use highwater_analysis as analysis;
use highwater_analysis::cluster_changes::cluster_changes;
use highwater_driver::clock::{RealClock, RealTimeline, SimulatedTimeline};
use highwater_driver::interrupts::Interrupts;
use highwater_driver::system::process_cpu;
use highwater_driver::{Admin, DiskSpace, TableFeatures, TargetFacts, Timeline};
use highwater_model::audit_record::EarlierAudit;
use highwater_model::display::{count, percent_of};
use highwater_model::event::{Event, Part, WarningKind};
use highwater_model::judgment::Data;
use highwater_model::op::{BoundOp, BoundOpKind, BoundWorkload, OpId};
use highwater_model::plan::{AuditLevel, PhaseKind, Share};
use highwater_model::record::{
    AuditStatus, Incident, IncidentKind, MeetingRecord, RunNote, RunRecord,
};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_workload::Workload;

use self::preparing::unless_stopped;
use crate::audit::AuditOutcome;
use crate::control::Controls;
use crate::leases::{self, HeldLeases, KeptLeases};
use crate::ledger::Ledger;
use crate::meeting::{Meeting, Stage, lease_on_plan};
use crate::pass::{Executors, Passes};
use crate::record::collector::{Collector, LedgerLog};
use crate::record::{self, Parts};
use crate::request::{Observer, kept_in};
use crate::schedule::PhaseTimes;
use crate::store::{self, LedgerHead};
use crate::stored_shares::{find_first, of_shares, siblings, stored_shares};
use crate::table_setup::{DeclaredTables, ExistingTables, writes};
use crate::target_polling::TelemetryPoller;
use crate::time_limits::within;
use crate::{executor, table_setup};

pub use crate::request::{
    RunEnd, RunEnding, RunOptions, RunRequest, TableRequest, TelemetryRequest,
};

/// Note for a system without CPU clocks.
const OWN_CPU_UNKNOWN: &str = "this system does not report the CPU time of the load generator: it counts as 0, and whether it \
                               limited the result is unknown";
/// Note for a sink.
const STORES_NOTHING: &str = "a sink stores nothing: no audit, and no figure is a database's";
/// Note for a database on this host.
const SHARES_HOST: &str = "the database and the load generator share this host: the figures are of both \
                           together, and with the host to itself the database has more CPU";
/// Time limit for reading the size of the tables after the audit.
const STORAGE_LIMIT: Nanos = Nanos::from_secs(10);

/// Executes a request and returns its record.
pub fn run(
    request: RunRequest,
    observer: Rc<dyn Observer>,
    interrupts: Interrupts,
) -> Result<RunEnd, UserError> {
    one_of(request, observer, interrupts, None)
}

/// Executes one of several runs that pass on their leases.
pub fn one_of(
    request: RunRequest,
    observer: Rc<dyn Observer>,
    interrupts: Interrupts,
    kept: Option<KeptLeases>,
) -> Result<RunEnd, UserError> {
    let (directory, target) = (request.directory.clone(), Arc::clone(&request.target));
    let warner = Rc::clone(&observer);
    let clock = RealClock::start();
    let end = if request.target.capabilities().simulated_clock {
        let simulated = SimulatedTimeline::new();
        let timeline: Rc<dyn Timeline> = Rc::new(simulated.clone());
        let executors = Executors::Inline;
        let run = Run::new(request, observer, interrupts, timeline, executors);
        let end = simulated.block_on(run.whole());
        end.unwrap_or(Err(UserError::usage("the simulated run stood still")))
    } else {
        let end = RealTimeline::block_on(clock, |timeline| {
            let executors = Executors::Threads(clock);
            let run = Run::new(request, observer, interrupts, timeline, executors);
            Run { kept, ..run }.whole()
        });
        end.unwrap_or_else(|error| Err(UserError::cannot("run", &error)))
    };
    match &end {
        Ok(end) if end.record.target.removed => {
            if let Err(error) = directory.remove_files(&target.files()) {
                let (kind, message) = (WarningKind::DatabaseNotRemoved, error.to_string());
                warner.event(&Event::Warning { kind, message });
            }
        }
        Ok(_) => {}
        Err(_) => directory.discard(),
    }
    end
}

impl Run {
    async fn whole(mut self) -> Result<RunEnd, UserError> {
        let target = Arc::clone(&self.request.target);
        target.configure(&self.request.options.tables.settings)?;
        let opened = target.administer(Rc::clone(&self.timeline));
        let mut admin = unless_stopped(&self.later_interrupts, opened).await?;
        let facts = unless_stopped(&self.later_interrupts, admin.facts()).await?;
        self.request.options.tables.check(target.as_ref(), &facts)?;
        let bound = self.bind(&facts.dialects)?;
        self.row_identity = self.request.workload.row_identity(&facts.dialects)?;
        check_transactions(&bound, &facts)?;
        self.request.workload.invariants(&facts.dialects)?;
        let held = self.hold_tables(&bound, admin.as_mut());
        let leases = unless_stopped(&self.later_interrupts, held).await?;
        self.meeting = leases.as_ref().zip(self.request.meets.as_ref()).map(|(held, meets)| {
            let plan = &self.request.plan;
            let lease = held.lease(&lease_on_plan(plan), plan);
            Meeting::new(lease, meets.wait, self.timeline.as_ref())
        });
        let end = Box::pin(self.loaded(facts, bound, &mut admin, leases.as_ref())).await;
        if matches!(&end, Err(error) if error.kind == UserErrorKind::Interrupted) {
            self.renew(&mut admin).await;
        }
        if let Some(meeting) = self.meeting.as_ref().filter(|_| end.is_ok()) {
            // Without it, the others see later that this share has ended.
            drop(meeting.announce(admin.as_mut(), Stage::Stored).await);
        }
        if let Some(leases) = leases {
            self.release_tables(leases, admin.as_mut()).await;
        }
        end
    }

    /// The run after it has taken its leases.
    async fn loaded(
        &mut self,
        facts: TargetFacts,
        bound: Arc<BoundWorkload>,
        admin: &mut Box<dyn Admin>,
        leases: Option<&HeldLeases>,
    ) -> Result<RunEnd, UserError> {
        let observer = Rc::clone(&self.observer);
        let plan = Arc::new(self.request.plan.clone());
        self.wait_for_tables(admin.as_mut()).await?;
        if plan.share.index == 1 {
            let (request, identity) = (&self.request, &self.row_identity);
            let prepared =
                table_setup::prepare(admin.as_mut(), &bound, request, identity, &self.timeline);
            self.tables = unless_stopped(&self.later_interrupts, prepared).await?;
            // The first share makes the tables; until then, statements cannot be prepared.
            unless_stopped(&self.later_interrupts, self.check_statements(&bound)).await?;
        }
        let bound = self.bind_to_types(admin.as_mut(), bound, &facts).await?;
        let bound = self.try_audit(admin, bound, &facts).await?;
        let mut parts = Parts::new(&self.request, facts, &self.tables);
        let stop = self.later_interrupts.clone();
        let estimated = self.estimate(&mut parts, admin.as_mut(), &bound);
        let expected = unless_stopped(&stop, estimated).await?;
        self.begin_writing(admin.as_mut(), &parts.facts.dialects).await?;
        self.open_meeting(&mut parts, admin.as_mut()).await?;
        self.announce(&parts);
        if let Some(message) = self.columns_left_out() {
            self.observer.event(&Event::Warning { kind: WarningKind::ColumnsLeftOut, message });
        }
        self.observer.event(&Event::Estimate(expected));
        let mut collector = Collector::new(
            &plan,
            &self.request.directory,
            observer.as_ref(),
            Arc::clone(&self.request.target),
            self.poller.busiest_cpu(),
            matches!(self.executors, Executors::Threads(_)),
        )?;
        if plan.audit.level != AuditLevel::Off {
            let file = self.request.directory.ledger()?;
            collector.keep_ledger(LedgerLog::begin(file, self.ledger_head())?);
        }
        let load = self.load(&plan, &bound, admin, &mut collector).await;
        let stopped = load.as_ref().is_some_and(|load| load.fatal.is_some() || load.interrupted)
            || self.disk_full.is_some();
        parts.record.target.bytes_before = admin.storage_bytes(&bound).await.ok().flatten();
        if !stopped {
            self.wait_for_start(&mut parts, admin.as_mut()).await?;
        }
        let bound = if plan.share.index > 1 && self.meeting.is_none() {
            // Only now has the first share certainly made the tables.
            self.bind_to_types(admin.as_mut(), bound, &parts.facts).await?
        } else {
            bound
        };
        let main = if stopped || self.interrupts.requested().is_some() {
            None
        } else {
            let main = self.measure(&plan, &bound, admin, &mut collector);
            Some(main.await)
        };
        let passes = Passes { load, main };
        if let Some(error) = passes.fatal()
            && matches!(error.kind, UserErrorKind::Preparation(_))
        {
            return Err(error);
        }
        if leases.is_some_and(HeldLeases::is_lost) {
            let lost = Incident::new(IncidentKind::TablesLost, LOST);
            parts.record.incidents.push(lost);
        }
        Box::pin(self.conclude(parts, passes, admin, collector)).await
    }

    /// Writes the draft. By that of the first share, the others see that they share its folder, once it has announced the
    /// tables.
    async fn open_meeting(
        &self,
        parts: &mut Parts,
        admin: &mut dyn Admin,
    ) -> Result<(), UserError> {
        let first = self.meeting.as_ref().filter(|_| self.request.plan.share.index == 1);
        parts.record.meeting = first.map(|meeting| MeetingRecord {
            id: meeting.id().to_owned(),
            ..MeetingRecord::default()
        });
        self.request.directory.write_draft(&parts.record)?;
        match first {
            Some(meeting) => meeting.announce(admin, Stage::Tables).await,
            None => Ok(()),
        }
    }

    fn bind(&self, dialects: &[String]) -> Result<Arc<BoundWorkload>, UserError> {
        let style = self.request.target.placeholders();
        let literals = self.request.plan.workload.literals;
        let mut bound = table_setup::bind(&self.request.workload, literals, dialects, style)?;
        self.declared.bind(&mut bound);
        Ok(Arc::new(bound))
    }

    /// The head of the ledger file.
    fn ledger_head(&self) -> LedgerHead {
        LedgerHead {
            identity: self.row_identity.clone(),
            urls: self.request.target.urls(),
            first_row: self.tables.first_row,
            started_at: self.request.started_at.clone(),
        }
    }

    fn announce(&self, parts: &Parts) {
        self.observer.event(&Event::Begun {
            directory: self.request.directory.path().display().to_string(),
            workload: self.request.plan.workload.name.clone(),
            urls: self.request.target.urls(),
            target: parts.facts.version.clone(),
            simulated: self.request.target.capabilities().simulated_clock,
            phases: self.request.plan.phases.clone(),
            objectives: self.request.plan.objectives.clone(),
            settings_file: self.request.options.settings_file.clone(),
        });
    }

    /// The columns that keep their defaults, if there are any.
    fn columns_left_out(&self) -> Option<String> {
        let columns = self.request.workload.columns_left_out();
        (!columns.is_empty()).then(|| {
            format!(
                "these columns keep their defaults, because no generator fills them: {}",
                columns.join(", ")
            )
        })
    }

    async fn conclude(
        &mut self,
        mut parts: Parts,
        mut passes: Passes,
        admin: &mut Box<dyn Admin>,
        mut collector: Collector<'_>,
    ) -> Result<RunEnd, UserError> {
        let next_row = self.tables.rows_end(&self.request, &passes);
        // Shares have this moment in common; each began its load a little later.
        let origin = if self.meeting.is_some() { self.request.start_in } else { passes.origin() };
        if let Some(meeting) = &mut parts.record.meeting {
            meeting.late_ns = passes.origin().saturating_sub(origin).0;
        }
        let bound = self.bind(&parts.facts.dialects)?;
        let effects = passes.effects(bound.ops.len());
        let invariants = self.invariants_due(&parts.facts.dialects, &effects)?;
        let empty = executor::ledgers(&self.request.plan, &bound, &self.request.directory);
        let mut ledgers = record::ledgers(&mut passes, empty);
        let replaced = ledgers.iter().enumerate();
        let replaced = replaced.flat_map(|(table, ledger)| ledger.replaced_lines(table, origin));
        collector.end_ledger(next_row, replaced.collect());
        self.drained(admin.as_mut()).await;
        self.add_other_shares(&parts.record, &mut ledgers, origin);
        let audit_begin = self.timeline.now();
        let audit = self.audit(&bound, &mut ledgers, admin, &invariants);
        let mut audited = audit.await;
        self.audit_earlier(&bound, &mut audited, admin).await;
        self.renew_after(&audited, admin).await;
        let rows = audited.rows.clone().or_else(|| self.rows_due(&ledgers));
        let noted = self.register_end(&passes, rows.as_deref(), admin.as_mut());
        let noted = noted.await;
        let target = &mut parts.record.target;
        target.tables.clone_from(&self.tables.tables);
        let AuditOutcome { record: audit, idle, .. } = audited;
        let mut remarks = Vec::new();
        // An audit that did not end well may have left a query running on the connection.
        let unfinished = matches!(audit.status, AuditStatus::Failed | AuditStatus::Timeout);
        if !unfinished && audit.error.is_none() {
            target.bytes_after = self.storage_bytes(admin.as_mut(), &bound).await;
            remarks = self.remarks(admin.as_mut()).await;
        }
        let incidents = self.incidents(&passes, idle, &mut collector);
        parts.record.incidents.extend(incidents);
        let ended = RunEnding::from_incidents(&parts.record.incidents);
        let mut notes = self.notes(noted.err(), parts.facts.tables, audit.earlier.as_ref());
        while let Some(received) = self.controls.waiting() {
            let now = self.timeline.now();
            let observer = self.observer.as_ref();
            auditing::answer_after_load(&mut self.controls, received, now, observer);
        }
        parts.record.interventions = self.controls.obeyed();
        let of_phases = record::notes_of_phases(&self.request.plan, &passes);
        notes.extend(of_phases);
        notes.extend(preparing::uncompared_note(&bound));
        notes.extend(remarks);
        parts.record.notes = notes;
        let origin = passes.origin();
        parts.audited = PhaseTimes {
            start: audit_begin.saturating_sub(origin),
            end: self.timeline.now().saturating_sub(origin),
        };
        let mut record = record::record(&self.request, parts, passes, audit, &mut collector);
        record.target_telemetry = self.poller.record();
        let changes = record.target_telemetry.as_ref().map(cluster_changes);
        record.incidents.extend(changes.into_iter().flatten());
        let empty = empty_response_notes(&record, &self.request.workload);
        record.notes.extend(empty);
        self.advise(&mut record);
        record.judgments = analysis::judge(&record);
        record.limit = analysis::limit(&record);
        self.keep(&mut record);
        self.observer.event(&Event::Ended {
            directory: self.request.directory.path().display().to_string(),
            judgments: record.judgments.clone(),
            rows_found: record.audit.rows_found(),
        });
        Ok(RunEnd { record, ended })
    }

    /// Adds the driver's advice for failure codes.
    fn advise(&self, record: &mut RunRecord) {
        let results = record.results.iter_mut();
        for failure in results.flat_map(|result| &mut result.failures) {
            let code = failure.code.as_deref();
            let hint = code.and_then(|code| self.request.target.failure_hint(code));
            failure.hint = hint.map(str::to_owned);
        }
    }

    /// Notes on the tables and the audit.
    fn notes(
        &self,
        not_noted: Option<UserError>,
        features: TableFeatures,
        earlier: Option<&EarlierAudit>,
    ) -> Vec<RunNote> {
        let target = &self.request.target;
        let sink = target.is_sink();
        let shares_host = target.is_local() && !target.capabilities().embedded;
        let all = [
            ("not_noted", not_noted.map(|error| error.message)),
            ("continued", self.tables.continued_note(earlier)),
            ("spread_as_created", self.tables.spread_note(features)),
            ("own_cpu_unknown", process_cpu().is_none().then(|| OWN_CPU_UNKNOWN.to_owned())),
            ("sink", sink.then(|| STORES_NOTHING.to_owned())),
            ("shares_host", shares_host.then(|| SHARES_HOST.to_owned())),
            ("invariants_not_asked", self.skipped_invariants()),
            ("columns_left_out", self.columns_left_out()),
        ];
        all.into_iter().filter_map(|(code, message)| Some(record::note(code, message?))).collect()
    }

    /// Rows that must be in each table without an audit.
    fn rows_due(&self, ledgers: &[Ledger]) -> Option<Vec<u64>> {
        let names = self.request.plan.streams.iter().map(|stream| stream.name.as_str());
        let changed = self.request.workload.changed_by_statements(names);
        let is_certain = !changed.contains(&true);
        is_certain.then(|| self.tables.rows_due(ledgers)).flatten()
    }

    /// Like [`Self::renew`], after an interrupted audit.
    async fn renew_after(&self, audited: &AuditOutcome, admin: &mut Box<dyn Admin>) {
        let status = audited.record.status;
        if matches!(status, AuditStatus::Failed | AuditStatus::Timeout) {
            self.renew(admin).await;
        }
    }

    /// Registers the end of this run in the table registry. One of several shares cannot know the total of all shares.
    async fn register_end(
        &mut self,
        passes: &Passes,
        rows: Option<&[u64]>,
        admin: &mut dyn Admin,
    ) -> Result<(), UserError> {
        if self.request.plan.share.of > 1 || !table_setup::writes(&self.request) {
            return Ok(());
        }
        let end = self.tables.rows_end(&self.request, passes);
        self.tables.close(admin, end, rows, &self.timeline).await
    }

    /// Useful, but not worth a long wait.
    async fn storage_bytes(&self, admin: &mut dyn Admin, bound: &BoundWorkload) -> Option<u64> {
        let bytes = admin.storage_bytes(bound);
        within(STORAGE_LIMIT, self.timeline.as_ref(), bytes).await?.ok()?
    }

    /// The target's remarks, if they arrive soon.
    async fn remarks(&self, admin: &mut dyn Admin) -> Vec<RunNote> {
        let remarks = within(STORAGE_LIMIT, self.timeline.as_ref(), admin.remarks()).await;
        let remarks = remarks.and_then(Result::ok).unwrap_or_default();
        remarks.into_iter().map(|text| record::note("target", text)).collect()
    }

    /// Writes the record; a failure to write is noted in the record shown.
    fn keep(&self, record: &mut RunRecord) {
        let files = self.request.target.files();
        record.target.removed = self.request.options.removes_database
            && record.judgments.data.value == Data::Clean
            && self.request.directory.holds(&files);
        if let Err(error) = self.request.directory.write_record(&*record) {
            record.target.removed = false;
            self.observer.event(&Event::Warning {
                kind: WarningKind::RecordNotWritten,
                message: error.to_string(),
            });
            let kind = IncidentKind::RecordIncomplete;
            match record.incidents.iter_mut().find(|i| i.kind == kind) {
                Some(incident) => incident.message = format!("{}; {error}", incident.message),
                None => record.incidents.push(Incident::new(kind, error.to_string())),
            }
            record.judgments = analysis::judge(record);
        }
    }
}

/// Rejects transactions of several statements if the target has none, before anything is created.
fn check_transactions(bound: &BoundWorkload, facts: &TargetFacts) -> Result<(), UserError> {
    let is_one = |op: &&BoundOp| matches!(op.kind, BoundOpKind::Transaction(_));
    match bound.ops.iter().find(is_one) {
        Some(op) if !facts.transactions => Err(UserError::no_transactions(&op.name)),
        _ => Ok(()),
    }
}

/// Why an audit cannot be trusted.
const STILL_RUNNING: &str = "statements of this run may still have been running";
/// Record text if the user stopped the run before the end of the measurement.
const STOPPED: &str = "Ctrl-C, or a signal";
/// Record text if the user stopped the run after the measurement.
const STOPPED_MEASURED: &str = "you stopped the run after the measurement was complete";

impl Run {
    /// Incidents that ended the run or spoiled its end; `idle` if none of its statements ran before the audit.
    fn incidents(
        &self,
        passes: &Passes,
        idle: bool,
        collector: &mut Collector<'_>,
    ) -> Vec<Incident> {
        let interrupted = passes.interrupted() || self.interrupts.requested().is_some();
        let measured = passes.main.as_ref().is_some_and(|main| !main.interrupted);
        let stopped = match (interrupted, measured) {
            (false, _) => None,
            (true, false) => Some((IncidentKind::Interrupted, STOPPED)),
            (true, true) => Some((IncidentKind::AuditInterrupted, STOPPED_MEASURED)),
        };
        let incident = |kind| move |why: String| Incident::new(kind, why);
        let lost = passes.fatal().map(|error| error.message);
        let unwritten = collector.journal_error.take();
        let all = [
            stopped.map(|(kind, message)| Incident::new(kind, message)),
            lost.map(incident(IncidentKind::TargetLost)),
            (!idle).then(|| Incident::new(IncidentKind::NotIdle, STILL_RUNNING)),
            unwritten.map(incident(IncidentKind::RecordIncomplete)),
            self.disk_full.clone().map(incident(IncidentKind::DiskFull)),
            collector.hopeless.take().map(incident(IncidentKind::Hopeless)),
        ];
        all.into_iter().flatten().collect()
    }
}

/// Record text if another run took the tables over.
const LOST: &str = "another run took the tables over, because this run's heartbeat was \
                               missing for half a minute: rows of both may be in them";

impl Run {
    /// Takes leases on the tables that this run fills or drops, if they are stored, and on the plan of shares that meet;
    /// none of a model, which is of this run alone.
    async fn hold_tables(
        &self,
        bound: &BoundWorkload,
        admin: &mut dyn Admin,
    ) -> Result<Option<HeldLeases>, UserError> {
        let capabilities = self.request.target.capabilities();
        let is_shared = capabilities.stores_values && !capabilities.simulated_clock;
        let options = &self.request.options;
        let drops = options.drop || !options.drop_foreign.is_empty();
        let changes = is_shared && (writes(&self.request) || drops);
        let (plan, timeline) = (&self.request.plan, self.timeline.as_ref());
        let meets = self.request.meets.as_ref();
        let meets = meets.map(|meets| (lease_on_plan(plan), meets.interrupter.clone()));
        let on_plan = meets.as_ref().map(|(on_plan, _)| on_plan.clone());
        let tables = bound.tables.iter().filter(|_| changes).map(|table| table.name.as_str());
        let tables: Vec<&str> = tables.chain(on_plan.as_deref()).collect();
        if tables.is_empty() {
            return Ok(None);
        }
        if let Some(kept) = &self.kept
            && let Some(held) = kept.hand_over(admin, &tables, timeline).await?
        {
            return Ok(Some(held));
        }
        let watching = |held: Part| self.begin(held);
        let token = leases::take(admin, &tables, Some(plan), timeline, watching).await?;
        HeldLeases::keep(&self.request.target, token, meets)
            .map(Some)
            .map_err(|error| UserError::cannot("run", &error))
    }

    /// Waits until the first share has made the tables, if this is another one that meets it.
    async fn wait_for_tables(&mut self, admin: &mut dyn Admin) -> Result<(), UserError> {
        let is_other = self.request.plan.share.index > 1;
        let Some(meeting) = self.meeting.as_mut().filter(|_| is_other) else {
            return Ok(());
        };
        let (timeline, observer) = (self.timeline.as_ref(), self.observer.as_ref());
        let tables = meeting.wait_for_tables(admin, timeline, observer);
        unless_stopped(&self.later_interrupts, tables).await?;
        let Some(meets) = &self.request.meets else {
            return Ok(());
        };
        let first = find_first(meets, &self.request.directory, meeting.id(), timeline);
        unless_stopped(&self.later_interrupts, first).await
    }

    /// Announces that this share sends nothing more. The first one waits until no share does: its audit counts the rows
    /// of all. If the target does not answer, the merged audit reports which share may have been writing.
    async fn drained(&mut self, admin: &mut dyn Admin) {
        let Some(meeting) = &mut self.meeting else {
            return;
        };
        let (timeline, observer) = (self.timeline.as_ref(), self.observer.as_ref());
        let others = async {
            if self.interrupts.requested().is_some() {
                meeting.announce(admin, Stage::Stopped).await?;
            }
            meeting.announce(admin, Stage::Drained).await?;
            match self.request.plan.share.index {
                1 => meeting.wait_for_others(admin, Stage::Drained, timeline, observer).await,
                _ => Ok(()),
            }
        };
        drop(unless_stopped(&self.interrupts.later(), others).await);
    }

    /// Adds the other shares' writes of rows that replace each other: which write was the last one shows only with all.
    fn add_other_shares(&mut self, own: &RunRecord, ledgers: &mut [Ledger], origin: Nanos) {
        let Share { index, of, .. } = self.request.plan.share;
        let meets = self.request.meets.as_ref().filter(|_| self.meeting.is_some() && index == 1);
        let Some(meets) = meets.filter(|_| ledgers.iter().any(Ledger::has_replacements)) else {
            return;
        };
        let own_error = own.meeting.as_ref().map_or(0, |meeting| meeting.error_ns);
        let mut missing: BTreeSet<u32> = (2..=of).collect();
        let siblings = siblings(&meets.store, self.request.directory.path()).unwrap_or_default();
        for share in stored_shares(of_shares(siblings), own) {
            let lines = store::read_ledger(&share.path).ok().flatten().unwrap_or_default();
            // A share that was killed has not stored them.
            if !lines.iter().any(|line| line.ended) || !missing.remove(&share.index) {
                continue;
            }
            let error = share.error.saturating_add(Nanos(own_error));
            for line in &lines {
                if let (Some(replaced), Some(ledger)) =
                    (&line.replaced, ledgers.get_mut(line.table))
                {
                    ledger.add_replaced(replaced, origin, error);
                }
            }
        }
        self.shares_missing = missing;
    }

    /// Releases the tables, or keeps them for the next run of a search, or until the shares' runs are merged.
    async fn release_tables(&mut self, held: HeldLeases, admin: &mut dyn Admin) {
        match &self.kept {
            Some(kept) => kept.keep(held, self.meeting.take()),
            None => held.end(admin, self.timeline.as_ref()).await,
        }
    }
}

/// The state of a run.
struct Run {
    request: RunRequest,
    /// Dropped before the observer, which may wait until senders of commands have their responses.
    controls: Controls,
    observer: Rc<dyn Observer>,
    interrupts: Interrupts,
    /// Stop requests since the run began; they end its preparation. A run that was stopped earlier is still prepared,
    /// so that its record can report it.
    later_interrupts: Interrupts,
    timeline: Rc<dyn Timeline>,
    executors: Executors,
    /// Identity of the workload's rows in this target.
    row_identity: String,
    /// The declared columns of the tables.
    declared: DeclaredTables,
    /// The tables before this run.
    tables: ExistingTables,
    /// The target's free disk space before the load, if it is watched.
    space: Option<DiskSpace>,
    /// Why the run was stopped before the disk was full.
    disk_full: Option<String>,
    /// Polls the target for telemetry during the load.
    poller: TelemetryPoller,
    /// The leases shared with the other runs, if this is one of several.
    kept: Option<KeptLeases>,
    /// The meeting with the other shares of the plan, if there is one.
    meeting: Option<Meeting>,
    /// Whether the first readings of telemetry precede the load.
    is_polling: bool,
    /// Other shares whose writes of rows that replace each other are not known.
    shares_missing: BTreeSet<u32>,
    /// The values before the load of the invariants that compare with them.
    values_before: Vec<Option<i128>>,
    /// The invariants that say nothing about what this run did.
    unchecked: Vec<String>,
}

impl Run {
    fn new(
        mut request: RunRequest,
        observer: Rc<dyn Observer>,
        interrupts: Interrupts,
        timeline: Rc<dyn Timeline>,
        executors: Executors,
    ) -> Self {
        // One share is enough to poll the target.
        let polls = !request.options.telemetry.off && request.plan.share.index == 1;
        let mut poller = if polls {
            let nodes = &request.options.telemetry.limited_nodes;
            TelemetryPoller::of_target(&request.target, nodes, &timeline)
        } else {
            TelemetryPoller::new(Rc::clone(&timeline))
        };
        let endpoints = request
            .options
            .telemetry
            .node_endpoints
            .iter()
            .chain(&request.options.telemetry.endpoints);
        for endpoint in endpoints.filter(|_| polls) {
            let opened = endpoint.clone();
            poller.add(endpoint.name(), Box::new(move |timeline| opened.open(timeline)));
        }
        Self {
            controls: std::mem::take(&mut request.controls).acting(request.actions.take()),
            observer: kept_in(&request.directory, observer),
            request,
            later_interrupts: interrupts.later(),
            interrupts,
            timeline,
            executors,
            row_identity: String::new(),
            declared: DeclaredTables::default(),
            tables: ExistingTables::default(),
            space: None,
            disk_full: None,
            poller,
            kept: None,
            meeting: None,
            is_polling: false,
            shares_missing: BTreeSet::new(),
            values_before: Vec::new(),
            unchecked: Vec::new(),
        }
    }

    /// Reports the start of a part.
    fn begin(&self, part: Part) {
        self.observer.event(&Event::Part(part));
    }
}

/// Executor threads for a pass with this many sessions, or more later.
fn executors_of(executors: Executors, sessions: u32, may_grow: bool) -> u32 {
    let sessions = if may_grow { u32::MAX } else { sessions };
    match executors {
        Executors::Inline => 1,
        Executors::Threads(_) => crate::telemetry::cores().min(sessions).max(1),
    }
}

/// With fewer responses, no note is added.
const RESPONSES_MIN: u64 = 10;

/// A note for each query of which at least half of the measured responses were empty. Rows give a lower bound: at least
/// responses minus rows were empty.
fn empty_response_notes(record: &RunRecord, workload: &Workload) -> Vec<RunNote> {
    if record.target.sink || record.target.simulated {
        return Vec::new();
    }
    let measured = record.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let measured: Vec<&str> = measured.map(|phase| phase.name.as_str()).collect();
    let ops = (0..u16::MAX).map(|op| (OpId(op), workload.op_name(OpId(op))));
    let ops = ops.take_while(|(_, name)| !name.is_empty());
    let found = ops.filter_map(|(id, name)| {
        let of_op = |phase: &str, op: &str| op == name && measured.contains(&phase);
        let results = record.results.iter().filter(|r| of_op(&r.phase, &r.op));
        let (responses, rows) = results.fold((0, 0), |(responses, rows), result| {
            (responses + result.acknowledged, rows + result.response_rows)
        });
        let empty = responses.checked_sub(rows);
        let empty = empty.filter(|empty| empty * 2 >= responses)?;
        (responses >= RESPONSES_MIN && workload.only_reads(id)).then(|| RunNote {
            code: "empty_answers".to_owned(),
            message: format!(
                "{name}: at least {} of {} answers had no row; a query about the clock's time finds \
                 none in data of another time",
                percent_of(empty, responses),
                count(responses)
            ),
        })
    });
    found.collect()
}
