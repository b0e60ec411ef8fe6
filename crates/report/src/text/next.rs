//! The one command that goes on from here: it exists, and can be pasted as it stands.

// Writing to a string cannot fail.
use std::fmt::Write as _;
use std::ops::Deref;

use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::{flag_span, plain};
use highwater_model::judgment::{Data, Measurement, ObjectiveValue, ReasonCode};
use highwater_model::numbers::round_to_u64;
use highwater_model::plan::{Objective, Pace, StreamPlan};
use highwater_model::record::{AuditStatus, ExperimentRecord, RunRecord};

/// An open run at this share of what a closed run reached shows latencies without a queue.
const COMFORTABLE: f64 = 0.7;
/// What to try next when an objective was met.
const FURTHER: f64 = 1.25;
/// How much longer to measure when there was too little.
const LONGER: u64 = 3;
/// Flags that only a search takes.
const OF_SEARCHES: &[&str] = &[
    "confirm",
    "max",
    "probe",
    "quick",
    "settle",
    "start",
    "tolerance",
];
/// The shortest run that is proposed, seconds.
const SHORTEST_S: u64 = 30;

pub(super) fn command(
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
    directory: &str,
) -> String {
    let show = |rest: &str| show(directory, rest);
    let share = &record.plan.definition.share;
    match record.judgments.data.value {
        _ if share.of > 1 => {
            return show(&format!("   # and the records of all {} shares", share.of));
        }
        Data::Lost | Data::Duplicated | Data::Surplus | Data::Altered => {
            return show(" --format json");
        }
        Data::Unverified if record.audit.status == AuditStatus::Timeout && !measured.is_empty() => {
            let limit = record.plan.definition.audit.limit.0.saturating_mul(LONGER);
            let begin = base("run", record, &["audit-timeout"]);
            let again = run(record, begin, measured, Factors::new(1.0, 1));
            return format!("{again} --audit-timeout {}", flag_span(limit));
        }
        Data::Unverified if !record.audit.wrong_sql.is_empty() => {
            return base("run", record, &["drop"]) + " --drop";
        }
        Data::Unverified => return check(record.into()),
        Data::Clean | Data::NotChecked => {}
    }
    if record.plan.definition.stop.fills {
        return base("run", record, &["rows"]);
    }
    if measured.is_empty() {
        return check(record.into());
    }
    if record.judgments.measurement.value != Measurement::Valid {
        let reasons = record.judgments.measurement.reasons.iter();
        let codes: Vec<ReasonCode> = reasons.map(|reason| reason.code).collect();
        return match codes.first() {
            Some(ReasonCode::Interrupted) => again(record, measured, Factors::new(1.0, 1)),
            Some(
                ReasonCode::NotSteady
                | ReasonCode::SteadinessRequired
                | ReasonCode::TooShort
                | ReasonCode::TooFewSamples,
            ) => again(record, measured, Factors::new(1.0, LONGER)),
            _ => check(record.into()),
        };
    }
    if measured
        .iter()
        .any(|m| m.phase.name != measured[0].phase.name)
    {
        return show(" --format csv");
    }
    match record.judgments.objective.value {
        ObjectiveValue::Missed => again(record, measured, Factors::new(COMFORTABLE, 1)),
        ObjectiveValue::Met => again(record, measured, Factors::new(FURTHER, 1)),
        ObjectiveValue::NoneSet if measured.iter().any(MeasuredStream::is_open) => {
            again(record, measured, Factors::new(1.0, 1))
        }
        ObjectiveValue::NotDecided => check(record.into()),
        ObjectiveValue::NoneSet => open(record, measured),
    }
}

/// By what paces and lengths are multiplied.
#[derive(Clone, Copy)]
struct Factors {
    pace: f64,
    longer: u64,
}

impl Factors {
    const fn new(pace: f64, longer: u64) -> Self {
        Self { pace, longer }
    }
}

