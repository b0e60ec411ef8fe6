//! The seconds of a record: from ops with their times, or from lines at an interval, whose averages become seconds; and
//! the decimals and times in a unit that tools print.
//!
//! Ops can be added in any order; memory grows with the number of seconds, not with the number of ops.

use std::collections::BTreeMap;

use highwater_analysis::availability::{GAPS_KEPT, acknowledged_per_s, longest_first, of_gaps};
use highwater_model::histogram::{LatencyHistogram, Percentile};
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::record::{AvailabilityRecord, IntervalRecord, WINDOW_NS};
use highwater_model::units::{Nanos, Rate};

use super::imported_run::{ImportedRun, ParsedLatency, ParsedOp};

/// Maximum time from the first to the last op.
pub(super) const SPAN_MAX: Nanos = Nanos::from_secs(48 * 3_600);
/// Maximum number of different ops in an output.
pub(super) const OPS_MAX: usize = 64;
/// Length of the cells in which acknowledged ops are counted.
const CELL_NS: u64 = 10_000_000;
const MILLI_NS: u64 = 1_000_000;
/// 64-bit words for the milliseconds of a second.
const WORDS: usize = 16;

/// One op as logged.
pub(super) struct Event {
    /// Intended start, since 1970.
    pub(super) intended: Nanos,
    /// Time of the response, or when the op was abandoned.
    pub(super) finished: Nanos,
    /// Time before it was sent; absent if not reported.
    pub(super) waited: Option<Nanos>,
    pub(super) outcome: ParsedOutcome,
    pub(super) retries: u64,
}

/// The outcome of an op.
pub(super) enum ParsedOutcome {
    Acknowledged,
    /// Class, and the tool's text for it.
    Failed(String, String),
    Dropped,
}

/// All ops so far.
#[derive(Default)]
pub(super) struct OpTimeline {
    ops: BTreeMap<String, Op>,
    seconds: BTreeMap<u64, Second>,
    first: Option<Nanos>,
    last: Nanos,
}

#[derive(Default)]
struct Op {
    counts: ParsedOp,
    latency: Exact,
    service: Exact,
    seconds: BTreeMap<u64, OfSecond>,
}

/// A distribution with its exact mean and maximum.
struct Exact {
    histogram: LatencyHistogram,
    sum_ns: u128,
    max_ns: u64,
}

impl Default for Exact {
    fn default() -> Self {
        Self { histogram: LatencyHistogram::fine(), sum_ns: 0, max_ns: 0 }
    }
}

impl Exact {
    fn record(&mut self, latency: Nanos) {
        self.histogram.record(latency);
        self.sum_ns += u128::from(latency.0);
        self.max_ns = self.max_ns.max(latency.0);
    }

    fn parsed(&self) -> ParsedLatency {
        let count = u128::from(self.histogram.count() - self.histogram.beyond());
        let mean = (self.sum_ns + count / 2).checked_div(count);
        let mean = mean.and_then(|mean| u64::try_from(mean).ok());
        ParsedLatency::full(&self.histogram, mean, (count > 0).then_some(self.max_ns))
    }
}

/// One op in one second.
#[derive(Default)]
struct OfSecond {
    interval: IntervalRecord,
    cells: BTreeMap<u16, u32>,
    /// Ops by latency, as [`rounded`].
    latencies: BTreeMap<u64, u32>,
    beyond: u64,
    max_ns: u64,
}

/// The milliseconds of one second in which a response arrived.
type Second = [u64; WORDS];

