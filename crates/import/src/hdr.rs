//! HdrHistogram's own files: interval logs (`.hlog`), and printed percentiles (`.hgrm`).
//!
//! Neither describes what was counted, or the load. A log has distributions, and mostly a start time; a percentile file
//! has only the printed rows.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use highwater_model::display;
use highwater_model::histogram::{LatencyHistogram, decode_foreign};
use highwater_model::numbers::{ceil_to_u64, round_to_u64, to_f64};
use highwater_model::record::{IntervalRecord, LatencyBegin, MissingField};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::imported_run::{ImportedRun, ParsedLatency, ParsedOp};
use crate::importer::{OutputReader, wrong_file, wrong_line};
use crate::timeline::{TimeUnit, count, nanos, number};

pub(crate) const TOOL: &str = "HdrHistogram";

/// A run with the properties of both formats.
fn empty_run() -> ImportedRun {
    ImportedRun {
        missing_fields: BTreeSet::from([MissingField::Offered, MissingField::Errors]),
        notes: vec!["each value that was recorded counts as an acknowledged op".to_owned()],
        ..ImportedRun::new(TOOL)
    }
}

/// Number of values up to the quantile.
fn rank(quantile: f64, total: u64) -> u64 {
    ceil_to_u64(quantile * to_f64(total) * (1.0 - 4.0 * f64::EPSILON)).max(1)
}

/// The kind of time of a tag's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    /// From the intended start: the latency.
    Response,
    /// From the sending: the service time.
    Service,
    /// From the intended start to the sending.
    Wait,
}

/// Suffixes of tags for one of several times: those of cql-stress and its relatives, and of NoSQLBench.
const ENDS: [(&str, Measure); 6] = [
    ("rt", Measure::Response),
    ("st", Measure::Service),
    ("wt", Measure::Wait),
    ("responsetime", Measure::Response),
    ("servicetime", Measure::Service),
    ("waittime", Measure::Wait),
];
/// Prefix of YCSB's tags for intended times; the tag of the other time has the same name without it.
const INTENDED: &str = "Intended-";

/// The op of each of these tags, and the kind of its time. A single tag of an op becomes an op with its whole name and
/// no kind of time.
fn measures<'t>(
    tags: &(impl Iterator<Item = &'t str> + Clone),
) -> BTreeMap<String, (String, Option<Measure>)> {
    let parts = |tag: &'t str| {
        if let Some(op) = tag.strip_prefix(INTENDED) {
            return Some((op, Measure::Response));
        }
        let is_intended = |other: &str| other.strip_prefix(INTENDED) == Some(tag);
        if tags.clone().any(is_intended) {
            return Some((tag, Measure::Service));
        }
        let (op, end) = tag.rsplit_once(['-', '_', '.'])?;
        let (_, measure) = ENDS.iter().find(|(known, _)| *known == end)?;
        Some((op, *measure))
    };
    let several = |op: &str| {
        let mut measures =
            tags.clone().filter_map(parts).filter(|(of, _)| *of == op).map(|(_, measure)| measure);
        measures.clone().count() > 1 && measures.any(|measure| measure != Measure::Wait)
    };
    let measure = |tag: &'t str| match parts(tag).filter(|(op, _)| several(op)) {
        Some((op, measure)) => (tag.to_owned(), (op.to_owned(), Some(measure))),
        None => (tag.to_owned(), (tag.to_owned(), None)),
    };
    tags.clone().map(measure).collect()
}

/// Maximum number of rows in a file.
const ROWS_MAX: usize = 100_000;
const HINT: &str = "a row is `VALUE PERCENTILE COUNT 1/(1-PERCENTILE)`, as \
                    outputPercentileDistribution prints it";
const UNIT_HINT: &str = "say it with --unit ns, us, ms or s";
/// Percentiles of a record.
const NAMED: [(&str, f64); 6] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999), ("p9999", 0.9999)];

/// All rows so far.
#[derive(Default)]
pub(crate) struct PercentileReader {
    unit: Option<TimeUnit>,
    in_rows: bool,
    /// Value, and the number of values up to it.
    rows: Vec<(f64, u64)>,
    mean: Option<f64>,
    max: Option<f64>,
    total: Option<u64>,
}

