//! How a column keeps what is sent to it, as its declared type means it: with fewer digits, or as another
//! type. The audit expects that, and nothing else.
//!
//! What must not be here: names of types, which are a dialect's.

use super::value::Value;

/// Milliseconds from 1970 to 2000, where the time of some servers begins: they round halves away from it.
const YEAR_2000_MS: i64 = 946_684_800_000;

/// A column as its table declares it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeclaredColumn {
    /// The type as the target writes it; empty where it is not known.
    pub name: String,
    /// What becomes of values there.
    pub form: StoredForm,
}

/// What becomes of a value in its column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StoredForm {
    /// It stays as it was sent.
    #[default]
    AsSent,
    /// A time is kept in whole multiples of so many milliseconds.
    Times {
        /// Milliseconds; at least 1.
        unit_ms: i64,
        /// How it becomes one.
        rounding: TimeRounding,
    },
    /// A double is kept as a decimal with so many digits behind the point, halves rounded away from 0.
    Decimals {
        /// Digits.
        scale: u32,
    },
    /// It is of another type, and compared by the text that the target makes of it.
    Text,
    /// It is of another type that gives one value several texts: a number, or JSON. What is read back
    /// is compared as such, and there is no checksum.
    Equivalent,
    /// Nothing compares it.
    Uncompared,
}

/// How a time becomes a multiple.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeRounding {
    /// The rest is cut off.
    Cut,
    /// Halves go up.
    Up,
    /// Halves go away from the year 2000.
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
    /// Whether a checksum of the column can be expected.
    pub const fn is_summed(self) -> bool {
        !matches!(self, Self::Equivalent | Self::Uncompared)
    }

    /// A time, in milliseconds since 1970, as the column keeps it.
    #[inline]
    pub fn time(self, ms: i64) -> i64 {
        match self {
            Self::Times { unit_ms, rounding } => rounding.round(ms, unit_ms.max(1)),
            _ => ms,
        }
    }

    /// A double as the column keeps it.
    #[inline]
    pub fn float(self, value: f64) -> f64 {
        match self {
            Self::Decimals { scale } => decimal(value, scale),
            _ => value,
        }
    }

    /// A value as the column gives it back.
    pub fn value(self, value: Value) -> Value {
        match value {
            Value::TimestampMs(ms) => Value::TimestampMs(self.time(ms)),
            Value::Float(sent) => Value::Float(self.float(sent)),
            other => other,
        }
    }

    /// Whether two texts are one value.
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

/// Whether two JSON texts are one value, whatever the order of the keys.
pub fn is_same_json(sent: &str, found: &str) -> bool {
    let read = |text| serde_json::from_str::<serde_json::Value>(text).ok();
    sent == found || matches!((read(sent), read(found)), (Some(sent), Some(found)) if sent == found)
}

/// Sign, digits before the point and digits behind it, without zeros that mean nothing.
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

/// The double nearest to the decimal of `scale` digits behind the point that is nearest to the shortest
/// text of a double: it is the text that is sent.
fn decimal(value: f64, scale: u32) -> f64 {
    if !value.is_finite() {
        return value;
    }
    // A double's own text has no exponent.
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
