//! pgbench: its transaction log (`-l`), and its printed output: progress and summary.
//!
//! A run has one log per thread, and the output. Figures come from the logs, if there are any; the output then adds
//! version, clients, and scripts, which logs do not contain. With a rate, latency begins at the scheduled start
//! (pgbench's documentation, "Per-Transaction Logging"), and the service time follows from the schedule lag.

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::display::{self, duration, percent, ratio};
use highwater_model::numbers::to_f64;
use highwater_model::record::{ImportedPace, LatencyBegin, MissingField};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::imported_run::{ImportedRun, ParsedLatency, ParsedOp};
use crate::importer::{Format, OutputReader, wrong_file, wrong_line};
use crate::timeline::{
    Average, Averages, Event, OPS_MAX, OpTimeline, ParsedOutcome, SPAN_MAX, count, millis, nanos,
    number, seconds,
};

/// Reads logs and outputs of one run.
#[derive(Default)]
pub(crate) struct Reader {
    log: Log,
    output: Output,
    in_output: bool,
}

/// Whether a file begins with lines of a transaction log.
pub(crate) fn is_log(head: &str) -> bool {
    head.lines().next().is_some_and(is_line)
}

/// Whether a file holds pgbench's output.
pub(crate) fn is_output(head: &str) -> bool {
    head.lines().any(is_own)
}

impl OutputReader for Reader {
    fn begin(&mut self, format: Format) {
        self.in_output = format == Format::PgbenchOutput;
        if !self.in_output {
            self.log.begin();
        }
    }

    fn line(&mut self, line: &str) -> Result<(), UserError> {
        if self.in_output { self.output.line(line) } else { self.log.line(line) }
    }

    fn end(self: Box<Self>) -> Result<ImportedRun, UserError> {
        if self.log.is_empty() {
            return self.output.imported_run();
        }
        Ok(with_log(self.log, &self.output))
    }
}

fn with_log(log: Log, output: &Output) -> ImportedRun {
    let printed = output.processed.is_some();
    let log = log.settled(output);
    let waits = if printed { output.lag_average.is_some() } else { log.waits };
    let mut run = output.empty_run(waits);
    if log.waits && !printed {
        run.notes.push(
            "the last figure of each line was taken for the schedule lag, which it is with --rate; \
             the output beside the log would say"
                .to_owned(),
        );
    }
    if !printed {
        run.sessions = u32::try_from(log.clients.len()).ok();
    }
    if let Some(share) = log.sampled() {
        run.missing_fields.insert(MissingField::Offered);
        run.caveats.push(format!(
            "the log holds {share} of the transactions, by their numbers: throughput is that part's"
        ));
    }
    let names: BTreeMap<String, String> = log.names(&output.scripts);
    log.timeline.write_to(&mut run, &names);
    if let Some(printed) = output.processed {
        let logged: u64 = run.ops.iter().map(|op: &ParsedOp| op.acknowledged).sum();
        if printed != logged {
            let [printed, logged] = [printed, logged].map(display::count);
            run.caveats.push(format!(
                "the output counts {printed} transactions, the logs hold {logged}: a file is \
                 missing, or they are a sample"
            ));
        }
    }
    if run.ops.iter().all(|op| op.acknowledged == 0) {
        run.missing_fields.insert(MissingField::Latency);
    }
    run
}

/// Maximum number of clients of a run, far above pgbench's own limit.
const CLIENTS_MAX: usize = 100_000;
/// A first figure of at least this value is a time, as in an aggregated log.
const EPOCH: u64 = 1_000_000_000;
const LOG_HINT: &str = "a line is `client transaction time script epoch microseconds [lag] [retries]`, as \
                    `pgbench -l` writes it";

/// All lines so far.
#[derive(Default)]
struct Log {
    timeline: OpTimeline,
    /// Transactions of each client: number of lines, and highest transaction number.
    clients: BTreeMap<u64, (u64, u64)>,
    /// Number of figures in a line.
    columns: usize,
    /// Whether lines have a schedule lag.
    waits: bool,
    /// The alternative reading of lines with seven figures, in which the last one is the retries instead of the lag.
    /// Decided at the end.
    held: Option<OpTimeline>,
}