/// Whether a file has the head of such rows.
pub(crate) fn is_percentiles(head: &str) -> bool {
    head.lines().any(is_head)
}

fn is_head(line: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
}

impl PercentileReader {
    /// `#[Mean = 2.270, StdDeviation = 2.036]`, `#[Max = 13.500, Total count = 1200]`.
    fn foot(&mut self, text: &str) -> Option<()> {
        for pair in text.trim_matches(['#', '[', ']']).split(',') {
            let (name, value) = pair.split_once('=')?;
            match name.trim() {
                "Mean" => self.mean = Some(number(value)?),
                "Max" => self.max = Some(number(value)?),
                "Total count" => self.total = Some(count(value)?),
                _ => {}
            }
        }
        Some(())
    }

    fn row(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [value, _, seen, ..] = words[..] else {
            return None;
        };
        if self.rows.len() == ROWS_MAX {
            return None;
        }
        self.rows.push((number(value)?, count(seen)?));
        Some(())
    }
}

impl OutputReader for PercentileReader {
    fn unit(&mut self, unit: Option<TimeUnit>) {
        self.unit = unit;
    }

    fn line(&mut self, line: &str) -> Result<(), UserError> {
        if is_head(line) {
            self.in_rows = true;
            return Ok(());
        }
        // Other tools print additional lines around the rows.
        if !self.in_rows || line.trim().is_empty() {
            return Ok(());
        }
        let read = if line.starts_with('#') {
            self.foot(line)
        } else if self.total.is_some() {
            Some(())
        } else {
            self.row(line)
        };
        read.ok_or_else(|| wrong_line(line, 0..line.len(), "this row cannot be read", HINT))
    }

    fn end(self: Box<Self>) -> Result<ImportedRun, UserError> {
        let Some(total) = self.total else {
            let message = "there is no `Total count`: it was cut";
            return Err(wrong_file(message, HINT));
        };
        let Some(unit) = self.unit else {
            let message = "the file does not say the unit of its values";
            return Err(wrong_file(message, UNIT_HINT));
        };
        let ns = |value: f64| nanos(value, unit.nanos()).0;
        // The first row with enough values below it: its value is the quantile or the next larger printed value.
        let at = |quantile: f64| {
            let least = rank(quantile, total);
            let row = self.rows.iter().find(|(_, seen)| *seen >= least);
            row.map(|(value, _)| ns(*value))
        };
        let mut figures: Vec<(&str, Option<u64>)> =
            NAMED.iter().map(|(name, quantile)| (*name, at(*quantile))).collect();
        figures.push(("mean", self.mean.map(ns)));
        figures.push(("max", self.max.map(ns)));
        let mut run = empty_run();
        run.missing_fields.insert(MissingField::Throughput);
        run.notes.push(
            "percentiles are those of the printed rows: where one lies between two, the upper one"
                .to_owned(),
        );
        run.ops = vec![ParsedOp {
            latency: ParsedLatency::figures(total, 0, &figures),
            ..ParsedOp::acknowledged(total)
        }];
        Ok(run)
    }
}

/// Maximum number of tags in a log.
const TAGS_MAX: usize = 64;
/// Maximum number of intervals in a log.
const INTERVALS_MAX: usize = 200_000;
/// Maximum number of seconds over which the values of one interval are spread.
const SPREAD_MAX: u64 = 172_800;
/// Longer intervals do not count as one second.
const SECOND_MOST_S: f64 = 1.5;
/// If times are more than this before the log's start, they are relative to it (rule of HdrHistogram's reader).
const YEAR_S: f64 = 31_536_000.0;
const LOG_HINT: &str = "a line is `[Tag=NAME,]START,LENGTH,GREATEST,PAYLOAD`, as HistogramLogWriter \
                    writes it";
const LOG_UNIT_HINT: &str = "say it with --unit ns, us, ms or s";

/// All lines so far.
#[derive(Default)]
pub(crate) struct LogReader {
    unit: Option<TimeUnit>,
    /// Unit that is named in a comment.
    said: Option<TimeUnit>,
    /// Whether every line prints its maximum divided by a million.
    in_millions: Option<bool>,
    start_s: Option<f64>,
    base_s: Option<f64>,
    tags: BTreeMap<String, Tag>,
    intervals: Vec<Interval>,
}

