//! What a set of predictions is worth: how often intervals held, how wide they are, how far off.

use std::collections::BTreeMap;

use highwater_model::numbers::len_to_f64;
use statrs::distribution::{Beta, ContinuousCDF};

use super::Case;

/// The figures of a set of predictions. "By series" and "by source": each counts the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Predictions.
    pub cases: usize,
    /// Series that they are about.
    pub series: usize,
    /// Sources of these.
    pub sources: usize,
    /// Predictions whose interval held the measurement.
    pub held: usize,
    /// Part of predictions that held, by series.
    pub held_by_series: f64,
    /// Part of predictions that held, by source.
    pub held_by_source: f64,
    /// Part of measurements below the interval, by series.
    pub below: f64,
    /// Mean of the logarithm of predicted over measured, by series.
    pub bias: f64,
    /// Mean interval score, each prediction counts the same.
    pub score: f64,
    /// Mean interval score, by series.
    pub score_by_series: f64,
    /// Median of half the interval's width, as a part of the prediction.
    pub half_width: f64,
    /// The greatest of these.
    pub most_half_width: f64,
}

impl Score {
    /// Of at least one prediction; `None` of none.
    pub fn of<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Option<Self> {
        let cases: Vec<&Case> = cases.into_iter().collect();
        let mut widths: Vec<f64> = cases.iter().map(|case| case.predicted.half_width()).collect();
        widths.sort_by(f64::total_cmp);
        let by_series = |of: fn(&Case) -> f64| mean_by(&cases, |case| &case.series, of);
        let held = cases.iter().filter(|case| case.held() > 0.0).count();
        Some(Self {
            cases: cases.len(),
            series: groups(&cases, |case| &case.series).len(),
            sources: groups(&cases, |case| &case.source).len(),
            held,
            held_by_series: by_series(Case::held),
            held_by_source: mean_by(&cases, |case| &case.source, Case::held),
            below: by_series(|case| f64::from(u8::from(case.measured < case.predicted.low))),
            bias: by_series(|case| (case.predicted.expected / case.measured).ln()),
            score: cases.iter().map(|case| case.score()).sum::<f64>() / len_to_f64(cases.len()),
            score_by_series: by_series(Case::score),
            half_width: *widths.get(widths.len() / 2)?,
            most_half_width: *widths.last()?,
        })
    }

    /// Part of predictions that held, each counting the same.
    pub fn held_part(&self) -> f64 {
        len_to_f64(self.held) / len_to_f64(self.cases)
    }
}

impl Case {
    /// 1 if the interval held, else 0.
    fn held(&self) -> f64 {
        f64::from(u8::from(self.predicted.holds(self.measured)))
    }

    fn score(&self) -> f64 {
        self.predicted.score(self.measured)
    }
}

type Groups<'a> = BTreeMap<&'a str, Vec<&'a Case>>;

fn groups<'a>(cases: &[&'a Case], key: fn(&Case) -> &str) -> Groups<'a> {
    let mut groups = Groups::new();
    for case in cases {
        groups.entry(key(case)).or_default().push(case);
    }
    groups
}

/// The mean over groups of the mean within each.
pub(super) fn mean_by(cases: &[&Case], key: fn(&Case) -> &str, of: impl Fn(&Case) -> f64) -> f64 {
    let groups = groups(cases, key);
    let mean = |group: &Vec<&Case>| {
        group.iter().map(|case| of(case)).sum::<f64>() / len_to_f64(group.len())
    };
    groups.values().map(mean).sum::<f64>() / len_to_f64(groups.len())
}

/// 95% interval of a proportion (Clopper and Pearson 1934); `held` of `cases`, at least one.
pub fn proportion_interval(held: usize, cases: usize) -> [f64; 2] {
    let quantile = |successes: usize, failures: usize, at: f64| {
        Beta::new(len_to_f64(successes), len_to_f64(failures)).map(|beta| beta.inverse_cdf(at))
    };
    let missed = cases - held;
    [
        quantile(held, missed + 1, 0.025).unwrap_or(0.0),
        quantile(held + 1, missed, 0.975).unwrap_or(1.0),
    ]
}
