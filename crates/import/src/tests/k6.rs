//! k6 1.8.1: summaries in both shapes, and lines compared with the summary of the same run.

use super::{close, fails, imported, leave_out, ms, parsed_run, sample};
use highwater_model::record::{ImportedPace, LatencyBegin, MissingField};

#[test]
fn an_exported_summary_has_counts_and_percentiles_of_requests_that_did_not_fail() {
    use MissingField::{Availability, Distribution, Seconds, Start};
    let (run, record) = imported(&["k6-summary-export.json"]);
    let result = &record.results[0];
    assert_eq!((result.sent, result.acknowledged), (388, 370));
    assert_eq!(result.errors["failed"], 18);
    let latency = &result.latency_ns;
    assert_eq!(latency.count, 370);
    close(ms(latency.mean), 51.564_062_21, 1e-7);
    close(ms(latency.p50), 51.622_558_5, 1e-7);
    close(ms(latency.p90), 59.788_715_8, 1e-7);
    close(ms(latency.p95), 63.739_001_9, 1e-7);
    close(ms(latency.p99), 73.034_199_77, 1e-7);
    close(ms(latency.max), 84.031_186, 1e-7);
    assert!(result.histograms.latency.is_empty());
    let per_s = result.throughput.ops_per_s;
    close(per_s, 76.910_195_136 * 370.0 / 388.0, 1e-9);
    close(run.duration.as_secs_f64(), 388.0 / 76.910_195_136, 1e-9);
    assert_eq!((run.begin, run.sessions), (LatencyBegin::Sent, Some(4)));
    assert_eq!(run.pace, ImportedPace::NotReported, "it has no executor");
    let missing = [Distribution, Seconds, Availability, Start];
    assert!(leave_out(&["k6-summary-export.json"], &missing));
}

#[test]
fn dropped_iterations_make_every_percentile_a_lower_bound() {
    let (run, record) = imported(&["k6-handle-summary.json"]);
    let result = &record.results[0];
    assert_eq!([result.sent, result.dropped, result.offered], [59, 842, 901]);
    let latency = &result.latency_ns;
    assert_eq!([latency.beyond, latency.count], [842, 901]);
    assert_eq!(latency.mean, None);
    close(ms(latency.p50), 49.516_478, 1e-7);
    assert_eq!(latency.at_least, ["p50", "p90", "p95", "max"]);
    close(run.duration.as_secs_f64(), 3.051_202_846, 1e-9);
    close(result.throughput.ops_per_s, 19.336_636_39, 1e-9);
}

#[test]
fn lines_agree_with_the_summary_of_the_run() {
    let (run, record) = imported(&["k6-lines.ndjson"]);
    let result = &record.results[0];
    assert_eq!(result.op, "GET http://127.0.0.1:45872/");
    assert_eq!((result.sent, result.acknowledged), (388, 370));
    assert_eq!(result.errors["status 503"], 18);
    let latency = &result.latency_ns;
    // The summary was computed from the times in the lines.
    close(ms(latency.mean), 51.564_062_21, 1e-7);
    close(ms(latency.max), 84.031_186, 1e-7);
    close(ms(latency.p50), 51.622_558_5, 2e-3);
    // k6 interpolates between ranks, but here a rank is a value: of 370, p99 lies between the 4th and 5th.
    close(ms(latency.p99), 73.034_199_77, 0.05);
    assert_eq!(run.begin, LatencyBegin::Sent);
    assert_eq!(run.sessions, Some(4));
    assert_eq!(record.header.started_at, "2026-11-22T08:58:18Z");
    let all: u64 = record.intervals.iter().map(|i| i.acknowledged).sum();
    assert_eq!(all, 370);
    assert_eq!(record.intervals.iter().map(|i| i.errors).sum::<u64>(), 18);
    assert!(!result.histograms.latency.is_empty());
    close(run.duration.as_secs_f64(), 5.0, 0.02);
}

