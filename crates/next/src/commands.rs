//! A record's command as its user typed it, and edits of it: what is set, what is left out, and another command with
//! the same settings.
//!
//! Each must be valid and ready to paste. Must not decide when one is proposed.

#[cfg(test)]
mod tests;

use std::fmt;

use highwater_analysis::judge::MeasuredStream;
use highwater_analysis::judge::shares::OPS_BEYOND_PERCENTILE;
use highwater_model::display::plain;
use highwater_model::numbers::{ceil_to_u64, round_to_u64, to_f64};
use highwater_model::plan::{Objective, Pace, PhaseKind, StreamPlan};
use highwater_model::quantity::print_duration;
use highwater_model::record::{
    ExperimentRecord, Header, Question, RecordRef, ResultRecord, RunRecord, SettingOrigin,
};
use highwater_model::units::Nanos;

/// Fraction of a closed run's rate at which an open run shows latencies without queueing.
const COMFORTABLE: f64 = 0.7;
/// The shortest proposed run, in seconds.
const SHORTEST_S: u64 = 30;
/// Settings that mean the same to `run`, `find`, and `tune`, separated by blanks: one is followed by another with them.
pub const SHARED: &str = "arrivals audit audit-timeout batch cluster config drop errors file insert label literals \
                          max-cpu metric metrics no-disk-guard no-telemetry out p50 p90 p95 p99 p999 rejected \
                          replicas require-steady retries row-p99 seed set shards share steady-within think timeout \
                          tuned wait-for-shares warm-up with";
/// Of these, those that matter to the maximum of this machine.
const OF_CEILING: &str =
    "arrivals batch file insert literals out replicas retries seed set shards timeout";
/// Settings that make several runs of one.
const OF_GROUPS: &[&str] = &["budget", "interleave", "repeat", "settle", "variant"];
/// Settings of a growth that the search or tuning at one of its sizes does not have.
const OF_GROWTHS: &[&str] = &[
    CLUSTER,
    "budget",
    "duration",
    "each",
    "each-budget",
    "fresh",
    "grow",
    "measure-nodes",
    "nodes",
    "no-measure-nodes",
    "no-quota",
    "price",
    "rate",
    "until",
    "variant",
];
/// The file of a running cluster, whose nodes are the target.
const CLUSTER: &str = "cluster";
/// The think time of closed sessions.
const THINK: &str = "think";

/// The command that repeats a run or an experiment, without passwords, which are not in records.
pub fn again(record: RecordRef<'_>) -> String {
    CommandLine::new(record).to_string()
}

/// A command line that is edited.
#[derive(Debug, Clone)]
pub(crate) struct CommandLine {
    /// A shell command that must succeed before it.
    before: Option<String>,
    name: String,
    /// Absent if files of the user are in its place.
    workload: Option<String>,
    targets: Vec<String>,
    /// A switch has no value.
    flags: Vec<(String, Option<String>)>,
}

impl CommandLine {
    /// The command as it was typed; of a trial of an experiment, the run that it was.
    pub(crate) fn new(record: RecordRef<'_>) -> Self {
        let run = record.measured_run().run;
        let Some(experiment) = record.experiment() else {
            return Self::of_run(run);
        };
        let line = Self::typed(&experiment.header, run, false);
        let Some(scale) = experiment.scale() else {
            return line.of_size(experiment, run);
        };
        // Quotas may also be missing for want of permissions.
        let line = if scale.without_quotas { line.switched("no-quota") } else { line };
        let Some(variant) = &scale.variant else {
            return line;
        };
        // One of several variants is repeated alone: its settings already contain its name.
        Self { before: variant.command.clone(), ..line.without(&["variant"]) }
    }

    /// The search or tuning that a growth made at one of its sizes, as a command of its own: on the cluster of that
    /// size.
    fn of_size(self, experiment: &ExperimentRecord, run: &RunRecord) -> Self {
        let name = match experiment.question {
            Question::Search(_) => "find",
            Question::Tune(_) => "tune",
            Question::Group(_) | Question::Scale(_) => return self,
        };
        if self.name != "scale" {
            return self;
        }
        let line = Self::typed(&experiment.header, run, true).without(OF_GROWTHS);
        Self { name: name.to_owned(), targets: experiment.header.targets(run), ..line }
    }

