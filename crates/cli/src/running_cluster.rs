//! `--cluster FILE` of a command that loads a running cluster: the URLs of its nodes, and which of them have quotas.
//! Must not start or resize a cluster.

use std::path::{Path, PathBuf};

use highwater_cluster::Cluster;
use highwater_driver::TargetUrl;
use highwater_model::user_error::UserError;
use highwater_runner::request::TelemetryRequest;

use crate::cluster_file::{self, ClusterFlags};
use crate::intent::{parsers, resolve};
use crate::layers::{Layers, Origin};
use crate::prepare;

/// The same layers, with the nodes of their cluster as the target, unless there is no cluster, or a layer with higher
/// precedence has a target. A target with the same precedence must belong to the cluster, such as one of its nodes.
pub(crate) fn on_cluster(layers: &Layers) -> Result<Layers, UserError> {
    let mut layers = layers.clone();
    let strength = layers.strength("cluster");
    let (Some(given), Some(own)) = (layers.value("cluster").cloned(), strength) else {
        return Ok(layers);
    };
    if layers.strength("target") > strength {
        return Ok(layers);
    }
    let path = PathBuf::from(given.parse(parsers::word)?);
    let flags = ClusterFlags { takes_over: true, ..ClusterFlags::default() };
    let spec = cluster_file::read(&path)?;
    // The nodes keep running when this is dropped.
    let mut cluster = cluster_file::open(&path, spec, flags, prepare::signals()?)?;
    let urls = nodes_of(&mut cluster, &path)?;
    if layers.strength("target") == strength {
        check_targets(&layers, &urls, &path)?;
    } else {
        for url in cluster.urls()? {
            // It is not given by the user, so that a later command reads the file again.
            layers.add(own, "target", url, Origin::Default);
        }
    }
    let running =
        cluster.nodes()?.into_iter().filter(|node| node.pid.is_some() || node.host.is_empty());
    let metrics: Vec<String> = running.flat_map(|node| node.metrics).collect();
    layers.of_cluster = TelemetryRequest {
        node_endpoints: cluster_file::endpoints(&metrics)?,
        limited_nodes: cluster.limited_nodes(),
        ..TelemetryRequest::default()
    };
    Ok(layers)
}

/// URLs of the nodes to load, at least one.
fn nodes_of(cluster: &mut Cluster, path: &Path) -> Result<Vec<TargetUrl>, UserError> {
    let is_up = cluster.size() > 0;
    let urls = if is_up { cluster.urls()? } else { Vec::new() };
    if urls.is_empty() {
        let shown = path.display();
        let cause = format!("--cluster: the cluster of {shown} is not up");
        let hint = format!("start it with `highwater cluster up {shown}`");
        return Err(UserError::usage(cause).with_hint(hint));
    }
    urls.iter().map(|url| TargetUrl::parse(url)).collect()
}

/// Fails if a given target does not belong to the cluster.
fn check_targets(layers: &Layers, urls: &[TargetUrl], path: &Path) -> Result<(), UserError> {
    let given = resolve::targets(layers, layers.list("target"))?;
    let Some(other) = given.iter().find(|url| !is_of(url, urls)) else {
        return Ok(());
    };
    let cause = format!(
        "TARGET: `{other}` is not of the cluster of {}, which --cluster names",
        path.display()
    );
    Err(UserError::usage(cause)
        .with_hint("leave one of them out: the cluster's own URLs are the target"))
}

/// Whether all hosts of a URL are those of nodes; a URL without hosts must be that of a node.
fn is_of(url: &TargetUrl, nodes: &[TargetUrl]) -> bool {
    let is_node = |host| nodes.iter().any(|node| node.hosts.contains(host));
    match url.hosts.as_slice() {
        [] => nodes.contains(url),
        hosts => hosts.iter().all(is_node),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_of_a_cluster_by_its_hosts_and_without_any_as_a_whole() {
        let url = |text: &&str| TargetUrl::parse(text).unwrap();
        let nodes = ["db://u:geheim@a:1/x", "db://u:geheim@b:2/x", "sim:?nodes=2"];
        let nodes: Vec<TargetUrl> = nodes.iter().map(url).collect();
        for (given, expected) in [
            ("db://a:1/x", true),
            ("db://other@b:2/y", true),
            ("db://a:1,b:2/x", true),
            ("db://a:2/x", false),
            ("db://a:1,c:1/x", false),
            ("sim:?nodes=2", true),
            ("sim:?nodes=3", false),
        ] {
            assert_eq!(is_of(&url(&given), &nodes), expected, "{given}");
        }
    }
}