impl OpTimeline {
    /// Adds an op; false if it is too far from the others, or if there are too many kinds of ops.
    #[must_use]
    pub(super) fn add(&mut self, name: &str, event: &Event) -> bool {
        let first = self.first.map_or(event.intended, |f| f.min(event.intended));
        let last = self.last.max(event.finished);
        if last.saturating_sub(first) > SPAN_MAX {
            return false;
        }
        if !self.ops.contains_key(name) {
            if self.ops.len() == OPS_MAX {
                return false;
            }
            self.ops.insert(name.to_owned(), Op::default());
        }
        (self.first, self.last) = (Some(first), last);
        if matches!(event.outcome, ParsedOutcome::Acknowledged) {
            let second = self.seconds.entry(second_of(event.finished)).or_default();
            let milli = within(event.finished, MILLI_NS);
            second[usize::from(milli / 64)] |= 1 << (milli % 64);
        }
        if let Some(op) = self.ops.get_mut(name) {
            op.add(event);
        }
        true
    }

    /// Whether no op was added.
    pub(super) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Ops by name.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.ops.keys().map(String::as_str)
    }

    /// Fills in ops, intervals, times, and availability; `names` renames ops.
    pub(super) fn write_to(self, run: &mut ImportedRun, names: &BTreeMap<String, String>) {
        let first = self.first.unwrap_or_default();
        let base = second_of(first);
        let origin = Nanos::from_secs(base);
        // Aligned to a cell, so that windows of 100 ms are sums of cells.
        let begin = first.0 - first.0 % CELL_NS;
        run.started = Some(origin);
        run.start = Nanos(begin).saturating_sub(origin);
        run.duration = self.last.saturating_sub(Nanos(begin));
        let windows = usize::try_from(run.duration.0 / WINDOW_NS).unwrap_or_default();
        run.intervals.clear();
        run.ops.clear();
        for (name, mut op) in self.ops {
            let name = names.get(&name).cloned().unwrap_or(name);
            op.counts.windows = op.windows(begin, windows);
            for (second, of) in op.seconds {
                run.intervals.push(of.interval(&name, second - base));
            }
            run.ops.push(ParsedOp {
                name,
                latency: op.latency.parsed(),
                service: op.service.parsed(),
                ..op.counts
            });
        }
        run.intervals.sort_by_key(|interval| interval.second);
        let gaps = gaps(&self.seconds, Nanos(begin), self.last, origin);
        run.availability = Some(availability(run, gaps));
    }
}

impl Op {
    fn add(&mut self, event: &Event) {
        let latency = event.finished.saturating_sub(event.intended);
        self.counts.retries += event.retries;
        let intended = self.second(event.intended);
        intended.interval.offered += 1;
        match &event.outcome {
            ParsedOutcome::Acknowledged => {
                intended.interval.sent += 1;
                intended.record(latency);
                self.counts.sent += 1;
                self.counts.acknowledged += 1;
                self.latency.record(latency);
                if let Some(waited) = event.waited {
                    self.service.record(latency.saturating_sub(waited));
                }
                let cell = within(event.finished, CELL_NS);
                let done = self.second(event.finished);
                done.interval.acknowledged += 1;
                *done.cells.entry(cell).or_default() += 1;
            }
            ParsedOutcome::Failed(class, word) => {
                intended.interval.sent += 1;
                self.counts.sent += 1;
                *self.counts.errors.entry(class.clone()).or_default() += 1;
                let examples = &mut self.counts.examples;
                examples.entry(class.clone()).or_insert_with(|| word.clone());
                self.second(event.finished).interval.errors += 1;
            }
            ParsedOutcome::Dropped => {
                intended.interval.dropped += 1;
                intended.beyond += 1;
                self.counts.dropped += 1;
                self.latency.histogram.record_beyond(1, Nanos::ZERO);
            }
        }
    }

    fn second(&mut self, at: Nanos) -> &mut OfSecond {
        self.seconds.entry(second_of(at)).or_default()
    }

    fn windows(&self, begin: u64, number: usize) -> Vec<u64> {
        let mut windows = vec![0_u64; number];
        for (second, of) in &self.seconds {
            for (cell, count) in &of.cells {
                let at = second * Nanos::SECOND.0 + u64::from(*cell) * CELL_NS;
                let window = at.saturating_sub(begin) / WINDOW_NS;
                let window = usize::try_from(window).ok();
                if let Some(sum) = window.and_then(|window| windows.get_mut(window)) {
                    *sum += u64::from(*count);
                }
            }
        }
        windows
    }
}

