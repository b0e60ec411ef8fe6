//! Quantities as users write them: `50k`, `2.5/s`, `1h30m`, `0.1%`, `64MiB`, a timestamp.
//!
//! Parsing is exact, in integers: a value that cannot be represented is an error, never rounded. Printing gives the
//! shortest canonical text that parses back to the same value. Must not round for readers; reports do.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::units::{Nanos, Rate};
use crate::user_error::UserError;

#[cfg(test)]
mod tests;

/// Maximum length of a text, in bytes; the longest canonical one has 30.
const LONGEST_TEXT: usize = 64;
/// Maximum digits of a number; more than any 64-bit value has.
const MOST_DIGITS: usize = 22;

const COUNT_UNITS: &[(&str, u128)] =
    &[("", 1), ("k", 1_000), ("K", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)];
const DURATION_UNITS: &[(&str, u128)] = &[
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];
const BYTE_UNITS: &[(&str, u128)] = &[
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
    ("B", 1),
    ("", 1),
];

const COUNT_HINT: &str = "a count is a number with k (thousand), M (million) or G (billion) \
                          behind it, such as `50k` or `1.5M`";
const RATE_HINT: &str = "a rate is a number per second, such as `500`, `50k`, `1.5M` or `0.5/s`";
const DURATION_HINT: &str = "a duration has a unit: ns, us, ms, s, m or h, such as `500ms`, `60s` \
                             or `1h30m`";
const RANGE_HINT: &str = "a range is written `MIN..MAX`, such as `1m..30m`";
const PERCENT_HINT: &str = "a percentage ends in `%`, such as `0.1%`";
const BYTES_HINT: &str = "a size is a number with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB behind \
                          it, such as `64MiB`";
const INSTANT_HINT: &str = "a point in time is written like `2026-11-20T18:30:00Z`";

/// A fraction in millionths; 1% is 10,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppm(pub u32);

/// A number and the text after it, without any rounding.
struct Number<'a> {
    /// All digits, without the point.
    digits: u128,
    /// The number of digits after the point.
    scale: u32,
    /// What follows the last digit.
    rest: &'a str,
}

/// Parses a count, such as `4212`, `50k`, `1.5M`.
pub fn parse_count(text: &str) -> Result<u64, UserError> {
    let fraction = "is not a whole number";
    whole(text, text, COUNT_UNITS, 1, COUNT_HINT, fraction)
}

/// Parses a rate per second, such as `500`, `50k`, `0.5/s`; must be above zero.
pub fn parse_rate(text: &str) -> Result<Rate, UserError> {
    let bare = text.strip_suffix("/s").unwrap_or(text);
    let fraction = "is finer than a millionth per second";
    match whole(text, bare, COUNT_UNITS, 1_000_000, RATE_HINT, fraction)? {
        0 => Err(error(text, "is not above zero", RATE_HINT)),
        micro_per_s => Ok(Rate { micro_per_s }),
    }
}

/// Parses a duration, such as `500ms`, `60s`, `1h30m`; units go from large to small.
pub fn parse_duration(text: &str) -> Result<Nanos, UserError> {
    let fail = |cause: &str| error(text, cause, DURATION_HINT);
    if text == "0" {
        return Ok(Nanos::ZERO);
    }
    let mut total: u64 = 0;
    let mut last_unit = u128::MAX;
    let mut rest = text;
    loop {
        let mut part = number(rest).map_err(|cause| fail(&cause))?;
        let end = part.rest.find(|c: char| c.is_ascii_digit()).unwrap_or(part.rest.len());
        (part.rest, rest) = part.rest.split_at(end);
        if part.rest.is_empty() {
            return Err(fail("has no unit"));
        }
        let unit = unit(&part, DURATION_UNITS).map_err(|cause| fail(&cause))?;
        if unit >= last_unit {
            return Err(fail("does not go from large to small units"));
        }
        last_unit = unit;
        let nanos = exactly(&part, unit).map_err(|cause| match cause {
            Inexact::Fraction => fail("is finer than a nanosecond"),
            Inexact::TooLarge => fail("is too long"),
        })?;
        total = total.checked_add(nanos).ok_or_else(|| fail("is too long"))?;
        if rest.is_empty() {
            return Ok(Nanos(total));
        }
    }
}

