//! Locust: the files of `--csv`, one of totals (`_stats.csv`) and one over time (`_stats_history.csv`), of one run.
//!
//! Locust includes failed requests in all figures, also in its percentiles, with the time until they failed.

use std::collections::BTreeSet;

use highwater_model::display;
use highwater_model::numbers::{round_to_u32, round_to_u64, to_f64};
use highwater_model::record::{ImportedPace, LatencyBegin, MissingField};
use highwater_model::user_error::UserError;

use super::imported_run::{ImportedRun, ParsedLatency, ParsedOp};
use super::importer::{Format, OutputReader, wrong_file, wrong_line};
use super::timeline::{Average, Averages, nanos, number};

pub(super) const TOOL: &str = "Locust";
const HINT: &str =
    "give the files of `locust --csv NAME`: NAME_stats.csv, NAME_stats_history.csv, or both";
/// The row of all requests together.
const ALL: &str = "Aggregated";
/// Maximum number of names.
const OPS_MAX: usize = 10_000;
/// Columns of the file of totals, and their names in a record.
const FIGURES: [(&str, &str); 8] = [
    ("Average Response Time", "mean"),
    ("50%", "p50"),
    ("90%", "p90"),
    ("95%", "p95"),
    ("99%", "p99"),
    ("99.9%", "p999"),
    ("99.99%", "p9999"),
    ("Max Response Time", "max"),
];
/// The same in the file over time, whose other percentiles are those of the last seconds.
const TOTAL_FIGURES: [(&str, &str); 3] = [
    ("Total Average Response Time", "mean"),
    ("Total Median Response Time", "p50"),
    ("Total Max Response Time", "max"),
];

/// All lines so far.
#[derive(Default)]
pub(super) struct Reader {
    /// Names of the file's columns; empty before its first line.
    columns: Vec<String>,
    ops: Vec<ParsedOp>,
    /// All requests, and the requests per second, from the file of totals.
    all: Option<(ParsedOp, f64)>,
    lines: Averages,
    /// The first and the last time, seconds since 1970, with the total counts of requests and failures at the last.
    times: Option<(f64, f64)>,
    counted: (f64, f64),
    /// The total of the last line over time.
    last: Option<ParsedOp>,
    users: u32,
}

/// Whether a file is one of totals.
pub(super) fn is_stats(head: &str) -> bool {
    is_file(head, "Type", "Request Count")
}

/// Whether a file is one over time.
pub(super) fn is_history(head: &str) -> bool {
    is_file(head, "Timestamp", "Total Request Count")
}

fn is_file(head: &str, first: &str, other: &str) -> bool {
    let columns = head.lines().next().map(cells).unwrap_or_default();
    columns.first().is_some_and(|column| column == first) && columns.iter().any(|of| of == other)
}

/// The cells of a line; those in double quotes may hold commas.
fn cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => cells.push(String::new()),
            _ => cells.last_mut().into_iter().for_each(|cell| cell.push(letter)),
        }
    }
    cells
}

/// A line with the names of its cells.
struct Line<'a> {
    columns: &'a [String],
    cells: Vec<String>,
}

