//! Runs against the simulated target, concise for tests.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]
#![allow(dead_code, clippy::allow_attributes, reason = "each test file uses a part of it")]

pub(crate) mod faulty;
pub(crate) mod hooked;
pub(crate) mod verdict;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use highwater_analysis as analysis;
use highwater_driver::interrupts::{self, Interrupter};
use highwater_driver::{Target, TargetOptions};
use highwater_model::control::{Command, Refusal};
use highwater_model::event::{Event, Part};
use highwater_model::fault::parse_faults;
use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::plan::{
    Arrivals, AuditLevel, AuditPlan, Objective, Plan, RetryPlan, Share, SteadinessRule, StopRule,
};
use highwater_model::record::{
    AuditStatus, CommandRecord, InterventionRecord, ResultRecord, RunRecord,
};
use highwater_model::units::{Nanos, Rate, Seed};
use highwater_model::user_error::UserError;
use highwater_runner::control::{self, Controller, Controls, Reply};
use highwater_runner::planner::{self, PaceInput, PlanInput, StreamInput};
use highwater_runner::request::{Observer, Silent};
use highwater_runner::run::{RunEnd, RunOptions, RunRequest, TelemetryRequest, run};
use highwater_runner::store::RunDirectory;
use highwater_workload::{Workload, WorkloadSpec, builtin};

use self::faulty::Faults;
use self::hooked::Hooked;

/// Version of the program in records.
const VERSION: &str = "0";
/// The definition of a workload: its file, its settings, the seed.
type MadeOf = (Option<&'static str>, Vec<(&'static str, String)>, u64);

