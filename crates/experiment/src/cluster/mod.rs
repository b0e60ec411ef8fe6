//! Clusters that Highwater may start, resize and end, from a cluster file: processes of this machine, or the user's
//! own commands.
//!
//! Whatever was started is ended: when it is dropped, and, where Highwater was killed, by the next one with the
//! same state. Nothing else is ever touched. Must not measure, or know a database.

mod commands;
mod control_group;
mod data;
mod error;
mod launch;
mod node;
mod nodes;
mod ports;
mod processes;
mod quota;
mod ready;
mod resizing;
mod site;
mod state;
mod values;

use std::path::Path;

use highwater_model::cluster::{ClusterSpec, NODES_MAX, Provider};
use highwater_model::units::Nanos;
use highwater_runner::interrupts::Interrupts;
use highwater_runner::request::LimitedNode;

use self::commands::{Commands, filled, of_cluster};
pub use self::error::{ClusterError, ClusterErrorKind};
pub use self::node::Node;
use self::nodes::Processes;
use self::site::Site;
pub use self::site::{OpenTarget, Options};
pub use self::state::Happened;
use self::state::StateFile;

/// How long the command that brings data back may take.
const RESTORE_WITHIN: Nanos = Nanos::from_secs(6 * 3_600);

/// A cluster, and all that was started of it. What is not [kept](Cluster::keep) is ended when it is dropped.
pub struct Cluster {
    site: Site,
    kind: Kind,
    restore: Option<String>,
}

/// Who runs the nodes.
enum Kind {
    Processes(Box<Processes>),
    Commands(Commands),
}

impl Cluster {
    /// A cluster whose state is kept in a directory, which must be the same each time. What a Highwater that was
    /// killed left of it is ended first.
    ///
    /// # Errors
    /// Another Highwater uses it; it is up already, and `options` do not take it over; what was left cannot be
    /// ended.
    pub fn new(
        spec: ClusterSpec,
        state: &Path,
        options: Options,
        interrupts: Interrupts,
    ) -> Result<Self, ClusterError> {
        let takes_over = options.takes_over;
        let mut site = Site::new(options, StateFile::open(state)?, interrupts);
        site.end_command()?;
        let mut kind = match spec.provider {
            Provider::Processes(node) => {
                Kind::Processes(Box::new(Processes::new(*node, &spec.name, &site)?))
            }
            Provider::Commands(commands) => Kind::Commands(Commands::new(commands)),
        };
        match &mut kind {
            Kind::Processes(processes) => processes.sweep(&mut site)?,
            Kind::Commands(commands) => commands.sweep(&mut site)?,
        }
        let mut known = site.file.state.nodes.values();
        if site.options.remove_data
            && !takes_over
            && known.any(|node| node.prepared && node.process.is_none())
        {
            return Err(ClusterError::usage(
                "data of an earlier cluster of this file were kept, and this one begins without any",
            )
            .with_hint("remove them with `highwater cluster down FILE --remove-data`"));
        }
        let mut cluster = Self { site, kind, restore: spec.restore };
        if cluster.has_former() && !cluster.keeps_former() {
            cluster.end_former()?;
        }
        let nodes = cluster.size();
        if nodes > 0 && !takes_over {
            let message = format!("the cluster is up already, with {nodes} nodes");
            return Err(
                ClusterError::usage(message).with_hint("end it with `highwater cluster down FILE`")
            );
        }
        Ok(cluster)
    }

    /// Nodes that run; as far as the user's own commands are concerned, those that were requested last.
    pub fn size(&self) -> u32 {
        let processes = Processes::running(&self.site).len();
        let processes = u32::try_from(processes).unwrap_or(u32::MAX);
        processes.saturating_add(Commands::nodes(&self.site).unwrap_or(0))
    }

    /// Whether something is there of the kind of nodes that the file described before it was changed.
    fn has_former(&self) -> bool {
        let state = &self.site.file.state;
        match &self.kind {
            Kind::Processes(_) => state.up.is_some(),
            Kind::Commands(_) => state.nodes.values().any(|node| node.process.is_some()),
        }
    }

