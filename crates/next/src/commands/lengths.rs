//! Lengths of proposed runs, and their format. Must not depend on the purpose of a run.

use highwater_analysis::judge::MeasuredStream;
use highwater_analysis::judge::shares::OPS_BEYOND_PERCENTILE;
use highwater_model::numbers::{ceil_to_u64, to_f64};
use highwater_model::plan::{Objective, PhaseKind};
use highwater_model::quantity::print_duration;
use highwater_model::record::{ResultRecord, RunRecord};
use highwater_model::units::Nanos;

/// Factor by which the time increases after too short a measurement.
const LONGER: u64 = 3;
/// Common lengths, in seconds.
const LENGTHS_S: [u64; 13] =
    [30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400];
/// Safety factor on the time for the ops that a percentile needs.
const ENOUGH: f64 = 1.2;

/// Planned length of the first measured phase.
pub(crate) fn planned_ns(record: &RunRecord) -> u64 {
    let mut measured =
        record.plan.definition.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let first = measured.next().map_or(Nanos::SECOND, |phase| phase.duration);
    first.0.max(Nanos::from_millis(1).0)
}

/// A common length that is longer than planned.
pub(crate) fn longer_ns(record: &RunRecord) -> u64 {
    chosen_ns(planned_ns(record).saturating_mul(LONGER))
}

/// The next of 30 s, 1 min, 2 min … up to a day; longer times are unchanged.
pub(super) fn chosen_ns(least_ns: u64) -> u64 {
    let mut enough = LENGTHS_S
        .iter()
        .map(|seconds| Nanos::from_secs(*seconds).0)
        .filter(|length| *length >= least_ns);
    enough.next().unwrap_or(least_ns)
}

/// Number of ops for the highest percentile of the objectives; 0 without such an objective.
pub(crate) fn ops_of_percentiles(record: &RunRecord) -> f64 {
    let needed = record.plan.definition.objectives.iter().filter_map(|objective| match objective {
        Objective::Latency { quantile_ppm, .. } => Some(ops_beyond(*quantile_ppm)),
        _ => None,
    });
    needed.fold(0.0, f64::max)
}

/// Number of ops of which enough are beyond a quantile.
fn ops_beyond(quantile_ppm: u32) -> f64 {
    let beyond = 1_000_000_u64.saturating_sub(u64::from(quantile_ppm));
    to_f64(OPS_BEYOND_PERCENTILE * 1_000_000 / beyond.max(1))
}

/// Time until the rarest op occurs as often as its percentiles need; absent without such an objective, and if an op
/// never occurred.
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

/// `10s..1m`, or `1m` without a minimum.
pub(crate) fn between(least_ns: u64, most_ns: u64) -> String {
    match least_ns {
        0 => span(most_ns),
        least => format!("{}..{}", span(least), span(most_ns)),
    }
}

/// A duration as a flag takes it: `10m`, `90s` as `1m30s`.
pub(crate) fn span(ns: u64) -> String {
    print_duration(Nanos(ns))
}
