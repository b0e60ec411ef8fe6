//! From settings to a run that can start: opens and inspects targets, prompts for a missing password, and makes plans, for
//! all commands. Must not run anything.

mod rehearsal;
pub mod trials;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use highwater_analysis::judge::SHORTEST_PHASE_NS;
use highwater_analysis::judge::measurement::OTHERS_NOTED;
use highwater_driver::clock::{RealClock, RealTimeline, SimulatedTimeline, wall_clock};
use highwater_driver::{
    Connect, DiskSpace, Right, Target, TargetFacts, TargetOptions, TargetUrl, Timeline,
};
use highwater_model::display::{count, percent_whole, rate, span};
use highwater_model::op::BoundWorkload;
use highwater_model::plan::{AuditLevel, Objective, Pace, PhaseKind, Plan, StreamPlan};
use highwater_model::quantity::print_instant;
use highwater_model::record::{CommandRecord, RecordRef, SettingOrigin, SettingRecord};
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;
use highwater_report::objective_bound;
use highwater_runner::control::Controls;
use highwater_runner::planner::{self, PlanInput, length_needed};
use highwater_runner::request::RunRequest;
use highwater_runner::store::RunDirectory;
use highwater_runner::telemetry::{self, Counters};
use highwater_workload::Workload;

use self::rehearsal::{prepare_own, rehearse};
use crate::faults;
use crate::intent::{RunIntent, StartAt};
use crate::{stored_files, terminal, workload_file};

pub use self::rehearsal::{OwnStatements, Rehearsal};
pub use self::trials::{Stops, signals, stops};

/// Maximum length of a measured step that objectives may require if no setting determines it.
const OPEN_LENGTH_MAX: Nanos = Nanos::from_secs(300);
/// Characters of the plan's hash in a run's ID.
const HASH_IN_ID: usize = 6;

/// The workload of a run; a start time that follows the clock is fixed here. Otherwise each share would read its own
/// clock, and generate other rows.
pub fn workload(settings: &RunIntent) -> Result<Arc<Workload>, UserError> {
    let spec = workload_file::choose(&settings.workload, &settings.parameters)?;
    let now = i64::try_from(wall_clock().0 / 1_000_000).unwrap_or(i64::MAX);
    let stop = &settings.plan.stop;
    let rows = stop.rows.filter(|_| stop.fills);
    let settled = spec.settled(&settings.parameters, now, rows)?;
    if settings.plan.share.of > 1 && settled != settings.parameters {
        let mut added = settled.keys();
        let added = added.find(|name| !settings.parameters.contains_key(*name));
        let name = added.map_or("start", |name| name.as_str());
        let message =
            "--share: each load generator would use its own clock for the time of the data";
        return Err(UserError::usage(message)
            .with_hint(format!("give all of them the same `--set {name}=…`")));
    }
    workload_file::instantiate(&spec, &settings.workload, &settled, settings.seed)
}

/// The plan of a run.
pub fn plan(
    settings: &RunIntent,
    workload: &Workload,
    urls: &[TargetUrl],
) -> Result<Plan, UserError> {
    let target = open(settings, urls, &settings.out)?;
    settings.options.tables.check_simulated(&*target)?;
    let mut input = settings.plan.clone();
    let fills = input.stop.fills;
    if fills {
        fill_input(&mut input, workload)?;
    }
    let mut plan = planner::plan(workload, &input, target.capabilities().default_sessions)?;
    check_objectives(workload, &plan)?;
    if settings.length_is_open
        && let Some(needed) = length_needed(workload, &plan)
        && needed.length <= OPEN_LENGTH_MAX
    {
        let measured = plan.phases.iter_mut().filter(|phase| phase.kind == PhaseKind::Measure);
        measured.for_each(|phase| phase.duration = phase.duration.max(needed.length));
    }
    if fills {
        // Loading the rows is the measurement.
        plan.workload.rows_to_load = 0;
        plan.phases.iter_mut().for_each(|phase| "fill".clone_into(&mut phase.name));
    }
    plan.faults.clone_from(&settings.faults.0);
    check_faults(&plan)?;
    faults::actions(&plan.faults, settings.faults.1.clone(), &*target)?;
    Ok(plan)
}

