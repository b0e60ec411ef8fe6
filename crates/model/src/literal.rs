//! Statements with values in their text, as sent by clients without prepared statements.
//!
//! The driver writes the text for each op; the workload has determined where the values go. No other code may build a
//! statement of the load from a user's text.

use std::fmt::Write as _;

use time::OffsetDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

use super::op::Value;

/// Timestamps that every server can parse: in UTC, to the millisecond.
const TIMESTAMP: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:3]Z");

/// Timestamps without a zone, for a dialect whose sessions use the zone of the data.
const DATETIME: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day] [hour]:[minute]:[second].[subsecond digits:3]");

/// The parts of literals that differ between dialects: timestamps, and backslashes in texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiteralStyle {
    /// `CAST('2016-01-01T00:00:00.000Z' AS TIMESTAMP WITH TIME ZONE)`
    Standard,
    /// Milliseconds since 1970, for a dialect without such a type.
    Milliseconds,
    /// `'2016-01-01 00:00:00.000'`; backslashes in texts are doubled.
    Backslashes,
    /// Milliseconds since 1970, booleans as 1 and 0, `nan` and `inf`; texts with backslashes.
    Numbers,
}

/// A statement, split at its values.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LiteralSql {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A position among the op's values.
    Value(usize),
}

impl LiteralSql {
    /// Adds verbatim text.
    pub fn push_text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    /// Adds a slot for the value at this position among the op's.
    pub fn push_value(&mut self, position: usize) {
        self.pieces.push(Piece::Value(position));
    }

    /// Adds slots separated by commas.
    pub fn push_list(&mut self, positions: impl IntoIterator<Item = usize>) {
        for (number, position) in positions.into_iter().enumerate() {
            if number > 0 {
                self.push_text(", ");
            }
            self.push_value(position);
        }
    }

    /// Appends the statement with these values; a missing value is null.
    pub fn write(&self, values: &[Value], style: LiteralStyle, out: &mut String) {
        self.fill(out, |position, out| {
            let value = values.get(position).unwrap_or(&Value::Null);
            put(value, style, out);
        });
    }

    /// The statement with a placeholder for each value: the mark, followed by the value's number from 1.
    pub fn numbered(&self, mark: char) -> String {
        let mut text = String::new();
        self.fill(&mut text, |position, out| {
            out.push(mark);
            out.push_str(&(position + 1).to_string());
        });
        text
    }

    fn fill(&self, out: &mut String, mut value: impl FnMut(usize, &mut String)) {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Value(position) => value(*position, out),
            }
        }
    }
}

/// 2²⁰⁰: multiplying by it, and dividing again, is exact for the smallest numbers.
const GREAT: f64 =
    1_606_938_044_258_990_275_541_962_092_341_162_602_522_202_993_782_792_835_301_376.0;

