//! Percentiles as HdrHistogram prints them: `value percentile count 1/(1-percentile)`.

use crate::decimal::{TimeUnit, count, nanos, number};
use crate::error::ImportError;
use crate::imported_run::{ImportedRun, ParsedLatency, ParsedOp};
use crate::output_reader::OutputReader;
use highwater_model::import_record::MissingField;

use super::recorded_values::{empty_run, rank};

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
pub(crate) struct Reader {
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

impl Reader {
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

impl OutputReader for Reader {
    fn unit(&mut self, unit: Option<TimeUnit>) {
        self.unit = unit;
    }

    fn line(&mut self, line: &str) -> Result<(), ImportError> {
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
        read.ok_or_else(|| ImportError::new("this row cannot be read", HINT).at(0..line.len()))
    }

    fn end(self: Box<Self>) -> Result<ImportedRun, ImportError> {
        let Some(total) = self.total else {
            let message = "there is no `Total count`: it was cut";
            return Err(ImportError::new(message, HINT));
        };
        let Some(unit) = self.unit else {
            let message = "the file does not say the unit of its values";
            return Err(ImportError::new(message, UNIT_HINT));
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
