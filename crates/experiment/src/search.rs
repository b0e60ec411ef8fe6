//! A search: the probes that the policy of `highwater_analysis::search` selects.
//!
//! The policy decides which probe is next.

use highwater_analysis::search as policy;
use highwater_analysis::search::{
    ProbeResult, Step as Probing, end_early, measured_ns, probed, sessions_divisor,
};
use highwater_model::event::{Event, ExperimentProgress, Trial};
use highwater_model::plan::{Pace, PhaseKind, Plan};
use highwater_model::record::{ExperimentRecord, Question, RunRecord};
use highwater_model::search::{
    NoMarkReason, ProbePurpose, ProbeRecord, ProbeVerdict, SearchAxis, SearchRecord,
};
use highwater_model::units::Nanos;

use crate::trial_loop::{
    BudgetShortfall, Experiment, FinishedTrial, UpcomingTrial, number, progress, take_trials, took,
    within,
};
use crate::trials::NextTrial;

/// Maximum attempts of an op in an estimate, with the growing waits of the plan.
const ESTIMATE_ATTEMPTS: u32 = 16;

/// A probe.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Why it runs.
    pub purpose: ProbePurpose,
    /// The value on the axis; absent for an estimate.
    pub at: Option<f64>,
}

impl Experiment for SearchRecord {
    type Trial = Probe;

    fn next(&mut self) -> Option<UpcomingTrial<Probe>> {
        let (purpose, at) = match policy::next(self, &self.probes) {
            Probing::Estimate => (ProbePurpose::Estimate, None),
            Probing::Probe { at } => (ProbePurpose::Search, Some(at)),
            Probing::Confirm { at } => (ProbePurpose::Confirm, Some(at)),
            Probing::Soak { at } => (ProbePurpose::Soak, Some(at)),
            Probing::End(outcome) => {
                self.outcome = Some(outcome);
                return None;
            }
        };
        let number = number(&self.probes);
        Some(UpcomingTrial {
            is_nested: false,
            trial: Probe { purpose, at },
            number,
            name: format!("{number:02}-{}", purpose.name()),
            about: Trial::Probe { purpose, axis: self.axis, at, unit: self.unit },
            progress: progress_of(self, purpose),
        })
    }

    /// In an estimate, sessions wait after an op that was not applied. Otherwise a rejecting target would be flooded,
    /// for no more than an order of magnitude.
    fn cut(&self, probe: &Probe, mut plan: Plan) -> Plan {
        let measured = Nanos(measured_ns(self, &self.probes, probe.purpose, probe.at));
        let phases = plan.phases.iter_mut();
        for phase in phases.filter(|phase| phase.kind == PhaseKind::Measure) {
            phase.duration = measured;
        }
        if probe.purpose == ProbePurpose::Estimate {
            plan.retry.attempts = plan.retry.attempts.max(ESTIMATE_ATTEMPTS);
            let divisor = sessions_divisor(&self.probes);
            let streams = plan.streams.iter_mut().filter(|stream| stream.name == self.stream);
            for pace in streams.flat_map(|stream| &mut stream.paces) {
                if let Pace::Closed { sessions } = pace {
                    *sessions = (*sessions / divisor).max(1);
                }
            }
        }
        plan
    }

    fn keep(&mut self, requested: NextTrial<Probe>, finished: FinishedTrial<'_>) -> Event {
        let Probe { purpose, at } = requested.trial;
        let unreachable =
            || ProbeResult { verdict: ProbeVerdict::TargetLost, ..ProbeResult::default() };
        let seen = finished.record.map_or_else(unreachable, |record| probed(self, purpose, record));
        let sessions = finished.plan.as_ref();
        let sessions = sessions.map_or(0, |plan| sessions_of(plan, &self.stream));
        let probe = ProbeRecord {
            number: requested.number,
            purpose,
            at: at.unwrap_or(f64::from(sessions)),
            verdict: seen.verdict,
            reasons: seen.reasons,
            acknowledged_per_s: seen.acknowledged_per_s,
            per_s_by_op: seen.per_s_by_op,
            pressure: seen.pressure.map(|pressure| pressure.bound),
            late: seen.pressure.map(|pressure| pressure.share),
            p99_ns: seen.p99_ns,
            p99_at_least: seen.p99_at_least,
            mean_ns: seen.mean_ns,
            failed_ops: seen.failed_ops,
            limit: finished.record.and_then(|record| record.limit.clone()),
            rows_before: seen.rows_before,
            bytes_before: finished.record.and_then(|record| record.target.bytes_before),
            started_at: finished.started_at,
            measured_ns: seen.measured_ns,
            took_ns: finished.record.map_or(0, took),
            settled_ns: finished.settled.0,
            run: finished.run,
        };
        self.probes.push(probe.clone());
        Event::Probed(probe)
    }

    fn take_over(&mut self, recorded: Question) -> bool {
        let Question::Search(other) = recorded else {
            return false;
        };
        let is_same = other.definition_hash == self.definition_hash;
        is_same && take_trials(&mut self.probes, other.probes)
    }

