//! Linux, whose list of processes shows what has ended.
//!
//! Everything that was started is ended when it is dropped; if Highwater was killed, the next one with the same state
//! ends it. Nothing else is touched. Must not measure, or know a database.

mod commands;
mod control_group;
mod data;
mod holding;
mod nodes;
mod processes;
mod site;
mod values;

use std::path::Path;

use highwater_driver::interrupts::Interrupts;
use highwater_driver::telemetry::LimitedNode;
use highwater_model::cluster::{ClusterSpec, NODES_MAX, Provider};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use self::commands::{Commands, filled, of_cluster};
use self::nodes::Processes;
use self::site::{Site, StateFile};
use crate::{HistoryEntry, Node, NodeAction, Options};

/// Time limit of the command that restores data.
const RESTORE_WITHIN: Nanos = Nanos::from_secs(6 * 3_600);

/// A cluster, with everything started for it. Dropping it ends what is not [kept](Cluster::keep).
pub struct Cluster {
    site: Site,
    kind: Kind,
    restore: Option<String>,
}

/// How the nodes run.
enum Kind {
    Processes(Box<Processes>),
    Commands(Commands),
}

impl Cluster {
    /// A cluster whose state is kept in a directory, which must be the same each time. First ends the remains
    /// of a Highwater process that was killed.
    ///
    /// # Errors
    /// Another Highwater uses it; it is already up, and `options` do not take it over; its remains cannot be ended.
    pub fn new(
        spec: ClusterSpec,
        state: &Path,
        options: Options,
        interrupts: Interrupts,
    ) -> Result<Self, UserError> {
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
            return Err(UserError::usage(
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
                UserError::usage(message).with_hint("end it with `highwater cluster down FILE`")
            );
        }
        Ok(cluster)
    }

    /// Number of running nodes; with the user's own commands, the last requested number.
    pub fn size(&self) -> u32 {
        let processes = Processes::running(&self.site).len();
        let processes = u32::try_from(processes).unwrap_or(u32::MAX);
        processes.saturating_add(Commands::nodes(&self.site).unwrap_or(0))
    }

    /// Whether something remains of the kind of nodes that the file described before it was changed.
    fn has_former(&self) -> bool {
        let state = &self.site.file.state;
        match &self.kind {
            Kind::Processes(_) => state.up.is_some(),
            Kind::Commands(_) => state.nodes.values().any(|node| node.process.is_some()),
        }
    }

    /// Whether those nodes were left running on purpose.
    fn keeps_former(&self) -> bool {
        let state = &self.site.file.state;
        match &self.kind {
            Kind::Processes(_) => state.up.as_ref().is_some_and(|up| up.kept),
            Kind::Commands(_) => state.nodes.values().any(|node| node.kept),
        }
    }

    fn end_former(&mut self) -> Result<(), UserError> {
        let removes_data = self.site.options.remove_data;
        match &self.kind {
            Kind::Processes(_) => Commands::end_former(&mut self.site),
            Kind::Commands(_) => Processes::end_former(&mut self.site, removes_data),
        }
    }

