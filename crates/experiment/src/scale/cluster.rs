//! What a growth needs of a cluster: to be as large as the next size, and to say where it is.
//!
//! Must not measure. Whether the cluster is one that exists in several sizes, or is started for each of them, is
//! its own business.

use std::collections::BTreeMap;

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
