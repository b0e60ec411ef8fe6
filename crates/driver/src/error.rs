//! Why a target cannot be used.

/// Why a target cannot be used. Never holds a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TargetError {
    /// Decides the exit code.
    pub kind: TargetErrorKind,
    /// Place and cause, one line, lower case.
    pub message: String,
    /// What the user can do, naming the flag or the URL parameter.
    pub hint: Option<String>,
}

/// Kinds of [`TargetError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TargetErrorKind {
    /// The URL or an option is wrong: exit code 2.
    Usage,
    /// No connection, or no room for a request now: it may be repeated. Exit code 5.
    Unreachable,
    /// A statement needed more memory, or more space for temporary data, than the target has or allows: a
    /// smaller one may pass. Exit code 5.
    Exhausted,
    /// User, password, certificate or right refused: exit code 5.
    Refused,
    /// The target refused a statement that the run needs: exit code 5.
    Statement,
    /// A table that a statement names is not there: exit code 5.
    MissingTable,
    /// The target refused a statement of the workload when it was prepared: exit code 2.
    Preparation(RefusedStatement),
    /// Tables that are not Highwater's, or hold another workload: exit code 2.
    ForeignTable,
}

/// Which statement of a workload a target refused, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RefusedStatement {
    /// Position of the op in the workload.
    pub op: usize,
    /// Position of the statement in the op; not 0 in a transaction only.
    pub statement: usize,
    /// Characters of the statement, as it was sent, before the place that the target names.
    pub position: Option<usize>,
}

impl TargetError {
    /// The same error about a statement of the workload, if the target refused a statement at all;
    /// for any other reason it is not the workload's fault.
    pub fn about(mut self, refused: RefusedStatement) -> Self {
        let refused_kinds = [TargetErrorKind::Statement, TargetErrorKind::MissingTable];
        if refused_kinds.contains(&self.kind) {
            self.kind = TargetErrorKind::Preparation(refused);
        }
        self
    }

    /// An error of that kind.
    pub fn new(kind: TargetErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None }
    }

    /// An error of the user's URL or options.
    pub fn usage(message: impl Into<String>) -> Self {
        Self::new(TargetErrorKind::Usage, message)
    }

    /// The target refused a statement that the run needs.
    pub fn statement(message: impl Into<String>) -> Self {
        Self::new(TargetErrorKind::Statement, message)
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
        Self::new(TargetErrorKind::Unreachable, message)
    }

    /// The target is there, and may not be used so.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(TargetErrorKind::Refused, message)
    }

    /// The same error, with what names the target before it if it is about a table that cannot be
    /// used: the rules that refuse one do not know where it is.
    pub fn of_table(self, place: &str) -> Self {
        match self.kind {
            TargetErrorKind::ForeignTable | TargetErrorKind::Usage => {
                Self { message: format!("{place}: {}", self.message), ..self }
            }
            _ => self,
        }
    }

    /// Whether the target is away or has no room now, and not against the request for good.
    pub fn may_pass(&self) -> bool {
        matches!(self.kind, TargetErrorKind::Unreachable | TargetErrorKind::Exhausted)
    }

    /// The same error with a hint.
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
