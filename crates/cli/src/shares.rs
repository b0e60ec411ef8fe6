//! Several load generators as one run or experiment: whether they can meet, and what each of them prints and returns. The
//! lowest share that is there prints the one summary, and has the one exit code; all others end with success.
//!
//! Must not measure or merge.

use std::path::Path;

use highwater_driver::interrupts::{Interrupter, Interrupts};
use highwater_experiment::shares::{ExperimentShare, merge, wait_for_others};
use highwater_model::plan::{Plan, Share};
use highwater_model::record::{AuditStatus, ExperimentRecord, RunRecord};
use highwater_model::user_error::UserError;
use highwater_runner::leases::KeptLeases;
use highwater_runner::request::MeetingRequest;
use highwater_runner::stored_shares::suffix;

use crate::commands::audit;
use crate::intent::{RunIntent, resolve};
use crate::layers::Layers;
use crate::{exit, line_streams, prepare, terminal};

/// Reports which share this is, if the launcher decides that.
pub(crate) fn report(layers: &Layers) -> Result<(), UserError> {
    if let Some(launched) = resolve::launched_share(layers)? {
        terminal::note(&format!("{launched}\n"));
    }
    Ok(())
}

/// Shares are parts of one load on one target. A target in this process, or in a new file, would be a different one for
/// each share, so their results could not be merged.
pub(crate) fn check(settings: &RunIntent) -> Result<(), UserError> {
    if settings.plan.share.of == 1 {
        return Ok(());
    }
    let capabilities = prepare::open(settings, &settings.targets, &settings.out)?.capabilities();
    let fresh = capabilities.embedded && settings.targets.iter().all(|url| url.path.is_empty());
    if !(capabilities.simulated || fresh) {
        return Ok(());
    }
    let own = "--share: each process would load a target of its own";
    Err(UserError::usage(own).with_hint("name a server, or a file that all shares open"))
}

/// How the shares of this run meet; absent with a start that the user gives.
pub(crate) fn meets(settings: &RunIntent, interrupter: &Interrupter) -> Option<MeetingRequest> {
    let meets = settings.plan.share.of > 1 && settings.start_at.is_none();
    let request = || MeetingRequest {
        wait: settings.wait_for_shares,
        store: settings.out.clone(),
        interrupter: interrupter.clone(),
    };
    meets.then(request)
}

/// The part of an experiment that this load generator runs; absent if it is the only one.
pub(crate) fn of_experiment(
    settings: &RunIntent,
    interrupter: &Interrupter,
) -> Result<Option<ExperimentShare>, UserError> {
    check(settings)?;
    let share = |meets| ExperimentShare::new(settings.plan.share.clone(), meets);
    Ok(meets(settings, interrupter).map(share))
}

/// The ID of a run's directory, which is that of the whole run with the share's number.
pub(crate) fn id(workload: &str, plan: &Plan) -> String {
    format!("{}{}", prepare::id("", workload, &plan.hash()), suffix(&plan.share))
}

/// The ID of this share's part of an experiment, which the first share records.
pub(crate) fn of_part(whole: &str, share: &Share) -> String {
    if share.index == 1 { whole.to_owned() } else { format!("{whole}{}", suffix(share)) }
}

/// Waits until all shares have ended. The lowest one merges them; returns the exit code.
pub(crate) fn conclude(
    settings: &RunIntent,
    meets: &MeetingRequest,
    leases: &KeptLeases,
    own: &RunRecord,
    directory: &str,
    interrupts: &Interrupts,
) -> Result<u8, UserError> {
    let directory = Path::new(directory);
    let Share { index, of, .. } = own.plan.definition.share;
    terminal::note(&format!("share {index} of {of} has ended; waiting for the others\n"));
    if !wait_for_others(meets, leases, directory, interrupts)? {
        return Ok(exit::SUCCESS);
    }
    let mut unstored = Vec::new();
    let merged = merge(meets, own, directory, &mut unstored, |merged, id| {
        prepare::directory(&settings.out, id, &merged.plan.definition)
    });
    leases.conclude();
    let (mut merged, whole) = merged?;
    for error in unstored {
        terminal::warn(&error.message);
    }
    let whole = {
        let path = whole.path().to_owned();
        // Its end is that of the run: another process may read it.
        drop(whole);
        path
    };
    // The ledger of a share that was killed has what it had written until then, and share 1 counts no rows if it was
    // stopped before its own load.
    if merged.audit.status == AuditStatus::Failed {
        match audit_again(settings, &whole, &merged) {
            Ok(audited) => merged = audited,
            Err(error) => terminal::warn(&error.message),
        }
    }
    line_streams::record(&settings.output, (&merged).into(), &whole.display().to_string())
}

fn audit_again(
    settings: &RunIntent,
    whole: &Path,
    merged: &RunRecord,
) -> Result<RunRecord, UserError> {
    let target = prepare::open(settings, &prepare::with_password(settings)?, &settings.out)?;
    let limit = merged.plan.definition.audit.limit;
    audit::audit_again(whole, merged, target, &settings.output, None, limit)
}

/// Prints the record of an experiment, unless that is the part of another share; returns the exit code.
pub(crate) fn print_experiment(
    settings: &RunIntent,
    record: &ExperimentRecord,
    place: &str,
) -> Result<u8, UserError> {
    if settings.plan.share.index > 1 {
        return Ok(exit::SUCCESS);
    }
    line_streams::record(&settings.output, record.into(), place)
}
