//! `highwater show`: a finished run once more.

use highwater_core::report;

use crate::exit::Findings;
use crate::failure::Failure;
use crate::settings::{Format, ShowSettings};
use crate::{stored_runs, terminal};

/// Prints the run in the form that is asked for; the exit code is that of the run.
pub fn show(settings: &ShowSettings) -> Result<u8, Failure> {
    let run = match &settings.runs[..] {
        [] => stored_runs::newest(&settings.out)?,
        [name] => stored_runs::find(name, &settings.out)?,
        [_, _, ..] => {
            return Err(Failure::usage("shares cannot be merged by this build yet")
                .with_hint("show them one by one"));
        }
    };
    let text = match settings.format {
        Format::Text => report::text_at(&run.record, &run.directory.display().to_string()),
        Format::Json => report::json(&run.record),
        Format::Csv => report::csv(&run.record),
    };
    terminal::data(&text)?;
    Ok(Findings::from(&run.record.judgements).code())
}