/// In closed load, sessions that wait offer nothing, so that no part of a rate is missing.
fn check_during(plan: &Plan) -> Result<(), UserError> {
    let is_during = |objective: &Objective| matches!(objective, Objective::During { .. });
    let is_open =
        |stream: &StreamPlan| stream.paces.iter().any(|pace| matches!(pace, Pace::Open { .. }));
    if plan.objectives.iter().any(is_during) && !plan.streams.iter().any(is_open) {
        let message = "--during: a closed load offers no rate of which a part could be missing";
        return Err(UserError::usage(message).with_hint("give the load a rate (--rate)"));
    }
    Ok(())
}

/// An action after the end of the load would never be performed.
fn check_faults(plan: &Plan) -> Result<(), UserError> {
    let phases = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    let length = Nanos(phases.map(|phase| phase.duration.0).sum());
    match plan.faults.iter().find(|planned| planned.at >= length) {
        None => check_during(plan),
        Some(late) => {
            let (action, at, length) = (&late.action, span(late.at.0), span(length.0));
            let message = format!(
                "--fault: `{action} at {at}` is after the load, which measures for {length}"
            );
            Err(UserError::usage(message).with_hint("measure longer (-d)"))
        }
    }
}

/// Warns before a run about parts of the audit that are impossible with its rows.
pub fn warn_about_audit(workload: &Workload, plan: &Plan) {
    let replaces = |table: &usize| workload.replacing_column(*table).is_some();
    let mut tables = (0..workload.tables()).filter(replaces);
    let is_blind = tables.any(|table| !workload.rows_are_marked(table));
    if is_blind && plan.audit.level >= AuditLevel::Sums {
        terminal::warn(
            "the audit will compare keys only, and the data will be unverified: values of fewer than 8 bytes do \
             not identify the write that they are of (kv: --min-block-bytes 8 --max-block-bytes 8, or --audit \
             count)",
        );
    }
}

/// Long enough for a share of CPU time that is counted in hundredths of a second.
const LOOK: Duration = Duration::from_millis(500);

/// Warns before an experiment that other programs use much of this machine's CPU, unless its target is a model.
pub fn warn_about_other_programs(settings: &RunIntent) -> Result<(), UserError> {
    if open(settings, &settings.targets, &settings.out)?.capabilities().simulated {
        return Ok(());
    }
    let clock = RealClock::start();
    let before = telemetry::read(clock.now(), Nanos::ZERO);
    std::thread::sleep(LOOK);
    let after = telemetry::read(clock.now(), Nanos::ZERO);
    if let Some(warning) = others_words(&before, &after) {
        terminal::warn(&format!("{warning}: stop them, or the figures are those of a shared host"));
    }
    Ok(())
}

/// What other programs used between two readings, if it is much.
pub fn others_words(before: &Counters, after: &Counters) -> Option<String> {
    let used = telemetry::used_by_others(before, after).filter(|used| *used >= OTHERS_NOTED)?;
    Some(format!(
        "before any load, other programs use {} of this machine's CPU",
        percent_whole(used)
    ))
}

