//! pgbench 15: logs, compared with the summaries that pgbench printed at the end of the same runs.

use super::{
    close, counted, fails, imported, leave_out, ms, noted, parsed_run, printed, printed_report,
    printed_summary, sample,
};
use highwater_model::judgment::{Data, Measurement, ReasonCode};
use highwater_model::numbers::{ceil_to_usize, len_to_f64, to_f64};
use highwater_model::quantity::parse_instant;
use highwater_model::record::{ImportedPace, LatencyBegin, MissingField};

/// Relative tolerance: times in microseconds and their means are exact, but pgbench prints three decimals of a
/// millisecond.
const PRINTED: f64 = 1e-4;

#[test]
fn the_logs_of_two_threads_agree_with_the_summary() {
    let out = sample("pgbench-closed.out");
    for files in [
        &["pgbench-closed.log", "pgbench-closed.1.log"][..],
        &["pgbench-closed.1.log", "pgbench-closed.out", "pgbench-closed.log"],
    ] {
        let (run, record) = imported(files);
        let result = &record.results[0];
        assert_eq!([result.offered, result.sent, result.acknowledged], [970; 3]);
        assert_eq!(counted(&out, "actually processed: "), 970);
        assert_eq!(result.latency_ns.count, 970);
        let mean = printed(&out, "latency average = ");
        close(ms(result.latency_ns.mean), mean, PRINTED);
        // pgbench divides by the time since the last connection, the log by the time since the first transaction: here
        // all connected within 60 ms of 5 s.
        close(result.throughput.ops_per_s, printed(&out, "tps = "), 0.002);
        assert_eq!(run.begin, LatencyBegin::Sent);
        assert_eq!((run.pace, run.sessions), (ImportedPace::Closed, Some(4)));
        assert_eq!(result.service_ns.count, 0, "no lag, so no other time");
        assert!(!result.open);
    }
}

#[test]
fn percentiles_and_the_greatest_latency_are_those_of_the_lines() {
    let (_, record) = imported(&["pgbench-closed.log", "pgbench-closed.1.log"]);
    let mut times: Vec<u64> = ["pgbench-closed.log", "pgbench-closed.1.log"]
        .iter()
        .flat_map(|name| {
            let text = sample(name);
            let of = |line: &str| line.split(' ').nth(2).unwrap().parse().unwrap();
            text.lines().map(of).collect::<Vec<u64>>()
        })
        .collect();
    times.sort_unstable();
    let rank = |quantile: f64| {
        let at = ceil_to_usize(quantile * len_to_f64(times.len()));
        to_f64(times[at - 1]) / 1e3
    };
    let latency = &record.results[0].latency_ns;
    // Three significant digits of a histogram: 1 part in 1,000.
    close(ms(latency.p50), rank(0.5), 0.001);
    close(ms(latency.p95), rank(0.95), 0.001);
    close(ms(latency.p99), rank(0.99), 0.001);
    assert_eq!(latency.max, Some(times.last().unwrap() * 1_000));
    assert_eq!(latency.p999, None, "970 ops carry no p99.9");
}

#[test]
fn seconds_are_those_of_the_progress_lines() {
    let (run, record) = imported(&["pgbench-closed.log", "pgbench-closed.1.log"]);
    let all: u64 = record.intervals.iter().map(|i| i.acknowledged).sum();
    assert_eq!(all, 970);
    // The first transaction ended at 1795337637.552478 and had begun 8,705 µs before.
    assert_eq!(record.header.started_at, "2026-11-22T08:53:57Z");
    assert_eq!(run.started, parse_instant("2026-11-22T08:53:57Z").ok());
    close(run.start.as_secs_f64(), 0.54, 1e-9);
    let windows: u64 = record.results[0].windows.acknowledged.iter().sum();
    assert_eq!(windows, 949, "the last 92 ms are no whole window");
    let first = &record.intervals[0];
    assert_eq!((first.second, first.op.as_str()), (0, "ops"));
    let text = [sample("pgbench-closed.log"), sample("pgbench-closed.1.log")].concat();
    let in_second = |end: &str| text.lines().filter(|l| l.contains(end)).count() as u64;
    assert_eq!(first.acknowledged, in_second(" 0 1795337637 "));
    let third = in_second(" 0 1795337639 ");
    assert_eq!(record.intervals[2].acknowledged, third);
    let seen = &record.availability;
    assert!(seen.longest_gap_ns > 0);
    assert!(seen.acknowledged_per_s.iter().all(|n| *n > 100));
}

#[test]
fn with_a_rate_latency_begins_at_the_schedule_and_the_lag_gives_the_service_time() {
    let out = sample("pgbench-rate.out");
    let (run, record) = imported(&["pgbench-rate.log", "pgbench-rate.out"]);
    let result = &record.results[0];
    assert_eq!(result.acknowledged, 942);
    let mean = printed(&out, "latency average = ");
    close(ms(result.latency_ns.mean), mean, 2e-4);
    let lag = printed(&out, "schedule lag: avg ");
    close(ms(result.service_ns.mean), mean - lag, 1e-3);
    assert_eq!(run.begin, LatencyBegin::Intended);
    assert!(result.open);
    // The tool does not print the rate.
    let files = ["pgbench-rate.log", "pgbench-rate.out"];
    assert!(leave_out(&files, &[MissingField::Rate]));
    let codes = record.judgments.measurement.codes();
    assert_eq!(codes, [ReasonCode::Imported], "waiting is in it");
}

