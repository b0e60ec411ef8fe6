//! What a growth needs of a cluster: to be as large as the next size, and to say where it is.
//!
//! Must not measure. Whether the cluster is one that exists in several sizes, or is started for each of them, is
//! its own business.

use std::collections::BTreeMap;

use crate::cluster::{self, ClusterError, ClusterErrorKind};
use highwater_driver::{TargetError, TargetUrl};
use highwater_model::scale::ClusterStart;
use highwater_model::units::Nanos;
use highwater_runner::clock::RealClock;
use highwater_runner::request::LimitedNode;

/// A cluster of a size.
#[derive(Debug)]
pub struct Resized {
    /// Where it is.
    pub urls: Vec<TargetUrl>,
    /// Where its nodes' metrics are.
    pub metrics: Vec<String>,
    /// How long that took; nothing where it was there.
    pub took: Nanos,
}

/// A cluster that can have several sizes, one after the other.
pub trait Cluster {
    /// Makes the cluster as large as this, ready for a load and with its data balanced, and says where it is. With
    /// [`ClusterStart::Fresh`] it is a new one, without anything of those before; with [`ClusterStart::Grow`] it
    /// is the one before with more nodes, or a new one where there was none or it was larger. Returns early where
    /// the user stops.
    ///
    /// # Errors
    /// `Unreachable` where it did not become ready: it may be tried again.
    fn resize(&mut self, nodes: u32, start: ClusterStart) -> Result<Resized, TargetError>;

    /// Starts this node alone, as a new cluster of one; the next size begins with a new cluster.
    ///
    /// # Errors
    /// As [`Cluster::resize`]; a cluster that is not started has no nodes that could be.
    fn alone(&mut self, _node: u32) -> Result<Resized, TargetError> {
        Err(TargetError::usage("no node can be started alone"))
    }

    /// Whether quotas of its nodes begin only when they are warm.
    fn awaits_warm_up(&self) -> bool {
        false
    }

    /// Begins those quotas.
    ///
    /// # Errors
    /// They cannot be set.
    fn begin_quota(&mut self) -> Result<(), TargetError> {
        Ok(())
    }

    /// The nodes of this machine that run with a quota of CPU, which the machine's own CPU does not show.
    fn limited_nodes(&self) -> Vec<LimitedNode> {
        Vec::new()
    }

    /// Ends what it started, if anything; also after a failure.
    ///
    /// # Errors
    /// Something cannot be ended; all the rest is.
    fn end(&mut self) -> Result<(), ClusterError>;
}

/// A cluster that is started for each size, from a cluster file.
pub struct StartedCluster {
    cluster: cluster::Cluster,
    /// What is up is one node that was measured alone.
    is_alone: bool,
}

impl StartedCluster {
    /// Of a cluster that is not up yet.
    pub fn new(cluster: cluster::Cluster) -> Self {
        Self { cluster, is_alone: false }
    }

    /// Where it is now, and how long that took.
    fn made(&mut self, clock: &RealClock) -> Result<Resized, TargetError> {
        let urls = self.cluster.urls()?;
        let urls = urls.iter().map(|url| TargetUrl::parse(url));
        let nodes = self.cluster.nodes()?;
        Ok(Resized {
            urls: urls.collect::<Result<_, _>>()?,
            metrics: nodes.into_iter().flat_map(|node| node.metrics).collect(),
            took: clock.now(),
        })
    }
}

impl Cluster for StartedCluster {
    fn resize(&mut self, nodes: u32, start: ClusterStart) -> Result<Resized, TargetError> {
        let clock = RealClock::start();
        let grows = start == ClusterStart::Grow && !std::mem::take(&mut self.is_alone);
        // A cluster from which nodes are taken away is not one as the first was.
        if grows && (1..=nodes).contains(&self.cluster.size()) {
            self.cluster.resize(nodes)?;
        } else {
            self.cluster.fresh(nodes)?;
            self.cluster.restore()?;
        }
        self.made(&clock)
    }

    fn alone(&mut self, node: u32) -> Result<Resized, TargetError> {
        let clock = RealClock::start();
        self.is_alone = true;
        self.cluster.alone(node)?;
        self.cluster.restore()?;
        self.made(&clock)
    }

    fn awaits_warm_up(&self) -> bool {
        self.cluster.awaits_warm_up()
    }

    fn begin_quota(&mut self) -> Result<(), TargetError> {
        self.cluster.begin_quota().map_err(TargetError::from)
    }

    fn limited_nodes(&self) -> Vec<LimitedNode> {
        self.cluster.limited_nodes()
    }

    fn end(&mut self) -> Result<(), ClusterError> {
        self.cluster.down()
    }
}

impl From<ClusterError> for TargetError {
    fn from(error: ClusterError) -> Self {
        let of = match error.kind {
            ClusterErrorKind::Usage => Self::usage(error.message),
            ClusterErrorKind::Failed | ClusterErrorKind::Interrupted => {
                Self::unreachable(error.message)
            }
        };
        Self { hint: error.hint, ..of }
    }
}

/// Clusters that are there already, or simulated: one for each size.
#[derive(Debug, Clone)]
pub struct ReadyClusters {
    /// Where they are, by their nodes.
    pub by_nodes: BTreeMap<u32, Vec<TargetUrl>>,
}

impl Cluster for ReadyClusters {
    fn resize(&mut self, nodes: u32, _: ClusterStart) -> Result<Resized, TargetError> {
        let urls =
            self.by_nodes.get(&nodes).cloned().ok_or_else(|| {
                TargetError::usage(format!("there is no cluster of {nodes} nodes"))
            })?;
        Ok(Resized { urls, metrics: Vec::new(), took: Nanos::ZERO })
    }

    fn end(&mut self) -> Result<(), ClusterError> {
        Ok(())
    }
}
