//! One run: plan → run → record → report → exit code. Must not measure.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::TargetUrl;
use highwater_driver::clock::wall_clock;
use highwater_driver::interrupts::Interrupts;
use highwater_live::Live;
use highwater_model::display::duration;
use highwater_model::quantity::print_instant;
use highwater_model::record::RunRecord;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::run::{self as runner, RunRequest};

use crate::event_log::{self, EventLog};
use crate::intent::{RunIntent, StartAt};
use crate::prepare::{self, StoredPlan, target};
use crate::progress::Progress;
use crate::{ceiling, control, exit, live, terminal, workload_file};

/// Executes the run; returns the exit code.
pub(crate) fn run(settings: &RunIntent) -> Result<u8, UserError> {
    let workload = prepare::workload(settings)?;
    let urls = target::with_password(settings)?;
    let plan = prepare::plan(settings, &workload, &urls)?;
    if settings.output.plan_only {
        let json = serde_json::to_string_pretty(&plan).unwrap_or_default();
        return terminal::data(&format!("{json}\n")).map(|()| exit::SUCCESS);
    }
    check_share(settings, &urls)?;
    check_start(settings)?;
    prepare::warn_about_audit(&workload, &plan);
    prepare::report_length(settings, &workload, &plan);
    let log = EventLog::open(settings.output.events.as_ref())?;
    let stops = prepare::stops()?;
    let (controller, controls) = control::open(settings, stops.interrupter)?;
    let live = live::of_run(&settings.output.live, controller)?;
    let id = prepare::id("", workload.name(), &plan.hash());
    let directory = prepare::directory(&settings.out, &id, &plan)?;
    let stored = StoredPlan::new(plan, directory, None);
    let request = RunRequest { controls, ..prepare::request(settings, workload, stored, &urls)? };
    let (record, directory) = execute(settings, request, stops.interrupts, log.as_ref(), live)?;
    event_log::record(&settings.output, (&record).into(), &directory)
}

/// Shares are parts of one load on one target. A target in this process, or in a new file, would be a different one for
/// each share, so their results could not be merged.
fn check_share(settings: &RunIntent, urls: &[TargetUrl]) -> Result<(), UserError> {
    let capabilities = target::open(settings, urls, &settings.out)?.capabilities();
    let fresh = capabilities.embedded && urls.iter().all(|url| url.path.is_empty());
    if settings.plan.share.of == 1 || !(capabilities.simulated || fresh) {
        return Ok(());
    }
    let own = "--share: each process would load a target of its own";
    Err(UserError::usage(own).with_hint("name a server, or a file that all shares open"))
}

/// Load generators with the same start time must start together; one that cannot reports it.
fn check_start(settings: &RunIntent) -> Result<(), UserError> {
    let Some(StartAt::Instant(start)) = settings.start_at else {
        return Ok(());
    };
    let late = wall_clock().saturating_sub(start);
    if late == Nanos::ZERO {
        return Ok(());
    }
    let message = format!("--start-at: {} was {} ago", print_instant(start), duration(late.0));
    let hint = "give a time at which every load generator is ready, such as a minute from now";
    Err(UserError::usage(message).with_hint(hint))
}

/// Executes the run, and returns the record and its directory.
fn execute(
    settings: &RunIntent,
    request: RunRequest,
    interrupts: Interrupts,
    log: Option<&Rc<EventLog>>,
    live: Option<Rc<Live>>,
) -> Result<(RunRecord, String), UserError> {
    let directory = request.directory.path().display().to_string();
    let observer = event_log::observer(&settings.output, log, live, || {
        Rc::new(Progress::of_run(settings.output.progress))
    });
    let workload = Arc::clone(&request.workload);
    let end = runner::run(request, observer, interrupts)
        .map_err(|error| workload_file::located(error, &settings.workload, &workload));
    let record = end?.record;
    ceiling::keep(&record);
    Ok((record, directory))
}
