//! What a user is shown when a command fails: the place and cause, and what to do. The kind decides the exit code, and
//! is what programs decide upon; nothing may decide by the text.
//!
//! Must not print.

use std::ops::Range;
use std::{fmt, io};

/// An error that the user can act upon. Never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UserError {
    /// Decides the exit code.
    pub kind: UserErrorKind,
    /// What failed and why, lower case; one line, except for the end of a log.
    pub message: String,
    /// Place in a file.
    pub place: Option<Box<Place>>,
    /// What to do; it names the flag, the setting, or the URL parameter.
    pub hint: Option<String>,
}

/// A part of a line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file's path as the user would write it; empty if only the caller knows it.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// Characters to underline, at least 1.
    pub width: usize,
    /// The line's text, which may contain a password.
    pub source: String,
}

/// Kinds of [`UserError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserErrorKind {
    /// A flag, a file, or a URL is wrong: exit code 2.
    Usage,
    /// No connection, or currently not enough resources for a request: it may be retried. Exit code 5.
    Unreachable,
    /// A statement needed more memory, or more temporary space, than the target has or allows: a smaller one may
    /// succeed. Exit code 5.
    Exhausted,
    /// User, password, certificate, or privilege rejected: exit code 5.
    Refused,
    /// The target rejected a statement that the run needs: exit code 5.
    Statement,
    /// A table in a statement does not exist: exit code 5.
    MissingTable,
    /// The target rejected a statement of the workload during preparation: exit code 2.
    Preparation(RefusedStatement),
    /// Tables that Highwater did not create, or that contain another workload: exit code 2.
    ForeignTable,
    /// A node or a command of a cluster failed: it may be retried. Exit code 5.
    Cluster,
    /// Other shares of the plan did not come, or ended: exit code 3.
    MissingShare,
    /// The user stopped it: exit code 130.
    Interrupted,
}

impl UserErrorKind {
    /// The exit code of a command that ends with it, as documented.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Usage | Self::ForeignTable | Self::Preparation(_) => 2,
            Self::Unreachable
            | Self::Exhausted
            | Self::Refused
            | Self::Statement
            | Self::MissingTable
            | Self::Cluster => 5,
            Self::MissingShare => 3,
            Self::Interrupted => 130,
        }
    }
}

/// A statement of a workload that a target rejected, with the position of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedStatement {
    /// Position of the op in the workload.
    pub op: usize,
    /// Position of the statement in the op; above 0 only in a transaction.
    pub statement: usize,
    /// Characters of the sent statement before the position that the target reports.
    pub position: Option<usize>,
}

impl UserError {
    /// Attributes the error to a statement of the workload, if the target rejected a statement; other errors are not
    /// the workload's fault.
    pub fn about(mut self, refused: RefusedStatement) -> Self {
        let refused_kinds = [UserErrorKind::Statement, UserErrorKind::MissingTable];
        if refused_kinds.contains(&self.kind) {
            self.kind = UserErrorKind::Preparation(refused);
        }
        self
    }

