//! A run from beginning to end: connect, create, load, measure, drain, audit, record.
//!
//! Reads as the story of a run; each step is a module of its own.

mod auditing;

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{Either, select};
use highwater_core::analysis;
use highwater_core::model::display::duration;
use highwater_core::model::op::{BoundWorkload, RowMaker};
use highwater_core::model::plan::{Pace, PhaseKind, Plan};
use highwater_core::model::record::{Finding, PhaseRecord, RunRecord};
use highwater_core::model::units::Nanos;
use highwater_core::workload::OpContext;
use highwater_driver::{Admin, TargetError, Timeline};

use crate::audit::Audited;
use crate::clock::{RealClock, RealTimeline, SimulatedTimeline};
use crate::collector::{Collector, KeyNames};
use crate::executor::{self, Pass, PassStream, key_plans, sessions_of};
use crate::feed::{Feed, LoadFeed, StreamFeed};
use crate::ground::{self, Ground, Intention};
use crate::interrupts::Interrupts;
use crate::observer::{Event, Observer};
use crate::pass::{self, Executors, PassRecord, Passes};
use crate::planner::load_plan;
use crate::request::rows_per_op;
use crate::schedule::Schedule;
use crate::source::{Source, SourcePlan};
use crate::summing::{self, Parts};

pub use crate::request::{Ended, RunEnd, RunError, RunRequest};

/// Why an audit cannot be trusted.
const STILL_AT_WORK: &str = "statements of this run may still have been at work";
/// What there is to say about a sink.
const STORES_NOTHING: &str = "a sink stores nothing: no audit, and no figure is a database's";
/// How long the size of the tables is waited for after the audit.
const STORAGE_LIMIT: Nanos = Nanos::from_secs(10);

/// Runs a request to its record.
pub fn run(
    request: RunRequest,
    observer: Rc<dyn Observer>,
    interrupts: Interrupts,
) -> Result<RunEnd, RunError> {
    let directory = request.directory.clone();
    let end = run_on_its_timeline(request, observer, interrupts);
    if end.is_err() {
        directory.discard();
    }
    end
}

fn run_on_its_timeline(
    request: RunRequest,
    observer: Rc<dyn Observer>,
    interrupts: Interrupts,
) -> Result<RunEnd, RunError> {
    let clock = RealClock::start();
    if request.target.capabilities().simulated_clock {
        let simulated = SimulatedTimeline::new();
        let timeline: Rc<dyn Timeline> = Rc::new(simulated.clone());
        let executors = Executors::Inline;
        let run = Run {
            request,
            observer,
            interrupts,
            timeline,
            executors,
            ground: Ground::default(),
        };
        simulated.block_on(run.whole()).ok_or(RunError::Stuck)?
    } else {
        RealTimeline::block_on(clock, |timeline| {
            let executors = Executors::Threads(clock);
            Run {
                request,
                observer,
                interrupts,
                timeline,
                executors,
                ground: Ground::default(),
            }
            .whole()
        })?
    }
}

/// A run on its timeline.
struct Run {
    request: RunRequest,
    observer: Rc<dyn Observer>,
    interrupts: Interrupts,
    timeline: Rc<dyn Timeline>,
    executors: Executors,
    /// What was there before this run.
    ground: Ground,
}

impl Run {
    async fn whole(mut self) -> Result<RunEnd, RunError> {
        let observer = Rc::clone(&self.observer);
        let target = Arc::clone(&self.request.target);
        let plan = Arc::new(self.request.plan.clone());
        let mut admin = target.administer(Rc::clone(&self.timeline)).await?;
        let facts = admin.facts().await?;
        let bound = self.bind(&facts.dialects)?;
        if plan.share.index == 1 {
            let intention = Intention::of(&self.request);
            self.ground =
                ground::prepare(admin.as_mut(), &bound, &intention, &self.timeline).await?;
        }
        let mut parts = Parts::new(&self.request, facts, &self.ground);
        self.request.directory.write_draft(&parts.draft())?;
        self.announce(&parts);
        let journal = self.request.directory.journal()?;
        let embedded = Arc::clone(&target);
        let mut collector = Collector::new(
            &plan,
            journal,
            observer.as_ref(),
            Box::new(move || embedded.embedded_cpu()),
            matches!(self.executors, Executors::Threads(_)),
        );
        let load = self.load(&plan, &bound, &mut collector).await;
        let stopped = load
            .as_ref()
            .is_some_and(|load| load.fatal.is_some() || load.interrupted);
        parts.bytes_before = admin.storage_bytes(&bound).await.ok().flatten();
        if !stopped {
            self.wait_for_start().await;
        }
        let main = if stopped || self.interrupts.wished().is_some() {
            None
        } else {
            Some(self.measure(&plan, &bound, &mut collector).await)
        };
        self.conclude(parts, Passes { load, main }, admin, collector)
            .await
    }

