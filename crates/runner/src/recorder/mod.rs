//! The recorder: one per executor thread, without locks; its counts are collected once a second.
//!
//! Latency belongs to the second and phase for which an op was *intended*, throughput to the second in which it
//! *finished*. Results are keyed by (phase, stream, op), so steps are never mixed. Failed and dropped ops rank as
//! infinite; failed ones also have a separate histogram. If the target acknowledged an op in part, the other rows rank
//! as infinite.
//!
//! Failed ops are counted by class, code, and message. Messages that differ only in their numbers count as one,
//! because a server quotes the key of each rejected row. Beyond a maximum number, further messages are counted
//! together.

mod intervals;
mod key_stats;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};
use highwater_model::plan::Objective;
use highwater_model::record::FailureRecord;
use highwater_model::units::Nanos;

use self::intervals::{EndedOp, WindowDeltas};

pub use intervals::{
    AcknowledgementMap, BoundedTimes, Gap, GapSearch, IntervalDelta, Intervals, MILLIS_PER_MAP,
    WINDOWS_PER_SECOND, WindowCounts, WindowDelta,
};
pub(crate) use key_stats::PhaseKeys;
pub use key_stats::{ClassErrors, KeyStats, RowWait};

/// An op that has ended, with its times.
#[derive(Debug)]
pub struct FinishedOp<'a> {
    /// Position in the recorder's keys.
    pub key: usize,
    /// Its intended time; in closed load, when it was sent.
    pub intended: Nanos,
    /// Whether it was sent because its session was idle (closed load).
    pub closed: bool,
    /// When its session became idle.
    pub free: Nanos,
    /// When it was sent.
    pub started: Nanos,
    /// When its response was complete, or it timed out.
    pub finished: Nanos,
    /// Start of its phase.
    pub phase_start: Nanos,
    /// The key and the start of the phase in which it finished; `None` in the drain.
    pub finished_in: Option<(usize, Nanos)>,
    /// Number of its rows.
    pub rows: u64,
    /// Number of retries.
    pub retries: u32,
    /// Its outcome.
    pub outcome: &'a Outcome,
}

impl FinishedOp<'_> {
    /// Client lag: the delay caused by the load generator.
    fn lag(&self) -> Nanos {
        let could_start = if self.closed { self.free } else { self.intended.max(self.free) };
        self.started.saturating_sub(could_start)
    }

    fn service(&self) -> Nanos {
        self.finished.saturating_sub(self.started)
    }

    /// Its latency as counted by percentiles; `None` if it ranks as infinite.
    fn ranked(&self) -> Option<Nanos> {
        let is_acknowledged = self.outcome.is_acknowledged();
        is_acknowledged.then(|| self.latency())
    }

    /// Time from its intended time to its end, whatever the outcome.
    fn latency(&self) -> Nanos {
        self.finished.saturating_sub(self.intended)
    }

    /// Rows that were not acknowledged.
    fn rows_failed(&self) -> u64 {
        let is_partial = self.outcome.is_partial();
        let missing = self.rows.saturating_sub(self.outcome.rows_applied);
        if is_partial { missing } else { 0 }
    }
}

/// Counts since the last collection.
#[derive(Debug)]
pub struct RecordedCounts {
    /// Counts of seconds, in order of their start.
    pub intervals: Vec<IntervalDelta>,
    /// The milliseconds with an acknowledgment.
    pub acknowledgements: Vec<AcknowledgementMap>,
    /// Counts per 100 ms, in the order of the keys.
    pub windows: Vec<WindowDelta>,
}

/// All measurements of one executor thread.
#[derive(Debug)]
pub struct Recorder {
    stats: Vec<Option<Box<KeyStats>>>,
    /// By key, for open load in rows: how the rows wait for their batch.
    keys: Vec<Option<RowWait>>,
    /// The source of keys that were added later.
    later: Option<PhaseKeys>,
    bounds: Vec<Objective>,
    intervals: Intervals,
    windows: WindowDeltas,
    acknowledgements: Vec<AcknowledgementMap>,
    origin: Nanos,
}

impl Recorder {
    /// A recorder for these keys, each with how its rows wait for their batch (for open load in rows).
    /// `objectives` are those of the plan; those that bound a latency are counted per window. Seconds count from
    /// `origin`.
    pub fn new(keys: Vec<Option<RowWait>>, objectives: &[Objective], origin: Nanos) -> Self {
        let bounds: Vec<Objective> = objectives
            .iter()
            .filter(|o| matches!(o, Objective::Latency { .. } | Objective::RowLatency { .. }))
            .cloned()
            .collect();
        Self {
            stats: keys.iter().map(|_| None).collect(),
            windows: WindowDeltas::new(keys.len(), bounds.len()),
            keys,
            later: None,
            bounds,
            intervals: Intervals::default(),
            acknowledgements: Vec::new(),
            origin,
        }
    }

    /// A recorder for the keys of a pass, including those that are added during it.
    pub(crate) fn of_pass(keys: PhaseKeys, objectives: &[Objective], origin: Nanos) -> Self {
        let recorder = Self::new(keys.all(), objectives, origin);
        Self { later: Some(keys), ..recorder }
    }

