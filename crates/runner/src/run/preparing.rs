//! What comes before anything is sent, which a stop of the user ends: nothing is lost by it. Must not know what the
//! tables are made of.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{Admin, Connect, TargetError, TargetErrorKind, TargetFacts};
use highwater_model::op::BoundWorkload;
use highwater_model::plan::AuditLevel;
use highwater_model::units::Nanos;

use super::RunError;
use super::state::Run;
use crate::binding::DeclaredTables;
use crate::deadline::within;
use crate::interrupts::Interrupts;

/// For a new connection in place of one on which a statement was given up.
const RENEW_LIMIT: Nanos = Nanos::from_secs(10);

/// What a preparation comes to, unless the user stops the run before that.
pub(super) async fn unless_stopped<T, E>(
    interrupts: &Interrupts,
    preparation: impl Future<Output = Result<T, E>>,
) -> Result<T, RunError>
where
    RunError: From<E>,
{
    let mut interrupts = interrupts.clone();
    tokio::select! {
        biased;
        prepared = preparation => Ok(prepared?),
        _ = interrupts.next() => Err(RunError::Interrupted),
    }
}

impl Run {
    /// Prepares every statement of the workload once, before anything is sent, and fails with what the target refuses
    /// of them: that is the workload's mistake, and not a loss of the target. Does not retry.
    pub(super) async fn check_statements(
        &self,
        bound: &Arc<BoundWorkload>,
    ) -> Result<(), TargetError> {
        let target = &self.request.target;
        // A model prepares nothing, and a session more would change its course.
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
                TargetErrorKind::Preparation(_) | TargetErrorKind::Usage => Err(error),
                // A session that cannot be opened now is tried again under load, as the plan has it.
                _ => Ok(()),
            },
            Ok(()) => Ok(()),
        }
    }

    /// The workload with the types that its tables declare, which the first share has made.
    pub(super) async fn bind_to_types(
        &mut self,
        admin: &mut dyn Admin,
        bound: Arc<BoundWorkload>,
        facts: &TargetFacts,
    ) -> Result<Arc<BoundWorkload>, RunError> {
        if self.request.plan.audit.level == AuditLevel::Off {
            return Ok(bound);
        }
        let declared = DeclaredTables::read(admin, &bound);
        self.declared = unless_stopped(&self.later_interrupts, declared).await?;
        self.bind(&facts.dialects)
    }

    /// Opens the connection again on which a statement was given up, whose answer would be taken for that of the next
    /// one. Where the target does not answer, the old one stays.
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
