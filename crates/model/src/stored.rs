//! A row read back from a target, and its comparison with the row sent. A column stores values according to its
//! declared type: with fewer digits, or as another type; the audit expects exactly that. Must not decide which rows
//! should exist; the audit does.
//!
//! Checksums of the audit have an integer for a value, and a weight of a row. The checksum of a column over some rows
//! is Σ weight(key) · residue(value), modulo 2⁶⁴. Every dialect computes the same integers in SQL, so expected and
//! found checksums must be equal. A weight is at least 1, so every key makes its value count, and unique within any
//! aligned range of 2¹⁶ keys; a null value has a residue that no other value has. One term is at most 65,537 ·
//! 268,435,399 < 2⁴⁴·¹, so the sum of [`SUM_ROWS_MAX`] rows stays below 2⁶³: a dialect that adds at most this many rows
//! needs only 64-bit integers.

use std::cmp::Ordering;

use md5::{Digest, Md5};

use super::numbers::to_f32;
use super::op::{BoundColumn, ColumnData, RowBatch, Value};

pub use super::op::KeyRange;

/// A row that was read back.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRow {
    /// Its key; never null or negative.
    pub key: u64,
    /// In the order of the table's columns. Objects are JSON text; a timestamp that is not a whole number of
    /// milliseconds is a [`Value::Float`]; for a column with an expression ([`BoundColumn::value`]) it is the resulting
    /// integer.
    pub values: Vec<Value>,
}

/// Whether a key is in one of the ranges, which are ascending and disjoint.
pub fn is_within(ranges: &[KeyRange], key: u64) -> bool {
    let behind = ranges.partition_point(|range| range.end <= key);
    ranges.get(behind).is_some_and(|range| range.contains(key))
}

/// A value that differs from the one sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Position of the column.
    pub column: usize,
    /// The value sent.
    pub expected: String,
    /// The value found.
    pub found: String,
}

/// The first column in which a stored row differs from row `at` of a batch.
pub fn difference(
    columns: &[BoundColumn],
    batch: &RowBatch,
    at: usize,
    stored: &[Value],
) -> Option<Difference> {
    (0..columns.len()).find_map(|column| {
        let (data, form) = (batch.columns.get(column)?, columns[column].form());
        if form == StoredForm::Uncompared {
            return None;
        }
        let expected = value_at(&columns[column], data, at);
        let found = stored.get(column).unwrap_or(&Value::Null);
        let is_object = matches!(data.values(), ColumnData::ObjectDictionary(_));
        let same = match (&expected, found) {
            (Value::Text(sent), Value::Text(found)) if is_object => is_same_json(sent, found),
            (Value::Text(sent), Value::Text(found)) => form.is_same_text(sent, found),
            // Databases treat -0.0 and 0.0 as equal.
            (Value::Float(sent), Value::Float(found)) => {
                sent.to_bits() == found.to_bits()
                    || sent.partial_cmp(found) == Some(Ordering::Equal)
            }
            (sent, found) => sent == found,
        };
        (!same).then(|| Difference { column, expected: shown(&expected), found: shown(found) })
    })
}

/// The value that a column should return for row `at`, in the precision of its declared type: objects as JSON text, or
/// the integer of the workload's expression if there is one.
pub fn value_at(column: &BoundColumn, data: &ColumnData, at: usize) -> Value {
    let value = data.value(at);
    if column.value.is_none() {
        return column.form().value(value);
    }
    match value {
        Value::Null => Value::Null,
        Value::Integer(v) | Value::TimestampMs(v) => Value::Integer(v),
        Value::Boolean(v) => Value::Integer(i64::from(v)),
        Value::Float(v) => Value::Integer(float_value(v)),
        Value::Text(v) if matches!(data.values(), ColumnData::ObjectDictionary(_)) => {
            Value::Integer(object_value(&v, &column.attributes))
        }
        Value::Text(v) => Value::Integer(text_value(&v)),
    }
}

/// A value for display.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Integer(v) => v.to_string(),
        Value::Float(v) => v.to_string(),
        Value::Boolean(v) => v.to_string(),
        Value::TimestampMs(v) => format!("{v} ms"),
        Value::Text(v) => shortened(v),
    }
}

/// Maximum number of characters of a value in an example.
const SHOWN_MAX: usize = 120;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Milliseconds from 1970 to 2000, the epoch of some servers: they round halves away from it.
const YEAR_2000_MS: i64 = 946_684_800_000;

