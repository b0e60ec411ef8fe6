//! nodeIngestBench: a sample that was written from its source code, because it is in no registry.

use super::{close, fails, imported, leave_out, noted, parsed_run, printed_report, sample};
use highwater_model::plan::Unit;
use highwater_model::record::{ImportedPace, MissingField};

#[test]
fn rows_and_speed_are_those_of_its_global_results() {
    let (run, record) = imported(&["nodeingestbench.out"]);
    let result = &record.results[0];
    assert_eq!((run.unit, run.units_per_op), (Unit::Rows, 20_000));
    assert_eq!(result.rows.acknowledged, 6_020_000);
    assert_eq!(result.acknowledged, 301);
    close(result.throughput.rows_per_s, 239_088.13, 1e-9);
    assert_eq!(record.phases[0].duration_ns, 25_179_000_000);
    assert_eq!((run.pace, run.sessions), (ImportedPace::Closed, Some(60)));
    assert_eq!(run.settings["shards"], "12");
    assert_eq!(run.settings["table"], "doc.cpu");
}

#[test]
fn its_counts_are_upper_bounds_and_it_reports_no_latency() {
    use MissingField::{Acknowledged, Errors, Latency, Seconds};
    let (run, _) = imported(&["nodeingestbench.out"]);
    let missing = [Acknowledged, Errors, Latency, Seconds];
    assert!(leave_out(&["nodeingestbench.out"], &missing));
    assert!(noted(&run, "failed requests as done"));
    insta::assert_snapshot!(printed_report(&["nodeingestbench.out"]));
    for line in ["  error: {", "Error: connect ECONNREFUSED 127.0.0.1:4200"] {
        let global = format!("{line}\n-------- Global");
        let failed = sample("nodeingestbench.out").replace("-------- Global", &global);
        let run = super::parsed_run(&[&failed]).unwrap();
        let caveat = &run.caveats[0];
        assert!(caveat.contains("1 lines of its output are errors"), "{line}");
    }
}

#[test]
fn digits_are_grouped_as_in_the_locale_of_the_machine() {
    let german = sample("nodeingestbench.out")
        .replace("25.179", "25,179")
        .replace("6,020,000", "6.020.000")
        .replace("239,088.13", "239.088,13");
    let run = parsed_run(&[&german]).unwrap();
    assert_eq!(run.ops[0].acknowledged, 301);
    assert_eq!(run.duration.0, 25_179_000_000);
}

#[test]
fn without_results_that_fit_there_is_no_record() {
    let out = sample("nodeingestbench.out");
    let other = out.replace("6,020,000", "7,020,000");
    fails(&[&other], "do not fit each other");
    let (head, _) = out.split_once("-------- Global").unwrap();
    fails(&[head], "not there");
    let none = format!("{head}-------- Global Results ---------\nNo rows inserted\n");
    fails(&[&none], "no rows were inserted");
}
