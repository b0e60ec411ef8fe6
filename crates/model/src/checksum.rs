//! Checksums of the audit: the integer for a value, and the weight of a row.
//!
//! The checksum of a column over some rows is Σ weight(key) · residue(value), modulo 2⁶⁴. Every dialect computes the
//! same integers in SQL, so expected and found checksums must be equal. Must not hold SQL or rows.
//!
//! A weight is at least 1, so every key makes its value count, and unique within any aligned range of 2¹⁶ keys; a null
//! value has a residue that no other value has. One term is at most 65,537 · 268,435,399 < 2⁴⁴·¹, so the sum of
//! [`SUM_ROWS_MAX`] rows stays below 2⁶³: a dialect that adds at most this many rows needs only 64-bit integers.

use md5::{Digest, Md5};

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

    use super::*;

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
    fn texts_are_hashed_as_every_database_can() {
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