#[test]
fn without_the_output_a_seventh_figure_is_the_lag_and_this_is_noted() {
    let (run, _) = imported(&["pgbench-rate.log"]);
    assert_eq!(run.begin, LatencyBegin::Intended);
    assert!(noted(&run, "schedule lag"));
    let (run, record) = imported(&["pgbench-retry.log", "pgbench-retry.out"]);
    let out = sample("pgbench-retry.out");
    assert_eq!(run.begin, LatencyBegin::Sent, "the output knows no lag");
    let retries: u64 = record.results.iter().map(|r| r.retries).sum();
    assert_eq!(retries, counted(&out, "total number of retries: "));
}

#[test]
fn skipped_transactions_were_due_and_never_sent() {
    let out = sample("pgbench-limit.out");
    for files in [&["pgbench-limit.log", "pgbench-limit.out"][..], &["pgbench-limit.out"]] {
        let (_, record) = imported(files);
        let result = &record.results[0];
        let skipped = counted(&out, "transactions skipped: ");
        assert_eq!(result.dropped, skipped);
        assert_eq!(result.acknowledged, 444);
        assert_eq!(result.offered, skipped + 444);
        assert_eq!(result.latency_ns.beyond, skipped, "above all others");
        assert_eq!(result.latency_ns.mean, None);
    }
    let (_, record) = imported(&["pgbench-limit.log"]);
    let at_least = &record.results[0].latency_ns.at_least;
    assert!(at_least.contains(&"p99".to_owned()));
    assert!(!at_least.contains(&"p50".to_owned()));
}

#[test]
fn failed_transactions_are_errors_and_in_no_latency() {
    let (_, record) = imported(&["pgbench-fail.log"]);
    let result = &record.results[0];
    assert_eq!((result.sent, result.acknowledged), (240, 104));
    assert_eq!(result.errors["conflict"], 136);
    assert_eq!(result.latency_ns.count, 104);
    let errors: u64 = record.intervals.iter().map(|i| i.errors).sum();
    assert_eq!(errors, 136);
    let (run, summary) = imported(&["pgbench-fail.out"]);
    let result = &summary.results[0];
    assert_eq!(result.errors["conflict"], 136);
    assert_eq!((result.sent, result.acknowledged), (240, 104));
    assert!(noted(&run, "includes failed"));
}

#[test]
fn each_script_is_a_separate_op() {
    let out = sample("pgbench-retry.out");
    let (_, logged) = imported(&["pgbench-retry.log", "pgbench-retry.out"]);
    let (_, summed) = imported(&["pgbench-retry.out"]);
    let names = |record: &highwater_model::record::RunRecord| -> Vec<String> {
        record.results.iter().map(|r| r.op.clone()).collect()
    };
    assert_eq!(names(&logged), ["1: upd.sql", "2: upd2.sql"]);
    assert_eq!(names(&summed), names(&logged));
    for (logged, summed) in logged.results.iter().zip(&summed.results) {
        assert_eq!(logged.acknowledged, summed.acknowledged);
        assert_eq!(logged.errors, summed.errors);
        assert_eq!(logged.retries, summed.retries);
        let mean = ms(summed.latency_ns.mean);
        close(ms(logged.latency_ns.mean), mean, PRINTED);
    }
    let second = out.split_once("SQL script 2").unwrap().1;
    let tps = printed(second, "tps = ");
    close(summed.results[1].throughput.ops_per_s, tps, 1e-9);
    let (_, alone) = imported(&["pgbench-retry.log"]);
    assert_eq!(names(&alone), ["script 1", "script 2"]);
    assert_eq!(alone.results[0].error_examples["conflict"], "serialization");
}

#[test]
fn a_log_with_lag_and_retries_has_both() {
    let out = sample("pgbench-both.out");
    let (run, record) = imported(&["pgbench-both.log"]);
    let result = &record.results[0];
    assert_eq!(run.begin, LatencyBegin::Intended);
    assert_eq!(result.acknowledged, 119);
    let mean = printed(&out, "latency average = ");
    close(ms(result.latency_ns.mean), mean, PRINTED);
    assert_eq!(result.retries, counted(&out, "total number of retries: "));
    assert!(result.service_ns.mean < result.latency_ns.mean);
    let (_, summary) = imported(&["pgbench-both.out"]);
    assert_eq!(summary.results[0].retries, result.retries);
}