    /// Registers a key that was added later.
    fn know(&mut self, key: usize) {
        if key < self.keys.len() {
            return;
        }
        if let Some(later) = &self.later {
            self.keys = later.all();
            self.stats.resize_with(self.keys.len(), || None);
            self.windows.grow(self.keys.len());
        }
    }

    /// Records an op that was sent.
    pub fn record(&mut self, op: &FinishedOp<'_>) {
        self.know(op.key);
        let ranked = op.ranked();
        let row_wait = self.keys[op.key];
        let stats = stats_of(&mut self.stats, op.key);
        stats.offered += 1;
        stats.sent += 1;
        stats.retries += u64::from(op.retries);
        stats.unknown += u64::from(op.outcome.certainty == Certainty::Unknown);
        stats.session_wait.record(op.free.saturating_sub(op.intended));
        let lag = op.lag();
        stats.client_lag.record(lag);
        stats.note_rows(op.rows, op.outcome);
        stats.response_bytes += op.outcome.response_bytes;
        stats.response_rows += op.outcome.response_rows;
        if let Some(latency) = ranked {
            stats.acknowledged += 1;
            stats.rolled_back += u64::from(op.outcome.rolled_back);
            stats.latency.record(latency);
            if row_wait.is_some() {
                stats.note_rows_failed(latency, op.rows_failed());
            }
            if !op.closed {
                stats
                    .undelayed
                    .get_or_insert_with(KeyStats::histogram)
                    .record(latency.saturating_sub(lag));
            }
            stats.service.record(op.service());
        } else {
            stats.latency.record_beyond(1, op.latency());
        }
        stats.note_error(op.outcome, op.latency());
        if ranked.is_some() {
            self.note_acknowledged(op.finished);
        }
        self.note_end(op, ranked.is_some());
        let windows = self.windows.at(op.key);
        let offset = op.intended.saturating_sub(op.phase_start);
        if !op.closed {
            windows.offered.add(offset, 1);
        }
        let ended = EndedOp { latency: ranked, row_wait, rows_failed: op.rows_failed() };
        windows.count_over(offset, ended, &self.bounds);
        self.record_intervals(op, ranked);
    }

    /// Counts an op in the phase in which it ended, if any.
    fn note_end(&mut self, op: &FinishedOp<'_>, acknowledged: bool) {
        let Some((key, phase_start)) = op.finished_in else {
            return;
        };
        self.know(key);
        let answered = &mut stats_of(&mut self.stats, key).answered;
        let offset = op.finished.saturating_sub(phase_start);
        if acknowledged {
            answered.ops += 1;
            answered.rows += op.outcome.rows_applied;
            let windows = self.windows.at(key);
            windows.acknowledged.add(offset, 1);
            let missing = op.rows_failed();
            if missing > 0 {
                windows.missing.add(offset, u32::try_from(missing).unwrap_or(u32::MAX));
            }
        } else if !op.closed {
            self.windows.at(key).failed.add(offset, 1);
        }
    }

    fn record_intervals(&mut self, op: &FinishedOp<'_>, ranked: Option<Nanos>) {
        let due = self.intervals.at(op.intended.saturating_sub(self.origin), op.key);
        due.offered += 1;
        due.sent += 1;
        due.rows_sent += op.rows;
        match ranked {
            Some(latency) => due.latency.record(latency),
            None => due.latency.record_beyond(1, op.latency()),
        }
        let finished = op.finished.saturating_sub(self.origin);
        let done = self.intervals.at(finished, op.key);
        done.lag.record(op.lag());
        if ranked.is_some() {
            done.acknowledge(finished, op.outcome.rows_applied);
            done.service.record(op.service());
        }
        if let Some(error) = &op.outcome.error {
            done.errors += 1;
            done.partial += u64::from(ranked.is_some());
            done.rejected += u64::from(error.class == ErrorClass::Rejected);
            done.failed[error.class as usize] += 1;
            done.failures.note(error, done.second);
        }
        match op.outcome.certainty {
            Certainty::Applied => {
                done.rows_acknowledged += op.outcome.rows_applied;
                done.rows_refused += op.outcome.rows_refused;
            }
            Certainty::NotApplied => done.rows_refused += op.rows,
            Certainty::Unknown => {}
        }
    }

    /// Records an op that was intended, and never sent until it was dropped.
    pub fn record_dropped(
        &mut self,
        key: usize,
        intended: Nanos,
        phase_start: Nanos,
        dropped: Nanos,
    ) {
        let waited = dropped.saturating_sub(intended);
        self.know(key);
        let row_wait = self.keys[key];
        let stats = stats_of(&mut self.stats, key);
        stats.offered += 1;
        stats.dropped += 1;
        stats.latency.record_beyond(1, waited);
        let windows = self.windows.at(key);
        let offset = intended.saturating_sub(phase_start);
        windows.offered.add(offset, 1);
        let ended = EndedOp { latency: None, row_wait, rows_failed: 0 };
        windows.count_over(offset, ended, &self.bounds);
        let due = self.intervals.at(intended.saturating_sub(self.origin), key);
        due.offered += 1;
        due.dropped += 1;
        due.latency.record_beyond(1, waited);
    }

