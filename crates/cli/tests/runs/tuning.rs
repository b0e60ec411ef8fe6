//! `highwater tune` on the simulated cluster: the best configuration, its lead, resuming, and `--tuned`.

use std::path::{Path, PathBuf};

use highwater_model::tune::{BestConfiguration, TrialRecord, TuneOutcome, TuneRecord};
use highwater_runner::record;
use rustix::process::Signal;

use crate::called::{Called, Place, experiment, split};

/// Few rows with much work each, because the number of rows determines the test's time.
const TARGET: &str = "sim:?queue=inf&row=4ms&request=500us&shards=12&replicas=0";
const SHORT: &str = "-c 256 --probe 5s --warm-up 2s -q";

fn tuning(place: &Place) -> TuneRecord {
    let directory = place.runs().pop().unwrap();
    tune_of(&directory)
}

/// The tuning stored in `directory`.
fn tune_of(directory: &Path) -> TuneRecord {
    experiment(directory).tune().unwrap().clone()
}

/// A short tuning of that cluster: its output, and its record.
#[track_caller]
fn tuned(place: &Place, words: &str) -> (Called, TuneRecord) {
    let called = place.typed(&format!("tune cpu {TARGET} {words} {SHORT}"));
    assert_eq!(called.code, Some(0), "{}{}", called.stdout, called.stderr);
    (called, tuning(place))
}

fn best(tune: &TuneRecord) -> &BestConfiguration {
    match tune.outcome.as_ref().unwrap() {
        TuneOutcome::Best(best) => best,
        TuneOutcome::NoBest(no_best) => panic!("{no_best:?}"),
    }
}

#[test]
fn the_best_size_is_found_reported_and_shown_again() {
    let place = Place::new().verbose();
    let (called, tune) = tuned(&place, "--over sim.nodes=1..4 --batch 12");
    assert_eq!(best(&tune).values["sim.nodes"], "4");
    assert!(best(&tune).runner_up.as_ref().unwrap().is_significant);
    for said in [
        "best           sim.nodes 4 with ",
        "% with 95% confidence, each measured 5 times more)",
        "measured       4 of 4 configurations",
        "next:          highwater find cpu",
        "change   efficiency",
        " --tuned ",
    ] {
        assert!(called.stdout.contains(said), "{said}: {}", called.stdout);
    }
    let shown = place.call(&["show"]);
    assert_eq!((shown.stdout, shown.code), (called.stdout, called.code));
    let directory = place.runs().pop().unwrap();
    for trial in &tune.trials {
        assert!(record::read(&directory.join(&trial.run)).is_ok());
    }
}

#[test]
fn a_grid_is_searched_with_a_part_of_its_cells_and_the_winner_is_carried_on() {
    let place = Place::new().verbose();
    let over = "--over batch=1..64 --over sim.cores=1,2,3,4,6,8";
    let (_, tune) = tuned(&place, over);
    assert!(tune.trials.len() <= 7 * 6, "{}", tune.trials.len());
    assert_eq!(best(&tune).values["sim.cores"], "8");
    let batch = best(&tune).values["batch"].clone();
    assert_ne!(batch, "1", "each batch costs a request");
    let run = place.runs().pop().unwrap();
    let carried = format!("--tuned {}", run.display());
    let planned = place.typed(&format!("run cpu sim: --plan {carried}"));
    planned.prints(&format!("\"batch\": \"{batch}\""));
    let planned = place.typed(&format!("run cpu sim: --plan {carried} --batch 7"));
    assert!(planned.stdout.contains("\"batch\": \"7\""), "flags win");
    // Another tuning uses it in all its configurations.
    tuned(&place, &format!("--over sim.rtt=0ms,1ms {carried}"));
    let other = place.runs().into_iter().find(|other| *other != run);
    let last = experiment(&other.unwrap()).last_run;
    assert_eq!(last.plan.definition.workload.parameters["batch"], batch);
    assert_eq!(last.target.settings["cores"], "8", "every axis is carried");
}

#[test]
fn of_equal_settings_none_is_called_better() {
    let place = Place::new().verbose();
    let (called, _) = tuned(&place, "--over sim.rtt=300us,0.3ms --batch 12");
    called.prints(" tie (within ");
}

/// A cluster that rejects ops beyond its short queues: a third of the grid is valid.
const SHORT_QUEUES: &str =
    "sim:?nodes=2&cores=2&replicas=0&request=20ms&row=1ms&rtt=20ms&queue=8&shards=8";

