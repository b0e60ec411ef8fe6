//! A connection that runs one statement at a time, for queries before and after a load.
//!
//! Must not know a dialect, or be used by the load.

use highwater_model::user_error::UserError;

/// Rows of a response as text; null is `None`.
pub type Texts = Vec<Vec<Option<String>>>;

/// A connection that runs one statement at a time.
#[expect(async_fn_in_trait, reason = "a connection stays on its thread")]
pub trait SqlQuery {
    /// Runs a statement and returns its rows.
    async fn texts(&mut self, sql: &str) -> Result<Texts, UserError>;
    /// The same for a fast statement, with a shorter time limit if there is one.
    async fn quick_texts(&mut self, sql: &str) -> Result<Texts, UserError> {
        self.texts(sql).await
    }
}

/// The first values of a row; null and missing values are empty.
pub fn values<const N: usize>(row: impl IntoIterator<Item = Option<String>>) -> [String; N] {
    let mut row = row.into_iter();
    std::array::from_fn(|_| row.next().flatten().unwrap_or_default())
}

/// Pairs of names and values, from rows that have both.
pub fn pairs(rows: Texts) -> impl Iterator<Item = (String, String)> {
    rows.into_iter().filter_map(|row| match <[_; 2]>::try_from(row) {
        Ok([Some(name), Some(value)]) => Some((name, value)),
        _ => None,
    })
}

/// The first value that is not null.
pub fn first_value(rows: Texts) -> Option<String> {
    rows.into_iter().flatten().flatten().next()
}
