//! Lossy number casts, each defined once, with their behavior at the ends of the range.
//!
//! Must not format a number (see `display`), or know its meaning.

/// As a float: exact up to 2^53, rounded to one part in 10^15 above.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "the purpose of this function")]
pub const fn to_f64(number: u64) -> f64 {
    number as f64
}

/// A length or an index as a float: exact up to 2^53.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "the purpose of this function")]
pub const fn len_to_f64(length: usize) -> f64 {
    length as f64
}

/// A signed number as a float: exact within ±2^53.
#[inline]
#[expect(clippy::cast_precision_loss, reason = "the purpose of this function")]
pub const fn signed_to_f64(number: i64) -> f64 {
    number as f64
}

/// Truncates: 0 if negative or not a number, the greatest value if too large.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates"
)]
pub const fn truncate_to_u64(value: f64) -> u64 {
    value as u64
}

/// Rounds to the nearest whole number, halves away from 0: 0 if negative or not a number, the greatest value if too
/// large.
#[inline]
pub fn round_to_u64(value: f64) -> u64 {
    truncate_to_u64(value.round())
}

/// Rounds up: 0 if negative or not a number, the greatest value if too large.
#[inline]
pub fn ceil_to_u64(value: f64) -> u64 {
    truncate_to_u64(value.ceil())
}

/// Like [`round_to_u64`], in 32 bits.
#[inline]
pub fn round_to_u32(value: f64) -> u32 {
    u32::try_from(round_to_u64(value)).unwrap_or(u32::MAX)
}

/// Like [`round_to_u64`], for a length or an index.
#[inline]
pub fn round_to_usize(value: f64) -> usize {
    usize::try_from(round_to_u64(value)).unwrap_or(usize::MAX)
}

/// Like [`ceil_to_u64`], for a length or an index.
#[inline]
pub fn ceil_to_usize(value: f64) -> usize {
    usize::try_from(ceil_to_u64(value)).unwrap_or(usize::MAX)
}

/// Truncates, limited to the least and the greatest value; 0 if not a number.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a cast from a float saturates")]
pub const fn truncate_to_i64(value: f64) -> i64 {
    value as i64
}

/// As the nearest float of single precision.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the purpose of this function")]
pub const fn to_f32(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_saturate_at_both_ends() {
        let values = [-1.5, 0.4, 0.5, 2.0, f64::NAN, f64::INFINITY, 1e10];
        let max = u64::MAX;
        let ten_billion = 10_000_000_000;
        assert_eq!(values.map(round_to_u64), [0, 0, 1, 2, 0, max, ten_billion]);
        assert_eq!(values.map(ceil_to_u64), [0, 1, 1, 2, 0, max, ten_billion]);
        let m = u32::MAX;
        assert_eq!(values.map(round_to_u32), [0, 0, 1, 2, 0, m, m]);
        let least = [-1.5, f64::NAN, f64::NEG_INFINITY].map(truncate_to_i64);
        assert_eq!(least, [-1, 0, i64::MIN]);
    }

    #[test]
    fn whole_numbers_are_exact_up_to_two_to_the_53() {
        let greatest = 1_u64 << 53;
        assert_eq!(truncate_to_u64(to_f64(greatest)), greatest);
        assert_eq!(truncate_to_i64(signed_to_f64(-7)), -7);
    }
}