/// Parses `DURATION` as (0, DURATION) and `MIN..MAX` as both ends; MIN must be below MAX.
pub fn parse_duration_range(text: &str) -> Result<(Nanos, Nanos), UserError> {
    let Some((low, high)) = text.split_once("..") else {
        return Ok((Nanos::ZERO, parse_duration(text)?));
    };
    if low.is_empty() || high.is_empty() {
        return Err(error(text, "lacks one of its ends", RANGE_HINT));
    }
    let (low, high) = (parse_duration(low)?, parse_duration(high)?);
    if low < high { Ok((low, high)) } else { Err(error(text, "does not go upwards", RANGE_HINT)) }
}

/// Parses a percentage between 0 and 100, such as `0.1%`.
pub fn parse_percent(text: &str) -> Result<Ppm, UserError> {
    let fail = |cause: &str| error(text, cause, PERCENT_HINT);
    let bare = text.strip_suffix('%').ok_or_else(|| fail("does not end in `%`"))?;
    let number = number(bare).map_err(|cause| fail(&cause))?;
    if !number.rest.is_empty() {
        return Err(fail("is not a number with `%` behind it"));
    }
    match exactly(&number, 10_000) {
        Ok(ppm @ 0..=1_000_000) => u32::try_from(ppm).map(Ppm).map_err(|_| fail("is too large")),
        Ok(_) | Err(Inexact::TooLarge) => Err(fail("is more than 100%")),
        Err(Inexact::Fraction) => Err(fail("is finer than a ten-thousandth of a percent")),
    }
}

/// Parses a number of bytes, such as `512`, `64MiB`, `1.5GB`.
pub fn parse_bytes(text: &str) -> Result<u64, UserError> {
    let fraction = "is not a whole number of bytes";
    whole(text, text, BYTE_UNITS, 1, BYTES_HINT, fraction)
}

/// Converts `bare`, a part of `text`, to an integer in units of 1/`scale`; `fraction` is the error if the result is not
/// an integer.
fn whole(
    text: &str,
    bare: &str,
    units: &[(&str, u128)],
    scale: u128,
    hint: &'static str,
    fraction: &str,
) -> Result<u64, UserError> {
    let fail = |cause: &str| error(text, cause, hint);
    let number = number(bare).map_err(|cause| fail(&cause))?;
    let unit = unit(&number, units).map_err(|cause| fail(&cause))?;
    exactly(&number, unit * scale).map_err(|cause| match cause {
        Inexact::Fraction => fail(fraction),
        Inexact::TooLarge => fail("is too large"),
    })
}

/// Parses a timestamp (RFC 3339) from 1970 on as the time since 1970-01-01T00:00:00Z.
pub fn parse_instant(text: &str) -> Result<Nanos, UserError> {
    let fail = |cause: &str| error(text, cause, INSTANT_HINT);
    if text.len() > LONGEST_TEXT {
        return Err(fail("is too long"));
    }
    let instant =
        OffsetDateTime::parse(text, &Rfc3339).map_err(|_| fail("is not a point in time"))?;
    u64::try_from(instant.unix_timestamp_nanos())
        .map(Nanos)
        .map_err(|_| fail("is before 1970 or after 2554"))
}

