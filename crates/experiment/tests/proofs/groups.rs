//! Groups of whole runs on simulated clusters: their ends, stored data, and resumption.

use std::path::Path;

use highwater_analysis::comparison::Verdict;
use highwater_analysis::group::comparisons;
use highwater_experiment::trials::NextTrial;
use highwater_experiment::{GroupRun, check};
use highwater_model::event::Event;
use highwater_model::group::{GroupOutcome, GroupRecord, VariantRecord};
use highwater_model::plan::Unit;
use highwater_model::record::ExperimentRecord;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_report as report;
use highwater_runner::record;

use crate::making::{Jobs, Watched, code, lacks_budget};
use crate::support::{Job, closed, one_node};

const LENGTH: Nanos = Nanos::from_secs(20);

fn cores(number: u32) -> String {
    one_node(&format!("cores={number}&query=1ms"))
}

fn group(targets: &[String], times: u32) -> GroupRecord {
    let variants = ["old", "new"].iter().zip(targets).map(|(name, target)| VariantRecord {
        name: (*name).to_owned(),
        urls: vec![target.clone()],
        command: None,
        faults: Vec::new(),
    });
    GroupRecord {
        variants: variants.collect(),
        times,
        stream: "latest-metrics".to_owned(),
        unit: Unit::Queries,
        settle_ns: 0,
        budget_ns: None,
        trial_cost_ns: LENGTH.0,
        definition_hash: String::new(),
        trials: Vec::new(),
        outcome: None,
    }
}

/// Runs a group in `root/group`, or next to it if that exists: queries of its variants' targets.
fn run_in(
    root: &Path,
    group: GroupRecord,
    watched: &Watched,
) -> Result<ExperimentRecord, UserError> {
    let targets = group.variants.clone();
    let job_of = |requested: &NextTrial<GroupRun>| {
        let target = &targets[requested.trial.variant].urls[0];
        let mut job = Job::new(target, &[("latest-metrics", closed(4))]);
        job.step = LENGTH;
        job
    };
    let jobs = Jobs {
        experiment: group,
        job_of: &job_of,
        // All rounds have the same plan, so that they can be compared.
        chances_of: |trial: &GroupRun| u64::from(trial.round),
        first: GroupRun { variant: 0, round: 1 },
        settle: Nanos::ZERO,
        pauses: Vec::new(),
    };
    jobs.run(root, "group", watched)
}

fn undisturbed(root: &Path, group: GroupRecord) -> Result<ExperimentRecord, UserError> {
    run_in(root, group, &Watched::silent())
}

/// The variant and the round of each run.
fn order(record: &ExperimentRecord) -> Vec<(usize, u32)> {
    record.group().unwrap().trials.iter().map(|trial| (trial.variant, trial.round)).collect()
}

#[test]
fn the_record_of_a_group_compares_its_variants_and_each_run_has_its_own() {
    let root = tempfile::tempdir().unwrap();
    let record = undisturbed(root.path(), group(&[cores(1), cores(2)], 3)).unwrap();
    let directory = root.path().join("group");
    let stored = record::read(&directory).unwrap();
    assert_eq!(stored.into_experiment().as_ref(), Some(&record));
    assert_eq!(order(&record), [(0, 1), (1, 1), (1, 2), (0, 2), (0, 3), (1, 3)]);
    let group = record.group().unwrap();
    assert_eq!(group.outcome, Some(GroupOutcome::Complete));
    for trial in &group.trials {
        let run = record::read(&directory.join(&trial.run)).unwrap();
        let run = run.into_run().expect("a run of its own");
        let reached = run.streams[0].throughput.ops_per_s;
        assert!((reached - trial.throughput_per_s).abs() < 1e-9);
    }
    let [(1, compared)] = &comparisons(group)[..] else {
        panic!("one is compared with the other");
    };
    assert_eq!(compared.runs, [3, 3]);
    assert_eq!(compared.verdict(), Verdict::Better);
    let text = report::text(&record);
    assert!(text.contains("better: latest-metrics throughput"), "{text}");
}

#[test]
fn a_stopped_group_keeps_its_runs_and_continues_with_the_next() {
    let root = tempfile::tempdir().unwrap();
    let targets = [cores(1), cores(2)];
    let user = Watched::stopped_after(3, |event| matches!(event, Event::Repeated { .. }));
    let stopped = run_in(root.path(), group(&targets, 2), &user).unwrap();
    let directory = root.path().join("group");
    let stored = record::read(&directory).unwrap();
    assert_eq!(stored.into_experiment().as_ref(), Some(&stopped));
    assert_eq!(order(&stopped), [(0, 1), (1, 1), (1, 2)]);
    let kept = std::fs::read_dir(directory.join("probes")).unwrap().count();
    assert_eq!(kept, 3, "what was not begun leaves nothing");
    assert_eq!(code(&stopped), 130);
    let known = stopped.group().unwrap();
    assert_eq!(comparisons(known)[0].1.runs, [1, 2]);

    let resumed = GroupRecord { trials: known.trials.clone(), ..group(&targets, 2) };
    let whole = undisturbed(root.path(), resumed).unwrap();
    assert_eq!(order(&whole), [(0, 1), (1, 1), (1, 2), (0, 2)]);
    assert_eq!(code(&whole), 0, "{}", report::text(&whole));
    let again = undisturbed(root.path(), group(&targets, 2)).unwrap();
    let figures = |record: &ExperimentRecord| -> Vec<f64> {
        record.group().unwrap().trials.iter().map(|trial| trial.throughput_per_s).collect()
    };
    assert_eq!(figures(&whole), figures(&again), "as if it had not been stopped");
}

#[test]
fn a_budget_ends_a_group_with_the_runs_that_fit() {
    let root = tempfile::tempdir().unwrap();
    let mut short = group(&[cores(1), cores(2)], 3);
    short.budget_ns = Some(LENGTH.0 - 1);
    assert!(lacks_budget(&check(&short).unwrap_err()));
    let refused = undisturbed(root.path(), short.clone());
    assert!(lacks_budget(&refused.unwrap_err()));
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);

    // Connecting, drain, and audit also take time: the second run fits, the third does not.
    short.budget_ns = Some(LENGTH.0 * 5 / 2);
    let record = undisturbed(root.path(), short).unwrap();
    let group = record.group().unwrap();
    assert_eq!(group.outcome, Some(GroupOutcome::BudgetSpent));
    assert_eq!(order(&record), [(0, 1), (1, 1)]);
    assert_eq!(code(&record), 3, "what is missing decides nothing");
}

#[test]
fn a_target_that_does_not_return_ends_a_group_and_its_runs_are_kept() {
    let root = tempfile::tempdir().unwrap();
    let gone = one_node("die=0s");
    let record = undisturbed(root.path(), group(&[cores(1), gone.clone()], 3)).unwrap();
    let group_record = record.group().unwrap();
    assert_eq!(group_record.outcome, Some(GroupOutcome::TargetLost));
    assert_eq!(order(&record), [(0, 1), (1, 1), (1, 1)]);
    assert_eq!(code(&record), 5);
    // If the target never responds, nothing is stored.
    let none = tempfile::tempdir().unwrap();
    let refused = undisturbed(none.path(), group(&[gone], 3));
    assert_eq!(refused.unwrap_err().exit_code(), 5);
    assert_eq!(std::fs::read_dir(none.path()).unwrap().count(), 0);
}
