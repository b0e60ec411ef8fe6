//! nodeIngestBench: its options, and the results of all processes together.
//!
//! It counts failed requests as done, and measures no latency.

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::display;
use highwater_model::numbers::to_f64;
use highwater_model::plan::Unit;
use highwater_model::record::{ImportedPace, MissingField};
use highwater_model::user_error::UserError;

use super::imported_run::{ImportedRun, ParsedOp};
use super::importer::{OutputReader, wrong_file};
use super::timeline::{count, nanos, number};

pub(super) const TOOL: &str = "nodeIngestBench";
const HINT: &str = "give what it printed, with its options and its global results";
const RESULTS: &str = "-------- Global Results ---------";
/// Settings that define the workload.
const OPTIONS: [&str; 7] = [
    "batchSize",
    "concurrentRequests",
    "extraTagsLength",
    "processes",
    "replicas",
    "shards",
    "table",
];
/// Seconds, rows, and rows per second: the text before and after each.
const FIGURES: [(&str, &str); 3] =
    [("Time\t", " s"), ("Rows\t", " records"), ("Speed\t", " rows per sec")];
/// Tolerance, because rate and time are rounded to three decimals or to whole numbers.
const ROUNDED: f64 = 0.01;

/// All lines so far.
#[derive(Default)]
pub(super) struct Reader {
    options: BTreeMap<String, String>,
    in_results: bool,
    /// In the order of [`FIGURES`], as printed.
    figures: [Option<String>; 3],
    nothing: bool,
    errors: u64,
}

/// Whether a file holds its output.
pub(super) fn is_output(head: &str) -> bool {
    head.contains("Ingest Bench Master started") || head.lines().any(|line| line == RESULTS)
}

impl Reader {
    fn option(&self, name: &str) -> Option<u64> {
        count(self.options.get(name)?)
    }

    /// Seconds, rows, and rows per second, parsed with the number format in which they are consistent.
    fn figures(&self) -> Option<(f64, f64, f64)> {
        [',', '.', '\u{a0}', '\u{202f}'].iter().find_map(|group| {
            let read = |text: &Option<String>| {
                let plain = text.as_ref()?.replace(*group, "").replace(',', ".");
                number(&plain)
            };
            let [time, rows, speed] = self.figures.each_ref().map(read);
            let (time, rows, speed) = (time?, rows?, speed?);
            let fits = (rows / time / speed - 1.0).abs() <= ROUNDED;
            fits.then_some((time, rows, speed))
        })
    }
}

impl OutputReader for Reader {
    fn line(&mut self, line: &str) -> Result<(), UserError> {
        let text = line.trim();
        self.in_results |= text == RESULTS;
        if let Some((name, value)) = text.split_once(": ")
            && OPTIONS.contains(&name)
        {
            let value = value.trim_end_matches(',').trim_matches('\'');
            self.options.insert(name.to_owned(), value.to_owned());
        }
        self.errors += u64::from(text.starts_with("Error") || text.contains("error: {"));
        if !self.in_results {
            return Ok(());
        }
        self.nothing |= text == "No rows inserted";
        for (figure, (before, behind)) in self.figures.iter_mut().zip(FIGURES) {
            let value = text.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
            *figure = value.map(|value| value.trim().to_owned()).or(figure.take());
        }
        Ok(())
    }

    fn end(self: Box<Self>) -> Result<ImportedRun, UserError> {
        if self.nothing {
            let message = "no rows were inserted";
            return Err(wrong_file(message, "look at its errors"));
        }
        let Some((time, rows, speed)) = self.figures() else {
            let message = "time, rows and speed are not there, or do not fit each other";
            return Err(wrong_file(message, HINT));
        };
        let batch = self.option("batchSize");
        let sessions = self.option("concurrentRequests");
        let sessions = sessions
            .zip(self.option("processes"))
            .map(|(requests, processes)| requests.saturating_mul(processes));
        let per_op = batch.unwrap_or(1).max(1);
        let ops = highwater_model::numbers::round_to_u64(rows) / per_op;
        let mut notes = vec![
            "it counts failed requests as done: its rows are the most that there can be".to_owned(),
            "it sends the same batch of rows again and again".to_owned(),
        ];
        if batch.is_none() {
            notes.push("the batch size is not reported: an op stands for one row".to_owned());
        }
        let errors = (self.errors > 0).then(|| {
            let errors = display::count(self.errors);
            format!("{errors} lines of its output are errors, which it counts as done")
        });
        Ok(ImportedRun {
            unit: Unit::Rows,
            units_per_op: per_op,
            pace: ImportedPace::Closed,
            sessions: sessions.and_then(|sessions| u32::try_from(sessions).ok()),
            duration: nanos(time, 1_000_000_000),
            settings: self.options,
            ops: vec![ParsedOp {
                ops_per_s: Some(speed / to_f64(per_op)),
                ..ParsedOp::acknowledged(ops)
            }],
            missing_fields: BTreeSet::from([MissingField::Acknowledged, MissingField::Errors]),
            caveats: errors.into_iter().collect(),
            notes,
            ..ImportedRun::new(TOOL)
        })
    }
}
