//! Guarantees of a latency histogram: ranks include +∞, and no percentile without enough samples.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "small numbers of a test"
)]

use proptest::prelude::*;

use std::io::Read;

use super::*;
use super::{COMPRESSED_COOKIE, MAX_TEXT, PLAIN_COOKIE};

fn with_values(values: impl IntoIterator<Item = u64>, beyond: u64) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::fine();
    for value in values {
        histogram.record(Nanos(value));
    }
    histogram.record_beyond(beyond, Nanos::ZERO);
    histogram
}

fn summary(histogram: &LatencyHistogram) -> String {
    let summary = histogram.summary();
    let mut text = Vec::new();
    let fields = [
        ("mean", summary.mean),
        ("p50", summary.p50),
        ("p90", summary.p90),
        ("p95", summary.p95),
        ("p99", summary.p99),
        ("p999", summary.p999),
        ("p9999", summary.p9999),
        ("max", summary.max),
    ];
    for (name, value) in fields {
        if let Some(value) = value {
            let bound = summary.at_least.iter().any(|listed| listed == name);
            text.push(format!("{name}{}{value}", if bound { "≥" } else { "=" }));
        } else {
            assert!(!summary.at_least.iter().any(|listed| listed == name));
        }
    }
    text.join(" ")
}

#[test]
fn a_percentile_needs_its_samples() {
    let check = |count: u64, expect: &str| assert_eq!(summary(&with_values(1..=count, 0)), expect);
    check(0, "");
    check(1, "mean=1 max=1");
    check(9, "mean=5 max=9");
    check(10, "mean=6 p50=5 p90=9 max=10");
    check(19, "mean=10 p50=10 p90=18 max=19");
    check(20, "mean=11 p50=10 p90=18 p95=19 max=20");
    check(99, "mean=50 p50=50 p90=90 p95=95 max=99");
    check(100, "mean=51 p50=50 p90=90 p95=95 p99=99 max=100");
    check(999, "mean=500 p50=500 p90=900 p95=950 p99=990 max=999");
    let all = "mean=501 p50=500 p90=900 p95=950 p99=990 p999=999 max=1000";
    check(1_000, all);
    let mut many = LatencyHistogram::fine();
    many.record_n(Nanos(7), 9_999);
    assert_eq!(many.summary().p9999, None);
    many.record(Nanos(8));
    assert_eq!(many.summary().p9999, Some(7));
}

#[test]
fn a_percentile_among_the_dropped_is_a_lower_bound_exactly_when_it_must_be() {
    let check = |finite: u64, beyond, expect: &str| {
        let found = summary(&with_values(1..=finite, beyond));
        assert_eq!(found, expect, "{finite} and {beyond}");
    };
    check(99, 1, "p50=50 p90=90 p95=95 p99=99 max≥99");
    check(98, 2, "p50=50 p90=90 p95=95 p99≥98 max≥98");
    check(95, 5, "p50=50 p90=90 p95=95 p99≥95 max≥95");
    check(94, 6, "p50=50 p90=90 p95≥94 p99≥94 max≥94");
    check(50, 50, "p50=50 p90≥50 p95≥50 p99≥50 max≥50");
    check(49, 51, "p50≥49 p90≥49 p95≥49 p99≥49 max≥49");
    check(0, 100, "p50≥0 p90≥0 p95≥0 p99≥0 max≥0");
    check(0, 1, "max≥0");
}

#[test]
fn the_dropped_are_samples_too() {
    let histogram = with_values(1..=5, 5);
    assert_eq!(histogram.count(), 10);
    assert_eq!(histogram.beyond(), 5);
    let median = histogram.percentile(0.5);
    let (ns, at_least) = (5, false);
    assert_eq!(median, Some(Percentile { ns, at_least }));
}

