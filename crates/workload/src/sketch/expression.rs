//! Parts of SQL expressions: values, placeholders, and comparisons. Must not rewrite statements.

use sqlparser::ast::{BinaryOperator, Expr, Value};

/// Whether an operator compares two values.
pub(super) fn compares(op: &BinaryOperator) -> bool {
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
pub(super) fn is_value(expr: &Expr) -> bool {
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

pub(super) fn is_placeholder(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::Placeholder(_)))
}

pub(super) fn placeholder(name: &str) -> Expr {
    Expr::Value(Value::Placeholder(format!(":{name}")).into())
}

pub(super) fn number(number: u64) -> Expr {
    Expr::Value(Value::Number(number.to_string(), false).into())
}
