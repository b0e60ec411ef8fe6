//! sysbench 1.0.20: its printed figures, and its histogram compared with its own percentile.

use super::{close, counted, fails, imported, leave_out, ms, noted, printed, sample};
use highwater_model::record::{ImportedPace, LatencyBegin, MissingField};

#[test]
fn a_histogram_gives_the_percentile_that_sysbench_prints() {
    let out = sample("sysbench-histogram.out");
    let (run, record) = imported(&["sysbench-histogram.out"]);
    let result = &record.results[0];
    let events = counted(&out, "total number of events:");
    assert_eq!(result.acknowledged, events);
    assert_eq!(result.latency_ns.count, 625);
    // The bins are printed with three decimals, the percentile with two.
    let p99 = printed(&out, "99th percentile:");
    close(ms(result.latency_ns.p99), p99, 2e-3);
    assert_eq!(result.latency_ns.mean, Some(16_010_000));
    assert_eq!(result.latency_ns.max, Some(405_690_000));
    assert_eq!(result.retries, 8, "ignored errors are tried again");
    assert!(result.errors.is_empty());
    close(result.throughput.ops_per_s, 124.61, 1e-9);
    assert_eq!(run.version.as_deref(), Some("1.0.20"));
    assert_eq!((run.pace, run.sessions), (ImportedPace::Closed, Some(2)));
    assert_eq!(run.begin, LatencyBegin::Sent);
    assert_eq!(record.phases[0].duration_ns, 5_014_700_000);
}

#[test]
fn its_lines_are_the_seconds() {
    let (_, record) = imported(&["sysbench-histogram.out"]);
    let rates: Vec<u64> = record.intervals.iter().map(|i| i.acknowledged).collect();
    assert_eq!(rates, [88, 163, 106, 92, 175]);
    let p99: Vec<Option<u64>> = record.intervals.iter().map(|i| i.p99_ns).collect();
    assert_eq!(p99[3], Some(158_630_000));
    assert!(record.intervals.iter().all(|i| i.p50_ns.is_none()));
    let seconds: Vec<u64> = record.intervals.iter().map(|i| i.second).collect();
    assert_eq!(seconds, [0, 1, 2, 3, 4]);
}

#[test]
fn lines_for_two_seconds_show_their_mean_with_a_note() {
    let (run, record) = imported(&["sysbench-plain.out"]);
    let rates: Vec<u64> = record.intervals.iter().map(|i| i.acknowledged).collect();
    assert_eq!(rates, [34_032, 34_033, 30_327, 30_328, 34_369, 34_370]);
    assert!(noted(&run, "lines of 2 s each") && noted(&run, "95th percentile"));
    // This is not a p99.
    assert!(record.intervals.iter().all(|i| i.p99_ns.is_none()));
}

#[test]
fn without_a_histogram_there_is_one_percentile_and_no_distribution() {
    let (_, record) = imported(&["sysbench-plain.out"]);
    let result = &record.results[0];
    assert_eq!(result.latency_ns.p95, Some(30_000));
    assert_eq!((result.latency_ns.p50, result.latency_ns.p99), (None, None));
    assert!(result.histograms.latency.is_empty());
    let missing = [MissingField::Distribution, MissingField::Availability];
    assert!(leave_out(&["sysbench-plain.out"], &missing));
    let (_, none) = imported(&["sysbench-nopercentile.out"]);
    let latency = &none.results[0].latency_ns;
    let figures = [latency.mean, latency.max, latency.p95];
    assert_eq!(figures, [Some(11_880_000), Some(43_820_000), None]);
}

#[test]
fn with_a_rate_the_time_in_the_queue_is_in_the_latency() {
    let (run, record) = imported(&["sysbench-rate.out"]);
    assert_eq!(run.pace, ImportedPace::Open);
    assert_eq!(run.begin, LatencyBegin::Intended);
    assert_eq!(record.streams[0].planned_rate, Some(200.0));
    assert!(record.results[0].open);
    close(record.results[0].throughput.ops_per_s, 184.77, 1e-9);
}

#[test]
fn a_cut_output_and_a_damaged_line_are_errors() {
    let out = sample("sysbench-histogram.out");
    let (head, _) = out.split_once("General statistics").unwrap();
    assert_eq!(fails(&[head], "it was cut"), 0);
    let damaged = out.replace("[ 3s ] thds: 2 tps: 106.15", "[ 3s ] thds: 2 tps: 1O6.15");
    let place = damaged.lines().position(|l| l.contains("1O6")).unwrap();
    let line = fails(&[&damaged], "this line cannot be read");
    assert_eq!(line, place + 1);
    fails(&[&out, &out], "this is the second");
}