/// A distribution in the log's own unit.
struct Tag {
    values: Histogram<u64>,
    sum: f64,
}

struct Interval {
    tag: String,
    start_s: f64,
    length_s: f64,
    count: u64,
    p50: Option<u64>,
    p99: Option<u64>,
    max: u64,
}

/// Whether a file begins like a log.
pub(crate) fn is_log(head: &str) -> bool {
    head.lines().any(|line| {
        line.starts_with("#[Histogram log format version ")
            || line.starts_with("\"StartTimestamp\"")
    })
}

impl LogReader {
    fn comment(&mut self, text: &str) {
        let stamp = |name: &str| {
            let rest = text.strip_prefix(name)?;
            number(rest.trim_start().split(' ').next()?)
        };
        self.start_s = stamp("#[StartTime:").or(self.start_s);
        self.base_s = stamp("#[BaseTime:").or(self.base_s);
        let lower = text.to_lowercase();
        let units = [
            ("nanosecond", TimeUnit::Nanoseconds),
            ("microsecond", TimeUnit::Microseconds),
            ("millisecond", TimeUnit::Milliseconds),
        ];
        let said = units.iter().find(|(word, _)| lower.contains(word));
        self.said = said.map(|(_, unit)| *unit).or(self.said);
    }

    fn interval(&mut self, line: &str) -> Result<(), UserError> {
        let wrong = |message: &str| wrong_line(line, 0..line.len(), message, LOG_HINT);
        let (tag, rest) = match line.strip_prefix("Tag=") {
            Some(tagged) => tagged.split_once(',').ok_or_else(|| wrong("a tag and no more"))?,
            None => ("", line),
        };
        let parts: Vec<&str> = rest.split(',').collect();
        let [start, length, greatest, payload] = parts[..] else {
            return Err(wrong("not four figures"));
        };
        let figures = number(start).zip(number(length)).zip(number(greatest));
        let ((start_s, length_s), greatest) = figures.ok_or_else(|| wrong("no figure"))?;
        let values = decode_foreign(payload.trim()).map_err(|error| {
            let at = line.len() - payload.len();
            wrong_line(line, at..line.len(), error.to_string(), LOG_HINT)
        })?;
        if self.intervals.len() == INTERVALS_MAX
            || (self.tags.len() == TAGS_MAX && !self.tags.contains_key(tag))
        {
            return Err(wrong("too many intervals or tags"));
        }
        self.compare(values.max(), greatest);
        let quantile =
            |of: f64, least: u64| (values.len() >= least).then(|| values.value_at_quantile(of));
        self.intervals.push(Interval {
            tag: tag.to_owned(),
            start_s,
            length_s,
            count: values.len(),
            p50: quantile(0.5, 10),
            p99: quantile(0.99, 100),
            max: values.max(),
        });
        let sum = values.mean() * to_f64(values.len());
        if let Some(known) = self.tags.get_mut(tag) {
            known.sum += sum;
            if known.values.add(&values).is_err() {
                return Err(wrong("its histogram cannot be added to those before it"));
            }
            return Ok(());
        }
        let mut values = values;
        values.auto(true);
        self.tags.insert(tag.to_owned(), Tag { values, sum });
        Ok(())
    }

    /// Checks whether a line prints its maximum divided by a million. The divisor is only known within bounds, because
    /// the printed number is rounded and the bin of the value is up to 1% wide.
    fn compare(&mut self, max: u64, printed: f64) {
        if max == 0 || printed <= 0.0 {
            return;
        }
        let least = to_f64(max) / (printed + 0.000_6) * 0.99;
        let most = to_f64(max) / (printed - 0.000_6).max(1e-9) * 1.01;
        let fits = (least..=most).contains(&1e6);
        self.in_millions = Some(fits && self.in_millions.unwrap_or(true));
    }

    /// Its unit, and a note about it.
    fn settled_unit(&self) -> Result<(TimeUnit, Option<String>), UserError> {
        if let Some(unit) = self.unit.or(self.said) {
            return Ok((unit, None));
        }
        if self.in_millions == Some(true) {
            let note = "values were taken for nanoseconds, as the log prints them divided by \
                        1,000,000; --unit says otherwise";
            return Ok((TimeUnit::Nanoseconds, Some(note.to_owned())));
        }
        let message = "the log does not say the unit of its values";
        Err(wrong_file(message, LOG_UNIT_HINT))
    }

