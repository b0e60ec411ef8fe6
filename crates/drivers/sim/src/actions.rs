//! Performs planned actions on a simulated cluster, on the run's timeline. Must not decide what an action does to ops
//! in progress; see `cluster`.

use std::fmt;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use highwater_driver::contract::{ClusterActions, Response, Timeline};
use highwater_model::fault::FaultAction;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use tokio::sync::Notify;

use super::cluster::Cluster;
use super::parameters::SimParameters;
use super::session::lock;

/// Acts on a cluster.
#[derive(Clone)]
pub(super) struct SimActions {
    pub(super) parameters: Arc<SimParameters>,
    pub(super) cluster: Arc<Mutex<Cluster>>,
    pub(super) changed: Arc<Notify>,
}

impl fmt::Debug for SimActions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimActions").finish_non_exhaustive()
    }
}

impl ClusterActions for SimActions {
    fn check(&self, action: &FaultAction) -> Result<(), UserError> {
        let nodes = self.parameters.nodes;
        if !action.is_of_nodes() {
            let message = format!("`{action}`: a simulated cluster has only nodes");
            let hint = "act on them, such as kill node 1 at 10s, or name a real target";
            return Err(UserError::usage(message).with_hint(hint));
        }
        if action.node().is_some_and(|node| node > nodes) {
            let message = format!("`{action}`: the simulated cluster has {nodes} nodes");
            let hint = "nodes are numbered from 1; add nodes with `sim:?nodes=…`";
            return Err(UserError::usage(message).with_hint(hint));
        }
        Ok(())
    }

    fn perform(&self, action: FaultAction, timeline: Rc<dyn Timeline>) -> Response<'static, ()> {
        let actor = self.clone();
        Box::pin(async move { actor.act(action, timeline.as_ref()).await })
    }

    fn release(&self) {}
}

impl SimActions {
    async fn act(&self, action: FaultAction, timeline: &dyn Timeline) -> Result<(), UserError> {
        self.check(&action)?;
        let node = action.node().unwrap_or(1) - 1;
        match action {
            FaultAction::Kill { .. } => self.take_away(node, timeline, true),
            FaultAction::Stop { .. } => self.take_away(node, timeline, false),
            FaultAction::Start { .. } => self.start(node, timeline).await,
            FaultAction::Restart { .. } => {
                self.take_away(node, timeline, false)?;
                self.start(node, timeline).await
            }
            FaultAction::Pause { for_ns, .. } => {
                self.slow_down(node, Nanos(for_ns), 0.0, timeline).await
            }
            FaultAction::Throttle { cpu_ppm, for_ns, .. } => {
                self.slow_down(node, Nanos(for_ns), f64::from(cpu_ppm) / 1e6, timeline).await
            }
            FaultAction::RollingRestart => {
                for node in 0..self.parameters.nodes {
                    self.take_away(node, timeline, false)?;
                    self.start(node, timeline).await?;
                }
                Ok(())
            }
            // Refused above.
            FaultAction::Sql { .. } | FaultAction::Run { .. } => Ok(()),
        }
    }

    async fn slow_down(
        &self,
        node: u32,
        length: Nanos,
        speed: f64,
        timeline: &dyn Timeline,
    ) -> Result<(), UserError> {
        self.is_up(node)?;
        let now = timeline.now();
        self.change(|cluster| cluster.slow_down(node, now, length, speed));
        timeline.sleep_until(now.saturating_add(length)).await;
        Ok(())
    }

    fn take_away(
        &self,
        node: u32,
        timeline: &dyn Timeline,
        is_killed: bool,
    ) -> Result<(), UserError> {
        self.is_up(node)?;
        self.change(|cluster| cluster.take_away(node, timeline.now(), is_killed));
        Ok(())
    }

    async fn start(&self, node: u32, timeline: &dyn Timeline) -> Result<(), UserError> {
        if self.is_up(node).is_ok() {
            return Err(UserError::cluster(format!("node {} is up", node + 1)));
        }
        timeline.sleep_until(timeline.now().saturating_add(self.parameters.start)).await;
        self.change(|cluster| cluster.bring_back(node, timeline.now()));
        Ok(())
    }

    fn is_up(&self, node: u32) -> Result<(), UserError> {
        let is_down = lock(&self.cluster).outages.as_ref().is_some_and(|of| of.is_down(node));
        if is_down {
            return Err(UserError::cluster(format!("node {} is down", node + 1)));
        }
        Ok(())
    }

    /// Changes the cluster, and wakes all sessions, of which some may wait for that.
    fn change(&self, change: impl FnOnce(&mut Cluster)) {
        change(&mut lock(&self.cluster));
        self.changed.notify_waiters();
    }
}
