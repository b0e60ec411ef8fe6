//! Performs the planned actions on the cluster of a target, each at its time, beside the load. Must not know what an
//! action does, or judge its effect.

use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::ClusterActions;
use highwater_driver::{BoxFuture, Connect, Request, Response, Target, Timeline};
use highwater_model::control::{Change, InterventionRecord};
use highwater_model::display::span;
use highwater_model::fault::{FaultAction, PlannedFault};
use highwater_model::literal::LiteralSql;
use highwater_model::op::{BoundOp, BoundOpKind, BoundWorkload};
use highwater_model::plan::PhaseKind;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::executor::Pass;

/// The planned actions that are left, and the one that is under way.
pub(crate) struct Faults {
    left: VecDeque<PlannedFault>,
    actions: Option<Arc<dyn ClusterActions>>,
    /// When it began, and how it ends.
    under_way: Option<(PlannedFault, Nanos, Response<'static, ()>)>,
}

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faults").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Faults {
    /// The actions of a pass.
    pub(crate) fn new(pass: &Pass, actions: Option<Arc<dyn ClusterActions>>) -> Self {
        let is_paced = pass.plan.phases.iter().any(|phase| phase.kind == PhaseKind::Measure);
        // One load generator of several acts for all of them.
        let is_first = pass.plan.share.index == 1;
        let planned = pass.plan.faults.iter().filter(|_| is_paced && is_first);
        Self { left: planned.cloned().collect(), actions, under_way: None }
    }

    /// Performs the next action at its time, and returns what was done; never returns without one. If it is dropped, the
    /// next call continues.
    pub(crate) async fn next(
        &mut self,
        pass: &Pass,
        timeline: &Rc<dyn Timeline>,
    ) -> InterventionRecord {
        if self.under_way.is_none() {
            let Some((at, actions)) = self.due(pass) else {
                return std::future::pending().await;
            };
            timeline.sleep_until(at).await;
            if let Some(planned) = self.left.pop_front() {
                let done = match &planned.action {
                    FaultAction::Sql { statement } => {
                        let (target, timeline) = (Arc::clone(&pass.target), Rc::clone(timeline));
                        Box::pin(execute(target, statement.clone(), timeline))
                    }
                    action => actions.perform(action.clone(), Rc::clone(timeline)),
                };
                self.under_way = Some((planned, timeline.now(), done));
            }
        }
        match self.done(pass, timeline.as_ref()).await {
            Some(done) => done,
            None => std::future::pending().await,
        }
    }

    /// After the load: releases what is held, and waits for the action that is under way, if one is.
    pub(crate) async fn end(
        &mut self,
        pass: &Pass,
        timeline: &dyn Timeline,
    ) -> Option<InterventionRecord> {
        if let Some(actions) = &self.actions {
            actions.release();
        }
        if let Some((planned, _, done)) = &mut self.under_way
            && matches!(planned.action, FaultAction::Sql { .. })
        {
            let limit = timeline.now().saturating_add(STATEMENT_AFTER);
            let statement = std::mem::replace(done, Box::pin(std::future::pending()));
            *done = Box::pin(within(statement, timeline.sleep_until(limit)));
        }
        self.done(pass, timeline).await
    }

    async fn done(&mut self, pass: &Pass, timeline: &dyn Timeline) -> Option<InterventionRecord> {
        let (_, _, done) = self.under_way.as_mut()?;
        let failed = done.await.err().map(|error| error.message);
        let (planned, began, _) = self.under_way.take()?;
        let phase = pass.schedule.phase_at(began).and_then(|(at, _)| pass.schedule.phase(at));
        Some(InterventionRecord {
            by: None,
            time_ns: began.saturating_sub(pass.start).0,
            phase: phase.map_or("drain".to_owned(), |phase| phase.name),
            change: Change::Fault {
                planned_ns: planned.at.0,
                action: planned.action,
                took_ns: timeline.now().saturating_sub(began).0,
                failed,
            },
        })
    }

    /// The time of the next action: it counts from the first measured phase.
    fn due(&self, pass: &Pass) -> Option<(Nanos, Arc<dyn ClusterActions>)> {
        let actions = self.actions.clone()?;
        let planned = self.left.front()?;
        let phases = pass.phases();
        let measured = phases.iter().find(|phase| phase.kind == PhaseKind::Measure)?;
        let begin = pass.start.saturating_add(measured.times.start);
        Some((begin.saturating_add(planned.at), actions))
    }
}

/// Time that a statement has after the load, which it no longer affects.
const STATEMENT_AFTER: Nanos = Nanos::from_secs(60);
/// Its session has a number that none of the load has.
const STATEMENT_SESSION: u32 = u32::MAX;

/// Executes a statement of the user on a session of its own.
async fn execute(
    target: Arc<dyn Target>,
    statement: String,
    timeline: Rc<dyn Timeline>,
) -> Result<(), UserError> {
    let mut sql = LiteralSql::default();
    sql.push_text(&statement);
    let op = BoundOp { name: "fault".to_owned(), kind: BoundOpKind::Literal(sql) };
    let workload = Arc::new(BoundWorkload { tables: Vec::new(), ops: vec![op], rows: None });
    let connect = Connect { workload, number: STATEMENT_SESSION, attempt: 0, timeline };
    let mut session = target.connect(connect).await?;
    let mut request = Request::empty();
    session.encoder().encode(&mut request);
    match session.execute(&mut request).await.error {
        None => Ok(()),
        Some(error) => Err(UserError::statement(error.message)),
    }
}

async fn within(
    statement: Response<'static, ()>,
    limit: BoxFuture<'static, ()>,
) -> Result<(), UserError> {
    tokio::select! {
        biased;
        done = statement => done,
        () = limit => {
            let after = span(STATEMENT_AFTER.0);
            Err(UserError::statement(format!("the statement had not ended {after} after the load")))
        }
    }
}
