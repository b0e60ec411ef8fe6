//! The output of pgbench: progress lines, and the summary at the end.

use std::collections::{BTreeMap, BTreeSet};

use crate::averages::{Average, Averages};
use crate::decimal::{count, millis, nanos, number, seconds};
use crate::error::ImportError;
use crate::imported_run::{ImportedRun, ParsedLatency, ParsedOp};
use highwater_model::import_record::{ImportedPace, LatencyBegin, MissingField};
use highwater_model::numbers::to_f64;
use highwater_model::units::Nanos;

const TOOL: &str = "pgbench";
/// Maximum number of scripts in a run.
const SCRIPTS_MAX: usize = 64;
/// From this value on, a progress time counts from 1970.
const EPOCH_S: f64 = 1e8;
const HINT: &str = "give what pgbench printed, from its first line to `tps = …`";

/// Settings that are copied as printed.
const SETTINGS: [&str; 5] = [
    "transaction type",
    "scaling factor",
    "query mode",
    "maximum number of tries",
    "number of transactions per client",
];

/// All lines so far.
#[derive(Default)]
pub(super) struct Output {
    pub(super) version: Option<String>,
    pub(super) workload: String,
    pub(super) settings: BTreeMap<String, String>,
    pub(super) clients: Option<u32>,
    pub(super) planned: Option<Nanos>,
    pub(super) processed: Option<u64>,
    pub(super) lag_average: Option<Nanos>,
    /// Names of scripts, if there are several.
    pub(super) scripts: Vec<String>,
    failed: Option<u64>,
    skipped: u64,
    retries: u64,
    latency_average: Option<Nanos>,
    includes_failed: bool,
    ops_per_s: Option<f64>,
    of_scripts: Vec<ParsedOp>,
    progress: Averages,
    /// Start of progress, if its times count from 1970.
    epoch_s: Option<f64>,
}

/// Whether the line can only come from pgbench.
pub(super) fn is_own(line: &str) -> bool {
    line.starts_with("pgbench (")
        || line.starts_with("transaction type: ")
        || (line.starts_with("progress: ") && line.contains(" tps, lat "))
}

impl Output {
    pub(super) fn line(&mut self, line: &str) -> Result<(), ImportError> {
        let wrong = |what: &str| {
            let message = format!("this {what} cannot be read");
            ImportError::new(message, HINT).at(0..line.len())
        };
        if let Some(rest) = line.strip_prefix("progress: ") {
            return self.progress(rest).ok_or_else(|| wrong("progress line"));
        }
        if let Some(rest) = line.strip_prefix("SQL script ") {
            return self.script(rest).ok_or_else(|| wrong("script"));
        }
        if let Some(rest) = line.strip_prefix(" - ") {
            return self.of_script(rest).ok_or_else(|| wrong("figure"));
        }
        if let Some(rest) = line.strip_prefix("pgbench (") {
            self.version = rest.split([' ', ')']).next().map(str::to_owned);
            return Ok(());
        }
        let pair = line.split_once(": ").or_else(|| line.split_once(" = "));
        let Some((name, value)) = pair else {
            return Ok(());
        };
        self.figure(name, value).ok_or_else(|| wrong("figure"))
    }

    fn figure(&mut self, name: &str, value: &str) -> Option<()> {
        let first = value.split(' ').next().unwrap_or_default();
        match name {
            "transaction type" => {
                let script = value.trim_start_matches("<builtin: ");
                script.trim_end_matches('>').clone_into(&mut self.workload);
            }
            "number of clients" => self.clients = Some(u32::try_from(count(first)?).ok()?),
            "duration" => self.planned = Some(seconds(first)?),
            "number of transactions actually processed" => {
                let done = first.split('/').next().unwrap_or_default();
                self.processed = Some(count(done)?);
            }
            "number of failed transactions" => self.failed = Some(count(first)?),
            "number of transactions skipped" => self.skipped = count(first)?,
            "total number of retries" => self.retries = count(first)?,
            "latency average" => {
                self.latency_average = Some(millis(first)?);
                self.includes_failed = value.contains("including failures");
            }
            "rate limit schedule lag" => {
                let rest = value.strip_prefix("avg ")?;
                self.lag_average = Some(millis(rest.split(' ').next()?)?);
            }
            // Older versions print a second rate, which includes the time for connecting.
            "tps" if !value.contains("(including") => self.ops_per_s = Some(number(first)?),
            _ => {}
        }
        if SETTINGS.contains(&name) {
            self.settings.insert(name.to_owned(), value.to_owned());
        }
        Some(())
    }

    /// `1.0 s, 184.4 tps, lat 19.981 ms stddev 16.868, 0 failed, lag 1.5 ms, 3 skipped`.
    fn progress(&mut self, rest: &str) -> Option<()> {
        let mut parts = rest.split(", ");
        let end = number(parts.next()?.strip_suffix(" s")?)?;
        let ops_per_s = number(parts.next()?.strip_suffix(" tps")?)?;
        let begin = *self.epoch_s.get_or_insert_with(|| {
            let since_1970 = end > EPOCH_S;
            if since_1970 { end.floor() - 1.0 } else { 0.0 }
        });
        let length = end - begin - self.progress.end_s;
        let mut line = Average { end_s: end - begin, ops_per_s, ..Average::default() };
        for part in parts {
            if let Some(failed) = part.strip_suffix(" failed") {
                line.errors_per_s = number(failed)? / length;
            }
            if let Some(skipped) = part.strip_suffix(" skipped") {
                line.dropped_per_s = number(skipped)? / length;
            }
        }
        self.progress.note(&line).then_some(())
    }