#[test]
fn a_sample_is_distinguished_from_a_whole_log() {
    let (run, _) = imported(&["pgbench-sampled.log"]);
    assert!(run.missing_fields.contains(&MissingField::Offered));
    assert!(run.caveats[0].contains("1.01%"), "{:?}", run.caveats);
    let text = printed_report(&["pgbench-sampled.log"]);
    let counts = text.lines().find(|line| line.starts_with("ops ")).unwrap();
    assert!(counts.contains("145"), "{text}");
    assert_eq!(counts.matches('–').count(), 3, "{text}");
    let (run, _) = imported(&["pgbench-sampled.log", "pgbench-sampled.out"]);
    assert!(run.caveats.iter().any(|said| said.contains("14,452")), "{:?}", run.caveats);
    // The caveat is the first reason, before all figures.
    let (_, record) = imported(&["pgbench-sampled.log", "pgbench-sampled.out"]);
    let reasons = record.judgments.measurement.codes();
    assert_eq!(reasons[0], ReasonCode::ImportPartial);
    let summary = printed_summary(&["pgbench-sampled.log", "pgbench-sampled.out"]);
    assert!(summary.contains("1.01%"), "{summary}");
}

#[test]
fn an_output_that_contradicts_its_log_is_reported_first() {
    let files = ["pgbench-closed.log", "pgbench-closed.out"];
    let (run, _) = imported(&files);
    assert!(run.caveats[0].contains("counts 970 transactions, the logs hold "), "{run:?}");
    assert!(printed_summary(&files).contains("counts 970 transactions"));
}

#[test]
fn a_summary_alone_has_a_mean_and_no_percentile() {
    use MissingField::{Availability, Distribution, Errors, Seconds, Start, Target};
    let out = sample("pgbench-closed.out");
    let (run, record) = imported(&["pgbench-closed.out"]);
    let result = &record.results[0];
    assert_eq!(result.acknowledged, 970);
    let latency = &result.latency_ns;
    close(ms(latency.mean), printed(&out, "latency average = "), 1e-9);
    assert_eq!((latency.p50, latency.p99, latency.max), (None, None, None));
    assert!(result.histograms.latency.is_empty(), "it pretends none");
    close(result.throughput.ops_per_s, printed(&out, "tps = "), 1e-9);
    assert_eq!(run.version.as_deref(), Some("15.18"));
    assert_eq!(run.settings["scaling factor"], "2");
    // Five progress lines of a second each.
    let rates: Vec<u64> = record.intervals.iter().map(|i| i.acknowledged).collect();
    assert_eq!(rates, [184, 191, 175, 188, 229]);
    let missing = [Availability, Distribution, Start, Target];
    assert!(leave_out(&["pgbench-closed.out"], &missing));
    assert!(!leave_out(&["pgbench-closed.out"], &[Errors]));
    assert!(!leave_out(&["pgbench-closed.out"], &[Seconds]));
}

#[test]
fn nothing_is_judged_and_nothing_was_audited() {
    let (_, record) = imported(&["pgbench-closed.log", "pgbench-closed.1.log"]);
    let judged = &record.judgments;
    assert_eq!(judged.measurement.value, Measurement::Inconclusive);
    let codes = judged.measurement.codes();
    assert_eq!(codes, [ReasonCode::Imported, ReasonCode::WaitingNotCounted]);
    assert_eq!(judged.data.value, Data::NotChecked);
    assert_eq!(judged.data.reasons[0].code, ReasonCode::NotAudited);
    let files = ["pgbench-closed.log", "pgbench-closed.1.log"];
    insta::assert_snapshot!(printed_report(&files));
}

#[test]
fn an_error_names_its_line_its_place_and_the_correct_form() {
    let log = sample("pgbench-rate.log");
    let first: Vec<&str> = log.lines().take(3).collect();
    let with = |line: &str| format!("{}\n{line}\n", first.join("\n"));
    let (line, wrong) = parsed_run(&[&with("1 2 x12 0 1795337642 646789 97")]).unwrap_err();
    let place = wrong.place.as_ref().unwrap();
    assert_eq!((line, place.column, place.width), (4, 5, 3));
    assert_eq!(wrong.message, "`x12` is not a whole number");
    assert!(wrong.hint.unwrap().contains("pgbench -l"));
    for (line, part) in [
        ("1 2 12 0 1795337642 646789", "6 figures, 7 before"),
        ("1 2 12", "3 figures, not six to eight"),
        ("1 2 12 0 1895337642 646789 97", "from the other lines"),
    ] {
        assert_eq!(fails(&[&with(line)], part), 4);
    }
    let sums = sample("pgbench-sums.log");
    fails(&[&sums], "without --aggregate-interval");
    let cut = sample("pgbench-closed.out").replace("tps = 194", "tps = x");
    assert_eq!(fails(&[&cut], "this figure cannot be read"), 20);
}

#[test]
fn progress_lines_alone_are_a_timeline_without_latency() {
    let out = sample("pgbench-rate.out");
    let lines: Vec<&str> = out.lines().filter(|l| l.starts_with("progress")).collect();
    let run = parsed_run(&[&lines.join("\n")]).unwrap();
    assert_eq!(run.ops[0].acknowledged, 173 + 184 + 190 + 212 + 183);
    assert!(run.missing_fields.contains(&MissingField::Latency));
    assert_eq!(run.pace, ImportedPace::NotReported);
}