#[test]
fn an_address_in_a_name_keeps_no_password_and_no_parameter() {
    let line = |url: &str| {
        format!(
            "{{\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{{\"time\":\
             \"2026-11-22T08:58:18Z\",\"value\":4.5,\"tags\":{{\"method\":\"POST\",\"name\":\"{url}\",\
             \"expected_response\":\"true\",\"status\":\"200\"}}}}}}"
        )
    };
    let run = parsed_run(&[&line("http://me:secret@host:4200/_sql?token=x")]).unwrap();
    assert_eq!(run.ops[0].name, "POST http://host:4200/_sql");
    assert_eq!(run.ops[0].latency.summary.max, Some(4_500_000));
    let run = super::parsed_run(&[&line("http://host/a#access_token=x")]).unwrap();
    assert_eq!(run.ops[0].name, "POST http://host/a");
}

/// A script without HTTP: its iterations are the ops, and it does not report which of them failed.
#[test]
fn a_summary_without_requests_is_of_iterations_for_as_long_as_the_run_took() {
    let summary = |state: &str| {
        format!(
            "{{\"metrics\":{{\"iterations\":{{\"type\":\"counter\",\"contains\":\"default\",\
             \"values\":{{\"count\":100,\"rate\":20.0}}}}}}{state}}}"
        )
    };
    // A reported duration takes precedence over the one computed from the rate.
    let took = summary(",\"state\":{\"testRunDurationMs\":5500.0}");
    for (text, seconds) in [(took, 5.5), (summary(""), 5.0)] {
        let run = super::parsed_run(&[&text]).unwrap();
        let op = &run.ops[0];
        assert_eq!((op.name.as_str(), op.sent), ("iteration", 100));
        close(run.duration.as_secs_f64(), seconds, 1e-9);
        // Failures are not reported.
        assert!(run.missing_fields.contains(&MissingField::Errors));
    }
    // The same for requests without the metric of failures.
    let requests = summary("").replace("iterations", "http_reqs");
    let missing = parsed_run(&[&requests]).unwrap().missing_fields;
    assert!(missing.contains(&MissingField::Errors));
}

#[test]
fn an_output_of_another_tool_is_an_error() {
    let lines = sample("k6-lines.ndjson");
    let first: Vec<&str> = lines.lines().take(3).collect();
    let damaged = format!("{}\n{{\"metric\":1}}\n", first.join("\n"));
    assert_eq!(fails(&[&damaged], "it is no sample"), 4);
    fails(&[&damaged], "--out json");
    fails(&["{\"metrics\": {}}"], "neither HTTP requests nor iterations");
    let summary = sample("k6-summary-export.json");
    let (cut, _) = summary.split_once("\"iterations\"").unwrap();
    fails(&[cut], "it is no JSON");
}

#[test]
fn figures_that_k6_did_not_count_are_absent_and_not_zero() {
    let metrics = r#""iterations":{"count":12010,"rate":200.1},
        "iteration_duration":{"avg":10.2,"min":1.1,"med":8.2,"max":220.5,"p(90)":18.1,"p(95)":25.2},
        "vus":{"value":10,"min":10,"max":10}"#;
    let text = format!("{{\"root_group\":{{\"name\":\"\"}},\"metrics\":{{{metrics}}}}}");
    let run = parsed_run(&[&text]).unwrap();
    assert_eq!(run.ops[0].acknowledged, 12_010);
    assert!(run.missing_fields.contains(&MissingField::Errors));
    // Lines with requests that do not report whether the response was expected.
    let lines = sample("k6-lines.ndjson");
    let unmarked = lines.replace("\"expected_response\"", "\"other\"");
    assert_ne!(unmarked, lines);
    let run = parsed_run(&[&unmarked]).unwrap();
    assert!(run.missing_fields.contains(&MissingField::Errors));
    let run = parsed_run(&[&lines]).unwrap();
    assert!(!run.missing_fields.contains(&MissingField::Errors));
}

#[test]
fn long_addresses_that_differ_at_their_ends_are_different_requests() {
    let long = |end: char| format!("http://127.0.0.1:45872/{}{end}", "x".repeat(200));
    let lines = sample("k6-lines.ndjson");
    let lines = lines.lines().enumerate().map(|(number, line)| {
        let end = if number % 2 == 0 { 'a' } else { 'b' };
        line.replace("\"name\":\"http://127.0.0.1:45872/\"", &format!("\"name\":\"{}\"", long(end)))
    });
    let run = parsed_run(&[&lines.collect::<Vec<_>>().join("\n")]).unwrap();
    assert_eq!(run.ops.len(), 2, "{:?}", run.ops);
    assert!(run.ops.iter().all(|op| op.name.chars().count() < 140));
}
