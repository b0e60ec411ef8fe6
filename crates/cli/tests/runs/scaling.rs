//! `highwater scale` on simulated clusters of several sizes: the table, the predictions, resuming, and sizing from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use highwater_model::display::{percent_signed, rate};
use highwater_model::judgment::ObjectiveValue;
use highwater_model::scale::{ScaleOutcome, ScalePurpose, ScaleRecord};
use highwater_runner::record;
use rustix::process::Signal;

use crate::called::{Called, Place, experiment};

/// A cluster with much work per row, because the number of rows determines the test's time: 12 batches of 12 rows per
/// second and node.
pub(crate) const TARGET: &str =
    "sim:?nodes={nodes}&cores=1&queue=inf&request=0&row=7ms&shards=12&replicas=0&service=constant";
pub(crate) const RUN: &[&str] =
    &["--each", "run", "--batch", "12", "-d", "20s", "--warm-up", "2s", "-q", "--settle", "1s"];
const FIND: &[&str] =
    &["--batch", "12", "-c", "64", "--probe", "20s", "--confirm", "30s", "--warm-up", "2s", "-q"];

pub(crate) fn scale_of(directory: &Path) -> ScaleRecord {
    experiment(directory).scale().unwrap().clone()
}

#[track_caller]
fn grown(place: &Place, words: &[&str]) -> (Called, ScaleRecord) {
    let called = place.call(&[&["scale", "cpu", TARGET], words].concat());
    assert_eq!(called.code, Some(0), "{}{}", called.stdout, called.stderr);
    let directory = place.runs().pop().unwrap();
    (called, scale_of(&directory))
}

/// A cluster that is started with one or two nodes, and the load of each.
const GROWN: &[&str] = &["--cluster", "grown.toml", "--nodes", "1,2", "-c", "8n"];

/// A cluster file whose nodes only sleep; its URL is that of a simulated cluster with as many nodes.
fn waiting(name: &str, more: &str) -> String {
    format!(
        "format = 1\nname = '{name}'\n[node]\ncommand = 'echo up; exec sleep 300'\ntargets = 'first'\n\
         ready.log = 'up'\nurl = '{TARGET}'\n{more}\n"
    )
}

/// Nodes of the measured sizes.
pub(crate) fn order(scale: &ScaleRecord) -> Vec<u32> {
    scale.trials.iter().map(|trial| trial.size.nodes).collect()
}

#[test]
fn a_growth_shows_its_sizes_predictions_and_the_repeated_first_size() {
    let place = Place::new().verbose();
    let words = [&["--nodes", "1,2,4", "-c", "16n", "--price", "0.80"], RUN].concat();
    let (called, scale) = grown(&place, &words);
    assert_eq!(order(&scale), [1, 2, 4, 1]);
    let sessions = scale.trials.iter().map(|trial| trial.figures.sessions);
    assert!(sessions.eq([16, 32, 64, 16]), "{:?}", scale.trials);
    for said in [
        " · 1 to 4 nodes\n",
        "growth of insert over 1, 2, 4 nodes · run at each size",
        " rows/s with 4 nodes (95% CI ",
        "next size      6 nodes would reach about ",
        "repeat         unchanged: 1 node reached ",
        "gain 95% CI",
        "price of 1M",
        "sessions 32",
        "next:          highwater size ",
    ] {
        assert!(called.stdout.contains(said), "{said}: {}", called.stdout);
    }
    for trial in &scale.trials[1..3] {
        let predicted = trial.predicted.expect("from the sizes before it");
        assert!(predicted.holds(trial.figures.per_s), "{trial:?}");
    }
    assert_eq!(scale.trials[0].predicted, None);
    assert_eq!(scale.trials[3].predicted, None);
    let shown = place.call(&["show"]);
    assert_eq!((shown.stdout, shown.code), (called.stdout, called.code));
    let directory = place.runs().pop().unwrap();
    for trial in &scale.trials {
        let own = record::read(&directory.join(&trial.run)).unwrap();
        let nodes = &own.header().labels["nodes"];
        assert_eq!(*nodes, trial.size.nodes.to_string());
    }
    let page = place.call(&["show", "--format", "html"]).stdout;
    for trial in &scale.trials {
        assert!(page.contains(&format!("{}/report.html", trial.run)), "{}", trial.run);
    }
    let sized = place.call(&["size", "500", "--from", directory.to_str().unwrap()]);
    assert_eq!(sized.code, Some(0), "{}", sized.stderr);
    assert!(sized.stdout.contains("3 sizes, 1 to 4 nodes"), "{}", sized.stdout);
}

