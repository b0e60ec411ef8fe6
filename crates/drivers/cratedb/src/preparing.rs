//! Checks the statements of a workload with EXPLAIN before the load, because HTTP does not prepare statements. Must not
//! execute one.

use highwater_model::op::{BoundOpKind, BoundWorkload};

use super::answer::Reason;
use super::options::Node;
use super::query::{self, Failure};
use highwater_driver::RefusedStatement;
use highwater_driver::contract::TargetError;
use highwater_driver::failure::ServerMessage;
use highwater_driver::http::HttpConnection;

const EXPLAIN: &str = "EXPLAIN ";

/// A schema, a relation or a column is unknown.
const UNKNOWN: [i64; 3] = [4041, 4043, 4045];
/// Prefix of the text of a syntax error; its code is also used for values that do not fit.
const SYNTAX_ERROR: &str = "ParsingException[line ";

/// Fails with a statement that the target cannot parse, or that refers to missing names. Other errors of a statement
/// without its values do not apply to the statement with them.
pub(super) async fn check(
    connection: &mut HttpConnection,
    node: &Node,
    workload: &BoundWorkload,
) -> Result<(), TargetError> {
    for (op, bound) in workload.ops.iter().enumerate() {
        let BoundOpKind::Query { sql, .. } = &bound.kind else {
            continue;
        };
        let place = format!("op `{}`", bound.name);
        match query::rows(connection, node, &format!("{EXPLAIN}{sql}")).await {
            Err(Failure::Server(error)) if is_of_statement(&error.reason) => {
                let refused = RefusedStatement {
                    op,
                    statement: 0,
                    position: position(&error.reason.text, sql),
                };
                return Err(error.into_target_error(&place).about(refused));
            }
            Ok(_) | Err(Failure::Server(_)) => {}
            Err(failure @ Failure::Io(_)) => return Err(failure.into_target_error(&place)),
        }
    }
    Ok(())
}

fn is_of_statement(reason: &Reason) -> bool {
    UNKNOWN.contains(&reason.code) || reason.text.starts_with(SYNTAX_ERROR)
}

/// Number of characters before a syntax error, which the target reports as line and column of the sent text, both from
/// 1.
fn position(text: &str, sql: &str) -> Option<usize> {
    let mut numbers = text.strip_prefix(SYNTAX_ERROR)?.split(':');
    let line: usize = numbers.next()?.parse().ok()?;
    let column: usize = numbers.next()?.parse().ok()?;
    let before = sql.split_inclusive('\n').take(line.checked_sub(1)?);
    let before: usize = before.map(|line| line.chars().count()).sum();
    let shift = if line == 1 { EXPLAIN.len() } else { 0 };
    (before + column).checked_sub(1 + shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, sql: &str, expected: Option<usize>) {
        assert_eq!(position(text, sql), expected, "{text}");
    }

    #[test]
    fn the_place_of_a_syntax_error_is_one_in_the_statement_itself() {
        let sql = "SELECT a\nFORM t";
        check("ParsingException[line 1:9: no viable]", sql, Some(0));
        check("ParsingException[line 1:16: no viable]", sql, Some(7));
        check("ParsingException[line 2:6: mismatched]", sql, Some(14));
        check("ParsingException[line 1:3: before it]", sql, None);
        check("SQLParseException[Cannot cast]", sql, None);
        check("ColumnUnknownException[Column nope unknown]", sql, None);
    }
}