    fn of_run(run: &RunRecord) -> Self {
        let mut line = Self::typed(&run.header, run, true);
        if ["run", "load"].contains(&line.name.as_str()) {
            if line.has("interleave") {
                line.targets = run.header.targets(run);
            }
            return line.without(OF_GROUPS);
        }
        line = line.turned("run").without(&[CLUSTER, "stream", THINK]);
        line.targets = run.header.targets(run);
        for stream in &run.plan.definition.streams {
            line = line.and("stream", format!("{}@{}", stream.name, pace(stream)));
        }
        line.with("duration", span(planned_ns(run)))
    }

    fn typed(header: &Header, run: &RunRecord, of_trial: bool) -> Self {
        let command = &header.command;
        let own = |name: &str| command.settings.get(name).into_iter().flatten();
        let named = own("target").filter(|of| is_named(of.origin));
        let named: Vec<String> = named.filter_map(|of| of.value.clone()).collect();
        let targets = match (named.is_empty(), command.settings.contains_key(CLUSTER)) {
            (false, _) => named,
            // The cluster's nodes may have moved since.
            (true, true) => Vec::new(),
            (true, false) => header.targets(run),
        };
        let mut flags = Vec::new();
        for name in command.settings.keys().filter(|name| !POSITIONALS.contains(&name.as_str())) {
            let values: Vec<_> = if of_trial {
                command.in_force(name).collect()
            } else {
                own(name).filter(|of| of.origin != SettingOrigin::Trial).collect()
            };
            let typed = values.into_iter().filter(|of| is_typed(of.origin));
            for value in typed.map(|of| of.value.clone()) {
                let flag = (name.clone(), value);
                // A trial's settings repeat the switches of its experiment, which are given once.
                if flag.1.is_some() || !flags.contains(&flag) {
                    flags.push(flag);
                }
            }
        }
        let has_file = command.settings.contains_key("file");
        let workload = (!has_file).then(|| run.workload.name.clone());
        Self { before: None, name: command.name.clone(), workload, targets, flags }
    }

    /// Another command, with the settings that both have, and with its streams, whose paces are to be replaced.
    pub(crate) fn turned(mut self, name: &str) -> Self {
        if self.name != name {
            name.clone_into(&mut self.name);
            self.flags.retain(|(flag, _)| flag == "stream" || contains(SHARED, flag));
        }
        self
    }

    pub(crate) fn without(mut self, names: &[&str]) -> Self {
        self.flags.retain(|(flag, _)| !names.contains(&flag.as_str()));
        self
    }

    /// With this value in place of those that it has.
    pub(crate) fn with(self, name: &str, value: impl Into<String>) -> Self {
        self.without(&[name]).and(name, value)
    }

    /// With this value, too.
    pub(crate) fn and(mut self, name: &str, value: impl Into<String>) -> Self {
        self.flags.push((name.to_owned(), Some(value.into())));
        self
    }

    pub(crate) fn switched(self, name: &str) -> Self {
        let mut line = self.without(&[name]);
        line.flags.push((name.to_owned(), None));
        line
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.flags.iter().any(|(flag, _)| flag == name)
    }

    /// The values of a setting.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let own = self.flags.iter().filter(move |(flag, _)| flag == name);
        own.filter_map(|(_, value)| value.as_deref())
    }

    /// With one stream at a rate, in the words of the command: by its name, or as the workload's first.
    fn at_rate(self, stream: &str, rate: String) -> Self {
        let is_named = self.has("stream");
        let line = self.without(&["rate", "stream", THINK]);
        if is_named {
            line.and("stream", format!("{stream}@{rate}"))
        } else {
            line.and("rate", rate)
        }
    }

    /// With one stream of sessions, which pause between two ops if those of `plan` did.
    fn at_sessions(self, plan: &StreamPlan, sessions: impl fmt::Display) -> Self {
        let is_named = self.has("stream");
        let line = self.without(&["rate", "sessions", "stream"]);
        if is_named {
            return line.and("stream", format!("{}@{sessions}c{}", plan.name, think(plan)));
        }
        let line = line.and("sessions", sessions.to_string());
        match plan.think {
            Some(pause) if !line.has(THINK) => line.and(THINK, span(pause.0)),
            _ => line,
        }
    }
}

