//! Runs a case on the simulated clock.
#![expect(clippy::expect_used, reason = "a case that cannot be set up must fail")]

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::interrupts;
use highwater_driver::{Target, TargetUrl};
use highwater_driver_sim::SimTarget;
use highwater_model::plan::{
    Arrivals, AuditLevel, AuditPlan, RetryPlan, Share, SteadinessRule, StopRule,
};
use highwater_model::record::{CommandRecord, RunRecord};
use highwater_model::units::{Nanos, Rate, Seed};
use highwater_runner::control::Controls;
use highwater_runner::planner::{self, PaceInput, PlanInput, StreamInput};
use highwater_runner::request::Silent;
use highwater_runner::run::{RunOptions, RunRequest, run};
use highwater_runner::store::RunDirectory;
use highwater_workload::{WorkloadSpec, builtin};

use super::case::{Case, Load};

/// Measured time.
const MEASURED: Nanos = Nanos::from_secs(10);

/// The record of the run.
pub(super) fn record(case: &Case) -> RunRecord {
    let root = tempfile::tempdir().expect("a directory for a run");
    let seed = Seed(case.seed);
    let url = TargetUrl::parse(&case.target).expect("the URL of a cluster");
    let target: Arc<dyn Target> = Arc::new(SimTarget::open(&url, seed).expect("a cluster"));
    let text = builtin("cpu").expect("a built-in workload").text;
    let settings = BTreeMap::from([("batch".to_owned(), case.batch.to_string())]);
    let spec = WorkloadSpec::parse(text).expect("a workload");
    let workload = Arc::new(spec.instantiate(&settings, seed).expect("its parameters"));
    let input = plan_input(case);
    let plan = planner::plan(&workload, &input, case.sessions).expect("a plan");
    let directory = RunDirectory::create(root.path(), "run", &plan).expect("a directory for a run");
    let request = RunRequest {
        directory,
        plan,
        workload,
        target,
        driver: "sim".to_owned(),
        started_at: "2026-01-01T00:00:00Z".to_owned(),
        options: RunOptions { no_disk_guard: true, ..RunOptions::default() },
        ceilings: None,
        actions: None,
        controls: Controls::default(),
        start_in: Nanos::ZERO,
        meets: None,
        command: CommandRecord::default(),
        version: "0".to_owned(),
    };
    let (_keep, interrupts) = interrupts::channel();
    run(request, Rc::new(Silent), interrupts).expect("a run").record
}

fn plan_input(case: &Case) -> PlanInput {
    let pace = match case.load {
        Load::Closed => PaceInput::Closed(Some(case.sessions)),
        Load::Open { rows_per_s } => PaceInput::Open(Rate::per_second(rows_per_s)),
    };
    PlanInput {
        literals: false,
        streams: vec![StreamInput {
            name: Some("insert".to_owned()),
            paces: vec![pace],
            think: None,
        }],
        sessions: Some(case.sessions),
        arrivals: Some(Arrivals::Poisson),
        spawn_rate: None,
        warm_up: Nanos::from_secs(2),
        until_steady: false,
        step: MEASURED,
        stop: StopRule::default(),
        objectives: Vec::new(),
        steadiness: SteadinessRule::default(),
        retry: RetryPlan {
            attempts: 0,
            backoff: Nanos::from_millis(10),
            reconnect_limit: Nanos::from_secs(10),
        },
        timeout: Nanos::from_secs(60),
        audit: AuditPlan { level: AuditLevel::Off, limit: Nanos::from_secs(60) },
        share: Share::WHOLE,
    }
}