/// Three queries per size, as in the article about them: the growth has the same figures as each size's own record.
#[test]
fn a_growth_of_queries_shows_the_throughput_of_each_query_at_each_size() {
    let place = Place::new().verbose();
    let target = "sim:?nodes={nodes}&cores=1&queue=inf&query=20ms&replicas=0&service=constant";
    let words = [
        "scale",
        "sensors",
        target,
        "--stream",
        "queries",
        "--rows",
        "1k",
        "--nodes",
        "1,2",
        "-c",
        "8n",
        "--each",
        "run",
        "-d",
        "10s",
        "--warm-up",
        "2s",
        "--settle",
        "1s",
        "-q",
    ];
    let called = place.call(&words);
    assert_eq!(called.code, Some(0), "{}{}", called.stdout, called.stderr);
    let directory = place.runs().pop().unwrap();
    let scale = scale_of(&directory);
    assert_eq!(order(&scale), [1, 2, 1]);
    for trial in &scale.trials {
        let own = record::read(&directory.join(&trial.run)).unwrap();
        let own = own.into_run().unwrap();
        let measured =
            own.results.iter().filter(|of| of.phase == "measure" && of.stream == "queries");
        let measured = measured.map(|of| (of.op.clone(), of.throughput.ops_per_s));
        let by_op = &trial.figures.per_s_by_op;
        assert_eq!(*by_op, measured.collect::<BTreeMap<_, _>>());
        let ops: Vec<&str> = by_op.keys().map(String::as_str).collect();
        assert_eq!(ops, ["taxonomy", "tenant", "week"]);
        let all: f64 = by_op.values().sum();
        assert!((all / trial.figures.per_s - 1.0).abs() < 1e-6, "{trial:?}");
        assert!(by_op.values().all(|per_s| *per_s > 0.1 * all), "{trial:?}");
    }
    called.prints("\neach op        queries/s, and the gain over the first row\n");
    let [first, second] = [0, 1].map(|at: usize| scale.trials[at].figures.per_s_by_op["tenant"]);
    let gain = percent_signed(second / first - 1.0);
    called.prints(&format!("   {gain}   "));
    // Its table has the same figures, from the record.
    let table = place.call(&["table", directory.to_str().unwrap(), "--over", "nodes"]);
    assert_eq!(table.code, Some(0), "{}", table.stderr);
    table.prints("\neach part      queries/s, and the gain over the first row\n");
    table.prints(&format!("   {gain}   "));
}

