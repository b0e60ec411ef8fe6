//! Commands in the words of the user's last command: what they repeat, and what they change.
//!
//! Each must be valid and ready to paste. Must not decide when one is proposed.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::ops::Deref;

use highwater_analysis::judge::MeasuredStream;
use highwater_analysis::judge::shares::OPS_BEYOND_PERCENTILE;
use highwater_model::display::plain;
use highwater_model::numbers::{ceil_to_u64, round_to_u64, to_f64};
use highwater_model::plan::{Objective, Pace, PhaseKind, StreamPlan};
use highwater_model::quantity::print_duration;
use highwater_model::record::{ExperimentRecord, ResultRecord, RunRecord};
use highwater_model::units::Nanos;

// Writing to a string cannot fail.

/// Fraction of a closed run's rate at which an open run shows latencies without queueing.
const COMFORTABLE: f64 = 0.7;
/// Flags that only a plain run takes.
const OF_RUNS: &[&str] = &["abort-on-miss", "rows", "spawn-rate", "until"];
/// The file of a running cluster, whose nodes are the target.
const CLUSTER: &str = "cluster";
/// The think time of closed sessions.
const THINK: &str = "think";
/// A search that varies sessions.
const OVER_SESSIONS: &str = " --axis sessions";
/// Flags that only a search takes.
const OF_SEARCHES: &[&str] = &["confirm", "max", "probe", "quick", "settle", "start", "tolerance"];
/// Objectives that searches and tunings always have.
pub(crate) const IMPLIED: [Objective; 2] =
    [Objective::Rejected { max_ppm: 0 }, Objective::Errors { max_ppm: 0 }];
/// The shortest proposed run, in seconds.
const SHORTEST_S: u64 = 30;

/// Measured time of a run.
#[derive(Clone, Copy)]
pub(crate) enum Length {
    /// As in the last run.
    Same,
    /// Fixed, in nanoseconds.
    Of(u64),
}

