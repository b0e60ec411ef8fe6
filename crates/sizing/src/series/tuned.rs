//! The trials of a tuning as points of one series, for tables over an axis.
//!
//! Must not judge a trial.

use highwater_model::tune::{TrialRecord, TrialVerdict, TuneRecord};

use super::{Origin, Point, Setting, names};

/// The configurations that count, as points of one series for tables over an axis.
pub fn tuned_points(tune: &TuneRecord, of: impl Fn(&TrialRecord) -> bool) -> Vec<Point> {
    let trials = tune
        .trials
        .iter()
        .filter(|c| c.verdict == TrialVerdict::Counts)
        .filter(|trial| of(trial) && trial.throughput_per_s > 0.0);
    trials.map(|trial| point(tune, trial)).collect()
}

fn point(tune: &TuneRecord, trial: &TrialRecord) -> Point {
    let own = tune.sessions.map(|sessions| {
        let sessions = Setting::Number(f64::from(sessions));
        (names::SESSIONS.to_owned(), sessions)
    });
    let settings = tune.values(&trial.at).into_iter().map(|(axis, value)| {
        let setting = value.parse().map_or_else(|_| Setting::Word(value.clone()), Setting::Number);
        (setting_of(&axis).to_owned(), setting)
    });
    Point {
        origin: Origin::Run(trial.run.clone()),
        series: tune.stream.clone(),
        throughput: trial.throughput_per_s,
        unit: format!("{}/s", tune.unit.name()),
        settings: own.into_iter().chain(settings).collect(),
        ..Point::default()
    }
}

/// The setting of points for the name of an axis.
pub fn setting_of(axis: &str) -> &str {
    match axis {
        "batch" => names::BATCH_ROWS,
        "sessions" => names::SESSIONS,
        "shards" => names::PRIMARY_SHARDS,
        "replicas" => names::REPLICAS,
        "rows" => names::ROWS,
        "sim.nodes" => names::NODES,
        other => other,
    }
}
