//! Resuming a growth: its measured sizes, and the search that was stopped at the next size. Must not search.

use std::path::PathBuf;

use highwater_analysis::growth::drift;
use highwater_model::record::{ExperimentRecord, InterventionRecord, Question};
use highwater_model::scale::{
    ScaleEach, ScalePurpose, ScaleRecord, ScaleSize, ScaleTrial, SizeVerdict,
};
use highwater_runner::{record, store};

use super::intent::ScaleIntent;
use crate::failure::Failure;
use crate::prepare::trials::Resuming;
use crate::variants;

/// The file that a growth has after its first measured size.
const RECORD: &str = "record.json";

/// A search that was stopped before its size had a figure.
pub(super) struct UnfinishedSearch {
    /// The size.
    pub(super) size: ScaleSize,
    /// Its purpose.
    pub(super) purpose: ScalePurpose,
    /// Its directory.
    pub(super) directory: PathBuf,
    /// The same directory, relative to that of the search that resumes it.
    pub(super) from: String,
}

/// The record of this variant among those of an earlier call, of which `name` is one; absent if none of its sizes was
/// measured. Without variants, `name` itself.
pub(super) fn own_record(settings: &ScaleIntent, name: &str) -> Result<Option<String>, Failure> {
    let Some(own) = &settings.variant else {
        return Ok(Some(name.to_owned()));
    };
    let found = store::find(&settings.out, Some(name))?;
    let experiment = record::read(&found)?.into_experiment();
    let scale = experiment.as_ref().and_then(ExperimentRecord::scale);
    let Some(variant) = scale.and_then(|scale| scale.variant.as_ref()) else {
        let cause = format!("cannot resume {name}: it is no growth of a variant");
        return Err(Failure::usage(cause).with_hint("leave --variant out"));
    };
    let place = store::directory_of(&found);
    let beside = place.parent().unwrap_or(place);
    // A variant that was stopped or killed before its next size only has the record that it had resumed.
    let ids = [&variant.all, &variant.before];
    let mut places = ids.into_iter().filter_map(|ids| ids.get(&own.name)).map(|id| beside.join(id));
    let Some(path) = places.find(|path| path.join(RECORD).exists()) else {
        return Ok(None);
    };
    let experiment = record::read(&path)?.into_experiment();
    let path = path.display().to_string();
    let scale = experiment.as_ref().and_then(ExperimentRecord::scale);
    let before = scale.and_then(|scale| scale.variant.as_ref()?.command.clone());
    if before != own.command.as_deref().map(variants::shown) {
        let cause = format!("cannot resume {path}: its variant had another command");
        return Err(Failure::usage(cause).with_hint("give each variant the same command as before"));
    }
    Ok(Some(path))
}

/// The parts of a resumed growth other than its sizes.
#[derive(Default)]
pub(super) struct GoesOn {
    /// An incomplete search.
    pub(super) unfinished: Option<UnfinishedSearch>,
    /// Pauses by its user.
    pub(super) pauses: Vec<InterventionRecord>,
}

/// Takes over the sizes of another growth, which must have the same definition; returns its other parts.
pub(super) fn resume(
    settings: &ScaleIntent,
    name: &str,
    scale: &mut ScaleRecord,
) -> Result<GoesOn, Failure> {
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
    let (mut last, mut alone) = (None, Vec::new());
    let of = |question| match question {
        Question::Scale(scale) => {
            last = scale.trials.last().cloned();
            alone = scale.alone.trials;
            Some((scale.definition_hash, scale.trials))
        }
        Question::Search(_) | Question::Tune(_) | Question::Group(_) => None,
    };
    let early = [SizeVerdict::Interrupted, SizeVerdict::TargetLost];
    let ended_early = |trial: &ScaleTrial| early.contains(&trial.figures.verdict);
    let hash = &scale.definition_hash;
    let resumed = resuming.trials(hash, of, ended_early, |trial| &mut trial.run)?;
    scale.trials = resumed.trials;
    let id = place.file_name().unwrap_or_default().to_string_lossy();
    alone.retain(|trial| !ended_early(trial));
    let beside = |run: &mut String| {
        if !run.starts_with("..") {
            *run = format!("../{id}/{run}");
        }
    };
    for trial in &mut alone {
        beside(&mut trial.run);
    }
    scale.alone.trials = alone;
    let warm_ups = scale.alone.trials.iter_mut().chain(&mut scale.trials);
    warm_ups
        .filter_map(|trial| trial.before_quota.as_mut())
        .for_each(|warm_up| beside(&mut warm_up.run));
    expect_same(name, scale)?;
    let unfinished = last
        .filter(|trial| {
            settings.record.each == ScaleEach::Find
                && trial.figures.verdict == SizeVerdict::Interrupted
        })
        .map(|trial| UnfinishedSearch {
            directory: place.join(&trial.run),
            from: format!("../../../{id}/{}", trial.run),
            size: trial.size,
            purpose: trial.purpose,
        });
    Ok(GoesOn { unfinished, pauses: resumed.pauses })
}

/// Rejects sizes that are measured differently, and another machine.
fn expect_same(name: &str, scale: &ScaleRecord) -> Result<(), Failure> {
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
    Ok(())
}
