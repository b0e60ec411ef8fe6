//! From the lines of a journal to phases, results, and streams, with latencies at two digits, and to the interim record
//! of a running run.
//!
//! Its size depends on the plan and its changes, not on the number of lines. Must not handle files, or judge.
//!
//! One second of one op has four forms: counted, in the journal, in the record, and reported. The interim record comes
//! from the draft and the journal, without seconds; the viewer reads it, so the run takes no part in it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use highwater_analysis as analysis;
use highwater_model::event::{Event, LATENCY_BOUNDS_NS, StreamCounts};
use highwater_model::histogram::LatencyHistogram;
use highwater_model::judgment::{Judgments, Measurement, ObjectiveValue, Reason, ReasonCode};
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::{Arrivals, Pace, PhaseKind, Plan, Unit};
use highwater_model::record::{
    Change, FailureRecord, IntervalRecord, InterventionRecord, PhaseRecord, Record, RecordRef,
    ResultRecord, RunRecord, StreamRecord, ThroughputRecord,
};
use highwater_model::target_telemetry::TargetTelemetry;
use highwater_model::units::Nanos;

use super::results::{LOAD, of_share, result_record};
use crate::executor::Pass;
use crate::recorder::{Failures, IntervalDelta, KeyStats};
use crate::schedule::{RAMP, ScheduledPhase};
use crate::sessions::SessionBlock;
use crate::store::{self, JournalLine, JournalReport, JournalTail, ReportTail, Written};

/// Placeholder for the error class: older journals count errors without classes.
const UNCLASSIFIED: &str = "unclassified";

/// The counts of the lines so far.
#[derive(Debug, Default)]
pub(super) struct JournalCounts {
    /// By phase, stream, and op: statistics, failed ops, and how many of these failed in part.
    sums: BTreeMap<[String; 3], (KeyStats, [u64; 2])>,
    /// By phase: its first second and its last.
    seconds: BTreeMap<String, [u64; 2]>,
    /// All failed ops so far.
    failures: Failures,
}

impl JournalCounts {
    /// Records that a second belongs to a phase.
    pub(super) fn see(&mut self, phase: &str, second: u64) {
        let seconds = self.seconds.entry(phase.to_owned()).or_insert([second; 2]);
        *seconds = [seconds[0].min(second), seconds[1].max(second)];
    }

    /// Adds the counts of (phase, stream, op).
    pub(super) fn add(&mut self, names: &[String; 3], delta: &IntervalDelta) {
        let (stats, [failed, partial]) = self.sums.entry(names.clone()).or_default();
        add(stats, delta);
        self.failures.merge(&delta.failures);
        *failed += delta.errors;
        *partial += delta.partial;
    }

    /// Failed ops by cause, most frequent first, each with the second in which it was seen last.
    pub(super) fn failures(&self) -> Vec<(FailureRecord, u64)> {
        self.failures.seen()
    }

    /// Fills a draft's phases, results, and streams.
    pub(super) fn fill(&self, record: &mut RunRecord) {
        let plan = record.plan.definition.clone();
        record.phases = phases_of(&plan, &self.seconds);
        for (names, (stats, [failed, partial])) in &self.sums {
            let mut result = result_of(&plan, &record.phases, names.clone(), stats);
            let by_class = stats.failures.by_class();
            let others = failed.saturating_sub(by_class.values().sum());
            let named = by_class.into_iter().map(|(class, ops)| (class.name().to_owned(), ops));
            result.errors = named.collect();
            for (ops, by_class) in [(others, &mut result.errors), (*partial, &mut result.partial)] {
                if ops > 0 {
                    by_class.insert(UNCLASSIFIED.to_owned(), ops);
                }
            }
            if record.phases.iter().any(|p| p.name == result.phase && p.kind == PhaseKind::Measure)
            {
                record.streams.push(stream_of(&plan, &result));
            }
            record.results.push(result);
        }
        let sums = self.sums.values();
        record.audit.acknowledged = sums.map(|(stats, _)| stats.rows.acknowledged).sum();
    }
}

