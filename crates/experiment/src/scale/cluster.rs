//! What a growth needs of a cluster: to be as large as the next size, and to say where it is.
//!
//! Must not measure. Whether the cluster is one that exists in several sizes, or is started for each of them, is
//! its own business.

use std::collections::BTreeMap;

use crate::cluster::{self, ClusterError, ClusterErrorKind};
use highwater_driver::{TargetError, TargetUrl};
use highwater_model::scale::ClusterStart;
use highwater_runner::interrupts::Interrupts;

/// A cluster that can have several sizes, one after the other.
pub trait Cluster {
    /// Makes the cluster as large as this, ready for a load and with its data balanced, and says where it is. With
    /// [`ClusterStart::Fresh`] it is a new one, without anything of those before; with [`ClusterStart::Grow`] it
    /// is the one before with more nodes, or a new one where there was none or it was larger. Returns early where
    /// the user stops.
    ///
    /// # Errors
    /// `Unreachable` where it did not become ready: it may be tried again.
    fn resize(
        &mut self,
        nodes: u32,
        start: ClusterStart,
        interrupts: &Interrupts,
    ) -> Result<Vec<TargetUrl>, TargetError>;

    /// Ends what it started, if anything; also after a failure.
    fn end(&mut self);
}

/// A cluster that is started for each size, from a cluster file.
pub struct StartedCluster {
    cluster: cluster::Cluster,
}

impl StartedCluster {
    /// Of a cluster that is not up yet.
    pub fn new(cluster: cluster::Cluster) -> Self {
        Self { cluster }
    }

    fn resized(
        &mut self,
        nodes: u32,
        start: ClusterStart,
    ) -> Result<Vec<TargetUrl>, ClusterOrTargetError> {
        // A cluster from which nodes are taken away is not one as the first was.
        if start == ClusterStart::Grow && (1..=nodes).contains(&self.cluster.size()) {
            self.cluster.resize(nodes)?;
        } else {
            self.cluster.fresh(nodes)?;
            self.cluster.restore()?;
        }
        self.cluster.begin_quota()?;
        let urls = self.cluster.urls()?;
        let urls = urls.iter().map(|url| TargetUrl::parse(url));
        Ok(urls.collect::<Result<_, _>>()?)
    }
}

impl Cluster for StartedCluster {
    fn resize(
        &mut self,
        nodes: u32,
        start: ClusterStart,
        _: &Interrupts,
    ) -> Result<Vec<TargetUrl>, TargetError> {
        self.resized(nodes, start).map_err(|error| error.0)
    }

    /// What cannot be ended is in the cluster's own history, and is tried again when it is dropped.
    fn end(&mut self) {
        let _ended = self.cluster.down();
    }
}

/// Why a cluster has no URLs.
struct ClusterOrTargetError(TargetError);

impl From<TargetError> for ClusterOrTargetError {
    fn from(error: TargetError) -> Self {
        Self(error)
    }
}

impl From<ClusterError> for ClusterOrTargetError {
    fn from(error: ClusterError) -> Self {
        let of = match error.kind {
            ClusterErrorKind::Usage => TargetError::usage(error.message),
            ClusterErrorKind::Failed | ClusterErrorKind::Interrupted => {
                TargetError::unreachable(error.message)
            }
        };
        Self(match error.hint {
            Some(hint) => of.with_hint(hint),
            None => of,
        })
    }
}

/// Clusters that are there already, or simulated: one for each size.
#[derive(Debug, Clone)]
pub struct ReadyClusters {
    /// Where they are, by their nodes.
    by_nodes: BTreeMap<u32, Vec<TargetUrl>>,
}

impl ReadyClusters {
    /// Of these sizes.
    pub fn new(by_nodes: BTreeMap<u32, Vec<TargetUrl>>) -> Self {
        Self { by_nodes }
    }
}

impl Cluster for ReadyClusters {
    fn resize(
        &mut self,
        nodes: u32,
        _: ClusterStart,
        _: &Interrupts,
    ) -> Result<Vec<TargetUrl>, TargetError> {
        let urls = self.by_nodes.get(&nodes).cloned();
        urls.ok_or_else(|| TargetError::usage(format!("there is no cluster of {nodes} nodes")))
    }

    fn end(&mut self) {}
}
