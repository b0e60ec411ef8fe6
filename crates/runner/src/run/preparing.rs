//! Preparation before anything is sent. A stop by the user ends it without loss. Must not know what the tables consist
//! of.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{Admin, Connect, TargetFacts};
use highwater_model::op::BoundWorkload;
use highwater_model::plan::AuditLevel;
use highwater_model::units::Nanos;

use super::state::Run;
use crate::binding::DeclaredTables;
use crate::deadline::within;
use highwater_driver::interrupts::Interrupts;
use highwater_model::user_error::{UserError, UserErrorKind};

/// Time limit for replacing a connection on which a statement timed out.
const RENEW_LIMIT: Nanos = Nanos::from_secs(10);

/// Why a run that was stopped before its load has no record.
const STOPPED: &str =
    "stopped by the user before the load began: no load was sent, and there is no record";

/// The result of a preparation, unless the user stops the run first.
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
        // A model prepares nothing, and an additional session would change its course.
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
