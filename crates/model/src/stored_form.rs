//! How a column stores values according to its declared type: with fewer digits, or as another type. The audit expects
//! exactly that.
//!
//! Must not hold names of types; dialects do.

use super::value::Value;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_cut_or_rounded_to_what_its_column_keeps() {
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
}
