//! What a user is shown when a command fails: the place and cause, and what to do. The kind decides the exit code, and is
//! what programs decide upon; nothing may decide by the text.
//!
//! Must not print.

use std::ops::Range;

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
    /// The file's path as the user would write it.
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
}