impl Line<'_> {
    fn text(&self, column: &str) -> Option<&str> {
        let at = self.columns.iter().position(|name| name == column)?;
        self.cells.get(at).map(String::as_str)
    }

    fn number(&self, column: &str) -> Option<f64> {
        number(self.text(column)?)
    }

    /// The requests with their failures, and their times in milliseconds.
    fn op(
        &self,
        requests: &str,
        failures: &str,
        times: &[(&str, &'static str)],
    ) -> Option<ParsedOp> {
        let [sent, failed] = [self.number(requests)?, self.number(failures)?].map(round_to_u64);
        let kind = self.text("Type").filter(|kind| !kind.is_empty());
        let name = self.text("Name")?;
        let name = kind.map_or_else(|| name.to_owned(), |kind| format!("{kind} {name}"));
        let acknowledged = sent.checked_sub(failed)?;
        let figures: Vec<(&str, Option<u64>)> = times
            .iter()
            .map(|(theirs, ours)| (*ours, self.number(theirs).map(|ms| nanos(ms, 1_000_000).0)))
            .collect();
        let errors = (failed > 0).then(|| ("failed".to_owned(), failed));
        Some(ParsedOp {
            name,
            sent,
            acknowledged,
            errors: errors.into_iter().collect(),
            latency: ParsedLatency::figures(acknowledged, 0, &figures),
            ..ParsedOp::default()
        })
    }
}

impl Reader {
    fn read(&mut self, line: &str) -> Option<()> {
        let line = Line { columns: &self.columns, cells: cells(line) };
        let is_all = line.text("Name")? == ALL;
        if line.text("Timestamp").is_some() {
            // With --csv-full-history, there are also lines for each name.
            return if is_all { self.moment(line.cells) } else { Some(()) };
        }
        let op = line.op("Request Count", "Failure Count", &FIGURES)?;
        if is_all {
            self.all = Some((op, line.number("Requests/s")?));
        } else if self.ops.len() < OPS_MAX {
            self.ops.push(op);
        } else {
            return None;
        }
        Some(())
    }

    fn moment(&mut self, cells: Vec<String>) -> Option<()> {
        let line = Line { columns: &self.columns, cells };
        let now = line.number("Timestamp")?;
        let users = round_to_u32(line.number("User Count")?);
        let total = line.op("Total Request Count", "Total Failure Count", &TOTAL_FIGURES)?;
        let counted = [line.number("Total Request Count")?, line.number("Total Failure Count")?];
        let percentile = |column: &str| Some(nanos(line.number(column)?, 1_000_000).0);
        let (p50_ns, p99_ns) = (percentile("50%"), percentile("99%"));
        self.users = self.users.max(users);
        let Some((first, last)) = self.times else {
            self.times = Some((now, now));
            self.counted = (counted[0], counted[1]);
            self.last = Some(total);
            return Some(());
        };
        let seconds = now - last;
        let (requests, failures) = (counted[0] - self.counted.0, counted[1] - self.counted.1);
        if seconds < 0.0 || requests < failures || failures < 0.0 {
            return None;
        }
        self.last = Some(total);
        if seconds == 0.0 {
            return Some(());
        }
        self.times = Some((first, now));
        self.counted = (counted[0], counted[1]);
        let average = Average {
            end_s: now - first,
            ops_per_s: (requests - failures) / seconds,
            errors_per_s: failures / seconds,
            p50_ns,
            p99_ns,
            ..Average::default()
        };
        self.lines.note(&average).then_some(())
    }
}

impl OutputReader for Reader {
    fn begin(&mut self, _format: Format) {
        self.columns.clear();
    }

    fn line(&mut self, line: &str) -> Result<(), UserError> {
        if self.columns.is_empty() {
            self.columns = cells(line.trim_start_matches('\u{feff}'));
            return Ok(());
        }
        if line.trim().is_empty() {
            return Ok(());
        }
        self.read(line)
            .ok_or_else(|| wrong_line(line, 0..line.len(), "this line cannot be read", HINT))
    }

    fn end(self: Box<Self>) -> Result<ImportedRun, UserError> {
        let from_times =
            self.times.map(|(first, last)| last - first).filter(|length| *length > 0.0);
        let Self { all, ops, lines, last, users, .. } = *self;
        let all = all.or_else(|| {
            let last = last?;
            let per_s = to_f64(last.sent) / from_times?;
            Some((last, per_s))
        });
        let Some((all, per_s)) = all.filter(|(all, per_s)| all.sent > 0 && *per_s > 0.0) else {
            let message = "it has no requests, or no row of all of them (`Aggregated`)";
            return Err(wrong_file(message, HINT));
        };
        let failed = all.sent - all.acknowledged;
        let failed = (failed > 0).then(|| {
            let failed = display::count(failed);
            format!(
                "its percentiles include {failed} failed requests, by the time until they failed"
            )
        });
        let over_time = "its figures over time are those of the last ten seconds";
        let over_time = from_times.map(|_| over_time.to_owned());
        let notes = failed.into_iter().chain(["its percentiles have two digits".to_owned()]);
        let notes = notes.chain(over_time).collect();
        // The time is the count divided by the rate, which is printed with sufficient precision.
        let measured = to_f64(all.sent) / per_s;
        let ops = if ops.is_empty() { vec![ParsedOp { name: String::new(), ..all }] } else { ops };
        let (pace, begin) = (ImportedPace::Closed, LatencyBegin::Sent);
        Ok(ImportedRun {
            pace,
            begin,
            sessions: (users > 0).then_some(users),
            duration: nanos(measured, 1_000_000_000),
            ops,
            intervals: lines.intervals,
            missing_fields: BTreeSet::from([MissingField::Distribution]),
            notes,
            ..ImportedRun::new(TOOL)
        })
    }
}
