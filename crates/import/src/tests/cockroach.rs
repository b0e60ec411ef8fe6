//! `cockroach workload run`: samples that were reconstructed from public reports, because they were recorded
//! elsewhere.

use super::{close, fails, imported, leave_out, ms, noted, parsed_run, sample};
use highwater_model::record::MissingField;

#[test]
fn totals_and_seconds_are_those_that_it_printed() {
    let (run, record) = imported(&["cockroach.out"]);
    let result = &record.results[0];
    let op = &run.ops[0];
    assert_eq!((op.name.as_str(), op.acknowledged, op.sent), ("write", 62_022, 62_023));
    assert_eq!(op.errors["failed"], 1);
    close(result.throughput.ops_per_s, 20_674.0, 1e-9);
    assert_eq!(run.duration.0, 3_000_000_000);
    let latency = &op.latency.summary;
    for (found, expected) in
        [(latency.p50, 1.4), (latency.p95, 3.1), (latency.p99, 5.2), (latency.max, 24.1)]
    {
        close(ms(found), expected, 1e-9);
    }
    let seconds: Vec<_> = run.intervals.iter().map(|of| (of.acknowledged, of.errors)).collect();
    assert_eq!(seconds, [(20_010, 0), (21_010, 0), (21_000, 1)]);
    assert_eq!(run.intervals[2].p99_ns, Some(5_200_000));
}

#[test]
fn ops_of_one_tick_are_added_and_errors_of_several_are_of_none() {
    let out = sample("cockroach.out");
    let doubled: Vec<String> = out
        .lines()
        .flat_map(|line| {
            let other = line.ends_with("write").then(|| line.replace("write", "read"));
            std::iter::once(line.to_owned()).chain(other)
        })
        .collect();
    let run = parsed_run(&[&doubled.join("\n")]).unwrap();
    assert_eq!(run.ops.iter().map(|op| op.name.as_str()).collect::<Vec<_>>(), ["write", "read"]);
    assert!(run.ops.iter().all(|op| op.errors.is_empty() && op.acknowledged == 62_022));
    assert!(run.missing_fields.contains(&MissingField::Errors));
    assert!(noted(&run, "1 ops failed"), "{:?}", run.notes);
    assert_eq!(run.intervals[0].acknowledged, 40_020);
    assert_eq!(run.intervals[0].p99_ns, None, "percentiles of two ops are not combined");
}

#[test]
fn histograms_are_added_over_time_and_name_no_error() {
    let (run, _) = imported(&["cockroach-histograms.json"]);
    let op = &run.ops[0];
    assert_eq!((op.name.as_str(), op.acknowledged), ("write", 5 * 36));
    assert_eq!(run.duration.0, 5_000_000_000);
    let seconds: Vec<u64> = run.intervals.iter().map(|of| of.acknowledged).collect();
    assert_eq!(seconds, [36; 5]);
    // Of one digit from 100 µs on a count is 65,536 ns wide; the fourth of them has the median.
    close(ms(op.latency.summary.p50), 3.5 * 65.536e-3, 1e-3);
    assert!(leave_out(&["cockroach-histograms.json"], &[MissingField::Errors]));
}

/// Counts beyond the first bucket are twice as wide, and so on.
#[test]
fn counts_of_later_buckets_lie_at_their_values() {
    let line = |at: usize| {
        let mut counts = vec![0; at];
        counts.push(100);
        sample("cockroach-histograms.json")
            .lines()
            .next()
            .unwrap()
            .replace("[0,0,10,20,5,1]", &serde_json::to_string(&counts).unwrap())
    };
    // 32 counts of 65,536 ns, then 16 of each doubled width.
    for (at, expected) in [(31, 31.5 * 65_536.0), (32, 33.0 * 65_536.0), (48, 66.0 * 65_536.0)] {
        let run = parsed_run(&[&line(at)]).unwrap();
        close(1e6 * ms(run.ops[0].latency.summary.p50), expected, 1e-3);
    }
}

#[test]
fn truncated_or_impossible_output_is_rejected() {
    let out = sample("cockroach.out");
    let (head, _) = out.split_once("\n\n").unwrap();
    fails(&[head], "cut");
    let line =
        fails(&[&out.replace("1.4      3.1      5.0", "1.4      3.1      ?")], "cannot be read");
    assert_eq!(line, 3);
    let json = sample("cockroach-histograms.json");
    fails(&[&json.replace("Figures\":1", "Figures\":9")], "cannot be read");
    fails(&[&json.replace("[0,0,10,20,5,1]", "[]")], "no op");
}
