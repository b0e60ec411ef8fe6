//! Valid and invalid quantities; printing is lossless.

use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::user_error::UserError;

fn causes<T: std::fmt::Debug>(parse: fn(&str) -> Result<T, UserError>, texts: &[&str]) -> String {
    let lines: Vec<String> = texts.iter().map(|text| parse(text).unwrap_err().message).collect();
    lines.join("\n")
}

#[test]
fn counts() {
    for (text, count) in [
        ("0", 0),
        ("4212", 4212),
        ("1_000_000", 1_000_000),
        ("50k", 50_000),
        ("1.5M", 1_500_000),
        ("2G", 2_000_000_000),
        ("1.5000k", 1_500),
        ("18446744073709551615", u64::MAX),
    ] {
        assert_eq!(parse_count(text), Ok(count), "{text}");
    }
    assert_snapshot!(
        causes(
            parse_count,
            &["", "-1", "x", "1.", ".5", "1.2.3", "1__", "5m", "5 k", "1.2345k", "20000000000G"]
        ),
        @r"
    `` is empty
    `-1` is negative
    `x` is not a number
    `1.` is not a number
    `.5` is not a number
    `1.2.3` is not a number
    `1__` is not a number
    `5m` has the unknown unit `m`
    `5 k` has the unknown unit ` k`
    `1.2345k` is not a whole number
    `20000000000G` is too large
    "
    );
}

#[test]
fn other_notations_of_numbers_are_named_with_ours() {
    assert_snapshot!(
        causes(
            parse_rate,
            &["5e3", "1.5e6", "1E+2", "1e-3", "5e", "1e99", "1.23456e2", "50,000", "1,000,000", "1,5", "5,k"]
        ),
        @"
    `5e3` has an exponent, which is not read: write `5k`
    `1.5e6` has an exponent, which is not read: write `1.5M`
    `1E+2` has an exponent, which is not read: write `100`
    `1e-3` has the unknown unit `e`
    `5e` has the unknown unit `e`
    `1e99` has an exponent, which is not read
    `1.23456e2` has an exponent, which is not read
    `50,000` has commas between its digits: leave them out, or write `_`
    `1,000,000` has commas between its digits: leave them out, or write `_`
    `1,5` has the unknown unit ``
    `5,k` has the unknown unit ``
    "
    );
}

#[test]
fn rates() {
    for (text, micro_per_s) in [
        ("50", 50_000_000),
        ("50/s", 50_000_000),
        ("1k", 1_000_000_000),
        ("1.5M/s", 1_500_000_000_000),
        ("0.000001", 1),
    ] {
        assert_eq!(parse_rate(text), Ok(Rate { micro_per_s }), "{text}");
    }
    assert_snapshot!(
        causes(parse_rate, &["0", "0.0000001", "50/m", "1e3", "100000G"]),
        @r"
    `0` is not above zero
    `0.0000001` is finer than a millionth per second
    `50/m` has the unknown unit `/m`
    `1e3` has an exponent, which is not read: write `1k`
    `100000G` is too large
    "
    );
}

#[test]
fn durations() {
    for (text, nanos) in [
        ("0", 0),
        ("0s", 0),
        ("17ns", 17),
        ("2.5us", 2_500),
        ("2.5µs", 2_500),
        ("500ms", 500_000_000),
        ("1.5s", 1_500_000_000),
        ("1h30m", 5_400_000_000_000),
        ("1m0.25s", 60_250_000_000),
    ] {
        assert_eq!(parse_duration(text), Ok(Nanos(nanos)), "{text}");
    }
    assert_snapshot!(
        causes(
            parse_duration,
            &["60", "1h30", "30m1h", "1s1s", "1d", "0.5ns", "9999999h", "-5s", "s"]
        ),
        @r"
    `60` has no unit
    `1h30` has no unit
    `30m1h` does not go from large to small units
    `1s1s` does not go from large to small units
    `1d` has the unknown unit `d`
    `0.5ns` is finer than a nanosecond
    `9999999h` is too long
    `-5s` is negative
    `s` is not a number
    "
    );
}

#[test]
fn ranges_of_durations() {
    let found = parse_duration_range("1m..30m");
    assert_eq!(found, Ok((Nanos::from_secs(60), Nanos::from_secs(1800))));
    let found = parse_duration_range("5s");
    assert_eq!(found, Ok((Nanos::ZERO, Nanos::from_secs(5))));
    assert_snapshot!(
        causes(parse_duration_range, &["1m..", "..1m", "2m..1m", "1m..1m", "1..2m"]),
        @r"
    `1m..` lacks one of its ends
    `..1m` lacks one of its ends
    `2m..1m` does not go upwards
    `1m..1m` does not go upwards
    `1` has no unit
    "
    );
}

#[test]
fn percentages() {
    for (text, ppm) in [("0%", 0), ("0.1%", 1_000), ("100%", 1_000_000), ("0.0001%", 1)] {
        assert_eq!(parse_percent(text), Ok(Ppm(ppm)), "{text}");
    }
    assert_snapshot!(
        causes(parse_percent, &["1", "100.1%", "0.00001%", "1k%", "%"]),
        @r"
    `1` does not end in `%`
    `100.1%` is more than 100%
    `0.00001%` is finer than a ten-thousandth of a percent
    `1k%` is not a number with `%` behind it
    `%` is empty
    "
    );
}

#[test]
fn sizes_and_instants() {
    assert_eq!(parse_bytes("64MiB"), Ok(64 << 20));
    assert_eq!(parse_bytes("1.5GB"), Ok(1_500_000_000));
    assert_eq!(parse_bytes("512"), Ok(512));
    let found = causes(parse_bytes, &["1.5B"]);
    assert_eq!(found, "`1.5B` is not a whole number of bytes");
    let found = parse_instant("1970-01-01T01:00:00.5+01:00");
    assert_eq!(found, Ok(Nanos(500_000_000)));
    assert_eq!(print_instant(Nanos(500_000_000)), "1970-01-01T00:00:00.5Z");
    assert_eq!(
        causes(parse_instant, &["tomorrow", "1969-12-31T23:59:59Z"]),
        "`tomorrow` is not a point in time\n\
         `1969-12-31T23:59:59Z` is before 1970 or after 2554"
    );
}

#[test]
fn printing_is_short() {
    let printed = [
        print_count(4_212),
        print_count(50_000),
        print_count(1_500_000),
        print_duration(Nanos::from_secs(5_400)),
        print_duration(Nanos::from_millis(90_250)),
        print_duration(Nanos::from_micros(2_500)),
    ];
    assert_eq!(printed.join(" "), "4212 50k 1.5M 1h30m 1m30.25s 2.5ms");
}

proptest! {
    #[test]
    fn printed_values_parse_to_the_same_value(
        n in prop_oneof![any::<u64>(), 0..10_000_u64, (0..1_000_u64).prop_map(|k| k * 1_000_000)],
    ) {
        prop_assert_eq!(parse_count(&print_count(n)), Ok(n));
        prop_assert_eq!(parse_duration(&print_duration(Nanos(n))), Ok(Nanos(n)));
        prop_assert_eq!(parse_instant(&print_instant(Nanos(n))), Ok(Nanos(n)));
    }

    #[test]
    fn no_text_causes_a_panic_in_a_parser(text in "\\PC{0,80}") {
        let _ = (parse_count(&text), parse_rate(&text), parse_duration(&text));
        let _ = (parse_duration_range(&text), parse_percent(&text), parse_bytes(&text));
        let _ = parse_instant(&text);
    }
}