/// The same run with its paces and its length changed by a factor, and with a percentile bound.
fn again(record: &RunRecord, measured: &[MeasuredStream<'_>], factors: Factors) -> String {
    run(record, base("run", record, &[]), measured, factors)
}

fn run(
    record: &RunRecord,
    begin: String,
    measured: &[MeasuredStream<'_>],
    factors: Factors,
) -> String {
    let Factors { pace, longer } = factors;
    let first = &measured[0].phase.name;
    let step: Vec<&MeasuredStream<'_>> =
        measured.iter().filter(|m| m.phase.name == *first).collect();
    let mut command = begin;
    match step.as_slice() {
        [one] => command += &pace_flag(one, pace),
        several => {
            for stream in several {
                let sessions = if stream.is_open() { "" } else { "c" };
                let figure = figure(stream, pace) + sessions;
                let _ = write!(
                    command,
                    " --stream {}@{figure}",
                    quoted(&stream.stream.stream)
                );
            }
        }
    }
    let planned: u64 = record
        .plan
        .definition
        .phases
        .iter()
        .filter(|phase| phase.name == *first)
        .map(|phase| phase.duration.0)
        .sum();
    let length = (planned / 1_000_000_000).max(1).saturating_mul(longer);
    let length = if longer > 1 {
        length.max(SHORTEST_S)
    } else {
        length
    };
    let least = match record.plan.definition.stop.minimum.0 {
        0 => String::new(),
        least => format!("{}..", flag_span(least)),
    };
    let _ = write!(command, " -d {least}{length}s");
    command + &objectives(record, measured)
}

/// After a closed run: an open one, whose latencies are what a user would feel.
fn open(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> String {
    // Sessions that appear one by one are closed.
    let mut command = base("run", record, &["spawn-rate"]);
    match measured {
        [one] => {
            let rate = flag_rate(one.units_per_s() * COMFORTABLE);
            let _ = write!(command, " --rate {rate}");
        }
        several => {
            for stream in several {
                let rate = flag_rate(stream.units_per_s() * COMFORTABLE);
                let _ = write!(
                    command,
                    " --stream {}@{rate}",
                    quoted(&stream.stream.stream)
                );
            }
        }
    }
    command + &format!(" -d {SHORTEST_S}s") + &objectives(record, measured)
}

/// A run to repeat, and in whose directory a file of its target lies: its own, or that of its experiment.
#[derive(Clone, Copy)]
pub(super) struct Repeated<'a> {
    run: &'a RunRecord,
    directory_id: &'a str,
}

impl<'a> From<&'a RunRecord> for Repeated<'a> {
    fn from(run: &'a RunRecord) -> Self {
        let directory_id = &run.header.id;
        Self { run, directory_id }
    }
}

impl<'a> From<&'a ExperimentRecord> for Repeated<'a> {
    fn from(experiment: &'a ExperimentRecord) -> Self {
        Self {
            run: &experiment.last_run,
            directory_id: &experiment.header.id,
        }
    }
}

impl Deref for Repeated<'_> {
    type Target = RunRecord;

    fn deref(&self) -> &RunRecord {
        self.run
    }
}

/// A command, the workload, the targets and what else the user gave, but for these flags.
pub(super) fn base<'a>(command: &str, record: impl Into<Repeated<'a>>, without: &[&str]) -> String {
    const FILE: &str = "file";
    let record = record.into();
    let workload = match record.header.given.get(FILE).map(Vec::as_slice) {
        Some(paths) if !paths.is_empty() => {
            let files = paths.iter().map(|path| format!("-f {}", quoted(path)));
            files.collect::<Vec<_>>().join(" ")
        }
        _ => quoted(&record.workload.name),
    };
    let mut command = format!("highwater {command} {workload} {}", targets(record));
    for (name, values) in &record.header.given {
        if name == FILE || without.contains(&name.as_str()) {
            continue;
        }
        if values.is_empty() {
            let _ = write!(command, " --{name}");
        }
        for value in values {
            let _ = write!(command, " --{name} {}", quoted(value));
        }
    }
    command
}

