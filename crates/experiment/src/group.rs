//! A group of runs: runs the variants that the policy of `highwater_analysis::group` selects.
//!
//! The policy decides which run is next.

use highwater_analysis::group as policy;
use highwater_analysis::group::{GroupStep, seen};
use highwater_model::event::{Event, Trial};
use highwater_model::group::{GroupOutcome, GroupRecord, GroupTrial};
use highwater_model::judgment::RunEnding;
use highwater_model::record::{ExperimentRecord, Question, RunRecord};
use highwater_model::units::Nanos;

use crate::trial_loop::{
    BudgetShortfall, Experiment, FinishedTrial, UpcomingTrial, number, progress, take_trials, took,
};
use crate::trials::NextTrial;

/// A run of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupRun {
    /// Position of its variant.
    pub variant: usize,
    /// The number of the run among those of its variant, from 1.
    pub round: u32,
}

impl Experiment for GroupRecord {
    type Trial = GroupRun;

    fn next(&mut self) -> Option<UpcomingTrial<GroupRun>> {
        let (variant, round) = match policy::next(self) {
            GroupStep::Run { variant, round } => (variant, round),
            GroupStep::End(outcome) => {
                self.outcome = Some(outcome);
                return None;
            }
        };
        let number = number(&self.trials);
        let name = self.variants.get(variant).map(|of| of.name.clone()).unwrap_or_default();
        let took = self.trials.iter().map(|trial| trial.took_ns);
        let most = self.runs();
        let (planned, budget) = (Nanos(self.trial_cost_ns), self.budget_ns.map(Nanos));
        Some(UpcomingTrial {
            is_nested: false,
            trial: GroupRun { variant, round },
            number,
            name: format!("{number:03}-{name}"),
            progress: progress(took, most, planned, budget),
            about: Trial::Variant { name, round, times: self.times },
        })
    }

    fn keep(&mut self, requested: NextTrial<GroupRun>, finished: FinishedTrial<'_>) -> Event {
        let GroupRun { variant, round } = requested.trial;
        let of_run = finished.record.map(seen).unwrap_or_default();
        let ended = finished
            .record
            .map_or(RunEnding::TargetLost, |record| RunEnding::from_incidents(&record.incidents));
        let trial = GroupTrial {
            number: requested.number,
            variant,
            round,
            ended,
            judgments: finished.record.map(|record| record.judgments.clone()),
            throughput_per_s: of_run.throughput_per_s,
            p99_ns: of_run.p99_ns,
            p99_at_least: of_run.p99_at_least,
            sample: of_run.sample,
            fault: of_run.fault,
            started_at: finished.started_at,
            took_ns: finished.record.map_or(0, took).saturating_add(finished.settled.0),
            run: finished.run,
        };
        self.trials.push(trial.clone());
        let unit = self.unit;
        Event::Repeated { trial, unit }
    }

    fn take_over(&mut self, recorded: Question) -> bool {
        let Question::Group(other) = recorded else {
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
        self.outcome = Some(GroupOutcome::Interrupted);
    }

    fn conclude(&self, last: RunRecord, id: String) -> ExperimentRecord {
        policy::conclude(last, self.clone(), id)
    }

    fn budget_shortfall(&self) -> BudgetShortfall {
        BudgetShortfall { probe: Nanos(self.trial_cost_ns), confirmations: 0 }
    }

    /// One of the user's commands may fill or drop tables.
    fn holds_tables(&self) -> bool {
        self.variants.iter().all(|variant| variant.command.is_none())
    }
}
