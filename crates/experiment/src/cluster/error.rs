//! Why a cluster is not as it should be. Must not print it.

use std::fmt::Display;

/// Why a cluster is not as it should be: one message with its cause, and what helps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ClusterError {
    /// Decides the exit code.
    pub kind: ClusterErrorKind,
    /// Cause, lower case; the end of a log may follow in lines of its own.
    pub message: String,
    /// What the user can do.
    pub hint: Option<String>,
}

/// Kinds of [`ClusterError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterErrorKind {
    /// The file or a flag asks for what cannot be: a right that is missing, a port in use.
    Usage,
    /// A node or a command failed.
    Failed,
    /// The user stopped it.
    Interrupted,
}

impl ClusterError {
    /// The file or a flag asks for what cannot be.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(ClusterErrorKind::Usage, message)
    }

    /// A node or a command failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(ClusterErrorKind::Failed, message)
    }

    /// The user stopped it, at this.
    pub fn interrupted(during: impl Display) -> Self {
        Self::new(ClusterErrorKind::Interrupted, format!("interrupted while {during}"))
    }

    /// Something on the disk could not be done.
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
