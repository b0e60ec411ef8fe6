//! Formats numbers and paces for readers: thousands separators, three significant digits, units.
//!
//! Must not know the meaning of a number, or a locale.

use super::plan::{Pace, StreamPlan, Unit};
use crate::numbers::{round_to_u64, to_f64};

/// Printed for a missing value.
pub const ABSENT: &str = "–";

/// `4,212,000`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate: from 1,000 on a whole number with separators, otherwise three significant digits.
pub fn rate(per_second: f64) -> String {
    if !per_second.is_finite() {
        return ABSENT.to_owned();
    }
    if per_second.abs() < 999.5 {
        return significant(per_second);
    }
    let sign = if per_second < 0.0 { "-" } else { "" };
    format!("{sign}{}", count(round_to_u64(per_second.abs())))
}

/// The same with its sign, for the difference of two rates.
pub fn rate_signed(per_second: f64) -> String {
    let sign = if per_second < 0.0 { "" } else { "+" };
    format!("{sign}{}", rate(per_second))
}

/// `2.31 ms`, `38.0 µs`, `14.2 s`, `1 h 2 min`: three significant digits below two minutes.
pub fn duration(nanos: u64) -> String {
    const MINUTE: u64 = 60_000_000_000;
    let value = to_f64(nanos);
    // The bounds are the values at which three digits would round up to the next unit.
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..999_500 => format!("{} µs", significant(value / 1e3)),
        999_500..999_500_000 => format!("{} ms", significant(value / 1e6)),
        _ if nanos < 2 * MINUTE => format!("{} s", significant(value / 1e9)),
        _ => minutes(nanos / 1_000_000_000),
    }
}

/// A requested duration with as few digits as needed: `2 s`, `1.5 s`, `50 ms`.
pub fn span(nanos: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    for (unit, name) in units {
        // A measured value has more digits than a reader needs.
        let is_short = (unit..10_000 * unit).contains(&nanos) && nanos < 120_000_000_000;
        if is_short && nanos.is_multiple_of(unit / 1_000) {
            let (units, rest) = (nanos / unit, nanos % unit * 1_000 / unit);
            let fraction = format!(".{rest:03}");
            let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
            return format!("{units}{fraction} {name}");
        }
    }
    duration(nanos)
}

/// A requested number: at most three significant digits below 1,000, without trailing zeros.
pub fn plain(value: f64) -> String {
    if value.abs() >= 999.5 {
        return rate(value);
    }
    let text = significant(value);
    if text.contains('.') {
        return text.trim_end_matches('0').trim_end_matches('.').to_owned();
    }
    text
}

/// Three significant digits with separators, `1,210,000`: the precision of a prediction.
pub fn about(value: f64) -> String {
    if value.abs() < 999.5 || !value.is_finite() {
        return rate(value);
    }
    let unit = 10f64.powf(value.abs().log10().floor() - 2.0);
    rate((value / unit).round() * unit)
}

/// `0.1%`, from a requested value in millionths.
pub fn percent_asked(ppm: u32) -> String {
    format!("{}%", plain(f64::from(ppm) / 10_000.0))
}

/// `1.25%`.
pub fn percent(fraction: f64) -> String {
    format!("{}%", significant(fraction * 100.0))
}

/// `95%`, with as few digits as needed.
pub fn percent_plain(fraction: f64) -> String {
    format!("{}%", plain(100.0 * fraction))
}

/// `+1.2%`, `-0.8%`: a change, with its sign.
pub fn percent_signed(fraction: f64) -> String {
    format!("{:+.1}%", 100.0 * fraction)
}

/// `12%`, rounded to a whole percent, without a minus sign before zero.
pub fn percent_whole(fraction: f64) -> String {
    let percent = (100.0 * fraction).round();
    format!("{:.0}%", if percent == 0.0 { 0.0 } else { percent })
}

/// `5 rows`, `1.25%`: a figure with its unit; only the percent sign has no space before it.
pub fn with_unit(figure: &str, unit: &str) -> String {
    let space = if unit == "%" || unit.is_empty() { "" } else { " " };
    format!("{figure}{space}{unit}")
}

/// `1.25%`, of `part` in `whole`; 0% if `whole` is 0.
pub fn percent_of(part: u64, whole: u64) -> String {
    percent(ratio(part, whole))
}

/// `part / whole`, or 0.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    to_f64(part) / to_f64(whole)
}

