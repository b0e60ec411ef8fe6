//! What `find` and `tune` have in common: who is told of their probes, and what is printed in the end.

use std::rc::Rc;

use highwater_core::model::record::RunRecord;
use highwater_core::model::units::Nanos;
use highwater_core::report;
use highwater_runner::observer::Observer;

use crate::exit;
use crate::failure::Failure;
use crate::progress::{SearchProgress, WarningsOnly};
use crate::settings::RunOutput;
use crate::terminal;

/// What a probe takes beside its phases with a pace: connecting, drain, audit.
pub(super) const AROUND: Nanos = Nanos::from_secs(2);

/// Who is told, after what is intended was.
pub(super) fn observer(output: RunOutput, intended: &str) -> Rc<dyn Observer> {
    if output.quiet || output.json {
        return Rc::new(WarningsOnly);
    }
    terminal::note(intended);
    Rc::new(SearchProgress::new())
}

/// Prints the record of the whole, kept at that place; returns the exit code.
pub(super) fn print(
    output: RunOutput,
    (record, directory): &(RunRecord, String),
) -> Result<u8, Failure> {
    terminal::data(&if output.json {
        report::json(record)
    } else {
        report::text_at(record, directory)
    })?;
    Ok(exit::of(record))
}