#[test]
fn searches_grow_to_the_size_that_a_rate_needs() {
    let place = Place::new().verbose();
    // A node makes 142.9 rows per second.
    let words = [&["--nodes", "1..6", "--until", "250"], FIND].concat();
    let (called, scale) = grown(&place, &words);
    assert_eq!(scale.outcome, Some(ScaleOutcome::Reached), "{}", called.stdout);
    assert_eq!(order(&scale), [1, 2, 1]);
    assert!(called.stdout.contains("250 rows/s: reached with 2 nodes"), "{}", called.stdout);
    let judged = experiment(&place.runs()[0]).judgments.objective;
    assert_eq!(judged.value, ObjectiveValue::Met, "{judged:?}");
    for trial in &scale.trials {
        let truth = 142.857 * f64::from(trial.size.nodes);
        let error = trial.figures.per_s / truth - 1.0;
        assert!(error.abs() < 0.03, "{trial:?}");
    }
    // The confirmed value is shown with the failed one, never with the interval of the estimate.
    let figures = &scale.trials[1].figures;
    let (confirmed, failed) = (figures.per_s, figures.failed.unwrap());
    assert!(confirmed < failed && figures.estimate.is_some(), "{figures:?}");
    let [confirmed, failed] = [confirmed, failed].map(rate);
    let words =
        format!("{confirmed} rows/s with 2 nodes (confirmed, first failed at {failed} rows/s");
    assert!(called.stdout.contains(&words), "{words}: {}", called.stdout);
    assert!(called.stdout.contains("ended by       "), "{}", called.stdout);
    let markdown = place.call(&["show", "--format", "markdown"]).stdout;
    let line = format!("| 2 | {confirmed} | {failed} | ");
    assert!(markdown.contains(&line), "{line}: {markdown}");
    let csv = place.call(&["show", "--format", "csv"]).stdout;
    let line = format!("\n2,{confirmed},,,{failed},");
    assert!(csv.contains(&line), "{line}: {csv}");
    // More sizes, and an unreachable rate: sizes that were measured are not repeated.
    let first = place.runs().pop().unwrap();
    let resume = ["--nodes", "1..3", "--until", "1M", "--resume"];
    let words = [&["scale", "cpu", TARGET], &resume[..], &[first.to_str().unwrap()], FIND].concat();
    let called = place.call(&words);
    assert_eq!(called.code, Some(1), "{}{}", called.stdout, called.stderr);
    assert!(called.stdout.contains("1,000,000 rows/s: NOT REACHED"), "{}", called.stdout);
    let mut runs = place.runs();
    runs.retain(|run| *run != first);
    let resumed = scale_of(&runs[0]);
    assert_eq!(order(&resumed), [1, 2, 1, 3, 1]);
    assert_eq!(resumed.trials[2].purpose, ScalePurpose::Again);
    for trial in &resumed.trials {
        assert!(record::read(&runs[0].join(&trial.run)).is_ok(), "{trial:?}");
    }
    let changed = [&words[..], &["--seed", "7"]].concat();
    let called = place.call(&changed);
    assert_eq!(called.code, Some(2), "{}", called.stdout);
    let said = "--seed was not given, and is 7";
    assert!(called.stderr.contains(said), "{}", called.stderr);
}

#[test]
fn each_size_can_be_tuned_before_it_is_compared() {
    let place = Place::new().verbose();
    let words = [
        "--nodes",
        "1,2",
        "--each",
        "tune",
        "--over",
        "batch=12,24",
        "-c",
        "32n",
        "--probe",
        "5s",
        "--warm-up",
        "2s",
        "-q",
    ];
    let (called, scale) = grown(&place, &words);
    assert_eq!(order(&scale), [1, 2, 1]);
    for trial in &scale.trials {
        assert!(trial.figures.best.contains_key("batch"), "{trial:?}");
        assert!(trial.figures.per_s > 0.0, "{trial:?}");
    }
    assert!(called.stdout.contains("best batch "), "{}", called.stdout);
    let directory = place.runs().pop().unwrap();
    let own = experiment(&directory.join(&scale.trials[0].run));
    assert!(own.tune().is_some());
    assert_eq!(own.header.labels["nodes"], "1");
}

#[test]
fn a_dry_run_lists_the_measurements() {
    let place = Place::new().verbose();
    let words = ["scale", "cpu", TARGET, "--nodes", "3,6,12", "--dry-run", "--quick"];
    let sized = ["--sessions", "30,30,60", "--set", "hosts=100n", "--until", "1k"];
    let called = place.call(&[&words[..], &sized].concat());
    assert_eq!(called.code, Some(0), "{}", called.stderr);
    for said in [
        "growth of insert over 3, 6, 12 nodes, then the first size again; find at each",
        "       6 nodes: hosts 600, sessions 30\n",
        "      12 nodes: hosts 1200, sessions 60\n",
        "no larger size than the first that reaches 1,000 rows/s",
        "4 measurements of about ",
    ] {
        assert!(called.stdout.contains(said), "{said}: {}", called.stdout);
    }
    assert!(place.runs().is_empty());
}