    /// Its ops, with the tags that hold their times.
    fn ops(&self) -> Vec<Op<'_>> {
        let mut measures = measures(&self.tags.keys().map(String::as_str));
        let mut ops: BTreeMap<String, Op<'_>> = BTreeMap::new();
        for tag in &self.tags {
            let (name, measure) = measures.remove(tag.0).unwrap_or_default();
            let op = ops.entry(name.clone()).or_default();
            op.name = name;
            match measure {
                None => op.only = Some(tag),
                Some(Measure::Response) => op.response = Some(tag),
                Some(Measure::Service) => op.service = Some(tag),
                Some(Measure::Wait) => {}
            }
        }
        ops.into_values().collect()
    }

    /// Zero of its times, in seconds since 1970; absent if it has no start.
    fn base(&self) -> Option<f64> {
        let first = self.intervals.first().map_or(0.0, |i| i.start_s);
        match (self.base_s, self.start_s) {
            (Some(base), _) => Some(base),
            (None, Some(start)) if first < start - YEAR_S => Some(start),
            (None, Some(_)) => Some(0.0),
            (None, None) => None,
        }
    }
}

impl OutputReader for LogReader {
    fn unit(&mut self, unit: Option<TimeUnit>) {
        self.unit = unit;
    }

    fn line(&mut self, line: &str) -> Result<(), UserError> {
        if line.starts_with('#') {
            self.comment(line);
            return Ok(());
        }
        if line.is_empty() || line.starts_with('"') {
            return Ok(());
        }
        self.interval(line)
    }

    fn end(self: Box<Self>) -> Result<ImportedRun, UserError> {
        if self.intervals.is_empty() {
            return Err(wrong_file("the log has no interval", LOG_HINT));
        }
        let (unit, note) = self.settled_unit()?;
        let mut run = empty_run();
        run.notes.extend(note);
        let base_s = self.base().unwrap_or(0.0);
        let starts = || self.intervals.iter().map(|i| base_s + i.start_s);
        let first_s = starts().fold(f64::INFINITY, f64::min);
        let last_s =
            self.intervals.iter().map(|i| base_s + i.start_s + i.length_s).fold(0.0, f64::max);
        let origin_s = first_s.floor();
        // The fractional seconds since 1970 are precise to microseconds only.
        let point = |s: f64| Nanos::from_micros(nanos(s, 1_000_000).0);
        run.started = self.base().map(|_| point(origin_s));
        run.start = point(first_s - origin_s);
        run.duration = point(last_s - first_s);
        let ops = self.ops();
        for interval in &self.intervals {
            // If an op has several times, its seconds come from its latency.
            if let Some(op) = ops.iter().find(|op| op.latency_tag() == Some(&interval.tag)) {
                let seconds = interval.seconds(base_s - origin_s, unit, &op.name);
                run.intervals.extend(seconds);
            }
        }
        run.intervals.sort_by_key(|interval| interval.second);
        let longest = self.intervals.iter().map(|i| i.length_s).fold(0.0, f64::max);
        if longest > SECOND_MOST_S {
            run.notes.push(format!(
                "the figures over time come from intervals of {} s: every second shows their mean",
                round_to_u64(longest)
            ));
        }
        if ops.iter().all(|op| op.response.is_some()) {
            run.begin = LatencyBegin::Intended;
        } else if ops.iter().all(|op| op.latency_tag() == op.service.map(|(tag, _)| tag)) {
            run.begin = LatencyBegin::Sent;
        }
        run.caveats.extend(ops.iter().filter_map(Op::contradiction));
        run.ops = ops.iter().filter_map(|op| op.parsed(unit)).collect();
        Ok(run)
    }
}