    /// The counts since the last call.
    pub fn take(&mut self) -> RecordedCounts {
        RecordedCounts {
            intervals: self.intervals.take(),
            acknowledgements: std::mem::take(&mut self.acknowledgements),
            windows: self.windows.take(),
        }
    }

    /// The totals, by key, without the counts that [`Self::take`] returns. Computes row latencies from the
    /// ops' latencies.
    pub fn finish(mut self) -> Vec<Option<Box<KeyStats>>> {
        for (stats, wait) in self.stats.iter_mut().zip(&self.keys) {
            if let (Some(stats), Some(wait)) = (stats, wait) {
                let failed = stats.rows_failed.as_ref();
                stats.row_latency = Some(wait.row_latencies(&stats.latency, failed));
            }
        }
        self.stats
    }

    fn note_acknowledged(&mut self, at: Nanos) {
        let at = at.saturating_sub(self.origin);
        let second = at.0 / Nanos::SECOND.0;
        let maps = &mut self.acknowledgements;
        if maps.last().is_none_or(|last| last.second != second) {
            maps.push(AcknowledgementMap::new(second));
        }
        if let Some(last) = maps.last_mut() {
            last.note(at);
        }
    }
}

fn stats_of(stats: &mut [Option<Box<KeyStats>>], key: usize) -> &mut KeyStats {
    stats[key].get_or_insert_with(Box::default)
}

/// Maximum number of distinct messages kept per op.
const MESSAGES_MAX: usize = 20;
/// Maximum number of characters of a message.
const MESSAGE_MAX: usize = 300;
/// Represents all messages of a class beyond the maximum.
const OTHERS: &str = "other messages";

/// Class, code, and the message without its numbers.
type Kind = (ErrorClass, Option<String>, String);

/// The key of a failure: see the module.
#[derive(Debug, Clone, Default)]
pub struct Failures(BTreeMap<Kind, Seen>);

/// A count, and the time of the last occurrence.
#[derive(Debug, Clone, Default)]
struct Seen {
    count: u64,
    /// The first message.
    message: String,
    /// In seconds from the start of the run; 0 if not counted by second.
    last_s: u64,
}

impl Failures {
    /// Adds an op that ended in this second.
    fn note(&mut self, error: &OpError, second: u64) {
        let message: String = error.message.chars().take(MESSAGE_MAX).collect();
        let kind = (error.class, error.code.clone(), without_numbers(&message));
        self.add(kind, Seen { count: 1, message, last_s: second });
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (kind, seen) in &other.0 {
            self.add(kind.clone(), seen.clone());
        }
    }

    /// The counts of a second in a journal, without those of an unknown class.
    pub(crate) fn of_second(second: u64, records: &[FailureRecord]) -> Self {
        let mut failures = Self::default();
        for record in records {
            let mut classes = ErrorClass::ALL.into_iter();
            if let Some(class) = classes.find(|class| class.name() == record.class) {
                let kind = (class, record.code.clone(), without_numbers(&record.message));
                let (count, message) = (record.count, record.message.clone());
                failures.add(kind, Seen { count, message, last_s: second });
            }
        }
        failures
    }

    /// Number of ops by class.
    pub(crate) fn by_class(&self) -> BTreeMap<ErrorClass, u64> {
        let mut by_class = BTreeMap::new();
        for ((class, ..), seen) in &self.0 {
            *by_class.entry(*class).or_default() += seen.count;
        }
        by_class
    }

    fn add(&mut self, mut kind: Kind, seen: Seen) {
        let Seen { count, mut message, last_s } = seen;
        if !self.0.contains_key(&kind) && self.0.len() >= MESSAGES_MAX {
            OTHERS.clone_into(&mut message);
            kind = (kind.0, None, OTHERS.to_owned());
        }
        let entry = self.0.entry(kind);
        let known = entry.or_insert_with(|| Seen { message, ..Seen::default() });
        known.count += count;
        known.last_s = known.last_s.max(last_s);
    }

    /// The counts as stored in a record, most frequent first.
    pub(crate) fn records(&self) -> Vec<FailureRecord> {
        self.seen().into_iter().map(|(failure, _)| failure).collect()
    }

    /// The same, each with the second of its last occurrence.
    pub(crate) fn seen(&self) -> Vec<(FailureRecord, u64)> {
        let records = self.0.iter().map(|((class, code, _), seen)| {
            let record = FailureRecord {
                class: class.name().to_owned(),
                code: code.clone(),
                message: seen.message.clone(),
                count: seen.count,
                hint: None,
            };
            (record, seen.last_s)
        });
        let mut records: Vec<(FailureRecord, u64)> = records.collect();
        records.sort_by_key(|(failure, _)| std::cmp::Reverse(failure.count));
        records
    }
}

/// The text with each number replaced by one `#`.
fn without_numbers(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    for letter in text.chars() {
        if !letter.is_ascii_digit() {
            short.push(letter);
        } else if !short.ends_with('#') {
            short.push('#');
        }
    }
    short
}
