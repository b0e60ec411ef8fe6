//! Runs, plans, and workloads: output, stored files, and exit codes.

use super::*;

#[test]
fn a_run_is_stored_and_shown_again_as_it_was_with_its_exit_code() {
    let directory = TempDir::new().unwrap();
    let (code, json) =
        run(&directory, &["sim:", "--json", "--label", "team=x", "--min-rate", "10M"]);
    assert_eq!(code, Some(1));
    let record = highwater_model::json::parse(&json).unwrap();
    assert_eq!(record.header().labels["team"], "x");
    let show = |words: &[&str]| highwater(&directory).arg("show").args(words).output().unwrap();
    let newest = show(&["--format", "json"]);
    assert!(stdout(&newest) == json, "the bytes are those of the run");
    assert_eq!(newest.status.code(), Some(1));
    let by_id = show(&[&record.header().id, "--format", "csv"]);
    assert!(stdout(&by_id).starts_with("second,phase,stream,op,"));
}

#[test]
fn workloads_are_listed_shown_and_begun() {
    let directory = TempDir::new().unwrap();
    let call = |words: &[&str]| {
        let mut command = highwater(&directory);
        command.arg("workloads").args(words).output().unwrap()
    };
    let list = stdout(&call(&[]));
    for name in ["cpu", "nib-cpu", "nib-cpu-strict", "loadtest", "sensors", "tsbs"] {
        assert!(list.lines().any(|line| line.starts_with(&format!("{name} "))), "{list}");
    }
    let shown = stdout(&call(&["show", "loadtest"]));
    assert!(shown.contains("name = \"loadtest\""), "{shown}");
    assert!(stdout(&call(&["schema"])).contains("\"title\": \"Highwater workload file\""));
    let printed = stdout(&call(&["new"]));
    assert!(stdout(&call(&["new", "my.toml"])).contains("highwater check my.toml"));
    let written = std::fs::read_to_string(directory.path().join("my.toml")).unwrap();
    assert_eq!(written, printed);
    let check = highwater(&directory).args(["check", "my.toml"]).output();
    assert_eq!(check.unwrap().status.code(), Some(0));
    for (words, said) in [
        (&["show", "cpuu"][..], "did you mean `cpu`?"),
        (&["new", "my.toml"], "never overwritten"),
        (&["shwo", "cpu"], "workloads show NAME"),
    ] {
        let output = call(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

#[test]
fn rows_that_repeat_are_counted_in_the_plan_and_never_audited() {
    let strict = ["run", "nib-cpu-strict", "sim:", "--plan", "--batch", "500"];
    let refused = call(&strict);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("run it with --audit off"));
    let planned = call(&[&strict[..], &["--audit", "off"]].concat());
    let plan = stdout(&planned);
    assert!(plan.contains("\"distinct_rows\": 500"), "{plan}");
}

#[test]
fn a_start_that_follows_the_clock_is_fixed_in_the_plan() {
    let directory = TempDir::new().unwrap();
    let (code, live) = run(&directory, &["sim:", "--plan", "--set", "time=live"]);
    assert_eq!(code, Some(0));
    assert!(!live.contains("2016-01-01T00:00:00Z"), "{live}");
    let (_, fixed) = run(&directory, &["sim:", "--plan"]);
    assert!(fixed.contains("2016-01-01T00:00:00Z"), "{fixed}");
    let start = "2020-01-01T00:00:00Z";
    let set = format!("start={start}");
    let (code, kept) = run(&directory, &["sim:", "--plan", "--set", "time=live", "--set", &set]);
    assert_eq!(code, Some(0));
    assert!(kept.contains(start), "{kept}");
    let output = call(&["run", "sim:", "--set", "time=live", "--plan", "--share", "1/2"]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    assert!(said.contains("give all of them the same `--set start="), "{said}");
}

/// At 20,000 rows per second in batches of 1,000, p99 has its thousand ops, plus an allowance for random variation,
/// within 60 s.
#[test]
fn a_run_lasts_as_long_as_its_objectives_require_unless_its_length_is_given() {
    let directory = TempDir::new().unwrap();
    let planned = |more: &[&str]| {
        let words = ["sim:", "--plan", "--rate", "20k", "--batch", "1000"];
        let output = highwater(&directory).arg("run").args(words).args(more).output().unwrap();
        let plan: highwater_model::plan::Plan = serde_json::from_str(&stdout(&output)).unwrap();
        plan.phases.last().unwrap().duration.as_secs_f64()
    };
    assert!((planned(&["--p99", "50ms"]) - 60.0).abs() < 1e-9);
    assert!((planned(&["--p90", "50ms"]) - 20.0).abs() < 1e-9, "the default is enough");
    assert!((planned(&["--p99", "50ms", "-d", "5s"]) - 5.0).abs() < 1e-9, "as -d says");
    // Nine minutes are more than anyone expects of a run without a length.
    assert!((planned(&["--p999", "50ms"]) - 20.0).abs() < 1e-9);
    let words = ["sim:", "--rate", "20k", "--p99", "50ms", "-d", "1s", "--warm-up", "0s"];
    let mut command = highwater(&directory);
    let output = command.args(["run", "cpu", "--audit", "off"]).args(words).output().unwrap();
    let said = stderr(&output);
    let expected = "p99 ≤ 50 ms cannot be shown to be met in 1 s: insert makes 20.0 ops a second, and 1,159 are needed; \
                    measure for 60 s (-d), or batches of at most 17 rows (--batch)";
    assert!(said.contains(expected), "{said}");
    let announced = "measuring for 60 s, so that p99 ≤ 50 ms can be decided";
    assert!(!said.contains(announced), "{said}");
}