#[test]
fn mistakes_are_reported_before_anything_is_measured() {
    let place = Place::new().verbose();
    place.file("many.toml", &waiting("many", ""));
    let two = ["--nodes", "1,2"];
    for (words, said) in [
        (&[TARGET][..], "--nodes is missing"),
        (&[TARGET, "--nodes", "3"], "fewer than two sizes"),
        (&[TARGET, "--nodes", "6,3"], "is not ascending"),
        (&["sim:?nodes=3", "--nodes", "1,2"], "scale needs one cluster per size"),
        (&[TARGET, two[0], two[1], "-c", "1,2,3"], "`1,2,3` has 3 values for 2 sizes"),
        (&[TARGET, two[0], two[1], "--fresh", "--grow"], "exclude each other"),
        (&[TARGET, two[0], two[1], "--rate", "5"], "--rate is of --each run"),
        (&[TARGET, two[0], two[1], "--each", "run", "--probe", "5s"], "--probe is of --each find"),
        (&[TARGET, two[0], two[1], "--each", "luck"], "`luck` is nothing"),
        (&[TARGET, two[0], two[1], "--price", "-1"], "is negative"),
        (
            &["--cluster", "many.toml", "--nodes", "1,257"],
            "--nodes: 257 nodes, but a cluster file has 256 at most",
        ),
        // A value that is wrong for the second size only is reported, too.
        (&[TARGET, two[0], two[1], "--batch", "1,0"], "is not above zero"),
    ] {
        let called = place.call(&[&["scale", "cpu"], words].concat());
        assert_eq!(called.code, Some(2), "{words:?} {}", called.stdout);
        assert!(called.stderr.contains(said), "{words:?} {}", called.stderr);
    }
    assert!(place.runs().is_empty());
}

/// Its nodes are processes that only sleep; the file's URL is that of a simulated cluster with as many nodes.
#[test]
fn a_cluster_file_starts_each_size_and_ends_it() {
    let place = Place::new().verbose();
    place.file("grown.toml", &waiting("grown", ""));
    let words = [&["scale", "cpu"], GROWN, RUN].concat();
    let called = place.call(&words);
    assert_eq!(called.code, Some(0), "{}{}", called.stdout, called.stderr);
    let scale = scale_of(&place.runs().pop().unwrap());
    assert_eq!(order(&scale), [1, 2, 1]);
    // The start time is recorded separately, and is in no budget.
    for trial in &scale.trials {
        assert!(trial.ready_ns > 0 && trial.budgeted_ns() > 20_000_000_000, "{trial:?}");
        assert_eq!(trial.budgeted_ns() + trial.ready_ns, trial.took_ns);
    }
    let per_s: Vec<f64> = scale.trials.iter().map(|trial| trial.figures.per_s).collect();
    assert!((per_s[1] / per_s[0] - 2.0).abs() < 0.05, "{per_s:?}");
    let status = place.call(&["cluster", "status", "grown.toml"]);
    assert!(status.stdout.contains("none runs"), "{status:?}");
    let beside = place.call(&["scale", "cpu", TARGET, "--cluster", "grown.toml", "--nodes", "1,2"]);
    assert_eq!(beside.code, Some(2), "{beside:?}");
    assert!(beside.stderr.contains("a TARGET beside --cluster"), "{beside:?}");
}

/// The started cluster is a different one, so the measurements of the earlier one do not belong to it.
#[test]
fn a_growth_of_another_cluster_file_is_not_resumed() {
    let place = Place::new();
    place.file("grown.toml", &waiting("grown", ""));
    let words = [&["scale", "cpu"], GROWN, RUN].concat();
    assert_eq!(place.call(&words).code, Some(0));
    let first = place.runs().pop().unwrap();
    let resume = ["--resume", first.to_str().unwrap()];
    let words = [&words[..], &resume].concat();
    place.file("grown.toml", &waiting("grown", "environment.THREADS = '4'"));
    let called = place.call(&words);
    assert_eq!(called.code, Some(2), "{called:?}");
    let said = "its targets, cluster file, workload, objective, lengths, or seed differ";
    assert!(called.stderr.contains(said), "{called:?}");
    place.file("grown.toml", &waiting("grown", ""));
    let called = place.call(&words);
    assert_eq!(called.code, Some(0), "{called:?}");
}