/// The same run with its paces multiplied, this length, and a percentile bound.
pub(crate) fn run(
    record: &RunRecord,
    begin: String,
    measured: &[MeasuredStream<'_>],
    pace: f64,
    length: Length,
) -> String {
    let Some(first) = measured.first().map(|stream| &stream.phase.name) else {
        return begin;
    };
    let step: Vec<&MeasuredStream<'_>> =
        measured.iter().filter(|m| m.phase.name == *first).collect();
    let mut command = begin;
    match step.as_slice() {
        [one] if one.is_open() => {
            let _ = write!(command, " --rate {}", figure(one, pace));
        }
        [one] => {
            let _ = write!(command, " -c {}{}", figure(one, pace), think_flag(record));
        }
        several => {
            for stream in several {
                let figure = figure(stream, pace);
                let figure = match stream.plan {
                    _ if stream.is_open() => figure,
                    Some(plan) => format!("{figure}c{}", think(plan)),
                    None => figure + "c",
                };
                command += &stream_flag(&stream.stream.stream, &figure);
            }
        }
    }
    let length = match length {
        Length::Same => between(record.plan.definition.stop.minimum.0, planned_ns(record)),
        Length::Of(ns) => span(ns),
    };
    let _ = write!(command, " -d {length}");
    command + &objectives(record, measured)
}

/// The open run after a closed one, whose latencies are those that a user would experience.
pub(crate) fn open(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> String {
    // Sessions that start gradually, or have a think time, are closed load.
    let mut command = base("run", record, &["spawn-rate", THINK]);
    match measured {
        [one] => {
            let rate = flag_rate(one.units_per_s() * COMFORTABLE);
            let _ = write!(command, " --rate {rate}");
        }
        several => {
            for stream in several {
                let rate = flag_rate(stream.units_per_s() * COMFORTABLE);
                command += &stream_flag(&stream.stream.stream, &rate);
            }
        }
    }
    let length = Nanos::from_secs(SHORTEST_S).0.max(planned_ns(record));
    command + &format!(" -d {}", span(length)) + &objectives(record, measured)
}

/// A search for the highest rate of the run's first open stream (otherwise of its first stream) next to the others,
/// with these bounds and the run's objectives.
pub(crate) fn find(record: &RunRecord, measured: &[MeasuredStream<'_>], bounds: &str) -> String {
    // At a rate there is no think time; other streams have theirs in their pace.
    let of_sessions: &[&str] = if bounds == OVER_SESSIONS { &[] } else { &[THINK] };
    let mut command = base("find", record, &[OF_RUNS, of_sessions].concat());
    let streams = &record.plan.definition.streams;
    if streams.len() > 1 {
        let is_open = |stream: &StreamPlan| matches!(stream.paces.first(), Some(Pace::Open { .. }));
        let searched = streams.iter().position(is_open).unwrap_or(0);
        for (position, stream) in streams.iter().enumerate() {
            command += &searching_flag(stream, position == searched);
        }
    }
    if bounds == OVER_SESSIONS {
        command += &think_flag(record);
    }
    command + bounds + &objectives(record, measured)
}

/// ` --think 1s` for a single stream whose think time was given with its pace.
fn think_flag(record: &RunRecord) -> String {
    let [one] = record.plan.definition.streams.as_slice() else {
        return String::new();
    };
    let is_given = record.header.given.contains_key(THINK);
    let think = one.think.filter(|_| !is_given);
    think.map_or_else(String::new, |think| format!(" --{THINK} {}", span(think.0)))
}

/// A search for the maximum number of sessions that meets the run's objectives.
pub(crate) fn find_sessions(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> String {
    find(record, measured, OVER_SESSIONS)
}

/// A tuning of the number of sessions around the run's number.
pub(crate) fn tune_sessions<'a>(record: impl Into<RepeatedRun<'a>>, sessions: u32) -> String {
    let record = record.into();
    let without = [OF_RUNS, OF_SEARCHES, &["sessions", "until"]].concat();
    let begin = base("tune", record, &without);
    let [low, high] = [sessions.div_ceil(4).max(1), sessions.saturating_mul(4)];
    format!("{begin}{} --over sessions={low}..{high}", think_flag(&record))
}

/// A run with one session, for the latency of an op without concurrency.
pub(crate) fn one_session<'a>(record: impl Into<RepeatedRun<'a>>) -> String {
    let record = record.into();
    let without = [OF_SEARCHES, &["abort-on-miss", "sessions"]].concat();
    let begin = base("run", record, &without);
    let stated = record
        .plan
        .definition
        .objectives
        .iter()
        .filter(|objective| matches!(objective, Objective::Latency { .. }));
    let bounds: String = stated.map(flag).collect();
    format!("{begin}{} -c 1 -d {SHORTEST_S}s{bounds}", think_flag(&record))
}

/// Repeats the audit of a stored run, from its ledger.
pub(crate) fn audit(directory: &str) -> String {
    format!("highwater audit {}", quoted(directory))
}

/// A run to repeat, and the directory that contains its target's file: its own, or that of its experiment.
#[derive(Clone, Copy)]
pub(crate) struct RepeatedRun<'a> {
    run: &'a RunRecord,
    directory_id: &'a str,
}

impl<'a> From<&'a RunRecord> for RepeatedRun<'a> {
    fn from(run: &'a RunRecord) -> Self {
        let directory_id = &run.header.id;
        Self { run, directory_id }
    }
}

impl<'a> From<&'a ExperimentRecord> for RepeatedRun<'a> {
    fn from(experiment: &'a ExperimentRecord) -> Self {
        Self { run: &experiment.last_run, directory_id: &experiment.header.id }
    }
}

impl Deref for RepeatedRun<'_> {
    type Target = RunRecord;

    fn deref(&self) -> &RunRecord {
        self.run
    }
}

/// A command with the workload, the targets, and the user's other flags, except `without`.
pub(crate) fn base<'a>(
    command: &str,
    record: impl Into<RepeatedRun<'a>>,
    without: &[&str],
) -> String {
    let record = record.into();
    let targets = match record.header.given.get(CLUSTER) {
        // The cluster's nodes may have moved since.
        Some(_) => String::new(),
        None => targets(record),
    };
    base_on(&targets, command, record, without)
}

/// The run against a sink, which shows the maximum of this machine with the same load.
pub fn ceiling(record: &RunRecord, sink: &str) -> String {
    let others = &[
        "audit",
        "audit-timeout",
        CLUSTER,
        "label",
        "metric",
        "metrics",
        "sessions",
        THINK,
        "warm-up",
        "with",
    ];
    let without = [OF_RUNS, others].concat();
    let mut command = base_on(&quoted(sink), "run", record.into(), &without);
    match record.plan.definition.streams.as_slice() {
        [one] => {
            let sessions = one.paces.iter().map(|pace| match pace {
                Pace::Closed { sessions } => *sessions,
                Pace::Open { .. } => one.sessions,
            });
            let _ = write!(command, " -c {}", sessions.max().unwrap_or(one.sessions));
        }
        several => {
            for stream in several {
                command += &stream_flag(&stream.name, &format!("{}c", stream.sessions));
            }
        }
    }
    command + " -d 5s"
}