/// Whether names that are separated by blanks contain this one.
fn contains(names: &str, flag: &str) -> bool {
    names.split(' ').any(|name| name == flag)
}

/// Settings that are not flags.
const POSITIONALS: [&str; 2] = ["target", "workload"];

/// Whether the user named it, wherever that was.
fn is_named(origin: SettingOrigin) -> bool {
    use SettingOrigin::{CommandLine, Environment, File};
    [CommandLine, Environment, File].contains(&origin)
}

/// Whether a command has to say it. Files and environment say theirs again, and `--tuned` its own.
fn is_typed(origin: SettingOrigin) -> bool {
    use SettingOrigin::{CommandLine, Derived, Trial};
    [CommandLine, Derived, Trial].contains(&origin)
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(before) = &self.before {
            write!(f, "({before}) && ")?;
        }
        write!(f, "highwater {}", self.name)?;
        for file in self.values("file") {
            write!(f, " -f {}", quoted(file))?;
        }
        for word in self.workload.iter().chain(&self.targets) {
            write!(f, " {}", quoted(word))?;
        }
        for (name, value) in self.flags.iter().filter(|(name, _)| name != "file") {
            match name.as_str() {
                "duration" => f.write_str(" -d")?,
                "sessions" => f.write_str(" -c")?,
                name => write!(f, " --{name}")?,
            }
            if let Some(value) = value {
                write!(f, " {}", quoted(value))?;
            }
        }
        Ok(())
    }
}

