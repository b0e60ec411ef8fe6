//! One value of an op, as passed to encoders: borrowed from a batch or from parameters; and points in time as a date
//! and time of day, as servers read them, in UTC. Must not know a wire, or read a clock.

use highwater_model::op::{ColumnData, Value};

/// One value of a batch or of a query's parameters.
#[derive(Debug, Clone, Copy)]
pub enum Cell<'a> {
    /// SQL's null.
    Null,
    /// An integer.
    Integer(i64),
    /// Double precision.
    Float(f64),
    /// A boolean.
    Boolean(bool),
    /// Milliseconds since 1970, UTC.
    TimestampMs(i64),
    /// Text, or JSON.
    Text(&'a str),
}

impl<'a> Cell<'a> {
    /// The value in a row; null if the row does not exist.
    #[inline]
    pub fn of_row(column: &'a ColumnData, row: usize) -> Self {
        let found = match column {
            ColumnData::Integer(values) => values.get(row).map(|v| Self::Integer(*v)),
            ColumnData::Float(values) => values.get(row).map(|v| Self::Float(*v)),
            ColumnData::Boolean(values) => values.get(row).map(|v| Self::Boolean(*v)),
            ColumnData::TimestampMs(values) => values.get(row).map(|v| Self::TimestampMs(*v)),
            ColumnData::Text(values) => values.get(row).map(|v| Self::Text(v)),
            ColumnData::TextDictionary(coded) | ColumnData::ObjectDictionary(coded) => coded
                .codes
                .get(row)
                .and_then(|code| coded.values.get(usize::try_from(*code).ok()?))
                .map(|v| Self::Text(v)),
            ColumnData::Nullable(values, _) => {
                (!column.is_null(row)).then(|| Self::of_row(values, row))
            }
        };
        found.unwrap_or(Self::Null)
    }

    /// A parameter of a query.
    #[inline]
    pub fn of_value(value: &'a Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Integer(v) => Self::Integer(*v),
            Value::Float(v) => Self::Float(*v),
            Value::Boolean(v) => Self::Boolean(*v),
            Value::TimestampMs(v) => Self::TimestampMs(*v),
            Value::Text(v) => Self::Text(v),
        }
    }
}

const DAY_MS: i64 = 86_400_000;

/// Date and time of day in the proleptic Gregorian calendar, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CivilTime {
    /// Year; 0 is the year before 1.
    pub year: i64,
    /// From 1 to 12.
    pub month: u8,
    /// From 1 to 31.
    pub day: u8,
    /// From 0 to 23.
    pub hour: u8,
    /// From 0 to 59.
    pub minute: u8,
    /// From 0 to 59.
    pub second: u8,
    /// From 0 to 999.
    pub milli: u16,
}

impl CivilTime {
    /// From milliseconds since 1970, by Hinnant, "chrono-compatible low-level date algorithms".
    pub fn of_ms(ms: i64) -> Self {
        let (days, rest) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let small = |number: i64| u8::try_from(number).unwrap_or(0);
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month: small(month),
            day: small(day_of_year - (153 * month_from_march + 2) / 5 + 1),
            hour: small(rest / 3_600_000),
            minute: small(rest / 60_000 % 60),
            second: small(rest / 1_000 % 60),
            milli: u16::try_from(rest % 1_000).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_before_1970_leap_days_and_the_last_day_of_9999_are_right() {
        for (ms, text) in [
            (0, "1970-1-1 0:0:0.0"),
            (-1, "1969-12-31 23:59:59.999"),
            (951_782_400_000, "2000-2-29 0:0:0.0"),
            (1_479_513_600_123, "2016-11-19 0:0:0.123"),
            (253_402_300_799_999, "9999-12-31 23:59:59.999"),
        ] {
            let t = CivilTime::of_ms(ms);
            let date = format!("{}-{}-{}", t.year, t.month, t.day);
            let time = format!("{}:{}:{}.{}", t.hour, t.minute, t.second, t.milli);
            assert_eq!(format!("{date} {time}"), text);
        }
    }
}