impl Interval {
    /// One second with its percentiles, or several seconds with the mean.
    fn seconds(&self, shift_s: f64, unit: TimeUnit, op: &str) -> Vec<IntervalRecord> {
        let from = round_to_u64(self.start_s + shift_s - 0.5 + 1e-9);
        let ns = |value: u64| value.saturating_mul(unit.nanos());
        let one = |second: u64, count: u64| IntervalRecord {
            second,
            op: op.to_owned(),
            offered: count,
            sent: count,
            acknowledged: count,
            ..IntervalRecord::default()
        };
        if self.length_s <= SECOND_MOST_S {
            return vec![IntervalRecord {
                p50_ns: self.p50.map(ns),
                p99_ns: self.p99.map(ns),
                max_ns: (self.count > 0).then(|| ns(self.max)),
                ..one(from, self.count)
            }];
        }
        let parts = round_to_u64(self.length_s).min(SPREAD_MAX);
        let until = |n: u64| u128::from(self.count) * u128::from(n) / u128::from(parts);
        let share = |n: u64| u64::try_from(until(n + 1) - until(n)).unwrap_or(u64::MAX);
        (0..parts).map(|n| one(from + n, share(n))).collect()
    }
}

/// An op, and the tags that hold its times.
#[derive(Default)]
struct Op<'a> {
    name: String,
    /// The only time, if its kind is unknown.
    only: Option<(&'a String, &'a Tag)>,
    response: Option<(&'a String, &'a Tag)>,
    service: Option<(&'a String, &'a Tag)>,
}

impl<'a> Op<'a> {
    fn latency(&self) -> Option<(&'a String, &'a Tag)> {
        self.response.or(self.only).or(self.service)
    }

    fn latency_tag(&self) -> Option<&'a String> {
        self.latency().map(|(tag, _)| tag)
    }

    /// Several times of an op must have equal counts.
    fn contradiction(&self) -> Option<String> {
        let ((of_all, all), (of_sent, sent)) = self.response.zip(self.service)?;
        let [all, sent] = [all, sent].map(|tag| tag.values.len());
        (all != sent).then(|| {
            let [all, sent] = [all, sent].map(display::count);
            format!("{of_all} holds {all} times, {of_sent} {sent}: a part of the log is missing")
        })
    }

    fn parsed(&self, unit: TimeUnit) -> Option<ParsedOp> {
        let (_, tag) = self.latency()?;
        let sent = self.service.filter(|_| self.response.is_some());
        Some(ParsedOp {
            name: self.name.clone(),
            latency: tag.latency(unit),
            service: sent.map(|(_, tag)| tag.latency(unit)).unwrap_or_default(),
            ..ParsedOp::acknowledged(tag.values.len())
        })
    }
}

impl Tag {
    fn latency(&self, unit: TimeUnit) -> ParsedLatency {
        let mut histogram = LatencyHistogram::fine();
        for bin in self.values.iter_recorded() {
            let value = bin.value_iterated_to().saturating_mul(unit.nanos());
            histogram.record_n(Nanos(value), bin.count_at_value());
        }
        let count = self.values.len();
        let mean = nanos(self.sum / to_f64(count.max(1)), unit.nanos()).0;
        let max = self.values.max().saturating_mul(unit.nanos());
        ParsedLatency::full(&histogram, Some(mean), Some(max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tags: &[&str], expected: &[(&str, Option<Measure>)]) {
        let found = measures(&tags.iter().copied());
        let found: Vec<_> = tags.iter().map(|tag| found[*tag].clone()).collect();
        let expected: Vec<_> = expected.iter().map(|(op, of)| ((*op).to_owned(), *of)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn times_of_one_op_are_one_op_in_the_names_of_several_tools() {
        let [response, service, wait] =
            [Measure::Response, Measure::Service, Measure::Wait].map(Some);
        check(
            &["READ-st", "READ-rt", "READ-wt", "WRITE-st", "WRITE-rt"],
            &[
                ("READ", service),
                ("READ", response),
                ("READ", wait),
                ("WRITE", service),
                ("WRITE", response),
            ],
        );
        check(
            &["main.cycles.servicetime", "main.cycles.responsetime"],
            &[("main.cycles", service), ("main.cycles", response)],
        );
        check(&["READ", "Intended-READ"], &[("READ", service), ("READ", response)]);
    }

    #[test]
    fn an_op_that_is_alone_keeps_its_name() {
        check(
            &["", "put", "north-st", "Intended-x", "wt"],
            &[("", None), ("put", None), ("north-st", None), ("Intended-x", None), ("wt", None)],
        );
    }
}