/// `p99`, `p99.9`, from millionths.
pub fn quantile(ppm: u32) -> String {
    let (percent, rest) = (ppm / 10_000, ppm % 10_000);
    let text = format!("p{percent}.{rest:04}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether a character could control a terminal, reverse the text around it, or be invisible: control characters,
/// direction marks, and invisible characters. Source: Unicode's list of default ignorable code points and bidirectional
/// controls, without the joiners that scripts and emoji need.
pub fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{61c}'
                | '\u{200b}'
                | '\u{200e}'
                | '\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// The text without the characters of [`is_unsafe`]; line ends and tabs are kept.
pub fn harmless(text: &str) -> String {
    let is_harmful = |c: char| is_unsafe(c) && c != '\n' && c != '\t';
    text.replace(is_harmful, "\u{fffd}")
}

/// Text from a target, made safe for a terminal: one line, no control characters, at most `limit` characters.
pub fn foreign(text: &str, limit: usize) -> String {
    let begin: String = text.chars().take(limit).collect();
    let mut shown = harmless(&begin.replace(char::is_control, " "));
    if text.chars().count() > limit {
        shown.push('…');
    }
    shown
}

/// Three significant digits, no exponent; 0 is `0`.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude == 0.0 {
        return "0".to_owned();
    }
    let decimals = match magnitude {
        m if m >= 99.95 => 0,
        m if m >= 9.995 => 1,
        m if m >= 0.999_5 => 2,
        m if m >= 0.099_95 => 3,
        _ => 4,
    };
    format!("{value:.decimals$}")
}

