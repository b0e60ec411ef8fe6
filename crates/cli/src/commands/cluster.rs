//! `highwater cluster`: starts, resizes, and ends the cluster of a cluster file, to test the file alone. Must not load
//! it.

use std::path::{Path, PathBuf};

use highwater_cluster::{Cluster, Node};
use highwater_model::cluster::schema;
use highwater_model::user_error::UserError;

use super::check::{Fact, fact, table};
use crate::cluster_file::{self, ClusterFlags};
use crate::exit::did_you_mean;
use crate::grammar::flags::{CONFIG, NO_COLOR, OUTPUT};
use crate::grammar::{CommandSpec, Flag, flag, words};
use crate::intent::parsers;
use crate::layers::Layers;
use crate::{exit, prepare, terminal};

/// `highwater cluster`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "cluster",
    summary: "Start, resize, and end the cluster that a cluster file describes",
    usage: "up|status|resize|restore|down FILE | schema",
    positionals: &[words(
        "ACTION",
        "`up FILE` starts the cluster and leaves it running; `status FILE` shows it; `resize FILE` \
         changes its number of nodes; `restore FILE` runs the file's command that restores data; \
         `down FILE` ends it; `schema` prints the JSON Schema of cluster files for editors",
    )],
    flags: &[("Cluster", FLAGS), (OUTPUT, &[CONFIG, NO_COLOR])],
    main_flags: None,
    examples: "  highwater cluster up lab.toml --nodes 3
      start three nodes, wait until they are ready, print their URLs, and leave them running
  highwater cluster resize lab.toml --nodes 5
      start two more
  highwater cluster down lab.toml
      end all of them; any of these commands also ends what a killed Highwater left running",
    run: cluster,
};

const FLAGS: &[Flag] = &[
    flag("--nodes <N>", "Run N nodes (with `up` and `resize`) [default: `nodes` of the file]"),
    flag("--fresh", "End the cluster and remove its data before starting it (with `up`)"),
    flag("--remove-data", "Remove the data of the nodes that Highwater started (with `down`)"),
    flag(
        "--no-quota",
        "Start nodes without the file's CPU and memory quotas, which need control groups and \
         usually root",
    ),
];

/// Maximum lines of the history that `status` prints.
const HISTORY_SHOWN: usize = 5;

/// Actions of `highwater cluster`.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Action {
    /// Starts nodes, and leaves them running.
    Up,
    /// Shows the nodes.
    Status,
    /// Starts or ends nodes.
    Resize,
    /// Restores data.
    Restore,
    /// Ends all nodes.
    Down,
}

/// Runs the requested action.
fn cluster(layers: &Layers) -> Result<u8, UserError> {
    let given: Vec<&str> = layers.positionals.iter().map(String::as_str).collect();
    let fresh = layers.switch("fresh")?;
    let (action, path) = match given[..] {
        ["schema"] => return terminal::data(&schema()).map(|()| exit::SUCCESS),
        ["up", file] => (Action::Up, Path::new(file)),
        ["status", file] => (Action::Status, Path::new(file)),
        ["resize", file] => (Action::Resize, Path::new(file)),
        ["restore", file] => (Action::Restore, Path::new(file)),
        ["down", file] => (Action::Down, Path::new(file)),
        [] => return Err(UserError::usage("there is nothing to do").with_hint(hint(""))),
        [first, ..] => {
            return Err(
                UserError::usage(format!("cannot do `{}`", given.join(" "))).with_hint(hint(first))
            );
        }
    };
    let flags = ClusterFlags {
        no_quota: layers.switch("no-quota")?,
        remove_data: action == Action::Down && layers.switch("remove-data")?,
        takes_over: true,
    };
    let nodes = layers.parse("nodes", parsers::positive)?;
    if action == Action::Resize && nodes.is_none() {
        return Err(UserError::usage("--nodes is missing").with_hint("add --nodes N"));
    }
    let spec = cluster_file::read(path)?;
    let nodes = nodes.unwrap_or(spec.nodes);
    let mut cluster = cluster_file::open(path, spec, flags, prepare::signals()?)?;
    match action {
        Action::Status => return status(&mut cluster),
        Action::Restore => return restored(&mut cluster),
        Action::Up if fresh => drop(cluster.fresh(nodes)?),
        Action::Up | Action::Resize => drop(cluster.resize(nodes)?),
        Action::Down => {
            cluster.down()?;
            let ended = "nothing of the cluster runs any more\n";
            return terminal::data(ended).map(|()| exit::SUCCESS);
        }
    }
    left_running(&mut cluster)
}

fn hint(first: &str) -> String {
    match did_you_mean(first, ["up", "status", "resize", "restore", "down", "schema"]) {
        Some("schema") => "write `highwater cluster schema`".to_owned(),
        Some(near) => format!("write `highwater cluster {near} FILE`"),
        None => "there are `up FILE`, `status FILE`, `resize FILE --nodes N`, `restore FILE`, \
                 `down FILE` and `schema`"
            .to_owned(),
    }
}

/// Leaves the nodes running, with their quotas, and prints their URLs.
fn left_running(cluster: &mut Cluster) -> Result<u8, UserError> {
    cluster.begin_quota()?;
    cluster.keep()?;
    let urls = cluster.urls()?;
    let lines: String = urls.iter().map(|url| format!("{url}\n")).collect();
    terminal::data(&lines).map(|()| exit::SUCCESS)
}

fn restored(cluster: &mut Cluster) -> Result<u8, UserError> {
    if cluster.size() == 0 {
        return Err(UserError::usage("the cluster is not up")
            .with_hint("start it with `highwater cluster up FILE`"));
    }
    if !cluster.restore()? {
        return Err(UserError::usage("the file has no `restore`")
            .with_hint("add restore = 'COMMAND' to the cluster file"));
    }
    terminal::data("the data were brought back\n").map(|()| exit::SUCCESS)
}

/// Prints the nodes and the latest events. If a running node is not ready, the exit code is that of an unreachable
/// target.
fn status(cluster: &mut Cluster) -> Result<u8, UserError> {
    let mut facts = Vec::new();
    let mut code = exit::SUCCESS;
    for node in cluster.nodes()? {
        let ready = cluster.is_ready(node.number)?;
        if node.pid.is_some() && ready == Some(false) {
            code = exit::TARGET;
        }
        facts.extend(of_node(&node, ready));
    }
    if cluster.size() == 0 {
        facts.push(fact("nodes", "none runs"));
    }
    let history = cluster.history();
    let shown = history.len().saturating_sub(HISTORY_SHOWN);
    let last = history.iter().skip(shown);
    facts.extend(last.map(|happened| fact(&happened.at, &happened.what)));
    terminal::data(&table(&facts))?;
    Ok(code)
}

fn of_node(node: &Node, ready: Option<bool>) -> Vec<Fact> {
    let state = match (node.pid, ready) {
        (None, None) => String::new(),
        (None, _) => "ended · ".to_owned(),
        (Some(pid), Some(true)) => format!("ready · process {pid} · "),
        (Some(pid), _) => format!("NOT READY · process {pid} · "),
    };
    let mut facts = vec![fact(&format!("node {}", node.number), format!("{state}{}", node.url))];
    let place = |name: &str, path: &PathBuf| fact(name, path.display().to_string());
    facts.extend(node.metrics.iter().map(|url| fact("  metrics", url)));
    facts.extend(node.data.iter().map(|path| place("  data", path)));
    facts.extend(node.log.iter().map(|path| place("  log", path)));
    facts
}
