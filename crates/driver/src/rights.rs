//! What a user may do, found out by doing it: a small table is made, filled, read and dropped.
//!
//! TelemetryPoller for rights would have to know every way to get one; an attempt needs no such knowledge.
//! The table has a name that no workload has, and is dropped only if it was made here. What must
//! not be here: I/O, and what a refusal means.

use crate::error::{TargetError, TargetErrorKind};

/// One thing that a run needs to be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// What follows "may": `create tables`, `insert rows`, `read rows` or `drop tables`.
    pub name: &'static str,
    /// Why it is not allowed.
    pub refusal: Option<TargetError>,
}

/// Without it nothing else can be tried.
const CREATE: &str = "create tables";

/// The attempts at a table of this name, in their order. `quoted` is the name as SQL reads it.
pub(crate) fn attempts(quoted: &str) -> [(&'static str, String); 4] {
    [
        (CREATE, format!("CREATE TABLE {quoted} (n INTEGER)")),
        (
            "insert rows",
            format!("INSERT INTO {quoted} (n) VALUES (1)"),
        ),
        ("read rows", format!("SELECT count(*) FROM {quoted}")),
        ("drop tables", format!("DROP TABLE {quoted}")),
    ]
}

/// What came of the attempts so far.
#[derive(Debug, Default)]
pub(crate) struct Rights(Vec<Right>);

impl Rights {
    /// Notes an attempt; false if there is no sense in the next one.
    ///
    /// # Errors
    ///
    /// If the target went away.
    pub(crate) fn note(
        &mut self,
        name: &'static str,
        attempt: Result<(), TargetError>,
    ) -> Result<bool, TargetError> {
        let refusal = match attempt {
            Err(error) if error.kind == TargetErrorKind::Unreachable => return Err(error),
            attempt => attempt.err(),
        };
        // Without a table of ours there is nothing to fill, and nothing that may be dropped.
        let goes_on = name != CREATE || refusal.is_none();
        self.0.push(Right { name, refusal });
        Ok(goes_on)
    }

    /// All of them.
    pub(crate) fn into_list(self) -> Vec<Right> {
        self.0
    }
}