#[test]
fn a_grid_of_which_a_third_is_valid_is_sampled_until_one_is() {
    let over = "--over batch=50,100,200,400 --over sessions=1,2,4,8,16,32";
    for seed in [1, 3, 5] {
        let place = Place::new().verbose();
        let called = place.typed(&format!(
            "tune cpu {SHORT_QUEUES} {over} --probe 5s --warm-up 2s -q --seed {seed}"
        ));
        let tune = tuning(&place);
        assert_eq!(called.code, Some(0), "seed {seed}: {}", called.stdout);
        let best = best(&tune);
        let other = best.runner_up.as_ref();
        let is_ahead = other.is_none_or(|other| other.is_tied || best.figure >= other.figure);
        assert!(is_ahead, "seed {seed}: {best:?}");
    }
}

#[test]
fn the_cost_per_row_is_compared_if_it_is_measured() {
    let place = Place::new().verbose();
    let by = |figure: &str| format!("--over batch=2,24 --rate 500 --by {figure}");
    let (called, tune) = tuned(&place, &by("server_cpu_per_row"));
    assert_eq!(best(&tune).values["batch"], "24", "{}", called.stdout);
    assert!(called.stdout.contains("CPU per row"), "{}", called.stdout);
    let by_disk = by("disk_bytes_per_row");
    let called = place.typed(&format!("tune cpu {TARGET} {by_disk} {SHORT}"));
    if called.code == Some(3) {
        assert!(called.stdout.contains("not measured"), "{}", called.stdout);
    }
}

#[test]
fn a_stopped_tuning_continues() {
    let place = Place::new().verbose();
    let words = split(
        "tune cpu sim:?clock=real --over batch=10,100,1000 -c 1 --probe 500ms --warm-up 100ms --settle 10ms",
    );
    let mut running = place.start(&words);
    running.wait_for("probe 3: ");
    running.signal(Signal::INT);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    called.prints("you stopped the tuning");
    assert!(called.stdout.contains("--resume"), "{called:?}");
    let stopped = place.runs().pop().unwrap();
    let resume = ["--resume", stopped.to_str().unwrap()];
    let other = place.call(&[&words[..], &["--seed", "7"], &resume].concat());
    assert_eq!(other.code, Some(2), "{}", other.stdout);
    other.reports("--seed was not given, and is 7");
    let called = place.call(&[&words[..], &resume].concat());
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    assert!(called.stderr.contains("2 trials are resumed"), "{called:?}");
    let ended = newest(&place, &[&stopped]);
    let tune = tune_of(&ended);
    let before_stop = tune_of(&stopped);
    assert_eq!(measured_here(&ended, &tune), 2, "resumed trials are not measured again");
    for (trial, before) in tune.trials[..2].iter().zip(&before_stop.trials) {
        assert_eq!((&trial.at, trial.figure), (&before.at, before.figure));
        assert!(record::read(&ended.join(&trial.run)).is_ok(), "{trial:?}");
    }
    // A complete tuning only needs its last configuration for the record.
    let resume = ["--resume", ended.to_str().unwrap()];
    let called = place.call(&[&words[..], &resume].concat());
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    let again = newest(&place, &[&stopped, &ended]);
    let once_more = tune_of(&again);
    assert_eq!(once_more.trials.len(), tune.trials.len());
    assert_eq!(measured_here(&again, &once_more), tune.trials.len() - 1);
    is_not_carried(&place, &stopped, "found no best configuration");
    let trial = stopped.join(&before_stop.trials[0].run);
    is_not_carried(&place, &trial, "is not a finished tuning");
}

/// A tuning without a winner, or a record of another kind, is rejected with `--tuned`.
#[track_caller]
fn is_not_carried(place: &Place, run: &Path, said: &str) {
    let run = run.to_str().unwrap();
    let called = place.call(&["run", "cpu", "sim:", "--plan", "--tuned", run]);
    assert_eq!(called.code, Some(2), "{}", called.stdout);
    assert!(called.stderr.contains(said), "{}", called.stderr);
}

/// The directory of the run that is not among these.
fn newest(place: &Place, others: &[&PathBuf]) -> PathBuf {
    let mut runs = place.runs();
    runs.retain(|run| !others.contains(&run));
    assert_eq!(runs.len(), 1, "{runs:?}");
    runs.remove(0)
}

