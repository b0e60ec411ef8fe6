//! Selects the setting that a table runs over, and finds other settings that vary. The number of nodes has precedence
//! if it varies; otherwise the setting with the most values. In a grid of configurations, a line consists of those
//! along one axis through the best one.
//!
//! Must not use throughputs.

use std::collections::BTreeSet;

use highwater_model::tune::{TrialRecord, TuneOutcome, TuneRecord};
use highwater_model::user_error::{UserError, suggest};
use schemars::JsonSchema;
use serde::Serialize;

use crate::series::{Point, SeriesSet, Setting, names, tuned_points};

/// Settings whose units are bought or started, so that throughput per unit is meaningful.
const PIECES: [&str; 7] = [
    names::NODES,
    names::VCPUS_PER_NODE,
    names::CLIENT_PROCESSES,
    names::CONCURRENCY_PER_PROCESS,
    names::SESSIONS,
    names::PRIMARY_SHARDS,
    names::WAREHOUSES,
];

/// The setting that changes from row to row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Axis {
    /// Name of the setting in points.
    pub name: String,
    /// Name of the setting in the file.
    pub header: String,
    /// Whether its values count units such as nodes, so that throughput per unit and efficiency are meaningful.
    pub pieces: bool,
}

/// A setting that also changed along the axis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VariedSetting {
    /// Name of the setting in the file.
    pub header: String,
    /// Its value in each row, as text.
    pub values: Vec<String>,
}

/// The error for a setting that no series has.
pub(super) fn no_such_setting(set: &SeriesSet, name: &str) -> UserError {
    let known: Vec<&str> = distinct(set.points.iter().flat_map(|point| point.settings.keys()))
        .into_iter()
        .map(|name| set.header(name))
        .collect();
    UserError::usage(format!("no series has the setting `{name}`"))
        .with_hint(suggest(name, known).unwrap_or_else(|| "there are no settings".to_owned()))
}

impl Axis {
    /// The axis of a series: the named one, else the setting that varies.
    pub(super) fn choose(
        set: &SeriesSet,
        points: &[&Point],
        over: Option<&str>,
    ) -> Result<Self, UserError> {
        if let Some(axis) = over {
            let is_named = |name: &str| name == axis || set.header(name) == axis;
            let settings = points.iter().flat_map(|point| point.settings.keys());
            let found = distinct(settings).into_iter().find(|name| is_named(name));
            return match found {
                Some(name) if points.iter().all(|p| p.settings.contains_key(name)) => {
                    Ok(Self::named(set, name))
                }
                Some(_) => {
                    let message = format!("`{axis}` is not stated in every row of the series");
                    let hint = "fill the column, or choose another with --over";
                    Err(UserError::usage(message).with_hint(hint))
                }
                None => Err(no_such_setting(set, axis)),
            };
        }
        let weight = |name: &String| {
            let values = distinct(points.iter().map(|point| point.settings.get(name))).len();
            match name.as_str() {
                names::NODES if values > 1 => usize::MAX,
                _ => values,
            }
        };
        // The first column of equals is chosen.
        let best = numeric(set, points).into_iter().rev().max_by_key(weight);
        best.map(|name| Self::named(set, &name)).ok_or_else(|| {
            UserError::usage(format!(
                "the series `{}` has no setting with a number in every row",
                points.first().map_or("", |point| &point.series)
            ))
            .with_hint(
                "a table needs a column such as `nodes` or `batch_rows`; for words name it with \
                 --over",
            )
        })
    }

    fn named(set: &SeriesSet, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            header: set.header(name).to_owned(),
            pieces: PIECES.contains(&name),
        }
    }
}