fn minutes(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, seconds) {
        (0, 0) => format!("{minutes} min"),
        (0, _) => format!("{minutes} min {seconds} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}

/// Bytes with decimal prefixes, two or three digits.
pub fn bytes(n: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut scale = 1_u64;
    let mut unit = 0;
    while n / scale >= 1_000 && unit + 1 < units.len() {
        scale *= 1_000;
        unit += 1;
    }
    let (whole, tenth) = (n / scale, n % scale * 10 / scale);
    if whole >= 100 || unit == 0 {
        format!("{whole} {}", units[unit])
    } else {
        format!("{whole}.{tenth} {}", units[unit])
    }
}

/// `1,000 rows/s`, `8 sessions`.
pub fn pace(pace: Pace, unit: Unit) -> String {
    match pace {
        Pace::Closed { sessions: 1 } => "1 session".to_owned(),
        _ => format!("{} {}", figure(pace), unit_of(pace, unit)),
    }
}

/// The paces of all steps: `4 sessions`, `50 to 200 queries/s`, with the think time.
pub fn paces(stream: &StreamPlan) -> String {
    let (Some(&first), Some(&last)) = (stream.paces.first(), stream.paces.last()) else {
        return "no pace".to_owned();
    };
    let range = if stream.paces.iter().all(|pace| *pace == first) {
        pace(first, stream.unit)
    } else {
        let unit = unit_of(first, stream.unit);
        format!("{} to {} {unit}", figure(first), figure(last))
    };
    match stream.think {
        Some(think) => format!("{range} with a think time of {}", duration(think.0)),
        None => range,
    }
}

fn figure(pace: Pace) -> String {
    match pace {
        Pace::Open { rate } => plain(rate.as_f64()),
        Pace::Closed { sessions } => count(u64::from(sessions)),
    }
}

fn unit_of(pace: Pace, unit: Unit) -> String {
    match pace {
        Pace::Open { .. } => format!("{}/s", unit.name()),
        Pace::Closed { .. } => "sessions".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Nanos, Rate};

    #[test]
    fn bytes_have_a_unit_and_few_digits() {
        let shown = [0, 999, 1_000, 99_949, 100_000, 1_234_567, u64::MAX].map(bytes);
        let expected = ["0 B", "999 B", "1.0 kB", "99.9 kB", "100 kB", "1.2 MB", "18.4 EB"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn counts_have_thousands_separators() {
        let texts = [0, 12, 999, 1_000, 4_212_000].map(count);
        assert_eq!(texts, ["0", "12", "999", "1,000", "4,212,000"]);
    }

    #[test]
    fn requested_durations_have_the_requested_digits_and_measured_ones_three() {
        let cases = [
            (2_000_000_000, "2 s"),
            (1_500_000_000, "1.5 s"),
            (1_000_500_000, "1000.5 ms"),
            (50_000_000, "50 ms"),
            (43_653_483_993, "43.7 s"),
            (43_653_483_000, "43.7 s"),
            (9_653_483_993, "9.65 s"),
            (17_581_476, "17.6 ms"),
            (300_000_000_000, "5 min"),
        ];
        for (nanos, expected) in cases {
            assert_eq!(span(nanos), expected);
        }
    }

    #[test]
    fn durations_have_three_significant_digits_and_never_a_thousand_of_a_unit() {
        let cases = [
            (0, "0 ns"),
            (999, "999 ns"),
            (38_000, "38.0 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (2_314_000, "2.31 ms"),
            (14_249_000, "14.2 ms"),
            (999_499_999, "999 ms"),
            (999_500_000, "1.00 s"),
            (9_999_000_000, "10.0 s"),
            (61_000_000_000, "61.0 s"),
            (300_000_000_000, "5 min"),
            (301_000_000_000, "5 min 1 s"),
            (7_260_000_000_000, "2 h 1 min"),
        ];
        for (nanos, expected) in cases {
            assert_eq!(duration(nanos), expected);
        }
    }

    #[test]
    fn spans_print_only_requested_digits() {
        let texts = [2_000_000_000, 1_500_000_000, 50_000_000, 300_000_000_000].map(span);
        assert_eq!(texts, ["2 s", "1.5 s", "50 ms", "5 min"]);
    }

    #[test]
    fn rates_are_whole_from_a_thousand_on() {
        let texts = [0.0, 0.5, 12.34, 999.4, 999.6, 421_200.4, f64::NAN].map(rate);
        let expected = ["0", "0.500", "12.3", "999", "1,000", "421,200", "–"];
        assert_eq!(texts, expected);
    }

    #[test]
    fn predictions_have_three_digits() {
        let texts = [1_214_524.0, 999.6, 12.345, 0.0, f64::NAN].map(about);
        assert_eq!(texts, ["1,210,000", "1,000", "12.3", "0", "–"]);
    }

    #[test]
    fn requested_values_have_no_needless_digit() {
        assert_eq!([50.0, 0.5, 2_000.0].map(plain), ["50", "0.5", "2,000"]);
        let parts = [1_000, 10_000, 0].map(percent_asked);
        assert_eq!(parts, ["0.1%", "1%", "0%"]);
    }

    #[test]
    fn quantiles_have_no_needless_zeros() {
        let texts = [990_000, 999_000, 500_000, 999_900].map(quantile);
        assert_eq!(texts, ["p99", "p99.9", "p50", "p99.99"]);
    }

    #[test]
    fn a_target_cannot_reach_the_terminal() {
        assert_eq!(foreign("a\u{1b}[31m\nb", 80), "a [31m b");
        assert_eq!(foreign("abcdef", 3), "abc…");
        assert_eq!(foreign("a\u{202e}b\u{9b}1m", 80), "a\u{fffd}b 1m");
        let found = harmless("a\tb\n\u{1b}[m\u{2066}");
        assert_eq!(found, "a\tb\n\u{fffd}[m\u{fffd}");
        assert_eq!(harmless("Ä 👩\u{200d}🔧"), "Ä 👩\u{200d}🔧");
    }

    fn closed(sessions: &[u32]) -> StreamPlan {
        let paces = sessions.iter();
        StreamPlan {
            unit: Unit::Rows,
            paces: paces.map(|&sessions| Pace::Closed { sessions }).collect(),
            ..StreamPlan::default()
        }
    }

    #[test]
    fn the_paces_of_a_stream_are_one_or_a_range() {
        assert_eq!(paces(&closed(&[])), "no pace");
        assert_eq!(paces(&closed(&[1])), "1 session");
        assert_eq!(paces(&closed(&[4, 4])), "4 sessions");
        assert_eq!(paces(&closed(&[1, 5_000])), "1 to 5,000 sessions");
        assert_eq!(paces(&closed(&[8, 1])), "8 to 1 sessions");
        let thinking = StreamPlan { think: Some(Nanos::from_millis(1_500)), ..closed(&[4]) };
        assert_eq!(paces(&thinking), "4 sessions with a think time of 1.50 s");
        let rate = Rate::per_second(20_000);
        let open = StreamPlan { paces: vec![Pace::Open { rate }], ..closed(&[]) };
        assert_eq!(paces(&open), "20,000 rows/s");
    }
}
