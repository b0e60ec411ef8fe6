//! The cluster file of a growth, and the nodes that are measured alone. Must not start anything.

use std::path::PathBuf;

use highwater_model::cluster::ClusterSpec;
use highwater_model::scale::{LeftOut, NodesAlone};

use crate::cluster_file::{self, ClusterFlags};
use crate::failure::Failure;
use crate::intent::parsers;
use crate::layers::{Layers, Strength};

/// The cluster of a file.
#[derive(Debug, Clone)]
pub(super) struct ClusterChoice {
    pub(super) path: PathBuf,
    pub(super) spec: ClusterSpec,
    pub(super) flags: ClusterFlags,
}

impl ClusterChoice {
    /// Definition that a growth must share with this one to resume it. It is hashed, never shown.
    pub(super) fn definition(&self) -> String {
        format!("{:?} {}", self.spec, self.flags.no_quota)
    }

    pub(super) fn resolve(layers: &Layers) -> Result<Option<Self>, Failure> {
        let no_quota = layers.switch("no-quota")?;
        let Some(path) = layers.parse("cluster", parsers::word)? else {
            return Ok(None);
        };
        let path = PathBuf::from(path);
        let spec = cluster_file::read(&path)?;
        let knows_urls = spec.planned_urls(1).is_some();
        let has_targets = layers.strength("target") == Some(Strength::CommandLine);
        if knows_urls == has_targets {
            let (cause, hint) = if knows_urls {
                ("a TARGET beside --cluster", "leave the TARGET out: the file has its URLs")
            } else {
                (
                    "TARGET is missing",
                    "the file's commands print the URLs of a cluster that is up: give one \
                  that they may be, so that what is measured can be planned",
                )
            };
            return Err(Failure::usage(format!("--cluster: {cause}")).with_hint(hint));
        }
        let flags = ClusterFlags { no_quota, remove_data: true, takes_over: false };
        Ok(Some(Self { path, spec, flags }))
    }
}

/// The nodes to measure alone: those of the largest size, if the file allows starting each one alone.
pub(super) fn nodes_alone(
    layers: &Layers,
    cluster: Option<&ClusterChoice>,
    largest: u32,
) -> Result<NodesAlone, Failure> {
    let requested = layers.switch("measure-nodes")?;
    let declined = layers.switch("no-measure-nodes")?;
    if requested && declined {
        let cause = "--measure-nodes and --no-measure-nodes exclude each other";
        return Err(Failure::usage(cause).with_hint("leave one of them out"));
    }
    let Some(cluster) = cluster else {
        let cause = "--measure-nodes: without --cluster, no node is started";
        let hint = "leave it out, or give a cluster file";
        return if requested {
            Err(Failure::usage(cause).with_hint(hint))
        } else {
            Ok(NodesAlone::default())
        };
    };
    let left_out = cluster.spec.not_alone();
    if let Some(why) = left_out.filter(|_| requested) {
        let (cause, hint) = match why {
            LeftOut::OwnCommands => {
                ("the file's commands start clusters, and no single node", "leave it out")
            }
            _ => (
                "the file does not say that a node starts without the others",
                "add `alone = true` to [node] if each does, or leave the flag out",
            ),
        };
        return Err(Failure::usage(format!("--measure-nodes: {cause}")).with_hint(hint));
    }
    let too_many =
        (!requested && largest > NodesAlone::WITHOUT_REQUEST).then_some(LeftOut::TooMany);
    let declined = declined.then_some(LeftOut::Declined);
    let left_out = declined.or(left_out).or(too_many);
    Ok(NodesAlone {
        nodes: if left_out.is_some() { 0 } else { largest },
        left_out,
        ..NodesAlone::default()
    })
}
