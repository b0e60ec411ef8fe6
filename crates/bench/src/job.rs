//! A complete run, from workload file to record, in a few lines.

use std::error::Error;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::interrupts;
use highwater_driver::{Target, TargetOptions};
use highwater_model::plan::{
    Arrivals, AuditLevel, AuditPlan, RetryPlan, Share, SteadinessRule, StopRule,
};
use highwater_model::record::{CommandRecord, ResultRecord, RunRecord};
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;
use highwater_runner::control::Controls;
use highwater_runner::planner::{self, PaceInput, PlanInput, StreamInput};
use highwater_runner::request::Observer;
use highwater_runner::run::{RunOptions, RunRequest, run};
use highwater_runner::store::RunDirectory;
use highwater_workload::{Workload, WorkloadSpec, builtin};

/// The seed of all benchmarks.
pub const SEED: Seed = Seed(42);

/// A run to execute.
#[derive(Debug, Clone)]
pub struct Job<'a> {
    /// Text of a workload file.
    pub workload: &'a str,
    /// Its parameters that differ from their defaults.
    pub settings: &'a [(&'a str, &'a str)],
    /// URL.
    pub target: &'a str,
    /// Insert mode; the target's first one if absent.
    pub insert: Option<&'a str>,
    /// Name of the stream.
    pub stream: &'a str,
    /// Its pace.
    pub pace: PaceInput,
    /// Sessions.
    pub sessions: u32,
    /// Excluded from the measurement.
    pub warm_up: Nanos,
    /// Length of the measured phase.
    pub measure: Nanos,
    /// Whether rows are counted after the run.
    pub audit: AuditLevel,
    /// Whether it makes the tables anew.
    pub drop: bool,
}

impl<'a> Job<'a> {
    /// Closed load with `sessions` sessions that insert continuously for a second, and an audit with checksums.
    pub fn inserting(workload: &'a str, target: &'a str, sessions: u32) -> Self {
        Self {
            workload,
            settings: &[],
            target,
            insert: None,
            stream: "insert",
            pace: PaceInput::Closed(Some(sessions)),
            sessions,
            warm_up: Nanos::ZERO,
            measure: Nanos::SECOND,
            audit: AuditLevel::Sums,
            drop: true,
        }
    }

    /// Runs the job in a temporary directory.
    ///
    /// # Errors
    ///
    /// If the job is invalid, the target cannot be used, or an op failed.
    pub fn run(&self, observer: Rc<dyn Observer>) -> Result<RunRecord, Box<dyn Error>> {
        let root = tempfile::tempdir()?;
        let workload = workload(self.workload, self.settings)?;
        let target = target_inserting(self.target, self.insert)?;
        let plan = planner::plan(&workload, &self.input(), self.sessions)?;
        let request = RunRequest {
            directory: RunDirectory::create(root.path(), "bench", &plan)?,
            plan,
            workload,
            target,
            driver: "bench".to_owned(),
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            options: RunOptions { drop: self.drop, ..RunOptions::default() },
            ceilings: None,
            actions: None,
            controls: Controls::default(),
            start_in: Nanos::ZERO,
            meets: None,
            command: CommandRecord::default(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        };
        let (_keep, interrupts) = interrupts::channel();
        let record = run(request, observer, interrupts)?.record;
        let failed: Vec<_> = record.results.iter().map(|r| &r.error_examples).collect();
        if failed.iter().any(|examples| !examples.is_empty()) {
            return Err(format!("ops failed: {failed:?}").into());
        }
        Ok(record)
    }

    fn input(&self) -> PlanInput {
        PlanInput {
            literals: false,
            streams: vec![StreamInput {
                name: Some(self.stream.to_owned()),
                paces: vec![self.pace],
                think: None,
            }],
            sessions: Some(self.sessions),
            arrivals: Some(Arrivals::Constant),
            spawn_rate: None,
            warm_up: self.warm_up,
            until_steady: false,
            step: self.measure,
            stop: StopRule::default(),
            objectives: Vec::new(),
            steadiness: SteadinessRule::default(),
            retry: RetryPlan {
                attempts: 0,
                backoff: Nanos::from_millis(10),
                reconnect_limit: Nanos::from_secs(10),
            },
            timeout: Nanos::from_secs(60),
            audit: AuditPlan { level: self.audit, limit: Nanos::from_secs(1_200) },
            share: Share::WHOLE,
        }
    }
}

/// A workload with some parameters set.
///
/// # Errors
///
/// If the file or the settings are invalid.
pub fn workload(text: &str, settings: &[(&str, &str)]) -> Result<Arc<Workload>, Box<dyn Error>> {
    let spec = WorkloadSpec::parse(text).map_err(|mistakes| format!("{mistakes:?}"))?;
    let settings =
        settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let workload = spec.instantiate(&settings, SEED);
    Ok(Arc::new(workload.map_err(|error| error.message)?))
}

/// The text of the `cpu` workload.
///
/// # Errors
///
/// If the catalog lacks it.
pub fn cpu_workload() -> Result<&'static str, Box<dyn Error>> {
    Ok(builtin("cpu").ok_or("there is no workload `cpu`")?.text)
}

/// The target of a URL.
///
/// # Errors
///
/// If the URL is invalid.
pub fn target(url: &str) -> Result<Arc<dyn Target>, UserError> {
    target_inserting(url, None)
}

/// The target of a URL, with an insert mode.
///
/// # Errors
///
/// If one of them is invalid.
pub fn target_inserting(url: &str, insert: Option<&str>) -> Result<Arc<dyn Target>, UserError> {
    let options = TargetOptions {
        insert: insert.map(str::to_owned),
        data_directory: None,
        leases_directory: None,
        application_name: "highwater-bench".to_owned(),
        seed: SEED,
        connect_timeout: Nanos::from_secs(10),
    };
    highwater_drivers::open(&[url.to_owned()], &options)
}

/// The result of the measured phase, which has one stream of one op.
///
/// # Errors
///
/// If there is none.
pub fn measured(record: &RunRecord) -> Result<&ResultRecord, Box<dyn Error>> {
    let found = record.results.iter().find(|r| r.phase == "measure");
    Ok(found.ok_or("nothing was measured")?)
}
