//! CPU and memory quotas of nodes: creates a node's control group, and checks whether the kernel enforces quotas. Must
//! not know how groups are written.

use std::collections::BTreeMap;
use std::path::PathBuf;

use highwater_driver::clock::RealClock;
use highwater_model::cluster::{QuotaFile, QuotaStart, Size};
use highwater_model::numbers::to_f64;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::control_group::{Hierarchies, add, create, limit_cpu, limit_memory};
use super::launch::Launch;
use super::site::Site;
use super::state::Started;

/// Uses a core for some tenths of a second, or for some seconds with a quota.
const BUSY: &str = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done";
/// The quota for the check, in cores.
const TRIED_CORES: f64 = 0.2;
/// From this use on, the quota was ignored: three times the quota, because ticks are coarse.
const IGNORED_CORES: f64 = 0.6;
/// Duration of the check.
const WATCHED: Nanos = Nanos::from_millis(400);
/// Ticks per CPU second: see proc_pid_stat(5).
const TICKS_PER_S: f64 = 100.0;

/// The hierarchies required by a quota.
pub(super) fn hierarchies(quota: &QuotaFile) -> Result<Hierarchies, UserError> {
    let cpu = quota.cpu.map(|_| "cpu");
    let memory = quota.memory.map(|_| "memory");
    let controllers: Vec<&str> = cpu.into_iter().chain(memory).collect();
    // A node's use of its quota is in a separate hierarchy.
    Hierarchies::find(&controllers, quota.cpu.map(|_| "cpuacct"))
}

/// Creates the control group of a node before its start.
pub(super) fn make(group: &[PathBuf], quota: &QuotaFile) -> Result<(), UserError> {
    create(group)?;
    if let Some(Size(bytes)) = quota.memory {
        limit_memory(group, bytes)?;
    }
    match quota.cpu {
        Some(cores) if quota.begins == QuotaStart::Start => limit_cpu(group, cores),
        _ => Ok(()),
    }
}

/// Checks whether a process can exceed its quota.
pub(super) fn try_kernel(
    site: &mut Site,
    hierarchies: &Hierarchies,
    name: &str,
) -> Result<(), UserError> {
    try_by(site, hierarchies, name, busy)
}

/// The same with a given measurement of the used cores.
fn try_by(
    site: &mut Site,
    hierarchies: &Hierarchies,
    name: &str,
    busy: impl FnOnce(&mut Site, &[PathBuf], &str) -> Result<f64, UserError>,
) -> Result<(), UserError> {
    let mark = site.mark();
    let groups = hierarchies.group(&format!("highwater-{name}-trial-{mark}"));
    site.file.state.command =
        Some(Started { id: None, mark: mark.clone(), groups: groups.clone() });
    site.file.write()?;
    let used = busy(site, &groups, &mark);
    site.end_command()?;
    used.and_then(kept_to)
}

/// Whether a process that used this many cores was limited by its quota.
fn kept_to(cores: f64) -> Result<(), UserError> {
    if cores < IGNORED_CORES {
        return Ok(());
    }
    let message = format!(
        "the kernel ignores quotas: a process with {TRIED_CORES} cores used {cores:.2} of them"
    );
    Err(UserError::usage(message).with_hint("add --no-quota to start the nodes without quotas"))
}

/// The cores that a busy process uses under its quota.
fn busy(site: &mut Site, groups: &[PathBuf], mark: &str) -> Result<f64, UserError> {
    create(groups)?;
    limit_cpu(groups, TRIED_CORES)?;
    let launch = Launch {
        words: &["/bin/sh", "-c", BUSY].map(str::to_owned),
        environment: &BTreeMap::new(),
        hidden: &site.options.hidden,
        directory: site.file.directory(),
        log: &site.file.directory().join("commands.log"),
        output: None,
        user: None,
        mark,
    };
    let gated = launch.start()?;
    let id = gated.id;
    add(groups, gated.pid())?;
    if let Some(command) = &mut site.file.state.command {
        command.id = Some(id);
    }
    site.file.write()?;
    let before = id.cpu_ticks().unwrap_or(0);
    let clock = RealClock::start();
    let child = gated.release()?;
    while clock.now() < WATCHED {
        site.pause();
    }
    // It is reaped only later, so that its CPU time can be read.
    let ticks = id.cpu_ticks().unwrap_or(0).saturating_sub(before);
    let elapsed = clock.now().as_secs_f64();
    site.adopt(child);
    Ok(to_f64(ticks) / TICKS_PER_S / elapsed)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::rc::Rc;

    use highwater_driver::interrupts;
    use highwater_model::user_error::UserError;

    use super::*;
    use crate::control_group::remove;
    use crate::processes::ProcessId;
    use crate::site::Options;
    use crate::state::StateFile;

    #[test]
    fn a_process_beyond_its_quota_shows_that_the_kernel_ignores_it() {
        // Clock ticks explain two ticks above the quota, and a period's quota may be used early.
        assert_eq!(kept_to(0.26), Ok(()));
        let error = kept_to(0.98).unwrap_err();
        let message = "the kernel ignores quotas: a process with 0.2 cores used 0.98 of them";
        assert_eq!(error.message, message);
        assert!(error.hint.unwrap().contains("--no-quota"));
    }

    fn site(directory: &Path) -> Site {
        let options = Options {
            directory: directory.to_owned(),
            no_quota: false,
            remove_data: false,
            takes_over: false,
            hidden: Vec::new(),
            open: Rc::new(|_: &str| Err(UserError::usage("nothing is opened"))),
            report: Rc::new(|_: &str| ()),
        };
        let file = StateFile::open(&directory.join("state")).unwrap();
        Site::new(options, file, interrupts::channel().1)
    }

    /// Uses a real quota if this machine has control groups; otherwise none, in a group that is a plain directory. The
    /// measurement reports a use above the quota.
    #[test]
    fn a_kernel_that_ignores_quotas_is_refused_and_its_trial_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let mut site = site(place.path());
        let found = Hierarchies::find(&["cpu"], Some("cpuacct")).ok();
        let is_usable = |found: &Hierarchies| {
            let group = found.group(&format!("highwater-usable-{}", std::process::id()));
            let is_made = create(&group).is_ok();
            remove(&group) && is_made
        };
        let real = found.filter(is_usable);
        let has_groups = real.is_some();
        let hierarchies = real.unwrap_or_else(|| Hierarchies::at(vec![place.path().to_owned()]));
        let mut tried = None;
        let refused = try_by(&mut site, &hierarchies, "ignored", |site, groups, mark| {
            if has_groups {
                busy(site, groups, mark)?;
            } else {
                create(groups)?;
            }
            assert!(groups.iter().all(|group| group.exists()));
            tried = site.file.state.command.clone();
            Ok(0.98)
        });
        let message = "the kernel ignores quotas: a process with 0.2 cores used 0.98 of them";
        assert_eq!(refused.unwrap_err().message, message);
        let tried = tried.unwrap();
        assert_eq!(tried.id.is_some(), has_groups);
        assert!(!tried.id.is_some_and(ProcessId::is_alive));
        assert!(!tried.groups.is_empty());
        assert!(!tried.groups.iter().any(|group| group.exists()), "{tried:?}");
        drop(site);
        let state = StateFile::open(&place.path().join("state")).unwrap().state;
        assert_eq!(state.command, None, "the next Highwater has nothing to end");
    }
}
