//! The load and the phases with a pace: preparing a pass, and the disk watch during it.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{Either, select};
use highwater_analysis::{late_allowed, late_message};
use highwater_driver::Admin;
use highwater_model::event::{Event, LoadBounds, Part};
use highwater_model::op::BoundWorkload;
use highwater_model::plan::{AuditLevel, Pace, PhaseKind, Plan, Unit};
use highwater_model::record::{EstimateRecord, Incident, IncidentKind, MeetingRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_workload::OpContext;

use super::{Run, executors_of, unless_stopped};
use crate::estimate::{self, EstimateInput, Watch};
use crate::executor::{Pass, PassStream};
use crate::pass::{self, PassRecord};
use crate::planner::load_plan;
use crate::record::collector::Collector;
use crate::record::{self, Parts};
use crate::request::rows_per_op;
use crate::schedule::Schedule;
use crate::sessions::Sessions;
use crate::source::{Feed, LoadFeed, NumberedRows, Source, SourcePlan, StreamFeed};
use crate::table_setup;

/// Time for the first readings of telemetry before a common begin.
const FIRST_READINGS: Nanos = Nanos::SECOND;

/// What ends the phases with a pace: rows, if a stream writes any, or time.
fn bounds(plan: &Plan, there: u64) -> LoadBounds {
    let writes = plan.streams.iter().any(|stream| stream.unit == Unit::Rows);
    let rows = plan.stop.rows.filter(|_| writes);
    let length =
        plan.phases.iter().map(|phase| phase.duration).fold(Nanos::ZERO, Nanos::saturating_add);
    LoadBounds {
        there: there.min(rows.unwrap_or(0)),
        rows,
        length: (!plan.stop.fills).then_some(length),
    }
}

impl Run {
    /// Estimates the run's cost, for the reader; rejects a run that cannot fit.
    pub(super) async fn estimate(
        &mut self,
        parts: &mut Parts,
        admin: &mut dyn Admin,
        bound: &BoundWorkload,
    ) -> Result<EstimateRecord, UserError> {
        if !self.request.options.no_disk_guard && table_setup::writes(&self.request) {
            self.space = admin.disk().await?;
        }
        let rows = self.tables.rows_before().iter().sum();
        let stored = if rows > 0 { admin.storage_bytes(bound).await.ok().flatten() } else { None };
        let input = EstimateInput {
            plan: &self.request.plan,
            workload: &self.request.workload,
            first_row: self.tables.first_row,
            filled: self.tables.filled(&self.request.workload),
            stored: stored.map(|bytes| (rows, bytes)),
            space: self.space.clone(),
        };
        let estimate = estimate::estimate(&input);
        estimate::check(&estimate)?;
        parts.record.estimate = Some(estimate.clone());
        Ok(estimate)
    }

    /// Fills the tables, if the workload requests rows before the first phase.
    pub(super) async fn load(
        &mut self,
        plan: &Arc<Plan>,
        bound: &Arc<BoundWorkload>,
        admin: &mut Box<dyn Admin>,
        collector: &mut Collector<'_>,
    ) -> Option<PassRecord> {
        let workload = Arc::clone(&self.request.workload);
        let op =
            workload.load_op().filter(|_| plan.workload.rows_to_load > self.tables.first_row)?;
        let first = self.tables.first_row;
        let (rows, batch) = (plan.workload.rows_to_load - first, plan.workload.load_batch);
        self.begin(Part::Load { rows });
        let sessions = self.request.target.capabilities().default_sessions * plan.share.of;
        let load = Arc::new(load_plan(plan, workload.op_name(op), sessions));
        let feed = LoadFeed { workload, op, first, batch, rows };
        let streams = vec![(Arc::new(feed) as Arc<dyn Feed>, Some(rows.div_ceil(batch.max(1))))];
        let pass = self.prepare_pass(&load, bound, streams).await;
        self.observer.event(&Event::Load(LoadBounds {
            there: first,
            rows: Some(first + rows),
            length: None,
        }));
        Some(self.pass(&pass, admin, collector).await)
    }

    /// Warm-up and measured steps.
    pub(super) async fn measure(
        &mut self,
        plan: &Arc<Plan>,
        bound: &Arc<BoundWorkload>,
        admin: &mut Box<dyn Admin>,
        collector: &mut Collector<'_>,
    ) -> PassRecord {
        let context =
            OpContext { first_row: self.tables.first_row.max(plan.workload.rows_to_load) };
        let there = if plan.stop.fills { self.tables.filled(&self.request.workload) } else { 0 };
        if let Some(rows) = plan.stop.rows.filter(|_| plan.stop.fills) {
            let there = there.min(rows);
            self.observer.event(&Event::Filling { there, rows });
        }
        let workload = &self.request.workload;
        let streams = plan
            .streams
            .iter()
            .filter_map(|stream| {
                let spec = workload.stream(&stream.name)?;
                let rows_per_op = rows_per_op(workload, &stream.name);
                let limit = plan
                    .stop
                    .rows
                    .filter(|_| rows_per_op > 0)
                    .map(|rows| rows.saturating_sub(there));
                let limit = limit.map(|rows| workload.ops_for_rows(&spec, rows));
                let feed: Arc<dyn Feed> =
                    Arc::new(StreamFeed { workload: Arc::clone(workload), stream: spec, context });
                Some((feed, limit))
            })
            .collect();
        let pass = self.prepare_pass(plan, bound, streams).await;
        self.observer.event(&Event::Load(bounds(plan, there)));
        self.pass(&pass, admin, collector).await
    }

    /// Waits for the common start of all shares; the user can stop meanwhile. Writes the start to the draft, the only
    /// place that has it if the run is killed.
    pub(super) async fn wait_for_start(
        &mut self,
        parts: &mut Parts,
        admin: &mut dyn Admin,
    ) -> Result<(), UserError> {
        if let Some(meeting) = &mut self.meeting {
            let (timeline, observer) = (self.timeline.as_ref(), self.observer.as_ref());
            let begin = meeting.begin(admin, timeline, observer);
            let begin = unless_stopped(&self.later_interrupts, begin).await?;
            self.request.start_in = begin.at;
            parts.record.meeting = Some(MeetingRecord {
                id: meeting.id().to_owned(),
                late_ns: self.timeline.now().saturating_sub(begin.at).0,
                error_ns: begin.error.0,
            });
        }
        let (start, now) = (self.request.start_in, self.timeline.now());
        parts.record.incidents.extend(self.late(now));
        let mut draft = parts.record.clone();
        draft.header.started_at = record::later(&draft.header.started_at, start.max(now));
        self.request.directory.write_draft(&draft)?;
        if start > now {
            let wait = start.saturating_sub(now);
            self.begin(Part::Start { wait });
            if self.meeting.is_some() {
                // The first readings take time, and all other shares begin without them.
                let before = self.timeline.sleep_until(start.saturating_sub(FIRST_READINGS));
                select(before, std::pin::pin!(self.interrupts.later().next())).await;
                self.poller.begin().await;
                self.is_polling = true;
            }
            let start = self.timeline.sleep_until(start);
            select(start, std::pin::pin!(self.interrupts.next())).await;
        }
        Ok(())
    }

    /// The incident of a share that was not ready at the common start.
    fn late(&self, now: Nanos) -> Option<Incident> {
        let (plan, start) = (&self.request.plan, self.request.start_in);
        let measured = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        let shortest = measured.map(|phase| phase.duration).min()?;
        let late = now.saturating_sub(start);
        let is_late = plan.share.of > 1 && start > Nanos::ZERO && late > late_allowed(shortest);
        let begin = if self.meeting.is_some() { "the common begin" } else { "--start-at" };
        let message = || late_message(late, begin);
        is_late.then(|| Incident::new(IncidentKind::SharesApart, message()))
    }

    async fn prepare_pass(
        &mut self,
        plan: &Arc<Plan>,
        bound: &Arc<BoundWorkload>,
        feeds: Vec<(Arc<dyn Feed>, Option<u64>)>,
    ) -> Arc<Pass> {
        if std::mem::take(&mut self.is_polling) {
            self.poller.start();
        } else {
            self.poller.begin().await;
        }
        let start = self.timeline.now();
        let schedule = Arc::new(Schedule::new(start, plan));
        // Neither the target nor the ledger then looks at values.
        let only_numbers =
            plan.audit.level < AuditLevel::Sums && !self.request.target.capabilities().reads_values;
        let numbered = |feed: Arc<dyn Feed>| -> Arc<dyn Feed> {
            let bound = Arc::clone(bound);
            if only_numbers { Arc::new(NumberedRows { feed, bound }) } else { feed }
        };
        let streams: Vec<PassStream> = feeds
            .into_iter()
            .enumerate()
            .map(|(stream, (feed, limit_ops))| PassStream {
                source: Arc::new(Source::new(
                    SourcePlan { plan: Arc::clone(plan), stream, limit_ops },
                    Arc::clone(&schedule),
                )),
                feed: numbered(feed),
                closed: plan.streams[stream].paces.iter().all(|p| matches!(p, Pace::Closed { .. })),
            })
            .collect();
        let sessions = Sessions::new(plan);
        let is_paced = plan.phases.iter().all(|phase| phase.kind != PhaseKind::Load);
        let may_grow = is_paced && self.controls.is_open();
        Arc::new(Pass {
            executors: executors_of(self.executors, sessions.all(), may_grow),
            sessions,
            may_grow,
            plan: Arc::clone(plan),
            streams,
            target: Arc::clone(&self.request.target),
            bound: Arc::clone(bound),
            start,
            directory: self.request.directory.clone(),
            schedule,
        })
    }

    /// Runs a pass to its end, and stops it before the target's disk is full.
    async fn pass(
        &mut self,
        pass: &Arc<Pass>,
        admin: &mut Box<dyn Admin>,
        collector: &mut Collector<'_>,
    ) -> PassRecord {
        collector.begin_pass(pass);
        collector.sample(Nanos::ZERO);
        let (timeline, space) = (Rc::clone(&self.timeline), self.space.clone());
        let watch = Watch::default();
        let (record, in_step) = {
            let (executors, stops) = (self.executors, &mut self.interrupts);
            let commands = &mut self.controls;
            let running = pass::run(pass, executors, &timeline, collector, stops, commands);
            let running = self.poller.beside(self.observer.as_ref(), running);
            let full = watch.full(admin.as_mut(), space, &timeline);
            match select(std::pin::pin!(running), std::pin::pin!(full)).await {
                Either::Left((record, full)) => (record, watch.end(full, &timeline).await),
                Either::Right((full, running)) => {
                    self.disk_full = full;
                    pass.schedule.stop(timeline.now());
                    (running.await, true)
                }
            }
        };
        if !in_step && let Ok(fresh) = self.request.target.administer(timeline).await {
            *admin = fresh;
        }
        collector.sample(self.timeline.now().saturating_sub(pass.start));
        record
    }
}
