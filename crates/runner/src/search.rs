//! A search: the loop over finished runs that the policy of `analysis::search` asks for.
//!
//! Each probe is a run like any other, with its own record, in the search's own directory; the
//! search's record is written anew after each of them. What to probe next is decided in the core.

use std::rc::Rc;

use futures_util::future::select;
use highwater_core::analysis::search::{
    Probed, Step, conclude, give_up, measured_ns, next, probed,
};
use highwater_core::model::plan::{PhaseKind, Plan};
use highwater_core::model::record::RunRecord;
use highwater_core::model::search::{
    NoMarkReason, ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchOutcome, SearchRecord,
};
use highwater_core::model::units::Nanos;
use highwater_core::report::CourseProgress;
use highwater_driver::{TargetErrorKind, Timeline};

use crate::clock::{RealClock, RealTimeline};
use crate::interrupts::Interrupts;
use crate::observer::{Event, Observer};
use crate::request::{RunError, RunRequest};
use crate::run;
use crate::store::{PROBES, RunDirectory, StoreError};

/// How often an estimate asks an op again, with the growing waits of the plan.
const ESTIMATE_ATTEMPTS: u32 = 16;

/// What is searched, and where it is kept.
pub struct SearchRequest {
    /// Without an outcome.
    pub search: SearchRecord,
    /// The search's own directory, made by the caller.
    pub directory: RunDirectory,
    /// How long the target is left alone between probes; not on a simulated clock.
    pub settle: Nanos,
}

/// A probe that is to be run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeWish {
    /// From 1.
    pub number: u32,
    /// Why.
    pub purpose: ProbePurpose,
    /// The value on the axis; absent for an estimate.
    pub at: Option<f64>,
    /// The tables held rows before the search, so they may not be made anew.
    pub tables_kept: bool,
}

/// Makes the runs of probes. How long each measures is the search's business.
pub trait ProbeMaker {
    /// What can go wrong with it.
    type Error: From<RunError> + From<StoreError>;
    /// The plan of a probe.
    fn plan(&self, wish: &ProbeWish) -> Result<Plan, Self::Error>;
    /// The run of a probe, kept in `directory`.
    fn request(
        &self,
        wish: &ProbeWish,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, Self::Error>;
}

/// Searches to the end, and returns the search's record.
///
/// # Errors
/// Where no record can be made: the first probe could not be run, or a probe could not be made or
/// kept.
pub fn search<M: ProbeMaker>(
    request: SearchRequest,
    maker: &M,
    observer: &Rc<dyn Observer>,
    interrupts: &Interrupts,
) -> Result<RunRecord, M::Error> {
    let mut course = Course {
        request,
        observer,
        interrupts,
        probes: Vec::new(),
        last: None,
        tables_kept: false,
    };
    let end = course.finish(maker);
    if course.probes.is_empty() {
        course.request.directory.discard();
    }
    end
}

/// A search under way.
struct Course<'a> {
    request: SearchRequest,
    observer: &'a Rc<dyn Observer>,
    interrupts: &'a Interrupts,
    probes: Vec<ProbeRecord>,
    /// The record of the last probe that has one.
    last: Option<RunRecord>,
    /// The first probe found rows of the workload.
    tables_kept: bool,
}

