//! HdrHistogram 2.2.2 for Java: its files, compared with the figures that it computed from the same values.

use super::{close, fails, imported, ms, noted, parsed_run, sample};
use crate::{Import, TimeUnit, recognize};
use highwater_model::record::{LatencyBegin, MissingField};

/// The run of a file whose values have this unit.
fn in_unit(name: &str, unit: TimeUnit) -> super::ImportedRun {
    let text = sample(name);
    let format = recognize(&text, None).unwrap();
    let mut import = Import::new(format);
    import.unit(Some(unit));
    import.begin(format).unwrap();
    for line in text.lines() {
        import.line(line).unwrap();
    }
    import.end().unwrap()
}

#[test]
fn intervals_of_a_tag_add_up_to_the_result_of_the_library() {
    let (run, record) = imported(&["hdr-nanos.hlog"]);
    let names: Vec<&str> = record.results.iter().map(|r| r.op.as_str()).collect();
    assert_eq!(names, ["ops", "read"], "a line without a tag, and one with");
    // Printed by the program that wrote the log, with the same three-digit precision.
    let figures = [
        [2.227_513_76, 1.614_847, 6.307_839, 10.649_599, 14.499_839],
        [2.270_165_65, 1.671_167, 6.217_727, 9.781_247, 13.500_415],
    ];
    for (result, [mean, p50, p95, p99, max]) in record.results.iter().zip(figures) {
        let latency = &result.latency_ns;
        assert_eq!((latency.count, result.acknowledged), (1_200, 1_200));
        close(ms(latency.mean), mean, 1e-6);
        close(ms(latency.p50), p50, 1e-3);
        close(ms(latency.p95), p95, 1e-3);
        close(ms(latency.p99), p99, 1e-3);
        close(ms(latency.max), max, 1e-3);
        close(result.throughput.ops_per_s, 300.0, 1e-9);
    }
    assert!(noted(&run, "taken for nanoseconds"));
}

#[test]
fn its_times_are_those_of_the_record() {
    let (run, record) = imported(&["hdr-nanos.hlog"]);
    assert_eq!(record.header.started_at, "2015-09-09T15:24:39Z");
    assert_eq!(record.phases[0].start_ns, 474_000_000);
    assert_eq!(run.duration.0, 4_000_000_000);
    // Times count from BaseTime, if it differs from the log's start.
    let base =
        sample("hdr-nanos.hlog").replace("BaseTime: 1441812279.474", "BaseTime: 1441812200.474");
    let run = super::parsed_run(&[&base]).unwrap();
    assert_eq!(run.started.unwrap().0, 1_441_812_200_000_000_000);
    let of = |op: &'static str| record.intervals.iter().filter(move |i| i.op == op);
    assert!(of("read").map(|i| i.second).eq([0, 1, 2, 3]));
    let second = of("ops").find(|i| i.second == 1).unwrap();
    assert_eq!(second.acknowledged, 300);
    close(ms(second.max_ns), 14.5, 1e-3);
    assert!(second.p99_ns > second.p50_ns);
}

#[test]
fn an_interval_of_ten_seconds_is_no_second() {
    let run = in_unit("hdr-micros.hlog", TimeUnit::Microseconds);
    assert_eq!(run.intervals.len(), 10);
    let mut intervals = run.intervals.iter();
    assert!(intervals.all(|i| i.acknowledged == 50 && i.p99_ns.is_none()));
    assert!(noted(&run, "intervals of 10 s"));
    let latency = &run.ops[0].latency.summary;
    close(ms(latency.mean), 4.200_356, 1e-6);
    // The file has a precision of two digits: 1%.
    close(ms(latency.p99), 8.959, 1e-2);
    assert_eq!(latency.max, Some(9_087_000));
    assert_eq!(run.started.unwrap().0, 1_441_812_279_000_000_000);
}

#[test]
fn a_missing_unit_is_an_error() {
    let log = sample("hdr-micros.hlog");
    fails(&[&log], "the log does not say the unit of its values");
    fails(&[&log], "--unit");
    fails(&[&sample("hdr-read.hgrm")], "does not say the unit");
    let said = format!("#[values in microseconds]\n{}", sample("hdr-micros.hlog"));
    let latency = &parsed_run(&[&said]).unwrap().ops[0].latency;
    assert_eq!(latency.summary.max, Some(9_087_000));
    let nanos = in_unit("hdr-nanos.hlog", TimeUnit::Microseconds);
    close(ms(nanos.ops[0].latency.summary.p50), 1_614.847, 1e-3);
}

