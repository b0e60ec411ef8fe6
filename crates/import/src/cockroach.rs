//! `cockroach workload run`: its printed lines and totals, or the histograms of `--histograms`.
//!
//! Its latency begins when an op is sent. It counts errors over all ops together, and only in its printed
//! output.

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::display;
use highwater_model::histogram::LatencyHistogram;
use highwater_model::numbers::to_f64;
use highwater_model::record::{ImportedPace, LatencyBegin, MissingField};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use serde::Deserialize;

use super::imported_run::{ImportedRun, ParsedLatency, ParsedOp};
use super::importer::{OutputReader, wrong_file, wrong_line};
use super::timeline::{Average, Averages, count, millis, nanos, number};

pub(super) const TOOL: &str = "cockroach workload";
const HINT: &str = "give what `cockroach workload run` printed, to its last line";
/// The head of a line at an interval, of the totals of each op, and of all ops.
const TICK: &str = "ops/sec(inst)";
const TOTAL: &str = "__total";
const RESULT: &str = "__result";
const ELAPSED: &str = "_elapsed___errors";
/// Percentiles of a total, after its mean.
const TIMES: [&str; 5] = ["mean", "p50", "p95", "p99", "max"];

/// A run of the tool, from either output.
fn empty_run() -> ImportedRun {
    ImportedRun {
        pace: ImportedPace::Closed,
        begin: LatencyBegin::Sent,
        notes: vec![
            "one op is one operation of its workload, whatever number of rows it has".to_owned(),
        ],
        ..ImportedRun::new(TOOL)
    }
}

/// The kind of the lines below a head.
#[derive(Clone, Copy, Default, PartialEq)]
enum Below {
    #[default]
    Nothing,
    Ticks,
    Totals,
    Result,
}

/// All lines so far.
#[derive(Default)]
pub(super) struct Reader {
    below: Below,
    lines: Averages,
    tick: Average,
    /// The lines of a tick, one for each op.
    in_tick: usize,
    errors: u64,
    seconds: f64,
    ops: Vec<ParsedOp>,
    has_result: bool,
}

/// Whether a file contains its printed output.
pub(super) fn is_output(head: &str) -> bool {
    head.lines().any(|line| line.starts_with(ELAPSED))
}

impl Reader {
    fn read(&mut self, line: &str) -> Option<()> {
        if line.starts_with(ELAPSED) {
            self.below = match line {
                _ if line.contains(TICK) => Below::Ticks,
                _ if line.contains(TOTAL) => Below::Totals,
                _ if line.contains(RESULT) => Below::Result,
                _ => return None,
            };
            return Some(());
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(elapsed) = words.first().and_then(|word| number(word.strip_suffix('s')?)) else {
            // Log messages may appear between its lines.
            return Some(());
        };
        let errors = count(words.get(1)?)?;
        match self.below {
            Below::Nothing => return None,
            Below::Ticks => self.tick(elapsed, errors, words.get(2..)?)?,
            Below::Totals => self.ops.push(total(words.get(2..)?)?),
            Below::Result => self.has_result = true,
        }
        (self.seconds, self.errors) = (elapsed, errors);
        Some(())
    }

    /// Instantaneous rate, cumulative rate, p50, p95, p99, maximum, op.
    fn tick(&mut self, elapsed: f64, errors: u64, rest: &[&str]) -> Option<()> {
        let [per_s, _, p50, _, p99, ..] = rest else { return None };
        if elapsed > self.tick.end_s {
            self.end_tick()?;
            let length = elapsed - self.lines.end_s;
            let failed = errors.checked_sub(self.errors)?;
            self.tick = Average {
                end_s: elapsed,
                errors_per_s: to_f64(failed) / length,
                p50_ns: Some(millis(p50)?.0),
                p99_ns: Some(millis(p99)?.0),
                ..Average::default()
            };
            self.in_tick = 0;
        }
        self.in_tick += 1;
        if self.in_tick > 1 {
            // Percentiles of several ops cannot be combined.
            (self.tick.p50_ns, self.tick.p99_ns) = (None, None);
        }
        self.tick.ops_per_s += number(per_s)?;
        Some(())
    }

    fn end_tick(&mut self) -> Option<()> {
        if self.in_tick == 0 {
            return Some(());
        }
        let tick = std::mem::take(&mut self.tick);
        self.in_tick = 0;
        self.lines.note(&tick).then_some(())
    }
}

/// Ops, rate, mean, p50, p95, p99, maximum, op.
fn total(rest: &[&str]) -> Option<ParsedOp> {
    let [ops, per_s, times @ ..] = rest else { return None };
    let (ops, per_s) = (count(ops)?, number(per_s)?);
    let mut figures: Vec<(&str, Option<u64>)> = Vec::new();
    for (name, text) in TIMES.iter().zip(times) {
        figures.push((name, Some(millis(text)?.0)));
    }
    let name = times.get(TIMES.len()..)?.join(" ");
    Some(ParsedOp {
        name,
        ops_per_s: Some(per_s),
        latency: ParsedLatency::figures(ops, 0, &figures),
        ..ParsedOp::acknowledged(ops)
    })
}

impl OutputReader for Reader {
    fn line(&mut self, line: &str) -> Result<(), UserError> {
        self.read(line)
            .ok_or_else(|| wrong_line(line, 0..line.len(), "this line cannot be read", HINT))
    }

