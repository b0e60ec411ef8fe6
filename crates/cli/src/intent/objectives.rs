//! Objectives of a run: a bound for each op, or for one of them. Must not judge.

use highwater_model::display::{percent_asked, quantile};
use highwater_model::plan::Objective;
use highwater_model::quantity::{parse_duration, parse_percent, parse_rate};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::parsers;
use crate::layers::{Layers, SettingValue};

/// The bounds of a percentile: `50ms` for each op, `insert<50ms` for one of them.
fn latencies(layers: &Layers, name: &str, quantile_ppm: u32) -> Result<Vec<Objective>, UserError> {
    let mut bounds: Vec<Objective> = Vec::new();
    for given in layers.list(name) {
        let (op, max) = given.parse(parsers::latency_bound)?;
        check(given, max)?;
        let is_same = |bound: &Objective| match bound {
            Objective::Latency { op: other, .. } => *other == op,
            _ => false,
        };
        if bounds.iter().any(is_same) {
            let what = op.as_deref().unwrap_or("every op");
            return Err(given
                .failure(format!("{what} has two bounds"))
                .with_hint("give one for each op, such as 'insert<50ms'"));
        }
        bounds.push(Objective::Latency { quantile_ppm, max, op });
    }
    Ok(bounds)
}

/// A latency of 0 cannot be met.
fn check(given: &SettingValue, max: Nanos) -> Result<(), UserError> {
    if max == Nanos::ZERO {
        return Err(given.failure("must be above zero"));
    }
    Ok(())
}

/// All objectives of the flags, the latencies first.
pub(super) fn objectives(layers: &Layers) -> Result<Vec<Objective>, UserError> {
    const P99: u32 = 990_000;
    const QUANTILES: [(&str, u32); 5] =
        [("p50", 500_000), ("p90", 900_000), ("p95", 950_000), ("p99", P99), ("p999", 999_000)];
    let mut all = Vec::new();
    for (name, quantile_ppm) in QUANTILES {
        all.extend(latencies(layers, name, quantile_ppm)?);
    }
    let row_p99 = layers.parse("row-p99", parse_duration)?;
    if let (Some(max), Some(given)) = (row_p99, layers.value("row-p99")) {
        check(given, max)?;
    }
    let row_p99 = row_p99.map(|max| Objective::RowLatency { quantile_ppm: P99, max });
    let errors = layers.parse("errors", parse_percent)?;
    let rejected = layers.parse("rejected", parsers::percent_or_zero)?;
    let min_rate = layers.parse("min-rate", parse_rate)?;
    let max_cpu = layers.parse("max-cpu", parse_percent)?;
    let others = [
        row_p99,
        errors.map(|ppm| Objective::Errors { max_ppm: ppm.0 }),
        rejected.map(|ppm| Objective::Rejected { max_ppm: ppm.0 }),
        min_rate.map(|min| Objective::Throughput { min }),
        max_cpu.map(|ppm| Objective::Cpu { max_ppm: ppm.0 }),
    ];
    all.extend(others.into_iter().flatten());
    check_tails(layers, &all)?;
    Ok(all)
}

/// A failed op ranks as +∞, so a percentile cannot be met if the allowed fraction of errors is as large as its tail.
fn check_tails(layers: &Layers, objectives: &[Objective]) -> Result<(), UserError> {
    let mut quantiles = objectives.iter().filter_map(Objective::quantile_ppm);
    let Some(finest) = quantiles.by_ref().max() else {
        return Ok(());
    };
    let tail = 1_000_000_u32.saturating_sub(finest);
    for objective in objectives {
        let (flag, max_ppm) = match *objective {
            Objective::Errors { max_ppm } => ("errors", max_ppm),
            Objective::Rejected { max_ppm } => ("rejected", max_ppm),
            _ => continue,
        };
        if let Some(given) = layers.value(flag)
            && tail <= max_ppm
        {
            let (name, tail) = (quantile(finest), percent_asked(tail));
            let what = format!("{name} cannot be met where {} may fail", percent_asked(max_ppm));
            return Err(given
                .failure(format!("{what}: a failed op is slower than any limit"))
                .with_hint(format!("allow less than {tail}, or leave out the limit of {name}")));
        }
    }
    Ok(())
}