impl OfSecond {
    fn record(&mut self, latency: Nanos) {
        *self.latencies.entry(rounded(latency.0)).or_default() += 1;
        self.max_ns = self.max_ns.max(latency.0);
    }

    fn interval(&self, op: &str, second: u64) -> IntervalRecord {
        let mut histogram = LatencyHistogram::coarse();
        for (latency, count) in &self.latencies {
            histogram.record_n(Nanos(*latency), u64::from(*count));
        }
        histogram.record_beyond(self.beyond, Nanos::ZERO);
        // A second with an op that never ended has no maximum latency.
        let finite =
            |p: Option<Percentile>| p.filter(|p| !p.at_least).map(|p| p.ns.min(self.max_ns));
        IntervalRecord {
            second,
            op: op.to_owned(),
            p50_ns: finite(histogram.percentile(0.5)),
            p99_ns: finite(histogram.percentile(0.99)),
            max_ns: (self.beyond == 0 && self.max_ns > 0).then_some(self.max_ns),
            ..self.interval.clone()
        }
    }
}

const fn second_of(at: Nanos) -> u64 {
    at.0 / Nanos::SECOND.0
}

/// Index of the part of its second, for parts of `length_ns`, which is at least a millisecond.
fn within(at: Nanos, length_ns: u64) -> u16 {
    u16::try_from(at.0 % Nanos::SECOND.0 / length_ns).unwrap_or_default()
}

/// Number of bits of a latency kept after the highest one, for a precision of 1/128.
const MANTISSA_BITS: u32 = 7;

/// The largest latency that differs from this one only in dropped bits.
fn rounded(latency_ns: u64) -> u64 {
    let latency_ns = latency_ns.max(1);
    let lost = latency_ns.ilog2().saturating_sub(MANTISSA_BITS);
    latency_ns | ((1 << lost) - 1)
}

/// The longest times without a response, relative to `origin`, with millisecond precision.
fn gaps(seconds: &BTreeMap<u64, Second>, from: Nanos, to: Nanos, origin: Nanos) -> Vec<[u64; 2]> {
    let mut gaps: Vec<[u64; 2]> = Vec::new();
    let mut last = from.0 / MILLI_NS;
    let responses = seconds.iter().flat_map(|(second, of)| {
        let has_one = move |milli: &u16| of[usize::from(milli / 64)] >> (milli % 64) & 1 == 1;
        let millis = (0..1_000_u16).filter(has_one);
        millis.map(move |milli| second * 1_000 + u64::from(milli))
    });
    for until in responses.chain([to.0 / MILLI_NS]) {
        let length = until.saturating_sub(last) * MILLI_NS;
        if length > 0 {
            gaps.push([(last * MILLI_NS).saturating_sub(origin.0), length]);
        }
        if gaps.len() > 2 * GAPS_KEPT {
            longest_first(&mut gaps);
        }
        last = until + 1;
    }
    gaps
}

fn availability(run: &ImportedRun, gaps: Vec<[u64; 2]>) -> AvailabilityRecord {
    let phases = [run.phase("")];
    let per_s = acknowledged_per_s(&run.intervals, &phases);
    of_gaps(gaps, per_s, &phases, &[], &[])
}

/// Maximum seconds that are stored.
const SECONDS_MAX: f64 = 172_800.0;
/// Longer times do not count as one second.
const SECOND_MOST: f64 = 1.5;

/// One line.
#[derive(Debug, Clone, Default)]
pub(super) struct Average {
    /// End, seconds since the start.
    pub(super) end_s: f64,
    pub(super) ops_per_s: f64,
    pub(super) errors_per_s: f64,
    pub(super) dropped_per_s: f64,
    pub(super) p50_ns: Option<u64>,
    pub(super) p99_ns: Option<u64>,
}

