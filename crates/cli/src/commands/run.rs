//! `highwater run`: settings → plan → run → record → report → exit code. Must not measure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{Target, TargetOptions, TargetUrl};
use highwater_model::plan::Plan;
use highwater_model::quantity::print_instant;
use highwater_model::record::RunRecord;
use highwater_model::units::{Nanos, Seed};
use highwater_report as report;
use highwater_runner::clock::wall_clock;
use highwater_runner::control::Controls;
use highwater_runner::interrupts::{self, Interrupter, Interrupts};
use highwater_runner::planner::{self, PlanError, PlanInput};
use highwater_runner::run::{self as runner, RunError, RunRequest, TableRequest, TelemetryRequest};
use highwater_runner::store::RunDirectory;
use highwater_workload::{Workload, WorkloadSpec};

use super::check;
use super::plan_input::plan_input;
use crate::event_log::{self, EventLog};
use crate::exit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::settings::{RunSettings, StartAt};
use crate::{ceiling, control, prompt, terminal, workload_file};

/// Time limit of a connection.
pub(super) const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(10);
/// Characters of the plan's hash in a run's id.
const HASH_IN_ID: usize = 6;

/// Does what the settings ask for; returns the exit code.
pub fn run(settings: &RunSettings) -> Result<u8, Failure> {
    let prepared = prepared(settings)?;
    if settings.output.plan_only {
        let json = serde_json::to_string_pretty(&prepared.plan).unwrap_or_default();
        return terminal::data(&format!("{json}\n")).map(|()| exit::SUCCESS);
    }
    check_share(settings, &prepared.urls)?;
    let log = EventLog::open(settings.output.events.as_ref())?;
    let (interrupter, interrupts) = stops()?;
    let controls = control::open(settings.control.as_ref(), interrupter)?;
    let request = RunRequest {
        controls,
        ..request(settings, prepared)?
    };
    let (record, directory) = execute(settings, request, interrupts, log.as_ref())?;
    let text = if settings.output.json {
        report::json(&record)
    } else {
        report::text_at(&record, &directory)
    };
    event_log::result(&settings.output, &text)?;
    Ok(exit::of(&record))
}

/// The record of one of several runs.
pub(super) fn record(
    settings: &RunSettings,
    interrupts: Interrupts,
    log: Option<&Rc<EventLog>>,
) -> Result<RunRecord, Failure> {
    let request = request(settings, prepared(settings)?)?;
    Ok(execute(settings, request, interrupts, log)?.0)
}

/// A run before it starts.
struct Prepared {
    workload: Arc<Workload>,
    plan: Plan,
    urls: Vec<TargetUrl>,
}

fn prepared(settings: &RunSettings) -> Result<Prepared, Failure> {
    let spec = workload_file::choose(&settings.workload, &settings.parameters)?;
    let parameters = in_data_time(settings, &spec)?;
    let workload = Arc::new(spec.instantiate(&parameters, settings.seed)?);
    let urls = with_password(settings)?;
    let plan = plan(settings, &workload, &urls)?;
    Ok(Prepared {
        workload,
        plan,
        urls,
    })
}

/// Runs, and returns the record and its directory.
fn execute(
    settings: &RunSettings,
    request: RunRequest,
    interrupts: Interrupts,
    log: Option<&Rc<EventLog>>,
) -> Result<(RunRecord, String), Failure> {
    let directory = request.directory.path().display().to_string();
    let observer = event_log::observer(&settings.output, log, || Rc::new(Progress::new()));
    let workload = Arc::clone(&request.workload);
    let end = runner::run(request, observer, interrupts)
        .map_err(|error| workload_file::located(error, &settings.workload, &workload));
    let record = end?.record;
    ceiling::keep(&record);
    Ok((record, directory))
}