/// Shows what is stored there.
pub(super) fn show(directory: &str, rest: &str) -> String {
    format!("highwater show {}{rest}", quoted(directory))
}

pub(super) fn check(record: Repeated<'_>) -> String {
    format!("highwater check {}", targets(record))
}

/// A longer run below the mark that a search found.
pub(super) fn soak(record: Repeated<'_>, measured: &[MeasuredStream<'_>]) -> String {
    let begin = base("run", record, OF_SEARCHES);
    run(&record, begin, measured, Factors::new(COMFORTABLE, LONGER))
}

/// The pace of a stream, as `--stream NAME@PACE` takes it.
pub(super) fn pace(stream: &StreamPlan) -> String {
    match stream.paces.first() {
        Some(Pace::Open { rate }) => flag_rate(rate.as_f64()),
        Some(Pace::Closed { sessions }) => format!("{sessions}c"),
        None => "max".to_owned(),
    }
}

fn pace_flag(stream: &MeasuredStream<'_>, factor: f64) -> String {
    let figure = figure(stream, factor);
    if stream.is_open() {
        format!(" --rate {figure}")
    } else {
        format!(" -c {figure}")
    }
}

fn figure(stream: &MeasuredStream<'_>, factor: f64) -> String {
    match stream.stream.planned_rate {
        // A rate that was missed is not offered again: start from the rate that was acknowledged.
        Some(_) if factor < 1.0 => flag_rate(stream.units_per_s() * factor),
        Some(planned) => flag_rate(planned * factor),
        None => round_to_u64(f64::from(stream.stream.sessions) * factor)
            .max(1)
            .to_string(),
    }
}