fn add(stats: &mut KeyStats, delta: &IntervalDelta) {
    stats.offered += delta.offered;
    stats.sent += delta.sent;
    stats.acknowledged += delta.acknowledged;
    stats.dropped += delta.dropped;
    stats.answered.ops += delta.acknowledged;
    stats.answered.rows += delta.rows_acknowledged;
    stats.rows.sent += delta.rows_sent;
    stats.rows.acknowledged += delta.rows_acknowledged;
    stats.rows.refused += delta.rows_refused;
    stats.failures.merge(&delta.failures);
    stats.latency.merge(&delta.latency);
}

/// Phases as shown by the journal, in whole seconds.
fn phases_of(plan: &Plan, seconds: &BTreeMap<String, [u64; 2]>) -> Vec<PhaseRecord> {
    let mut phases: Vec<PhaseRecord> = seconds
        .iter()
        .map(|(name, [first, last])| {
            let planned = |name| plan.phases.iter().find(|phase| phase.name == name);
            // A phase of a changed pace is named after the one that it replaced.
            let changed = name.rsplit_once('-').and_then(|(before, _)| planned(before));
            let like = planned(name).or(changed);
            let kind = if name.ends_with(RAMP) {
                PhaseKind::WarmUp
            } else {
                like.map_or(PhaseKind::Load, |phase| phase.kind)
            };
            PhaseRecord {
                name: name.clone(),
                kind,
                step: planned(name).map(|phase| phase.step),
                start_ns: first * Nanos::SECOND.0,
                duration_ns: (last + 1 - first) * Nanos::SECOND.0,
                steady: None,
            }
        })
        .collect();
    phases.sort_by_key(|phase| phase.start_ns);
    phases
}

fn result_of(
    plan: &Plan,
    phases: &[PhaseRecord],
    names: [String; 3],
    stats: &KeyStats,
) -> ResultRecord {
    let duration = phases.iter().find(|p| p.name == names[0]).map_or(0, |p| p.duration_ns);
    let (open, duration) = (is_open(plan, &names[1]), Nanos(duration));
    let seconds = duration.as_secs_f64().max(1.0);
    ResultRecord {
        throughput: ThroughputRecord {
            ops_per_s: to_f64(stats.acknowledged) / seconds,
            rows_per_s: to_f64(stats.rows.acknowledged) / seconds,
            ci95: None,
        },
        // Counts per 100 ms were in a scratch file, which was lost with the process.
        ..result_record(names, open, duration, stats, None)
    }
}

fn is_open(plan: &Plan, stream: &str) -> bool {
    let of_it = plan.streams.iter().filter(|planned| planned.name == stream);
    let mut paces = of_it.flat_map(|planned| &planned.paces);
    paces.any(|pace| matches!(pace, Pace::Open { .. }))
}

fn stream_of(plan: &Plan, result: &ResultRecord) -> StreamRecord {
    let planned = plan.streams.iter().find(|stream| stream.name == result.stream);
    StreamRecord {
        phase: result.phase.clone(),
        stream: result.stream.clone(),
        unit: planned.map_or(Unit::Queries, |stream| stream.unit),
        sessions: planned.map_or(0, |stream| stream.sessions),
        throughput: ThroughputRecord { ci95: None, ..result.throughput.clone() },
        ..StreamRecord::default()
    }
}

/// The interval in a record, of a phase, stream and op.
pub(crate) fn interval_record(
    second: u64,
    names: [String; 3],
    delta: &IntervalDelta,
) -> IntervalRecord {
    let [phase, stream, op] = names;
    // Of ops that did not end, nothing may be known.
    let finite = |q: f64| delta.latency.percentile(q).map(|of| of.ns).filter(|ns| *ns > 0);
    IntervalRecord {
        second,
        phase,
        stream,
        op,
        offered: delta.offered,
        sent: delta.sent,
        acknowledged: delta.acknowledged,
        rows_acknowledged: delta.rows_acknowledged,
        errors: delta.errors,
        rejected: delta.rejected,
        rows_refused: delta.rows_refused,
        dropped: delta.dropped,
        p50_ns: finite(0.5),
        p99_ns: finite(0.99),
        max_ns: delta.latency.summary().max.filter(|ns| *ns > 0),
    }
}

