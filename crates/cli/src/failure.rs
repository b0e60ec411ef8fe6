//! What went wrong, where, and what helps: one shape and one renderer for every error.
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
//! A password that found its way into a message or a source line does not leave this module.

use std::fmt;
use std::ops::Range;

use highwater_driver::{TargetError, TargetErrorKind, TargetUrl};

use crate::exit;

/// An error of the user's world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// One of [`crate::exit`]'s codes.
    pub exit: u8,
    /// Place and cause, lower case.
    pub message: String,
    /// Where in a file.
    pub place: Option<Box<Place>>,
    /// What the user can do.
    pub hint: Option<String>,
}

/// A piece of a line of a file.
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
    /// Bad usage or bad input.
    pub fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: exit::USAGE,
            message: message.into(),
            place: None,
            hint: None,
        }
    }

    /// The same failure with a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same failure at a place.
    pub fn at(mut self, place: Option<Place>) -> Self {
        self.place = place.map(Box::new);
        self
    }

    /// The error and all that helps, as lines for the terminal, without color.
    pub fn render(&self) -> String {
        let place = self
            .place
            .as_ref()
            .map_or(String::new(), ToString::to_string);
        let hint = self.hint.as_ref().map_or(String::new(), |hint| {
            format!("\nhint: {}\n", printable(&without_passwords(hint)))
        });
        let message = printable(&without_passwords(&self.message));
        format!("error: {message}\n{}{hint}", printable(&place))
    }
}

/// The text without what could steer a terminal; line ends and tabs stay.
fn printable(text: &str) -> String {
    text.replace(
        |c: char| c.is_control() && c != '\n' && c != '\t',
        "\u{fffd}",
    )
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        let exit = match error.kind {
            TargetErrorKind::Usage | TargetErrorKind::ForeignTable => exit::USAGE,
            TargetErrorKind::Unreachable
            | TargetErrorKind::Refused
            | TargetErrorKind::Statement
            | TargetErrorKind::MissingTable => exit::TARGET,
        };
        Self {
            exit,
            message: error.message,
            place: None,
            hint: error.hint,
        }
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
            width: text[start..end.min(line_end).max(start)]
                .chars()
                .count()
                .max(1),
            source: text[line_start..line_end].trim_end().to_owned(),
        }
    }
}

impl Place {
    /// The place of a byte range of one line.
    pub fn of_line(file: &str, line: usize, text: &str, range: &Range<usize>) -> Self {
        Self {
            line,
            ..Self::new(file, text, range)
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            column,
            width,
            source,
        } = self;
        writeln!(f, "  --> {file}:{line}:{column}")?;
        // A line that may hold a password is not shown; a long one would not be read.
        if source.contains("://")
            || source.to_lowercase().contains("password")
            || source.len() > 200
        {
            return Ok(());
        }
        let gutter = line.to_string().len() + 1;
        let indent: String = source
            .chars()
            .take(column - 1)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        writeln!(f, "{:gutter$} |", "")?;
        writeln!(f, "{line:>gutter$} | {source}")?;
        writeln!(f, "{:gutter$} | {indent}{}", "", "^".repeat(*width))
    }
}

/// The text with the password of every URL in it cut out.
pub fn without_passwords(text: &str) -> String {
    text.split_inclusive(|c: char| c.is_whitespace() || "`'\"".contains(c))
        .map(|piece| {
            let end = piece.trim_end_matches(|c: char| c.is_whitespace() || "`'\"".contains(c));
            let (word, separator) = piece.split_at(end.len());
            match redacted(word) {
                Some(clean) => format!("{clean}{separator}"),
                None => piece.to_owned(),
            }
        })
        .collect()
}

/// The URL in `word` without its password, if it has one. What precedes the scheme is kept.
pub fn redacted(word: &str) -> Option<String> {
    let scheme_end = word.find("://")?;
    let scheme_start = word[..scheme_end]
        .rfind(|c: char| !c.is_ascii_alphanumeric() && !"+-.".contains(c))
        .map_or(0, |at| at + 1);
    let (before, url) = word.split_at(scheme_start);
    let holds_one = match TargetUrl::parse(url) {
        Ok(parsed) => {
            let in_parameters = |name: &String| name.to_ascii_lowercase().contains("password");
            if parsed.password.is_some() || parsed.parameters.keys().any(in_parameters) {
                return Some(format!("{before}{parsed}"));
            }
            false
        }
        Err(_) => url.contains('@'),
    };
    holds_one.then(|| {
        let rest = url.rsplit('@').next().unwrap_or_default();
        format!("{before}{}://***@{rest}", &word[scheme_start..scheme_end])
    })
}

/// The candidate for `did you mean …?` that is close to a word, if any.
pub fn did_you_mean<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    const CLOSE: f64 = 0.8;
    let likeness = |name: &str| {
        // One slip of the finger is close, however short the word.
        let slip = if strsim::osa_distance(word, name) == 1 {
            CLOSE
        } else {
            0.0
        };
        strsim::jaro_winkler(word, name).max(slip)
    };
    candidates
        .into_iter()
        .map(|name| (likeness(name), name))
        .filter(|(likeness, _)| *likeness >= CLOSE)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
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
        for (given, shown) in [
            ("bad `db://u:geheim@h/n` here", "bad `db://u@h/n` here"),
            ("--rate=db://u:geheim@h", "--rate=db://u@h"),
            ("db://h?password=geheim", "db://h?password=***"),
            ("db://u:geheim@h:99999/n", "db://***@h:99999/n"),
            ("db://u@h/n stays", "db://u@h/n stays"),
            ("nothing: to @ hide", "nothing: to @ hide"),
        ] {
            assert_eq!(without_passwords(given), shown);
        }
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
