//! `--tuned RUN`: applies the best configuration of a tuning to another command. Its values have
//! precedence over all but the command line. Must not judge them.

use std::path::PathBuf;

use highwater_model::record::{ExperimentRecord, RecordRef};
use highwater_model::tune::TuneOutcome;
use highwater_runner::{record, store};

use crate::failure::Failure;
use crate::layers::{Layers, Strength};
use crate::settings::set_axis;

/// Adds the values of the tuning that `--tuned` names, if any.
pub fn apply(layers: &mut Layers) -> Result<(), Failure> {
    let Some(given) = layers.value("tuned").cloned() else {
        return Ok(());
    };
    let out = layers.value("out").map(|out| PathBuf::from(&out.text));
    let path = store::find(&out.unwrap_or_default(), Some(&given.text))?;
    let record = record::read(&path)?;
    let id = &record.header().id;
    let tune = RecordRef::from(&record)
        .experiment()
        .and_then(ExperimentRecord::tune);
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
