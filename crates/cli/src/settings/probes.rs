//! Settings that `find` and `tune` share: the lengths of a probe. Must not depend on either.

use highwater_model::quantity::parse_duration;
use highwater_model::units::Nanos;

use super::Length;
use super::resolve::duration_above_zero;
use crate::failure::Failure;
use crate::layers::Layers;

const SETTLE: DefaultLength = DefaultLength {
    usual: Nanos::from_secs(5),
    quick: Nanos::from_secs(1),
};

/// A default length.
#[derive(Debug, Clone, Copy)]
pub(super) struct DefaultLength {
    /// Without `--quick`.
    pub(super) usual: Nanos,
    /// With `--quick`.
    pub(super) quick: Nanos,
}

impl DefaultLength {
    /// The length that applies.
    pub(super) fn of(self, layers: &Layers) -> Result<Nanos, Failure> {
        Ok(if layers.switch("quick")? {
            self.quick
        } else {
            self.usual
        })
    }
}

/// The length of a probe; `probe` is the default.
pub(super) fn length(layers: &Layers, probe: DefaultLength) -> Result<Length, Failure> {
    Ok(Length {
        warm_up: layers.require("warm-up", parse_duration)?,
        at_least: Nanos::ZERO,
        at_most: match duration_above_zero(layers, "probe")? {
            Some(given) => given,
            None => probe.of(layers)?,
        },
        rows: None,
        until: None,
    })
}

/// Idle time of the target before a probe.
pub(super) fn settle(layers: &Layers) -> Result<Nanos, Failure> {
    match layers.parse("settle", parse_duration)? {
        Some(given) => Ok(given),
        None => SETTLE.of(layers),
    }
}
