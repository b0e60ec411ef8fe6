//! Settings of `highwater load`: a run that fills the tables of a workload. Must not fill them.

use highwater_model::quantity::parse_rate;
use highwater_model::units::Nanos;

use super::{Length, Load, Objectives, RunSettings, Share, Streams, TargetSchemes, parsers};
use crate::failure::Failure;
use crate::layers::Layers;

/// A load ends when all rows are written; this limit is never reached.
const WITHOUT_END: Nanos = Nanos::from_secs(365 * 86_400);

impl RunSettings {
    /// Settings of `highwater load`.
    pub fn resolve_load(layers: &Layers, supported: &TargetSchemes) -> Result<Self, Failure> {
        let load = Load {
            sessions: layers.parse("sessions", parsers::positive)?,
            streams: Streams::First {
                rate: layers.parse("rate", parse_rate)?,
            },
            arrivals: None,
            spawn_rate: None,
        };
        let length = Length {
            warm_up: Nanos::ZERO,
            at_least: Nanos::ZERO,
            at_most: WITHOUT_END,
            rows: layers.parse("rows", parsers::positive_long)?,
            until: None,
        };
        Ok(Self {
            fills: true,
            // Settings of runs for these do not apply to a load.
            literals: false,
            objectives: Objectives::default(),
            share: Share { index: 1, of: 1 },
            start_at: None,
            ..Self::of(layers, supported, load, length)?
        })
    }
}
