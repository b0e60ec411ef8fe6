//! A tuning: the trials that the policy of `highwater_analysis::tuning` selects.
//!
//! The policy decides which trial is next.

use highwater_analysis::tuning as policy;
use highwater_analysis::tuning::{TrialFigures, TuneStep, end_early, measured};
use highwater_model::event::{Event, Trial};
use highwater_model::record::{ExperimentRecord, Question, RunRecord};
use highwater_model::tune::{NoBestReason, TrialPurpose, TrialRecord, TrialVerdict, TuneRecord};
use highwater_model::units::Nanos;

use crate::trial_loop::{
    BudgetShortfall, Experiment, FinishedTrial, UpcomingTrial, number, progress, take_trials, took,
};
use crate::trials::NextTrial;

/// A configuration that is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Why it is measured.
    pub purpose: TrialPurpose,
    /// Position of the value on each axis.
    pub at: Vec<usize>,
}

impl Experiment for TuneRecord {
    type Trial = Configuration;

    fn next(&mut self) -> Option<UpcomingTrial<Configuration>> {
        let (at, purpose) = match policy::next(self) {
            TuneStep::Measure { at, purpose } => (at, purpose),
            TuneStep::End(outcome) => {
                self.outcome = Some(outcome);
                return None;
            }
        };
        let number = number(&self.trials);
        let values = self.values(&at).into_iter();
        let took = self.trials.iter().map(|trial| trial.took_ns);
        let (planned, budget) = (self.policy.trial_cost_ns, self.policy.budget_ns);
        let budget = Some(Nanos(budget));
        let most = self.policy.probes_max.saturating_add(policy::probes_left_out(self));
        Some(UpcomingTrial {
            is_nested: false,
            number,
            name: format!("{number:03}"),
            about: Trial::Configuration {
                purpose,
                values: values.map(|(axis, value)| [axis, value]).collect(),
            },
            progress: progress(took, most, Nanos(planned), budget),
            trial: Configuration { purpose, at },
        })
    }

    fn keep(&mut self, requested: NextTrial<Configuration>, finished: FinishedTrial<'_>) -> Event {
        let by = self.by;
        let unreachable =
            || TrialFigures { verdict: TrialVerdict::TargetLost, ..TrialFigures::default() };
        let seen = finished.record.map_or_else(unreachable, |record| measured(by, record));
        let trial = TrialRecord {
            number: requested.number,
            purpose: requested.trial.purpose,
            at: requested.trial.at,
            verdict: seen.verdict,
            reasons: seen.reasons,
            throughput_per_s: seen.throughput_per_s,
            figure: seen.figure,
            showed: seen.showed,
            started_at: finished.started_at,
            took_ns: finished.record.map_or(0, took).saturating_add(finished.settled.0),
            run: finished.run,
        };
        self.trials.push(trial.clone());
        let unit = self.unit;
        Event::Measured { trial, unit }
    }

    fn take_over(&mut self, recorded: Question) -> bool {
        let Question::Tune(other) = recorded else {
            return false;
        };
        let is_same = other.definition_hash == self.definition_hash;
        is_same && take_trials(&mut self.trials, other.trials)
    }

    fn take_back(&mut self) -> bool {
        self.outcome = None;
        self.trials.pop().is_some()
    }

    fn interrupt(&mut self) {
        self.outcome = Some(end_early(self, NoBestReason::Interrupted));
    }

    fn conclude(&self, last: RunRecord, id: String) -> ExperimentRecord {
        policy::conclude(last, self.clone(), id)
    }

    fn budget_shortfall(&self) -> BudgetShortfall {
        let confirmations = self.policy.confirmations.saturating_mul(2);
        BudgetShortfall { probe: Nanos(self.policy.trial_cost_ns), confirmations }
    }
}
