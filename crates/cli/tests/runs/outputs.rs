//! What runs print and keep: summary, progress, record; the same from the record alone.

use std::fs;

use insta::assert_snapshot;

use crate::called::Place;

/// The text without what tells of this machine, of the time of day or of the workload's version,
/// in its place as many signs.
fn timeless(text: &str, summary: &str) -> String {
    let (_, plan) = summary.split_once("· plan ").unwrap();
    let text = text.replace(&plan[..6], "######");
    let begins = ["client ", "estimate: "];
    let varies = |line: &&str| {
        begins.iter().any(|begin| line.starts_with(begin)) || line.contains("highwater-runs/")
    };
    let hide = |c: char| if c.is_ascii_digit() { '#' } else { c };
    text.lines()
        .map(|line| match Some(line).filter(varies) {
            Some(line) => line.chars().map(hide).collect::<String>() + "\n",
            None => line.to_owned() + "\n",
        })
        .collect()
}

#[test]
fn the_summary_and_the_progress_of_a_simulated_run() {
    let place = Place::new();
    let words = ["run", "sim:", "--rate", "50k", "-d", "4s", "--p99", "50ms"];
    let called = place.call(&words);
    assert_snapshot!(timeless(&called.stdout, &called.stdout), @"
    cpu → sim:   simulated · simulated cluster, model 1 · simulated · 3 nodes × 4 cores · 6 shards · 1 replica
    open, 50,000 rows/s, batches of 1,000 rows · warm-up 2 s · measured 4.00 s · seed 42 · plan ######

               offered      sent   acknowledged     found
    rows       200,000   200,000        200,000               50,000 of 50,000 rows/s  [49,107 … 50,695]
    all rows                            300,000   300,000     with load and warm-up
    drift          -1.7 % [-7.0 % … +3.7 %] over the measured phase

    op                p50       p95       p99     p99.9       max   service p99   session wait p99    errors
    insert        21.5 ms   44.3 ms   60.9 ms         –   66.6 ms       60.9 ms               0 ns         0
    row latency   32.3 ms   55.9 ms   72.4 ms   83.6 ms   86.0 ms

    limit          not identified: no resource near its limit (nearest: the write pool, in which 0.5 tasks wait while CPU is left)
    availability   longest gap 54.0 ms · no dips
    client         #.## of # cores · lag p## # ns · ceiling not calibrated (highwater check)
    target         cpu 37.1 %, busiest node 37.8 % · 1.5 queued

    measurement    INCONCLUSIVE
      too few ops for a percentile of the objective: insert: 200 ops measured, 1,000 needed for p99 [too_few_samples]
        hint: measure longer (-d)
    data           clean       sums over 1,173 key buckets, 186 rows read back · the server counted 300,000 inserted rows
    objective      MISSED      p99 ≤ 50 ms
      insert: p99 cannot be judged: 200 ops measured, 1,000 needed [latency]
        hint: lower --rate, use fewer sessions (-c), or measure longer (-d)
    record         highwater-runs/####-##-##T##-##-##-cpu-######
    next:          highwater run cpu sim: --rate 50k -d 30s --p99 50ms
    ");
    assert_snapshot!(timeless(&called.stderr, &called.stdout), @"
    cpu → sim:   simulated cluster, model 1
    highwater-runs/####-##-##T##-##-##-cpu-######

    estimate: # s with a pace · ###,### rows · ##.# MB, ### B a row in values
    second  phase       insert rows/s         p99    errors   dropped  sessions
         1  warm-up            48,000           –         0         0        64
         2  warm-up            50,000           –         0         0        64
         3  measure            50,000           –         0         0        64
         4  measure            50,000           –         0         0        64
         5  measure            50,000           –         0         0        64
         6  measure            50,000           –         0         0        64
    audit: rows and checksums by key bucket, a sample read back
    ");
}

#[test]
fn a_run_with_faults_says_what_was_lost_and_what_to_do() {
    let place = Place::new();
    let called = place.call(&["run", "-q", "sim:?drop=0.001", "--rate", "20k", "-d", "4s"]);
    assert_eq!(called.stderr, "");
    assert_snapshot!(timeless(&called.stdout, &called.stdout), @"
    cpu → sim:?drop=0.001   simulated · simulated cluster, model 1 · simulated · 3 nodes × 4 cores · 6 shards · 1 replica
    open, 20,000 rows/s, batches of 1,000 rows · warm-up 2 s · measured 4.00 s · seed 42 · plan ######

               offered      sent   acknowledged     found
    rows        80,000    80,000         80,000               20,000 of 20,000 rows/s  [20,000 … 20,000]
    all rows                            120,000   119,878     with load and warm-up
    drift          +0.0 % [+0.0 % … +0.0 %] over the measured phase

    op                p50       p95       p99     p99.9       max   service p99   session wait p99    errors
    insert        19.9 ms   38.3 ms         –         –   64.2 ms             –                  –         0
    row latency   46.5 ms   74.0 ms   87.2 ms    110 ms    113 ms

    availability   longest gap 83.0 ms · no dips
    client         #.## of # cores · ceiling not calibrated (highwater check)
    target         cpu 14.1 %, busiest node 14.5 %

    measurement    valid
    data           LOST        sums over 470 key buckets, 28,338 rows read back · the server counted 119,878 inserted rows
      122 of 120,000 acknowledged rows are missing (cpu key 517; cpu key 1484; cpu key 2146) [rows_lost]
        hint: check the target's durability and replication settings and its log
      the server's counter shows 119,878 inserted rows, but it acknowledged 120,000 [counter_differs]
        hint: check whether the server restarted (counters reset), then its log
    objective      none set
    record         highwater-runs/####-##-##T##-##-##-cpu-######
    next:          highwater show highwater-runs/####-##-##T##-##-##-cpu-###### --format json
    ");
}

#[test]
fn the_embedded_database_is_run_and_audited_in_the_directory_of_the_run() {
    let place = Place::new();
    let called = place.call(&["run", "-d", "3s", "--warm-up", "1s"]);
    // How well a busy machine measures is not the point here; that no row is lost is.
    assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    let run = &place.runs()[0];
    let shown = run.strip_prefix(place.path()).unwrap().display();
    let first = called.stdout.lines().next().unwrap();
    assert!(first.starts_with(&format!("cpu → sqlite:{shown}/bench.db   SQLite 3.")));
    assert!(first.ends_with(" · WAL · synchronous=NORMAL · one writer"));
    let labels = |text: &str| -> Vec<String> {
        let words = text.lines().filter_map(|line| line.split(' ').next());
        words.filter(|w| !w.is_empty()).map(str::to_owned).collect()
    };
    let labels = labels(&called.stdout);
    for label in [
        "rows",
        "insert",
        "client",
        "measurement",
        "data",
        "record",
        "next:",
    ] {
        assert!(labels.iter().any(|l| l == label), "{label}: {labels:?}");
    }
    assert!(
        called.stdout.contains("\ndata           clean "),
        "{called:?}"
    );
    let seconds = called.stderr.lines().filter(|l| l.contains("  measure  "));
    assert!(seconds.count() >= 2, "{}", called.stderr);
    let mut files: Vec<String> = fs::read_dir(run)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with("-wal") && !name.ends_with("-shm"))
        .collect();
    files.sort();
    let kept = [
        "bench.db",
        "draft.json",
        "intervals.jsonl",
        "latency.hlog",
        "ledger.jsonl",
        "plan.json",
    ];
    assert_eq!(files, [&kept[..], &["record.json", "report.html"]].concat());
}

#[test]
fn json_is_the_record_and_nothing_else_and_follows_its_schema() {
    let place = Place::new();
    let steps = [
        "--stream",
        "insert@10k",
        "--stream",
        "dashboards@20,40",
        "--step",
        "3s",
    ];
    let called = place.call(&[&["run", "sim:", "--json"], &steps[..]].concat());
    assert_eq!(called.stderr, "");
    let kept = fs::read_to_string(place.runs()[0].join("record.json")).unwrap();
    assert!(
        called.stdout == kept,
        "stdout is record.json, byte for byte"
    );
    let schema = include_str!("../../../../docs/reference/record.schema.json");
    let validator = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    let record = serde_json::from_str(&kept).unwrap();
    let mistakes: Vec<String> = validator
        .iter_errors(&record)
        .map(|error| error.to_string())
        .collect();
    assert_eq!(mistakes, [""; 0]);
}

#[test]
fn every_form_is_made_again_from_the_record_alone() {
    let place = Place::new();
    let run = place.call(&["run", "-q", "sim:", "--rate", "20k", "-d", "4s"]);
    let run_directory = place.runs().remove(0);
    // Only the record travels.
    let elsewhere = Place::new();
    elsewhere.file(
        "record.json",
        &fs::read_to_string(run_directory.join("record.json")).unwrap(),
    );
    let here = |format: &str| place.call(&["show", "--format", format]).stdout;
    let there = |format: &str| {
        let words = ["show", "record.json", "--format", format];
        elsewhere.call(&words).stdout
    };
    assert!(here("text") == run.stdout, "{}", here("text"));
    assert!(here("json") == fs::read_to_string(run_directory.join("record.json")).unwrap());
    for format in ["json", "csv"] {
        assert!(there(format) == here(format), "{format}");
    }
    let without_place = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with("record "));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(without_place(&there("text")), without_place(&run.stdout));
}

#[test]
fn two_shares_are_one_run_again() {
    let place = Place::new();
    let load = [
        "sqlite:both.db",
        "--rate",
        "4k",
        "-d",
        "3s",
        "--warm-up",
        "0s",
        "-q",
    ];
    for share in ["1/2", "2/2"] {
        let called = place.call(&[&["run", "--share", share], &load[..]].concat());
        assert!(matches!(called.code, Some(0 | 3)), "{called:?}");
    }
    let [first, second] = [0, 1].map(|at| place.runs()[at].display().to_string());
    let merged = place.call(&["show", &first, &second]);
    assert_eq!(merged.stderr, "");
    let lines: Vec<&str> = merged.stdout.lines().collect();
    assert!(lines[1].contains("open, 4,000 rows/s"), "{}", merged.stdout);
    let rows = lines
        .iter()
        .find(|line| line.starts_with("rows  "))
        .unwrap();
    assert!(rows.split_whitespace().nth(1) == Some("12,000"), "{rows}");
    let data = "\ndata           clean ";
    assert!(merged.stdout.contains(data), "{}", merged.stdout);
    let swapped = place.call(&["show", &second, &first]);
    assert_eq!(swapped.stdout, merged.stdout, "in any order");
    assert_eq!(place.call(&["show", &first, &first]).code, Some(2));
}

#[test]
fn a_table_is_filled_at_a_pace_or_as_fast_as_it_goes_and_the_estimate_says_which() {
    for (pace, said) in [
        (&["--rate", "10k"][..], "2 s with a pace"),
        (&[], "until its rows are there"),
    ] {
        let place = Place::new();
        let called = place.call(&[&["load", "cpu", "sim:", "--rows", "20k"], pace].concat());
        let said = format!("estimate: {said} · 20,000 rows · ");
        assert!(called.stderr.contains(&said), "{called:?}");
        assert!(called.stdout.contains("data           clean"), "{called:?}");
        assert_eq!(called.stdout.contains("10,000 rows/s"), !pace.is_empty());
    }
}

#[test]
fn the_plan_alone_connects_nothing_and_is_the_plan_of_the_run() {
    let place = Place::new();
    let words = ["--rate", "10k", "-d", "3s", "-q"];
    let url = "postgres://127.0.0.1:1/none";
    let plan = place.call(&[&["run", url, "--plan"], &words[..]].concat());
    assert_eq!((plan.code, plan.stderr.as_str()), (Some(0), ""));
    assert!(place.runs().is_empty());
    let plan_of_sim = place.call(&[&["run", "sim:", "--plan"], &words[..]].concat());
    place.call(&[&["run", "sim:"], &words[..]].concat());
    let kept = fs::read_to_string(place.runs()[0].join("plan.json")).unwrap();
    assert_eq!(plan_of_sim.stdout, kept);
}
