//! Every distribution against its formula, through the file: Kolmogorov–Smirnov on 100,000 samples. The limit is the
//! 99.9% quantile, 1.95 / √100,000; seeds are fixed, so nothing fails at random. Each test has a negative: the same
//! samples fail against a slightly wrong parameter.

use flate2::Compression;
use flate2::write::DeflateEncoder;
use statrs::distribution::{ContinuousCDF, Normal};
use std::io::Write as _;

use super::{floats, integers, parsed};
use highwater_model::op::{ColumnData, RowBatch};
use highwater_model::units::Seed;

const DRAWS: usize = 100_000;
const LIMIT: f64 = 1.95 / 316.227_766;

/// The rows of a table with one column.
fn rows(kind: &str, generator: &str, rows: usize) -> RowBatch {
    let text = format!(
        r#"
format = 1
name = "one"
version = 1
summary = "one column"
[tables.t]
create = {{ any = "CREATE TABLE t (x int)" }}
key = {{ any = "0" }}
columns = [{{ name = "x", type = "{kind}", generator = {generator} }}]
[ops.insert]
insert = "t"
batch = 1
"#
    );
    let workload = parsed(&text).instantiate(&[].into(), Seed(11)).unwrap();
    workload.row_batch(0, 0, rows)
}

/// Counts of each of 0..items.
fn counts(generator: &str, items: usize) -> Vec<u64> {
    let batch = rows("bigint", generator, DRAWS);
    let mut counts = vec![0; items];
    for value in integers(&batch, 0) {
        counts[usize::try_from(*value).unwrap()] += 1;
    }
    counts
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn real(number: impl TryInto<u64>) -> f64 {
    number.try_into().ok().unwrap() as f64
}

/// The greatest distance between the counts and a distribution function over 0..items.
fn distance(counts: &[u64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut seen = 0;
    let distances = counts.iter().enumerate().map(|(item, count)| {
        seen += count;
        (real(seen) / real(DRAWS) - cdf(real(item) + 1.0)).abs()
    });
    distances.fold(0.0, f64::max)
}

/// `right` fits the samples, `wrong` does not.
fn check(counts: &[u64], right: impl Fn(f64) -> f64, wrong: impl Fn(f64) -> f64) {
    let (right, wrong) = (distance(counts, right), distance(counts, wrong));
    assert!(right < LIMIT, "distance {right}, limit {LIMIT}");
    assert!(wrong > LIMIT, "the negative passes: {wrong}");
}

/// Σ i^-theta, summed directly.
fn zeta(items: u32, theta: f64) -> f64 {
    (1..=items).map(|i| f64::from(i).powf(-theta)).sum()
}

/// The probability of the first `k` ranks with the generator of Gray et al.: exact for the first two, then the power
/// function that approximates the zipfian sum.
fn gray(items: u32, theta: f64) -> impl Fn(f64) -> f64 {
    let (all, n) = (zeta(items, theta), f64::from(items));
    let eta = (1.0 - (2.0 / n).powf(1.0 - theta)) / (1.0 - zeta(2, theta) / all);
    move |k| match k {
        k if k < 1.5 => 1.0 / all,
        k if k < 2.5 => zeta(2, theta) / all,
        k => 1.0 + ((k / n).powf(1.0 - theta) - 1.0) / eta,
    }
}

#[test]
fn uniform_numbers_are_all_alike() {
    let counts = counts(r#""uniform", min = 0, max = 999"#, 1_000);
    check(&counts, |k| k / 1_000.0, |k| (k / 980.0).min(1.0));
}

#[test]
fn zipfian_ranks_are_those_of_gray() {
    let counts = counts(r#""zipfian", min = 0, max = 999, order = "ranked""#, 1_000);
    check(&counts, gray(1_000, 0.99), gray(1_000, 0.95));
    // The original's approximation stays within 2% of the zipfian distribution itself.
    let exact = |k: f64| {
        (1..=1_000)
            .take_while(|i| f64::from(*i) <= k)
            .map(|i| f64::from(i).powf(-0.99))
            .sum::<f64>()
            / zeta(1_000, 0.99)
    };
    assert!(distance(&counts, exact) < 0.02);
}

#[test]
fn latest_numbers_are_zipfian_from_the_end() {
    let mut counts = counts(r#""latest", min = 0, max = 499, theta = 0.8"#, 500);
    counts.reverse();
    check(&counts, gray(500, 0.8), gray(500, 0.77));
}

/// The fraction of the samples of the hottest of `items` items.
fn hottest(items: u64, theta: f64) -> f64 {
    let generator = format!(r#""zipfian", min = 0, max = {}, theta = {theta}"#, items - 1);
    let batch = rows("bigint", &generator, DRAWS);
    let mut values = integers(&batch, 0).to_vec();
    values.sort_unstable();
    let longest = values.chunk_by(|a, b| a == b).map(<[i64]>::len).max();
    real(longest.unwrap()) / real(DRAWS)
}

#[test]
fn the_hottest_of_scrambled_zipfian_items_gets_3_78_percent_whatever_their_number() {
    // 1 / zeta(10^10, 0.99), the constant of YCSB.
    let share: f64 = 1.0 / 26.469_028_201_783_02;
    assert!((share - 0.0378).abs() < 0.000_05);
    let deviation = (share * (1.0 - share) / real(DRAWS)).sqrt();
    for items in [1_000_000, 1_000_000_000] {
        let found = hottest(items, 0.99);
        assert!((found - share).abs() < 4.0 * deviation, "{items}: {found}");
    }
    // With few items the hottest also gets its part of the other ranks.
    let found = hottest(1_000, 0.99);
    let expected = share + (1.0 - share) / 1_000.0;
    assert!((found - expected).abs() < 4.0 * deviation, "{found}");
    let wrong = hottest(1_000_000, 0.98);
    assert!((wrong - share).abs() > 4.0 * deviation, "{wrong}");
}

#[test]
fn scrambled_items_are_those_of_the_hash() {
    let batch = rows("bigint", r#""zipfian", min = 0, max = 999999"#, DRAWS);
    let hot = integers(&batch, 0);
    let of = |item: i64| real(hot.iter().filter(|value| **value == item).count()) / real(DRAWS);
    // FNV-1a of 0 and of 1, like in YCSB, modulo the number of items.
    let (first, second) =
        (6_284_781_860_667_377_211 % 1_000_000, 8_517_097_267_634_966_620 % 1_000_000);
    assert!((of(first) - 0.037_78).abs() < 0.003, "{}", of(first));
    assert!((of(second) - 0.037_78 / 2_f64.powf(0.99)).abs() < 0.003, "{}", of(second));
}

#[test]
fn a_hotspot_gets_its_share_and_is_flat_within_and_without() {
    let counts = counts(r#""hotspot", min = 0, max = 999, data = 0.2, asked = 0.8"#, 1_000);
    let cdf = |hot_draws: f64| {
        move |k: f64| {
            if k <= 200.0 {
                hot_draws * k / 200.0
            } else {
                hot_draws + (1.0 - hot_draws) * (k - 200.0) / 800.0
            }
        }
    };
    check(&counts, cdf(0.8), cdf(0.785));
}

/// The distribution function of keys whose probability is proportional to (v + key)^-s.
fn power_law(s: f64, v: f64) -> impl Fn(f64) -> f64 {
    // Over all keys up to 2⁶³ − 1: some thousand individually, the others by the integral.
    let (from, part) = (10_000, |k: i32| (v + f64::from(k)).powf(-s));
    let few: f64 = (0..from).map(part).sum();
    let area = |x: f64| x.powf(1.0 - s) / (1.0 - s);
    let whole = few + area(9_223_372_036_854_775_808.0) - area(v + f64::from(from) - 0.5);
    let mut sum = 0.0;
    let shares: Vec<f64> = (0..1_000)
        .map(|k| {
            sum += part(k) / whole;
            sum
        })
        .collect();
    move |k: f64| {
        let share = shares.iter().zip(1..).find(|(_, at)| f64::from(*at) + 0.5 > k);
        share.map_or(1.0, |(share, _)| *share)
    }
}

/// Counts of each key; keys beyond a thousand are counted together, as the last one.
fn zipfian_keys(options: &str) -> Vec<u64> {
    let batch = rows("bigint", &format!(r#""keys", order = "zipfian", {options}"#), DRAWS);
    let mut counts = vec![0; 1_001];
    for key in integers(&batch, 0) {
        counts[usize::try_from(*key).unwrap().min(1_000)] += 1;
    }
    counts
}

#[test]
fn zipfian_keys_follow_the_power_law() {
    let counts = zipfian_keys("s = 1.1, v = 1.0");
    check(&counts, power_law(1.1, 1.0), power_law(1.12, 1.0));
}

#[test]
fn zipfian_keys_have_their_offset() {
    let counts = zipfian_keys("s = 1.5, v = 10.0");
    check(&counts, power_law(1.5, 10.0), power_law(1.5, 9.4));
}

#[test]
fn zipfian_ranks_with_an_exponent_above_one_are_those_of_the_power_law() {
    let counts = counts(r#""zipfian", min = 0, max = 99, theta = 1.5, order = "ranked""#, 100);
    let cdf = |s: f64| {
        move |k: f64| {
            let first: f64 =
                (1..=100).take_while(|i| f64::from(*i) <= k).map(|i| f64::from(i).powf(-s)).sum();
            first / zeta(100, s)
        }
    };
    check(&counts, cdf(1.5), cdf(1.53));
}

#[test]
fn exponential_numbers_have_their_percentile_within_their_share() {
    let counts =
        counts(r#""exponential", min = 0, max = 999, percentile = 0.95, data = 0.4"#, 1_000);
    let cdf = |percentile: f64| {
        let gamma = -(1.0 - percentile).ln() / 400.0;
        move |k: f64| (1.0 - (-gamma * k).exp()) / (1.0 - (-gamma * 1_000.0).exp())
    };
    check(&counts, cdf(0.95), cdf(0.94));
}

#[test]
fn choices_come_by_their_weights() {
    let counts = counts(r#""choice", values = [0, 1, 2], weights = [1, 3, 6]"#, 3);
    let cdf = |first: f64| {
        move |k: f64| {
            [first, 0.4, 1.0][if k < 1.5 {
                0
            } else if k < 2.5 {
                1
            } else {
                2
            }]
        }
    };
    check(&counts, cdf(0.1), cdf(0.11));
}

#[test]
fn normal_numbers_follow_the_normal_distribution() {
    let batch = rows("float", r#""normal", mean = 50, deviation = 10"#, DRAWS);
    let mut values = floats(&batch, 0).to_vec();
    values.sort_unstable_by(f64::total_cmp);
    let distance = |deviation: f64| {
        let normal = Normal::new(50.0, deviation).unwrap();
        values
            .iter()
            .enumerate()
            .map(|(at, value)| (real(at) / real(DRAWS) - normal.cdf(*value)).abs())
            .fold(0.0, f64::max)
    };
    assert!(distance(10.0) < LIMIT, "{}", distance(10.0));
    assert!(distance(10.4) > LIMIT, "{}", distance(10.4));
}

/// Counts of each word of a dictionary of 500, and the words.
fn picked(options: &str) -> (Vec<u64>, Vec<Box<str>>) {
    let mut batch = rows("text", options, DRAWS);
    let ColumnData::TextDictionary(words) = batch.columns.remove(0) else { panic!("coded text") };
    let mut counts = vec![0_u64; 500];
    for code in &words.codes {
        counts[usize::try_from(*code).unwrap()] += 1;
    }
    (counts, words.values.to_vec())
}

#[test]
fn words_of_a_dictionary_are_different_and_picked_by_their_distribution() {
    let options =
        r#""dictionary", size = 500, length = 7, distribution = "zipfian", order = "ranked""#;
    let (counts, words) = picked(options);
    check(&counts, gray(500, 0.99), gray(500, 0.95));
    let distinct: std::collections::BTreeSet<&Box<str>> = words.iter().collect();
    assert_eq!(distinct.len(), 500);
    assert!(
        words.iter().all(|word| word.len() == 7 && word.bytes().all(|b| b.is_ascii_lowercase()))
    );
}

#[test]
fn words_of_a_dictionary_are_all_alike_where_nothing_else_is_said() {
    let (counts, _) = picked(r#""dictionary", size = 500, length = 7"#);
    check(&counts, |k| k / 500.0, |k| (k / 490.0).min(1.0));
    // Two hundred each, including the last one.
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}

fn texts(batch: &RowBatch) -> &[Box<str>] {
    match &batch.columns[0] {
        ColumnData::Text(values) => values,
        other => panic!("{other:?}"),
    }
}

/// Bytes of 200 texts of 4,096 characters, compressed individually, per byte of text.
fn compressed(repeat: &str) -> f64 {
    let batch = rows("text", &format!(r#""text", length = 4096, repeat = {repeat}"#), 200);
    let shares = texts(&batch).iter().map(|text| {
        assert_eq!(text.len(), 4_096);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(text.as_bytes()).unwrap();
        real(encoder.finish().unwrap().len()) / 4_096.0
    });
    shares.sum::<f64>() / 200.0
}

#[test]
fn text_shrinks_by_its_repetition() {
    let random = compressed("1");
    // Each of 64 characters has six bits of eight; the compressor adds overhead.
    assert!((0.75..0.78).contains(&random), "{random}");
    for (repeat, share) in [("2", 0.5), ("4", 0.25), ("1.5", 0.667)] {
        let found = compressed(repeat) / random;
        assert!((found - share).abs() < 0.02, "{repeat}: {found}");
        assert!((found - share * 1.15).abs() > 0.02, "{repeat}: the negative passes");
    }
}

#[test]
fn lengths_of_text_are_uniform_and_its_digits_are_the_rows_number() {
    let batch = rows("text", r#""text", length = 40, least = 21, digits = 5"#, DRAWS);
    let mut counts = vec![0; 20];
    for (row, text) in texts(&batch).iter().enumerate() {
        assert_eq!(text[..5], format!("{row:05}")[..5]);
        counts[text.len() - 21] += 1;
    }
    check(&counts, |k| k / 20.0, |k| (k / 19.7).min(1.0));
}

#[test]
fn uuids_are_random_but_for_version_and_variant() {
    let batch = rows("text", r#""uuid""#, DRAWS);
    let mut ones = [0_u64; 128];
    for text in texts(&batch) {
        assert_eq!((text.len(), &text[14..15]), (36, "4"));
        let bits = u128::from_str_radix(&text.replace('-', ""), 16).unwrap();
        for (bit, ones) in ones.iter_mut().enumerate() {
            *ones += u64::try_from((bits >> bit) & 1).unwrap();
        }
    }
    let fixed = [62, 63, 76, 77, 78, 79];
    for (bit, ones) in ones.iter().enumerate().filter(|(bit, _)| !fixed.contains(bit)) {
        // Half of 100,000, within five deviations.
        assert!(ones.abs_diff(50_000) < 791, "bit {bit}: {ones}");
    }
    assert_eq!(fixed.map(|bit| ones[bit] / 100_000), [0, 1, 0, 0, 1, 0]);
}

#[test]
fn uuids_of_version_7_begin_with_their_time() {
    let lines = r#""uuid7", start = "2024-01-01T00:00:00Z", interval = "250ms""#;
    let batch = rows("text", lines, 1_000);
    let all = texts(&batch);
    assert!(all.is_sorted());
    for (row, text) in (0..).zip(all) {
        let ms = i64::from_str_radix(&text[..13].replace('-', ""), 16).unwrap();
        assert_eq!((ms, &text[14..15]), (1_704_067_200_000 + row * 250, "7"));
        assert!("89ab".contains(&text[19..20]), "{text}");
    }
    let different: std::collections::BTreeSet<&str> = all.iter().map(|text| &text[15..]).collect();
    assert_eq!(different.len(), 1_000);
}
