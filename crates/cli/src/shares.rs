//! The end of a run in several shares: the lowest share that is there merges what all have stored below one `-o` folder,
//! prints the one summary, and has the one exit code; all others end with success.
//!
//! Must not measure, and must not read the others' records before they have announced them.

use std::path::{Path, PathBuf};

use highwater_analysis as analysis;
use highwater_driver::interrupts::{Interrupter, Interrupts};
use highwater_driver::{Capabilities, Target};
use highwater_model::plan::{Plan, Share};
use highwater_model::record::{Record, RunRecord};
use highwater_model::user_error::{UserError, UserErrorKind};
use highwater_runner::leases::KeptLeases;
use highwater_runner::meeting::stored_shares;
use highwater_runner::record;
use highwater_runner::request::{MeetingRequest, Silent};
use highwater_runner::store::RunDirectory;

use crate::intent::RunIntent;
use crate::{exit, line_streams, prepare, terminal};

/// How the shares of this run meet; absent with a start that the user gives, or on a target without a place for it.
pub(crate) fn meets(
    settings: &RunIntent,
    target: &dyn Target,
    interrupter: &Interrupter,
) -> Option<MeetingRequest> {
    let Capabilities { stores_values, simulated, .. } = target.capabilities();
    let has_place = stores_values && !simulated;
    let meets = settings.plan.share.of > 1 && settings.start_at.is_none() && has_place;
    let request =
        || MeetingRequest { wait: settings.wait_for_shares, interrupter: interrupter.clone() };
    meets.then(request)
}

/// The ID of a run's directory, which is that of the whole run with the share's number.
pub(crate) fn id(workload: &str, plan: &Plan) -> String {
    let whole = prepare::id("", workload, &plan.hash());
    format!("{whole}{}", suffix(&plan.share))
}

fn suffix(share: &Share) -> String {
    if share.of > 1 { format!("-share-{}", share.index) } else { String::new() }
}

/// Waits until all shares have ended. The lowest one merges them; returns the exit code.
pub(crate) fn conclude(
    settings: &RunIntent,
    leases: &KeptLeases,
    own: &RunRecord,
    directory: &str,
    interrupts: &Interrupts,
) -> Result<u8, UserError> {
    let directory = Path::new(directory);
    let Share { index, of, .. } = own.plan.definition.share;
    terminal::note(&format!("share {index} of {of} has ended; waiting for the others\n"));
    // Whoever merges the shares moves their directories into that of the whole.
    let is_concluded = || !directory.exists();
    match leases.wait_to_conclude(&Silent, interrupts, &is_concluded) {
        Ok(true) if directory.exists() => {}
        Ok(_) => return Ok(exit::SUCCESS),
        Err(error) => return Err(not_merged(&error.message, &settings.out)),
    }
    let shares = stored(settings, own)?;
    let records: Vec<&RunRecord> = shares.iter().map(|(_, record)| record).collect();
    let mut merged =
        analysis::merge(&records).map_err(|error| not_merged(&error.to_string(), &settings.out))?;
    let first = &records[0].header.id;
    let id = first.strip_suffix(&suffix(&records[0].plan.definition.share)).unwrap_or(first);
    let whole = prepare::directory(&settings.out, id, &merged.plan.definition)?;
    merged.header.id = whole.id();
    whole.write_record(&merged)?;
    for (path, record) in &shares {
        take_in(&whole, path, record.plan.definition.share.index);
    }
    leases.wait_until_alone();
    line_streams::record(&settings.output, (&merged).into(), &whole.path().display().to_string())
}

/// The shares that met with this one, as they are stored.
fn stored(settings: &RunIntent, own: &RunRecord) -> Result<Vec<(PathBuf, RunRecord)>, UserError> {
    let mut shares = Vec::new();
    for share in stored_shares(&settings.out, own)? {
        if let Record::Run(run) = record::read(&share.path)? {
            shares.push((share.path, *run));
        }
    }
    Ok(shares)
}

/// Moves a share's directory into that of the whole; where it stays, it can still be shown.
fn take_in(whole: &RunDirectory, share: &Path, index: u32) {
    if let Err(error) = whole.take_in_share(share, index) {
        terminal::warn(&error.message);
    }
}

fn not_merged(why: &str, out: &Path) -> UserError {
    let message = format!("the shares were not merged: {why}");
    UserError::new(UserErrorKind::MissingShare, message).with_hint(format!(
        "the shares need one folder for -o, which all of them see; what was measured is below {}: merge it with \
         `highwater show SHARE…`",
        out.display()
    ))
}