/// Reports before a run how long it is because of its objectives, or that it is too short for one of
/// them.
pub fn report_length(settings: &RunIntent, workload: &Workload, plan: &Plan) {
    let measured = plan.phases.iter().find(|phase| phase.kind == PhaseKind::Measure);
    let Some(phase) = measured.filter(|_| !plan.stop.fills) else {
        return;
    };
    let Some(needed) = length_needed(workload, plan) else {
        if phase.duration.0 < SHORTEST_PHASE_NS {
            terminal::warn(&format!(
                "{} is too short to judge a measurement, which will be inconclusive: measure for at least {} (-d)",
                span(phase.duration.0),
                span(SHORTEST_PHASE_NS)
            ));
        }
        return;
    };
    let objective = objective_bound(&needed.objective);
    let length = span(needed.length.0);
    if phase.duration < needed.length {
        let batch = needed.batch(phase.duration).map_or_else(String::new, |batch| {
            format!(", or batches of at most {} rows (--batch)", count(batch))
        });
        terminal::warn(&format!(
            "{objective} cannot be shown to be met in {}: {} makes {} ops a second, and {} are needed; \
             measure for {length} (-d){batch}",
            span(phase.duration.0),
            needed.op,
            rate(needed.ops_per_s),
            rate(needed.ops),
        ));
    } else if settings.length_is_open && !settings.output.quiet && phase.duration == needed.length {
        terminal::note(&format!(
            "measuring for {length}, so that {objective} can be decided (-d sets another length)\n"
        ));
    }
}

/// Rejects an objective for an op that no stream runs, and stopping on a miss without any objective.
fn check_objectives(workload: &Workload, plan: &Plan) -> Result<(), UserError> {
    let mut names: Vec<&str> = Vec::new();
    let specs: Vec<_> =
        plan.streams.iter().filter_map(|stream| workload.stream(&stream.name)).collect();
    for spec in &specs {
        names.push(&spec.name);
        names.extend(spec.ops.iter().map(|(op, _)| workload.op_name(*op)));
    }
    names.dedup();
    let unknown = plan.objectives.iter().find_map(|objective| match objective {
        Objective::Latency { op: Some(op), .. } if !names.contains(&op.as_str()) => Some(op),
        _ => None,
    });
    if let Some(op) = unknown {
        let message = format!("an objective is about `{op}`, but no stream or op of this run is");
        return Err(UserError::usage(message).with_hint(format!("there are {}", names.join(", "))));
    }
    if plan.stop.on_miss && plan.objectives.is_empty() {
        let message = "--abort-on-miss: there is no objective to miss";
        return Err(
            UserError::usage(message).with_hint("add one, such as --p99 50ms or --errors 0.1%")
        );
    }
    Ok(())
}

/// The stream that writes the rows to load, up to their number.
fn fill_input(input: &mut PlanInput, workload: &Workload) -> Result<(), UserError> {
    let Some(op) = workload.load_op() else {
        let message = format!("workload `{}` has nothing to load", workload.name());
        return Err(UserError::usage(message)
            .with_hint("choose a workload whose file has a [load] section"));
    };
    let rows = input.stop.rows.or(Some(workload.rows_to_load()));
    input.stop.rows = rows.filter(|rows| *rows > 0);
    if input.stop.rows.is_none() {
        let message = "the number of rows is not set";
        return Err(UserError::usage(message).with_hint("add --rows, such as --rows 10M"));
    }
    for stream in &mut input.streams {
        stream.name = Some(workload.op_name(op).to_owned());
    }
    Ok(())
}

/// A plan, and the directory of its run.
pub struct StoredPlan {
    /// The plan.
    pub plan: Plan,
    /// Directory of its run.
    pub directory: RunDirectory,
    /// Directory for the files of an embedded target.
    pub data: PathBuf,
}

impl StoredPlan {
    /// The files of an embedded target are in the directory of the experiment; without one, in the run's own.
    pub fn new(plan: Plan, directory: RunDirectory, experiment: Option<&RunDirectory>) -> Self {
        Self { data: experiment.unwrap_or(&directory).path().to_owned(), plan, directory }
    }
}

/// The directory of a run or an experiment, whose page is written with its record.
pub fn directory(root: &Path, name: &str, plan: &Plan) -> Result<RunDirectory, UserError> {
    Ok(RunDirectory::create(root, name, plan)?.with_page(page))
}

