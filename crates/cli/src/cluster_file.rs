//! Reads cluster files, and opens the clusters that they describe. Must not start or end any.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use highwater_cluster::{Cluster, Options};
use highwater_driver::interrupts::Interrupts;
use highwater_driver::metrics::Endpoint;
use highwater_model::cluster::{ClusterSpec, parse};
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;

use crate::prepare::target;
use crate::workload_file::{report_errors, text_of};
use crate::{ceiling, secret_variables, terminal};

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
        hidden: secret_variables::all(),
        open: Rc::new(|url: &str| {
            let options = highwater_driver::TargetOptions {
                connect_timeout: CONNECT_TIMEOUT,
                ..target::options("highwater cluster", None, Seed(0))
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
    let states = ceiling::directory().ok_or_else(|| {
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
}