fn base_on(targets: &str, command: &str, record: RepeatedRun<'_>, without: &[&str]) -> String {
    const FILE: &str = "file";
    let workload = match record.header.given.get(FILE).map(Vec::as_slice) {
        Some(paths) if !paths.is_empty() => {
            paths.iter().map(|path| format!("-f {}", quoted(path))).collect::<Vec<_>>().join(" ")
        }
        _ => quoted(&record.workload.name),
    };
    let mut command = format!("highwater {command} {workload}");
    // A cluster that is started by the command has none.
    if !targets.is_empty() {
        let _ = write!(command, " {targets}");
    }
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

/// Shows the stored record.
pub(crate) fn show(directory: &str, rest: &str) -> String {
    format!("highwater show {}{rest}", quoted(directory))
}

pub(crate) fn check<'a>(record: impl Into<RepeatedRun<'a>>) -> String {
    format!("highwater check {}", targets(record.into()))
}

/// A longer run below the mark that a search found.
pub(crate) fn soak(record: RepeatedRun<'_>, measured: &[MeasuredStream<'_>]) -> String {
    let begin = base("run", record, OF_SEARCHES);
    run(&record, begin, measured, COMFORTABLE, Length::Of(longer_ns(&record)))
}

/// ` --stream NAME@PACE`.
pub(crate) fn stream_flag(name: &str, pace: &str) -> String {
    format!(" --stream {}@{pace}", quoted(name))
}

/// The stream's flag in a search, which finds the pace of one stream itself.
pub(crate) fn searching_flag(stream: &StreamPlan, is_searched: bool) -> String {
    if is_searched {
        stream_flag(&stream.name, "find")
    } else {
        stream_flag(&stream.name, &pace(stream))
    }
}

/// The pace of a stream, in the form of `--stream NAME@PACE`.
pub(crate) fn pace(stream: &StreamPlan) -> String {
    match stream.paces.first() {
        Some(Pace::Open { rate }) => flag_rate(rate.as_f64()),
        Some(Pace::Closed { sessions }) => format!("{sessions}c{}", think(stream)),
        None => "max".to_owned(),
    }
}

/// `,think=1s` after the pace of sessions with a think time.
pub(crate) fn think(stream: &StreamPlan) -> String {
    let think = stream.think.map(|think| span(think.0));
    think.map_or_else(String::new, |think| format!(",{THINK}={think}"))
}

fn figure(stream: &MeasuredStream<'_>, factor: f64) -> String {
    match stream.stream.planned_rate {
        // After a missed rate, the next one is based on the acknowledged rate.
        Some(_) if factor < 1.0 => flag_rate(stream.units_per_s() * factor),
        Some(planned) => flag_rate(planned * factor),
        None => round_to_u64(f64::from(stream.stream.sessions) * factor).max(1).to_string(),
    }
}

