//! Opens targets, prompts for a missing password, and inspects targets. Must not load one.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::clock::{RealClock, RealTimeline, SimulatedTimeline};
use highwater_driver::{
    Connect, DiskSpace, Right, Target, TargetFacts, TargetOptions, TargetUrl, Timeline,
};
use highwater_model::op::BoundWorkload;
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;
use highwater_workload::Workload;

use super::rehearsal::{OwnStatements, Rehearsal, prepare_own, rehearse};
use crate::intent::RunIntent;
use crate::prompt;

/// Timeout of a connection.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(10);

/// Options of a target without an insert mode; an embedded target has its files in `directory`.
pub fn options(name: &str, directory: Option<&Path>, seed: Seed) -> TargetOptions {
    TargetOptions {
        insert: None,
        data_directory: directory.map(Path::to_owned),
        application_name: name.to_owned(),
        seed,
        connect_timeout: CONNECT_TIMEOUT,
    }
}

/// Opens the target of a run, without connecting.
pub fn open(
    settings: &RunIntent,
    urls: &[TargetUrl],
    directory: &Path,
) -> Result<Arc<dyn Target>, UserError> {
    let options = TargetOptions {
        insert: settings.insert.clone(),
        ..options("highwater", Some(directory), settings.seed)
    };
    highwater_drivers::open_urls(urls, &options)
}

/// The URLs of the target, with a password from a prompt if one is required.
pub fn with_password(settings: &RunIntent) -> Result<Vec<TargetUrl>, UserError> {
    let mut urls = settings.targets.clone();
    let target = open(settings, &urls, &settings.out)?;
    let capabilities = target.capabilities();
    if capabilities.embedded || capabilities.simulated || settings.output.plan_only {
        return Ok(urls);
    }
    match inspect(&target, None) {
        Ok(_) => Ok(urls),
        Err(error) if prompt::for_password(&error, &mut urls) => Ok(urls),
        Err(error) => Err(error),
    }
}

/// Opens a target and calls a function with it; repeats both with a password from a prompt, if the target rejected the
/// connection without one.
pub fn opened<T>(
    mut urls: Vec<TargetUrl>,
    options: &TargetOptions,
    action: impl Fn(&Arc<dyn Target>) -> Result<Result<T, UserError>, UserError>,
) -> Result<T, UserError> {
    let mut result = action(&highwater_drivers::open_urls(&urls, options)?)?;
    if let Err(error) = &result
        && prompt::for_password(error, &mut urls)
    {
        result = action(&highwater_drivers::open_urls(&urls, options)?)?;
    }
    result
}

/// The facts of a target, and the privileges of this user.
pub struct TargetInspection {
    /// The target's description of itself.
    pub facts: TargetFacts,
    /// Absent if the target has no privileges, or they were not inspected.
    pub rights: Option<Vec<Right>>,
    /// Absent if the target does not report it, or it was not inspected.
    pub disk: Option<DiskSpace>,
    /// Insert modes that the server does not support, with the reasons.
    pub refused_inserts: Vec<(&'static str, &'static str)>,
    /// Rehearsals of the built-in workloads; empty if there were none.
    pub workloads: Vec<(&'static str, Rehearsal)>,
    /// What became of the user's own statements, if there are any.
    pub own: Option<OwnStatements>,
}

/// What is tried on a target.
#[derive(Clone)]
pub struct Trials {
    /// A table of this name, for the user's privileges; and such whose names begin with it, for the built-in workloads.
    pub table: String,
    /// The user's own workload, whose statements are prepared in place of trying the built-in ones.
    pub own: Option<Arc<Workload>>,
}

/// Connects to every host, and queries the facts of the target; with trials also the privileges of the user, and what
/// runs would meet.
pub fn inspect(
    target: &Arc<dyn Target>,
    trials: Option<Trials>,
) -> Result<TargetInspection, UserError> {
    let target = Arc::clone(target);
    if target.capabilities().simulated_clock {
        let timeline = SimulatedTimeline::new();
        let inspection = timeline.block_on(inspect_on(target, Rc::new(timeline.clone()), trials));
        return inspection
            .unwrap_or_else(|| Err(UserError::unreachable("the target did not respond")));
    }
    let inspection =
        RealTimeline::block_on(RealClock::start(), |timeline| inspect_on(target, timeline, trials));
    inspection.unwrap_or_else(|error| {
        let cause = format!("cannot wait for the target: {error}");
        Err(UserError::unreachable(cause))
    })
}

async fn inspect_on(
    target: Arc<dyn Target>,
    timeline: Rc<dyn Timeline>,
    trials: Option<Trials>,
) -> Result<TargetInspection, UserError> {
    let nothing = Arc::new(BoundWorkload { tables: Vec::new(), ops: Vec::new(), rows: None });
    // First, because its error names the actual server if it is not such a target.
    let mut admin = target.administer(Rc::clone(&timeline)).await?;
    for number in (0..).take(target.urls().len()) {
        let connect = Connect {
            workload: Arc::clone(&nothing),
            number,
            attempt: 0,
            timeline: Rc::clone(&timeline),
        };
        drop(target.connect(connect).await?);
    }
    let facts = admin.facts().await?;
    let (mut rights, mut disk) = (None, None);
    let (mut workloads, mut own) = (Vec::new(), None);
    if let Some(Trials { table, own: workload }) = trials {
        disk = admin.disk().await?;
        rights = admin.try_rights(&table).await?;
        let all: Option<&Vec<Right>> = rights.as_ref();
        let is_allowed = all.is_none_or(|all| all.iter().all(|right| right.refusal.is_none()));
        let capabilities = target.capabilities();
        if let Some(workload) = workload {
            let prepared =
                prepare_own(target.as_ref(), admin.as_mut(), &facts, &timeline, &workload);
            own = Some(prepared.await?);
        } else if is_allowed && capabilities.stores_values && !capabilities.simulated {
            let prefix = format!("{table}_");
            let tried = rehearse(target.as_ref(), admin.as_mut(), &facts, &timeline, &prefix);
            workloads = tried.await?;
        }
    }
    Ok(TargetInspection {
        refused_inserts: admin.refused_inserts(),
        facts,
        rights,
        disk,
        workloads,
        own,
    })
}
