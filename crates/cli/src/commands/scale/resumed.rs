//! A growth that goes on: the sizes that were measured, and the search that was stopped at the next one. Must not
//! search.

use std::path::PathBuf;

use highwater_analysis::growth::drift;
use highwater_model::record::Question;
use highwater_model::scale::{
    ScaleEach, ScalePurpose, ScaleRecord, ScaleSize, ScaleTrial, SizeVerdict,
};
use highwater_runner::store;

use super::intent::ScaleIntent;
use crate::failure::Failure;
use crate::prepare::trials::Resuming;

/// A search that was stopped before its size had a figure.
pub(super) struct UnfinishedSearch {
    /// What was measured.
    pub(super) size: ScaleSize,
    /// Why.
    pub(super) purpose: ScalePurpose,
    /// Its directory.
    pub(super) directory: PathBuf,
    /// The same as seen from the directory of the search that resumes it.
    pub(super) from: String,
}

/// Takes over the sizes of another growth, which must have the same definition; returns the search that was not
/// complete, if there is one.
pub(super) fn resume(
    settings: &ScaleIntent,
    name: &str,
    scale: &mut ScaleRecord,
) -> Result<Option<UnfinishedSearch>, Failure> {
    let resuming = Resuming {
        out: &settings.out,
        name,
        what: "a growth",
        command: "scale` run",
        definition: "its targets, cluster file, workload, objective, lengths, or seed",
        free: "--nodes, --until, --price, and --budget",
        from: None,
    };
    let found = store::find(&settings.out, Some(name))?;
    let place = store::directory_of(&found);
    let mut last = None;
    let of = |question| match question {
        Question::Scale(scale) => {
            last = scale.trials.last().cloned();
            Some((scale.definition_hash, scale.trials))
        }
        Question::Search(_) | Question::Tune(_) | Question::Group(_) => None,
    };
    let ended_early = |trial: &ScaleTrial| {
        matches!(
            trial.figures.verdict,
            SizeVerdict::Interrupted | SizeVerdict::TargetLost
        )
    };
    let hash = &scale.definition_hash;
    scale.trials = resuming.trials(hash, of, ended_early, |trial| &mut trial.run)?;
    let id = place.file_name().unwrap_or_default().to_string_lossy();
    let warm_ups = scale.trials.iter_mut();
    let warm_ups = warm_ups.filter_map(|trial| trial.before_quota.as_mut());
    for warm_up in warm_ups.filter(|warm_up| !warm_up.run.starts_with("..")) {
        warm_up.run = format!("../{id}/{}", warm_up.run);
    }
    let mut trials = scale.trials.iter();
    if let Some(trial) = trials.find(|trial| !scale.sizes.contains(&trial.size)) {
        let nodes = trial.size.nodes;
        let cause =
            format!("cannot resume {name}: {nodes} nodes are not measured now as they were");
        let hint = "name the sizes with the same settings as before";
        return Err(Failure::usage(cause).with_hint(hint));
    }
    if drift(scale).is_some_and(|drift| drift.is_drifted()) {
        let cause = format!("cannot resume {name}: the machine drifted meanwhile");
        let hint = "measure all sizes again, without --resume";
        return Err(Failure::usage(cause).with_hint(hint));
    }
    let unfinished = last.filter(|trial| {
        settings.each == ScaleEach::Find && trial.figures.verdict == SizeVerdict::Interrupted
    });
    Ok(unfinished.map(|trial| UnfinishedSearch {
        directory: place.join(&trial.run),
        from: format!("../../../{id}/{}", trial.run),
        size: trial.size,
        purpose: trial.purpose,
    }))
}