#[test]
fn a_growth_that_drifted_is_not_resumed_as_if_it_had_not() {
    let place = Place::new();
    let words = [&["--nodes", "1,2"], RUN].concat();
    let (_, scale) = grown(&place, &words);
    let first = place.runs().pop().unwrap();
    let path = first.join("record.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let again = &mut record["question"]["scale"]["trials"][2]["figures"];
    again["per_s"] = (scale.trials[2].figures.per_s / 2.0).into();
    again["interval"] = serde_json::Value::Null;
    fs::write(&path, record.to_string()).unwrap();
    let resume = ["--nodes", "1..3", "--resume", first.to_str().unwrap()];
    let called = place.call(&[&["scale", "cpu", TARGET], RUN, &resume].concat());
    assert_eq!(called.code, Some(2), "{called:?}");
    assert!(called.stderr.contains("the machine drifted"), "{called:?}");
}

#[test]
fn each_node_is_measured_alone_before_the_first_size() {
    let place = Place::new().verbose();
    let url = "sim:?nodes={nodes}&cores=1&queue=inf&request=0&row={node}ms&shards=12&replicas=0&service=constant";
    let file = waiting("grown", "alone = true").replace(TARGET, url);
    place.file("grown.toml", &file);
    let sizes = ["--cluster", "grown.toml", "--nodes", "2,3", "-c", "8n"];
    let words = [&["scale", "cpu"], &sizes[..], RUN].concat();
    let preview = place.call(&[&words[..], &["--dry-run"]].concat());
    for said in ["before them 3 nodes alone, about ", " with the nodes alone; "] {
        assert!(preview.stdout.contains(said), "{said}: {preview:?}");
    }
    let called = place.call(&words);
    assert_eq!(called.code, Some(0), "{}{}", called.stdout, called.stderr);
    let directory = place.runs().pop().unwrap();
    let scale = scale_of(&directory);
    assert_eq!(order(&scale), [2, 3, 2]);
    for (trial, node) in scale.alone.trials.iter().zip(1_u32..) {
        assert_eq!((trial.node, trial.figures.sessions), (Some(node), 8));
        assert_eq!(trial.size.settings["sessions"], "8", "those of one node");
        let truth = 1_000.0 / f64::from(node);
        let per_s = trial.figures.per_s;
        assert!((per_s / truth - 1.0).abs() < 0.02, "node {node}: {per_s}");
        let own = record::read(&directory.join(&trial.run)).unwrap();
        assert_eq!(own.header().labels["node"], node.to_string());
        // Short, regardless of the measured time of a size.
        assert!((15..30).contains(&(trial.budgeted_ns() / 1_000_000_000)), "{trial:?}");
    }
    assert_eq!(scale.alone.trials.len(), 3);
    for said in [
        "nodes alone    UNEQUAL: ",
        " apart; equal nodes differ by up to ",
        " more than node 3, so what a size gains depends on which node it adds",
    ] {
        assert!(called.stdout.contains(said), "{said}: {}", called.stdout);
    }
    let page = place.call(&["show", "--format", "html"]).stdout;
    let markdown = place.call(&["show", "--format", "markdown"]).stdout;
    assert!(page.contains("node-03-alone/report.html") && page.contains("UNEQUAL"));
    assert!(markdown.contains("UNEQUAL"), "{markdown}");
    expect_none_left(&place);

    // A resumed growth does not measure them again.
    let resume = ["--resume", directory.to_str().unwrap()];
    let again = place.call(&[&words[..], &resume].concat());
    assert_eq!(again.code, Some(0), "{again:?}");
    let mut runs = place.runs();
    runs.retain(|run| *run != directory);
    let resumed = scale_of(&runs[0]);
    let rates = |scale: &ScaleRecord| -> Vec<f64> {
        scale.alone.trials.iter().map(|trial| trial.figures.per_s).collect()
    };
    assert_eq!(rates(&resumed), rates(&scale));
    for trial in &resumed.alone.trials {
        assert!(record::read(&runs[0].join(&trial.run)).is_ok(), "{trial:?}");
    }
}

#[test]
fn nodes_that_are_not_measured_alone_are_omitted_with_a_reason() {
    let place = Place::new();
    place.file("grown.toml", &waiting("grown", ""));
    place.file("alone.toml", &waiting("alone", "alone = true"));
    let dry = |file: &str, more: &[&str]| {
        let words = ["scale", "cpu", "--cluster", file, "--dry-run", "--nodes"];
        place.call(&[&words[..], more].concat())
    };
    for (file, more, said) in [
        (
            "grown.toml",
            &["1,2"][..],
            "nodes alone not measured: the cluster file does not say that",
        ),
        (
            "alone.toml",
            &["1,2", "--no-measure-nodes"],
            "nodes alone not measured: --no-measure-nodes",
        ),
        ("alone.toml", &["1,9"], "nodes alone not measured: there are many; --measure-nodes"),
        ("alone.toml", &["1,9", "--measure-nodes"], "before them 9 nodes alone, "),
    ] {
        let called = dry(file, more);
        assert_eq!(called.code, Some(0), "{called:?}");
        assert!(called.stdout.contains(said), "{said}: {called:?}");
    }
    for (file, more, said) in [
        (
            "grown.toml",
            &["1,2", "--measure-nodes"][..],
            "the file does not say that a node starts without the others",
        ),
        ("alone.toml", &["1,2", "--measure-nodes", "--no-measure-nodes"], "exclude each other"),
    ] {
        let called = dry(file, more);
        assert_eq!(called.code, Some(2), "{called:?}");
        assert!(called.stderr.contains(said), "{said}: {called:?}");
    }
}

#[test]
fn ctrl_c_while_nodes_start_ends_them() {
    let place = Place::new();
    let text = waiting("grown", "").replace("echo up", "echo hello");
    place.file("grown.toml", &text);
    let mut running = place.start(&[&["scale", "cpu"], GROWN].concat());
    running.wait_for("node 1 is process");
    running.signal(Signal::INT);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    let said = "interrupted while node 1 was starting";
    assert!(called.stderr.contains(said), "{called:?}");
    assert!(place.runs().is_empty(), "{:?}", place.runs());
    expect_none_left(&place);

    // Earlier measurements are kept.
    let text = waiting("grown", "").replace("echo up", "[ {nodes} = 1 ] && echo up");
    place.file("grown.toml", &text);
    let shown: Vec<&str> = RUN.iter().copied().filter(|word| *word != "-q").collect();
    let mut running = place.start(&[&["scale", "cpu"], GROWN, &shown].concat());
    running.wait_for("node 2 is process");
    running.signal(Signal::INT);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    let scale = scale_of(&place.runs().pop().unwrap());
    assert_eq!(scale.outcome, Some(ScaleOutcome::Interrupted));
    assert_eq!(order(&scale), [1]);
    expect_none_left(&place);
}

#[track_caller]
fn expect_none_left(place: &Place) {
    let status = place.call(&["cluster", "status", "grown.toml"]);
    assert!(status.stdout.contains("none runs"), "{status:?}");
    assert!(!status.stderr.contains("was left by"), "{status:?}");
}

#[test]
fn data_that_were_kept_are_not_removed_by_a_growth() {
    let place = Place::new().verbose();
    let here = place.path().display();
    let more = format!("data = '{here}'\nprepare = 'echo of hours > rows'");
    place.file("kept.toml", &waiting("kept", &more));
    assert_eq!(place.call(&["cluster", "up", "kept.toml"]).code, Some(0));
    assert_eq!(place.call(&["cluster", "down", "kept.toml"]).code, Some(0));
    let words = ["scale", "cpu", "--cluster", "kept.toml", "--nodes", "1,2", "-c", "8n"];
    let called = place.call(&[&words[..], RUN].concat());
    assert_eq!(called.code, Some(2), "{called:?}");
    assert!(called.stderr.contains("--remove-data"), "{called:?}");
    let again = place.call(&["cluster", "up", "kept.toml"]);
    assert_eq!(again.code, Some(0), "the data are there: {again:?}");
    let down = place.call(&["cluster", "down", "kept.toml", "--remove-data"]);
    assert_eq!(down.code, Some(0), "{down:?}");
    let called = place.call(&[&words[..], RUN].concat());
    assert_eq!(called.code, Some(0), "{called:?}");
}

#[test]
fn a_growth_ends_when_its_load_generator_is_saturated() {
    let place = Place::new().verbose();
    // One node makes 143 rows per second.
    let target = format!("{TARGET}&client=500");
    let words = [&["--nodes", "1,2,4,8", "-c", "16n"], RUN].concat();
    let called = place.call(&[&["scale", "cpu", &target], &words[..]].concat());
    assert_eq!(called.code, Some(3), "{}{}", called.stdout, called.stderr);
    let scale = scale_of(&place.runs().pop().unwrap());
    assert_eq!(scale.outcome, Some(ScaleOutcome::ClientCeiling));
    assert_eq!(order(&scale), [1, 2, 4, 1]);
    called.prints("the load generator limited the growth at 4 nodes");
}
