//! A search of whole runs on a simulated cluster: its request, and its probes.

use std::path::Path;
use std::rc::Rc;

use highwater_experiment::Probe;
use highwater_experiment::trials::{NextTrial, TrialPlace};
use highwater_model::plan::{AuditLevel, Objective, Unit};
use highwater_model::record::{ExperimentRecord, InterventionRecord};
use highwater_model::search::{
    Mark, NoMark, ProbePurpose, ProbeRecord, SearchAxis, SearchObjective, SearchOutcome,
    SearchPolicy, SearchRecord,
};
use highwater_model::units::{Nanos, Rate};
use highwater_model::user_error::UserError;
use highwater_report as report;
use highwater_runner::planner::PaceInput;
use highwater_runner::store::PROBES;

use crate::making::{Jobs, Watched};
use crate::support::{Job, one_node};

pub(crate) const QUERY: &str = "latest-metrics";

/// A search on a simulated cluster.
pub(crate) struct Hunt {
    pub(crate) job: Job,
    pub(crate) axis: SearchAxis,
    pub(crate) objectives: Vec<Objective>,
    pub(crate) first: Option<f64>,
    highest: Option<f64>,
    pub(crate) budget: Option<Nanos>,
    pub(crate) closed_sessions: u32,
    pub(crate) probe: Nanos,
    pub(crate) confirm: Nanos,
    units_needed: f64,
    longest: Nanos,
    pub(crate) soak: Option<Nanos>,
    /// The target's URL for the probes from this number on.
    pub(crate) later: Option<(u32, String)>,
    /// The pauses of the resumed search.
    pub(crate) pauses: Vec<InterventionRecord>,
}

impl Hunt {
    pub(crate) fn new(target: &str, stream: &'static str) -> Self {
        let mut job = Job::new(target, &[(stream, PaceInput::Closed(Some(64)))]);
        job.sessions = 512;
        job.warm_up = Nanos::from_secs(3);
        // Only marks are compared: summing values would be more than half of the work.
        job.audit = AuditLevel::Count;
        Self {
            job,
            axis: SearchAxis::Rate,
            objectives: vec![Objective::Rejected { max_ppm: 0 }],
            first: None,
            highest: None,
            budget: None,
            closed_sessions: 64,
            probe: Nanos::from_secs(15),
            confirm: Nanos::from_secs(30),
            units_needed: 0.0,
            longest: Nanos::MAX,
            soak: None,
            later: None,
            pauses: Vec::new(),
        }
    }

    pub(crate) fn p99(mut self, bound_s: f64) -> Self {
        self.objectives.push(Objective::Latency {
            quantile_ppm: 990_000,
            max: nanos(bound_s),
            op: None,
        });
        self
    }

    fn search(&self) -> SearchRecord {
        let objective = SearchObjective { stated: self.objectives.clone(), no_errors: true };
        let rows = self.job.streams[0].0 == "insert";
        SearchRecord {
            axis: self.axis,
            stream: self.job.streams[0].0.to_owned(),
            unit: if rows { Unit::Rows } else { Unit::Queries },
            objective_hash: objective.hash(),
            definition_hash: String::new(),
            objective,
            floor: None,
            policy: SearchPolicy {
                axis: self.axis,
                first: self.first,
                lowest: 1.0,
                highest: self.highest,
                width: 0.02,
                confirmations: 3,
                probes_max: 25,
                budget_ns: self.budget.map(|budget| budget.0),
                probe_ns: self.probe.0,
                confirmation_ns: self.confirm.0,
                around_ns: self.job.warm_up.0,
                audit_fraction: 0.0,
                units_needed: self.units_needed,
                longest_ns: self.longest.0,
                soak_ns: self.soak.map(|soak| soak.0),
            },
            probes: Vec::new(),
            outcome: None,
        }
    }

    fn job_of(&self, requested: &NextTrial<Probe>) -> Job {
        let mut job = self.job.clone();
        let pace = match (requested.trial.at, self.axis) {
            (None, _) => PaceInput::Closed(Some(self.closed_sessions)),
            (Some(at), SearchAxis::Rate) => {
                PaceInput::Open(Rate { micro_per_s: whole(at * 1e6 + 0.5) })
            }
            (Some(at), SearchAxis::Sessions) => {
                PaceInput::Closed(Some(u32::try_from(whole(at + 0.5)).unwrap()))
            }
        };
        job.streams[0].1 = vec![pace];
        job.objectives.clone_from(&self.objectives);
        if let Some((from, url)) = &self.later
            && requested.number >= *from
        {
            job.target.clone_from(url);
        }
        // Each probe has different random numbers.
        job.seed += u64::from(requested.number);
        job
    }

    pub(crate) fn find(&self) -> ExperimentRecord {
        let root = tempfile::tempdir().unwrap();
        self.find_in(root.path(), &Watched::silent()).unwrap()
    }

    pub(crate) fn find_in(
        &self,
        root: &Path,
        watched: &Watched,
    ) -> Result<ExperimentRecord, UserError> {
        self.find_named(root, "search", watched)
    }

    /// Runs it as a trial of another experiment.
    pub(crate) fn nested(&self, place: &TrialPlace) -> Result<ExperimentRecord, UserError> {
        let watched = Watched::with(Rc::clone(&place.observer), place.interrupts.clone());
        self.find_named(&place.experiment.path().join(PROBES), &place.name, &watched)
    }

    fn find_named(
        &self,
        root: &Path,
        name: &str,
        watched: &Watched,
    ) -> Result<ExperimentRecord, UserError> {
        let jobs = Jobs {
            experiment: self.search(),
            job_of: &|requested: &NextTrial<Probe>| self.job_of(requested),
            chances_of: |_| 0,
            first: Probe { purpose: ProbePurpose::Estimate, at: None },
            settle: Nanos::ZERO,
            pauses: self.pauses.clone(),
        };
        jobs.run(root, name, watched)
    }
}

pub(crate) fn nanos(seconds: f64) -> Nanos {
    Nanos(whole(seconds * 1e9))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and far below 2^63"
)]
pub(crate) fn whole(value: f64) -> u64 {
    value as u64
}

pub(crate) fn probes(record: &ExperimentRecord) -> &[ProbeRecord] {
    &record.search().unwrap().probes
}

fn outcome(record: &ExperimentRecord) -> &SearchOutcome {
    record.search().unwrap().outcome.as_ref().unwrap()
}

#[track_caller]
pub(crate) fn mark(record: &ExperimentRecord) -> &Mark {
    match outcome(record) {
        SearchOutcome::Mark(mark) => mark,
        SearchOutcome::NoMark(no_mark) => panic!("{no_mark:?}\n{}", report::text(record)),
    }
}

#[track_caller]
pub(crate) fn no_mark(record: &ExperimentRecord) -> &NoMark {
    match outcome(record) {
        SearchOutcome::NoMark(no_mark) => no_mark,
        SearchOutcome::Mark(mark) => panic!("{mark:?}\n{}", report::text(record)),
    }
}

/// A small cluster that sustains 1,000 queries per second.
pub(crate) fn thousand() -> Hunt {
    let mut hunt = Hunt::new(&one_node("cores=1&query=1ms&service=constant"), QUERY);
    hunt.probe = Nanos::from_secs(8);
    hunt.confirm = Nanos::from_secs(12);
    hunt
}