/// The shortest text for a count: `50k`, `1.5M`, `4212`.
pub fn print_count(count: u64) -> String {
    for (suffix, unit) in [("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000)] {
        if count >= unit && count.is_multiple_of(unit / 10) {
            return format!("{}{suffix}", decimal(count, unit));
        }
    }
    count.to_string()
}

/// The canonical text for a duration: `1h30m`, `2.5s`, `250us`, `0s`.
pub fn print_duration(duration: Nanos) -> String {
    const SECOND: u64 = Nanos::SECOND.0;
    let nanos = duration.0;
    if nanos == 0 {
        return "0s".to_owned();
    }
    if nanos < SECOND {
        return match nanos {
            1_000_000.. => format!("{}ms", decimal(nanos, 1_000_000)),
            1_000.. => format!("{}us", decimal(nanos, 1_000)),
            _ => format!("{nanos}ns"),
        };
    }
    let (hours, below_hour) = (nanos / (3_600 * SECOND), nanos % (3_600 * SECOND));
    let (minutes, below_minute) = (below_hour / (60 * SECOND), below_hour % (60 * SECOND));
    let mut text = String::new();
    for (amount, unit) in [(hours, 'h'), (minutes, 'm')] {
        if amount > 0 {
            text = format!("{text}{amount}{unit}");
        }
    }
    if below_minute > 0 {
        text = format!("{text}{}s", decimal(below_minute, SECOND));
    }
    text
}

/// RFC 3339 text, in UTC, for a time since 1970-01-01T00:00:00Z.
pub fn print_instant(since_1970: Nanos) -> String {
    OffsetDateTime::from_unix_timestamp_nanos(i128::from(since_1970.0))
        .ok()
        .and_then(|instant| instant.format(&Rfc3339).ok())
        .unwrap_or_default()
}

/// `amount / unit` with all decimal places needed; `unit` is a power of ten.
fn decimal(amount: u64, unit: u64) -> String {
    let (whole, part) = (amount / unit, amount % unit);
    if part == 0 {
        return whole.to_string();
    }
    let places = unit.ilog10() as usize;
    let digits = format!("{part:0places$}");
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// Splits a number from the text after it. Digits may be grouped by `_`.
fn number(text: &str) -> Result<Number<'_>, String> {
    if text.len() > LONGEST_TEXT {
        return Err("is too long".to_owned());
    }
    if text.is_empty() {
        return Err("is empty".to_owned());
    }
    if text.starts_with('-') {
        return Err("is negative".to_owned());
    }
    let end =
        text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_').unwrap_or(text.len());
    let (numeral, rest) = text.split_at(end);
    let (whole, part) = numeral.split_once('.').unwrap_or((numeral, "0"));
    let well_formed = |digits: &str| {
        digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.ends_with(|c: char| c.is_ascii_digit())
            && !digits.contains('.')
    };
    if !well_formed(whole) || !well_formed(part) {
        return Err("is not a number".to_owned());
    }
    let digits: String = [whole, part.trim_end_matches('0')].concat().replace('_', "");
    let scale = digits.len() - whole.replace('_', "").len();
    if digits.len() > MOST_DIGITS {
        return Err("has too many digits".to_owned());
    }
    Ok(Number {
        digits: digits.parse().map_err(|_| "is not a number")?,
        scale: u32::try_from(scale).map_err(|_| "has too many digits")?,
        rest,
    })
}

/// Looks up the unit after a number.
fn unit(number: &Number<'_>, units: &[(&str, u128)]) -> Result<u128, String> {
    units.iter().find(|(name, _)| *name == number.rest).map(|(_, unit)| *unit).ok_or_else(|| {
        if let Some(cause) = another_notation(number) {
            return cause;
        }
        // No unit has other characters; a text that does may hold a secret.
        let is_of_unit = |c: &char| c.is_alphanumeric() || " /%".contains(*c);
        let shown: String = number.rest.chars().take_while(is_of_unit).take(12).collect();
        format!("has the unknown unit `{shown}`")
    })
}

/// The error for a number in another notation, and the same number in the supported one.
fn another_notation(number: &Number<'_>) -> Option<String> {
    /// A power of ten that leaves 22 digits far below 2^128.
    const MOST_ZEROS: u32 = 12;
    let exponent = number.rest.strip_prefix(['e', 'E']);
    if let Some(zeros) = exponent.map(|exponent| exponent.trim_start_matches('+'))
        && !zeros.is_empty()
        && zeros.bytes().all(|digit| digit.is_ascii_digit())
    {
        let value = zeros
            .parse()
            .ok()
            .filter(|zeros| *zeros <= MOST_ZEROS)
            .and_then(|zeros| exactly(number, 10_u128.pow(zeros)).ok());
        return Some(match value {
            Some(value) => {
                format!("has an exponent, which is not read: write `{}`", print_count(value))
            }
            None => "has an exponent, which is not read".to_owned(),
        });
    }
    let groups = number.rest.strip_prefix(',')?;
    let is_group = |group: &str| group.len() == 3 && group.bytes().all(|b| b.is_ascii_digit());
    let groups = groups.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    groups
        .split(',')
        .all(is_group)
        .then(|| "has commas between its digits: leave them out, or write `_`".to_owned())
}

enum Inexact {
    Fraction,
    TooLarge,
}

/// The number in the given unit, if it is whole and fits.
fn exactly(number: &Number<'_>, unit: u128) -> Result<u64, Inexact> {
    // At most 10^22 times 10^15, the greatest unit (G of a rate): below 2^128.
    let scaled = number.digits * unit;
    let divisor = 10_u128.pow(number.scale);
    if !scaled.is_multiple_of(divisor) {
        return Err(Inexact::Fraction);
    }
    u64::try_from(scaled / divisor).map_err(|_| Inexact::TooLarge)
}

fn error(text: &str, cause: &str, hint: &'static str) -> UserError {
    let shown: String = text.chars().take(LONGEST_TEXT).collect();
    UserError::usage(format!("`{shown}` {cause}")).with_hint(hint)
}
