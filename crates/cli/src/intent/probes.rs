//! Lengths that `find` and `tune` share. Must not depend on either.

use highwater_model::quantity::parse_duration;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::resolve::duration_above_zero;
use crate::layers::Layers;

/// A default length, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seconds {
    pub(crate) usual: u64,
    pub(crate) with_quick: u64,
}

const SETTLE: Seconds = Seconds { usual: 5, with_quick: 1 };

/// The measured length of a probe.
pub(crate) fn length(layers: &Layers, name: &str, default: Seconds) -> Result<Nanos, UserError> {
    or(layers, duration_above_zero(layers, name)?, default)
}

/// Idle time of the target before a probe.
pub(crate) fn settle(layers: &Layers) -> Result<Nanos, UserError> {
    or(layers, layers.parse("settle", parse_duration)?, SETTLE)
}

fn or(layers: &Layers, given: Option<Nanos>, default: Seconds) -> Result<Nanos, UserError> {
    let quick = layers.switch("quick")?;
    let seconds = if quick { default.with_quick } else { default.usual };
    Ok(given.unwrap_or(Nanos::from_secs(seconds)))
}
