//! `highwater load`: a run that fills the tables of a workload, as settings of a run.

use highwater_core::model::quantity::parse_rate;
use highwater_core::model::units::Nanos;

use super::given::given;
use super::resolve::{
    drop_foreign, duration_above_zero, pairs, parameters, shard_flags, targets, workload,
};
use super::{
    KnownTargets, Length, Load, Objectives, RunOutput, RunSettings, Share, Streams, Telemetry,
    words,
};
use crate::failure::Failure;
use crate::layers::Layers;

/// A load ends when its rows are there; this is longer than anybody waits.
const WITHOUT_END: Nanos = Nanos::from_secs(365 * 86_400);

impl RunSettings {
    /// Settings of `highwater load`.
    pub fn resolve_load(layers: &Layers, known: &KnownTargets) -> Result<Self, Failure> {
        let (workload, parameters) = (workload(layers)?, parameters(layers)?);
        let load = Load {
            sessions: layers.parse("sessions", words::positive)?,
            streams: Streams::First {
                rate: layers.parse("rate", parse_rate)?,
            },
            arrivals: None,
            spawn_rate: None,
        };
        Ok(Self {
            round: 0,
            given: given(layers, &workload, &parameters, &load),
            workload,
            parameters,
            targets: targets(layers.list("target"), known)?,
            insert: layers.parse("insert", words::word)?,
            literals: false,
            shard_flags: shard_flags(layers),
            table_settings: pairs(layers, "with")?,
            drop: layers.switch("drop")?,
            drop_foreign: drop_foreign(layers)?,
            guard_disk: !layers.switch("no-disk-guard")?,
            telemetry: Telemetry::resolve(layers)?,
            seed: layers.require("seed", words::seed)?,
            length: Length {
                warm_up: Nanos::ZERO,
                at_least: Nanos::ZERO,
                at_most: WITHOUT_END,
                rows: layers.parse("rows", words::positive_long)?,
                until: None,
            },
            load,
            fills: true,
            objectives: Objectives::default(),
            timeout: duration_above_zero(layers, "timeout")?.unwrap_or(Nanos::MAX),
            retries: layers.require("retries", words::retries)?,
            audit: layers.require("audit", words::audit)?,
            audit_timeout: duration_above_zero(layers, "audit-timeout")?.unwrap_or(Nanos::MAX),
            share: Share { index: 1, of: 1 },
            start_at: None,
            out: layers.require("out", words::word)?.into(),
            labels: pairs(layers, "label")?,
            output: RunOutput {
                quiet: layers.switch("quiet")?,
                json: layers.switch("json")?,
                plan_only: layers.switch("plan")?,
                no_color: layers.switch("no-color")?,
            },
        })
    }
}