impl Course<'_> {
    fn finish<M: ProbeMaker>(&mut self, maker: &M) -> Result<RunRecord, M::Error> {
        loop {
            let search = &self.request.search;
            let outcome = match next(search, &self.probes) {
                Step::Estimate => self.probe(maker, ProbePurpose::Estimate, None)?,
                Step::Probe { at } => self.probe(maker, ProbePurpose::Search, Some(at))?,
                Step::Confirm { at } => self.probe(maker, ProbePurpose::Confirm, Some(at))?,
                Step::Soak { at } => self.probe(maker, ProbePurpose::Soak, Some(at))?,
                Step::End(outcome) => Some(outcome),
            };
            self.request.search.outcome = outcome;
            if let Some(record) = self.record()? {
                return Ok(record);
            }
        }
    }

    /// Runs a probe; an outcome if that was the end of it all.
    fn probe<M: ProbeMaker>(
        &mut self,
        maker: &M,
        purpose: ProbePurpose,
        at: Option<f64>,
    ) -> Result<Option<SearchOutcome>, M::Error> {
        let number = u32::try_from(self.probes.len() + 1).unwrap_or(u32::MAX);
        let wish = ProbeWish {
            number,
            purpose,
            at,
            tables_kept: self.tables_kept,
        };
        let plan = self.cut(&wish, maker.plan(&wish)?);
        let name = format!("{number:02}-{}", name_of(purpose));
        let root = self.request.directory.path().join(PROBES);
        let directory = RunDirectory::create(&root, &name, &plan)?;
        let run = format!("{PROBES}/{}", directory.id());
        let sessions = sessions_of(&plan, &self.request.search.stream);
        let probe = maker.request(&wish, plan, directory)?;
        let simulated = probe.target.capabilities().simulated_clock;
        let settled = self.settle(simulated, number)?;
        if self.interrupts.wished().is_some() && number > 1 {
            probe.directory.discard();
            let why = NoMarkReason::Interrupted;
            return Ok(Some(give_up(&self.request.search, &self.probes, why)));
        }
        self.observer.event(&Event::Probe {
            number,
            about: self.about(&wish),
            course: self.course(purpose),
        });
        let started_at = probe.started_at.clone();
        let end = run::run(probe, Rc::clone(self.observer), self.interrupts.clone());
        let (probed, record) = match end {
            Ok(end) => (
                probed(&self.request.search, purpose, &end.record),
                Some(end.record),
            ),
            Err(RunError::Target(error))
                if number > 1 && error.kind == TargetErrorKind::Unreachable =>
            {
                self.observer.event(&Event::Warning(error.to_string()));
                (unreachable_target(), None)
            }
            Err(error) => return Err(error.into()),
        };
        let record_of = record.as_ref();
        self.probes.push(ProbeRecord {
            number,
            purpose,
            at: at.unwrap_or(f64::from(sessions)),
            verdict: probed.verdict,
            reasons: probed.reasons,
            acknowledged_per_s: probed.acknowledged_per_s,
            pressure: probed.pressure.map(|pressure| pressure.bound),
            late: probed.pressure.map(|pressure| pressure.late),
            p99_ns: probed.p99_ns,
            failed_ops: probed.failed_ops,
            rows_before: probed.rows_before,
            bytes_before: record_of.and_then(|record| record.target.bytes_before),
            started_at,
            measured_ns: probed.measured_ns,
            took_ns: record_of.map_or(0, took),
            settled_ns: settled.0,
            run,
        });
        if number == 1 {
            self.tables_kept = record.as_ref().is_some_and(continues);
        }
        self.last = record.or_else(|| self.last.take());
        Ok(None)
    }

    /// The plan of a probe, as long as the search asks for. An estimate's sessions wait after an op
    /// that was not applied: else a target that rejects would be asked without end, and all of it
    /// for an order of magnitude.
    fn cut(&self, wish: &ProbeWish, mut plan: Plan) -> Plan {
        let search = &self.request.search;
        let measured = Nanos(measured_ns(search, &self.probes, wish.purpose, wish.at));
        let phases = plan.phases.iter_mut();
        for phase in phases.filter(|phase| phase.kind == PhaseKind::Measure) {
            phase.duration = measured;
        }
        if wish.purpose == ProbePurpose::Estimate {
            plan.retry.attempts = plan.retry.attempts.max(ESTIMATE_ATTEMPTS);
        }
        plan
    }

    /// Leaves the target alone for a while, unless the user wishes to stop.
    fn settle(&self, simulated: bool, number: u32) -> Result<Nanos, RunError> {
        if simulated || number == 1 {
            return Ok(Nanos::ZERO);
        }
        pause(self.request.settle, self.interrupts)
    }

    /// How far the search is; a soak is the last probe, and beside the budget.
    fn course(&self, purpose: ProbePurpose) -> CourseProgress {
        let policy = &self.request.search.policy;
        let soak = policy.soak_ns.filter(|_| purpose == ProbePurpose::Soak);
        let took = self.probes.iter();
        let took = took.map(|probe| probe.took_ns.saturating_add(probe.settled_ns));
        let done = u32::try_from(self.probes.len()).unwrap_or(u32::MAX);
        let most = soak.map_or(policy.probes_max, |_| done.saturating_add(1));
        let planned = soak.unwrap_or(policy.probe_ns);
        let budget = policy.budget_ns.filter(|_| soak.is_none());
        let spent = Nanos(took.fold(0, u64::saturating_add));
        CourseProgress {
            done,
            most,
            spent,
            each: mean(spent, done)
                .filter(|_| soak.is_none())
                .unwrap_or(Nanos(planned.saturating_add(policy.around_ns))),
            budget: budget.map(Nanos),
        }
    }

    fn about(&self, wish: &ProbeWish) -> String {
        let search = &self.request.search;
        let purpose = name_of(wish.purpose);
        match (wish.at, search.axis) {
            (None, _) => format!("{purpose}, closed load"),
            (Some(at), SearchAxis::Rate) => format!("{purpose}, {at} {}/s", search.unit.name()),
            (Some(at), SearchAxis::Sessions) => format!("{purpose}, {at} sessions"),
        }
    }

    /// Writes the record so far; returns it where the search has ended.
    fn record(&self) -> Result<Option<RunRecord>, StoreError> {
        let Some(last) = self.last.clone() else {
            return Ok(None);
        };
        let search = self.request.search.clone();
        let ended = search.outcome.is_some();
        let id = self.request.directory.id();
        let record = conclude(last, search, self.probes.clone(), id);
        self.request.directory.write_record(&record)?;
        if let Some(probe) = self.probes.last().filter(|_| !ended) {
            self.observer.event(&Event::Probed(probe.clone()));
        }
        Ok(ended.then_some(record))
    }
}

