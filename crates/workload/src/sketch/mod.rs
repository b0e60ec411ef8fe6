//! Generates a workload file from an existing table: its columns, generators that approximate their contents, and the
//! queries recorded by the target. It is a starting point for a user's file, not a copy of the data. Here: the parts
//! of SQL and TOML that its chapters share.

mod column;
mod mix;
mod statement;
mod table;

use sqlparser::ast::{BinaryOperator, Expr, Value};

/// A TOML string: JSON's escapes are among TOML's.
pub(super) use crate::entity::quoted;
pub use table::sketch;

/// A TOML string that is readable with quotes and line breaks.
fn text(text: &str) -> String {
    let plain = !text.contains(|c: char| c.is_control() && c != '\n');
    let fits = plain && !text.contains("'''") && !text.starts_with('\'') && !text.ends_with('\'');
    match text {
        _ if !fits || !text.contains(['"', '\n', '\\']) => quoted(text),
        _ if !text.contains(['\'', '\n']) => format!("'{text}'"),
        // The line break after the opening quotes is not part of the text.
        _ if text.contains('\n') => format!("'''\n{text}'''"),
        _ => format!("'''{text}'''"),
    }
}

/// Whether an operator compares two values.
fn compares(op: &BinaryOperator) -> bool {
    matches!(
        op,
        BinaryOperator::Eq
            | BinaryOperator::NotEq
            | BinaryOperator::Lt
            | BinaryOperator::LtEq
            | BinaryOperator::Gt
            | BinaryOperator::GtEq
    )
}

/// Whether it is a single value: a literal or a placeholder, optionally with a type.
fn is_value(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Placeholder(text) => !text.starts_with(':'),
            other => !matches!(other, Value::Null),
        },
        Expr::Nested(inner)
        | Expr::Cast { expr: inner, .. }
        | Expr::UnaryOp { expr: inner, .. } => is_value(inner),
        Expr::TypedString(_) => true,
        _ => false,
    }
}

fn is_placeholder(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::Placeholder(_)))
}

fn placeholder(name: &str) -> Expr {
    Expr::Value(Value::Placeholder(format!(":{name}")).into())
}

fn number(number: u64) -> Expr {
    Expr::Value(Value::Number(number.to_string(), false).into())
}
