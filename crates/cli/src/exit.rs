//! Exit codes: the whole list. Which one wins is decided where records are judged.

use highwater_analysis::{Ended, exit_code};
use highwater_model::record::RecordRef;

/// The command did everything that was requested.
pub const SUCCESS: u8 = 0;
/// An objective was missed, or a gate found something worse.
pub const MISSED: u8 = 1;
/// Invalid usage or input; nothing was run.
pub const USAGE: u8 = 2;
/// The measurement, or the published figures, are not valid.
pub const NOT_VALID: u8 = 3;
/// The target was unreachable or rejected the connection or a statement.
pub const TARGET: u8 = 5;

/// Every code and its meaning, as help and reference show them.
pub const ALL: [(u8, &str); 7] = [
    (SUCCESS, "success"),
    (MISSED, "objective missed"),
    (USAGE, "invalid usage or input"),
    (
        NOT_VALID,
        "measurement or figures not valid, or data unverified although an audit was requested",
    ),
    (4, "data lost, duplicated, or altered"),
    (
        TARGET,
        "target unreachable or rejected the connection or a statement",
    ),
    (130, "interrupted"),
];

/// The list as it appears in the help text.
pub fn help() -> String {
    let lines = ALL.map(|(code, meaning)| format!("\n  {code:>3}  {meaning}"));
    format!("Exit codes:{}", lines.concat())
}

/// The code of a finished run.
pub fn of<'a>(record: impl Into<RecordRef<'a>>) -> u8 {
    let record = record.into();
    exit_code(record.judgments(), Ended::of(record.incidents()))
}
