//! Tunings of whole runs on the simulated cluster: their ends and stored data.

use std::path::Path;

use highwater_analysis::tuning::probes_most;
use highwater_experiment::Configuration;
use highwater_experiment::trials::NextTrial;
use highwater_model::event::Event;
use highwater_model::plan::Unit;
use highwater_model::record::ExperimentRecord;
use highwater_model::tune::{
    NoBestReason, TrialPurpose, TuneAxis, TuneFigure, TuneOutcome, TunePolicy, TuneRecord,
};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::record;

use crate::making::{Jobs, Watched, code, lacks_budget};
use crate::support::{Job, closed, one_node};

const SESSIONS: [u32; 3] = [1, 2, 4];
const TRIAL: Nanos = Nanos::from_secs(5);

/// Queries of a simulated node.
fn simulated() -> Job {
    let target = one_node("cores=1&query=1ms&service=constant");
    let mut job = Job::new(&target, &[("latest-metrics", closed(1))]);
    job.step = TRIAL;
    job
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
    watched: &Watched,
) -> Result<ExperimentRecord, UserError> {
    tune(root, &simulated(), tuning, Nanos::ZERO, watched)
}

/// Configurations that differ in the number of sessions, with a pause before each.
fn tune(
    root: &Path,
    pattern: &Job,
    tuning: TuneRecord,
    settle: Nanos,
    watched: &Watched,
) -> Result<ExperimentRecord, UserError> {
    let job_of = |requested: &NextTrial<Configuration>| {
        let mut job = pattern.clone();
        job.streams[0].1 = vec![closed(SESSIONS[requested.trial.at[0]])];
        job.seed += u64::from(requested.number);
        job
    };
    let jobs = Jobs {
        experiment: tuning,
        job_of: &job_of,
        chances_of: |_| 0,
        first: Configuration { purpose: TrialPurpose::Search, at: vec![0] },
        settle,
        pauses: Vec::new(),
    };
    jobs.run(root, "tuning", watched)
}

#[test]
fn a_budget_without_room_for_a_trial_is_refused_and_nothing_is_left() {
    let root = tempfile::tempdir().unwrap();
    // One configuration fits, but not the four subsequent confirmations.
    let tuning = tuning(Nanos(4 * TRIAL.0));
    let refused = tune_in(root.path(), tuning, &Watched::silent());
    let refused = refused.unwrap_err();
    assert!(lacks_budget(&refused), "{refused}");
    assert!(refused.message.ends_with(" beside the 4 that confirm"), "{refused}");
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

/// Stopped by a user after this many configurations.
fn stopped_after(count: u32) -> Watched {
    Watched::stopped_after(count, |event| matches!(event, Event::Measured { .. }))
}

#[test]
fn a_tuning_stopped_between_two_trials_keeps_the_earlier_ones() {
    let root = tempfile::tempdir().unwrap();
    let user = stopped_after(2);
    let record = tune_in(root.path(), tuning(Nanos::MAX), &user).unwrap();
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
    assert_eq!(code(&record), 130);
}

#[test]
fn a_stop_does_not_wait_for_the_idle_time_of_the_target() {
    let root = tempfile::tempdir().unwrap();
    // Real time, and a pause of a day.
    let mut pattern = Job::new("sqlite:", &[("insert", closed(1))]);
    pattern.step = Nanos::from_millis(100);
    let mut tuning = tuning(Nanos::MAX);
    "insert".clone_into(&mut tuning.stream);
    tuning.unit = Unit::Rows;
    let day = Nanos::from_secs(86_400);
    let record = tune(root.path(), &pattern, tuning, day, &stopped_after(1)).unwrap();
    assert_eq!(record.tune().unwrap().trials.len(), 1);
    assert_eq!(code(&record), 130);
}