#[test]
fn printed_percentiles_are_figures_and_no_distribution() {
    let run = in_unit("hdr-read.hgrm", TimeUnit::Milliseconds);
    let op = &run.ops[0];
    let latency = &op.latency.summary;
    assert_eq!((latency.count, op.acknowledged), (1_200, 1_200));
    let mean_and_max = (Some(2_270_000), Some(13_500_000));
    assert_eq!((latency.mean, latency.max), mean_and_max);
    close(ms(latency.p50), 1.671, 1e-9);
    // Between two rows, the upper one is used: never less than the value itself.
    let p99 = ms(latency.p99);
    assert!((9.781..=9.9).contains(&p99), "{p99}");
    assert!(op.latency.histogram.is_empty());
    for field in [MissingField::Throughput, MissingField::Errors] {
        assert!(run.missing_fields.contains(&field), "{field:?}");
    }
    assert_eq!(run.begin, LatencyBegin::NotReported);
}

#[test]
fn damaged_files_are_errors_with_their_place() {
    let log = sample("hdr-nanos.hlog");
    let damaged = log.replacen("HISTFAAAAZB4", "HISTFAAAAZB5", 1);
    let (line, wrong) = parsed_run(&[&damaged]).unwrap_err();
    assert!(line == 7 && wrong.position().1 > 21, "the payload: {wrong:?}");
    let damaged = log.replacen(",1.000,", ",x,", 1);
    assert_eq!(fails(&[&damaged], "no figure"), 6);
    let (head, _) = log.split_once("0.000,1.000").unwrap();
    fails(&[head], "the log has no interval");
    let rows = sample("hdr-read.hgrm").replacen("0.200 0.00", "0.2OO 0.00", 1);
    assert_eq!(fails(&[&rows], "this row cannot be read"), 3);
}

/// The sample's log with its intervals as the three times of one op, tagged as by cassandra-stress: each untagged
/// interval is a service time, each tagged one a response time and a wait time.
fn stress() -> String {
    let log = sample("hdr-nanos.hlog");
    log.lines()
        .flat_map(|line| match line.strip_prefix("Tag=read,") {
            Some(rest) => vec![format!("Tag=READ-rt,{rest}"), format!("Tag=READ-wt,{rest}")],
            None if line.starts_with(|c: char| c.is_ascii_digit()) => {
                vec![format!("Tag=READ-st,{line}")]
            }
            None => vec![line.to_owned()],
        })
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn times_of_one_op_are_one_op_whose_latency_begins_at_the_intended_start() {
    let run = super::parsed_run(&[&stress()]).unwrap();
    let [read] = run.ops.as_slice() else {
        panic!("{:?}", run.ops);
    };
    assert_eq!((read.name.as_str(), read.acknowledged), ("READ", 1_200));
    assert_eq!(run.begin, LatencyBegin::Intended);
    close(ms(read.latency.summary.max), 13.500_415, 1e-3);
    close(ms(read.service.summary.max), 14.499_839, 1e-3);
    let all: u64 = run.intervals.iter().map(|i| i.acknowledged).sum();
    assert_eq!((run.intervals.len(), all), (4, 1_200));
    assert_eq!(run.caveats, [""; 0]);
    // The same with NoSQLBench's names.
    let named = [("READ-rt", "cycles.responsetime"), ("READ-st", "cycles.servicetime")];
    let named = named.iter().fold(stress(), |log, (from, to)| log.replace(from, to));
    let run = super::parsed_run(&[&named.replace("READ-wt", "cycles.waittime")]).unwrap();
    assert_eq!((run.ops.len(), run.ops[0].name.as_str()), (1, "cycles"));
}

#[test]
fn a_log_that_lacks_a_part_of_one_time_reports_it_first() {
    let log = stress();
    let of_last = |line: &&str| line.starts_with("Tag=READ-rt,");
    let last = log.lines().rfind(of_last).unwrap();
    let cut: Vec<&str> = log.lines().filter(|line| *line != last).collect();
    let run = super::parsed_run(&[&cut.join("\n")]).unwrap();
    let said = "READ-rt holds 900 times, READ-st 1,200: a part of the log is missing";
    assert_eq!(run.caveats, [said]);
}