/// The interval in the journal.
pub(crate) fn journal_line(delta: &IntervalDelta, names: [String; 3]) -> JournalLine {
    let [phase, stream, op] = names;
    let latency = if delta.latency.is_empty() { String::new() } else { delta.latency.encode() };
    JournalLine {
        second: delta.second,
        phase,
        stream,
        op,
        offered: delta.offered,
        sent: delta.sent,
        rows_sent: delta.rows_sent,
        acknowledged: delta.acknowledged,
        rows_acknowledged: delta.rows_acknowledged,
        errors: delta.errors,
        partial: delta.partial,
        rows_refused: delta.rows_refused,
        dropped: delta.dropped,
        failures: delta.failures.records(),
        latency,
        max_ns: delta.latency.greatest().0,
        beyond: delta.latency.beyond(),
        waits: delta.latency.encode_waits(),
    }
}

/// The counts of a line of the journal.
pub(crate) fn delta_of(line: &JournalLine) -> IntervalDelta {
    let mut latency = LatencyHistogram::coarse();
    if let Ok(histogram) = LatencyHistogram::decode(&line.latency) {
        let is_known = line.max_ns > 0;
        let exact = Nanos(if is_known { line.max_ns } else { u64::MAX });
        latency.merge(&histogram.with_greatest(exact));
    }
    let waits = line.waits.as_deref();
    if latency.decode_waits(waits, line.beyond, Nanos::ZERO).is_err() {
        latency.record_beyond(line.beyond, Nanos::ZERO);
    }
    IntervalDelta {
        offered: line.offered,
        sent: line.sent,
        rows_sent: line.rows_sent,
        acknowledged: line.acknowledged,
        rows_acknowledged: line.rows_acknowledged,
        errors: line.errors,
        partial: line.partial,
        rows_refused: line.rows_refused,
        dropped: line.dropped,
        failures: Failures::of_second(line.second, &line.failures),
        latency,
        ..IntervalDelta::new(line.second, 0)
    }
}

/// The reported counts of a stream.
pub(crate) fn counts(sum: &IntervalDelta) -> StreamCounts {
    let up_to = sum.latency.up_to(&LATENCY_BOUNDS_NS);
    StreamCounts {
        offered: sum.offered,
        sent: sum.sent,
        dropped: sum.dropped,
        acknowledged: sum.acknowledged,
        rows_acknowledged: sum.rows_acknowledged,
        rows_refused: sum.rows_refused,
        latency_up_to: if sum.latency.is_empty() { Vec::new() } else { up_to },
        latency_sum_ns: sum.latency.sum_ns(),
        service_up_to: sum.service.up_to(),
        service_sum_ns: sum.service.sum_ns,
        lag_up_to: sum.lag.up_to(),
        lag_sum_ns: sum.lag.sum_ns,
        failed: ErrorClass::ALL
            .into_iter()
            .zip(sum.failed)
            .filter(|(_, failed)| *failed > 0)
            .collect(),
    }
}

/// Names of the keys of a pass.
#[derive(Debug, Clone, Default)]
pub(super) struct KeyNames {
    pub(super) phases: Vec<String>,
    /// Which phases are measured.
    pub(super) is_measured: Vec<bool>,
    pub(super) streams: Vec<StreamName>,
    /// Units per second that this share offers in each stream of each phase (outer); absent in closed load.
    pub(super) offered: Vec<Vec<Option<f64>>>,
    pub(super) ops: Vec<String>,
    /// When sessions appear.
    pub(super) blocks: Vec<SessionBlock>,
    /// When the pass began.
    pub(super) start: Nanos,
}

/// A stream of a pass.
#[derive(Debug, Clone)]
pub(super) struct StreamName {
    pub(super) name: String,
    pub(super) unit: Unit,
    /// Rows of an op that counts rows, else 1.
    pub(super) units_per_op: u64,
    /// It has a closed pace.
    pub(super) is_closed: bool,
    /// The times of open load.
    pub(super) arrivals: Arrivals,
}

