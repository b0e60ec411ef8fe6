//! `--tuned RUN`: the winner of a tuning, carried into another command.
//!
//! Its values stand below the command line and above everything else.

use std::path::PathBuf;

use highwater_core::model::record::RunRecord;
use highwater_core::model::tune::{TuneOutcome, TuneRecord};
use highwater_runner::{record, store};

use crate::failure::Failure;
use crate::layers::{Layers, Strength};
use crate::settings::put;

/// Adds what the named tuning found, where one is named.
pub fn carry(layers: &mut Layers) -> Result<(), Failure> {
    let Some(given) = layers.value("tuned").cloned() else {
        return Ok(());
    };
    let out = layers.value("out").map(|out| PathBuf::from(&out.text));
    let path = store::find(&out.unwrap_or_default(), Some(&given.text))?;
    let record = record::read(&path)?;
    match of(&record).and_then(|tune| tune.outcome.as_ref()) {
        Some(TuneOutcome::Best(best)) => {
            for (axis, value) in &best.values {
                put(layers, Strength::Tuned, axis, value);
            }
            Ok(())
        }
        Some(TuneOutcome::NoBest(_)) => Err(given
            .failure(format!("the tuning {} found no best cell", record.id))
            .with_hint("go on with it: highwater tune … --resume")),
        None => Err(given
            .failure(format!("{} is not a tuning that has ended", record.id))
            .with_hint("name the directory or id of a `highwater tune`")),
    }
}

/// The tuning of a record.
fn of(record: &RunRecord) -> Option<&TuneRecord> {
    record.tune.as_ref()
}
