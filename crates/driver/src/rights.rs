//! The user's privileges, found by trying: a small table is created, filled, read and dropped.
//!
//! Querying privileges would require knowing every way to grant them; an attempt does not. The
//! table has a name that no workload uses, and is dropped only if it was created here. Must not
//! interpret a refusal.

use crate::error::TargetError;
use crate::sql_query::SqlQuery;

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

/// Makes the attempts, one after the other; `quoted` is the name of the table as SQL reads it, and
/// `options` is what its dialect needs after the columns.
///
/// # Errors
///
/// If the connection to the target was lost.
pub async fn try_all(
    connection: &mut impl SqlQuery,
    quoted: &str,
    options: &str,
) -> Result<Vec<Right>, TargetError> {
    let create = format!("CREATE TABLE {quoted} (n INTEGER){options}");
    let insert = format!("INSERT INTO {quoted} (n) VALUES (1)");
    let attempts = [
        (CREATE, create),
        ("insert rows", insert),
        ("read rows", format!("SELECT count(*) FROM {quoted}")),
        ("drop tables", format!("DROP TABLE {quoted}")),
    ];
    let mut rights = Vec::new();
    for (name, sql) in attempts {
        let refusal = match connection.texts(&sql).await {
            Err(error) if error.may_pass() => return Err(error),
            attempt => attempt.err(),
        };
        // Without our own table there is nothing to fill, and nothing that may be dropped.
        let goes_on = name != CREATE || refusal.is_none();
        rights.push(Right { name, refusal });
        if !goes_on {
            break;
        }
    }
    Ok(rights)
}
