//! Locust: samples that were reconstructed from public reports, because they were recorded
//! elsewhere.

use super::{close, fails, imported, leave_out, ms, noted, parsed_run, sample};
use highwater_model::record::{ImportedPace, MissingField};

#[test]
fn totals_are_those_of_the_file_of_statistics() {
    let (run, record) = imported(&["locust-stats.csv"]);
    let result = &record.results[0];
    assert_eq!((run.ops.len(), run.ops[0].name.as_str()), (1, "sql latest"));
    assert_eq!((result.acknowledged, run.ops[0].errors["failed"]), (5_908, 2));
    // 5,910 requests at 98.5 a second.
    assert_eq!(record.phases[0].duration_ns, 60_000_000_000);
    let latency = &run.ops[0].latency.summary;
    for (found, expected) in
        [(latency.p50, 7.0), (latency.p99, 30.0), (latency.p999, 180.0), (latency.max, 300.0)]
    {
        close(ms(found), expected, 1e-9);
    }
    assert_eq!(latency.p9999, None, "5,908 requests show no such percentile");
    assert!(noted(&run, "2 failed requests"), "{:?}", run.notes);
    assert!(leave_out(
        &["locust-stats.csv"],
        &[MissingField::Distribution, MissingField::Seconds, MissingField::Sessions]
    ));
    assert_eq!(run.pace, ImportedPace::Closed);
}

#[test]
fn the_history_has_the_seconds_and_the_users_alone_or_beside_the_totals() {
    let (alone, _) = imported(&["locust-history.csv"]);
    assert_eq!((alone.sessions, alone.ops[0].acknowledged), (Some(6), 90));
    assert_eq!(alone.duration.0, 2_000_000_000);
    let per_second: Vec<u64> = alone.intervals.iter().map(|second| second.acknowledged).collect();
    assert_eq!(per_second, [30, 60]);
    assert_eq!(alone.intervals[1].p99_ns, Some(8_000_000));
    // Its last percentiles are those of some seconds; of the whole run it has the median.
    let latency = &alone.ops[0].latency.summary;
    assert_eq!((latency.p50, latency.p99), (Some(5_000_000), None));
    assert!(noted(&alone, "last ten seconds"));
    let (both, _) = imported(&["locust-stats.csv", "locust-history.csv"]);
    assert_eq!((both.ops[0].acknowledged, both.sessions), (5_908, Some(6)));
    assert_eq!(both.intervals.len(), 2);
}

#[test]
fn names_with_commas_and_several_requests_are_kept_apart() {
    let stats = sample("locust-stats.csv");
    let other = stats.replace("sql,latest,5910,2", "sql,latest,5000,2");
    let line = other.lines().nth(1).unwrap();
    let second = line.replace("sql,latest,5000,2", "sql,\"top, 5\",910,0");
    let several = other.replace(line, &format!("{line}\n{second}"));
    let run = parsed_run(&[&several]).unwrap();
    let ops: Vec<(&str, u64)> = run.ops.iter().map(|op| (op.name.as_str(), op.sent)).collect();
    assert_eq!(ops, [("sql latest", 5_000), ("sql top, 5", 910)]);
}

#[test]
fn lines_not_from_locust_are_named_and_no_request_gives_no_figure() {
    let stats = sample("locust-stats.csv");
    assert_eq!(fails(&[&stats.replace("latest,5910", "latest,many")], "cannot be read"), 2);
    let (head, _) = stats.split_once('\n').unwrap();
    fails(&[&format!("{head}\n")], "no requests");
    fails(
        &[&stats.replace("Aggregated,5910,2", "Aggregated,0,0").replace("98.5", "0.0")],
        "no requests",
    );
    // More failures than requests.
    fails(&[&stats.replace("latest,5910,2", "latest,1,2")], "cannot be read");
}