    /// Whether it was left running on purpose.
    fn keeps_former(&self) -> bool {
        let state = &self.site.file.state;
        match &self.kind {
            Kind::Processes(_) => state.up.as_ref().is_some_and(|up| up.kept),
            Kind::Commands(_) => state.nodes.values().any(|node| node.kept),
        }
    }

    fn end_former(&mut self) -> Result<(), ClusterError> {
        let removes_data = self.site.options.remove_data;
        match &self.kind {
            Kind::Processes(_) => Commands::end_former(&mut self.site),
            Kind::Commands(_) => Processes::end_former(&mut self.site, removes_data),
        }
    }

    /// Starts or ends nodes until there are so many, from none on, and waits until all of them are ready.
    ///
    /// # Errors
    /// A node or a command fails or takes too long, or the user stops it: what this call started is ended then.
    pub fn resize(&mut self, nodes: u32) -> Result<Vec<Node>, ClusterError> {
        check_size(nodes)?;
        if self.has_former() {
            let message = "the cluster is up as the file described it before: \
                           its nodes are not those of [node] or [commands] now";
            return Err(
                ClusterError::usage(message).with_hint("end it with `highwater cluster down FILE`")
            );
        }
        match &mut self.kind {
            Kind::Processes(processes) => processes.resize(&mut self.site, 1, nodes)?,
            Kind::Commands(commands) => commands.resize(&mut self.site, nodes)?,
        }
        self.nodes()
    }

    /// Ends the cluster, removes its nodes' data, and starts a new one.
    ///
    /// # Errors
    /// As [`Cluster::down`] and [`Cluster::resize`].
    pub fn fresh(&mut self, nodes: u32) -> Result<Vec<Node>, ClusterError> {
        check_size(nodes)?;
        self.down()?;
        self.remove_data()?;
        self.resize(nodes)
    }

    /// Ends the cluster, removes its nodes' data, and starts this node as a cluster of one.
    ///
    /// # Errors
    /// As [`Cluster::fresh`]; nodes of the user's own commands have no number.
    pub fn alone(&mut self, node: u32) -> Result<Vec<Node>, ClusterError> {
        check_size(node)?;
        self.down()?;
        self.remove_data()?;
        match &mut self.kind {
            Kind::Processes(processes) => processes.resize(&mut self.site, node, 1)?,
            Kind::Commands(_) => {
                let message = "the user's own commands start no node alone";
                return Err(ClusterError::usage(message));
            }
        }
        self.nodes()
    }

    /// The nodes that are there; of processes also those that ended, whose data are kept.
    ///
    /// # Errors
    /// A command that prints URLs fails.
    pub fn nodes(&mut self) -> Result<Vec<Node>, ClusterError> {
        match &mut self.kind {
            Kind::Processes(processes) => processes.list(&self.site),
            Kind::Commands(commands) => {
                if commands.list().is_empty() && Commands::nodes(&self.site).is_some() {
                    commands.read(&mut self.site)?;
                }
                Ok(commands.list())
            }
        }
    }

    /// The URLs of the nodes that run and are loaded, as targets.
    ///
    /// # Errors
    /// As [`Cluster::nodes`].
    pub fn urls(&mut self) -> Result<Vec<String>, ClusterError> {
        let has_processes = matches!(self.kind, Kind::Processes(_));
        let running = self
            .nodes()?
            .into_iter()
            .filter(|node| node.is_target && (node.pid.is_some() || !has_processes));
        Ok(running.map(|node| node.url).collect())
    }

    /// Whether a node of this machine is ready now; none of a node that only the user's commands know.
    ///
    /// # Errors
    /// The file cannot be understood for this node.
    pub fn is_ready(&self, number: u32) -> Result<Option<bool>, ClusterError> {
        match &self.kind {
            Kind::Processes(processes) => processes.is_ready(&self.site, number).map(Some),
            Kind::Commands(_) => Ok(None),
        }
    }

    /// Whether quotas of CPU begin only when the nodes are warm.
    pub fn awaits_warm_up(&self) -> bool {
        match &self.kind {
            Kind::Processes(processes) => processes.awaits_warm_up(&self.site),
            Kind::Commands(_) => false,
        }
    }