#[test]
fn quantiles_outside_the_unit_interval_have_no_answer() {
    let histogram = with_values(1..=100, 0);
    for quantile in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert_eq!(histogram.percentile(quantile), None);
    }
    assert_eq!(histogram.percentile(0.0).map(|p| p.ns), Some(1));
    assert_eq!(histogram.percentile(0.07).map(|p| p.ns), Some(7));
    assert_eq!(histogram.percentile(1.0).map(|p| p.ns), Some(100));
}

#[test]
fn zero_is_a_latency_and_more_than_a_day_is_infinity() {
    let mut histogram = with_values([0, 0, 3], 0);
    assert_eq!(histogram.summary().mean, Some(1));
    histogram.record(LONGEST);
    assert_eq!(histogram.beyond(), 0);
    histogram.record(Nanos(LONGEST.0 + 1));
    histogram.record_n(Nanos::MAX, 2);
    histogram.record_n(Nanos(5), 0);
    assert_eq!((histogram.count(), histogram.beyond()), (7, 3));
}

#[test]
fn values_keep_their_digits() {
    for (mut histogram, share) in
        [(LatencyHistogram::fine(), 0.001), (LatencyHistogram::coarse(), 0.01)]
    {
        for value in [1_u64, 1_234_567, 98_765_432_109, LONGEST.0] {
            histogram.clear();
            histogram.record_n(Nanos(value), 20);
            let found = histogram.summary().p50.unwrap();
            let error = (found as f64 - value as f64).abs() / value as f64;
            assert!(error <= share, "{value} became {found}");
        }
    }
}

#[test]
fn clear_forgets_everything() {
    let mut histogram = with_values([5, 1_000_000], 3);
    histogram.clear();
    assert!(histogram.is_empty());
    assert_eq!(histogram, LatencyHistogram::fine());
    histogram.record(Nanos(2));
    assert_eq!(summary(&histogram), "mean=2 max=2");
}

#[test]
fn an_empty_one_holds_no_memory() {
    assert!(LatencyHistogram::fine().finite.is_none());
    let mut histogram = with_values([], 4);
    histogram.merge(&with_values([], 2));
    assert!(histogram.finite.is_none());
    assert_eq!(histogram.count(), 6);
    let back = LatencyHistogram::of_summary(&histogram.encode(), &histogram.summary()).unwrap();
    assert_eq!(back, histogram);
}

#[test]
fn the_maximum_is_exact_and_no_percentile_is_above_it() {
    let mut histogram = LatencyHistogram::fine();
    histogram.record_n(Nanos(1_000_001), 1_000);
    let summary = histogram.summary();
    assert_eq!(summary.max, Some(1_000_001));
    assert_eq!(summary.p999, Some(1_000_001));
    let mut more = LatencyHistogram::fine();
    more.record(Nanos(2_000_003));
    histogram.merge(&more);
    assert_eq!(histogram.summary().max, Some(2_000_003));
}

#[test]
fn an_op_that_never_ended_took_at_least_the_time_waited() {
    let mut histogram = LatencyHistogram::fine();
    histogram.record_n(Nanos(5), 10);
    histogram.record_beyond(20, Nanos(64));
    histogram.record_beyond(1, Nanos(100));
    let summary = histogram.summary();
    assert_eq!((summary.p50, summary.p95, summary.max), (Some(64), Some(64), Some(100)));
    assert_eq!(summary.at_least, ["p50", "p90", "p95", "max"]);
    assert_eq!(summary.waited, Some(64));
    // Ops with unknown waiting times rank before the others.
    histogram.record_beyond(10, Nanos::ZERO);
    let summary = histogram.summary();
    assert_eq!((summary.p50, summary.p95, summary.waited), (Some(64), Some(64), None));
    histogram.record_beyond(10, Nanos::ZERO);
    assert_eq!(histogram.summary().p50, Some(5));
}

