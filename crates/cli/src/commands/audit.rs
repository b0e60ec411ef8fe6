//! `highwater audit`: compares what a stored run had acknowledged with its database. Must not
//! compare itself.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{TargetOptions, TargetUrl};
use highwater_model::quantity::print_instant;
use highwater_model::record::{RecordRef, RunRecord};
use highwater_model::units::Nanos;
use highwater_report as report;
use highwater_runner::clock::wall_clock;
use highwater_runner::stored_audit::{StoredAuditRequest, audit_stored};
use highwater_runner::{record, store};
use highwater_workload::Workload;

use super::check;
use super::run::{CONNECT_TIMEOUT, signals};
use crate::event_log::{self, EventLog};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::settings::{AuditSettings, WorkloadChoice};
use crate::{exit, prompt, workload_file};

/// Audits a stored run; the exit code is that of the run with what was found.
pub fn audit(settings: &AuditSettings) -> Result<u8, Failure> {
    let run = store::find(&settings.out, settings.run.as_deref())?;
    let stored = record::read(&run)?;
    let measured = RecordRef::from(&stored).measured_run().run;
    let output = &settings.output;
    let log = EventLog::open(output.events.as_ref())?;
    let observer = event_log::observer(output, log.as_ref(), || Rc::new(Progress::new()));
    let now = wall_clock();
    let request = StoredAuditRequest {
        workload: workload_of(measured)?,
        target: target_of(settings, measured)?,
        run: run.clone(),
        level: settings.level,
        limit: settings.limit,
        now: print_instant(Nanos(now.0 - now.0 % Nanos::SECOND.0)),
    };
    let audited = audit_stored(request, observer, signals()?)?;
    let text = if output.json {
        report::json(&audited)
    } else {
        report::text_at(&audited, &run.display().to_string())
    };
    event_log::result(output, &text)?;
    Ok(exit::of(&audited))
}

/// The workload of a stored run, from its name or its files.
fn workload_of(record: &RunRecord) -> Result<Arc<Workload>, Failure> {
    let plan = &record.plan.definition;
    let files = record
        .header
        .given
        .get("file")
        .map_or(&[][..], Vec::as_slice);
    let choice = WorkloadChoice::stored(&plan.workload.name, files)?;
    let parameters = &plan.workload.parameters;
    let spec = workload_file::choose(&choice, parameters)?;
    Ok(Arc::new(spec.instantiate(parameters, plan.seed)?))
}

/// The database of a stored run: where it was, or where the user says that it is now.
fn target_of(
    settings: &AuditSettings,
    record: &RunRecord,
) -> Result<Arc<dyn highwater_driver::Target>, Failure> {
    let urls = record.target.urls.iter().map(|url| TargetUrl::parse(url));
    let mut urls = if settings.targets.is_empty() {
        urls.collect::<Result<_, _>>()?
    } else {
        settings.targets.clone()
    };
    let insert = record.header.given.get("insert");
    let options = TargetOptions {
        insert: insert.and_then(|given| given.first().cloned()),
        data_directory: Some(settings.out.clone()),
        application_name: "highwater".to_owned(),
        seed: record.plan.seed,
        connect_timeout: CONNECT_TIMEOUT,
    };
    let target = highwater_drivers::open_urls(&urls, &options)?;
    let capabilities = target.capabilities();
    if capabilities.embedded || capabilities.simulated {
        return Ok(target);
    }
    match check::inspect(&target) {
        Err(error) if prompt::for_password(&error, &mut urls) => {
            Ok(highwater_drivers::open_urls(&urls, &options)?)
        }
        // The audit itself says what else is wrong.
        _ => Ok(target),
    }
}