/// The workload's parameters; a start that follows the clock is fixed here. Otherwise each share
/// would read its own clock, and generate other rows.
pub(super) fn in_data_time(
    settings: &RunSettings,
    spec: &WorkloadSpec,
) -> Result<BTreeMap<String, String>, Failure> {
    let now = i64::try_from(wall_clock().0 / 1_000_000).unwrap_or(i64::MAX);
    let settled = spec.settled(&settings.parameters, now)?;
    if settings.share.of > 1 && settled != settings.parameters {
        let added: Vec<&String> = settled
            .keys()
            .filter(|name| !settings.parameters.contains_key(*name))
            .collect();
        let name = added.first().map_or("start", |name| name.as_str());
        let message =
            "--share: each load generator would use its own clock for the time of the data";
        return Err(Failure::usage(message)
            .with_hint(format!("give all of them the same `--set {name}=…`")));
    }
    Ok(settled)
}

/// The URLs of the target, with a password from a prompt if one is needed.
pub(super) fn with_password(settings: &RunSettings) -> Result<Vec<TargetUrl>, Failure> {
    let mut urls = settings.targets.clone();
    let target = open(settings, &urls, &settings.out)?;
    let capabilities = target.capabilities();
    if capabilities.embedded || capabilities.simulated || settings.output.plan_only {
        return Ok(urls);
    }
    match check::inspect(&target) {
        Ok(_) => Ok(urls),
        Err(error) if prompt::for_password(&error, &mut urls) => Ok(urls),
        Err(error) => Err(error.into()),
    }
}

pub(super) fn plan(
    settings: &RunSettings,
    workload: &Workload,
    urls: &[TargetUrl],
) -> Result<Plan, Failure> {
    let target = open(settings, urls, &settings.out)?;
    let mut input = plan_input(settings, target.capabilities().default_sessions);
    if settings.fills {
        fill_input(&mut input, workload)?;
    }
    let mut plan = planner::plan(workload, &input)
        .map_err(|PlanError { message, hint }| Failure::usage(message).with_hint(hint))?;
    if settings.fills {
        // Loading the rows is the measurement itself.
        plan.workload.rows_to_load = 0;
        plan.phases
            .iter_mut()
            .for_each(|phase| "fill".clone_into(&mut phase.name));
    }
    Ok(plan)
}

/// The stream that writes the rows to load, up to their number.
fn fill_input(input: &mut PlanInput, workload: &Workload) -> Result<(), Failure> {
    let Some(op) = workload.load_op() else {
        let message = format!("workload `{}` has nothing to load", workload.name());
        return Err(
            Failure::usage(message).with_hint("choose a workload whose file has a [load] section")
        );
    };
    let rows = input.stop.rows.or(Some(workload.rows_to_load()));
    input.stop.rows = rows.filter(|rows| *rows > 0);
    if input.stop.rows.is_none() {
        let message = "the number of rows is not set";
        return Err(Failure::usage(message).with_hint("add --rows, such as --rows 10M"));
    }
    for stream in &mut input.streams {
        stream.name = Some(workload.op_name(op).to_owned());
    }
    Ok(())
}

/// Shares are parts of one load on one target. A target in this process, or in a new file, would be
/// another one for each share, so their results could not be merged.
fn check_share(settings: &RunSettings, urls: &[TargetUrl]) -> Result<(), Failure> {
    let capabilities = open(settings, urls, &settings.out)?.capabilities();
    let fresh = capabilities.embedded && urls.iter().all(|url| url.path.is_empty());
    if settings.share.of == 1 || !(capabilities.simulated || fresh) {
        return Ok(());
    }
    let own = "--share: each process would load a target of its own";
    Err(Failure::usage(own).with_hint("name a server, or a file that all shares open"))
}

fn request(settings: &RunSettings, prepared: Prepared) -> Result<RunRequest, Failure> {
    let Prepared {
        workload,
        plan,
        urls,
    } = prepared;
    let id = id("", workload.name(), &plan.hash());
    let directory = RunDirectory::create(&settings.out, &id, &plan)?;
    let stored = StoredPlan {
        data: directory.path().to_owned(),
        plan,
        directory,
    };
    request_in(settings, workload, stored, &urls)
}

