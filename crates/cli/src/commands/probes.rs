//! What `find` and `tune` share: the observer of their probes, and the final output. Must not probe.

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

/// Time of a probe outside its phases with a pace: connecting, drain, audit.
pub(super) const AROUND: Nanos = Nanos::from_secs(2);

/// Prints the preview, and returns the observer.
pub(super) fn observer(output: RunOutput, preview: &str) -> Rc<dyn Observer> {
    if output.quiet || output.json {
        return Rc::new(WarningsOnly);
    }
    terminal::note(preview);
    Rc::new(SearchProgress::new())
}

/// Prints the record, stored in that directory; returns the exit code.
pub(super) fn print(output: RunOutput, record: &RunRecord, directory: &str) -> Result<u8, Failure> {
    terminal::data(&if output.json {
        report::json(record)
    } else {
        report::text_at(record, directory)
    })?;
    Ok(exit::of(record))
}