/// A planned run.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) target: String,
    pub(crate) settings: Vec<(&'static str, String)>,
    pub(crate) streams: Vec<(&'static str, Vec<PaceInput>)>,
    pub(crate) sessions: u32,
    pub(crate) arrivals: Option<Arrivals>,
    pub(crate) spawn_rate: Option<Rate>,
    pub(crate) think: Option<Nanos>,
    pub(crate) warm_up: Nanos,
    pub(crate) until_steady: bool,
    pub(crate) step: Nanos,
    pub(crate) stop: StopRule,
    pub(crate) objectives: Vec<Objective>,
    pub(crate) timeout: Nanos,
    pub(crate) retries: u32,
    pub(crate) share: Share,
    pub(crate) seed: u64,
    pub(crate) started_at: String,
    pub(crate) start_in: Nanos,
    pub(crate) audit: AuditLevel,
    pub(crate) audit_limit: Nanos,
    pub(crate) telemetry: TelemetryRequest,
    pub(crate) drop_tables: bool,
    /// Actions on the cluster, as they are typed.
    pub(crate) faults: String,
    /// The workload's file; `cpu` without one.
    pub(crate) text: Option<&'static str>,
}

impl Job {
    /// Against this target, these streams; small rows, no warm-up, ten seconds.
    pub(crate) fn new(target: &str, streams: &[(&'static str, PaceInput)]) -> Self {
        Self {
            target: target.to_owned(),
            settings: vec![("batch", "10".to_owned())],
            streams: streams.iter().map(|(name, pace)| (*name, vec![*pace])).collect(),
            sessions: 16,
            arrivals: None,
            spawn_rate: None,
            think: None,
            warm_up: Nanos::ZERO,
            until_steady: false,
            step: Nanos::from_secs(10),
            stop: StopRule::default(),
            objectives: Vec::new(),
            timeout: Nanos::from_secs(60),
            retries: 0,
            share: Share::WHOLE,
            seed: 42,
            started_at: "2026-01-01T00:00:00Z".to_owned(),
            start_in: Nanos::ZERO,
            audit: AuditLevel::Sums,
            audit_limit: Nanos::from_secs(60),
            telemetry: TelemetryRequest::default(),
            drop_tables: false,
            faults: String::new(),
            text: None,
        }
    }

    /// A share of it, which begins a minute after the previous one.
    pub(crate) fn share_of(&self, index: u32, of: u32) -> Self {
        let minute = index - 1;
        Self {
            started_at: format!("2026-01-01T{:02}:{:02}:00Z", minute / 60, minute % 60),
            start_in: Nanos::from_secs(60 * u64::from(minute)),
            share: Share { index, of, start_at: None },
            ..self.clone()
        }
    }

    /// A separate target.
    pub(crate) fn open_target(&self, root: &Path) -> Arc<dyn Target> {
        let options = TargetOptions {
            insert: None,
            data_directory: Some(root.to_owned()),
            leases_directory: None,
            application_name: "highwater-test".to_owned(),
            seed: Seed(self.seed),
            connect_timeout: Nanos::from_secs(5),
        };
        highwater_drivers::open(std::slice::from_ref(&self.target), &options).unwrap()
    }

    /// Generated once for the plan of a run and the run itself: its thousands of hosts take longer than a short run.
    pub(crate) fn workload(&self) -> Arc<Workload> {
        thread_local! {
            static LAST: RefCell<Option<(MadeOf, Arc<Workload>)>> = const { RefCell::new(None) };
        }
        let made_of: MadeOf = (self.text, self.settings.clone(), self.seed);
        LAST.with_borrow_mut(|last| match last {
            Some((of, workload)) if *of == made_of => Arc::clone(workload),
            _ => {
                let made = self.made_workload();
                *last = Some((made_of, Arc::clone(&made)));
                made
            }
        })
    }

    fn made_workload(&self) -> Arc<Workload> {
        let text = self.text.unwrap_or_else(|| builtin("cpu").unwrap().text);
        let spec = WorkloadSpec::parse(text).unwrap();
        let settings: BTreeMap<String, String> =
            self.settings.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        Arc::new(spec.instantiate(&settings, Seed(self.seed)).unwrap())
    }

    /// The request against that target.
    pub(crate) fn request(&self, target: Arc<dyn Target>, root: &Path) -> RunRequest {
        let mut plan = self.plan(&self.workload(), target.capabilities().default_sessions);
        if !self.faults.is_empty() {
            plan.faults = parse_faults(&self.faults).unwrap();
        }
        let directory = RunDirectory::create(root, "test", &plan).unwrap();
        self.request_in(target, plan, directory)
    }

    /// The same with an existing plan and directory.
    pub(crate) fn request_in(
        &self,
        target: Arc<dyn Target>,
        plan: Plan,
        directory: RunDirectory,
    ) -> RunRequest {
        let actions = (!plan.faults.is_empty()).then(|| target.actions()).flatten();
        RunRequest {
            ceilings: None,
            directory,
            plan,
            workload: self.workload(),
            target,
            driver: "test".to_owned(),
            started_at: self.started_at.clone(),
            options: RunOptions {
                drop: self.drop_tables,
                telemetry: self.telemetry.clone(),
                ..RunOptions::default()
            },
            actions,
            controls: Controls::default(),
            start_in: self.start_in,
            meets: None,
            command: CommandRecord::default(),
            version: VERSION.to_owned(),
        }
    }

    pub(crate) fn plan(&self, workload: &Workload, default_sessions: u32) -> Plan {
        let input = PlanInput {
            literals: false,
            streams: self
                .streams
                .iter()
                .map(|(name, paces)| StreamInput {
                    name: Some((*name).to_owned()),
                    paces: paces.clone(),
                    think: self.think,
                })
                .collect(),
            sessions: Some(self.sessions),
            arrivals: self.arrivals,
            spawn_rate: self.spawn_rate,
            warm_up: self.warm_up,
            until_steady: self.until_steady,
            step: self.step,
            stop: self.stop.clone(),
            objectives: self.objectives.clone(),
            steadiness: SteadinessRule::default(),
            retry: RetryPlan {
                attempts: self.retries,
                backoff: Nanos::from_millis(10),
                reconnect_limit: Nanos::from_secs(10),
            },
            timeout: self.timeout,
            audit: AuditPlan { level: self.audit, limit: self.audit_limit },
            share: self.share.clone(),
        };
        planner::plan(workload, &input, default_sessions).unwrap()
    }

    /// Runs it in a separate directory, which is removed afterwards.
    pub(crate) fn run(&self) -> RunEnd {
        let root = tempfile::tempdir().unwrap();
        self.run_in(root.path())
    }

    /// Runs it in `root/test`, which remains.
    pub(crate) fn run_in(&self, root: &Path) -> RunEnd {
        self.run_on(self.open_target(root), root)
    }

    /// Runs it against a target that may have been used before.
    pub(crate) fn run_on(&self, target: Arc<dyn Target>, root: &Path) -> RunEnd {
        try_run_on(self, target, root).unwrap()
    }

    /// Runs it against the same target with faults of another kind.
    pub(crate) fn run_faulty(&self, faults: &Arc<Faults>) -> RunEnd {
        let root = tempfile::tempdir().unwrap();
        let inner = self.open_target(root.path());
        let hooks = Arc::clone(faults);
        self.run_on(Arc::new(Hooked { inner, hooks }), root.path())
    }

    /// Runs it with an observer.
    pub(crate) fn run_watched(&self, user: Rc<dyn Observer>) -> RunEnd {
        let root = tempfile::tempdir().unwrap();
        self.run_watched_on(self.open_target(root.path()), root.path(), user)
    }

    /// The same against a target that may have been used before.
    pub(crate) fn run_watched_on(
        &self,
        target: Arc<dyn Target>,
        root: &Path,
        user: Rc<dyn Observer>,
    ) -> RunEnd {
        let (_keep, interrupts) = interrupts::channel();
        run(self.request(target, root), user, interrupts).unwrap()
    }

    /// Runs it; the user requests this many stops at that point of the run.
    pub(crate) fn run_interrupted(&self, at: At, times: u32) -> RunEnd {
        let root = tempfile::tempdir().unwrap();
        let (interrupter, interrupts) = interrupts::channel();
        let user = Rc::new(Impatient { at, times, interrupter });
        let target = self.open_target(root.path());
        run(self.request(target, root.path()), user, interrupts).unwrap()
    }
}

impl Job {
    /// Runs it; its user sends each command at that point of the run.
    pub(crate) fn run_commanded(&self, commands: &[(At, Command)]) -> Commanded {
        let root = tempfile::tempdir().unwrap();
        self.run_commanded_on(self.open_target(root.path()), root.path(), commands)
    }

    /// The same against a target that may have been used before.
    pub(crate) fn run_commanded_on(
        &self,
        target: Arc<dyn Target>,
        root: &Path,
        commands: &[(At, Command)],
    ) -> Commanded {
        let (interrupter, interrupts) = interrupts::channel();
        let (controller, controls) = control::channel(interrupter);
        let user = Rc::new(Commander {
            commands: commands.to_vec(),
            controller: controller.clone(),
            replies: RefCell::default(),
            events: RefCell::default(),
        });
        let observer = Rc::clone(&user) as Rc<dyn Observer>;
        let request = RunRequest { controls, ..self.request(target, root) };
        let end = run(request, observer, interrupts).unwrap();
        let replies = user.replies.take().into_iter();
        Commanded {
            end,
            answers: replies.map(|reply| reply.and_then(Reply::wait)).collect(),
            events: user.events.take(),
            controller,
        }
    }
}

/// The result of a run that was sent commands.
pub(crate) struct Commanded {
    pub(crate) end: RunEnd,
    /// In the order of the commands.
    pub(crate) answers: Vec<Result<InterventionRecord, Refusal>>,
    /// Events of interventions.
    pub(crate) events: Vec<InterventionRecord>,
    pub(crate) controller: Controller,
}

/// A user who sends commands.
struct Commander {
    commands: Vec<(At, Command)>,
    controller: Controller,
    replies: RefCell<Vec<Result<Reply, Refusal>>>,
    events: RefCell<Vec<InterventionRecord>>,
}

impl Observer for Commander {
    fn event(&self, event: &Event) {
        if let Event::Intervention(done) = event {
            self.events.borrow_mut().push(done.clone());
        }
        for (at, command) in &self.commands {
            if at.is(event) {
                let sent = self.controller.send(command.clone());
                self.replies.borrow_mut().push(sent);
            }
        }
    }
}

/// Runs a job against a target, which may reject it.
pub(crate) fn try_run_on(
    job: &Job,
    target: Arc<dyn Target>,
    root: &Path,
) -> Result<RunEnd, UserError> {
    let (_keep, interrupts) = interrupts::channel();
    run(job.request(target, root), Rc::new(Silent), interrupts)
}

/// Points of a run that its user sees.
#[derive(Clone, Copy)]
pub(crate) enum At {
    /// This second has ended.
    Second(u64),
    /// Filling of tables begins.
    Load,
    /// All shares wait for their start.
    Start,
    /// The audit begins.
    Audit,
}

impl At {
    fn is(self, event: &Event) -> bool {
        match (self, event) {
            (Self::Second(second), Event::Second(line)) => line.second == second,
            (Self::Load, Event::Part(Part::Load { .. }))
            | (Self::Start, Event::Part(Part::Start { .. }))
            | (Self::Audit, Event::Part(Part::Audit { .. })) => true,
            _ => false,
        }
    }
}

/// A user who stops the run.
struct Impatient {
    at: At,
    times: u32,
    interrupter: Interrupter,
}

impl Observer for Impatient {
    fn event(&self, event: &Event) {
        if self.at.is(event) {
            for _ in 0..self.times {
                self.interrupter.interrupt();
            }
        }
    }
}

/// One node whose cores are the only queue; responses take no time beyond the work.
pub(crate) fn one_node(parameters: &str) -> String {
    format!("sim:?nodes=1&shards=1&replicas=0&rtt=0&row=0&queue=inf&{parameters}")
}

/// The program's exit code.
pub(crate) fn exit_code(end: &RunEnd) -> u8 {
    analysis::exit_code(&end.record.judgments, end.ended)
}

/// The codes of all reasons of the judgment of the data.
pub(crate) fn data_reasons(record: &RunRecord) -> Vec<ReasonCode> {
    record.judgments.data.reasons.iter().map(|reason| reason.code).collect()
}

/// The codes of all reasons of the judgment of the measurement.
pub(crate) fn measurement_reasons(record: &RunRecord) -> Vec<ReasonCode> {
    record.judgments.measurement.reasons.iter().map(|reason| reason.code).collect()
}

/// Seconds as a quantity.
pub(crate) fn seconds(ns: Option<u64>) -> f64 {
    Nanos(ns.unwrap()).as_secs_f64()
}

/// A count as a quantity.
pub(crate) fn number(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap())
}

/// Open, with this many units per second.
pub(crate) fn open(rate: u64) -> PaceInput {
    PaceInput::Open(Rate::per_second(rate))
}

/// Closed, with this many sessions.
pub(crate) fn closed(sessions: u32) -> PaceInput {
    PaceInput::Closed(Some(sessions))
}

/// The only measured result of an op.
pub(crate) fn measured<'a>(record: &'a RunRecord, op: &str) -> &'a ResultRecord {
    let mut found = record.results.iter().filter(|r| r.op == op && r.phase == "measure");
    let result = found.next().unwrap();
    assert!(found.next().is_none());
    result
}

