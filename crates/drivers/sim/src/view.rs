//! Access to the shared state of the simulated cluster. Must not wait.

use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use highwater_model::units::Nanos;

use super::cluster::Cluster;
use super::parameters::SimParameters;
use highwater_driver::contract::Timeline;
use highwater_model::user_error::{UserError, UserErrorKind};

/// The only insert mode of the model.
pub(super) const INSERT_MODE: &str = "bulk";

/// The cluster as seen by connections other than those of the load, on the run's timeline.
pub(super) struct ClusterView {
    pub(super) parameters: Arc<SimParameters>,
    pub(super) cluster: Arc<Mutex<Cluster>>,
    pub(super) timeline: Rc<dyn Timeline>,
}

impl ClusterView {
    pub(super) fn alive(&self) -> Result<MutexGuard<'_, Cluster>, UserError> {
        alive(&self.cluster, self.timeline.now())
    }
}

/// The cluster, unless it is down.
pub(super) fn alive(
    cluster: &Mutex<Cluster>,
    now: Nanos,
) -> Result<MutexGuard<'_, Cluster>, UserError> {
    let cluster = lock(cluster);
    if cluster.is_dead(now) {
        return Err(UserError::unreachable(
            "target `sim:` is down, as its parameter `die` demands",
        )
        .with_hint("give `die` a later time, or leave it out"));
    }
    Ok(cluster)
}

/// A panic elsewhere must not hide the counts, so poison is ignored.
pub(super) fn lock(cluster: &Mutex<Cluster>) -> MutexGuard<'_, Cluster> {
    cluster.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn no_table(name: &str) -> UserError {
    UserError::new(
        UserErrorKind::MissingTable,
        format!("target `sim:`: table `{name}` does not exist"),
    )
}
