//! How long a proposed run is to take, and how lengths are written. Must not know for what.

use highwater_analysis::judge::MeasuredStream;
use highwater_analysis::judge::shares::OPS_BEYOND_PERCENTILE;
use highwater_model::numbers::{ceil_to_u64, to_f64};
use highwater_model::plan::{Objective, PhaseKind};
use highwater_model::quantity::print_duration;
use highwater_model::record::{ResultRecord, RunRecord};
use highwater_model::units::Nanos;

/// How much longer to measure when there was too little.
const LONGER: u64 = 3;
/// Lengths that people choose, seconds.
const LENGTHS_S: [u64; 13] =
    [30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400];
/// More time than the ops that a percentile needs take, so that it is reached.
const ENOUGH: f64 = 1.2;

/// How long the first measured phase was to take.
pub(crate) fn planned_ns(record: &RunRecord) -> u64 {
    let mut measured =
        record.plan.definition.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let first = measured.next().map_or(Nanos::SECOND, |phase| phase.duration);
    first.0.max(Nanos::from_millis(1).0)
}

/// Longer than planned, in a length that people choose.
pub(crate) fn longer_ns(record: &RunRecord) -> u64 {
    chosen_ns(planned_ns(record).saturating_mul(LONGER))
}

/// The next of 30 s, 1 min, 2 min … a day; more than that as it is.
pub(super) fn chosen_ns(least_ns: u64) -> u64 {
    let mut enough = LENGTHS_S
        .iter()
        .map(|seconds| Nanos::from_secs(*seconds).0)
        .filter(|length| *length >= least_ns);
    enough.next().unwrap_or(least_ns)
}

/// How many ops the rarest percentile of the objectives needs; none without such an objective.
pub(crate) fn ops_of_percentiles(record: &RunRecord) -> f64 {
    let needed = record.plan.definition.objectives.iter().filter_map(|objective| match objective {
        Objective::Latency { quantile_ppm, .. } => Some(ops_beyond(*quantile_ppm)),
        _ => None,
    });
    needed.fold(0.0, f64::max)
}

/// Ops of which enough are beyond a quantile.
fn ops_beyond(quantile_ppm: u32) -> f64 {
    let beyond = 1_000_000_u64.saturating_sub(u64::from(quantile_ppm));
    to_f64(OPS_BEYOND_PERCENTILE * 1_000_000 / beyond.max(1))
}

/// How long a run takes until the rarest of its ops are as many as its percentiles need; absent without such
/// an objective, and where an op never came.
pub(crate) fn until_percentiles_ns(
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
) -> Option<u64> {
    let mut seconds: Option<f64> = None;
    for objective in &record.plan.definition.objectives {
        let Objective::Latency { quantile_ppm, op, .. } = objective else {
            continue;
        };
        let needed = ops_beyond(*quantile_ppm);
        let rarest = measured
            .iter()
            .flat_map(|stream| {
                let is_about = |result: &&ResultRecord| {
                    let named = op.as_ref();
                    named.is_none_or(|op| *op == result.op || *op == result.stream)
                };
                stream
                    .results
                    .iter()
                    .copied()
                    .filter(is_about)
                    .map(|result| to_f64(result.answered.ops) / stream.seconds())
            })
            .fold(f64::INFINITY, f64::min);
        if rarest <= 0.0 || !rarest.is_finite() {
            return None;
        }
        let own = ENOUGH * needed / rarest;
        seconds = Some(seconds.map_or(own, |others| others.max(own)));
    }
    let seconds = seconds?;
    let length = chosen_ns(ceil_to_u64(seconds * 1e9));
    Some(length.max(longer_ns(record)))
}

/// `10s..1m`, or `1m` where there is no least length.
pub(crate) fn between(least_ns: u64, most_ns: u64) -> String {
    match least_ns {
        0 => span(most_ns),
        least => format!("{}..{}", span(least), span(most_ns)),
    }
}

/// A length as a flag takes it: `10m`, `90s` as `1m30s`.
pub(crate) fn span(ns: u64) -> String {
    print_duration(Nanos(ns))
}