/// Positions of a key's phase, stream and op.
pub(super) struct KeyPosition {
    pub(super) phase: usize,
    pub(super) stream: usize,
    pub(super) op: usize,
}

impl KeyNames {
    /// The names of a pass in its current state: a changed pace adds phases.
    pub(super) fn of_pass(pass: &Pass) -> Self {
        let phases = pass.schedule.all();
        let streams = pass.plan.streams.iter();
        let shares = pass.plan.share.of;
        let offered = |phase: &ScheduledPhase| {
            phase.paces.iter().map(|pace| offered(*pace, shares)).collect()
        };
        let is_measured = |phase: &ScheduledPhase| phase.kind == PhaseKind::Measure;
        let is_closed = |pace: &Pace| matches!(pace, Pace::Closed { .. });
        Self {
            offered: phases.iter().map(offered).collect(),
            is_measured: phases.iter().map(is_measured).collect(),
            phases: phases.into_iter().map(|phase| phase.name).collect(),
            streams: streams
                .map(|stream| StreamName {
                    name: stream.name.clone(),
                    unit: stream.unit,
                    units_per_op: stream.units_per_op,
                    is_closed: stream.paces.iter().any(is_closed),
                    arrivals: stream.arrivals,
                })
                .collect(),
            ops: pass.bound.ops.iter().map(|op| op.name.clone()).collect(),
            blocks: pass.sessions.blocks_from(0),
            start: pass.start,
        }
    }

    /// Open sessions of all streams at this time after the start of the pass.
    pub(super) fn sessions_at(&self, at: Nanos) -> u32 {
        let at = self.start.saturating_add(at);
        self.blocks.iter().map(|block| block.open_at(at)).fold(0, u32::saturating_add)
    }

    /// The phase, stream and op of a key.
    pub(super) fn split(&self, key: usize) -> KeyPosition {
        let (ops, streams) = (self.ops.len().max(1), self.streams.len().max(1));
        KeyPosition { phase: key / ops / streams, stream: key / ops % streams, op: key % ops }
    }

    /// The names of a key: of its phase, stream and op.
    pub(super) fn interval(&self, key: usize) -> [String; 3] {
        let key = self.split(key);
        let stream = &self.streams[key.stream].name;
        [&self.phases[key.phase], stream, &self.ops[key.op]].map(String::clone)
    }
}

/// This share's part of a pace's rate.
fn offered(pace: Pace, shares: u32) -> Option<f64> {
    match pace {
        Pace::Open { rate } => Some(rate.as_f64() / f64::from(shares.max(1))),
        Pace::Closed { .. } => None,
    }
}

/// Maximum lines that wait for the end of their second; a run writes fewer.
const WAITING_MAX: usize = 65_536;

/// A running run.
#[derive(Debug)]
pub struct SoFar {
    directory: PathBuf,
    draft: Option<Box<RunRecord>>,
    tail: JournalTail,
    /// Lines of seconds that are not over.
    waiting: Vec<JournalLine>,
    /// Seconds in which one phase ended and another began: the journal does not show the split.
    shared: BTreeSet<u64>,
    journaled: JournalCounts,
    interventions: Vec<InterventionRecord>,
    /// The phase of the last second.
    phase: String,
    /// Number of seconds read.
    until: u64,
    /// The last second with acknowledgments, and their number: without any, or with few, sessions are assumed to be
    /// connecting anew.
    last_acknowledged: [u64; 2],
}