    fn end(mut self: Box<Self>) -> Result<ImportedRun, UserError> {
        if self.end_tick().is_none()
            || self.ops.is_empty()
            || self.seconds <= 0.0
            || !self.has_result
        {
            let message = "its totals (`__total` and `__result`) are missing: it was cut";
            return Err(wrong_file(message, HINT));
        }
        let mut run = empty_run();
        match &mut self.ops[..] {
            [only] if self.errors > 0 => {
                only.sent += self.errors;
                only.errors.insert("failed".to_owned(), self.errors);
            }
            _ if self.errors > 0 => {
                let errors = display::count(self.errors);
                run.notes.push(format!("{errors} ops failed, which it does not count by op"));
                run.missing_fields.insert(MissingField::Errors);
            }
            _ => {}
        }
        run.notes.extend(self.lines.notes());
        Ok(ImportedRun {
            duration: nanos(self.seconds, 1_000_000_000),
            ops: self.ops,
            intervals: self.lines.intervals,
            ..run
        })
    }
}

/// Maximum number of counts in a histogram: six digits over 64 bits have fewer.
const COUNTS_MAX: usize = 1 << 27;
const JSON_HINT: &str = "give the file of `cockroach workload run --histograms FILE`";

/// A line of the file of histograms: an op in an interval.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Interval {
    name: String,
    hist: Snapshot,
    /// Nanoseconds.
    elapsed: u64,
    now: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Snapshot {
    lowest_trackable_value: u64,
    significant_figures: u32,
    #[serde(default)]
    counts: Vec<u64>,
}

impl Snapshot {
    /// Each value with its count, by the layout of `HdrHistogram`'s counts: linear buckets of half the resolution, each
    /// as wide as all before it. Absent if the resolution is impossible.
    fn values(&self) -> Option<impl Iterator<Item = (Nanos, u64)>> {
        if !(1..=5).contains(&self.significant_figures) || self.counts.len() > COUNTS_MAX {
            return None;
        }
        let half = (2 * 10_u64.pow(self.significant_figures)).next_power_of_two() / 2;
        let unit = self.lowest_trackable_value.max(1).ilog2();
        let filled = (0_u64..).zip(&self.counts).filter(|(_, count)| **count > 0);
        Some(filled.filter_map(move |(index, count)| {
            let bucket = u32::try_from(index / half).ok()?.saturating_sub(1);
            let within = index - u64::from(bucket) * half;
            let width = 1_u64.checked_shl(unit.checked_add(bucket)?)?;
            // The middle of the values that are counted together.
            Some((Nanos(within.checked_mul(width)?.checked_add(width / 2)?), *count))
        }))
    }
}

/// All lines so far.
#[derive(Default)]
pub(super) struct JsonReader {
    ops: BTreeMap<String, LatencyHistogram>,
    lines: Averages,
    /// The time of the interval that is being read, its seconds, and its ops.
    interval: Option<(String, f64, u64)>,
}

/// Whether a file begins with a histogram.
pub(super) fn is_histograms(head: &str) -> bool {
    let first = head.lines().next().unwrap_or_default();
    first.starts_with('{')
        && ["\"Hist\"", "\"Elapsed\"", "\"SignificantFigures\""].iter().all(|of| first.contains(of))
}

impl JsonReader {
    fn read(&mut self, line: &str) -> Option<()> {
        let Interval { name, hist, elapsed, now } = serde_json::from_str(line).ok()?;
        let seconds = to_f64(elapsed) / 1e9;
        let histogram = self.ops.entry(name).or_insert_with(LatencyHistogram::fine);
        let mut ops = 0_u64;
        for (value, count) in hist.values()? {
            histogram.record_n(value, count);
            ops = ops.checked_add(count)?;
        }
        match &mut self.interval {
            Some((time, _, so_far)) if *time == now => *so_far += ops,
            _ => {
                self.end_interval()?;
                self.interval = Some((now, seconds, ops));
            }
        }
        Some(())
    }

    fn end_interval(&mut self) -> Option<()> {
        let Some((_, seconds, ops)) = self.interval.take() else {
            return Some(());
        };
        let average = Average {
            end_s: self.lines.end_s + seconds,
            ops_per_s: to_f64(ops) / seconds,
            ..Average::default()
        };
        self.lines.note(&average).then_some(())
    }
}

impl OutputReader for JsonReader {
    fn line(&mut self, line: &str) -> Result<(), UserError> {
        if line.trim().is_empty() {
            return Ok(());
        }
        self.read(line)
            .ok_or_else(|| wrong_line(line, 0..line.len(), "this line cannot be read", JSON_HINT))
    }

    fn end(mut self: Box<Self>) -> Result<ImportedRun, UserError> {
        let wrong = || wrong_file("it holds no op", JSON_HINT);
        self.end_interval().ok_or_else(wrong)?;
        self.ops.retain(|_, histogram| histogram.count() > 0);
        if self.ops.is_empty() {
            return Err(wrong());
        }
        let mut run = empty_run();
        run.notes.push("its histograms have the digits that it states, often one".to_owned());
        run.missing_fields = BTreeSet::from([MissingField::Errors]);
        run.duration = nanos(self.lines.end_s, 1_000_000_000);
        run.intervals = self.lines.intervals;
        let ops = self.ops.into_iter().map(|(name, histogram)| ParsedOp {
            name,
            latency: ParsedLatency::full(&histogram, None, None),
            ..ParsedOp::acknowledged(histogram.count())
        });
        run.ops = ops.collect();
        Ok(run)
    }
}