    fn script(&mut self, rest: &str) -> Option<()> {
        let (_, name) = rest.split_once(": ")?;
        if self.scripts.len() == SCRIPTS_MAX {
            return None;
        }
        let name = name.trim_start_matches("<builtin: ");
        let name = name.trim_end_matches('>').to_owned();
        self.of_scripts.push(ParsedOp {
            name: format!("{}: {name}", self.scripts.len() + 1),
            ..ParsedOp::default()
        });
        self.scripts.push(name);
        Some(())
    }

    /// A figure of the script that was last named.
    fn of_script(&mut self, rest: &str) -> Option<()> {
        let Some(op) = self.of_scripts.last_mut() else {
            return Some(());
        };
        let (name, value) = rest.split_once(": ").unwrap_or((rest, ""));
        let first = value.split(' ').next().unwrap_or_default();
        match name {
            "number of failed transactions" => fail(op, count(first)?),
            "number of transactions skipped" => op.dropped = count(first)?,
            "total number of retries" => op.retries = count(first)?,
            _ => {}
        }
        if let Some(average) = rest.strip_prefix("latency average = ") {
            let mean = millis(average.split(' ').next()?)?.0;
            op.latency =
                ParsedLatency::figures(op.acknowledged, op.dropped, &[("mean", Some(mean))]);
        }
        if let Some((done, about)) = rest.split_once(" transactions (") {
            op.acknowledged = count(done)?;
            op.sent += op.acknowledged;
            let (_, tps) = about.split_once("tps = ")?;
            op.ops_per_s = Some(number(tps.trim_end_matches(')'))?);
        }
        Some(())
    }

    /// A run without ops, with the settings in the printed output.
    pub(super) fn empty_run(&self, waits: bool) -> ImportedRun {
        ImportedRun {
            version: self.version.clone(),
            workload: self.workload.clone(),
            sessions: self.clients,
            planned: self.planned,
            settings: self.settings.clone(),
            notes: vec!["one op is one transaction of a script".to_owned()],
            ..ImportedRun::paced(TOOL, waits)
        }
    }

    /// All figures, if there is no log.
    pub(super) fn imported_run(self) -> Result<ImportedRun, ImportError> {
        let mut run = self.empty_run(self.lag_average.is_some());
        run.intervals.clone_from(&self.progress.intervals);
        run.notes.extend(self.progress.notes());
        run.missing_fields.insert(MissingField::Distribution);
        let Some(processed) = self.processed else {
            return self.of_progress(run);
        };
        let Some(ops_per_s) = self.ops_per_s else {
            return Err(ImportError::new("there is no line `tps = …`", HINT));
        };
        // The printed duration includes connecting, but the time that `tps` is computed with does not.
        run.duration = if ops_per_s > 0.0 {
            nanos(to_f64(processed) / ops_per_s, 1_000_000_000)
        } else {
            self.planned.unwrap_or_default()
        };
        if self.failed.is_none() {
            run.missing_fields.insert(MissingField::Errors);
        }
        if self.includes_failed {
            run.notes.push("its latency average includes failed transactions".to_owned());
        }
        if self.lag_average.is_some() && self.skipped > 0 {
            run.notes.push("skipped transactions count as never sent".to_owned());
        }
        run.ops = if self.of_scripts.is_empty() {
            vec![self.whole(processed, ops_per_s)]
        } else {
            self.of_scripts
        };
        Ok(run)
    }

    fn whole(&self, processed: u64, ops_per_s: f64) -> ParsedOp {
        let mean = self.latency_average.map(|mean| mean.0);
        let service = self
            .lag_average
            .zip(self.latency_average)
            .map(|(lag, mean)| mean.saturating_sub(lag).0);
        let mut op = ParsedOp {
            dropped: self.skipped,
            retries: self.retries,
            ops_per_s: Some(ops_per_s),
            latency: ParsedLatency::figures(processed, self.skipped, &[("mean", mean)]),
            ..ParsedOp::acknowledged(processed)
        };
        if service.is_some() {
            op.service = ParsedLatency::figures(processed, 0, &[("mean", service)]);
        }
        fail(&mut op, self.failed.unwrap_or(0));
        op
    }

    /// Only progress lines: a run that was aborted, or its standard error.
    fn of_progress(self, mut run: ImportedRun) -> Result<ImportedRun, ImportError> {
        if run.intervals.is_empty() {
            let message = "there is neither a summary nor a progress line";
            return Err(ImportError::new(message, HINT));
        }
        let sum = |of: fn(&highwater_model::record::IntervalRecord) -> u64| -> u64 {
            run.intervals.iter().map(of).sum()
        };
        let (acknowledged, failed) = (sum(|i| i.acknowledged), sum(|i| i.errors));
        let mut op =
            ParsedOp { dropped: sum(|i| i.dropped), ..ParsedOp::acknowledged(acknowledged) };
        fail(&mut op, failed);
        run.ops = vec![op];
        run.duration = nanos(self.progress.end_s, 1_000_000_000);
        run.missing_fields = BTreeSet::from([MissingField::Latency]);
        run.pace = ImportedPace::NotReported;
        run.begin = LatencyBegin::NotReported;
        run.notes.push(format!(
            "counts are progress lines added up: {acknowledged} transactions by their rates"
        ));
        Ok(run)
    }
}

fn fail(op: &mut ParsedOp, failed: u64) {
    if failed > 0 {
        op.sent += failed;
        op.errors.insert("conflict".to_owned(), failed);
    }
}
