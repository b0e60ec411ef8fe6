//! Reads cluster files, and opens the clusters that they describe; with `--cluster FILE` of a command that loads a running
//! cluster, the URLs of its nodes and which of them have quotas. Must not start, resize, or end a cluster.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use highwater_cluster::{Cluster, Options};
use highwater_driver::TargetUrl;
use highwater_driver::interrupts::Interrupts;
use highwater_driver::metrics::Endpoint;
use highwater_model::cluster::{ClusterSpec, parse};
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;
use highwater_runner::request::TelemetryRequest;

use crate::intent::{parsers, resolve};
use crate::layers::{Layers, Origin};
use crate::workload_file::{report_errors, text_of};
use crate::{prepare, secrets, stored_files, terminal};

/// Timeout of one attempt to connect to a starting node.
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(2);

/// The user's flags for a cluster.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClusterFlags {
    /// `--no-quota`.
    pub no_quota: bool,
    /// `--remove-data`.
    pub remove_data: bool,
    /// Take over nodes that were deliberately left running.
    pub takes_over: bool,
}

/// Reads a cluster file.
pub fn read(path: &Path) -> Result<ClusterSpec, UserError> {
    let text = text_of(path)?;
    parse(&text).map_err(|errors| report_errors(errors, &path.display().to_string()))
}

/// The cluster of a file, with its state in the user's state directory.
pub fn open(
    path: &Path,
    spec: ClusterSpec,
    flags: ClusterFlags,
    interrupts: Interrupts,
) -> Result<Cluster, UserError> {
    let disk = |error| UserError::usage(format!("cannot find {}: {error}", path.display()));
    let path = path.canonicalize().map_err(disk)?;
    let directory = path.parent().unwrap_or(Path::new("/")).to_owned();
    let options = Options {
        directory,
        no_quota: flags.no_quota,
        remove_data: flags.remove_data,
        takes_over: flags.takes_over,
        hidden: secrets::all(),
        open: Rc::new(|url: &str| {
            let options = highwater_driver::TargetOptions {
                connect_timeout: CONNECT_TIMEOUT,
                ..prepare::options("highwater cluster", None, Seed(0))
            };
            highwater_drivers::open(&[url.to_owned()], &options)
        }),
        report: Rc::new(|line: &str| terminal::note(&format!("{line}\n"))),
    };
    Cluster::new(spec, &state_of(&path)?, options, interrupts)
}

/// Metrics endpoints of the nodes, at these URLs.
pub fn endpoints(metrics: &[String]) -> Result<Vec<Endpoint>, UserError> {
    metrics.iter().map(|url| Endpoint::new(url, &[])).collect()
}

/// Directory of a cluster's state, one per cluster file, by the file's path.
fn state_of(path: &Path) -> Result<PathBuf, UserError> {
    let states = stored_files::directory().ok_or_else(|| {
        UserError::usage("there is no directory for the state of a cluster")
            .with_hint("set HOME or XDG_STATE_HOME")
    })?;
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let allowed = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
    let name: String = stem.chars().filter(allowed).take(40).collect();
    let hash = hash(path.as_os_str().as_encoded_bytes());
    Ok(states.join("clusters").join(format!("{name}-{hash:016x}")))
}

/// FNV-1a hash, which is the same in all versions.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

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
    let spec = read(&path)?;
    // The nodes keep running when this is dropped.
    let mut cluster = open(&path, spec, flags, prepare::signals()?)?;
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
        node_endpoints: endpoints(&metrics)?,
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
    fn the_hash_is_that_of_its_definition() {
        // Test vectors of draft-eastlake-fnv.
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }

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
