//! What a user is shown when a command fails: the place and cause, and what to do. The kind decides the exit code, and is
//! what programs decide upon; nothing may decide by the text.
//!
//! Must not print.

/// An error that the user can act upon. Never contains a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UserError {
    /// Decides the exit code.
    pub kind: UserErrorKind,
    /// Place and cause, one line, lower case.
    pub message: String,
    /// A suggestion that names the flag or the URL parameter.
    pub hint: Option<String>,
}

/// Kinds of [`UserError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserErrorKind {
    /// The URL or an option is wrong: exit code 2.
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
        Self { kind, message: message.into(), hint: None }
    }

    /// An error in the user's URL or options.
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

    /// Adds the target's name to an error about an unusable table, because the rules that reject tables do not know it.
    pub fn of_table(self, place: &str) -> Self {
        match self.kind {
            UserErrorKind::ForeignTable | UserErrorKind::Usage => {
                Self { message: format!("{place}: {}", self.message), ..self }
            }
            _ => self,
        }
    }

    /// Whether the target is unreachable or temporarily lacks resources, rather than rejecting the request permanently.
    pub fn may_pass(&self) -> bool {
        matches!(self.kind, UserErrorKind::Unreachable | UserErrorKind::Exhausted)
    }

    /// The same error with a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