    /// An error of that kind.
    pub fn new(kind: UserErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), place: None, hint: None }
    }

    /// An error in what the user gave.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(UserErrorKind::Usage, message)
    }

    /// The target rejected a statement that the run needs.
    pub fn statement(message: impl Into<String>) -> Self {
        Self::new(UserErrorKind::Statement, message)
    }

    /// An op is a transaction, and the target has none.
    pub fn no_transactions(op: &str) -> Self {
        Self::usage(format!(
            "op `{op}` is a transaction of several statements, and the target has no transactions"
        ))
        .with_hint("run its statements as ops of their own, or choose another target")
    }

    /// No connection.
    pub fn unreachable(message: impl Into<String>) -> Self {
        Self::new(UserErrorKind::Unreachable, message)
    }

    /// The target is reachable, but denies this use.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(UserErrorKind::Refused, message)
    }

    /// An error in a byte range of a text that a user wrote; a range beyond its end is moved to the end. The caller
    /// knows [in which file](Self::in_file) the text is.
    pub fn in_text(text: &str, range: &Range<usize>, message: &str) -> Self {
        Self::usage(one_line(message)).at(Some(Place::new("", text, range)))
    }

    /// The operating system refused an operation.
    pub fn cannot(what: impl fmt::Display, error: &io::Error) -> Self {
        Self::usage(format!("cannot {what}: {error}"))
    }

    /// A node or a command of a cluster failed.
    pub fn cluster(message: impl Into<String>) -> Self {
        Self::new(UserErrorKind::Cluster, message)
    }

    /// The user stopped it.
    pub fn interrupted(message: impl Into<String>) -> Self {
        Self::new(UserErrorKind::Interrupted, message)
    }

    /// Adds the target's name to an error about an unusable table, because the rules that reject tables do not know it.
    pub fn of_table(self, place: &str) -> Self {
        match self.kind {
            UserErrorKind::ForeignTable | UserErrorKind::Usage => {
                Self { message: format!("{place}: {}", self.message), ..self }
            }
            _ => self,
        }
    }

    /// Whether the target is unreachable or temporarily lacks resources, or a node of its cluster failed, rather than
    /// the request being rejected permanently.
    pub fn may_pass(&self) -> bool {
        use UserErrorKind::{Cluster, Exhausted, Unreachable};
        matches!(self.kind, Unreachable | Exhausted | Cluster)
    }

    /// The same error with a hint.
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        self.hinted(Some(hint))
    }

    /// The same error, with a hint if there is one.
    pub fn hinted(mut self, hint: Option<impl Into<String>>) -> Self {
        self.hint = hint.map(Into::into);
        self
    }

    /// The same error at a place.
    pub fn at(mut self, place: Option<Place>) -> Self {
        self.place = place.map(Box::new);
        self
    }

    /// The same error, with the name of the file of its place, if it has one.
    pub fn in_file(mut self, file: &str) -> Self {
        if let Some(place) = &mut self.place {
            file.clone_into(&mut place.file);
        }
        self
    }

    /// Line and column of its place, from 1; zeros without a place, which sorts it first.
    pub fn position(&self) -> (usize, usize) {
        self.place.as_ref().map_or((0, 0), |place| (place.line, place.column))
    }

    /// The exit code of a command that ends with it.
    pub fn exit_code(&self) -> u8 {
        self.kind.exit_code()
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

/// A message on one line, even if it quotes names from a damaged file.
pub fn one_line(message: &str) -> String {
    let line: Vec<&str> = message.lines().map(str::trim).collect();
    line.join("; ").chars().take(MAX_MESSAGE).collect()
}

/// Maximum number of characters of a message.
const MAX_MESSAGE: usize = 400;

/// `did you mean …?` if a known word is similar or has the word as a prefix, otherwise the list of known words.
pub fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(longer) = known.iter().find(|known| word.len() > 1 && known.starts_with(word)) {
        return Some(format!("did you mean `{longer}`?"));
    }
    let nearest = known.iter().map(|candidate| (distance(word, candidate), *candidate)).min();
    match nearest {
        None => None,
        Some((distance, candidate)) if distance <= 1 + candidate.len() / 4 => {
            Some(format!("did you mean `{candidate}`?"))
        }
        Some(_) => Some(format!("known here: {}", known.join(", "))),
    }
}

/// Edit distance with insertions, deletions, replacements, and swaps of neighbors (optimal string alignment). Words of
/// more than 64 letters have a large distance.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    if from.len() > 64 || to.len() > 64 {
        return usize::MAX;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let change = usize::from(from[i - 1] != to[j - 1]);
            let mut least =
                (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row[j] = least;
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn distances_count_letters_and_swaps() {
        for (from, to, letters) in [
            ("", "", 0),
            ("", "abc", 3),
            ("uniform", "unifrom", 1),
            ("hosts", "host", 1),
            ("kitten", "sitting", 3),
            ("straße", "strasse", 2),
        ] {
            assert_eq!(distance(from, to), letters, "{from} {to}");
            assert_eq!(distance(to, from), letters, "{to} {from}");
        }
        assert_eq!(distance(&"a".repeat(65), "a"), usize::MAX);
    }

    #[test]
    fn a_near_word_is_suggested_a_far_one_gets_the_list() {
        let known = ["uniform", "normal"];
        let near = suggest("unifrom", known).unwrap();
        assert_eq!(near, "did you mean `uniform`?");
        let far = suggest("zipfian", known).unwrap();
        assert_eq!(far, "known here: uniform, normal");
        assert_eq!(suggest("x", []), None);
    }
}