/// Words that replace the time.
const FAILED: [&str; 3] = ["failed", "serialization", "deadlock"];
const SKIPPED: &str = "skipped";

/// Whether this can be a line of a log, either of single transactions or aggregated.
fn is_line(line: &str) -> bool {
    let figures: Vec<&str> = line.split(' ').collect();
    let number = |at: usize| figures.get(at).copied().and_then(count);
    if number(0).is_some_and(|first| first >= EPOCH) && figures.len() >= 6 {
        return figures.iter().all(|figure| count(figure).is_some());
    }
    let time = figures.get(2).copied().unwrap_or_default();
    let word = FAILED.contains(&time) || time == SKIPPED;
    (6..=8).contains(&figures.len())
        && number(4).is_some_and(|epoch| epoch >= EPOCH)
        && number(5).is_some_and(|micros| micros < 1_000_000)
        && (word || count(time).is_some())
}

/// A parsed line.
struct Line<'a> {
    client: u64,
    number: u64,
    time: &'a str,
    script: u64,
    finished: Nanos,
    rest: [Option<u64>; 2],
}

impl Log {
    /// Another file begins.
    fn begin(&mut self) {
        self.columns = 0;
    }

    fn is_empty(&self) -> bool {
        self.timeline.is_empty()
    }

    fn line(&mut self, line: &str) -> Result<(), UserError> {
        if line.is_empty() {
            return Ok(());
        }
        let read = self.read(line)?;
        if self.clients.len() == CLIENTS_MAX && !self.clients.contains_key(&read.client) {
            let message = format!("more than {CLIENTS_MAX} clients");
            return Err(wrong_line(line, 0..line.len(), message, LOG_HINT));
        }
        let client = self.clients.entry(read.client).or_default();
        *client = (client.0 + 1, client.1.max(read.number));
        let (lag, retries) = match (self.columns, read.rest) {
            (8, [lag, retries]) => (lag, retries),
            (7, [last, _]) => (last, None),
            _ => (None, None),
        };
        self.waits |= lag.is_some();
        let first = add(&mut self.timeline, &read, lag, retries.unwrap_or(0));
        let second = if self.columns == 7 {
            let held = self.held.get_or_insert_default();
            add(held, &read, None, lag.unwrap_or(0))
        } else {
            true
        };
        if first && second {
            Ok(())
        } else {
            let message = format!(
                "this is more than {} from the other lines, or the {OPS_MAX}th script is passed",
                duration(SPAN_MAX.0)
            );
            Err(wrong_line(line, 0..line.len(), message, "cut the log into parts"))
        }
    }

    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, UserError> {
        let figures: Vec<&str> = line.split(' ').collect();
        let whole = |message: &str, hint: &str| wrong_line(line, 0..line.len(), message, hint);
        if figures.first().copied().and_then(count) >= Some(EPOCH) {
            let hint = "log without --aggregate-interval";
            return Err(whole("a log of sums has no latency of single ops", hint));
        }
        if !(6..=8).contains(&figures.len()) {
            let message = format!("{} figures, not six to eight", figures.len());
            return Err(whole(&message, LOG_HINT));
        }
        if self.columns != 0 && self.columns != figures.len() {
            let message = format!("{} figures, {} before", figures.len(), self.columns);
            return Err(whole(&message, LOG_HINT));
        }
        self.columns = figures.len();
        let number = |at: usize| {
            let text = figures.get(at).copied().unwrap_or_default();
            count(text).ok_or_else(|| {
                let from: usize = figures.iter().take(at).map(|f| f.len() + 1).sum();
                let shown: String = text.chars().take(40).collect();
                let message = format!("`{shown}` is not a whole number");
                wrong_line(line, from..from + text.len(), message, LOG_HINT)
            })
        };
        let rest = |at: usize| (figures.len() > at).then(|| number(at)).transpose();
        let finished = Nanos::from_secs(number(4)?).saturating_add(Nanos::from_micros(number(5)?));
        let time = figures[2];
        if !FAILED.contains(&time) && time != SKIPPED {
            number(2)?;
        }
        Ok(Line {
            client: number(0)?,
            number: number(1)?,
            time,
            script: number(3)?,
            finished,
            rest: [rest(6)?, rest(7)?],
        })
    }

