//! Applies the value of a tuning's axis as a setting of a run: in each trial, and with `--tuned RUN`, whose best values
//! have precedence over everything except the command line. Must not judge them.

use std::path::PathBuf;

use highwater_model::record::{ExperimentRecord, RecordRef};
use highwater_model::tune::TuneOutcome;
use highwater_model::user_error::UserError;
use highwater_runner::{record, store};

use crate::layers::{Layers, Origin, Strength};
use crate::trust;

/// Axes that are flags with the same name.
pub(crate) const FLAGS: [&str; 4] = ["batch", "sessions", "shards", "replicas"];
/// Prefix of axes that are settings of new tables.
pub(crate) const WITH: &str = "with.";
/// Prefix of axes that are parameters of a simulated cluster.
pub(crate) const SIM: &str = "sim.";
/// A setting without a flag: parameters of the simulated cluster.
pub(crate) const SIM_PARAMETERS: &str = "sim";

/// Adds the values of the tuning that `--tuned` names, if any.
pub fn apply(layers: &mut Layers) -> Result<(), UserError> {
    let Some(given) = layers.value("tuned").cloned() else {
        return Ok(());
    };
    let out = layers.value("out").map(|out| PathBuf::from(&out.text));
    let path = store::find(&out.unwrap_or_default(), Some(&given.text))?;
    trust::of_settings(layers, &path)?;
    let record = record::read(&path)?;
    let id = &record.header().id;
    let tune = RecordRef::from(&record).experiment().and_then(ExperimentRecord::tune);
    match tune.and_then(|tune| tune.outcome.as_ref()) {
        Some(TuneOutcome::Best(best)) => {
            for (axis, value) in &best.values {
                set_axis(layers, Strength::Tuned, axis, value);
            }
            Ok(())
        }
        Some(TuneOutcome::NoBest(_)) => Err(given
            .failure(format!("the tuning {id} found no best configuration"))
            .with_hint("resume it: highwater tune … --resume")),
        None => Err(given
            .failure(format!("{id} is not a finished tuning"))
            .with_hint("name the directory or ID of a `highwater tune` run")),
    }
}

/// Sets a value of an axis like the flag of that axis.
pub(crate) fn set_axis(layers: &mut Layers, strength: Strength, axis: &str, value: &str) {
    let (name, text) = if let Some(name) = FLAGS.into_iter().find(|name| *name == axis) {
        (name, value.to_owned())
    } else if let Some(name) = axis.strip_prefix(WITH) {
        ("with", format!("{name}={value}"))
    } else if let Some(name) = axis.strip_prefix(SIM) {
        (SIM_PARAMETERS, format!("{name}={value}"))
    } else {
        ("set", format!("{axis}={value}"))
    };
    layers.add(strength, name, text, Origin::CommandLine);
}
