//! The interface of a cluster for a growth: resizes to the next size, and returns its URLs.
//!
//! Must not measure. An implementation may use existing clusters of several sizes, or start one for each size.

use std::collections::BTreeMap;

use highwater_cluster as cluster;
use highwater_driver::TargetUrl;
use highwater_driver::clock::RealClock;
use highwater_driver::telemetry::LimitedNode;
use highwater_model::scale::ClusterStart;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

/// A cluster at one size.
#[derive(Debug)]
pub struct Resized {
    /// Its URLs.
    pub urls: Vec<TargetUrl>,
    /// URLs of its nodes' metrics.
    pub metrics: Vec<String>,
    /// How long resizing took; 0 for an existing cluster.
    pub took: Nanos,
}

/// A cluster that can take several sizes, one after the other.
pub trait Cluster {
    /// Resizes the cluster, waits until it is ready for a load with balanced data, and returns its URLs. With
    /// [`ClusterStart::Fresh`] it is a new cluster without anything of earlier ones. With [`ClusterStart::Grow`] it is
    /// the previous one with more nodes, or a new one if there was none or if it was larger. Returns early if the user
    /// stops.
    ///
    /// # Errors
    /// `Unreachable` if it did not become ready: it may be retried.
    fn resize(&mut self, nodes: u32, start: ClusterStart) -> Result<Resized, UserError>;

    /// Starts this node alone, as a new cluster of one; the next size begins with a new cluster.
    ///
    /// # Errors
    /// As [`Cluster::resize`]; an existing cluster has no nodes that could be started.
    fn alone(&mut self, _node: u32) -> Result<Resized, UserError> {
        Err(UserError::usage("no node can be started alone"))
    }

    /// Whether the CPU quotas of its nodes begin only after the warm-up.
    fn awaits_warm_up(&self) -> bool {
        false
    }

    /// Starts those quotas.
    ///
    /// # Errors
    /// They cannot be set.
    fn begin_quota(&mut self) -> Result<(), UserError> {
        Ok(())
    }

    /// The nodes of this machine that run with a CPU quota, which the machine's own CPU use does not show.
    fn limited_nodes(&self) -> Vec<LimitedNode> {
        Vec::new()
    }

    /// Ends everything that it started; also after a failure.
    ///
    /// # Errors
    /// Something cannot be ended; the rest is still ended.
    fn end(&mut self) -> Result<(), UserError>;
}

/// A cluster that is started for each size, from a cluster file.
pub struct StartedCluster {
    cluster: cluster::Cluster,
    /// The running cluster is a single node that was measured alone.
    is_alone: bool,
}

impl StartedCluster {
    /// From a cluster that is not up yet.
    pub fn new(cluster: cluster::Cluster) -> Self {
        Self { cluster, is_alone: false }
    }

    /// Its current URLs, and how long resizing took.
    fn made(&mut self, clock: &RealClock) -> Result<Resized, UserError> {
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
    fn resize(&mut self, nodes: u32, start: ClusterStart) -> Result<Resized, UserError> {
        let clock = RealClock::start();
        let grows = start == ClusterStart::Grow && !std::mem::take(&mut self.is_alone);
        // A cluster that was shrunk is not equivalent to a new one.
        if grows && (1..=nodes).contains(&self.cluster.size()) {
            self.cluster.resize(nodes)?;
        } else {
            self.cluster.fresh(nodes)?;
            self.cluster.restore()?;
        }
        self.made(&clock)
    }

    fn alone(&mut self, node: u32) -> Result<Resized, UserError> {
        let clock = RealClock::start();
        self.is_alone = true;
        self.cluster.alone(node)?;
        self.cluster.restore()?;
        self.made(&clock)
    }

    fn awaits_warm_up(&self) -> bool {
        self.cluster.awaits_warm_up()
    }

    fn begin_quota(&mut self) -> Result<(), UserError> {
        self.cluster.begin_quota()
    }

    fn limited_nodes(&self) -> Vec<LimitedNode> {
        self.cluster.limited_nodes()
    }

    fn end(&mut self) -> Result<(), UserError> {
        self.cluster.down()
    }
}

/// Existing or simulated clusters: one for each size.
#[derive(Debug, Clone)]
pub struct ReadyClusters {
    /// Their URLs, by number of nodes.
    pub by_nodes: BTreeMap<u32, Vec<TargetUrl>>,
}

impl Cluster for ReadyClusters {
    fn resize(&mut self, nodes: u32, _: ClusterStart) -> Result<Resized, UserError> {
        let urls = self
            .by_nodes
            .get(&nodes)
            .cloned()
            .ok_or_else(|| UserError::usage(format!("there is no cluster of {nodes} nodes")))?;
        Ok(Resized { urls, metrics: Vec::new(), took: Nanos::ZERO })
    }

    fn end(&mut self) -> Result<(), UserError> {
        Ok(())
    }
}