/// All lines so far.
#[derive(Debug, Default)]
pub(super) struct Averages {
    pub(super) intervals: Vec<IntervalRecord>,
    /// The end of the last line, seconds since the start.
    pub(super) end_s: f64,
    /// Longest time of a line, in seconds.
    pub(super) longest_s: f64,
}

impl Averages {
    /// Adds a line; false if it does not follow the last one.
    #[must_use]
    pub(super) fn note(&mut self, line: &Average) -> bool {
        let length = line.end_s - self.end_s;
        if length <= 0.0 || line.end_s > SECONDS_MAX {
            return false;
        }
        self.longest_s = self.longest_s.max(length);
        let (from, to) = (round_to_u64(self.end_s), round_to_u64(line.end_s));
        // A first line that ends within half a second counts as a second.
        let to = to.max(from + 1);
        let total = |per_s: f64| per_s * length;
        let parts = to - from;
        for part in 0..parts {
            let share = |per_s: f64| {
                let until = |n: u64| round_to_u64(total(per_s) * to_f64(n) / to_f64(parts));
                until(part + 1) - until(part)
            };
            let [acknowledged, errors, dropped] =
                [line.ops_per_s, line.errors_per_s, line.dropped_per_s].map(share);
            self.intervals.push(IntervalRecord {
                second: from + part,
                offered: acknowledged + errors + dropped,
                sent: acknowledged + errors,
                acknowledged,
                errors,
                dropped,
                p50_ns: line.p50_ns,
                p99_ns: line.p99_ns,
                ..IntervalRecord::default()
            });
        }
        self.end_s = line.end_s;
        true
    }

    /// Note for the reader.
    pub(super) fn notes(&self) -> Option<String> {
        let seconds = round_to_u64(self.longest_s);
        (self.longest_s > SECOND_MOST).then(|| {
            format!(
                "the figures over time come from lines of {seconds} s each: every second shows their \
                 mean"
            )
        })
    }
}

/// Maximum characters of a number.
const LONGEST: usize = 40;

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// ns
    Nanoseconds,
    /// us
    Microseconds,
    /// ms
    Milliseconds,
    /// s
    Seconds,
}

impl TimeUnit {
    /// In the form of `--unit`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "ns" => Self::Nanoseconds,
            "us" | "µs" => Self::Microseconds,
            "ms" => Self::Milliseconds,
            "s" => Self::Seconds,
            _ => return None,
        })
    }

    /// Length in nanoseconds.
    pub const fn nanos(self) -> u64 {
        match self {
            Self::Nanoseconds => 1,
            Self::Microseconds => 1_000,
            Self::Milliseconds => 1_000_000,
            Self::Seconds => 1_000_000_000,
        }
    }
}

/// A number that is not negative.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if !plain || text.len() > LONGEST {
        return None;
    }
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// A whole number.
pub(super) fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    (digits && !text.is_empty()).then(|| text.parse().ok())?
}

/// `amount` of a unit of `unit_ns` nanoseconds.
pub(super) fn nanos(amount: f64, unit_ns: u64) -> Nanos {
    Nanos(round_to_u64(amount * to_f64(unit_ns)))
}

/// Milliseconds.
pub(super) fn millis(text: &str) -> Option<Nanos> {
    Some(nanos(number(text)?, 1_000_000))
}

/// Seconds.
pub(super) fn seconds(text: &str) -> Option<Nanos> {
    Some(nanos(number(text)?, 1_000_000_000))
}

/// Units per second; absent for 0.
pub(super) fn rate(per_s: f64) -> Option<Rate> {
    let micro_per_s = round_to_u64(per_s * 1e6);
    (micro_per_s > 0).then_some(Rate { micro_per_s })
}