/// A column's declaration in its table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredColumn {
    /// The type as the target writes it; empty if unknown.
    pub name: String,
    /// The stored form of its values.
    pub form: StoredForm,
}

/// How a column stores a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StoredForm {
    /// Unchanged.
    #[default]
    AsSent,
    /// Times are stored as multiples of a unit.
    Times {
        /// Milliseconds; at least 1.
        unit_ms: i64,
        /// Rounding to a multiple.
        rounding: TimeRounding,
    },
    /// Doubles are stored as decimals with this many digits after the point, halves rounded away from 0.
    Decimals {
        /// Digits after the point.
        scale: u32,
    },
    /// Doubles are stored in single precision.
    Singles,
    /// The column has another type; values are compared by the target's text for them.
    Text,
    /// The column has another type in which one value has several texts: a number, or JSON. Values read back are
    /// compared as numbers or JSON, without a checksum.
    Equivalent,
    /// Values are not compared.
    Uncompared,
}

/// Rounding of a time to a multiple.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeRounding {
    /// Round down.
    Cut,
    /// Round to the nearest, halves up.
    Up,
    /// Round to the nearest, halves away from the year 2000.
    From2000,
}

impl TimeRounding {
    fn round(self, ms: i64, unit: i64) -> i64 {
        match self {
            Self::Cut => ms - ms.rem_euclid(unit),
            Self::Up => Self::Cut.round(ms.saturating_add(unit / 2), unit),
            Self::From2000 => {
                let since = ms.saturating_sub(YEAR_2000_MS);
                let away = Self::Up.round(since.saturating_abs(), unit);
                YEAR_2000_MS.saturating_add(away.saturating_mul(since.signum()))
            }
        }
    }
}

impl StoredForm {
    /// Whether the column has an expected checksum.
    pub const fn is_summed(self) -> bool {
        !matches!(self, Self::Equivalent | Self::Uncompared)
    }

    /// A time as stored, in milliseconds since 1970.
    #[inline]
    pub fn time(self, ms: i64) -> i64 {
        match self {
            Self::Times { unit_ms, rounding } => rounding.round(ms, unit_ms.max(1)),
            _ => ms,
        }
    }

    /// A double as stored.
    #[inline]
    pub fn float(self, value: f64) -> f64 {
        match self {
            Self::Decimals { scale } => decimal(value, scale),
            Self::Singles => f64::from(to_f32(value)),
            _ => value,
        }
    }

    /// A value as read back.
    pub fn value(self, value: Value) -> Value {
        match value {
            Value::TimestampMs(ms) => Value::TimestampMs(self.time(ms)),
            Value::Float(sent) => Value::Float(self.float(sent)),
            other => other,
        }
    }

    /// Whether two texts represent the same value.
    pub fn is_same_text(self, sent: &str, found: &str) -> bool {
        sent == found
            || match self {
                Self::Uncompared => true,
                Self::Equivalent => match (plain_decimal(sent), plain_decimal(found)) {
                    (Some(sent), Some(found)) => sent == found,
                    _ => is_same_json(sent, found),
                },
                _ => false,
            }
    }
}

/// Whether two JSON texts represent the same value, regardless of the order of keys.
pub fn is_same_json(sent: &str, found: &str) -> bool {
    let read = |text| serde_json::from_str::<serde_json::Value>(text).ok();
    sent == found || matches!((read(sent), read(found)), (Some(sent), Some(found)) if sent == found)
}

/// Sign, digits before the point, and digits after it, without insignificant zeros.
fn plain_decimal(text: &str) -> Option<(bool, &str, &str)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
    let (whole, part) = (whole.trim_start_matches('0'), part);
    if digits.is_empty() || !is_number(whole) || !is_number(part) {
        return None;
    }
    let part = part.trim_end_matches('0');
    let is_zero = whole.is_empty() && part.is_empty();
    Some((text.starts_with('-') && !is_zero, whole, part))
}

