//! `highwater find --resume`: the probes of another search become those of this one. Must not
//! probe.

use std::path::Path;

use highwater_model::record::ExperimentRecord;
use highwater_model::search::{ProbeRecord, ProbeVerdict, SearchRecord};

use crate::failure::Failure;
use crate::prepare::trials;

/// Takes over the probes of another search, which must have the same definition.
pub(super) fn take_over(out: &Path, name: &str, search: &mut SearchRecord) -> Result<(), Failure> {
    let (id, experiment) = trials::earlier(out, name)?;
    let before = experiment.as_ref().and_then(ExperimentRecord::search);
    let Some(before) = before else {
        return Err(Failure::usage(format!("--resume: {id} is not a search"))
            .with_hint("name the directory or ID of a `highwater find` run"));
    };
    if before.definition_hash != search.definition_hash {
        return Err(Failure::usage(format!(
            "cannot resume {id}: its target, workload, objective, lengths, or seed differ"
        ))
        .with_hint("use the same flags; only --budget and --then may change"));
    }
    search.probes.clone_from(&before.probes);
    while search.probes.last().is_some_and(|probe| {
        matches!(
            probe.verdict,
            ProbeVerdict::Interrupted | ProbeVerdict::TargetLost
        )
    }) {
        search.probes.pop();
    }
    for probe in &mut search.probes {
        trials::seen_from_beside(&mut probe.run, &id);
    }
    Ok(())
}

/// Whether these probes did not write behind each other's rows.
pub(super) fn made_tables_anew(probes: &[ProbeRecord]) -> bool {
    let mut pairs = probes.windows(2);
    pairs.any(|pair| pair[1].rows_before <= pair[0].rows_before)
}
