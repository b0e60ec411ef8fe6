//! Errors of clusters. Must not print them.

use std::fmt::Display;

use highwater_model::user_error::UserError;

/// An error of a cluster: one message with its cause, and a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ClusterError {
    /// Decides the exit code.
    pub kind: ClusterErrorKind,
    /// Cause, lower case; the end of a log may follow on separate lines.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
}

/// Kinds of [`ClusterError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterErrorKind {
    /// The file or a flag requires something impossible, such as a missing right or a port in use.
    Usage,
    /// A node or a command failed.
    Failed,
    /// The user stopped it.
    Interrupted,
}

impl ClusterError {
    /// An error for an impossible request in the file or a flag.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ClusterErrorKind::Usage, message)
    }

    /// An error for a failed node or command.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ClusterErrorKind::Failed, message)
    }

    /// An error for a stop by the user during this step.
    pub fn interrupted(during: impl Display) -> Self {
        Self::new(ClusterErrorKind::Interrupted, format!("interrupted while {during}"))
    }

    /// An error of a file operation.
    pub fn disk(what: impl Display, error: &std::io::Error) -> Self {
        Self::usage(format!("cannot {what}: {error}"))
    }

    fn new(kind: ClusterErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// The same error with a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<ClusterError> for UserError {
    fn from(error: ClusterError) -> Self {
        let of = match error.kind {
            ClusterErrorKind::Usage => Self::usage(error.message),
            ClusterErrorKind::Failed | ClusterErrorKind::Interrupted => {
                Self::unreachable(error.message)
            }
        };
        Self { hint: error.hint, ..of }
    }
}
