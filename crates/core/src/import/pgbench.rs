//! pgbench: its log of transactions (`-l`), and what it prints: progress and the summary.
//!
//! Files of one run go together: a log for each thread, and the output beside them. From a log all
//! figures are computed; the output then says what a log does not: version, clients, scripts.
//! With a rate, latency begins at the scheduled start (pgbench's documentation, "Per-Transaction
//! Logging"), and the schedule lag tells the service time.

mod log;
mod output;

use std::collections::{BTreeMap, BTreeSet};

use crate::model::import_record::{ImportedPace, LatencyBegin, MissingField};
use crate::model::plan::Unit;
use crate::model::units::Nanos;

use super::told::{ParsedOp, Told};
use super::{Format, Read, Wrong};

use log::Log;
use output::Output;

const TOOL: &str = "pgbench";

/// Reads logs and outputs of one run.
pub(super) struct Reader {
    log: Log,
    output: Option<Output>,
    format: Format,
}

/// Whether a file begins with lines of a log of transactions.
pub(super) fn is_log(head: &str) -> bool {
    head.lines().next().is_some_and(log::is_line)
}

/// Whether a file holds what pgbench prints.
pub(super) fn is_output(head: &str) -> bool {
    head.lines().any(output::is_own)
}

impl Reader {
    pub(super) fn new() -> Self {
        Self {
            log: Log::default(),
            output: None,
            format: Format::PgbenchLog,
        }
    }
}

impl Read for Reader {
    fn begin(&mut self, format: Format) -> Result<(), Wrong> {
        self.format = format;
        match format {
            Format::PgbenchOutput => {
                self.output.get_or_insert_with(Output::default);
            }
            _ => self.log.begin(),
        }
        Ok(())
    }

    fn line(&mut self, line: &str) -> Result<(), Wrong> {
        match (&mut self.output, self.format) {
            (Some(output), Format::PgbenchOutput) => output.line(line),
            _ => self.log.line(line),
        }
    }

    fn end(self: Box<Self>) -> Result<Told, Wrong> {
        let output = self.output.unwrap_or_default();
        if self.log.is_empty() {
            return output.told();
        }
        Ok(with_log(self.log, &output))
    }
}

/// Nothing yet but what holds of every run.
fn told(output: &Output) -> Told {
    let pace = if output.lag_average.is_some() {
        ImportedPace::Open
    } else {
        ImportedPace::Closed
    };
    Told {
        tool: TOOL,
        version: output.version.clone(),
        workload: output.workload.clone(),
        unit: Unit::Queries,
        units_per_op: 1,
        pace,
        rate: None,
        sessions: output.clients,
        begin: begin_of(pace),
        started: None,
        start: Nanos::ZERO,
        duration: Nanos::ZERO,
        planned: output.planned,
        settings: output.settings.clone(),
        ops: Vec::new(),
        intervals: Vec::new(),
        availability: None,
        untold: BTreeSet::new(),
        notes: vec!["one op is one transaction of a script".to_owned()],
    }
}

/// Without a rate a transaction begins when its client is free: there is no waiting before.
fn begin_of(pace: ImportedPace) -> LatencyBegin {
    match pace {
        ImportedPace::Open => LatencyBegin::Intended,
        ImportedPace::Closed | ImportedPace::MissingField => LatencyBegin::Sent,
    }
}

fn with_log(log: Log, output: &Output) -> Told {
    let mut told = told(output);
    let printed = output.was_read();
    let log = log.settled(output);
    if log.waits && !printed {
        told.notes.push(
            "the last figure of each line was taken for the schedule lag, which it is with --rate; \
             the output beside the log would say"
                .to_owned(),
        );
    }
    if !printed {
        told.pace = if log.waits {
            ImportedPace::Open
        } else {
            ImportedPace::Closed
        };
        told.begin = begin_of(told.pace);
        told.sessions = u32::try_from(log.clients()).ok();
    }
    if let Some(share) = log.sampled() {
        told.untold.insert(MissingField::Offered);
        told.notes.push(format!(
            "the log holds {share} of the transactions, by their numbers: throughput is that part's"
        ));
    }
    let names: BTreeMap<String, String> = log.names(&output.scripts);
    log.course.tell(&mut told, &names);
    if let Some(printed) = output.processed {
        let logged: u64 = told.ops.iter().map(|op: &ParsedOp| op.acknowledged).sum();
        if printed != logged {
            told.notes.push(format!(
                "the output counts {printed} transactions, the logs hold {logged}: a file is \
                 missing, or they are a sample"
            ));
        }
    }
    if told.ops.iter().all(|op| op.acknowledged == 0) {
        told.untold.insert(MissingField::Latency);
    }
    told
}
