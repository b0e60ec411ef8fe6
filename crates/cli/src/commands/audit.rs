//! `highwater audit`: compares the acknowledged rows of a stored run with its database. Must not compare by itself.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{Target, TargetOptions, TargetUrl};
use highwater_model::plan::AuditLevel;
use highwater_model::record::{RecordRef, RunRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_runner::stored_audit::{StoredAuditRequest, audit_stored};
use highwater_runner::{record, store};
use highwater_workload::Workload;

use crate::grammar::flags::{
    AUDIT, AUDIT_TIMEOUT, CONFIG, EVENTS, JSON, NO_COLOR, OUT, OUTPUT, QUIET, VERBOSE,
};
use crate::grammar::{CommandSpec, Flag, flag, words};
use crate::intent::resolve::{as_values, duration_above_zero, files, output, targets};
use crate::intent::{RunOutput, WorkloadChoice, parsers};
use crate::layers::{Layers, has_scheme};
use crate::line_streams::EventLog;
use crate::prepare::{self, signals};
use crate::progress::Progress;
use crate::{line_streams, stored_files, terminal, workload_file};

/// `highwater audit`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "audit",
    summary: "Compare what a finished or killed run had acknowledged with its database",
    usage: "[RUN] [TARGET]...",
    positionals: &[words(
        "RUN|TARGET",
        "Directory, record.json, ID, unique beginning or end of an ID, or last [default: the latest \
         run], and database URLs [default: those of the run]",
    )],
    flags: &[
        (AUDIT, AUDIT_FLAGS),
        (OUTPUT, &[OUT, VERBOSE, QUIET, JSON, EVENTS, CONFIG, NO_COLOR]),
    ],
    main_flags: None,
    examples: "  highwater audit
      the latest run again, from the ledger in its directory: after a power failure, a failover, or
      a restored backup
  highwater audit 2026-11-20T18 $URL
      a run whose process was killed, on the database's new address",
    run: audit,
};

const AUDIT_FLAGS: &[Flag] = &[
    flag(
        "--audit <LEVEL>",
        "Compare no more than count, sums, or full [default: the level of the run]",
    ),
    AUDIT_TIMEOUT,
];

/// Audits a stored run; the exit code is that of the run with the findings.
fn audit(layers: &Layers) -> Result<u8, UserError> {
    let words: Vec<&str> = layers.positionals.iter().map(String::as_str).collect();
    let is_run = words.first().is_some_and(|word| !has_scheme(word));
    let (run, rest) = words.split_at(usize::from(is_run));
    let given = as_values("target", rest);
    if let Some(other) = given.iter().find(|given| !has_scheme(&given.text)) {
        let message = format!("`{}` is no database URL", other.text);
        let hint = "one run at a time is audited; the words behind it are URLs of its database";
        return Err(UserError::usage(message).with_hint(hint));
    }
    let now_at = match given.as_slice() {
        [] => Vec::new(),
        given => targets(layers, given)?,
    };
    let level = layers.parse("audit", parsers::audit)?;
    let limit = duration_above_zero(layers, "audit-timeout")?.unwrap_or(Nanos::MAX);
    let out = PathBuf::from(layers.require("out", parsers::word)?);
    let output = output(layers)?;
    let run = store::find(&out, run.first().copied())?;
    stored_files::of_target(&run, !now_at.is_empty())?;
    let stored = record::read(&run)?;
    let measured = RecordRef::from(&stored).measured_run().run;
    let target = target_of(measured, now_at, &out)?;
    let audited = audit_again(&run, measured, target, &output, level, limit)?;
    line_streams::record(&output, (&audited).into(), &run.display().to_string())
}

/// Audits a stored run from its ledger, or from those of its shares; returns its record with the findings.
pub(crate) fn audit_again(
    run: &Path,
    record: &RunRecord,
    target: Arc<dyn Target>,
    output: &RunOutput,
    level: Option<AuditLevel>,
    limit: Nanos,
) -> Result<RunRecord, UserError> {
    let log = EventLog::open(output.events.as_ref())?;
    let observer =
        line_streams::observer(output, log.as_ref(), None, || Rc::new(Progress::of_run(None)));
    let request = StoredAuditRequest {
        workload: workload_of(record)?,
        target,
        run: run.to_owned(),
        level,
        limit,
        now: prepare::now(Nanos::SECOND),
        page: prepare::page,
    };
    audit_stored(request, observer, signals()?)
}

/// The workload of a stored run, from its name or its files.
fn workload_of(record: &RunRecord) -> Result<Arc<Workload>, UserError> {
    let plan = &record.plan.definition;
    let given: Vec<&str> = in_force(record, "file").collect();
    let choice = match given.as_slice() {
        [] => WorkloadChoice::Named(plan.workload.name.clone()),
        given => files(&as_values("file", given))?,
    };
    let parameters = &plan.workload.parameters;
    let spec = workload_file::choose(&choice, parameters)?;
    workload_file::instantiate(&spec, &choice, parameters, plan.seed)
}

/// The values of a setting of a stored run.
fn in_force<'a>(record: &'a RunRecord, name: &str) -> impl Iterator<Item = &'a str> {
    record.header.command.in_force(name).filter_map(|setting| setting.value.as_deref())
}

/// The database of a stored run: at the URL given by the user, or at the recorded one.
fn target_of(
    record: &RunRecord,
    mut urls: Vec<TargetUrl>,
    out: &Path,
) -> Result<Arc<dyn Target>, UserError> {
    if urls.is_empty() {
        let before = record.target.urls.iter().map(|url| TargetUrl::parse(url));
        urls = before.collect::<Result<_, _>>()?;
    }
    let options = TargetOptions {
        insert: in_force(record, "insert").next().map(str::to_owned),
        ..prepare::options("highwater", Some(out), record.plan.seed)
    };
    let opened = highwater_drivers::open_urls(&urls, &options)?;
    let capabilities = opened.capabilities();
    if capabilities.embedded || capabilities.simulated {
        return Ok(opened);
    }
    match prepare::inspect(&opened, None) {
        Err(error) if terminal::for_password(&error, &mut urls) => {
            Ok(highwater_drivers::open_urls(&urls, &options)?)
        }
        // The audit reports anything else that is wrong.
        _ => Ok(opened),
    }
}
