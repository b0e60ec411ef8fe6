//! How a command ends with an error: its text with place and hint, the words that were probably meant, and the full list of
//! exit codes. Their precedence is decided where records are judged.
//!
//! ```text
//! error: unknown setting `sesions`
//!   --> highwater.toml:3:1
//!    |
//!  3 | sesions = 4
//!    | ^^^^^^^
//!  hint: did you mean `sessions`?
//! ```
//!
//! Passwords that are part of a message or a source line must not leave this module.

use std::fmt;

use highwater_analysis::{RunEnding, exit_code};
use highwater_driver::target_url::{redacted, without_passwords};
use highwater_model::display::harmless;
use highwater_model::record::RecordRef;
use highwater_model::user_error::{Place, UserError};

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
pub fn code<'a>(record: impl Into<RecordRef<'a>>) -> u8 {
    let record = record.into();
    exit_code(record.judgments(), RunEnding::from_incidents(record.incidents()))
}

/// An error with place and hint, as lines for the terminal, without color.
pub fn render(error: &UserError) -> String {
    let place = error.place.as_ref().map_or(String::new(), |place| Shown(place).to_string());
    let hint = error
        .hint
        .as_ref()
        .map_or(String::new(), |hint| format!("\nhint: {}\n", harmless(&without_passwords(hint))));
    let message = harmless(&without_passwords(&error.message));
    format!("error: {message}\n{}{hint}", harmless(&place))
}

/// The error, with the passwords of these words removed wherever the words are quoted in full. Otherwise the end of a
/// word in a message is unknown, because a password may contain a quote.
pub fn without_passwords_of<'a>(
    mut error: UserError,
    words: impl IntoIterator<Item = &'a str>,
) -> UserError {
    for word in words {
        let value = word.split_once('=').map_or("", |(_, value)| value);
        for quoted in [word, value] {
            if let Some(clean) = redacted(quoted) {
                error.message = error.message.replace(quoted, &clean);
                error.hint = error.hint.map(|hint| hint.replace(quoted, &clean));
            }
        }
    }
    error
}

/// A place as text: the line with its part underlined.
struct Shown<'a>(&'a Place);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, line, column, width, source } = self.0;
        writeln!(f, "  --> {file}:{line}:{column}")?;
        // A line that may contain a password is not shown, nor is a long one, which would be unreadable.
        if source.contains("://")
            || source.to_lowercase().contains("password")
            || redacted(source).is_some()
            || source.len() > 200
        {
            return Ok(());
        }
        let gutter = line.to_string().len() + 1;
        let indent: String =
            source.chars().take(column - 1).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{line:>gutter$} | {source}")?;
        writeln!(f, "{:gutter$} | {indent}{}", "", "^".repeat(*width))
    }
}

/// The candidate for `did you mean …?` that is close to a word, if any.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const CLOSE: f64 = 0.8;
    let likeness = |name: &str| {
        // A single typo is close, even in a short word.
        let slip = if strsim::osa_distance(word, name) == 1 { CLOSE } else { 0.0 };
        strsim::jaro_winkler(word, name).max(slip)
    };
    candidates
        .into_iter()
        .map(|name| (likeness(name), name))
        .filter(|(likeness, _)| *likeness >= CLOSE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// A suggestion of a close candidate, or another hint.
pub fn suggestion(near: Option<&str>, otherwise: impl FnOnce() -> String) -> String {
    near.map_or_else(otherwise, |near| format!("did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

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

    #[test]
    fn an_error_shows_its_place_and_its_hint() {
        let text = "[run]\nduration = \"5 parsecs\"\n";
        let at = text.find("\"5").unwrap();
        let failure = UserError::usage("duration: `5 parsecs` has the unknown unit ` parsecs`")
            .at(Some(Place::new("highwater.toml", text, &(at..at + 11))))
            .with_hint("a duration has a unit");
        assert_snapshot!(render(&failure), @r#"
        error: duration: `5 parsecs` has the unknown unit ` parsecs`
          --> highwater.toml:2:12
           |
         2 | duration = "5 parsecs"
           |            ^^^^^^^^^^^

        hint: a duration has a unit
        "#);
    }

    #[test]
    fn a_text_cannot_steer_the_terminal() {
        let failure = UserError::usage("unknown flag `\u{1b}[31m`");
        assert_eq!(render(&failure), "error: unknown flag `\u{fffd}[31m`\n");
        let failure = UserError::usage("the server says \u{202e}live");
        assert_eq!(render(&failure), "error: the server says \u{fffd}live\n");
    }

    #[test]
    fn passwords_do_not_reach_the_text() {
        let failure =
            UserError::usage("bad `db://u:geheim@h/n` here").with_hint("--to=db://u:geheim@h");
        assert_eq!(render(&failure), "error: bad `db://u@h/n` here\n\nhint: --to=db://u@h\n");
        let word = "--to=db://u:gehe`im'x @h";
        let failure = UserError::usage("bad `db://u:gehe`im'x @h` here");
        assert_eq!(without_passwords_of(failure, [word]).message, "bad `db://u@h` here");
        let text = "target = 'db://u:geheim@h'";
        let place = Place::new("highwater.toml", text, &(9..26));
        assert_eq!(Shown(&place).to_string(), "  --> highwater.toml:1:10\n");
    }

    #[test]
    fn close_words_are_suggested_and_far_ones_are_not() {
        let names = ["sessions", "seed", "set"];
        assert_eq!(did_you_mean("sesions", names), Some("sessions"));
        assert_eq!(did_you_mean("color", names), None);
    }
}
