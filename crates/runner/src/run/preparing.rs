//! Preparation before anything is sent. A stop by the user ends it without loss. Must not know what the tables consist
//! of.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::interrupts::Interrupts;
use highwater_driver::{Admin, Connect, TargetFacts};
use highwater_model::op::BoundWorkload;
use highwater_model::plan::AuditLevel;
use highwater_model::record::RunNote;
use highwater_model::stored::StoredForm;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::Run;
use crate::canary::{self, Canary, UncomparedColumn};
use crate::leases::KeptLeases;
use crate::record::note;
use crate::table_setup::{DeclaredTables, writes};
use crate::time_limits::within;

/// Time limit for replacing a connection on which a statement timed out.
const RENEW_LIMIT: Nanos = Nanos::from_secs(10);

/// Why a run that was stopped before its load has no record.
const STOPPED: &str =
    "stopped by the user before the load began: no load was sent, and there is no record";

/// The result of a preparation step, unless the user stops the run first.
pub(super) async fn unless_stopped<T>(
    interrupts: &Interrupts,
    preparation: impl Future<Output = Result<T, UserError>>,
) -> Result<T, UserError> {
    let mut interrupts = interrupts.clone();
    tokio::select! {
        biased;
        prepared = preparation => prepared,
        _ = interrupts.next() => Err(UserError::interrupted(STOPPED)),
    }
}

impl Run {
    /// Prepares every statement of the workload once, before anything is sent, and fails if the target rejects one:
    /// this is an error in the workload, not a loss of the target. Does not retry.
    pub(super) async fn check_statements(
        &self,
        bound: &Arc<BoundWorkload>,
    ) -> Result<(), UserError> {
        let target = &self.request.target;
        // A model prepares nothing, and an additional session would change its results.
        if target.capabilities().simulated {
            return Ok(());
        }
        let connect = Connect {
            workload: Arc::clone(bound),
            number: 0,
            attempt: 0,
            timeline: Rc::clone(&self.timeline),
        };
        match target.check_statements(connect).await {
            Err(error) => match error.kind {
                UserErrorKind::Preparation(_) | UserErrorKind::Usage => Err(error),
                // Opening a session is retried under load, as planned.
                _ => Ok(()),
            },
            Ok(()) => Ok(()),
        }
    }

    /// Binds the workload to the declared types of its tables, which the first share has made.
    pub(super) async fn bind_to_types(
        &mut self,
        admin: &mut dyn Admin,
        bound: Arc<BoundWorkload>,
        facts: &TargetFacts,
    ) -> Result<Arc<BoundWorkload>, UserError> {
        if self.request.plan.audit.level == AuditLevel::Off {
            return Ok(bound);
        }
        let declared = DeclaredTables::read(admin, &bound);
        self.declared = unless_stopped(&self.later_interrupts, declared).await?;
        self.bind(&facts.dialects)
    }

    /// Reopens the connection on which a statement timed out: its late response would be taken for that of the next
    /// statement. If the target does not respond, the old connection stays.
    pub(super) async fn renew(&self, admin: &mut Box<dyn Admin>) {
        let target = &self.request.target;
        if target.capabilities().simulated {
            return;
        }
        let opened = target.administer(Rc::clone(&self.timeline));
        let opened = within(RENEW_LIMIT, self.timeline.as_ref(), opened).await;
        if let Some(Ok(fresh)) = opened {
            *admin = fresh;
        }
    }
}

/// The error for a statement that timed out.
const IDLE_LIMIT: Nanos = Nanos::from_secs(15);
/// Shares write from their common start on. The first share runs the canary only if that start is further
/// away than this, and recreates no table in the last part of this time.
const BEFORE_START: Nanos = Nanos::from_secs(5);
const LAST_MOMENT: Nanos = Nanos::SECOND;

impl Run {
    /// Runs the canary on the tables that this run has created, which are then recreated, and
    /// returns the workload to be audited.
    pub(super) async fn try_audit(
        &mut self,
        admin: &mut Box<dyn Admin>,
        bound: Arc<BoundWorkload>,
        facts: &TargetFacts,
    ) -> Result<Arc<BoundWorkload>, UserError> {
        if !self.has_canary() {
            return Ok(bound);
        }
        let tried = self.kept.as_ref().and_then(KeptLeases::tried);
        let uncompared = match tried {
            Some(uncompared) => uncompared,
            None => self.try_new_tables(admin, &bound).await?,
        };
        if let Some(kept) = &self.kept {
            kept.keep_tried(&uncompared);
        }
        if uncompared.is_empty() {
            return Ok(bound);
        }
        self.declared.leave_out(&uncompared, &bound);
        self.bind(&facts.dialects)
    }

