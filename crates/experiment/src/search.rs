//! A search: the probes that the policy of `highwater_analysis::search` asks for.
//!
//! What to probe next is decided there.

use std::rc::Rc;

use highwater_analysis::search::{Probed, Step, conclude, end_early, measured_ns, next, probed};
use highwater_model::event::{Event, ExperimentProgress, Trial};
use highwater_model::plan::{PhaseKind, Plan};
use highwater_model::record::{ExperimentRecord, RunRecord};
use highwater_model::search::{
    NoMarkReason, ProbePurpose, ProbeRecord, ProbeVerdict, SearchRecord,
};
use highwater_model::units::Nanos;

use crate::progress::{progress, took};
use crate::trial_loop::{self, Experiment, Made};
use crate::trial_maker::TrialMaker;
use crate::trials::{Before, Trials};
use highwater_runner::interrupts::Interrupts;
use highwater_runner::observer::Observer;
use highwater_runner::request::{RunError, RunRequest};
use highwater_runner::store::RunDirectory;

/// How often an estimate asks an op again, with the growing waits of the plan.
const ESTIMATE_ATTEMPTS: u32 = 16;

/// What is searched, and where it is kept.
pub struct SearchRequest {
    /// Without an outcome; with the probes of a search that is resumed.
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
    /// Whether this process makes its first probe.
    pub is_first: bool,
    /// The tables held rows before the search, so they may not be made anew.
    pub tables_kept: bool,
}

/// Searches to the end, and returns the search's record.
///
/// # Errors
/// Where no record can be made: the budget has no room for a probe, the first one could not be run, or
/// one could not be made or kept.
pub fn search<M: TrialMaker<ProbeRequest>>(
    request: SearchRequest,
    maker: &M,
    observer: &Rc<dyn Observer>,
    interrupts: &Interrupts,
) -> Result<ExperimentRecord, M::Error> {
    let trials = Trials::new(request.directory, request.settle, observer, interrupts);
    let mut search_run = SearchRun {
        search: request.search,
        maker,
    };
    trial_loop::run(&mut search_run, trials)
}