#[test]
fn a_percentile_among_ops_that_never_ended_is_bounded_by_their_own_waiting() {
    // As in an outage: a tenth was fast, and the others have waited for 1 to 900 ms.
    let mut histogram = LatencyHistogram::fine();
    histogram.record_n(Nanos::from_millis(5), 100);
    for waited in 1..=900 {
        histogram.record_beyond(1, Nanos::from_millis(waited));
    }
    let mut both = LatencyHistogram::coarse();
    both.merge(&histogram);
    both.merge(&histogram);
    let summary = histogram.summary();
    let stored = LatencyHistogram::of_summary(&histogram.encode(), &summary).unwrap();
    assert_eq!(stored.summary(), summary);
    for histogram in [&histogram, &both, &stored] {
        let p99 = Nanos(histogram.summary().p99.unwrap()).as_secs_f64();
        // Of 1,000 ops, the 990th has waited for 890 ms. A bound is rounded down.
        assert!((0.88..=0.89).contains(&p99), "{p99}");
    }
}

/// Written by the reference implementation for Python: values 1, 2, 1,000, and 5,000,000 (×3) in a histogram from 1 to
/// an hour in nanoseconds with 3 digits.
const BY_ANOTHER_TOOL: &str =
    "HISTFAAAACp4nJNpmSzMwMDAxQABzFCaEch0M9ixgMH+A1SAiekkP9PWw4xsAIYJBrM=";

#[test]
fn payloads_of_other_tools_are_read() {
    let histogram = LatencyHistogram::decode(BY_ANOTHER_TOOL).unwrap();
    let values = [1, 2, 1_000, 5_000_000, 5_000_000, 5_000_000];
    assert_eq!(histogram, with_values(values, 0));
}

#[test]
fn malformed_texts_are_refused_without_panic() {
    let good = with_values([1, 1_000, 1_000_000], 0).encode();
    assert!(LatencyHistogram::decode(&good).is_ok());
    for text in ["", "HISTFAAA", "not base64!", "AAAA", &good[..good.len() - 4], &good[4..]] {
        assert!(LatencyHistogram::decode(text).is_err(), "{text}");
    }
    let long = "A".repeat(MAX_TEXT + 4);
    let refused = LatencyHistogram::decode(&long);
    assert!(matches!(refused, Err(HistogramError::TooLong)));
}

/// A payload with any header and body, compressed per the format.
fn craft(length: u32, digits: u32, lowest: u64, highest: u64, body: &[u8]) -> String {
    let mut plain = PLAIN_COOKIE.to_be_bytes().to_vec();
    plain.extend(length.to_be_bytes());
    plain.extend(0_u32.to_be_bytes());
    plain.extend(digits.to_be_bytes());
    plain.extend(lowest.to_be_bytes());
    plain.extend(highest.to_be_bytes());
    plain.extend(1.0_f64.to_be_bytes());
    plain.extend(body);
    let mut zipped = Vec::new();
    flate2::read::ZlibEncoder::new(plain.as_slice(), flate2::Compression::fast())
        .read_to_end(&mut zipped)
        .unwrap();
    let mut all = COMPRESSED_COOKIE.to_be_bytes().to_vec();
    all.extend(u32::try_from(zipped.len()).unwrap().to_be_bytes());
    all.extend(zipped);
    STANDARD.encode(all)
}

#[test]
fn hostile_payloads_are_bounded() {
    let decode = |text: String| LatencyHistogram::decode(&text);
    assert!(decode(craft(1, 3, 1, 1_000, &[2])).is_ok());
    let too_long = decode(craft(2 << 20, 3, 1, 1_000, &vec![0; 2 << 20]));
    assert!(matches!(too_long, Err(HistogramError::TooLong)));
    let unfounded = decode(craft(u32::MAX, 3, 1, 1_000, &[2]));
    assert!(matches!(unfounded, Err(HistogramError::Payload(_))));
    for (digits, lowest) in [(5, 1), (1, 1), (3, 1_000)] {
        let other = decode(craft(1, digits, lowest, 1 << 40, &[2]));
        assert!(matches!(other, Err(HistogramError::Resolution { .. })));
    }
    assert!(decode(craft(1, 3, 1, u64::MAX, &[2])).is_err());
    // The highest is below twice the lowest.
    assert!(decode(craft(1, 3, 1, 1, &[2])).is_err());
    let greatest_count = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
    let overflow = [greatest_count; 3].concat();
    assert!(decode(craft(27, 3, 1, 1_000, &overflow)).is_err());
}

