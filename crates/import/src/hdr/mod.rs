//! HdrHistogram's own files: interval logs (`.hlog`), and printed percentiles (`.hgrm`).
//!
//! Neither describes what was counted, or the load. A log has distributions, and mostly a start time; a percentile file
//! has only the printed rows.

mod log;

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::import_record::MissingField;
use highwater_model::numbers::{ceil_to_u64, to_f64};
use highwater_model::user_error::UserError;

use crate::averages::{TimeUnit, count, nanos, number};
use crate::imported_run::{ImportedRun, ParsedLatency, ParsedOp};
use crate::output_reader::{OutputReader, wrong_file, wrong_line};

pub(super) use log::{Reader as LogReader, is_log};

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
