//! Tunings of whole runs on the simulated cluster: how they end, and what they keep.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use highwater_analysis::tuning::probes_most;
use highwater_analysis::{Ended, exit_code};
use highwater_experiment::trial_maker::{Requested, TrialMaker};
use highwater_experiment::{Configuration, Side, run};
use highwater_model::event::Event;
use highwater_model::plan::{Plan, Unit};
use highwater_model::record::ExperimentRecord;
use highwater_model::tune::{
    NoBestReason, TrialPurpose, TuneAxis, TuneFigure, TuneOutcome, TunePolicy, TuneRecord,
};
use highwater_model::units::Nanos;
use highwater_runner::interrupts::{self, Interrupter, Interrupts};
use highwater_runner::observer::{Observer, Silent};
use highwater_runner::record;
use highwater_runner::run::{RunError, RunRequest};
use highwater_runner::store::RunDirectory;

use crate::support::{Job, closed, one_node};

const SESSIONS: [u32; 3] = [1, 2, 4];
const TRIAL: Nanos = Nanos::from_secs(5);

/// Configurations that differ in the number of sessions.
struct Trials {
    root: PathBuf,
    pattern: Job,
}

impl Trials {
    fn job(&self, requested: &Requested<Configuration>) -> Job {
        let mut job = self.pattern.clone();
        job.streams[0].1 = vec![closed(SESSIONS[requested.trial.at[0]])];
        job.seed += u64::from(requested.number);
        job
    }
}

/// Queries of a simulated node.
fn simulated() -> Job {
    let target = one_node("cores=1&query=1ms&service=constant");
    let mut job = Job::new(&target, &[("latest-metrics", closed(1))]);
    job.step = TRIAL;
    job
}

impl TrialMaker<Configuration> for Trials {
    type Error = RunError;

    fn plan(&self, requested: &Requested<Configuration>) -> Result<Plan, RunError> {
        let job = self.job(requested);
        Ok(job.plan(&job.workload(), 16))
    }

    fn request(
        &self,
        requested: &Requested<Configuration>,
        plan: Plan,
        directory: RunDirectory,
    ) -> Result<RunRequest, RunError> {
        let job = self.job(requested);
        Ok(job.request_in(job.open_target(&self.root), plan, directory))
    }
}

fn tuning(budget: Nanos) -> TuneRecord {
    let axes = vec![TuneAxis {
        name: "sessions".to_owned(),
        values: SESSIONS.iter().map(u32::to_string).collect(),
    }];
    TuneRecord {
        by: TuneFigure::Throughput,
        stream: "latest-metrics".to_owned(),
        unit: Unit::Queries,
        sessions: None,
        policy: TunePolicy {
            seed: 42,
            confirmations: 2,
            probes_max: probes_most(&axes, 2),
            budget_ns: budget.0,
            trial_cost_ns: TRIAL.0,
        },
        axes,
        definition_hash: String::new(),
        trials: Vec::new(),
        outcome: None,
    }
}

fn tune_in(
    root: &Path,
    tuning: TuneRecord,
    observer: &Rc<dyn Observer>,
    interrupts: &Interrupts,
) -> Result<ExperimentRecord, RunError> {
    let trials = Trials {
        root: root.to_owned(),
        pattern: simulated(),
    };
    tune_trials(&trials, tuning, Nanos::ZERO, observer, interrupts)
}

/// The same with other configurations, and a rest before each.
fn tune_trials(
    maker: &Trials,
    tuning: TuneRecord,
    settle: Nanos,
    observer: &Rc<dyn Observer>,
    interrupts: &Interrupts,
) -> Result<ExperimentRecord, RunError> {
    let first = maker.plan(&Requested {
        number: 1,
        trial: Configuration {
            purpose: TrialPurpose::Search,
            at: vec![0],
        },
        is_first: true,
        tables_kept: false,
    })?;
    let directory = RunDirectory::create(&maker.root, "tuning", &first)?;
    run(
        Side {
            experiment: tuning,
            directory,
            maker,
            pauses: Vec::new(),
        },
        settle,
        observer,
        interrupts,
    )
}

#[test]
fn a_budget_without_room_for_a_trial_is_refused_and_nothing_is_left() {
    let root = tempfile::tempdir().unwrap();
    let (_keep, interrupts) = interrupts::channel();
    let silent = Rc::new(Silent) as Rc<dyn Observer>;
    // A configuration fits, but not the four behind it that confirm.
    let tuning = tuning(Nanos(4 * TRIAL.0));
    let refused = tune_in(root.path(), tuning, &silent, &interrupts);
    let refused = refused.unwrap_err();
    assert!(
        matches!(
            refused,
            RunError::Budget {
                confirmations: 4,
                ..
            }
        ),
        "{refused}"
    );
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

/// A user who stops when so many configurations were measured.
struct Impatient {
    after: u32,
    interrupter: Interrupter,
    measured: Cell<u32>,
}

impl Observer for Impatient {
    fn event(&self, event: &Event) {
        if let Event::Measured { .. } = event {
            self.measured.set(self.measured.get() + 1);
            if self.measured.get() == self.after {
                self.interrupter.interrupt();
            }
        }
    }
}

#[test]
fn a_tuning_that_is_stopped_between_two_trials_keeps_those_that_it_has() {
    let root = tempfile::tempdir().unwrap();
    let (interrupter, interrupts) = interrupts::channel();
    let user = Rc::new(Impatient {
        after: 2,
        interrupter,
        measured: Cell::new(0),
    }) as Rc<dyn Observer>;
    let record = tune_in(root.path(), tuning(Nanos::MAX), &user, &interrupts).unwrap();
    let directory = root.path().join("tuning");
    let stored = record::read(&directory).unwrap();
    assert_eq!(stored.into_experiment().as_ref(), Some(&record));
    let tune = record.tune().unwrap();
    assert_eq!(tune.trials.len(), 2);
    let kept = std::fs::read_dir(directory.join("probes")).unwrap().count();
    assert_eq!(kept, 2, "what was not begun leaves nothing");
    let Some(TuneOutcome::NoBest(no_best)) = &tune.outcome else {
        panic!("{:?}", tune.outcome);
    };
    assert_eq!(no_best.why, NoBestReason::Interrupted);
    assert!(no_best.best_so_far.is_some());
    assert_eq!(
        exit_code(&record.judgments, Ended::of(&record.incidents)),
        130
    );
}

#[test]
fn whoever_stops_need_not_wait_until_the_target_was_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let (interrupter, interrupts) = interrupts::channel();
    let user = Rc::new(Impatient {
        after: 1,
        interrupter,
        measured: Cell::new(0),
    }) as Rc<dyn Observer>;
    // Real time, and a day of rest.
    let mut pattern = Job::new("sqlite:", &[("insert", closed(1))]);
    pattern.step = Nanos::from_millis(100);
    let trials = Trials {
        root: root.path().to_owned(),
        pattern,
    };
    let mut tuning = tuning(Nanos::MAX);
    "insert".clone_into(&mut tuning.stream);
    tuning.unit = Unit::Rows;
    let day = Nanos::from_secs(86_400);
    let record = tune_trials(&trials, tuning, day, &user, &interrupts).unwrap();
    assert_eq!(record.tune().unwrap().trials.len(), 1);
    assert_eq!(
        exit_code(&record.judgments, Ended::of(&record.incidents)),
        130
    );
}