/// The double nearest to the value's shortest text, rounded to `scale` digits after the point: this text is what is
/// sent.
fn decimal(value: f64, scale: u32) -> f64 {
    if !value.is_finite() {
        return value;
    }
    // The text of a double has no exponent.
    let text = value.abs().to_string();
    let scale = usize::try_from(scale).unwrap_or(usize::MAX);
    let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
    if part.len() <= scale {
        return value;
    }
    let mut digits: Vec<u8> = whole.bytes().chain(part.bytes().take(scale)).collect();
    let mut carry = part.as_bytes()[scale] >= b'5';
    for digit in digits.iter_mut().rev() {
        if !carry {
            break;
        }
        carry = *digit == b'9';
        *digit = if carry { b'0' } else { *digit + 1 };
    }
    let mut rounded = if carry { "1".to_owned() } else { String::new() };
    let (whole, part) = digits.split_at(whole.len());
    rounded.extend(whole.iter().copied().map(char::from));
    rounded.push('.');
    rounded.extend(part.iter().copied().map(char::from));
    rounded.push('0');
    let rounded = rounded.parse().unwrap_or(value);
    if value < 0.0 { -rounded } else { rounded }
}

/// A key's weight is its remainder modulo this prime, plus 1.
pub const KEY_PRIME: u64 = 65_537;
/// A value's residue is its remainder modulo this prime, the greatest below 2²⁸.
pub const VALUE_PRIME: u64 = 268_435_399;
/// The residue of a null value.
pub const NULL_RESIDUE: u64 = VALUE_PRIME;
/// Maximum number of terms that cannot overflow a signed 64-bit integer.
pub const SUM_ROWS_MAX: u64 = 1 << 19;
/// Maximum number of keys per group of a summing statement: leaves room for three duplicates of every row.
pub const GROUP_WIDTH_MAX: u64 = SUM_ROWS_MAX / 4;

/// Floating-point values are counted in units of 2⁻²⁰.
pub const FLOAT_SCALE: f64 = 1_048_576.0;
/// From this magnitude on, and if it is not a number, a floating-point value counts as one of two constants:
/// [`FLOAT_LARGE`] or [`FLOAT_SMALL`], by sign.
pub const FLOAT_BOUND: f64 = 4_398_046_511_104.0;
/// The integer for values from [`FLOAT_BOUND`] on, and for not-a-number.
pub const FLOAT_LARGE: i64 = 1 << 62;
/// The integer for values up to −[`FLOAT_BOUND`].
pub const FLOAT_SMALL: i64 = -(1 << 62);

/// Separates the attributes of an object when their texts are joined.
pub const ATTRIBUTE_SEPARATOR: char = '|';

/// The weight of a row: from 1 to [`KEY_PRIME`].
#[inline]
pub const fn weight(key: u64) -> u64 {
    key % KEY_PRIME + 1
}

/// The residue of a value: its remainder modulo [`VALUE_PRIME`], never negative.
#[inline]
pub const fn residue(value: i64) -> u64 {
    value.rem_euclid(VALUE_PRIME.cast_signed()).unsigned_abs()
}

/// The integer for a text: the first seven hexadecimal digits of the MD5 of its UTF-8 bytes, below 2²⁸. Nearly every
/// database has this hash.
pub fn text_value(text: &str) -> i64 {
    let hash = Md5::digest(text.as_bytes());
    i64::from(u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]) >> 4)
}

/// The integer for a double: ⌊value · 2²⁰⌋. The scaling is exact, so all sides agree; smaller differences are found by
/// reading rows back.
#[expect(clippy::cast_possible_truncation, reason = "the bound keeps the product below 2⁶²")]
pub fn float_value(value: f64) -> i64 {
    if value.abs() < FLOAT_BOUND {
        (value * FLOAT_SCALE).floor() as i64
    } else if value < 0.0 {
        FLOAT_SMALL
    } else {
        FLOAT_LARGE
    }
}

