//! Settings that `find` and `tune` share: how long a probe takes.

use highwater_core::model::quantity::parse_duration;
use highwater_core::model::units::Nanos;

use super::Length;
use super::resolve::duration_above_zero;
use crate::failure::Failure;
use crate::layers::Layers;

/// Without and with `--quick`.
const SETTLE: [Nanos; 2] = [Nanos::from_secs(5), Nanos::from_secs(1)];

/// What counts of two: without and with `--quick`.
pub(super) fn by_quick<T>(layers: &Layers, [usual, quick]: [T; 2]) -> Result<T, Failure> {
    Ok(if layers.switch("quick")? {
        quick
    } else {
        usual
    })
}

/// How long a probe is measured where nobody says it otherwise.
pub(super) fn length(layers: &Layers, probe: [Nanos; 2]) -> Result<Length, Failure> {
    Ok(Length {
        warm_up: layers.require("warm-up", parse_duration)?,
        at_least: Nanos::ZERO,
        at_most: match duration_above_zero(layers, "probe")? {
            Some(given) => given,
            None => by_quick(layers, probe)?,
        },
        rows: None,
        until: None,
    })
}

/// How long the target is left alone before a probe.
pub(super) fn settle(layers: &Layers) -> Result<Nanos, Failure> {
    match layers.parse("settle", parse_duration)? {
        Some(given) => Ok(given),
        None => by_quick(layers, SETTLE),
    }
}
