//! Exit codes: the whole list. Which one wins is decided where records are judged.

use highwater_core::analysis::{Ended, exit_code};
use highwater_core::model::record::RunRecord;

/// Everything asked for was done, and all is well.
pub const WELL: u8 = 0;
/// An objective was missed, or a gate says worse.
pub const MISSED: u8 = 1;
/// Bad usage or bad input; nothing was run.
pub const USAGE: u8 = 2;
/// What was measured, or published, is not sound.
pub const INVALID: u8 = 3;
/// The target cannot be reached, or refused.
pub const TARGET: u8 = 5;

/// Every code and what it means, as help and reference show them.
pub const ALL: [(u8, &str); 7] = [
    (WELL, "all well"),
    (MISSED, "an objective was missed"),
    (USAGE, "bad usage or input"),
    (
        INVALID,
        "measurement or figures not sound, or data unverified although an audit was asked for",
    ),
    (4, "data lost, duplicated or altered"),
    (TARGET, "target not reachable, or it refused"),
    (130, "interrupted"),
];

/// The list as it stands in the help text.
pub fn help() -> String {
    let lines = ALL.map(|(code, meaning)| format!("\n  {code:>3}  {meaning}"));
    format!("Exit codes:{}", lines.concat())
}

/// The code of a finished run.
pub fn of(record: &RunRecord) -> u8 {
    exit_code(&record.judgments, Ended::of(record))
}