/// The index of the first configuration measured by this call of the program. All from there on have a run below its
/// directory, and took the time of that run and of the idle time before it.
fn measured_here(directory: &Path, tune: &TuneRecord) -> usize {
    let is_here = |trial: &TrialRecord| trial.run.starts_with("probes/");
    let first = tune.trials.iter().position(is_here).unwrap();
    for (position, trial) in tune.trials.iter().enumerate().skip(first) {
        assert!(is_here(trial), "{trial:?}");
        let run = record::read(&directory.join(&trial.run)).unwrap();
        let run = run.run().unwrap();
        let phases: u64 = run.phases.iter().map(|phase| phase.duration_ns).sum();
        let settled = if position == first { 0 } else { 10_000_000 };
        assert!(trial.took_ns >= phases + settled, "{trial:?}");
    }
    first
}

#[test]
fn a_dry_run_lists_the_measurements_and_mistakes_are_reported() {
    let place = Place::new().verbose();
    // A small grid takes more probes than it has configurations; a large one, a third of them.
    for (axes, said) in [
        ("batch=500..4k", "over batch 500, 1000, 2000, 4000"),
        (
            "batch=500..4k",
            "4 configurations, at most 14 probes of 22.0 s each, 5 + 5 of them to confirm: 5 min 8 s; \
             filling tables not counted\n\
             each configuration is measured, and the better half of them repeatedly: at most 3.5 \
             probes per configuration\n",
        ),
        (
            "batch=1..64 --over sessions=1..32 --over sim.cores=1,2,3,4,6",
            "210 configurations, at most 70 probes of 22.0 s each",
        ),
        ("batch=500..3k", "over batch 500, 1000, 2000, 3000"),
        ("sim.replicas=0..2", "over sim.replicas 0, 1, 2"),
        ("sim.nodes=2..4", "over sim.nodes 2, 3, 4"),
    ] {
        let called = place.typed(&format!("tune sim: --dry-run --over {axes}"));
        assert_eq!(called.code, Some(0), "{}", called.stderr);
        called.prints(said);
    }
    assert!(place.runs().is_empty());
}

#[test]
fn mistakes_in_axes_are_reported_before_anything_is_measured() {
    let place = Place::new().verbose();
    let seven = ('a'..='g').map(|name| format!("--over with.{name}=1,2 "));
    let seven: String = seven.collect();
    for (words, said) in [
        (seven.as_str(), "more than 6 axes"),
        (
            "--over replicas=0..60 --over sim.nodes=1..60 --over with.a=1,2,3",
            "10980 configurations, 10000 at most",
        ),
        ("--over replicas=0..64", "more than 64 values"),
        ("--over batch=1,2,1", "has an empty value, or one twice"),
        ("--over batch=1,2 --over batch=3,4", "`batch` is given twice"),
        ("", "--over is missing"),
        ("--over batch", "`batch` names no values"),
        ("--over color=red,blue", "`color` is not an axis"),
        ("--over nodes=1,2", "of a simulated cluster it is `--over sim.nodes=1,2`"),
        ("--over batch=4k..1k", "is no range"),
        ("--over batch=1,2 --batch 3", "--batch is given, too"),
        ("--over batch=5", "only one configuration"),
        ("--over batch=1,2 --by luck", "`luck` is not a figure"),
        ("--over sim.nodes=1,x", "nodes"),
    ] {
        let called = place.typed(&format!("tune sim: --dry-run {words}"));
        assert_eq!(called.code, Some(2), "{words} {}", called.stdout);
        called.reports(said);
    }
    for (target, axis, said) in [
        ("sim:", "shards=3,6", "--over sim.shards=3,6"),
        ("sim:", "with.replicas=0,1", "--over sim.replicas=0,1"),
        ("sim:", "sim.batch=5..20", "--over batch=5,10,20"),
        ("postgres://localhost/", "sim.shards=2,4", "--over shards=2,4"),
        ("postgres://localhost/", "sim.codec=2,4", "--over with.codec=2,4"),
    ] {
        let called = place.typed(&format!("tune cpu {target} --over {axis}"));
        assert_eq!(called.code, Some(2), "{}", called.stdout);
        called.reports(&format!("write `{said}`"));
    }
    assert!(place.runs().is_empty());
}
