//! Properties of the walks of the cpu workload: the distribution of their values, their steps, autocorrelation, and
//! independence. Limits are four standard errors or more; seeds are fixed, so nothing fails at random.

use super::{cpu, floats, integers, parsed};
use crate::Workload;
use highwater_model::units::Seed;

const HOSTS: u64 = 4_000;
const METRICS: std::ops::Range<usize> = 2..12;

/// The ten metrics of all hosts at a tick.
fn metrics_at(workload: &Workload, tick: u64) -> Vec<Vec<f64>> {
    let batch = workload.row_batch(0, tick * HOSTS, usize::try_from(HOSTS).unwrap());
    METRICS
        .map(|column| {
            integers(&batch, column)
                .iter()
                .map(|value| f64::from(i32::try_from(*value).unwrap()))
                .collect()
        })
        .collect()
}

/// A walk with the options of cpu.toml, but not truncated: one entity per row of a tick.
fn float_walk(options: &str) -> Workload {
    let text = format!(
        r#"
format = 1
name = "walk"
version = 1
summary = "one walk"
[entities.thing]
count = {HOSTS}
[tables.t]
entity = "thing"
create = {{ any = "CREATE TABLE t (x double precision)" }}
key = {{ any = "0" }}
[[tables.t.columns]]
name = "x"
type = "float"
generator = "walk"
min = 0
max = 100
{options}
[ops.insert]
insert = "t"
batch = 1
"#
    );
    parsed(&text).instantiate(&[].into(), Seed(5)).unwrap()
}

fn floats_at(workload: &Workload, tick: u64) -> Vec<f64> {
    let batch = workload.row_batch(0, tick * HOSTS, usize::try_from(HOSTS).unwrap());
    floats(&batch, 0).to_vec()
}

#[expect(clippy::cast_precision_loss, reason = "a few thousand values")]
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let center = mean(values);
    mean(&values.iter().map(|value| (value - center).powi(2)).collect::<Vec<_>>())
}

fn correlation(left: &[f64], right: &[f64]) -> f64 {
    let (left_mean, right_mean) = (mean(left), mean(right));
    let products: Vec<f64> =
        left.iter().zip(right).map(|(l, r)| (l - left_mean) * (r - right_mean)).collect();
    mean(&products) / (variance(left) * variance(right)).sqrt()
}

/// Pearson's statistic for twenty bins of five against the uniform distribution.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 100")]
#[expect(clippy::cast_precision_loss, reason = "a few thousand values")]
fn chi_square(values: &[f64]) -> f64 {
    let mut counts = [0.0; 20];
    for value in values {
        counts[((value / 5.0) as usize).min(19)] += 1.0;
    }
    let expected = values.len() as f64 / 20.0;
    counts.iter().map(|count: &f64| (count - expected).powi(2) / expected).sum()
}

/// 99.9% quantile of chi-square with 19 degrees of freedom.
const CHI_SQUARE_LIMIT: f64 = 43.82;

#[test]
fn values_are_uniform_at_anchors_and_everywhere_between() {
    let workload = cpu(&[], 3);
    for tick in [0, 1, 37, 64, 128, 200, 255, 256, 100_000 + 96] {
        let values = metrics_at(&workload, tick).concat();
        let found = (mean(&values), variance(&values), chi_square(&values));
        // A uniform number on 0..100, truncated: mean 49.5, variance 10,000 / 12.
        assert!((found.0 - 49.5).abs() < 0.6, "tick {tick}: mean {}", found.0);
        assert!((found.1 - 833.3).abs() < 15.0, "tick {tick}: variance {}", found.1);
        assert!(found.2 < CHI_SQUARE_LIMIT, "tick {tick}: chi-square {}", found.2);
    }
}

#[test]
fn every_value_is_in_range() {
    let workload = cpu(&[("hosts", "7")], 3);
    let batch = workload.row_batch(0, 0, 50_000);
    for column in METRICS {
        let values = integers(&batch, column);
        assert_eq!(values.iter().min(), Some(&0), "column {column}");
        assert!(values.iter().max().unwrap() <= &100, "column {column}");
    }
}

/// Standard deviation of the step between ticks, over a whole epoch.
fn step_deviation(workload: &Workload) -> f64 {
    let mut steps = Vec::new();
    for tick in (0..256).step_by(15) {
        let (now, next) = (floats_at(workload, tick), floats_at(workload, tick + 1));
        steps.extend(next.iter().zip(&now).map(|(next, now)| next - now));
    }
    variance(&steps).sqrt()
}

#[test]
fn a_step_is_about_one_as_in_the_original() {
    let deviation = step_deviation(&float_walk(""));
    // √2 · 0.7 from the noise, and the change of the bridge.
    assert!((0.96..=1.04).contains(&deviation), "{deviation}");
    // The test is sensitive: slightly less noise, slightly more, and short epochs are out of the range.
    for wrong in ["noise = 0.65", "noise = 0.75", "epoch = 32"] {
        let deviation = step_deviation(&float_walk(wrong));
        assert!(!(0.96..=1.04).contains(&deviation), "{wrong}: {deviation}");
    }
}

#[test]
fn the_metrics_of_cpu_step_alike() {
    let workload = cpu(&[], 3);
    let (now, next) = (metrics_at(&workload, 100), metrics_at(&workload, 101));
    for (now, next) in now.iter().zip(&next) {
        let steps: Vec<f64> = next.iter().zip(now).map(|(next, now)| next - now).collect();
        let deviation = variance(&steps).sqrt();
        assert!((0.7..=1.4).contains(&deviation), "{deviation}");
        assert!(mean(&steps).abs() < 0.07, "{}", mean(&steps));
    }
}

#[test]
fn a_walk_remembers_ticks_and_forgets_epochs() {
    let workload = float_walk("");
    let start = floats_at(&workload, 300);
    let after = |ticks: u64| correlation(&start, &floats_at(&workload, 300 + ticks));
    assert!(after(1) > 0.99, "{}", after(1));
    assert!(after(16) > 0.95, "{}", after(16));
    assert!((0.05..0.8).contains(&after(200)), "{}", after(200));
    for ticks in [512, 1_000, 25_600] {
        assert!(after(ticks).abs() < 0.064, "{ticks}: {}", after(ticks));
    }
}

#[test]
fn the_bounds_are_rarely_hit() {
    let workload = float_walk("");
    let mut values = Vec::new();
    for tick in (0..2_560).step_by(64) {
        values.extend(floats_at(&workload, tick));
    }
    let at = |bound: f64| {
        let hits = values.iter().filter(|value| (*value - bound).abs() < f64::EPSILON);
        mean(&[f64::from(u32::try_from(hits.count()).unwrap())]) / 160_000.0
    };
    for bound in [0.0, 100.0] {
        assert!((0.002..0.004).contains(&at(bound)), "{bound}: {}", at(bound));
    }
}

#[test]
fn fields_and_hosts_are_independent() {
    let workload = cpu(&[], 3);
    let mut fields: Vec<Vec<f64>> = vec![Vec::new(); 10];
    for tick in (0..5).map(|n| n * 1_000 + 77) {
        for (all, some) in fields.iter_mut().zip(metrics_at(&workload, tick)) {
            all.extend(some);
        }
    }
    for (position, field) in fields.iter().enumerate() {
        for other in &fields[..position] {
            assert!(correlation(field, other).abs() < 0.03);
        }
        // A host and the next.
        let neighbors = correlation(&field[..field.len() - 1], &field[1..]);
        assert!(neighbors.abs() < 0.03, "{neighbors}");
    }
}
