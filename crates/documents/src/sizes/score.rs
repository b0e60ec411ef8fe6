//! Scores of a set of predictions: the coverage and width of intervals, and the error of
//! predictions.

use std::collections::BTreeMap;

use highwater_analysis::synthetic::Noise;
use highwater_model::numbers::{len_to_f64, round_to_u64, to_f64};

use super::Case;

/// The figures of a set of predictions. "By series" and "by source": each series or source has the
/// same weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Number of predictions.
    pub cases: usize,
    /// Number of their series.
    pub series: usize,
    /// Number of sources of these.
    pub sources: usize,
    /// Number of predictions whose interval contained the measurement.
    pub held: usize,
    /// Coverage by series, which is the claimed figure.
    pub held_by_series: f64,
    /// Its 95% interval, by resampling the sources (Efron's bootstrap, 1979): series of one source are correlated,
    /// so they are resampled together.
    pub held_by_series_95: [f64; 2],
    /// Coverage by source.
    pub held_by_source: f64,
    /// Fraction of measurements below the interval, by series.
    pub below: f64,
    /// Fraction of measurements above it, by series.
    pub above: f64,
    /// Mean of the logarithm of predicted over measured, by series.
    pub bias: f64,
    /// Mean interval score, with the same weight for each prediction.
    pub score: f64,
    /// Mean interval score, by series.
    pub score_by_series: f64,
    /// Median of half the interval's width, as a fraction of the prediction.
    pub half_width: f64,
    /// The greatest of these.
    pub most_half_width: f64,
}

impl Score {
    /// Scores of at least one prediction; `None` without any.
    pub fn from_cases<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Option<Self> {
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
            held_by_series_95: drawn_by_source(&cases),
            held_by_source: mean_by(&cases, |case| &case.source, Case::held),
            below: by_series(|case| f64::from(u8::from(case.measured < case.predicted.low))),
            above: by_series(|case| f64::from(u8::from(case.measured > case.predicted.high))),
            bias: by_series(|case| (case.predicted.expected / case.measured).ln()),
            score: cases.iter().map(|case| case.score()).sum::<f64>() / len_to_f64(cases.len()),
            score_by_series: by_series(Case::score),
            half_width: *widths.get(widths.len() / 2)?,
            most_half_width: *widths.last()?,
        })
    }

    /// Coverage, with the same weight for each prediction.
    pub fn held_part(&self) -> f64 {
        len_to_f64(self.held) / len_to_f64(self.cases)
    }
}

impl Case {
    /// 1 if the interval contained the measurement, else 0.
    fn held(&self) -> f64 {
        f64::from(u8::from(self.predicted.holds(self.measured)))
    }

    fn score(&self) -> f64 {
        self.predicted.score(self.measured)
    }
}

/// The interval of the coverage by series.
fn drawn_by_source(cases: &[&Case]) -> [f64; 2] {
    const DRAWS: usize = 2_000;
    // The coverages of the series of each source.
    let sources: Vec<Vec<f64>> = groups(cases, |case| &case.source)
        .values()
        .map(|source| {
            let mean = |series: &Vec<&Case>| {
                series.iter().map(|case| case.held()).sum::<f64>() / len_to_f64(series.len())
            };
            groups(source, |case| &case.series).values().map(mean).collect()
        })
        .collect();
    let mut noise = Noise::new(1);
    let mut levels: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn = sources.iter().map(|_| {
                let at = noise.bits() % sources.len() as u64;
                &sources[usize::try_from(at).unwrap_or(0)]
            });
            let drawn: Vec<f64> = drawn.flatten().copied().collect();
            drawn.iter().sum::<f64>() / len_to_f64(drawn.len())
        })
        .collect();
    levels.sort_by(f64::total_cmp);
    [0.025, 0.975].map(|part| levels[position(part, DRAWS)])
}

fn position(part: f64, of: usize) -> usize {
    usize::try_from(round_to_u64(part * to_f64(of as u64 - 1))).unwrap_or(0)
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
