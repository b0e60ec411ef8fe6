//! Reads the files of a pgbench run: transaction logs, the printed output, or both.
//!
//! Must not parse lines.

use std::collections::BTreeMap;

use highwater_model::display::count;
use highwater_model::import_record::MissingField;

use crate::error::ImportError;
use crate::format::Format;
use crate::imported_run::{ImportedRun, ParsedOp};
use crate::output_reader::OutputReader;

use super::log::{self, Log};
use super::output::{self, Output};

/// Reads logs and outputs of one run.
#[derive(Default)]
pub(crate) struct Reader {
    log: Log,
    output: Output,
    in_output: bool,
}

/// Whether a file begins with lines of a transaction log.
pub(crate) fn is_log(head: &str) -> bool {
    head.lines().next().is_some_and(log::is_line)
}

/// Whether a file holds pgbench's output.
pub(crate) fn is_output(head: &str) -> bool {
    head.lines().any(output::is_own)
}

impl OutputReader for Reader {
    fn begin(&mut self, format: Format) {
        self.in_output = format == Format::PgbenchOutput;
        if !self.in_output {
            self.log.begin();
        }
    }

    fn line(&mut self, line: &str) -> Result<(), ImportError> {
        if self.in_output { self.output.line(line) } else { self.log.line(line) }
    }

    fn end(self: Box<Self>) -> Result<ImportedRun, ImportError> {
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
            let [printed, logged] = [printed, logged].map(count);
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