fn put(value: &Value, style: LiteralStyle, out: &mut String) {
    // Writing to a string cannot fail. A negative number gets parentheses: `1 - -1` is fine, `1--1` a comment.
    let written = match value {
        Value::Null => write!(out, "NULL"),
        Value::Boolean(value) if style == LiteralStyle::Numbers => {
            write!(out, "{}", u8::from(*value))
        }
        Value::Boolean(true) => write!(out, "TRUE"),
        Value::Boolean(false) => write!(out, "FALSE"),
        Value::Integer(number) if *number < 0 => write!(out, "({number})"),
        Value::Integer(number) => write!(out, "{number}"),
        Value::Float(number) if !number.is_finite() && style == LiteralStyle::Numbers => {
            write!(out, "({})", number.to_string().to_lowercase())
        }
        Value::Float(number) if !number.is_finite() => {
            write!(out, "CAST('{number}' AS DOUBLE PRECISION)")
        }
        // A subnormal number is too small for some parsers.
        Value::Float(number) if number.is_subnormal() && style == LiteralStyle::Numbers => {
            write!(out, "({:?} / {GREAT:?})", number * GREAT)
        }
        Value::Float(number) if number.is_sign_negative() => write!(out, "({number:?})"),
        Value::Float(number) => write!(out, "{number:?}"),
        Value::TimestampMs(ms) => write!(out, "{}", timestamp(*ms, style)),
        Value::Text(text) if style == LiteralStyle::Backslashes => {
            write!(out, "'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
        }
        Value::Text(text) if style == LiteralStyle::Numbers => {
            let text = text.replace('\\', "\\\\").replace('\'', "\\'");
            write!(out, "'{}'", text.replace('\0', "\\0"))
        }
        Value::Text(text) => write!(out, "'{}'", text.replace('\'', "''")),
    };
    debug_assert!(written.is_ok(), "strings take everything");
}

fn timestamp(ms: i64, style: LiteralStyle) -> String {
    let at = OffsetDateTime::from_unix_timestamp_nanos(i128::from(ms) * 1_000_000);
    let format = match style {
        LiteralStyle::Backslashes => DATETIME,
        _ => TIMESTAMP,
    };
    let text = at.ok().and_then(|at| at.format(format).ok());
    match (style, text) {
        (LiteralStyle::Backslashes, Some(text)) => format!("'{text}'"),
        (LiteralStyle::Standard, Some(text)) => {
            format!("CAST('{text}' AS TIMESTAMP WITH TIME ZONE)")
        }
        // A year beyond 9999 has no such format.
        _ if ms < 0 => format!("({ms})"),
        _ => ms.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: Value, style: LiteralStyle) -> String {
        let mut sql = LiteralSql::default();
        sql.push_text("SELECT ");
        sql.push_value(0);
        sql.push_text(" - ");
        sql.push_text("x");
        let mut out = String::new();
        sql.write(&[value], style, &mut out);
        let inner = out.strip_prefix("SELECT ").unwrap();
        inner.strip_suffix(" - x").unwrap().to_owned()
    }

    #[test]
    fn every_value_has_a_form_that_restores_it() {
        let day = Value::TimestampMs(1_451_606_400_123);
        for (value, text) in [
            (Value::Null, "NULL"),
            (Value::Boolean(true), "TRUE"),
            (Value::Boolean(false), "FALSE"),
            (Value::Integer(7), "7"),
            (Value::Integer(-7), "(-7)"),
            (Value::Integer(i64::MIN), "(-9223372036854775808)"),
            (Value::Float(1.0), "1.0"),
            (Value::Float(0.1), "0.1"),
            (Value::Float(-0.5), "(-0.5)"),
            (Value::Float(1e300), "1e300"),
            (Value::Float(f64::NAN), "CAST('NaN' AS DOUBLE PRECISION)"),
            (day.clone(), "CAST('2016-01-01T00:00:00.123Z' AS TIMESTAMP WITH TIME ZONE)"),
            (Value::Text("it's".into()), "'it''s'"),
            (Value::Text("'; DROP TABLE t; --".into()), "'''; DROP TABLE t; --'"),
        ] {
            assert_eq!(written(value, LiteralStyle::Standard), text);
        }
        let found = written(day.clone(), LiteralStyle::Milliseconds);
        assert_eq!(found, "1451606400123");
        let slashed = Value::Text(r"c:\it's".into());
        for (value, text) in [(&day, "'2016-01-01 00:00:00.123'"), (&slashed, r"'c:\\it''s'")] {
            assert_eq!(written(value.clone(), LiteralStyle::Backslashes), text);
        }
        let before = Value::TimestampMs(-1);
        assert_eq!(written(before, LiteralStyle::Milliseconds), "(-1)");
    }

    #[test]
    fn a_dialect_of_numbers_has_them_for_times_and_booleans_and_for_no_number() {
        for (value, text) in [
            (Value::Boolean(true), "1"),
            (Value::Boolean(false), "0"),
            (Value::TimestampMs(-7), "(-7)"),
            (Value::Float(f64::NAN), "(nan)"),
            (Value::Float(f64::NEG_INFINITY), "(-inf)"),
            (Value::Float(0.1), "0.1"),
            (Value::Float(-5e-324), "(-7.939328826636877e-264 / 1.6069380442589903e60)"),
            (Value::Text("c:\\it's\0".into()), r"'c:\\it\'s\0'"),
        ] {
            assert_eq!(written(value, LiteralStyle::Numbers), text);
        }
    }

    #[test]
    fn a_missing_value_is_null_and_one_may_appear_twice() {
        let mut sql = LiteralSql::default();
        for position in [1, 0, 1] {
            sql.push_value(position);
            sql.push_text(",");
        }
        let mut out = String::new();
        sql.write(&[Value::Integer(5)], LiteralStyle::Standard, &mut out);
        assert_eq!(out, "NULL,5,NULL,");
    }
}