fn latencies() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let value = prop_oneof![0..5_000_u64, 0..=LONGEST.0, Just(LONGEST.0), Just(u64::MAX)];
    proptest::collection::vec((value, 0..1_000_u64), 0..50)
}

fn counted(digits: u8, latencies: &[(u64, u64)]) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::with_digits(digits);
    for (value, n) in latencies {
        histogram.record_n(Nanos(*value), *n);
    }
    histogram
}

proptest! {
    #[test]
    fn text_and_back_is_the_same(latencies in latencies(), fine: bool) {
        let histogram = counted(if fine { 3 } else { 2 }, &latencies);
        let back = LatencyHistogram::of_summary(&histogram.encode(), &histogram.summary()).unwrap();
        prop_assert_eq!(&back, &histogram);
        prop_assert_eq!(back.summary(), histogram.summary());
    }

    #[test]
    fn merging_is_counting_together(a in latencies(), b in latencies(), fine: bool) {
        let digits = if fine { 3 } else { 2 };
        let mut merged = counted(digits, &a);
        merged.merge(&counted(digits, &b));
        let together = counted(digits, &[a, b].concat());
        prop_assert_eq!(&merged, &together);
        prop_assert_eq!(merged.summary(), together.summary());
        let back = LatencyHistogram::of_summary(&merged.encode(), &merged.summary()).unwrap();
        prop_assert_eq!(back, merged);
    }

    #[test]
    fn merging_into_fewer_digits_keeps_the_count(a in latencies(), b in latencies()) {
        let mut merged = counted(2, &a);
        merged.merge(&counted(3, &b));
        prop_assert_eq!(merged.count(), counted(2, &[a, b].concat()).count());
    }

    #[test]
    fn ops_up_to_a_bound_are_those_that_took_no_longer(
        values in proptest::collection::vec(0..2_000_u64, 0..300),
        beyond in 0..10_usize,
        bound in 0..2_100_u64,
    ) {
        let histogram = with_values(values.iter().copied(), beyond as u64);
        let within = values.iter().filter(|value| **value <= bound).count() as u64;
        let all = (values.len() + beyond) as u64;
        prop_assert_eq!(histogram.up_to(&[bound]), [within, all]);
        prop_assert_eq!(histogram.sum_ns(), values.iter().sum::<u64>());
    }

    #[test]
    fn a_percentile_is_the_value_of_its_rank(
        mut values in proptest::collection::vec(0..2_000_u64, 10..300),
        beyond in 0..100_usize,
        quantile in 0.0..=1.0_f64,
    ) {
        let histogram = with_values(values.iter().copied(), beyond as u64);
        values.sort_unstable();
        let count = values.len() + beyond;
        let rank = ((quantile * count as f64).ceil() as usize).max(1);
        if let Some(found) = histogram.percentile(quantile) {
            prop_assert_eq!(found.at_least, rank > values.len());
            prop_assert_eq!(found.ns, values[rank.min(values.len()) - 1]);
        } else {
            prop_assert!(((1.0 - quantile) * count as f64) < 1.0);
        }
    }

    #[test]
    fn no_text_causes_a_panic_in_decoding(
        text in "[A-Za-z0-9+/=]{0,200}",
        digits in 2..4_u32,
        highest: u64,
        body in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        drop(LatencyHistogram::decode(&text));
        let length = u32::try_from(body.len()).unwrap();
        if let Ok(read) = LatencyHistogram::decode(&craft(length, digits, 1, highest, &body)) {
            prop_assert_eq!(read.summary().count, read.count());
        }
    }
}
