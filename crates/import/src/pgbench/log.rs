//! Lines of pgbench's log of transactions.
//!
//! `client transaction time script epoch microseconds [lag] [retries]`; `time` is in microseconds, or a word for a
//! transaction that failed or was skipped.

use std::collections::BTreeMap;

use crate::decimal::count;
use crate::error::ImportError;
use crate::op_timeline::{Event, OPS_MAX, OpTimeline, ParsedOutcome, SPAN_MAX};
use highwater_model::display::{duration, percent, ratio};
use highwater_model::units::Nanos;

use super::output::Output;

/// Maximum number of clients of a run, far above pgbench's own limit.
const CLIENTS_MAX: usize = 100_000;
/// A first figure of at least this value is a time, as in an aggregated log.
const EPOCH: u64 = 1_000_000_000;
const HINT: &str = "a line is `client transaction time script epoch microseconds [lag] [retries]`, as \
                    `pgbench -l` writes it";

/// All lines so far.
#[derive(Default)]
pub(super) struct Log {
    pub(super) timeline: OpTimeline,
    /// Transactions of each client: number of lines, and highest transaction number.
    pub(super) clients: BTreeMap<u64, (u64, u64)>,
    /// Number of figures in a line.
    columns: usize,
    /// Whether lines have a schedule lag.
    pub(super) waits: bool,
    /// The alternative reading of lines with seven figures, in which the last one is the retries instead of the lag.
    /// Decided at the end.
    held: Option<OpTimeline>,
}

/// Words that replace the time.
const FAILED: [&str; 3] = ["failed", "serialization", "deadlock"];
const SKIPPED: &str = "skipped";

/// Whether this can be a line of a log, either of single transactions or aggregated.
pub(super) fn is_line(line: &str) -> bool {
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
    pub(super) fn begin(&mut self) {
        self.columns = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.timeline.is_empty()
    }

    pub(super) fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if line.is_empty() {
            return Ok(());
        }
        let read = self.read(line)?;
        if self.clients.len() == CLIENTS_MAX && !self.clients.contains_key(&read.client) {
            let message = format!("more than {CLIENTS_MAX} clients");
            return Err(ImportError::new(message, HINT).at(0..line.len()));
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
            Err(ImportError::new(message, "cut the log into parts").at(0..line.len()))
        }
    }

    fn read<'a>(&mut self, line: &'a str) -> Result<Line<'a>, ImportError> {
        let figures: Vec<&str> = line.split(' ').collect();
        let whole = |message: &str, hint: &str| ImportError::new(message, hint).at(0..line.len());
        if figures.first().copied().and_then(count) >= Some(EPOCH) {
            let hint = "log without --aggregate-interval";
            return Err(whole("a log of sums has no latency of single ops", hint));
        }
        if !(6..=8).contains(&figures.len()) {
            let message = format!("{} figures, not six to eight", figures.len());
            return Err(whole(&message, HINT));
        }
        if self.columns != 0 && self.columns != figures.len() {
            let message = format!("{} figures, {} before", figures.len(), self.columns);
            return Err(whole(&message, HINT));
        }
        self.columns = figures.len();
        let number = |at: usize| {
            let text = figures.get(at).copied().unwrap_or_default();
            count(text).ok_or_else(|| {
                let from: usize = figures.iter().take(at).map(|f| f.len() + 1).sum();
                let shown: String = text.chars().take(40).collect();
                let message = format!("`{shown}` is not a whole number");
                ImportError::new(message, HINT).at(from..from + text.len())
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
    pub(super) fn settled(mut self, output: &Output) -> Self {
        let retried = output.processed.is_some() && output.lag_average.is_none();
        if let Some(held) = self.held.take().filter(|_| retried) {
            self.timeline = held;
            self.waits = false;
        }
        self
    }

    /// The fraction of the transactions in the log, if it is not all of them: clients number theirs.
    pub(super) fn sampled(&self) -> Option<String> {
        let lines: u64 = self.clients.values().map(|(lines, _)| lines).sum();
        let numbered: u64 = self.clients.values().map(|(_, greatest)| greatest).sum();
        (lines < numbered).then(|| percent(ratio(lines, numbered)))
    }

    /// Names of ops: the scripts' names, by number.
    pub(super) fn names(&self, scripts: &[String]) -> BTreeMap<String, String> {
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