    /// Starts or ends nodes until this many run, possibly from none, and waits until all of them are ready.
    ///
    /// # Errors
    /// A node or a command fails or takes too long, or the user stops it: nodes started by this call are then ended.
    pub fn resize(&mut self, nodes: u32) -> Result<Vec<Node>, UserError> {
        check_size(nodes)?;
        if self.has_former() {
            let message = "the cluster is up as the file described it before: \
                           its nodes are not those of [node] or [commands] now";
            return Err(
                UserError::usage(message).with_hint("end it with `highwater cluster down FILE`")
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
    /// Same as [`Cluster::down`] and [`Cluster::resize`].
    pub fn fresh(&mut self, nodes: u32) -> Result<Vec<Node>, UserError> {
        check_size(nodes)?;
        self.down()?;
        self.remove_data()?;
        self.resize(nodes)
    }

    /// Ends the cluster, removes its nodes' data, and starts this node as a cluster of one.
    ///
    /// # Errors
    /// Same as [`Cluster::fresh`]; nodes started by the user's own commands have no number.
    pub fn alone(&mut self, node: u32) -> Result<Vec<Node>, UserError> {
        check_size(node)?;
        self.down()?;
        self.remove_data()?;
        match &mut self.kind {
            Kind::Processes(processes) => processes.resize(&mut self.site, node, 1)?,
            Kind::Commands(_) => {
                let message = "the user's own commands start no node alone";
                return Err(UserError::usage(message));
            }
        }
        self.nodes()
    }

    /// The nodes; for processes, including ended ones whose data are kept.
    ///
    /// # Errors
    /// A command that prints URLs fails.
    pub fn nodes(&mut self) -> Result<Vec<Node>, UserError> {
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

    /// The URLs of the running nodes that are loaded, as targets.
    ///
    /// # Errors
    /// Same as [`Cluster::nodes`].
    pub fn urls(&mut self) -> Result<Vec<String>, UserError> {
        let has_processes = matches!(self.kind, Kind::Processes(_));
        let running = self
            .nodes()?
            .into_iter()
            .filter(|node| node.is_target && (node.pid.is_some() || !has_processes));
        Ok(running.map(|node| node.url).collect())
    }

    /// Whether a node of this machine is ready now; `None` for a node of the user's own commands.
    ///
    /// # Errors
    /// The file cannot be resolved for this node.
    pub fn is_ready(&self, number: u32) -> Result<Option<bool>, UserError> {
        match &self.kind {
            Kind::Processes(processes) => processes.is_ready(&self.site, number).map(Some),
            Kind::Commands(_) => Ok(None),
        }
    }

    /// Performs an action on a node: ends it, starts it, or holds or releases its processes.
    ///
    /// # Errors
    /// The node is not in the state for it, or the nodes are those of the user's own commands.
    pub fn act(&mut self, node: u32, action: NodeAction) -> Result<(), UserError> {
        let Kind::Processes(processes) = &mut self.kind else {
            let message = "the nodes of the user's own commands are not processes of this machine";
            return Err(UserError::cluster(message).with_hint("use run 'COMMAND'"));
        };
        let site = &mut self.site;
        match action {
            NodeAction::Kill => Processes::kill(site, node),
            NodeAction::Stop => processes.stop(site, node),
            NodeAction::Start => processes.start_again(site, node),
            NodeAction::Pause => Processes::hold(site, node, Some("paused")),
            NodeAction::Throttle => Processes::hold(site, node, Some("throttled")),
            NodeAction::Resume => Processes::hold(site, node, None),
        }
    }

    /// What holds all processes of a node, or releases them, at once and without a note.
    ///
    /// # Errors
    /// It is not running.
    pub fn holder(&self, node: u32) -> Result<impl FnMut(bool) + use<>, UserError> {
        Processes::holder(&self.site, node)
    }

    /// Whether CPU quotas begin only after the warm-up.
    pub fn awaits_warm_up(&self) -> bool {
        match &self.kind {
            Kind::Processes(processes) => processes.awaits_warm_up(&self.site),
            Kind::Commands(_) => false,
        }
    }

    /// Starts the CPU quotas of all nodes; quotas that begin after the warm-up are not set until then.
    ///
    /// # Errors
    /// They cannot be set.
    pub fn begin_quota(&mut self) -> Result<(), UserError> {
        match &self.kind {
            Kind::Processes(processes) => processes.limit(&mut self.site),
            Kind::Commands(_) => Ok(()),
        }
    }

    /// The nodes of this machine that run with a CPU quota.
    pub fn limited_nodes(&self) -> Vec<LimitedNode> {
        match &self.kind {
            Kind::Processes(_) => Processes::limited(&self.site),
            Kind::Commands(_) => Vec::new(),
        }
    }

    /// Restores data with the file's command; returns whether it has one.
    ///
    /// # Errors
    /// The command fails.
    pub fn restore(&mut self) -> Result<bool, UserError> {
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

    /// Ends the cluster, whichever process started it from this file; removes the data if the options request
    /// it.
    ///
    /// # Errors
    /// Something cannot be ended; the rest is still ended.
    pub fn down(&mut self) -> Result<(), UserError> {
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

    /// Keeps running nodes when this is dropped, and when Highwater ends.
    ///
    /// # Errors
    /// It cannot be recorded.
    pub fn keep(&mut self) -> Result<(), UserError> {
        match &self.kind {
            Kind::Processes(_) => Processes::keep(&mut self.site),
            Kind::Commands(_) => Commands::keep(&mut self.site),
        }
    }

    /// Events of the cluster so far, newest last; a bounded number of sentences.
    pub fn history(&self) -> &[HistoryEntry] {
        &self.site.file.state.history
    }

    fn remove_data(&mut self) -> Result<(), UserError> {
        match &self.kind {
            Kind::Processes(processes) => processes.remove_data(&mut self.site),
            // Data of nodes that the file described before it was changed.
            Kind::Commands(_) if !self.has_former() => Processes::end_former(&mut self.site, true),
            Kind::Commands(_) => Ok(()),
        }
    }

    /// Ends everything that is not kept.
    fn end_unkept(&mut self) -> Result<(), UserError> {
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

/// Rejects an impossible size.
fn check_size(nodes: u32) -> Result<(), UserError> {
    if (1..=NODES_MAX).contains(&nodes) {
        return Ok(());
    }
    Err(UserError::usage(format!("a cluster file has no cluster of {nodes} nodes"))
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