/// The plan's objectives; without any, a p99 bound: the next of 1, 2, 5, 10 … above the measured p99.
fn objectives(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> String {
    let stated = &record.plan.definition.objectives;
    if !stated.is_empty() {
        return stated.iter().map(flag).collect();
    }
    let results = measured.iter().flat_map(|stream| &stream.results);
    match results.filter_map(|result| result.latency_ns.p99).max() {
        Some(p99) => format!(" --p99 {}", span(round_above(p99))),
        None => String::new(),
    }
}

/// The flag of an objective; empty for a percentile without a flag.
pub(crate) fn flag(objective: &Objective) -> String {
    let share = |ppm: u32| format!("{}%", plain(f64::from(ppm) / 10_000.0));
    match *objective {
        Objective::Latency { quantile_ppm, max, ref op } => {
            let name = match quantile_ppm {
                500_000 => "p50",
                900_000 => "p90",
                950_000 => "p95",
                990_000 => "p99",
                999_000 => "p999",
                _ => return String::new(),
            };
            let bound = match op {
                Some(op) => quoted(&format!("{op}<{}", span(max.0))),
                None => span(max.0),
            };
            format!(" --{name} {bound}")
        }
        Objective::RowLatency { quantile_ppm: 990_000, max } => {
            format!(" --row-p99 {}", span(max.0))
        }
        Objective::RowLatency { .. } => String::new(),
        Objective::Errors { max_ppm } => format!(" --errors {}", share(max_ppm)),
        Objective::Rejected { max_ppm } => format!(" --rejected {}", share(max_ppm)),
        Objective::Throughput { min } => format!(" --min-rate {}", flag_rate(min.as_f64())),
        Objective::Cpu { max_ppm } => format!(" --max-cpu {}", share(max_ppm)),
    }
}

/// The next of 1, 2, 5, 10 … milliseconds.
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
pub(crate) fn flag_rate(per_second: f64) -> String {
    let (scaled, suffix) = match per_second {
        rate if rate >= 999_500.0 => (rate / 1e6, "M"),
        rate if rate >= 999.5 => (rate / 1e3, "k"),
        rate => (rate.max(0.01), ""),
    };
    let digits = plain(scaled);
    format!("{digits}{suffix}")
}

/// The targets as they were given; a file in that directory is replaced by a new one.
fn targets(record: RepeatedRun<'_>) -> String {
    let id = record.directory_id;
    record
        .target
        .urls
        .iter()
        .map(|url| match url.split_once(':') {
            Some((scheme, rest)) if !id.is_empty() && rest.contains(id) => format!("{scheme}:"),
            _ => quoted(url),
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// In single quotes if a shell would read anything but one word.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@,+=%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Factor by which the time increases after too short a measurement.
const LONGER: u64 = 3;
/// Common lengths, in seconds.
const LENGTHS_S: [u64; 13] =
    [30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400];
/// Safety factor on the time for the ops that a percentile needs.
const ENOUGH: f64 = 1.2;

/// Planned length of the first measured phase.
pub(crate) fn planned_ns(record: &RunRecord) -> u64 {
    let mut measured =
        record.plan.definition.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let first = measured.next().map_or(Nanos::SECOND, |phase| phase.duration);
    first.0.max(Nanos::from_millis(1).0)
}

/// A common length that is longer than planned.
pub(crate) fn longer_ns(record: &RunRecord) -> u64 {
    chosen_ns(planned_ns(record).saturating_mul(LONGER))
}

/// The next of 30 s, 1 min, 2 min … up to a day; longer times are unchanged.
fn chosen_ns(least_ns: u64) -> u64 {
    let mut enough = LENGTHS_S
        .iter()
        .map(|seconds| Nanos::from_secs(*seconds).0)
        .filter(|length| *length >= least_ns);
    enough.next().unwrap_or(least_ns)
}

/// Number of ops for the highest percentile of the objectives; 0 without such an objective.
pub(crate) fn ops_of_percentiles(record: &RunRecord) -> f64 {
    let needed = record.plan.definition.objectives.iter().filter_map(|objective| match objective {
        Objective::Latency { quantile_ppm, .. } => Some(ops_beyond(*quantile_ppm)),
        _ => None,
    });
    needed.fold(0.0, f64::max)
}

/// Number of ops such that enough of them are beyond a quantile.
fn ops_beyond(quantile_ppm: u32) -> f64 {
    let beyond = 1_000_000_u64.saturating_sub(u64::from(quantile_ppm));
    to_f64(OPS_BEYOND_PERCENTILE * 1_000_000 / beyond.max(1))
}

/// Time until the rarest op occurs as often as its percentiles need; absent without such an objective, and if an op
/// never occurred.
pub(crate) fn until_percentiles_ns(
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
) -> Option<u64> {
    let mut seconds: Option<f64> = None;
    for objective in &record.plan.definition.objectives {
        let Objective::Latency { quantile_ppm, op, .. } = objective else {
            continue;
        };
        let needed = ops_beyond(*quantile_ppm);
        let rarest = measured
            .iter()
            .flat_map(|stream| {
                let is_about = |result: &&ResultRecord| {
                    let named = op.as_ref();
                    named.is_none_or(|op| *op == result.op || *op == result.stream)
                };
                stream
                    .results
                    .iter()
                    .copied()
                    .filter(is_about)
                    .map(|result| to_f64(result.answered.ops) / stream.seconds())
            })
            .fold(f64::INFINITY, f64::min);
        if rarest <= 0.0 || !rarest.is_finite() {
            return None;
        }
        let own = ENOUGH * needed / rarest;
        seconds = Some(seconds.map_or(own, |others| others.max(own)));
    }
    let seconds = seconds?;
    let length = chosen_ns(ceil_to_u64(seconds * 1e9));
    Some(length.max(longer_ns(record)))
}

/// `10s..1m`, or `1m` without a minimum.
pub(crate) fn between(least_ns: u64, most_ns: u64) -> String {
    match least_ns {
        0 => span(most_ns),
        least => format!("{}..{}", span(least), span(most_ns)),
    }
}

/// A duration in the form of a flag: `10m`, `90s` as `1m30s`.
pub(crate) fn span(ns: u64) -> String {
    print_duration(Nanos(ns))
}