/// Settings that are numeric in every point, in the order of the file's columns.
fn numeric(set: &SeriesSet, points: &[&Point]) -> Vec<String> {
    let all = |name: &String| {
        let is_number = |p: &&Point| matches!(p.settings.get(name), Some(Setting::Number(_)));
        points.iter().all(is_number)
    };
    let in_file = set.columns.iter().map(|column| &column.name);
    let in_points = points.iter().flat_map(|point| point.settings.keys());
    let names = distinct(in_file.chain(in_points));
    names.into_iter().filter(|name| all(name)).cloned().collect()
}

/// Settings that differ between points with the same value of the axis: they split the series.
pub(super) fn splitting(points: &[&Point], axis: &Axis) -> Vec<String> {
    let names = distinct(points.iter().flat_map(|point| point.settings.keys()));
    let differs = |name: &String| {
        let mut pairs = points
            .iter()
            .enumerate()
            .flat_map(|(at, a)| points[at + 1..].iter().map(move |b| (a, b)));
        pairs.any(|(a, b)| {
            a.settings.get(&axis.name) == b.settings.get(&axis.name)
                && a.settings.get(name) != b.settings.get(name)
        })
    };
    names.into_iter().filter(|name| **name != axis.name && differs(name)).cloned().collect()
}

/// Settings other than the axis with several values in a table.
pub(super) fn also_varied(set: &SeriesSet, points: &[&Point], axis: &Axis) -> Vec<VariedSetting> {
    let names: BTreeSet<&String> = points.iter().flat_map(|p| p.settings.keys()).collect();
    let varied = names.into_iter().filter(|name| **name != axis.name).map(|name| VariedSetting {
        header: set.header(name).to_owned(),
        values: points.iter().map(|point| stated(point, name)).collect(),
    });
    varied.filter(|varied| distinct(&varied.values).len() > 1).collect()
}

/// A setting as text.
pub(super) fn stated(point: &Point, name: &str) -> String {
    let setting = point.settings.get(name);
    setting.map_or_else(|| "not stated".to_owned(), ToString::to_string)
}

/// Each value once, in the order of their first appearance.
pub(super) fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen: Vec<T> = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen
}

/// The best configuration so far; absent if none counts.
pub fn base(tune: &TuneRecord) -> Option<&[usize]> {
    match tune.outcome.as_ref()? {
        TuneOutcome::Best(best) => Some(&best.at),
        TuneOutcome::NoBest(no_best) => no_best.best_so_far.as_deref(),
    }
}

/// The measured configurations that count and differ from `base` only in the axis at this position.
pub fn along(tune: &TuneRecord, base: &[usize], axis: usize) -> SeriesSet {
    SeriesSet {
        points: tuned_points(tune, |trial| is_along(trial, base, axis)),
        ..SeriesSet::default()
    }
}

/// Whether a configuration differs from `base` only in the axis at this position.
pub fn is_along(trial: &TrialRecord, base: &[usize], axis: usize) -> bool {
    let mut pairs = trial.at.iter().zip(base).enumerate();
    pairs.all(|(position, (at, base))| position == axis || at == base)
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::fixture::tune::{trial, tune};
    use highwater_model::tune::{TrialPurpose, TrialVerdict};

    #[test]
    fn the_points_along_an_axis_are_the_cells_that_count_and_differ_in_nothing_else() {
        let mut tune = tune(&[3, 3]);
        for (at, verdict) in [
            ([0, 1], TrialVerdict::Counts),
            ([1, 1], TrialVerdict::Counts),
            ([2, 1], TrialVerdict::Missed),
            ([1, 2], TrialVerdict::Counts),
            ([1, 1], TrialVerdict::Counts),
        ] {
            let purpose = TrialPurpose::Search;
            let mut trial = trial(&tune, at.to_vec(), purpose, Some(100.0));
            trial.verdict = verdict;
            tune.trials.push(trial);
        }
        assert_eq!(tuned_points(&tune, |_| true).len(), 4);
        assert_eq!(along(&tune, &[1, 1], 0).points.len(), 3);
        assert_eq!(along(&tune, &[1, 1], 1).points.len(), 3);
    }
}