impl SoFar {
    /// The run in this directory; reads nothing yet.
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            draft: None,
            tail: store::journal_tail(directory),
            waiting: Vec::new(),
            shared: BTreeSet::new(),
            journaled: JournalCounts::default(),
            interventions: Vec::new(),
            phase: String::new(),
            until: 0,
            last_acknowledged: [0; 2],
        }
    }

    /// Reads the seconds before this one, which is in this phase, at most some megabytes per call.
    pub fn read(&mut self, second: u64, phase: &str) {
        if self.draft.is_none() {
            self.draft = store::read_draft(&self.directory).and_then(|draft| match draft {
                Record::Run(draft) => Some(draft),
                _ => None,
            });
        }
        for written in self.tail.read() {
            match written {
                // The load phase numbers its own seconds.
                Written::Line(line) if line.phase == LOAD => {}
                Written::Line(line) if self.waiting.len() < WAITING_MAX => self.waiting.push(line),
                Written::Line(_) => {}
                Written::Intervention(done) => self.interventions.push(done),
            }
        }
        let lines = std::mem::take(&mut self.waiting).into_iter();
        let (over, waiting): (Vec<_>, Vec<_>) = lines.partition(|line| line.second < second);
        self.waiting = waiting;
        self.until = if self.tail.is_behind() {
            let last = over.iter().map(|line| line.second).max();
            last.map_or(self.until, |last| self.until.max(last))
        } else {
            second
        };
        self.note_shared(&over);
        for line in over {
            if !self.shared.contains(&line.second) {
                self.add(line);
            }
        }
        phase.clone_into(&mut self.phase);
        // Seconds in which nothing begins or ends, as in an outage, are not in the journal.
        if !self.is_behind() && second > 0 && self.journaled.seconds.contains_key(phase) {
            self.journaled.see(phase, second - 1);
        }
    }

    /// Failed ops so far by cause, most frequent first, each with the second in which it was seen last.
    pub fn failures(&self) -> Vec<(FailureRecord, u64)> {
        self.journaled.failures()
    }

    /// The seconds before this one have been read.
    pub const fn until(&self) -> u64 {
        self.until
    }

    /// Whether more was written than the last call of [`Self::read`] returned; if so, call it again at
    /// once.
    pub const fn is_behind(&self) -> bool {
        self.tail.is_behind()
    }

    fn note_shared(&mut self, lines: &[JournalLine]) {
        let mut phases: BTreeMap<u64, &str> = BTreeMap::new();
        for line in lines {
            let phase = phases.entry(line.second).or_insert(&line.phase);
            if *phase != line.phase {
                self.shared.insert(line.second);
            }
        }
    }

    fn add(&mut self, line: JournalLine) {
        let delta = delta_of(&line);
        // After the end of a phase, its last ops still finish, but none is intended.
        if delta.offered > 0 {
            self.journaled.see(&line.phase, line.second);
        }
        let [last, acknowledged] = &mut self.last_acknowledged;
        if delta.acknowledged > 0 && line.second >= *last {
            let before = if line.second == *last { *acknowledged } else { 0 };
            [*last, *acknowledged] = [line.second, before + delta.acknowledged];
        }
        self.journaled.add(&[line.phase, line.stream, line.op], &delta);
    }

    /// The interim record with its judgments and the telemetry of target and host; absent before the target has
    /// responded.
    pub fn record(&self, telemetry: &TargetTelemetry) -> Option<RunRecord> {
        let mut record = RunRecord::clone(self.draft.as_ref()?);
        self.journaled.fill(&mut record);
        record.interventions.clone_from(&self.interventions);
        let RunRecord { streams, plan, .. } = &mut record;
        for stream in streams {
            planned(stream, &plan.definition, &self.interventions);
        }
        self.add_due(&mut record);
        record.target.hosts = super::hosts_at(record.target.urls.clone());
        record.target_telemetry = (!telemetry.times_ns.is_empty()).then(|| telemetry.clone());
        // An objective that cannot be judged yet counts as missed, which does not indicate any limit.
        record.judgments.objective.value = ObjectiveValue::NotDecided;
        record.limit = analysis::limit(&record);
        record.judgments = analysis::judge(&record);
        leave_windows_to_the_end(&mut record.judgments);
        Some(record)
    }
}

