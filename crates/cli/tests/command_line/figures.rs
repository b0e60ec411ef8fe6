//! `highwater table`, and `highwater check` of figures, as used by scripts.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use tempfile::TempDir;

use super::highwater;

/// Exit code, stdout, and stderr of the program, called with the words of a line in a directory with these files,
/// without Highwater's environment variables.
fn call(files: &[(&str, &str)], line: &str) -> (Option<i32>, String, String) {
    let directory = TempDir::new().unwrap();
    for (name, text) in files {
        fs::write(directory.path().join(name), text).unwrap();
    }
    let output = highwater(&directory).args(line.split_whitespace()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The same with an example file of the repository.
fn call_with(published: &str, line: &str) -> (Option<i32>, String, String) {
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/published");
    let text = fs::read_to_string(Path::new(examples).join(published)).unwrap();
    call(&[(published, text.as_str())], line)
}

const SWEEP: &str = "nodes,rows_per_s\n1,1000\n2,1900\n4,3500\n";

#[test]
fn help_of_table() {
    let (code, help, _) = call(&[], "table --help");
    assert_eq!(code, Some(0));
    assert_snapshot!(help);
}

#[test]
fn two_columns_make_a_table() {
    let (code, table, messages) = call(&[("sweep.csv", SWEEP)], "table sweep.csv");
    assert_eq!((code, messages.as_str()), (Some(0), ""));
    assert_snapshot!(table);
}

#[test]
fn one_series_of_a_file_over_another_axis_as_json() {
    let guide = "benchmarking-guide.csv";
    let line = format!("table {guide} --series guide-sh --over primary_shards --json");
    let (code, json, _) = call_with(guide, &line);
    assert_eq!(code, Some(0));
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["tables"].as_array().unwrap().len(), 1);
    assert_eq!(value["tables"][0]["best"]["value"], "12");
}

#[test]
fn figures_that_contradict_each_other_end_with_3() {
    let (code, report, messages) = call_with("query-scaling.csv", "check query-scaling.csv");
    assert_eq!((code, messages.as_str()), (Some(3), ""));
    assert_snapshot!(report);
}

#[test]
fn figures_with_only_doubts_and_clean_ones_succeed() {
    let (code, report, _) = call_with("one-million-rows.csv", "check one-million-rows.csv");
    assert_eq!(code, Some(0));
    assert!(report.contains("0 contradictions, 2 doubts"), "{report}");
    let (code, report, _) = call(&[("sweep.csv", SWEEP)], "check sweep.csv");
    assert_eq!(code, Some(0));
    assert_snapshot!(report);
}

#[test]
fn a_mistake_in_a_file_is_shown_at_its_place() {
    let wrong = "nodes,rows_per_s\n1,1000\ntwo,1900\n4,-1\n";
    for command in ["table", "check"] {
        let (code, data, message) = call(&[("a.csv", wrong)], &format!("{command} a.csv"));
        assert_eq!((code, data.as_str()), (Some(2), ""));
        assert_snapshot!("a_mistake_in_a_file", message);
    }
}

#[test]
fn what_is_not_there_is_report_with_what_there_is() {
    let files = [("sweep.csv", SWEEP)];
    let check = |line: &str, expected: &str| {
        let (code, data, message) = call(&files, line);
        assert_eq!((code, data.as_str()), (Some(2), ""), "{message}");
        assert_eq!(message, expected);
    };
    check(
        "table sweep.csv --over node",
        "error: no series has the setting `node`\n\nhint: did you mean `nodes`?\n",
    );
    check(
        "table sweep.csv --over nodes --over batch",
        "error: --over: a table runs over one setting\n\nhint: print a table for each\n",
    );
    check(
        "table sweep.csv --series x",
        "error: --series: there is no series `x`\n\nhint: there are series\n",
    );
    check("table none.csv", "error: cannot read none.csv: there is no such file\n");
}

#[test]
fn figures_are_checked_for_the_law_that_is_asked_for() {
    let check = |model: &str| {
        let files = [("sweep.csv", SWEEP)];
        call(&files, &format!("check sweep.csv --model {model}"))
    };
    let (code, report, _) = check("usl");
    assert_eq!(code, Some(3), "{report}");
    assert!(report.contains("too_few_sizes"), "{report}");
    assert!(report.contains("3 parameters, and 3 sizes"), "{report}");
    let (code, report, _) = check("linear");
    assert_eq!(code, Some(0), "{report}");
}

#[test]
fn runs_make_tables_and_are_checked_like_files() {
    let directory = TempDir::new().unwrap();
    let highwater = |words: &[&str]| {
        let output = highwater(&directory).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    for batch in ["100", "1000", "4000"] {
        let words = ["run", "cpu", "sim:", "-q", "-d", "20s", "-c", "4", "--batch", batch];
        highwater(&[&words[..], &["--label", "nodes=3"]].concat());
    }
    let table = highwater(&["table"]);
    for part in ["batch_rows", "4,000", "cost model", "4 sessions", "per node"] {
        assert!(table.contains(part), "`{part}` in {table}");
    }
    let checked = highwater(&["check", "highwater-runs"]);
    assert!(checked.contains("3 points"), "{checked}");
    assert!(checked.contains("nothing speaks against"), "{checked}");
}

#[test]
fn size_prints_warnings_about_its_figures_first() {
    let file = "nodes,users,rows_per_s\n1,10,1000\n2,10,1900\n4,10,3500\n";
    let (code, _, messages) = call(&[("a.csv", file)], "size 3000 --from a.csv");
    assert_eq!(code, Some(0), "{messages}");
    assert!(messages.starts_with("warning: users_per_node (line 2, line 4): "), "{messages}");
}