const fn name_of(purpose: ProbePurpose) -> &'static str {
    match purpose {
        ProbePurpose::Estimate => "estimate",
        ProbePurpose::Search => "search",
        ProbePurpose::Confirm => "confirm",
        ProbePurpose::Soak => "soak",
    }
}

/// What each of several probes took.
pub(crate) fn mean(spent: Nanos, probes: u32) -> Option<Nanos> {
    spent.0.checked_div(probes.into()).map(Nanos)
}

/// Leaves the target alone for so long, unless the user wishes to stop; returns how long it was.
pub(crate) fn pause(length: Nanos, interrupts: &Interrupts) -> Result<Nanos, RunError> {
    if length == Nanos::ZERO {
        return Ok(Nanos::ZERO);
    }
    let mut interrupts = interrupts.clone();
    Ok(RealTimeline::block_on(
        RealClock::start(),
        |timeline| async move {
            let over = timeline.sleep_until(length);
            select(over, std::pin::pin!(interrupts.next())).await;
            timeline.now()
        },
    )?)
}

/// A run's length on its own timeline, load and audit included.
fn took(record: &RunRecord) -> u64 {
    let phases = record.phases.iter().map(|phase| phase.duration_ns);
    phases.fold(0, u64::saturating_add)
}

/// Whether a run went on behind rows that were there before.
pub(crate) fn continues(record: &RunRecord) -> bool {
    record.findings.iter().any(|f| f.code == "continued")
}

/// Sessions that a stream of a plan may use.
fn sessions_of(plan: &Plan, stream: &str) -> u32 {
    let mut streams = plan.streams.iter();
    let position = streams.position(|planned| planned.name == stream);
    position.map_or(0, |position| crate::executor::sessions_of(plan, position))
}

/// What a probe shows that could not be run.
fn unreachable_target() -> Probed {
    Probed {
        verdict: ProbeVerdict::TargetLost,
        reasons: Vec::new(),
        acknowledged_per_s: 0.0,
        pressure: None,
        p99_ns: None,
        failed_ops: 0,
        measured_ns: 0,
        rows_before: 0,
    }
}