impl SoFar {
    /// Counts the ops of the current phase that are due and wait for a session as offered, and their waiting so far as
    /// their latency: the journal has them when they begin, and their latency when they end. Otherwise an outage looks
    /// as if the load generator fell short, and the last objectives remain met.
    fn add_due(&self, record: &mut RunRecord) {
        let plan = &record.plan.definition;
        let Some(phase) = record.phases.iter().find(|phase| phase.name == self.phase) else {
            return;
        };
        let duration = Nanos(phase.duration_ns);
        for stream in record.streams.iter().filter(|stream| stream.phase == self.phase) {
            let planned = plan.streams.iter().find(|planned| planned.name == stream.stream);
            let (Some(planned), Some(per_s)) = (planned, stream.planned_rate) else {
                continue;
            };
            let is_of_stream = |result: &&mut ResultRecord| {
                result.phase == stream.phase && result.stream == stream.stream
            };
            let ops_per_s = per_s / to_f64(planned.units_per_op.max(1));
            let due = round_to_u64(ops_per_s * duration.as_secs_f64());
            let results = record.results.iter_mut().filter(is_of_stream);
            let [offered, ended] = results.fold([0, 0], |[offered, ended], of| {
                let failed: u64 = of.errors.values().sum();
                [offered + of.offered, ended + of.acknowledged + of.dropped + failed]
            });
            // If the target responds and sessions are free, it is the load generator that does not start them.
            let is_busy = offered.saturating_sub(ended) >= u64::from(stream.sessions);
            let [last, acknowledged] = self.last_acknowledged;
            let is_silent = self.until > last + 1 || to_f64(acknowledged) < ops_per_s / 2.0;
            if let Some(result) = record.results.iter_mut().find(is_of_stream)
                && (is_busy || is_silent)
            {
                let waiting = due.saturating_sub(offered);
                result.offered += waiting;
                result.backlog |= waiting > offered / 2;
                add_waiting(result, ops_per_s, due.saturating_sub(ended));
            }
        }
    }
}

/// Adds ops that have not ended to the latencies of a result, each with its waiting so far. The latest that are due
/// are taken, so that no op is older than counted.
fn add_waiting(result: &mut ResultRecord, ops_per_s: f64, waiting: u64) {
    let Ok(mut latency) = LatencyHistogram::decode(&result.histograms.latency) else {
        return;
    };
    let mut left = waiting;
    let mut per_second = (0_u64..).map(|age| (age, round_to_u64(ops_per_s).max(1)));
    while left > 0
        && let Some((age, ops)) = per_second.next()
    {
        // Younger ops are not late yet.
        if age > 0 {
            latency.record_n(Nanos::from_secs(age), left.min(ops));
        }
        left = left.saturating_sub(ops);
    }
    result.latency_ns = latency.summary();
    result.histograms.latency = latency.encode();
}

/// Reasons based on 100 ms windows, which are missing here.
const OF_WINDOWS: [ReasonCode; 3] =
    [ReasonCode::TooFewSamples, ReasonCode::SteadinessNotShown, ReasonCode::SteadinessRequired];

/// Removes from the judgments the reasons based on windows. If an objective is missed for no other reason, its judgment
/// becomes open, because it may still be met.
fn leave_windows_to_the_end(judgments: &mut Judgments) {
    let Judgments { measurement, objective, .. } = judgments;
    let before = measurement.reasons.len();
    let reasons = &mut measurement.reasons;
    reasons.retain(|reason| !OF_WINDOWS.contains(&reason.code));
    if before > 0 && reasons.iter().all(|reason| reason.code == ReasonCode::SharedHost) {
        measurement.value = Measurement::Valid;
    }
    let is_of_ops = |reason: &Reason| reason.code != ReasonCode::ObjectiveLatency;
    if objective.reasons.iter().any(is_of_ops) {
        objective.reasons.retain(is_of_ops);
    }
}

/// Sets a measured stream's pace to that of its phase.
fn planned(stream: &mut StreamRecord, plan: &Plan, interventions: &[InterventionRecord]) {
    let Some(position) = plan.streams.iter().position(|of| of.name == stream.stream) else {
        return;
    };
    if let Some(pace) = pace_in(plan, position, &stream.phase, interventions) {
        (stream.planned_rate, stream.sessions) = of_share(plan, position, pace);
    }
}