/// The same load for this time, in nanoseconds.
pub(crate) fn lasting(
    line: CommandLine,
    measured: &[MeasuredStream<'_>],
    length_ns: u64,
) -> CommandLine {
    // A ramp, and steps with a length, do not last longer: their first step does.
    let is_ramp = line.values("stream").any(|stream| stream.contains(".."));
    if is_ramp || line.has("step") {
        at(line, measured, 1.0, span(length_ns))
    } else {
        line.with("duration", span(length_ns))
    }
}

/// With another number of sessions in its first stream.
pub(crate) fn with_sessions(line: CommandLine, record: &RunRecord, sessions: u32) -> CommandLine {
    match record.plan.definition.streams.first() {
        Some(first) => line.at_sessions(first, sessions),
        None => line,
    }
}

/// The paces of the first step multiplied, for this time.
fn at(
    line: CommandLine,
    measured: &[MeasuredStream<'_>],
    factor: f64,
    length: String,
) -> CommandLine {
    let first = measured.first().map(|stream| &stream.phase.name);
    let step: Vec<_> = measured.iter().filter(|m| Some(&m.phase.name) == first).collect();
    let line = line.without(&["duration", "step"]);
    let line = match (step.as_slice(), step.first().and_then(|one| one.plan)) {
        ([one], Some(plan)) if !one.is_open() => line.at_sessions(plan, figure(one, factor)),
        ([one], _) => line.at_rate(&one.stream.stream, figure(one, factor)),
        (several, _) => several.iter().fold(line.without(&["stream", THINK]), |line, stream| {
            let figure = figure(stream, factor);
            let pace = match stream.plan {
                Some(plan) if !stream.is_open() => format!("{figure}c{}", think(plan)),
                _ => figure,
            };
            line.and("stream", format!("{}@{pace}", stream.stream.stream))
        }),
    };
    line.and("duration", length)
}

/// The open run after a closed one, whose latencies are those that a user would experience.
pub(crate) fn open(
    line: CommandLine,
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
) -> CommandLine {
    // Sessions that start gradually, or have a think time, are closed load.
    let line = line.without(&["duration", "sessions", "spawn-rate", "step", THINK]);
    let rate = |stream: &MeasuredStream<'_>| flag_rate(stream.units_per_s() * COMFORTABLE);
    let line = match measured {
        [one] => line.at_rate(&one.stream.stream, rate(one)),
        several => several.iter().fold(line.without(&["stream"]), |line, stream| {
            line.and("stream", format!("{}@{}", stream.stream.stream, rate(stream)))
        }),
    };
    let length = Nanos::from_secs(SHORTEST_S).0.max(planned_ns(record));
    stated(line.and("duration", span(length)), record, measured)
}

/// A search for the highest rate of the run's first open stream (otherwise of its first stream) next to the others,
/// with this bound and the run's objectives.
pub(crate) fn find(
    line: &CommandLine,
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
    bound: Option<(&str, String)>,
) -> CommandLine {
    let streams = &record.plan.definition.streams;
    let is_open = |stream: &StreamPlan| matches!(stream.paces.first(), Some(Pace::Open { .. }));
    // At a rate there is no think time; other streams have theirs in their pace.
    let mut search = searching(line, streams.iter().position(is_open).unwrap_or(0), record);
    search = search.without(&[THINK]);
    if streams.iter().all(is_open) {
        search = limited(search, line);
    }
    if let Some((name, value)) = bound {
        search = search.and(name, value);
    }
    stated(search, record, measured)
}

/// With the limit of ops in flight of another command.
fn limited(line: CommandLine, by: &CommandLine) -> CommandLine {
    by.values("sessions").fold(line, |line, limit| line.with("sessions", limit))
}

/// A search whose stream at this position has no pace.
fn searching(line: &CommandLine, searched: usize, record: &RunRecord) -> CommandLine {
    let streams = &record.plan.definition.streams;
    let mut search = line.clone().turned("find").without(&["stream"]);
    if streams.len() > 1 || line.has("stream") {
        for (position, stream) in streams.iter().enumerate() {
            let pace = if position == searched { "find".to_owned() } else { pace(stream) };
            search = search.and("stream", format!("{}@{pace}", stream.name));
        }
    }
    search
}

/// A search for the maximum number of sessions that meets the run's objectives.
pub(crate) fn find_sessions(
    line: &CommandLine,
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
) -> CommandLine {
    let search = paused(searching(line, 0, record), record);
    stated(search.and("axis", "sessions"), record, measured)
}

/// With the think time of a single stream, which may have been given with its pace.
fn paused(line: CommandLine, record: &RunRecord) -> CommandLine {
    match record.plan.definition.streams.as_slice() {
        [StreamPlan { think: Some(think), .. }] if !line.has(THINK) => {
            line.and(THINK, span(think.0))
        }
        _ => line,
    }
}

/// A tuning of the number of sessions around the run's number.
pub(crate) fn tune_sessions(line: CommandLine, record: &RunRecord, sessions: u32) -> CommandLine {
    let [low, high] = [sessions.div_ceil(4).max(1), sessions.saturating_mul(4)];
    let line = line.turned("tune").without(&["stream"]);
    paused(line, record).and("over", format!("sessions={low}..{high}"))
}

/// A run with one session, for the latency of an op without concurrency.
pub(crate) fn one_session(line: CommandLine, record: &RunRecord) -> CommandLine {
    // Of the objectives, only those about the latency of an op.
    let line = line.turned("run").without(&[
        "abort-on-miss",
        "during",
        "duration",
        "errors",
        "fault",
        "lost",
        "max-cpu",
        "min-rate",
        "recover-within",
        "rejected",
        "row-p99",
        "spawn-rate",
        "step",
    ]);
    with_sessions(line, record, 1).and("duration", format!("{SHORTEST_S}s"))
}

/// Repeats the audit of a stored run, from its ledger.
pub(crate) fn audit(directory: &str) -> String {
    format!("highwater audit {}", quoted(directory))
}

/// The run against a sink, which shows the maximum of this machine with the same load.
pub fn ceiling(record: &RunRecord, sink: &str) -> String {
    let mut line = CommandLine::of_run(record);
    "run".clone_into(&mut line.name);
    line.targets = vec![sink.to_owned()];
    line.flags.retain(|(flag, _)| contains(OF_CEILING, flag));
    let is_named = record.header.command.settings.contains_key("stream");
    let all = &record.plan.definition.streams;
    let sessions = |stream: &StreamPlan| {
        let of_paces = stream.paces.iter().map(|pace| match pace {
            Pace::Closed { sessions } => *sessions,
            Pace::Open { .. } => stream.sessions,
        });
        of_paces.max().unwrap_or(stream.sessions)
    };
    let line = match all.as_slice() {
        [one] if !is_named => line.and("sessions", sessions(one).to_string()),
        several => several.iter().fold(line, |line, stream| {
            line.and("stream", format!("{}@{}c", stream.name, sessions(stream)))
        }),
    };
    line.and("duration", "5s").to_string()
}

/// Shows the stored record.
pub(crate) fn show(directory: &str, rest: &str) -> String {
    format!("highwater show {}{rest}", quoted(directory))
}

/// Looks at the targets of a record.
pub(crate) fn check(header: &Header, run: &RunRecord) -> String {
    let targets = header.targets(run).into_iter().map(|url| quoted(&url));
    format!("highwater check {}", targets.collect::<Vec<_>>().join(" "))
}

/// A longer run below the mark that a search found.
pub(crate) fn soak(
    line: &CommandLine,
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
) -> CommandLine {
    let length = span(longer_ns(record));
    let run = limited(line.clone().turned("run"), line);
    stated(at(run, measured, COMFORTABLE, length), record, measured)
}

/// The pace of a stream, in the form of `--stream NAME@PACE`.
fn pace(stream: &StreamPlan) -> String {
    match stream.paces.first() {
        Some(Pace::Open { rate }) => flag_rate(rate.as_f64()),
        Some(Pace::Closed { sessions }) => format!("{sessions}c{}", think(stream)),
        None => "max".to_owned(),
    }
}

/// `,think=1s` after the pace of sessions with a think time.
fn think(stream: &StreamPlan) -> String {
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

/// With the plan's objectives; without any, a p99 bound: the next of 1, 2, 5, 10 … above the measured p99, or above
/// twice the median if an outage made the p99.
fn stated(line: CommandLine, record: &RunRecord, measured: &[MeasuredStream<'_>]) -> CommandLine {
    let stated = &record.plan.definition.objectives;
    if stated.is_empty() {
        let results = measured.iter().flat_map(|stream| &stream.results);
        let is_outage = record.availability.recovery.is_some();
        let p99 = results.filter_map(|result| {
            let twice = result.latency_ns.p50.map(|p50| p50.saturating_mul(2));
            if is_outage { twice } else { result.latency_ns.p99 }
        });
        let p99 = p99.max();
        return match p99.filter(|_| !line.has("p99")) {
            Some(p99) => line.and("p99", span(round_above(p99))),
            None => line,
        };
    }
    let flags: Vec<_> =
        stated.iter().filter_map(flag).filter(|(name, _)| !line.has(name)).collect();
    flags.into_iter().fold(line, |line, (name, value)| line.and(name, value))
}

/// The flag of an objective and its value; none for a percentile without a flag.
fn flag(objective: &Objective) -> Option<(&'static str, String)> {
    let share = |ppm: u32| format!("{}%", plain(f64::from(ppm) / 10_000.0));
    Some(match *objective {
        Objective::Latency { quantile_ppm, max, ref op } => {
            let name = match quantile_ppm {
                500_000 => "p50",
                900_000 => "p90",
                950_000 => "p95",
                990_000 => "p99",
                999_000 => "p999",
                _ => return None,
            };
            let bound = span(max.0);
            (name, op.as_ref().map_or(bound.clone(), |op| format!("{op}<{bound}")))
        }
        Objective::RowLatency { quantile_ppm: 990_000, max } => ("row-p99", span(max.0)),
        Objective::RowLatency { .. } => return None,
        Objective::Errors { max_ppm } => ("errors", share(max_ppm)),
        Objective::Rejected { max_ppm } => ("rejected", share(max_ppm)),
        Objective::Throughput { min } => ("min-rate", flag_rate(min.as_f64())),
        Objective::Cpu { max_ppm } => ("max-cpu", share(max_ppm)),
        // They judge actions, which the next command does not repeat.
        Objective::Recovery { .. } | Objective::During { .. } | Objective::Lost { .. } => {
            return None;
        }
    })
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

/// A duration in the form of a flag: `10m`, `90s` as `1m30s`.
pub(crate) fn span(ns: u64) -> String {
    print_duration(Nanos(ns))
}
