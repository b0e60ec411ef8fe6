//! Imports of other tools' outputs through the program: a record like any other, shown and compared.

use std::fs;
use std::path::Path;

use crate::called::Place;

/// A sample of the importers' tests.
fn sample(name: &str) -> String {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/src/samples");
    Path::new(samples).join(name).display().to_string()
}

fn import(place: &Place, out: &str, names: &[&str]) {
    let files: Vec<String> = names.iter().map(|name| sample(name)).collect();
    let mut words = vec!["import", "-o", out];
    words.extend(files.iter().map(String::as_str));
    let called = place.call(&words);
    assert_eq!(called.code, Some(0), "{called:?}");
}

#[test]
fn output_of_pgbench_is_shown_in_every_form() {
    let place = Place::new().verbose();
    import(&place, "highwater-runs", &["pgbench-rate.log", "pgbench-rate.out"]);
    let run = &place.runs()[0];
    let id = run.file_name().unwrap().to_string_lossy().into_owned();
    assert!(id.contains("-pgbench-select-only-"), "{id}");
    for file in ["plan.json", "record.json", "report.html", "latency.hlog"] {
        assert!(run.join(file).exists(), "{file}");
    }
    let shown = place.call(&["show"]);
    assert_eq!(shown.code, Some(3), "nothing is judged: {shown:?}");
    assert!(
        shown.stdout.contains("imported from pgbench 15.18 · open (Poisson)"),
        "{}",
        shown.stdout
    );
    assert!(shown.stdout.contains("from the intended start"));
    let page = place.call(&["show", "--format", "html"]).stdout;
    assert!(page.contains("measured by pgbench 15.18, not by Highwater"));
    assert!(!page.contains("Repeat it:"), "we cannot repeat it");
    assert!(page.contains("id=\"percentiles\"") && page.contains("id=\"service\""));
    let csv = place.call(&["show", "--format", "csv"]).stdout;
    assert_eq!(csv.lines().count(), 7, "a head and six seconds: {csv}");
    let markdown = place.call(&["show", "--format", "markdown"]).stdout;
    assert!(markdown.contains("| data | not checked |"), "{markdown}");
    let back = place.call(&["show", "--format", "json"]).stdout;
    assert_eq!(back, fs::read_to_string(run.join("record.json")).unwrap());
}

#[test]
fn a_record_of_another_tool_is_not_compared_with_ours() {
    let place = Place::new().verbose();
    place.call(&["run", "cpu", "sim:", "-d", "5s", "-q", "-o", "ours"]);
    import(&place, "closed", &["pgbench-closed.out"]);
    import(&place, "sysbench", &["sysbench-plain.out"]);
    for (a, b, said) in [
        ("ours", "closed", "measured by: Highwater against pgbench from the sending"),
        ("closed", "sysbench", "against sysbench from the sending"),
    ] {
        let called = place.call(&["compare", a, b, "--fail-if-worse", "5%"]);
        assert_eq!(called.code, Some(3), "{called:?}");
        called.prints("OTHER QUESTION");
        assert!(called.stdout.contains(said), "{}", called.stdout);
    }
}

#[test]
fn runs_of_one_tool_are_compared_like_any_others() {
    let place = Place::new().verbose();
    for _ in 0..2 {
        import(&place, "a", &["pgbench-closed.out"]);
        import(&place, "b", &["pgbench-closed.out"]);
    }
    let called = place.call(&["compare", "a", "b"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert!(!called.stdout.contains("OTHER QUESTION"), "{}", called.stdout);
    assert!(called.stdout.contains("equal"), "{}", called.stdout);
}

#[test]
fn mistakes_of_an_import_have_a_place_a_cause_and_a_hint() {
    let place = Place::new().verbose();
    let said = |words: &[&str]| {
        let called = place.call(words);
        assert_eq!(called.code, Some(2), "{called:?}");
        assert!(!place.path().join("highwater-runs").exists(), "nothing is left");
        called.stderr
    };
    let log = fs::read_to_string(sample("pgbench-rate.log")).unwrap();
    let damaged = log.replacen("\n0 ", "\n0 x", 1);
    fs::write(place.path().join("damaged.log"), damaged).unwrap();
    insta::assert_snapshot!(said(&["import", "damaged.log"]), @"
    error: `x1` is not a whole number
      --> damaged.log:2:3
       |
     2 | 0 x1 9368 0 1795337642 653883 125
       |   ^^

    hint: a line is `client transaction time script epoch microseconds [lag] [retries]`, as `pgbench -l` writes it; of any other tool or version, write the figures that it printed into a CSV file, a line for each run, such as `nodes,sessions,rows_per_s,p99_ms` and `3,64,338390,41.2`, for `highwater table FILE`, `check FILE`, and `size RATE --from FILE`
    ");
    fs::write(place.path().join("other.txt"), "hello\n").unwrap();
    insta::assert_snapshot!(said(&["import", "other.txt"]), @"
    error: other.txt: this is not the output of a supported tool

    hint: supported: pgbench, sysbench, k6, hdrhistogram, nodeingestbench, locust, cockroach; of any other tool or version, write the figures that it printed into a CSV file, a line for each run, such as `nodes,sessions,rows_per_s,p99_ms` and `3,64,338390,41.2`, for `highwater table FILE`, `check FILE`, and `size RATE --from FILE`
    ");
    insta::assert_snapshot!(said(&["import", "other.txt", "--tool", "jmeter"]), @"
    error: --tool: `jmeter` is not a supported tool (pgbench, sysbench, k6, hdrhistogram, nodeingestbench, locust, cockroach)

    hint: remove --tool to detect it from the files
    ");
    insta::assert_snapshot!(said(&["import"]), @"
    error: import takes from 1 to 1024 files

    hint: name the files of one run, such as pgbench_log.4711 and its output
    ");
    let micros = sample("hdr-micros.hlog");
    insta::assert_snapshot!(said(&["import", &micros]), @"
    error: the log does not say the unit of its values

    hint: say it with --unit ns, us, ms or s
    ");
    let endless = vec![b'1'; (4 << 20) + 1];
    let long = [b"sysbench 1.0.20\n".as_slice(), &endless].concat();
    fs::write(place.path().join("long.out"), long).unwrap();
    let said = said(&["import", "long.out"]);
    assert!(said.contains("long.out:2: a line of more than 4194304 bytes"), "{said}");
}
