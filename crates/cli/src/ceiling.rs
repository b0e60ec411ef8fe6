//! The load generator's own ceiling: where it is kept, and measuring it for `check`.
//!
//! A ceiling is a run against a sink like any other; nothing here measures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::TargetOptions;
use highwater_model::plan::{AuditLevel, AuditPlan, Plan, RetryPlan, Share, StopRule};
use highwater_model::quantity::print_instant;
use highwater_model::record::RunRecord;
use highwater_model::units::{Nanos, Seed};
use highwater_runner::ceilings::{self, Ceiling};
use highwater_runner::clock::wall_clock;
use highwater_runner::control::Controls;
use highwater_runner::interrupts;
use highwater_runner::observer::Silent;
use highwater_runner::planner::{self, PaceInput, PlanError, PlanInput, StreamInput};
use highwater_runner::run::{self as runner, RunRequest, TableRequest, TelemetryRequest};
use highwater_runner::store::RunDirectory;
use highwater_workload::{Workload, WorkloadSpec, builtin};

use crate::failure::Failure;
use crate::terminal;

/// The workload of a ceiling that nobody said more about: the one that `run` has by default.
const WORKLOAD: &str = "cpu";
/// Left out at the beginning.
const WARM_UP: Nanos = Nanos::from_secs(1);
/// Long enough for a steady figure.
const MEASURE: Nanos = Nanos::from_secs(3);

/// Where ceilings are kept: a directory of the user's state, as the XDG specification says; none
/// where there is no home.
pub fn directory() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let state = set("XDG_STATE_HOME").map(PathBuf::from);
    let state = state.or_else(|| Some(Path::new(&set("HOME")?).join(".local/state")));
    state.map(|state| state.join("highwater"))
}

/// Keeps what a run against a sink reached.
pub fn keep(record: &RunRecord) {
    let (Some(directory), Some(ceiling)) = (directory(), ceilings::of_record(record)) else {
        return;
    };
    if let Err(error) = ceilings::keep(&directory, ceiling) {
        let place = directory.display();
        terminal::warn(&format!("the ceiling cannot be kept in {place}: {error}"));
    }
}

/// Measures the ceiling of the default load through that sink, with its files in `scratch`.
pub fn measure(
    sink: &str,
    insert: Option<&String>,
    seed: Seed,
    scratch: &Path,
) -> Result<Option<Ceiling>, Failure> {
    let options = TargetOptions {
        insert: insert.cloned(),
        data_directory: None,
        application_name: "highwater check".to_owned(),
        seed,
        connect_timeout: Nanos::from_secs(10),
    };
    let target = highwater_drivers::open(&[sink.to_owned()], &options)?;
    let workload = Arc::new(workload(seed)?);
    let plan = plan(&workload, target.capabilities().default_sessions)?;
    let now = wall_clock();
    let request = RunRequest {
        directory: RunDirectory::create(scratch, "ceiling", &plan)?,
        plan,
        workload,
        target,
        driver: "null".to_owned(),
        started_at: print_instant(Nanos(now.0 - now.0 % Nanos::SECOND.0)),
        drop_tables: false,
        drop_foreign: Vec::new(),
        tables: TableRequest::default(),
        guard_disk: false,
        telemetry: TelemetryRequest::default(),
        ceilings: None,
        controls: Controls::default(),
        start_in: Nanos::ZERO,
        labels: BTreeMap::new(),
        given: BTreeMap::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    let (_keep, interrupts) = interrupts::channel();
    let record = runner::run(request, Rc::new(Silent), interrupts)?.record;
    keep(&record);
    Ok(ceilings::of_record(&record))
}

fn workload(seed: Seed) -> Result<Workload, Failure> {
    let text = builtin(WORKLOAD).map_or("", |entry| entry.text);
    let spec = WorkloadSpec::parse(text)
        .map_err(|_| Failure::usage(format!("there is no workload `{WORKLOAD}`")))?;
    Ok(spec.instantiate(&BTreeMap::new(), seed)?)
}

fn plan(workload: &Workload, sessions: u32) -> Result<Plan, Failure> {
    let input = PlanInput {
        literals: false,
        streams: vec![StreamInput {
            name: None,
            paces: vec![PaceInput::Closed(None)],
        }],
        sessions: None,
        default_sessions: sessions,
        arrivals: None,
        spawn_rate: None,
        warm_up: WARM_UP,
        step: MEASURE,
        stop: StopRule::default(),
        objectives: Vec::new(),
        retry: RetryPlan {
            attempts: 0,
            backoff: Nanos::from_millis(10),
            reconnect_limit: Nanos::SECOND,
        },
        timeout: Nanos::from_secs(10),
        audit: AuditPlan {
            // As in a run that says nothing about it: there is nothing to audit, but the
            // checksums of what was sent are added up all the same.
            level: AuditLevel::Sums,
            limit: Nanos::SECOND,
        },
        share: Share::WHOLE,
    };
    planner::plan(workload, &input)
        .map_err(|PlanError { message, hint }| Failure::usage(message).with_hint(hint))
}