    fn bind(&self, dialects: &[String]) -> Result<Arc<BoundWorkload>, RunError> {
        let style = self.request.target.placeholders();
        let workload = Arc::clone(&self.request.workload);
        let mut bound = workload
            .bind(dialects, style)
            .map_err(|mistake| RunError::Workload(mistake.message))?;
        let fill = move |table, first, rows, batch: &mut _| {
            workload.fill_row_batch(table, first, rows, batch);
        };
        bound.rows = Some(RowMaker(Arc::new(fill)));
        Ok(Arc::new(bound))
    }

    fn announce(&self, parts: &Parts) {
        self.observer.event(&Event::Begun {
            directory: self.request.directory.path().display().to_string(),
            title: parts.title(),
        });
    }

    /// Fills the tables, where the workload asks for rows before the first phase.
    async fn load(
        &mut self,
        plan: &Arc<Plan>,
        bound: &Arc<BoundWorkload>,
        collector: &mut Collector<'_>,
    ) -> Option<PassRecord> {
        let workload = Arc::clone(&self.request.workload);
        let op = workload
            .load_op()
            .filter(|_| plan.workload.rows_to_load > self.ground.first_row)?;
        let first = self.ground.first_row;
        let (rows, batch) = (plan.workload.rows_to_load - first, plan.workload.load_batch);
        self.phase("load", &format!("{rows} rows"));
        let sessions = self.request.target.capabilities().default_sessions * plan.share.of;
        let load = Arc::new(load_plan(plan, workload.op_name(op), sessions));
        let feed = LoadFeed {
            op,
            table: 0,
            first,
            batch,
            rows,
            workload,
        };
        let streams = vec![(
            Arc::new(feed) as Arc<dyn Feed>,
            Some(rows.div_ceil(batch.max(1))),
        )];
        Some(self.pass(&load, bound, streams, collector).await)
    }

    /// Warm-up and measured steps.
    async fn measure(
        &mut self,
        plan: &Arc<Plan>,
        bound: &Arc<BoundWorkload>,
        collector: &mut Collector<'_>,
    ) -> PassRecord {
        let context = OpContext {
            first_row: self.ground.first_row.max(plan.workload.rows_to_load),
        };
        let streams = plan
            .streams
            .iter()
            .filter_map(|stream| {
                let spec = self.request.workload.stream(&stream.name)?;
                let rows_per_op = rows_per_op(&self.request.workload, &stream.name);
                let limit = plan.stop.rows.filter(|_| rows_per_op > 0);
                let limit = limit.map(|rows| rows.div_ceil(rows_per_op));
                let workload = Arc::clone(&self.request.workload);
                let feed: Arc<dyn Feed> = Arc::new(StreamFeed {
                    workload,
                    stream: spec,
                    context,
                });
                Some((feed, limit))
            })
            .collect();
        self.pass(plan, bound, streams, collector).await
    }

    /// All shares begin together; the user need not wait to stop.
    async fn wait_for_start(&mut self) {
        let now = self.timeline.now();
        if self.request.start_in <= now {
            return;
        }
        let left = duration(self.request.start_in.saturating_sub(now).0);
        self.phase("start", &format!("in {left}"));
        let start = self.timeline.sleep_until(self.request.start_in);
        select(start, std::pin::pin!(self.interrupts.next())).await;
    }

    async fn pass(
        &mut self,
        plan: &Arc<Plan>,
        bound: &Arc<BoundWorkload>,
        feeds: Vec<(Arc<dyn Feed>, Option<u64>)>,
        collector: &mut Collector<'_>,
    ) -> PassRecord {
        let durations: Vec<Nanos> = plan.phases.iter().map(|phase| phase.duration).collect();
        let start = self.timeline.now();
        let schedule = Arc::new(Schedule::new(start, &durations));
        let streams: Vec<PassStream> = feeds
            .into_iter()
            .enumerate()
            .map(|(stream, (feed, limit_ops))| PassStream {
                source: Arc::new(Source::new(
                    SourcePlan {
                        plan: Arc::clone(plan),
                        stream,
                        limit_ops,
                    },
                    Arc::clone(&schedule),
                )),
                feed,
                sessions: sessions_of(plan, stream),
                closed: plan.streams[stream]
                    .paces
                    .iter()
                    .all(|p| matches!(p, Pace::Closed { .. })),
            })
            .collect();
        let sessions: Vec<u32> = streams.iter().map(|stream| stream.sessions).collect();
        let ops: Vec<String> = bound.ops.iter().map(|op| op.name.clone()).collect();
        collector.begin_pass(plan, KeyNames::new(plan, &sessions, ops));
        let pass = Arc::new(Pass {
            keys: key_plans(plan, streams.len(), bound.ops.len()),
            plan: Arc::clone(plan),
            streams,
            target: Arc::clone(&self.request.target),
            bound: Arc::clone(bound),
            start,
            executors: executors_of(self.executors, &sessions),
            directory: self.request.directory.clone(),
            schedule,
        });
        collector.sample(Nanos::ZERO);
        let record = pass::run(
            &pass,
            self.executors,
            &self.timeline,
            collector,
            &mut self.interrupts,
        )
        .await;
        collector.sample(self.timeline.now().saturating_sub(start));
        record
    }

