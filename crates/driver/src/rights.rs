//! Determines the user's privileges by trying: creates, fills, reads, and drops a small table.
//!
//! Querying privileges would require knowing every way to grant them; trying does not. The table has a name that no
//! workload uses, and is dropped only if it was created here. Must not interpret a refusal.

use highwater_model::user_error::UserError;

use crate::sql_query::SqlQuery;

/// One privilege that a run needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// The words after "may": `create tables`, `insert rows`, `read rows`, or `drop tables`.
    pub name: &'static str,
    /// Why it is denied.
    pub refusal: Option<UserError>,
}

/// Required for all other attempts.
const CREATE: &str = "create tables";

/// Makes the attempts, one after the other; `quoted` is the quoted name of the table, and `options` is what its dialect
/// needs after the columns.
///
/// # Errors
///
/// The connection to the target was lost.
pub async fn try_all(
    connection: &mut impl SqlQuery,
    quoted: &str,
    options: &str,
) -> Result<Vec<Right>, UserError> {
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
        // Without this table, there is nothing to fill, and nothing that may be dropped.
        let goes_on = name != CREATE || refusal.is_none();
        rights.push(Right { name, refusal });
        if !goes_on {
            break;
        }
    }
    Ok(rights)
}