/// The page of a record.
pub fn page(record: RecordRef<'_>) -> String {
    highwater_report::html(record)
}

/// The ID of a run or experiment that begins now.
pub fn id(kind: &str, workload: &str, hash: &str) -> String {
    let second = now(Nanos::SECOND);
    let time = second.trim_end_matches('Z').replace(':', "-");
    let hash: String = hash.chars().take(HASH_IN_ID).collect();
    let parts = [time.as_str(), kind, workload, hash.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// The current time, truncated to `unit` (RFC 3339).
pub fn now(unit: Nanos) -> String {
    let now = wall_clock();
    print_instant(Nanos(now.0 - now.0 % unit.0))
}

/// The command of a run. If the data's start time follows the clock, it is fixed to the time at which the existing rows
/// began.
fn command(settings: &RunIntent, workload: &Workload) -> CommandRecord {
    let mut command = settings.command.clone();
    if let Some((name, start)) = workload.start_by_clock()
        && !settings.parameters.contains_key(name)
    {
        let value = Some(format!("{name}={start}"));
        let set = command.settings.entry("set".to_owned()).or_default();
        set.push(SettingRecord { value, origin: SettingOrigin::Derived });
    }
    command
}

/// The request of a run that is stored in `directory`.
pub fn request(
    settings: &RunIntent,
    workload: Arc<Workload>,
    stored: StoredPlan,
    urls: &[TargetUrl],
) -> Result<RunRequest, UserError> {
    let driver = highwater_drivers::driver_of(urls)?;
    let target = open(settings, urls, &stored.data)?;
    Ok(RunRequest {
        actions: faults::actions(&stored.plan.faults, settings.faults.1.clone(), &*target)?,
        command: command(settings, &workload),
        target,
        plan: stored.plan,
        workload,
        driver: driver.name().to_owned(),
        directory: stored.directory,
        started_at: now(Nanos::from_millis(1)),
        options: settings.options.clone(),
        ceilings: stored_files::directory().zip(driver.sink().map(str::to_owned)),
        controls: Controls::default(),
        start_in: match settings.start_at {
            None => Nanos::ZERO,
            Some(StartAt::Delay(delay)) => delay,
            Some(StartAt::Instant(instant)) => instant.saturating_sub(wall_clock()),
        },
        meets: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Timeout of a connection.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(10);

/// Options of a target without an insert mode; an embedded target has its files in `directory`.
pub fn options(name: &str, directory: Option<&Path>, seed: Seed) -> TargetOptions {
    TargetOptions {
        insert: None,
        data_directory: directory.map(Path::to_owned),
        leases_directory: None,
        application_name: name.to_owned(),
        seed,
        connect_timeout: CONNECT_TIMEOUT,
    }
}

/// The folder below that of the runs in which shares meet whose target keeps no leases.
const LEASES_FOLDER: &str = ".leases";

/// Opens the target of a run, without connecting.
pub fn open(
    settings: &RunIntent,
    urls: &[TargetUrl],
    directory: &Path,
) -> Result<Arc<dyn Target>, UserError> {
    let options = TargetOptions {
        insert: settings.insert.clone(),
        leases_directory: Some(settings.out.join(LEASES_FOLDER)),
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
        Err(error) if terminal::for_password(&error, &mut urls) => Ok(urls),
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
        && terminal::for_password(error, &mut urls)
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
    /// The result of preparing the user's own statements, if there are any.
    pub own: Option<OwnStatements>,
}

/// The checks to perform on a target.
#[derive(Clone)]
pub struct Trials {
    /// A table of this name, for the user's privileges; and tables with this prefix, for the built-in workloads.
    pub table: String,
    /// The user's own workload, whose statements are prepared instead of rehearsing the built-in
    /// ones.
    pub own: Option<Arc<Workload>>,
}

/// Connects to every host, and queries the facts of the target; with trials also the user's privileges, and the
/// problems that runs would have.
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