    async fn conclude(
        mut self,
        mut parts: Parts,
        mut passes: Passes,
        mut admin: Box<dyn Admin>,
        mut collector: Collector<'_>,
    ) -> Result<RunEnd, RunError> {
        let bound = self.bind(&parts.facts.dialects)?;
        let empty = executor::ledgers(&self.request.plan, &bound, &self.request.directory);
        let mut ledgers = summing::ledgers(&mut passes, empty);
        let fatal = passes.fatal();
        let audit_begin = self.timeline.now();
        let audited = self
            .audit(&bound, &mut ledgers, &mut admin, fatal.is_some())
            .await;
        let noted = self.close_ground(&passes, &audited, admin.as_mut()).await;
        parts.set_tables(&self.ground);
        let Audited {
            record: audit,
            quiet,
            ..
        } = audited;
        // An audit that did not end well may have left its question on the connection.
        if !matches!(audit.status.as_str(), "failed" | "timeout") && audit.error.is_none() {
            parts.bytes_after = self.storage_bytes(admin.as_mut(), &bound).await;
        }
        let interrupted = passes.interrupted() || self.interrupts.wished().is_some();
        let measured = passes.main.as_ref().is_some_and(|main| !main.interrupted);
        let journal_error = collector.journal_error.take();
        parts.findings = self.findings([
            (
                "interrupted",
                (interrupted && !measured).then(|| "the run was stopped by the user".to_owned()),
            ),
            (
                "audit_interrupted",
                (interrupted && measured)
                    .then(|| "the user wished to stop when all had been measured".to_owned()),
            ),
            (
                "target_lost",
                fatal.as_ref().map(|error| error.message.clone()),
            ),
            ("not_quiet", (!quiet).then(|| STILL_AT_WORK.to_owned())),
            ("record_incomplete", journal_error),
            ("not_noted", noted.err().map(|error| error.message)),
        ]);
        let early = summing::early_ends(&self.request.plan, &passes);
        parts.findings.extend(early);
        parts.audit_phase = PhaseRecord {
            name: "audit".to_owned(),
            kind: PhaseKind::Audit,
            step: None,
            start_ns: audit_begin.saturating_sub(passes.origin()).0,
            duration_ns: self.timeline.now().saturating_sub(audit_begin).0,
        };
        let mut record = summing::record(&self.request, parts, &passes, audit, &mut collector);
        record.judgements = analysis::judge(&record);
        self.keep(&mut record);
        let ended = match (fatal, interrupted) {
            (Some(_), _) => Ended::TargetLost,
            (None, true) => Ended::Interrupted,
            (None, false) => Ended::Complete,
        };
        Ok(RunEnd { record, ended })
    }

    /// Sentences beside the figures: those given, and what was found before the load.
    fn findings(&self, ended: [(&str, Option<String>); 6]) -> Vec<Finding> {
        let sink = self.request.target.is_sink();
        let before = [
            ("continued", self.ground.told()),
            ("sink", sink.then(|| STORES_NOTHING.to_owned())),
        ];
        let all = ended.into_iter().chain(before);
        all.filter_map(|(code, message)| {
            Some(Finding {
                code: code.to_owned(),
                message: message?,
            })
        })
        .collect()
    }

    /// Says in the list of tables how far this run came. What shares wrote together, none of them
    /// can say.
    async fn close_ground(
        &mut self,
        passes: &Passes,
        audited: &Audited,
        admin: &mut dyn Admin,
    ) -> Result<(), TargetError> {
        if self.request.plan.share.of > 1 || !Intention::of(&self.request).writes {
            return Ok(());
        }
        let end = self.ground.rows_end(&self.request, passes);
        let rows = audited.rows.as_deref();
        self.ground.close(admin, end, rows, &self.timeline).await
    }

    /// Good to know, but not worth a long wait.
    async fn storage_bytes(&self, admin: &mut dyn Admin, bound: &BoundWorkload) -> Option<u64> {
        let limit = self.timeline.now().saturating_add(STORAGE_LIMIT);
        match select(admin.storage_bytes(bound), self.timeline.sleep_until(limit)).await {
            Either::Left((bytes, _)) => bytes.ok().flatten(),
            Either::Right(_) => None,
        }
    }

    /// Writes the record; what cannot be written is said in the record that is shown.
    fn keep(&self, record: &mut RunRecord) {
        if let Err(error) = self.request.directory.write_record(record) {
            self.observer.event(&Event::Warning(error.to_string()));
            let code = "record_incomplete";
            match record.findings.iter_mut().find(|f| f.code == code) {
                Some(finding) => finding.message = format!("{}; {error}", finding.message),
                None => record.findings.push(Finding {
                    code: code.to_owned(),
                    message: error.to_string(),
                }),
            }
            record.judgements = analysis::judge(record);
        }
    }

    fn phase(&self, name: &str, about: &str) {
        self.observer.event(&Event::Phase {
            name: name.to_owned(),
            about: about.to_owned(),
        });
    }
}

fn executors_of(executors: Executors, sessions: &[u32]) -> u32 {
    match executors {
        Executors::Inline => 1,
        Executors::Threads(_) => crate::telemetry::cores()
            .min(sessions.iter().sum::<u32>())
            .max(1),
    }
}
