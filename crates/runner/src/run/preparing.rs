//! Prepares every statement of a workload once, before anything is sent: what the target refuses then
//! is the workload's mistake, and not a loss of the target. Must not retry.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::{Connect, Target, TargetError, TargetErrorKind, Timeline};
use highwater_model::op::BoundWorkload;

/// Fails with what the target refuses of the workload's statements.
pub(super) async fn check_statements(
    target: &Arc<dyn Target>,
    bound: &Arc<BoundWorkload>,
    timeline: &Rc<dyn Timeline>,
) -> Result<(), TargetError> {
    // A model prepares nothing, and a session more would change its course.
    if target.capabilities().simulated {
        return Ok(());
    }
    let connect = Connect {
        workload: Arc::clone(bound),
        number: 0,
        attempt: 0,
        timeline: Rc::clone(timeline),
    };
    match target.check_statements(connect).await {
        Err(error) if is_of_workload(error.kind) => Err(error),
        // A session that cannot be opened now is tried again under load, as the plan has it.
        Ok(()) | Err(_) => Ok(()),
    }
}

fn is_of_workload(kind: TargetErrorKind) -> bool {
    matches!(
        kind,
        TargetErrorKind::Preparation(_) | TargetErrorKind::Usage
    )
}
