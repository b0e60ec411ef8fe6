//! A search: the loop over finished runs that the policy of `analysis::search` asks for.
//!
//! What to probe next is decided there; how probes are run is the business of `probes`.

use std::rc::Rc;

use highwater_analysis::search::{Probed, Step, conclude, end_early, measured_ns, next, probed};
use highwater_model::plan::{PhaseKind, Plan};
use highwater_model::record::RunRecord;
use highwater_model::search::{
    NoMarkReason, ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchOutcome, SearchRecord,
};
use highwater_model::units::Nanos;
use highwater_report::ExperimentProgress;

use crate::interrupts::Interrupts;
use crate::observer::{Event, Observer};
use crate::probes::{Probes, progress, took};
use crate::request::{RunError, RunRequest};
use crate::store::{RunDirectory, StoreError};

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
pub struct ProbeRequest {
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
    fn plan(&self, requested: &ProbeRequest) -> Result<Plan, Self::Error>;
    /// The run of a probe, kept in `directory`.
    fn request(
        &self,
        requested: &ProbeRequest,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, Self::Error>;
}

/// Searches to the end, and returns the search's record.
///
/// # Errors
/// Where no record can be made: the budget has no room for a probe, the first one could not be run, or
/// one could not be made or kept.
pub fn search<M: ProbeMaker>(
    request: SearchRequest,
    maker: &M,
    observer: &Rc<dyn Observer>,
    interrupts: &Interrupts,
) -> Result<RunRecord, M::Error> {
    let mut search_run = SearchRun {
        runs: Probes::new(request.directory, request.settle, observer, interrupts),
        search: request.search,
        probes: Vec::new(),
    };
    let end = search_run.finish(maker);
    search_run.runs.close();
    end
}

/// Refuses a search whose budget has no room for its first probe.
///
/// # Errors
/// Where nothing can be probed.
pub fn check(search: &SearchRecord) -> Result<(), RunError> {
    match next(search, &[]) {
        Step::End(_) => Err(no_room(search)),
        _ => Ok(()),
    }
}

fn no_room(search: &SearchRecord) -> RunError {
    let policy = &search.policy;
    RunError::Budget {
        probe: Nanos(policy.probe_ns.saturating_add(policy.around_ns)),
        confirmations: 0,
    }
}

/// A search under way.
struct SearchRun<'a> {
    search: SearchRecord,
    runs: Probes<'a>,
    probes: Vec<ProbeRecord>,
}

impl SearchRun<'_> {
    fn finish<M: ProbeMaker>(&mut self, maker: &M) -> Result<RunRecord, M::Error> {
        loop {
            let outcome = match next(&self.search, &self.probes) {
                Step::Estimate => self.probe(maker, ProbePurpose::Estimate, None)?,
                Step::Probe { at } => self.probe(maker, ProbePurpose::Search, Some(at))?,
                Step::Confirm { at } => self.probe(maker, ProbePurpose::Confirm, Some(at))?,
                Step::Soak { at } => self.probe(maker, ProbePurpose::Soak, Some(at))?,
                // Without a record of a probe there is none of the whole.
                Step::End(_) if self.runs.last.is_none() => {
                    return Err(no_room(&self.search).into());
                }
                Step::End(outcome) => Some(outcome),
            };
            self.search.outcome = outcome;
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
        let requested = ProbeRequest {
            number,
            purpose,
            at,
            tables_kept: self.runs.tables_kept,
        };
        let plan = self.cut(&requested, maker.plan(&requested)?);
        let sessions = sessions_of(&plan, &self.search.stream);
        let name = format!("{number:02}-{}", name_of(purpose));
        let (directory, run) = self.runs.place(&name, &plan)?;
        let request = maker.request(&requested, plan, directory)?;
        let begin = Event::Probe {
            number,
            about: self.about(&requested),
            progress: self.progress(purpose),
        };
        let Some(ran) = self.runs.run(request, &begin)? else {
            let why = NoMarkReason::Interrupted;
            return Ok(Some(end_early(&self.search, &self.probes, why)));
        };
        let record = self.runs.record_of(&ran);
        let probed = record.map_or_else(unreachable_target, |record| {
            probed(&self.search, purpose, record)
        });
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
            bytes_before: record.and_then(|record| record.target.bytes_before),
            started_at: ran.started_at,
            measured_ns: probed.measured_ns,
            took_ns: record.map_or(0, took),
            settled_ns: ran.settled.0,
            run,
        });
        Ok(None)
    }

    /// The plan of a probe, as long as the search asks for. An estimate's sessions wait after an op
    /// that was not applied: else a target that rejects would be asked without end, and all of it
    /// for an order of magnitude.
    fn cut(&self, requested: &ProbeRequest, mut plan: Plan) -> Plan {
        let measured = Nanos(measured_ns(
            &self.search,
            &self.probes,
            requested.purpose,
            requested.at,
        ));
        let phases = plan.phases.iter_mut();
        for phase in phases.filter(|phase| phase.kind == PhaseKind::Measure) {
            phase.duration = measured;
        }
        if requested.purpose == ProbePurpose::Estimate {
            plan.retry.attempts = plan.retry.attempts.max(ESTIMATE_ATTEMPTS);
        }
        plan
    }

    /// How far the search is; a soak is the last probe, and beside the budget.
    fn progress(&self, purpose: ProbePurpose) -> ExperimentProgress {
        let policy = &self.search.policy;
        let took = self.probes.iter();
        let took = took.map(|probe| probe.took_ns.saturating_add(probe.settled_ns));
        let around = |measured: u64| Nanos(measured.saturating_add(policy.around_ns));
        let budget = policy.budget_ns.map(Nanos);
        let search_run = progress(took, policy.probes_max, around(policy.probe_ns), budget);
        match policy.soak_ns.filter(|_| purpose == ProbePurpose::Soak) {
            None => search_run,
            Some(soak) => ExperimentProgress {
                most: search_run.done.saturating_add(1),
                each: around(soak),
                budget: None,
                ..search_run
            },
        }
    }

    fn about(&self, requested: &ProbeRequest) -> String {
        let purpose = name_of(requested.purpose);
        match (requested.at, self.search.axis) {
            (None, _) => format!("{purpose}, closed load"),
            (Some(at), SearchAxis::Rate) => {
                format!("{purpose}, {at} {}/s", self.search.unit.name())
            }
            (Some(at), SearchAxis::Sessions) => format!("{purpose}, {at} sessions"),
        }
    }

    /// Writes the record so far; returns it where the search has ended.
    fn record(&self) -> Result<Option<RunRecord>, StoreError> {
        let record = self
            .runs
            .write(|last, id| conclude(last, self.search.clone(), self.probes.clone(), id))?;
        let ended = self.search.outcome.is_some();
        if let Some(probe) = self.probes.last().filter(|_| !ended) {
            self.runs.observer.event(&Event::Probed(probe.clone()));
        }
        Ok(record.filter(|_| ended))
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

/// Sessions that a stream of a plan may use.
fn sessions_of(plan: &Plan, stream: &str) -> u32 {
    let mut streams = plan.streams.iter();
    let position = streams.position(|planned| planned.name == stream);
    position.map_or(0, |position| crate::planner::sessions_of(plan, position))
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