    /// Begins the quotas of CPU of all nodes; those that begin after the warm-up have none until then.
    ///
    /// # Errors
    /// They cannot be set.
    pub fn begin_quota(&mut self) -> Result<(), ClusterError> {
        match &self.kind {
            Kind::Processes(processes) => processes.limit(&mut self.site),
            Kind::Commands(_) => Ok(()),
        }
    }

    /// The nodes of this machine that run with a quota of CPU.
    pub fn limited_nodes(&self) -> Vec<LimitedNode> {
        match &self.kind {
            Kind::Processes(_) => Processes::limited(&self.site),
            Kind::Commands(_) => Vec::new(),
        }
    }

    /// Brings data back by the file's command; says whether it has one.
    ///
    /// # Errors
    /// The command fails.
    pub fn restore(&mut self) -> Result<bool, ClusterError> {
        let Some(restore) = self.restore.clone() else {
            return Ok(false);
        };
        let nodes = self.size();
        let text = filled(&self.site, &restore, nodes)?;
        let shell = of_cluster(&self.site, "`restore`", &text, nodes, RESTORE_WITHIN);
        self.site.note("running `restore`");
        let restored = self.site.run_well(&shell, true);
        if let Err(error) = &restored {
            self.site.keep(error);
        }
        self.site.file.write()?;
        restored.map(|_| true)
    }

    /// Ends the cluster, whoever started it by this file; removes the data if the options say so.
    ///
    /// # Errors
    /// Something cannot be ended; all the rest is.
    pub fn down(&mut self) -> Result<(), ClusterError> {
        if self.has_former() {
            self.end_former()?;
        }
        match &mut self.kind {
            Kind::Processes(processes) => processes.end_all(&mut self.site, |_| true)?,
            Kind::Commands(commands) => commands.down(&mut self.site)?,
        }
        if self.site.options.remove_data {
            self.remove_data()?;
        }
        Ok(())
    }

    /// Lets what runs go on when this is dropped, and when Highwater ends.
    ///
    /// # Errors
    /// It cannot be written down.
    pub fn keep(&mut self) -> Result<(), ClusterError> {
        match &self.kind {
            Kind::Processes(_) => Processes::keep(&mut self.site),
            Kind::Commands(_) => Commands::keep(&mut self.site),
        }
    }

    /// What happened to the cluster so far, the newest last; a bounded number of sentences.
    pub fn history(&self) -> &[Happened] {
        &self.site.file.state.history
    }

    fn remove_data(&mut self) -> Result<(), ClusterError> {
        match &self.kind {
            Kind::Processes(processes) => processes.remove_data(&mut self.site),
            // Data of nodes that the file described before it was changed.
            Kind::Commands(_) if !self.has_former() => Processes::end_former(&mut self.site, true),
            Kind::Commands(_) => Ok(()),
        }
    }

    /// Ends all that is not kept.
    fn end_unkept(&mut self) -> Result<(), ClusterError> {
        let is_kept = match &mut self.kind {
            Kind::Processes(processes) => {
                processes.end_all(&mut self.site, |node| !node.kept)?;
                !Processes::running(&self.site).is_empty()
            }
            Kind::Commands(commands) => {
                let is_kept = self.site.file.state.up.as_ref().is_some_and(|up| up.kept);
                if !is_kept && !commands.given_up {
                    commands.down(&mut self.site)?;
                }
                is_kept
            }
        };
        if self.site.options.remove_data && !is_kept {
            self.remove_data()?;
        }
        Ok(())
    }
}

/// Refuses a size that no cluster has.
fn check_size(nodes: u32) -> Result<(), ClusterError> {
    if (1..=NODES_MAX).contains(&nodes) {
        return Ok(());
    }
    Err(ClusterError::usage(format!("a cluster file has no cluster of {nodes} nodes"))
        .with_hint(format!("it has from 1 to {NODES_MAX} nodes")))
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Err(error) = self.end_unkept() {
            self.site.note(error.message);
        }
        if let Err(error) = self.site.file.write() {
            self.site.note(error.message);
        }
    }
}