/// The integer for a JSON object: that of its attributes' texts, in this order, each followed by
/// [`ATTRIBUTE_SEPARATOR`]. A missing attribute counts as an empty text; a value that is not an object has no
/// attributes.
pub fn object_value(json: &str, attributes: &[String]) -> i64 {
    let object: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    let mut text = String::with_capacity(json.len());
    for attribute in attributes {
        match object.get(attribute) {
            None | Some(serde_json::Value::Null) => {}
            Some(serde_json::Value::String(value)) => text.push_str(value),
            Some(other) => text.push_str(&other.to_string()),
        }
        text.push(ATTRIBUTE_SEPARATOR);
    }
    text_value(&text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::op::{ColumnType, Dictionary};
    use super::*;

    fn check(kind: ColumnType, data: ColumnData, stored: &Value, expected: Option<(&str, &str)>) {
        let batch = RowBatch { first_row: 7, rows: 1, columns: vec![data] };
        let columns = [BoundColumn::new("c", kind)];
        let found = difference(&columns, &batch, 0, std::slice::from_ref(stored));
        let found = found.as_ref().map(|d| (&*d.expected, &*d.found));
        assert_eq!(found, expected, "{stored:?}");
    }

    fn object(json: &str) -> ColumnData {
        ColumnData::ObjectDictionary(Dictionary {
            values: vec![Box::from(json)].into(),
            codes: vec![0],
        })
    }

    #[test]
    fn a_different_value_is_named_with_the_sent_one() {
        use ColumnType::{Bigint, Boolean, Float, Object, Text, Timestamp};
        let integers = || ColumnData::Integer(vec![5]);
        check(Bigint, integers(), &Value::Integer(5), None);
        check(Bigint, integers(), &Value::Integer(6), Some(("5", "6")));
        check(Bigint, integers(), &Value::Null, Some(("5", "null")));
        let text = || ColumnData::Text(vec!["abc".into()]);
        let other = Value::Text("abd".into());
        check(Text, text(), &other, Some(("abc", "abd")));
        check(Text, text(), &Value::Text("abc".into()), None);
        let time = || ColumnData::TimestampMs(vec![1_000]);
        check(Timestamp, time(), &Value::TimestampMs(1_000), None);
        let half = Some(("1000 ms", "1000.5"));
        check(Timestamp, time(), &Value::Float(1_000.5), half);
        for (sent, stored) in [(0.1, 0.1), (0.0, -0.0)] {
            let sent = ColumnData::Float(vec![sent]);
            check(Float, sent, &Value::Float(stored), None);
        }
        let sent = ColumnData::Boolean(vec![true]);
        let differs = Some(("true", "false"));
        check(Boolean, sent, &Value::Boolean(false), differs);
        let json = r#"{"a":"x","b":"y"}"#;
        let turned = Value::Text(r#"{"b": "y", "a": "x"}"#.into());
        check(Object, object(json), &turned, None);
        let more = r#"{"a":"x","b":"y","c":1}"#;
        let stored = Value::Text(more.into());
        check(Object, object(json), &stored, Some((json, more)));
    }

    #[test]
    fn a_column_with_an_expression_is_compared_as_its_integer() {
        let column = BoundColumn {
            value: Some("f(c)".to_owned()),
            ..BoundColumn::new("c", ColumnType::Text)
        };
        let batch =
            RowBatch { first_row: 0, rows: 1, columns: vec![ColumnData::Text(vec!["abc".into()])] };
        let hash = text_value("abc");
        let compared =
            |value| difference(std::slice::from_ref(&column), &batch, 0, &[Value::Integer(value)]);
        assert_eq!(compared(hash), None);
        assert!(compared(hash + 1).is_some());
    }

    #[test]
    fn a_time_is_truncated_or_rounded_to_the_precision_of_its_column() {
        use TimeRounding::{Cut, From2000, Up};
        let half_2000 = YEAR_2000_MS + 500;
        for (rounding, sent, kept) in [
            (Cut, 1_704_070_464_033, 1_704_070_464_000),
            (Cut, -1, -1_000),
            (Up, 1_704_070_464_500, 1_704_070_465_000),
            (Up, 1_704_070_464_499, 1_704_070_464_000),
            (From2000, half_2000, YEAR_2000_MS + 1_000),
            (From2000, YEAR_2000_MS - 500, YEAR_2000_MS - 1_000),
            (From2000, YEAR_2000_MS - 499, YEAR_2000_MS),
        ] {
            let unit_ms = 1_000;
            let form = StoredForm::Times { unit_ms, rounding };
            assert_eq!(form.time(sent), kept, "{rounding:?} {sent}");
        }
        assert_eq!(StoredForm::AsSent.time(7), 7);
    }

    #[test]
    fn a_double_is_rounded_as_a_decimal_and_not_as_a_double() {
        for (sent, scale, kept) in [
            (1.005, 2, 1.01),
            (-1.005, 2, -1.01),
            (0.123_449_9, 4, 0.123_4),
            (9.995, 2, 10.0),
            (99_999.5, 0, 100_000.0),
            (0.1, 4, 0.1),
            (1e-9, 4, 0.0),
        ] {
            let form = StoredForm::Decimals { scale };
            assert_eq!(form.float(sent).to_bits(), f64::to_bits(kept), "{sent}");
        }
        assert!(StoredForm::Decimals { scale: 2 }.float(f64::NAN).is_nan());
    }

    #[test]
    fn texts_of_one_number_or_one_json_value_are_one_value() {
        let same = |sent, found| StoredForm::Equivalent.is_same_text(sent, found);
        assert!(same("5", "5.0000") && same("-0.50", "-.5") && same("-0", "0.00"));
        assert!(!same("5", "5.0001") && !same("5", "-5") && !same("", "0"));
        assert!(same("{\"a\":1}", "{\"a\": 1}") && !same("{\"a\":1}", "{\"a\": 2}"));
        assert!(!StoredForm::Text.is_same_text("5", "5.0"));
        assert!(StoredForm::Uncompared.is_same_text("a", "b"));
    }

    #[test]
    fn the_greatest_terms_of_a_group_fit_signed_64_bits() {
        let term = KEY_PRIME * NULL_RESIDUE;
        assert!(u128::from(term) * u128::from(GROUP_WIDTH_MAX) * 3 < 1 << 63);
        assert!(u128::from(term) * u128::from(SUM_ROWS_MAX - 64) < 1 << 63);
    }

    #[test]
    fn both_moduli_are_prime() {
        for prime in [KEY_PRIME, VALUE_PRIME] {
            assert!((2..prime).take_while(|d| d * d <= prime).all(|d| prime % d != 0));
        }
    }

    #[test]
    fn negative_values_count_as_much_as_positive_ones() {
        assert_eq!(residue(-1), VALUE_PRIME - 1);
        assert_eq!(residue(0), 0);
        assert_eq!(
            residue(i64::MIN),
            u64::try_from(i128::from(i64::MIN).rem_euclid(268_435_399)).unwrap()
        );
        assert!(residue(i64::MAX) < NULL_RESIDUE);
    }

    #[test]
    fn texts_are_hashed_as_every_database_can_do() {
        // `SELECT md5('abc')` = 900150983cd24fb0d6963f7d28e17f72
        assert_eq!(text_value("abc"), 0x900_1509);
        assert_eq!(text_value(""), 0xd41_d8cd);
        assert_ne!(text_value("abc"), text_value("abd"));
    }

    #[test]
    fn doubles_are_scaled_exactly() {
        for (value, expected) in [
            (0.0, 0),
            (1.0, 1 << 20),
            (-0.5, -(1 << 19)),
            (-1e-9, -1),
            (1e-9, 0),
            (FLOAT_BOUND, FLOAT_LARGE),
            (-FLOAT_BOUND, FLOAT_SMALL),
            (f64::NAN, FLOAT_LARGE),
            (f64::NEG_INFINITY, FLOAT_SMALL),
        ] {
            assert_eq!(float_value(value), expected, "{value}");
        }
    }

    #[test]
    fn objects_count_by_their_attributes_whatever_their_order() {
        let attributes = ["a".to_owned(), "b".to_owned()];
        let value = object_value(r#"{"a":"x","b":"y"}"#, &attributes);
        assert_eq!(value, text_value("x|y|"));
        assert_eq!(value, object_value(r#"{"b": "y", "a": "x"}"#, &attributes));
        assert_ne!(value, object_value(r#"{"a":"y","b":"x"}"#, &attributes));
        assert_eq!(object_value("{}", &attributes), text_value("||"));
    }

    proptest! {
        #[test]
        fn a_change_below_the_prime_always_changes_the_term(key: u64, value: i64, change in 1_i64..268_435_399) {
            let other = value.wrapping_add(change);
            prop_assume!(other > value);
            prop_assert_ne!(weight(key) * residue(value), weight(key) * residue(other));
        }

        #[test]
        fn two_swapped_values_change_the_sum(key in 0_u64..1 << 40, apart in 1_u64..65_537, a: i64, b: i64) {
            prop_assume!(residue(a) != residue(b));
            let sum = |first, second| {
                (weight(key) * residue(first)).wrapping_add(weight(key + apart) * residue(second))
            };
            prop_assert_ne!(sum(a, b), sum(b, a));
        }
    }
}