/// The plan's objectives, or, where it has none, the next of 1, 2, 5, 10 … above the p99 that was
/// measured.
fn objectives(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> String {
    let stated = &record.plan.definition.objectives;
    if !stated.is_empty() {
        return stated.iter().map(flag).collect();
    }
    let results = measured.iter().flat_map(|stream| &stream.results);
    match results.filter_map(|result| result.latency_ns.p99).max() {
        Some(p99) => format!(" --p99 {}", flag_span(round_above(p99))),
        None => String::new(),
    }
}

/// The flag of an objective; nothing for a percentile that has none.
pub(super) fn flag(objective: &Objective) -> String {
    let share = |ppm: u32| format!("{}%", plain(f64::from(ppm) / 10_000.0));
    match *objective {
        Objective::Latency { quantile_ppm, max } => {
            let name = match quantile_ppm {
                500_000 => "p50",
                900_000 => "p90",
                950_000 => "p95",
                990_000 => "p99",
                999_000 => "p999",
                _ => return String::new(),
            };
            format!(" --{name} {}", flag_span(max.0))
        }
        Objective::RowLatency {
            quantile_ppm: 990_000,
            max,
        } => format!(" --row-p99 {}", flag_span(max.0)),
        Objective::RowLatency { .. } => String::new(),
        Objective::Errors { max_ppm } => format!(" --errors {}", share(max_ppm)),
        Objective::Rejected { max_ppm } => format!(" --rejected {}", share(max_ppm)),
        Objective::Throughput { min } => format!(" --min-rate {}", flag_rate(min.as_f64())),
        Objective::Cpu { max_ppm } => format!(" --max-cpu {}", share(max_ppm)),
    }
}

/// The next of 1, 2, 5, 10 … of at least a millisecond.
fn round_above(nanos: u64) -> u64 {
    let mut decade: u64 = 1_000_000;
    // Bounded: u64 has fewer than 20 decades.
    for _ in 0..13 {
        for step in [1, 2, 5] {
            if decade.saturating_mul(step) >= nanos {
                return decade.saturating_mul(step);
            }
        }
        decade = decade.saturating_mul(10);
    }
    nanos
}

/// Two to three digits: `295k`, `1.2M`, `50`.
fn flag_rate(per_second: f64) -> String {
    let (scaled, suffix) = match per_second {
        rate if rate >= 999_500.0 => (rate / 1e6, "M"),
        rate if rate >= 999.5 => (rate / 1e3, "k"),
        rate => (rate.max(0.01), ""),
    };
    let digits = plain(scaled);
    format!("{digits}{suffix}")
}

/// The targets as they were given; a file in that directory becomes a fresh one.
fn targets(record: Repeated<'_>) -> String {
    let id = record.directory_id;
    let urls = record
        .target
        .urls
        .iter()
        .map(|url| match url.split_once(':') {
            Some((scheme, rest)) if !id.is_empty() && rest.contains(id) => format!("{scheme}:"),
            _ => quoted(url),
        });
    urls.collect::<Vec<_>>().join(" ")
}

/// In single quotes where a shell would read more than a word.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@,+=%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::fixture;
    use highwater_analysis::judge::measured_streams;
    use highwater_model::units::{Nanos, Rate};

    #[test]
    fn what_the_user_gave_is_said_again() {
        let mut record = fixture::closed();
        let given = [
            ("file", vec!["my flow.toml"]),
            ("seed", vec!["7"]),
            ("set", vec!["batch=500", "host=a b"]),
            ("spawn-rate", vec!["2"]),
            ("until", vec!["ci95<1%"]),
        ];
        record.header.given = given
            .map(|(name, values)| {
                let values = values.into_iter().map(str::to_owned);
                (name.to_owned(), values.collect())
            })
            .into();
        record.plan.definition.stop.minimum = Nanos::from_secs(5);
        let measured = measured_streams(&record);
        insta::assert_snapshot!(
            open(&record, &measured),
            @"highwater run -f 'my flow.toml' sqlite: --seed 7 --set batch=500 --set 'host=a b' --until 'ci95<1%' --rate 295k -d 30s --p99 20ms"
        );
        insta::assert_snapshot!(
            again(&record, &measured, Factors { pace: 1.0, longer: 1 }),
            @"highwater run -f 'my flow.toml' sqlite: --seed 7 --set batch=500 --set 'host=a b' --spawn-rate 2 --until 'ci95<1%' -c 4 -d 5s..10s --p99 20ms"
        );
    }

    #[test]
    fn rates_are_short_and_round() {
        let texts = [294_840.0, 1_234_567.0, 50.0, 999.9, 0.0].map(flag_rate);
        assert_eq!(texts, ["295k", "1.23M", "50", "1k", "0.01"]);
    }

    #[test]
    fn bounds_are_round_and_not_below_what_was_measured() {
        let rounded = [1, 1_000_000, 4_400_000, 5_000_001].map(round_above);
        assert_eq!(rounded, [1_000_000, 1_000_000, 5_000_000, 10_000_000]);
    }

    #[test]
    fn every_objective_is_asked_again_by_its_flag() {
        let flags: String = [
            Objective::Latency {
                quantile_ppm: 999_000,
                max: Nanos::from_millis(50),
            },
            Objective::RowLatency {
                quantile_ppm: 990_000,
                max: Nanos::SECOND,
            },
            Objective::Errors { max_ppm: 1_000 },
            Objective::Rejected { max_ppm: 0 },
            Objective::Throughput {
                min: Rate::per_second(50_000),
            },
            Objective::Cpu { max_ppm: 800_000 },
        ]
        .iter()
        .map(flag)
        .collect();
        assert_eq!(
            flags,
            " --p999 50ms --row-p99 1s --errors 0.1% --rejected 0% --min-rate 50k --max-cpu 80%"
        );
    }

    #[test]
    fn a_url_is_quoted_where_a_shell_would_split_it() {
        assert_eq!(quoted("sim:?nodes=3&rate=1"), "'sim:?nodes=3&rate=1'");
        assert_eq!(quoted("http://h:4200/doc"), "http://h:4200/doc");
        assert_eq!(quoted("a'b"), r"'a'\''b'");
    }
}