    /// Chooses the meaning of a seventh figure, if the output determines it.
    fn settled(mut self, output: &Output) -> Self {
        let retried = output.processed.is_some() && output.lag_average.is_none();
        if let Some(held) = self.held.take().filter(|_| retried) {
            self.timeline = held;
            self.waits = false;
        }
        self
    }

    /// The fraction of the transactions in the log, if it is not all of them: clients number theirs.
    fn sampled(&self) -> Option<String> {
        let lines: u64 = self.clients.values().map(|(lines, _)| lines).sum();
        let numbered: u64 = self.clients.values().map(|(_, greatest)| greatest).sum();
        (lines < numbered).then(|| percent(ratio(lines, numbered)))
    }

    /// Names of ops: the scripts' names, by number.
    fn names(&self, scripts: &[String]) -> BTreeMap<String, String> {
        let several = self.timeline.names().count() > 1;
        let named = self.timeline.names().map(|number| {
            let at = count(number).and_then(|at| usize::try_from(at).ok());
            let name = at.and_then(|at| scripts.get(at));
            let name = match name {
                _ if !several => String::new(),
                Some(name) => format!("{}: {name}", at.unwrap_or_default() + 1),
                None => format!("script {}", at.unwrap_or_default() + 1),
            };
            (number.to_owned(), name)
        });
        named.collect()
    }
}

fn add(timeline: &mut OpTimeline, line: &Line<'_>, lag: Option<u64>, retries: u64) -> bool {
    let time = count(line.time);
    let outcome = match line.time {
        SKIPPED => ParsedOutcome::Dropped,
        word if time.is_none() => ParsedOutcome::Failed("conflict".to_owned(), word.to_owned()),
        _ => ParsedOutcome::Acknowledged,
    };
    // A skipped or failed transaction only has the time at which it was abandoned.
    let took = Nanos::from_micros(time.unwrap_or(0));
    let event = Event {
        intended: line.finished.saturating_sub(took),
        finished: line.finished,
        waited: lag.map(Nanos::from_micros),
        outcome,
        retries,
    };
    timeline.add(&line.script.to_string(), &event)
}

const TOOL: &str = "pgbench";
/// Maximum number of scripts in a run.
const SCRIPTS_MAX: usize = 64;
/// From this value on, a progress time counts from 1970.
const EPOCH_S: f64 = 1e8;
const OUTPUT_HINT: &str = "give what pgbench printed, from its first line to `tps = …`";

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
struct Output {
    version: Option<String>,
    workload: String,
    settings: BTreeMap<String, String>,
    clients: Option<u32>,
    planned: Option<Nanos>,
    processed: Option<u64>,
    lag_average: Option<Nanos>,
    /// Names of scripts, if there are several.
    scripts: Vec<String>,
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
fn is_own(line: &str) -> bool {
    line.starts_with("pgbench (")
        || line.starts_with("transaction type: ")
        || (line.starts_with("progress: ") && line.contains(" tps, lat "))
}

impl Output {
    fn line(&mut self, line: &str) -> Result<(), UserError> {
        let wrong = |what: &str| {
            let message = format!("this {what} cannot be read");
            wrong_line(line, 0..line.len(), message, OUTPUT_HINT)
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
    fn empty_run(&self, waits: bool) -> ImportedRun {
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
    fn imported_run(self) -> Result<ImportedRun, UserError> {
        let mut run = self.empty_run(self.lag_average.is_some());
        run.intervals.clone_from(&self.progress.intervals);
        run.notes.extend(self.progress.notes());
        run.missing_fields.insert(MissingField::Distribution);
        let Some(processed) = self.processed else {
            return self.of_progress(run);
        };
        let Some(ops_per_s) = self.ops_per_s else {
            return Err(wrong_file("there is no line `tps = …`", OUTPUT_HINT));
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
    fn of_progress(self, mut run: ImportedRun) -> Result<ImportedRun, UserError> {
        if run.intervals.is_empty() {
            let message = "there is neither a summary nor a progress line";
            return Err(wrong_file(message, OUTPUT_HINT));
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