/// The pace of a stream in a phase: the plan's, or the last change.
fn pace_in(
    plan: &Plan,
    stream: usize,
    phase: &str,
    interventions: &[InterventionRecord],
) -> Option<Pace> {
    let planned = |name: &str| {
        let found = plan.phases.iter().find(|phase| phase.name == name)?;
        Some(plan.pace(stream, found.step))
    };
    if let Some(pace) = planned(phase) {
        return Some(pace);
    }
    let of_stream = |done: &&InterventionRecord| match &done.change {
        Change::Pace { stream: name, .. } => *name == plan.streams[stream].name,
        _ => false,
    };
    // Up to the change that began the phase, for any stream.
    let last = interventions.iter().rposition(|done| done.phase == phase);
    let until = interventions.get(..=last?)?;
    match until.iter().rfind(of_stream).map(|done| &done.change) {
        Some(Change::Pace { to, .. }) => Some(*to),
        _ => planned(phase.rsplit_once('-')?.0),
    }
}

/// A running run.
#[derive(Debug)]
pub struct ReportsSoFar {
    directory: PathBuf,
    tail: ReportTail,
    has_begun: bool,
    has_ended: bool,
}

impl ReportsSoFar {
    /// The run in this directory; reads nothing yet.
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            tail: store::report_tail(directory),
            has_begun: false,
            has_ended: false,
        }
    }

    /// Whether more was written than the last call of [`Self::read`] returned.
    pub const fn is_behind(&self) -> bool {
        self.tail.is_behind()
    }

    /// New reports with their wall-clock times, at most some megabytes.
    pub fn read(&mut self) -> Vec<(Nanos, JournalReport)> {
        // The file is removed after its last line; open handles can still read it.
        let is_gone = store::has_record(&self.directory) && !store::has_reports(&self.directory);
        let mut read = self.tail.read();
        for (_, reported) in &mut read {
            self.place(reported);
        }
        if is_gone && !self.has_ended && !self.tail.is_behind() {
            let at = read.last().map_or(Nanos::ZERO, |(at, _)| *at);
            let record = super::read(&self.directory).ok().and_then(Record::into_run);
            let made = record.map(|record| self.begin_and_end(&record)).into_iter().flatten();
            read.extend(made.map(|event| (at, JournalReport::Event(Box::new(event)))));
            self.has_ended = true;
        }
        read
    }

    /// The running process may use another path to its directory.
    fn place(&mut self, reported: &mut JournalReport) {
        let JournalReport::Event(event) = reported else {
            return;
        };
        let seen = match event.as_mut() {
            Event::Begun { directory, .. } => (&mut self.has_begun, directory),
            Event::Ended { directory, .. } => (&mut self.has_ended, directory),
            _ => return,
        };
        *seen.0 = true;
        *seen.1 = self.directory.display().to_string();
    }

    /// The missing start and end events, from the record.
    fn begin_and_end(&self, record: &RunRecord) -> Vec<Event> {
        let plan = &record.plan.definition;
        let begun = (!self.has_begun).then(|| Event::Begun {
            directory: self.directory.display().to_string(),
            workload: plan.workload.name.clone(),
            urls: record.target.urls.clone(),
            target: record.target.version.clone(),
            simulated: record.target.simulated,
            phases: plan.phases.clone(),
            objectives: plan.objectives.clone(),
            settings_file: record.header.settings_file.clone(),
        });
        let ended = Event::Ended {
            directory: self.directory.display().to_string(),
            judgments: RecordRef::from(record).judgments().clone(),
            rows_found: record.audit.rows_found(),
        };
        begun.into_iter().chain([ended]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_of_seconds_is_kept_in_as_many_sums_as_an_hour() {
        let mut journaled = JournalCounts::default();
        let names = |op: &str| ["measure", "insert", op].map(str::to_owned);
        for second in 0..86_400 {
            let mut delta = IntervalDelta::new(second, 0);
            (delta.offered, delta.acknowledged, delta.errors) = (10, 9, 1);
            journaled.see("measure", second);
            journaled.add(&names("insert"), &delta);
            journaled.add(&names("upsert"), &delta);
        }
        assert_eq!(journaled.sums.len(), 2);
        assert_eq!(journaled.seconds["measure"], [0, 86_399]);
        assert_eq!(journaled.sums[&names("insert")].0.offered, 864_000);
        assert_eq!(journaled.sums[&names("upsert")].1, [86_400, 0]);
    }
}
