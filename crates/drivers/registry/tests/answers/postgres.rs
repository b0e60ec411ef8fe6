//! PostgreSQL, queried with its own client.

use highwater_model::op::Value;
use highwater_testing::postgres::{Postgres, SUPERUSER};

use crate::case::{Answer, Database};

impl Database for Postgres {
    fn url(&self) -> String {
        Self::url(self, SUPERUSER, "postgres")
    }

    /// As the driver sends it: a prepared statement with declared timestamps.
    fn run(&self, sql: &str, parameters: &[Value]) -> Answer {
        let kinds = parameters.iter().map(|value| match value {
            Value::Text(_) => "text",
            Value::TimestampMs(_) => "timestamptz",
            Value::Integer(_) => "bigint",
            other => panic!("{other:?}"),
        });
        let given = parameters.iter().map(|value| match value {
            Value::Text(text) => format!("'{text}'"),
            Value::TimestampMs(number) => format!("to_timestamp({number} / 1000.0)"),
            Value::Integer(number) => number.to_string(),
            other => panic!("{other:?}"),
        });
        let list = |words: Vec<String>| match words.len() {
            0 => String::new(),
            _ => format!("({})", words.join(", ")),
        };
        let answer = self.sql(
            "postgres",
            &format!(
                "SET TimeZone = 'UTC'; PREPARE asked{} AS {sql}; EXECUTE asked{}",
                list(kinds.map(str::to_owned).collect()),
                list(given.collect())
            ),
        );
        let cells = |line: &str| line.split('|').map(plain).collect();
        answer.lines().map(cells).collect()
    }
}

/// Converts a time as printed by PostgreSQL to milliseconds, and bytes to their characters; leaves other cells
/// unchanged.
pub(super) fn plain(cell: &str) -> String {
    if let Some(digits) = cell.strip_prefix("\\x") {
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        let bytes = (0..digits.len()).step_by(2).map(byte);
        return String::from_utf8(bytes.collect()).unwrap();
    }
    let number = |range: std::ops::Range<usize>| cell.get(range)?.parse::<i64>().ok();
    let parts = || {
        let time = cell.strip_suffix("+00")?;
        let date = [number(0..4)?, number(5..7)?, number(8..10)?];
        let clock = [number(11..13)?, number(14..16)?, number(17..19)?];
        let fraction = format!("{:0<3}", time.get(20..).unwrap_or(""));
        Some((date, clock, fraction.parse::<i64>().ok()?))
    };
    let Some(([year, month, day], [hour, minute, second], millis)) = parts() else {
        return cell.to_owned();
    };
    // Days of the previous years, of the previous months, and of the month (Fliegel and Van Flandern).
    let shift = (14 - month) / 12;
    let (y, m) = (year + 4_800 - shift, month + 12 * shift - 3);
    let julian = day + (153 * m + 2) / 5 + 365 * y + y / 4 - y / 100 + y / 400 - 32_045;
    let seconds = ((julian - 2_440_588) * 24 + hour) * 3_600 + minute * 60 + second;
    (seconds * 1_000 + millis).to_string()
}

#[test]
fn a_point_in_time_is_read_as_it_is_shown() {
    assert_eq!(plain("1970-01-01 00:00:00+00"), "0");
    assert_eq!(plain("2016-02-29 23:59:59.25+00"), "1456790399250");
    assert_eq!(plain("sensor-1"), "sensor-1");
    assert_eq!(plain("\\x4a2d"), "J-");
}