/// Refuses a search whose budget has no room for its first probe.
///
/// # Errors
/// Where nothing can be probed.
pub fn check(search: &SearchRecord) -> Result<(), RunError> {
    match next(search, &search.probes) {
        Step::End(_) if search.probes.is_empty() => Err(no_room(search)),
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
struct SearchRun<'a, M> {
    search: SearchRecord,
    maker: &'a M,
}

impl<M: TrialMaker<ProbeRequest>> Experiment for SearchRun<'_, M> {
    type Trial = ProbeRequest;
    type Error = M::Error;

    fn next(&mut self, before: Before) -> Result<trial_loop::Step<ProbeRequest>, M::Error> {
        let mut step = next(&self.search, &self.search.probes);
        // What was measured before has no record here that could stand for the whole: a search that had come
        // to its end is resumed with its last probe once more.
        if before.is_first && matches!(step, Step::End(_)) && self.search.probes.pop().is_some() {
            step = next(&self.search, &self.search.probes);
        }
        let (purpose, at) = match step {
            Step::Estimate => (ProbePurpose::Estimate, None),
            Step::Probe { at } => (ProbePurpose::Search, Some(at)),
            Step::Confirm { at } => (ProbePurpose::Confirm, Some(at)),
            Step::Soak { at } => (ProbePurpose::Soak, Some(at)),
            // Without a record of a probe there is none of the whole.
            Step::End(_) if before.is_first => return Err(no_room(&self.search).into()),
            Step::End(outcome) => {
                self.search.outcome = Some(outcome);
                return Ok(trial_loop::Step::End);
            }
        };
        Ok(trial_loop::Step::Trial(ProbeRequest {
            number: u32::try_from(self.search.probes.len() + 1).unwrap_or(u32::MAX),
            purpose,
            at,
            is_first: before.is_first,
            tables_kept: before.tables_kept,
        }))
    }

    fn plan(&self, probe: &ProbeRequest) -> Result<Plan, M::Error> {
        Ok(self.cut(probe, self.maker.plan(probe)?))
    }

    fn request(
        &self,
        probe: &ProbeRequest,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, M::Error> {
        self.maker.request(probe, plan, directory)
    }

    fn number(&self, probe: &ProbeRequest) -> u32 {
        probe.number
    }

    fn name(&self, probe: &ProbeRequest) -> String {
        format!("{:02}-{}", probe.number, probe.purpose.name())
    }

    fn about(&self, requested: &ProbeRequest) -> Trial {
        Trial::Probe {
            purpose: requested.purpose,
            axis: self.search.axis,
            at: requested.at,
            unit: self.search.unit,
        }
    }

    /// How far the search is; a soak is the last probe, and beside the budget.
    fn progress(&self, probe: &ProbeRequest) -> ExperimentProgress {
        let policy = &self.search.policy;
        let took = self.search.probes.iter();
        let took = took.map(|probe| probe.took_ns.saturating_add(probe.settled_ns));
        let around = |measured: u64| Nanos(measured.saturating_add(policy.around_ns));
        let budget = policy.budget_ns.map(Nanos);
        let search_run = progress(took, policy.probes_max, around(policy.probe_ns), budget);
        match policy
            .soak_ns
            .filter(|_| probe.purpose == ProbePurpose::Soak)
        {
            None => search_run,
            Some(soak) => ExperimentProgress {
                most: search_run.done.saturating_add(1),
                each: around(soak),
                budget: None,
                ..search_run
            },
        }
    }

    fn keep(&mut self, probe: ProbeRequest, made: Made<'_>) {
        let seen = made.record.map_or_else(unreachable_target, |record| {
            probed(&self.search, probe.purpose, record)
        });
        let sessions = sessions_of(&made.plan, &self.search.stream);
        self.search.probes.push(ProbeRecord {
            number: probe.number,
            purpose: probe.purpose,
            at: probe.at.unwrap_or(f64::from(sessions)),
            verdict: seen.verdict,
            reasons: seen.reasons,
            acknowledged_per_s: seen.acknowledged_per_s,
            pressure: seen.pressure.map(|pressure| pressure.bound),
            late: seen.pressure.map(|pressure| pressure.late),
            p99_ns: seen.p99_ns,
            mean_ns: seen.mean_ns,
            failed_ops: seen.failed_ops,
            rows_before: seen.rows_before,
            bytes_before: made.record.and_then(|record| record.target.bytes_before),
            started_at: made.ran.started_at,
            measured_ns: seen.measured_ns,
            took_ns: made.record.map_or(0, took),
            settled_ns: made.ran.settled.0,
            run: made.run,
        });
    }

    fn interrupt(&mut self) {
        let why = NoMarkReason::Interrupted;
        self.search.outcome = Some(end_early(&self.search, &self.search.probes, why));
    }

    fn is_over(&self) -> bool {
        self.search.outcome.is_some()
    }

    fn conclude(&self, last: RunRecord, id: String) -> ExperimentRecord {
        conclude(last, self.search.clone(), id)
    }

    fn made(&self) -> Option<Event> {
        self.search.probes.last().cloned().map(Event::Probed)
    }
}

impl<M> SearchRun<'_, M> {
    /// The plan of a probe, as long as the search asks for. An estimate's sessions wait after an op
    /// that was not applied: else a target that rejects would be asked without end, and all of it
    /// for an order of magnitude.
    fn cut(&self, requested: &ProbeRequest, mut plan: Plan) -> Plan {
        let measured = Nanos(measured_ns(
            &self.search,
            &self.search.probes,
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
}

/// Sessions that a stream of a plan may use.
fn sessions_of(plan: &Plan, stream: &str) -> u32 {
    let mut streams = plan.streams.iter();
    let position = streams.position(|planned| planned.name == stream);
    position.map_or(0, |position| {
        highwater_runner::planner::sessions_of(plan, position)
    })
}

/// What a probe shows that could not be run.
fn unreachable_target() -> Probed {
    Probed {
        verdict: ProbeVerdict::TargetLost,
        reasons: Vec::new(),
        acknowledged_per_s: 0.0,
        pressure: None,
        p99_ns: None,
        mean_ns: None,
        failed_ops: 0,
        measured_ns: 0,
        rows_before: 0,
    }
}
