//! A connection on which one statement at a time is run, for what is asked around a load.
//!
//! Must not know a dialect, nor be used by the load.

use crate::error::TargetError;

/// Rows of a response as text, null as none.
pub type Texts = Vec<Vec<Option<String>>>;

/// A connection that runs one statement at a time.
#[expect(async_fn_in_trait, reason = "a connection stays on its thread")]
pub trait SqlQuery {
    /// Runs a statement and returns its rows.
    async fn texts(&mut self, sql: &str) -> Result<Texts, TargetError>;
    /// The same of a statement that is quickly answered, in less time where that has a limit.
    async fn quick_texts(&mut self, sql: &str) -> Result<Texts, TargetError> {
        self.texts(sql).await
    }
}
