//! Exit codes: the full list. Their precedence is decided where records are judged.

use highwater_analysis::{Ended, exit_code};
use highwater_model::record::RecordRef;

/// The command succeeded.
pub const SUCCESS: u8 = 0;
/// An objective was missed, or a gate found something worse.
pub const MISSED: u8 = 1;
/// Invalid usage or input; nothing was run.
pub const USAGE: u8 = 2;
/// The measurement, or the published figures, are not valid.
pub const NOT_VALID: u8 = 3;
/// The target was unreachable or rejected the connection or a statement.
pub const TARGET: u8 = 5;
/// The user stopped it.
pub const INTERRUPTED: u8 = 130;

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
    (TARGET, "target unreachable or rejected the connection or a statement"),
    (INTERRUPTED, "interrupted"),
];

/// Precedence if several apply; see `docs/reference/exit-codes.md`.
const FIRST: [u8; 7] = [4, TARGET, INTERRUPTED, USAGE, NOT_VALID, MISSED, SUCCESS];

/// The code of two runs together.
pub fn of_both(one: u8, other: u8) -> u8 {
    let rank = |code: u8| FIRST.iter().position(|first| *first == code);
    if rank(other) < rank(one) { other } else { one }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_rows_win_over_an_interrupt_and_any_reason_over_success() {
        for (one, other, both) in
            [(4, 130, 4), (130, 4, 4), (3, 1, 3), (1, 3, 3), (5, 3, 5), (0, 1, 1), (0, 0, 0)]
        {
            assert_eq!(of_both(one, other), both, "{one} and {other}");
        }
    }

    #[test]
    fn every_code_has_its_place() {
        let mut all = ALL.map(|(code, _)| code);
        let mut first = FIRST;
        all.sort_unstable();
        first.sort_unstable();
        assert_eq!(all, first);
    }
}
