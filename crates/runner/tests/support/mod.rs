//! Runs against the simulated target, in a few words per test.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]
#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test file uses a part of it"
)]

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use highwater_core::model::plan::{
    AuditLevel, AuditPlan, Objective, Plan, RetryPlan, Share, StopRule,
};
use highwater_core::model::record::{ResultRecord, RunRecord};
use highwater_core::model::units::{Nanos, Rate, Seed};
use highwater_core::workload::{WorkloadSpec, builtin};
use highwater_driver::{TargetOptions, registry};
use highwater_runner::interrupts;
use highwater_runner::observer::Silent;
use highwater_runner::planner::{self, PaceInput, PlanInput, StreamInput};
use highwater_runner::run::{RunEnd, RunRequest, run};
use highwater_runner::store::RunDirectory;

/// A run to be.
#[derive(Clone)]
pub(crate) struct Job {
    pub(crate) target: String,
    pub(crate) settings: Vec<(&'static str, String)>,
    pub(crate) streams: Vec<(&'static str, Vec<PaceInput>)>,
    pub(crate) sessions: u32,
    pub(crate) arrivals: Option<highwater_core::model::plan::Arrivals>,
    pub(crate) warm_up: Nanos,
    pub(crate) step: Nanos,
    pub(crate) stop: StopRule,
    pub(crate) objectives: Vec<Objective>,
    pub(crate) timeout: Nanos,
    pub(crate) retries: u32,
    pub(crate) share: Share,
    pub(crate) seed: u64,
}

impl Job {
    /// Against this target, these streams; small rows, no warm-up, ten seconds.
    pub(crate) fn new(target: &str, streams: &[(&'static str, PaceInput)]) -> Self {
        Self {
            target: target.to_owned(),
            settings: vec![("batch", "10".to_owned())],
            streams: streams
                .iter()
                .map(|(name, pace)| (*name, vec![*pace]))
                .collect(),
            sessions: 16,
            arrivals: None,
            warm_up: Nanos::ZERO,
            step: Nanos::from_secs(10),
            stop: StopRule::default(),
            objectives: Vec::new(),
            timeout: Nanos::from_secs(60),
            retries: 0,
            share: Share::WHOLE,
            seed: 42,
        }
    }

    pub(crate) fn request(&self, root: &std::path::Path) -> RunRequest {
        let text = builtin("cpu").unwrap().text;
        let spec = WorkloadSpec::parse(text).unwrap();
        let settings: BTreeMap<String, String> = self
            .settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let workload = Arc::new(spec.instantiate(&settings, Seed(self.seed)).unwrap());
        let options = TargetOptions {
            insert: None,
            data_directory: Some(root.to_owned()),
            application_name: "highwater-test".to_owned(),
            seed: Seed(self.seed),
            connect_timeout: Nanos::from_secs(5),
        };
        let target = registry::open(std::slice::from_ref(&self.target), &options).unwrap();
        let plan = self.plan(&workload, target.capabilities().default_sessions);
        RunRequest {
            directory: RunDirectory::create(root, "test", &plan).unwrap(),
            plan,
            workload,
            target,
            driver: "test".to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            drop_tables: false,
            start_in: Nanos::ZERO,
            labels: BTreeMap::new(),
            version: "0".to_owned(),
        }
    }

    fn plan(&self, workload: &highwater_core::workload::Workload, default_sessions: u32) -> Plan {
        let input = PlanInput {
            streams: self
                .streams
                .iter()
                .map(|(name, paces)| StreamInput {
                    name: Some((*name).to_owned()),
                    paces: paces.clone(),
                })
                .collect(),
            sessions: Some(self.sessions),
            default_sessions,
            arrivals: self.arrivals,
            spawn_rate: None,
            warm_up: self.warm_up,
            step: self.step,
            stop: self.stop.clone(),
            objectives: self.objectives.clone(),
            retry: RetryPlan {
                attempts: self.retries,
                backoff: Nanos::from_millis(10),
                reconnect_limit: Nanos::from_secs(10),
            },
            timeout: self.timeout,
            audit: AuditPlan {
                level: AuditLevel::Count,
                limit: Nanos::from_secs(60),
            },
            share: self.share.clone(),
        };
        planner::plan(workload, &input).unwrap()
    }

    /// Runs it in a directory of its own.
    pub(crate) fn run(&self) -> RunEnd {
        let root = tempfile::tempdir().unwrap();
        let (_keep, interrupts) = interrupts::channel();
        run(self.request(root.path()), Rc::new(Silent), interrupts).unwrap()
    }
}

/// Open, so many units per second.
pub(crate) fn open(rate: u64) -> PaceInput {
    PaceInput::Open(Rate::per_second(rate))
}

/// Closed, so many sessions.
pub(crate) fn closed(sessions: u32) -> PaceInput {
    PaceInput::Closed(Some(sessions))
}

/// The only measured result of an op.
pub(crate) fn measured<'a>(record: &'a RunRecord, op: &str) -> &'a ResultRecord {
    let mut found = record
        .results
        .iter()
        .filter(|r| r.op == op && r.phase == "measure");
    let result = found.next().unwrap();
    assert!(found.next().is_none());
    result
}