    /// A model has no types; and other shares must not write yet to a table that is about to be recreated.
    fn has_canary(&self) -> bool {
        let (plan, capabilities) = (&self.request.plan, self.request.target.capabilities());
        let level = plan.audit.level.min(capabilities.auditable);
        let is_database = capabilities.stores_values && !capabilities.simulated;
        let audits = level > AuditLevel::Off && is_database;
        audits && writes(&self.request) && (plan.share.of == 1 || self.is_alone_for(BEFORE_START))
    }

    /// Whether this is the first of several shares, and the others write nothing during this time.
    fn is_alone_for(&self, time: Nanos) -> bool {
        let plan = &self.request.plan;
        if self.meeting.is_some() {
            return plan.share.index == 1;
        }
        // Every share begins to load its rows at once.
        let waits = plan.share.index == 1 && plan.workload.rows_to_load == 0;
        waits && self.request.start_in > self.timeline.now().saturating_add(time)
    }

    async fn try_new_tables(
        &mut self,
        admin: &mut Box<dyn Admin>,
        bound: &Arc<BoundWorkload>,
    ) -> Result<Vec<UncomparedColumn>, UserError> {
        let stop = self.later_interrupts.clone();
        let unwritten = self.tables.unwritten(admin.as_mut(), bound);
        let unwritten = unless_stopped(&stop, unwritten).await?;
        if unwritten.is_empty() {
            return Ok(Vec::new());
        }
        let begun = self.tables.begin_canary(admin.as_mut(), &unwritten);
        unless_stopped(&stop, begun).await?;
        let canary = Canary {
            target: self.request.target.as_ref(),
            workload: &self.request.workload,
            bound,
            first_row: self.tables.first_row,
            last_row: canary::last_row(&self.request.plan, self.tables.first_row),
            before_load: true,
            timeline: &self.timeline,
        };
        let tried = async {
            let tried = std::pin::pin!(canary.try_tables(admin.as_mut(), &unwritten));
            let tried = within(canary::LIMIT, self.timeline.as_ref(), tried).await;
            tried.transpose()
        };
        let tried = unless_stopped(&stop, tried).await;
        let is_given_up = match &tried {
            Ok(tried) => tried.is_none(),
            Err(error) => error.kind == UserErrorKind::Interrupted,
        };
        if is_given_up {
            // A statement timed out, and its rows may still arrive.
            self.renew(admin).await;
            let deadline = self.timeline.now().saturating_add(IDLE_LIMIT);
            let waits = self.request.plan.share.of > 1 && self.meeting.is_none();
            let start = Some(self.request.start_in).filter(|_| waits);
            if !admin.quiesce(start.unwrap_or(deadline).min(deadline)).await? {
                // Its rows could be mixed with those of the load; the next run recreates the
                // tables.
                tried?;
                return Err(still_running());
            }
        }
        if self.request.plan.share.of > 1 && !self.is_alone_for(LAST_MOMENT) {
            return Err(too_late());
        }
        let (request, identity) = (&self.request, self.row_identity.clone());
        let ended = self.tables.end_canary(admin.as_mut(), bound, request, &identity);
        let ended = ended.await;
        // An error of the canary outweighs an error of the cleanup.
        let uncompared = tried?.unwrap_or_default();
        ended?;
        Ok(uncompared)
    }
}

/// Its rows may arrive at any time.
fn still_running() -> UserError {
    UserError::statement("a statement of the audit's try in the new tables is still running")
        .with_hint("find out what it waits for; --audit off begins the load without a try")
}

/// The error if the other shares begin to write to tables that should have been recreated first.
fn too_late() -> UserError {
    UserError::statement("the audit's try in the new tables was not over before --start-at")
        .with_hint("start all shares again, with --drop for the first one and a later --start-at")
}

/// A note on the columns that are not compared.
pub(super) fn uncompared_note(bound: &BoundWorkload) -> Option<RunNote> {
    let columns = bound
        .tables
        .iter()
        .flat_map(|table| {
            let left_out =
                table.columns.iter().filter(|column| column.form() == StoredForm::Uncompared);
            left_out
                .map(|column| format!("{}.{} ({})", table.name, column.name, column.declared.name))
        })
        .collect::<Vec<_>>()
        .join(", ");
    (!columns.is_empty()).then(|| {
        let message = format!(
            "the audit does not compare these columns, whose types give back other texts than were \
             sent: {columns}"
        );
        note("columns_not_compared", message)
    })
}