/// Every row of batches of this size is in exactly one count, and the audit used these counts.
pub(crate) fn expect_every_row_accounted_for(record: &RunRecord, batch: u64) {
    let text = highwater_report::text(record);
    let insert = measured(record, "insert");
    let rows = insert.rows;
    let counted = rows.acknowledged + rows.refused + rows.unknown;
    assert_eq!(rows.sent, counted, "{text}");
    assert_eq!(insert.sent * batch, rows.sent, "{text}");
    let audit = &record.audit;
    assert_eq!(audit.status, AuditStatus::Done, "{:?}\n{text}", audit.error);
    let judged = (audit.acknowledged, audit.unknown);
    assert_eq!(judged, (rows.acknowledged, rows.unknown), "{text}");
}

/// Nothing is missing, duplicate, or surplus; each unknown batch exists completely or not at all.
pub(crate) fn expect_clean(record: &RunRecord, batch: u64) {
    expect_every_row_accounted_for(record, batch);
    let text = highwater_report::text(record);
    let audit = &record.audit;
    assert_eq!(record.judgments.data.value, Data::Clean, "{text}");
    let wrong = (audit.missing, audit.surplus, audit.duplicated, audit.altered);
    assert_eq!(wrong, (0, 0, 0, 0), "{text}");
    let of_unknown = audit.found - audit.acknowledged;
    assert!(of_unknown <= audit.unknown, "{text}");
    assert_eq!(of_unknown % batch, 0, "{text}");
    assert!(audit.copies_differ.is_empty(), "{:?}", audit.copies_differ);
}