    fn take_back(&mut self) -> bool {
        self.outcome = None;
        self.probes.pop().is_some()
    }

    fn interrupt(&mut self) {
        let why = NoMarkReason::Interrupted;
        self.outcome = Some(end_early(self, &self.probes, why));
    }

    fn conclude(&self, last: RunRecord, id: String) -> ExperimentRecord {
        policy::conclude(last, self.clone(), id)
    }

    fn budget_shortfall(&self) -> BudgetShortfall {
        let policy = &self.policy;
        let probe = Nanos(policy.probe_takes_ns(policy.probe_ns));
        BudgetShortfall { probe, confirmations: 0 }
    }
}

/// The progress of the search; a soak is the last probe, and not part of the budget.
fn progress_of(search: &SearchRecord, purpose: ProbePurpose) -> ExperimentProgress {
    let policy = &search.policy;
    let took = search.probes.iter().map(|probe| probe.took_ns.saturating_add(probe.settled_ns));
    // At a lower rate, a percentile needs longer probes; after a failure, about half of it is next.
    let [passed, failed] = policy::bracket(search);
    let next = passed.or(failed.map(|failed| failed / 2.0));
    let needed = next.filter(|_| policy.axis == SearchAxis::Rate);
    let needed = needed.map_or(0, |at| policy.needed_ns(at));
    let each = |measured: u64| Nanos(policy.probe_takes_ns(measured.max(needed)));
    let budget = policy.budget_ns.map(Nanos);
    let probing = progress(took, policy.probes_max, each(policy.probe_ns), budget);
    if let Some(soak) = policy.soak_ns.filter(|_| purpose == ProbePurpose::Soak) {
        let most = probing.done.saturating_add(1);
        let soak = each(soak);
        return ExperimentProgress {
            most,
            likely: most,
            each: soak,
            left: soak,
            budget: None,
            ..probing
        };
    }
    let [searching, confirming] = match (purpose, policy::probes_to_come(search)) {
        // Nothing is searched any more, unless a confirmation fails.
        (ProbePurpose::Confirm, [_, confirming]) => [0, confirming.max(1)],
        (_, to_come) => to_come,
    };
    // The first estimate is shorter than a probe.
    let probe = probing.each.max(each(policy.probe_ns)).0.saturating_mul(searching.into());
    let confirmation = each(policy.confirmation_ns).0.saturating_mul(confirming.into());
    ExperimentProgress {
        likely: probing.done.saturating_add(searching).saturating_add(confirming),
        left: within(&probing, probe.saturating_add(confirmation)),
        ..probing
    }
}

/// Sessions that a stream of a plan may use.
fn sessions_of(plan: &Plan, stream: &str) -> u32 {
    let mut streams = plan.streams.iter();
    let position = streams.position(|planned| planned.name == stream);
    position.map_or(0, |position| highwater_runner::planner::sessions_of(plan, position))
}

#[cfg(test)]
mod tests {
    use highwater_analysis::fixture;
    use highwater_model::search::ProbeVerdict;

    use super::*;

    #[test]
    fn what_is_left_of_a_search_counts_its_confirmations_with_their_own_length() {
        let mut search = fixture::search(Vec::new());
        search.policy.budget_ns = Some(Nanos::from_secs(3_600).0);
        let left = |search: &SearchRecord| {
            let progress = progress_of(search, ProbePurpose::Search);
            (progress.likely, progress.left)
        };
        // Nine probes of 70 s, and three confirmations of 310 s.
        assert_eq!(left(&search), (12, Nanos::from_secs(9 * 70 + 3 * 310)));
        let confirming = progress_of(&search, ProbePurpose::Confirm);
        assert_eq!((confirming.likely, confirming.left), (3, Nanos::from_secs(3 * 310)));
        // A short estimate makes no probe shorter, and the budget ends the search.
        let mut estimate = fixture::probe(ProbePurpose::Estimate, 64.0, ProbeVerdict::Estimated);
        estimate.took_ns = Nanos::from_secs(20).0;
        search.probes.push(estimate);
        assert_eq!(left(&search), (12, Nanos::from_secs(8 * 70 + 3 * 310)));
        search.policy.budget_ns = Some(Nanos::from_secs(620).0);
        assert_eq!(left(&search), (12, Nanos::from_secs(600)));
        search.policy.soak_ns = Some(Nanos::from_secs(1_000).0);
        let mut slow = fixture::search(Vec::new());
        slow.policy.units_needed = 100_000.0;
        slow.probes.push(fixture::probe(ProbePurpose::Search, 500.0, ProbeVerdict::Failed));
        // At 250 a second, 400 s have enough ops; six halvings bring a factor of two within 2%.
        let [probe, confirmation] =
            [60, 300].map(|s| slow.policy.probe_takes_ns(s.max(400) * 1_000_000_000));
        assert_eq!(left(&slow), (1 + 8 + 3, Nanos(8 * probe + 3 * confirmation)));
        let soak = progress_of(&search, ProbePurpose::Soak);
        assert_eq!((soak.likely, soak.left), (2, Nanos::from_secs(1_010)), "no part of the budget");
    }
}
