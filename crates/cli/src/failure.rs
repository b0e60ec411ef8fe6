//! Errors with their place and hint: one type and one renderer for all of them.
//!
//! ```text
//! error: unknown setting `sesions`
//!   --> highwater.toml:3:1
//!    |
//!  3 | sesions = 4
//!    | ^^^^^^^
//!
//! hint: did you mean `sessions`?
//! ```
//!
//! Passwords that are part of a message or a source line must not leave this module.

use std::fmt;
use std::ops::Range;

use highwater_driver::redaction::{redacted, without_passwords};
use highwater_model::display::harmless;
use highwater_model::user_error::{UserError, UserErrorKind};

use crate::exit;

/// An error that the user can fix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One of [`crate::exit`]'s codes.
    pub exit: u8,
    /// Place and cause, lower case.
    pub message: String,
    /// Place in a file.
    pub place: Option<Box<Place>>,
    /// Advice for the user.
    pub hint: Option<String>,
}

/// A part of a line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file's path as the user would write it.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Characters to underline, at least 1.
    pub width: usize,
    /// The line's text.
    pub source: String,
}

impl Failure {
    /// Invalid usage or input.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: exit::USAGE, message: message.into(), place: None, hint: None }
    }

    /// The same failure with a hint.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        self.hinted(Some(hint))
    }

    /// The same failure, with a hint if there is one.
    pub fn hinted(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }

    /// The same failure with another exit code.
    pub fn with_exit(mut self, exit: u8) -> Self {
        self.exit = exit;
        self
    }

    /// The same failure at a place.
    pub fn at(mut self, place: Option<Place>) -> Self {
        self.place = place.map(Box::new);
        self
    }

    /// The error with place and hint, as lines for the terminal, without color.
    pub fn render(&self) -> String {
        let place = self.place.as_ref().map_or(String::new(), ToString::to_string);
        let hint = self.hint.as_ref().map_or(String::new(), |hint| {
            format!("\nhint: {}\n", harmless(&without_passwords(hint)))
        });
        let message = harmless(&without_passwords(&self.message));
        format!("error: {message}\n{}{hint}", harmless(&place))
    }

    /// The same failure, with the passwords of these words removed wherever the words are quoted in full. Otherwise the
    /// end of a word in a message is unknown, because a password may contain a quote.
    pub fn without_passwords_of<'a>(mut self, words: impl IntoIterator<Item = &'a str>) -> Self {
        for word in words {
            let value = word.split_once('=').map_or("", |(_, value)| value);
            for quoted in [word, value] {
                if let Some(clean) = redacted(quoted) {
                    self.message = self.message.replace(quoted, &clean);
                    self.hint = self.hint.map(|hint| hint.replace(quoted, &clean));
                }
            }
        }
        self
    }
}

impl From<UserError> for Failure {
    fn from(error: UserError) -> Self {
        let exit = match error.kind {
            UserErrorKind::Usage | UserErrorKind::ForeignTable | UserErrorKind::Preparation(_) => {
                exit::USAGE
            }
            UserErrorKind::Unreachable
            | UserErrorKind::Exhausted
            | UserErrorKind::Refused
            | UserErrorKind::Statement
            | UserErrorKind::MissingTable => exit::TARGET,
        };
        Self::usage(error.message).hinted(error.hint).with_exit(exit)
    }
}

impl Place {
    /// The place of a byte range of a file's text. A range over several lines ends with the first.
    pub fn new(file: &str, text: &str, range: &Range<usize>) -> Self {
        let start = text.floor_char_boundary(range.start.min(text.len()));
        let end = text.floor_char_boundary(range.end.clamp(start, text.len()));
        let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        Self {
            file: file.to_owned(),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            width: text[start..end.min(line_end).max(start)].chars().count().max(1),
            source: text[line_start..line_end].trim_end().to_owned(),
        }
    }

    /// The place of a byte range of one line.
    pub fn of_line(file: &str, line: usize, text: &str, range: &Range<usize>) -> Self {
        Self { line, ..Self::new(file, text, range) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, width, source } = self;
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
    use super::*;
    use insta::assert_snapshot;

    #[test]
    fn a_failure_shows_its_place_and_its_hint() {
        let text = "[run]\nduration = \"5 parsecs\"\n";
        let at = text.find("\"5").unwrap();
        let failure = Failure::usage("duration: `5 parsecs` has the unknown unit ` parsecs`")
            .at(Some(Place::new("highwater.toml", text, &(at..at + 11))))
            .with_hint("a duration has a unit");
        assert_snapshot!(failure.render(), @r#"
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
        let failure = Failure::usage("unknown flag `\u{1b}[31m`");
        assert_eq!(failure.render(), "error: unknown flag `\u{fffd}[31m`\n");
        let failure = Failure::usage("the server says \u{202e}live");
        assert_eq!(failure.render(), "error: the server says \u{fffd}live\n");
    }

    #[test]
    fn columns_count_characters_and_ranges_stop_at_the_end_of_the_line() {
        let text = "# ü\nä = 'é' +\nx";
        let at = text.find('+').unwrap();
        let place = Place::new("f", text, &(at..text.len()));
        assert_eq!((place.line, place.column, place.width), (2, 9, 1));
        let beyond = Place::new("f", text, &(99..120));
        assert_eq!((beyond.line, beyond.column, beyond.width), (3, 2, 1));
    }

    #[test]
    fn passwords_do_not_reach_the_text() {
        let failure =
            Failure::usage("bad `db://u:geheim@h/n` here").with_hint("--to=db://u:geheim@h");
        assert_eq!(failure.render(), "error: bad `db://u@h/n` here\n\nhint: --to=db://u@h\n");
        let word = "--to=db://u:gehe`im'x @h";
        let failure = Failure::usage("bad `db://u:gehe`im'x @h` here");
        assert_eq!(failure.without_passwords_of([word]).message, "bad `db://u@h` here");
        let text = "target = 'db://u:geheim@h'";
        let place = Place::new("highwater.toml", text, &(9..26));
        assert_eq!(place.to_string(), "  --> highwater.toml:1:10\n");
    }

    #[test]
    fn close_words_are_suggested_and_far_ones_are_not() {
        let names = ["sessions", "seed", "set"];
        assert_eq!(did_you_mean("sesions", names), Some("sessions"));
        assert_eq!(did_you_mean("color", names), None);
    }
}