/// A plan, and the directory of its run.
pub(super) struct StoredPlan {
    pub(super) plan: Plan,
    pub(super) directory: RunDirectory,
    /// Directory for the files of an embedded target.
    pub(super) data: PathBuf,
}

/// The id of a run, or of a search, that begins now.
pub(super) fn id(kind: &str, workload: &str, hash: &str) -> String {
    let now = wall_clock();
    let second = print_instant(Nanos(now.0 - now.0 % Nanos::SECOND.0));
    let time = second.trim_end_matches('Z').replace(':', "-");
    let hash: String = hash.chars().take(HASH_IN_ID).collect();
    let parts = [time.as_str(), kind, workload, hash.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// The request of a run that is stored in a directory.
pub(super) fn request_in(
    settings: &RunSettings,
    workload: Arc<Workload>,
    stored: StoredPlan,
    urls: &[TargetUrl],
) -> Result<RunRequest, Failure> {
    let now = wall_clock();
    let started_at = print_instant(Nanos(now.0 - now.0 % 1_000_000));
    let driver = highwater_drivers::driver_of(urls)?;
    let (driver, sink) = (driver.name().to_owned(), driver.sink());
    Ok(RunRequest {
        target: open(settings, urls, &stored.data)?,
        plan: stored.plan,
        workload,
        driver,
        directory: stored.directory,
        started_at,
        tables: TableRequest {
            shard_flags: settings.shard_flags.clone(),
            settings: settings.table_settings.clone().into_iter().collect(),
        },
        drop_tables: settings.drop,
        drop_foreign: settings.drop_foreign.clone(),
        guard_disk: settings.guard_disk,
        telemetry: TelemetryRequest {
            off: !settings.telemetry.enabled,
            endpoints: settings.telemetry.endpoints()?,
        },
        ceilings: ceiling::directory().zip(sink.map(str::to_owned)),
        controls: Controls::default(),
        start_in: match settings.start_at {
            None => Nanos::ZERO,
            Some(StartAt::Delay(delay)) => delay,
            Some(StartAt::Instant(instant)) => instant.saturating_sub(now),
        },
        labels: settings.labels.clone(),
        given: settings.repeated_flags.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// Opens the target, which connects nothing; an embedded one would put its files in `directory`.
fn open(
    settings: &RunSettings,
    urls: &[TargetUrl],
    directory: &Path,
) -> Result<Arc<dyn Target>, Failure> {
    let options = TargetOptions {
        insert: settings.insert.clone(),
        data_directory: Some(directory.to_owned()),
        application_name: "highwater".to_owned(),
        // A simulated target gets another seed in each of several runs.
        seed: Seed(settings.seed.0.wrapping_add(settings.round.into())),
        connect_timeout: CONNECT_TIMEOUT,
    };
    Ok(highwater_drivers::open_urls(urls, &options)?)
}

/// Interrupts (Ctrl-C) and requests to end (SIGTERM) as stop requests of the run.
pub(super) fn signals() -> Result<Interrupts, Failure> {
    Ok(stops()?.1)
}

/// The same, with the end by which others can send them, too.
fn stops() -> Result<(Interrupter, Interrupts), Failure> {
    let (interrupter, interrupts) = interrupts::channel();
    let of_signals = interrupter.clone();
    ctrlc::set_handler(move || of_signals.interrupt())
        .map_err(|error| Failure::usage(format!("cannot listen for interrupts: {error}")))?;
    Ok((interrupter, interrupts))
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Target(error) => error.into(),
            RunError::Store(error) => error.into(),
            RunError::Budget { .. } => Self::usage(error.to_string())
                .with_hint("raise --budget, or use shorter probes with --quick"),
            RunError::Workload(_) | RunError::System(_) | RunError::Stuck => {
                Self::usage(error.to_string())
            }
        }
    }
}
