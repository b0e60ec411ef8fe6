//! Nodes that are processes of this machine: listed, started for a size, limited by quotas, and ended one by one.
//!
//! Must not know what a node does, or touch a process that this cluster did not start, or a node that stays.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use highwater_driver::clock::RealClock;
use highwater_driver::telemetry::LimitedNode;
use highwater_model::cluster::{
    CommandLine, Condition, NodeFile, QuotaFile, QuotaStart, Size, StartOrder, StopSignal, Targets,
    expand,
};
use highwater_model::display::span;
use highwater_model::numbers::to_f64;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use rustix::process::Signal;

use super::commands::{Waiting, is_ready, wait};
use super::control_group::{Hierarchies, add, cpu_limit, create, limit_cpu, limit_memory};
use super::data::DataDirectories;
use super::processes::{FamilyEnd, Launch, ProcessId, User, user};
use super::site::{NodeState, Shell, Site, StartedProcess};
use super::values;
use super::values::{Values, host};
use crate::Node;

/// Time limit for ending a node whose `stop` is no longer known.
const FORMER_WITHIN: Nanos = Nanos::from_secs(10);

/// The nodes of a cluster.
pub(super) struct Processes {
    pub(super) spec: NodeFile,
    pub(super) name: String,
    pub(super) user: Option<User>,
    pub(super) data: DataDirectories,
    /// The number of the first node: 1, or that of a node that runs alone.
    pub(super) first: u32,
    /// Parents of control groups; determined for the first node that needs one.
    pub(super) hierarchies: Option<Hierarchies>,
}

impl Processes {
    /// The nodes of this machine as the file describes them.
    pub(super) fn new(spec: NodeFile, name: &str, site: &Site) -> Result<Self, UserError> {
        let user = user(spec.user.as_deref())?;
        let directory = &site.options.directory;
        let here = directory.display().to_string();
        let given = spec.data.as_deref().map(|given| expand(given, |_| Some(here.clone())));
        let given = given
            .transpose()
            .map_err(|error| UserError::usage(error.to_string()))?
            .map(|given| directory.join(given));
        Ok(Self {
            data: DataDirectories::new(site.file.directory(), given, user),
            spec,
            name: name.to_owned(),
            user,
            first: 1,
            hierarchies: None,
        })
    }

    /// Ends nodes left by an earlier Highwater that was killed, and cleans up after nodes that ended by themselves.
    pub(super) fn sweep(&self, site: &mut Site) -> Result<(), UserError> {
        let nodes = site.file.state.nodes.clone();
        for (number, node) in nodes.iter().rev() {
            let Some(started) = &node.process else {
                continue;
            };
            let is_abandoned = node.held_by.is_some_and(|holder| !holder.is_alive());
            if is_abandoned && started.id.is_some_and(ProcessId::is_alive) {
                Self::hold(site, *number, None)?;
            }
            let is_alive = started.id.is_some_and(ProcessId::is_alive);
            if is_alive && node.kept {
                continue;
            }
            if let Some(id) = started.id {
                let why = match (node.kept, is_alive) {
                    (true, _) => "had ended by itself",
                    (false, true) => "was left by a Highwater that was killed; ending it",
                    (false, false) => "was started by a Highwater that was killed, and has ended",
                };
                site.note(format!("node {number} (process {}) {why}", id.pid));
            }
            self.end(site, *number)?;
        }
        Ok(())
    }

    /// The numbers of the running nodes.
    pub(super) fn running(site: &Site) -> Vec<u32> {
        numbers_of(site, |node| node.id().is_some_and(ProcessId::is_alive))
    }

    /// Ends all such nodes; tries all of them, and returns the last error.
    pub(super) fn end_all(
        &self,
        site: &mut Site,
        ends: fn(&NodeState) -> bool,
    ) -> Result<(), UserError> {
        let ended = numbers_of(site, ends).into_iter().rev().map(|number| self.end(site, number));
        let failed: Vec<UserError> = ended.filter_map(Result::err).collect();
        failed.into_iter().next_back().map_or(Ok(()), Err)
    }

    /// Ends nodes that were started by a [node] section no longer in the file, and removes their data if requested.
    pub(super) fn end_former(site: &mut Site, removes_data: bool) -> Result<(), UserError> {
        for (number, node) in site.file.state.nodes.clone().iter().rev() {
            if let Some(started) = &node.process {
                site.end(started, FORMER_WITHIN, |family| family.signal(Signal::TERM))?;
                site.note(format!("node {number} ended, which the file had before"));
            }
            if let Some(node) = site.file.state.nodes.get_mut(number) {
                (node.process, node.kept) = (None, false);
            }
            site.file.write()?;
            if removes_data {
                DataDirectories::containing(site.file.directory(), &node.data).remove()?;
                site.file.state.nodes.remove(number);
            }
        }
        site.file.write()
    }

    /// Removes the data of ended nodes.
    pub(super) fn remove_data(&self, site: &mut Site) -> Result<(), UserError> {
        self.data.remove()?;
        site.file.state.nodes.clear();
        site.file.write()
    }

    /// Keeps all nodes running after Highwater ends.
    pub(super) fn keep(site: &mut Site) -> Result<(), UserError> {
        let nodes = site.file.state.nodes.values_mut();
        nodes.for_each(|node| node.kept = node.process.is_some());
        site.file.write()
    }

    /// Whether the CPU quota begins only after the warm-up.
    pub(super) fn awaits_warm_up(&self, site: &Site) -> bool {
        let quota = self.spec.quota.filter(|_| !site.options.no_quota);
        quota.is_some_and(|quota| quota.cpu.is_some() && quota.begins == QuotaStart::WarmUp)
    }

    /// Starts the CPU quota, if the file has one.
    pub(super) fn limit(&self, site: &mut Site) -> Result<(), UserError> {
        let quota = self.spec.quota.filter(|_| !site.options.no_quota);
        let Some((cores, begins)) = quota.and_then(|quota| Some((quota.cpu?, quota.begins))) else {
            return Ok(());
        };
        for node in site.file.state.nodes.values() {
            let groups = node.process.as_ref().map(|process| &process.groups);
            if let Some(groups) = groups.filter(|groups| !groups.is_empty()) {
                limit_cpu(groups, cores)?;
            }
        }
        if begins == QuotaStart::WarmUp {
            site.note(format!("each node has {cores} cores from now on"));
        }
        Ok(())
    }

    /// The nodes that run with a CPU quota, whatever the file now contains.
    pub(super) fn limited(site: &Site) -> Vec<LimitedNode> {
        let limited = Self::running(site).into_iter().filter_map(|number| {
            let process = site.file.state.nodes.get(&number)?.process.as_ref()?;
            Some(LimitedNode {
                node: number.to_string(),
                cores: cpu_limit(&process.groups)?,
                group: process.groups.clone(),
            })
        });
        limited.collect()
    }

    /// The nodes, as seen by other modules. A stopped node is omitted if the changed file no longer describes it.
    pub(super) fn list(&self, site: &Site) -> Result<Vec<Node>, UserError> {
        let running = Self::running(site);
        let listed = site
            .file
            .state
            .nodes
            .keys()
            .copied()
            .map(|number| (number, self.listed(site, number, &running)));
        listed
            .filter(|(number, node)| node.is_ok() || running.contains(number))
            .map(|(_, node)| node)
            .collect()
    }

    fn listed(&self, site: &Site, number: u32, running: &[u32]) -> Result<Node, UserError> {
        let values = self.values(site, self.count_of(running));
        let state = site.file.state.nodes.get(&number);
        let id = state.and_then(NodeState::id);
        Ok(Node {
            number,
            host: host(&self.spec, number),
            url: values.fill(number, &self.spec.url)?,
            is_target: number == self.first || self.spec.targets == Targets::All,
            metrics: values.fill_all(number, &self.spec.metrics)?,
            pid: id.filter(|id| id.is_alive()).map(|id| id.pid),
            data: state.map(|state| state.data.clone()),
            log: Some(log_of(site, number)),
        })
    }

    /// Whether a running node responds as ready.
    pub(super) fn is_ready(&self, site: &Site, number: u32) -> Result<bool, UserError> {
        let count = self.count_of(&Self::running(site));
        // The log may be of this start, or of an earlier one.
        let waiting = self.waiting(site, number, count, 0)?;
        Ok(waiting.is_some_and(|waiting| is_ready(&waiting, &*site.options.open)))
    }

    pub(super) fn values<'a>(&'a self, site: &'a Site, count: u32) -> Values<'a> {
        Values {
            spec: &self.spec,
            directory: &site.options.directory,
            nodes: &site.file.state.nodes,
            first: self.first,
            count,
        }
    }

    /// Size of the cluster of these nodes; the last node runs as long as any.
    fn count_of(&self, running: &[u32]) -> u32 {
        let last = running.last().copied().unwrap_or(0);
        last.saturating_add(1).saturating_sub(self.first)
    }

    /// Runs a shell command of a node, as its user in its data directory.
    pub(super) fn shell(
        &self,
        site: &mut Site,
        number: u32,
        count: u32,
        command: Command<'_>,
        heeds_stop: bool,
    ) -> Result<(), UserError> {
        let values = self.values(site, count);
        let text = values.fill(number, command.text)?;
        let shell = Shell {
            name: command.name,
            text: &text,
            environment: values.environment(number)?,
            directory: self.data.of_node(number),
            user: self.user,
            within: command.within,
        };
        site.run_well(&shell, heeds_stop).map(drop)
    }

    /// The readiness condition of a node; `None` if it was not started.
    pub(super) fn waiting(
        &self,
        site: &Site,
        number: u32,
        count: u32,
        log_begin: u64,
    ) -> Result<Option<Waiting>, UserError> {
        let node = site.file.state.nodes.get(&number);
        let Some(id) = node.and_then(NodeState::id) else {
            return Ok(None);
        };
        let values = self.values(site, count);
        let fill = |text: &str| values.fill(number, text);
        let condition = match &self.spec.ready.condition() {
            Condition::Http(address) => Condition::Http(fill(address)?),
            Condition::Log(text) => Condition::Log(fill(text)?),
            Condition::Sql { sql, answer } => {
                Condition::Sql { sql: fill(sql)?, answer: answer.as_deref().map(fill).transpose()? }
            }
        };
        Ok(Some(Waiting {
            number,
            id,
            condition,
            url: fill(&self.spec.url)?,
            log: log_of(site, number),
            log_begin,
        }))
    }

    /// Ends a running node at once, by SIGKILL.
    pub(super) fn kill(site: &mut Site, number: u32) -> Result<(), UserError> {
        let started = running_process(site, number)?;
        site.end(&started, Nanos::ZERO, |_| ())?;
        if let Some(node) = site.file.state.nodes.get_mut(&number) {
            (node.process, node.kept, node.held_by) = (None, false, None);
        }
        site.note(format!("node {number} was killed, as planned"));
        site.file.write()
    }

    /// Ends a running node in order.
    pub(super) fn stop(&self, site: &mut Site, number: u32) -> Result<(), UserError> {
        running_process(site, number)?;
        self.end(site, number)
    }

    /// Starts a node that has ended, waits until it is ready, and keeps it running.
    pub(super) fn start_again(&mut self, site: &mut Site, number: u32) -> Result<(), UserError> {
        let mut running = Self::running(site);
        if running.contains(&number) {
            return Err(UserError::cluster(format!("node {number} is running already")));
        }
        if !site.file.state.nodes.contains_key(&number) {
            return Err(UserError::cluster(format!("the cluster has no node {number}")));
        }
        running.push(number);
        running.sort_unstable();
        let count = self.count_of(&running);
        // It may have left something when it ended by itself.
        self.end(site, number)?;
        self.start(site, count, &[number])?;
        if let Some(node) = site.file.state.nodes.get_mut(&number) {
            node.kept = true;
        }
        site.note(format!("node {number} was started, as planned"));
        site.file.write()
    }

    /// Ends a node with all its processes, if it was started.
    pub(super) fn end(&self, site: &mut Site, number: u32) -> Result<(), UserError> {
        let node = site.file.state.nodes.get(&number);
        let Some(started) = node.and_then(|node| node.process.clone()) else {
            return Ok(());
        };
        let stop = &self.spec.stop;
        let is_alive = started.id.is_some_and(ProcessId::is_alive);
        if let Some(text) = stop.command.as_deref().filter(|_| is_alive && !site.is_in_a_hurry()) {
            let count = self.count_of(&Self::running(site));
            let command =
                Command { name: &format!("`stop` of node {number}"), text, within: stop.within.0 };
            if let Err(error) = self.shell(site, number, count, command, false) {
                site.note(error.message);
            }
        }
        let by_signal = stop.command.is_none() || !is_alive;
        let ended = site.end(&started, stop.within.0, |family| {
            if by_signal {
                family.signal(signal(stop.signal));
            }
        })?;
        if let Some(node) = site.file.state.nodes.get_mut(&number) {
            (node.process, node.kept) = (None, false);
        }
        match ended {
            FamilyEnd::Killed if site.is_in_a_hurry() => {
                site.note(format!("node {number} was killed"));
            }
            FamilyEnd::Killed => {
                let limit = span(stop.within.0.0);
                let why = format!("it did not end within {limit}");
                site.note(format!("node {number} was killed: {why}"));
            }
            FamilyEnd::InOrder => site.note(format!("node {number} ended")),
            FamilyEnd::Before | FamilyEnd::Not(_) => {}
        }
        site.file.write()
    }
}

/// The process of a running node.
pub(super) fn running_process(site: &Site, number: u32) -> Result<StartedProcess, UserError> {
    let process = site.file.state.nodes.get(&number).and_then(|node| node.process.clone());
    let alive = process.filter(|process| process.id.is_some_and(ProcessId::is_alive));
    alive.ok_or_else(|| UserError::cluster(format!("node {number} is not running")))
}

/// A shell command of a node.
#[derive(Clone, Copy)]
pub(super) struct Command<'a> {
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    pub(super) within: Nanos,
}

fn numbers_of(site: &Site, are: fn(&NodeState) -> bool) -> Vec<u32> {
    let those = site.file.state.nodes.iter().filter(|(_, node)| are(node));
    those.map(|(number, _)| *number).collect()
}

fn signal(signal: StopSignal) -> Signal {
    match signal {
        StopSignal::Term => Signal::TERM,
        StopSignal::Int => Signal::INT,
        StopSignal::Quit => Signal::QUIT,
    }
}

pub(super) fn log_of(site: &Site, number: u32) -> PathBuf {
    site.file.directory().join(format!("node{number}.log"))
}

/// Time limit for preparing a data directory.
const PREPARE_WITHIN: Nanos = Nanos::from_secs(600);

impl Processes {
    /// Starts or ends nodes until this many run, counted from the first one, and waits until they are ready. On
    /// failure, ends the nodes that it started.
    pub(super) fn resize(
        &mut self,
        site: &mut Site,
        first: u32,
        count: u32,
    ) -> Result<(), UserError> {
        let requested = first..first.saturating_add(count);
        let running = Self::running(site);
        let others = running.iter().rev();
        for number in others.filter(|number| !requested.contains(*number)) {
            self.end(site, *number)?;
        }
        self.first = first;
        let missing: Vec<u32> = requested.filter(|number| !running.contains(number)).collect();
        for number in &missing {
            // A node that ended by itself may have left something.
            self.end(site, *number)?;
        }
        let started = self.start(site, count, &missing);
        let Err(error) = started else {
            return Ok(());
        };
        site.keep(&error);
        for number in missing.iter().rev() {
            if let Err(error) = self.end(site, *number) {
                site.note(format!("node {number}: {error}"));
            }
        }
        site.file.write()?;
        Err(error)
    }

    fn start(&mut self, site: &mut Site, count: u32, missing: &[u32]) -> Result<(), UserError> {
        if missing.is_empty() {
            return self.write_files(site, count);
        }
        self.find_hierarchies(site)?;
        self.plan(site, missing)?;
        for number in missing {
            site.check(&format!("node {number} was prepared"))?;
            self.make_data(site, *number)?;
        }
        self.write_files(site, count)?;
        let mut waiting = Vec::new();
        for number in missing {
            site.check(&format!("node {number} was starting"))?;
            self.prepare(site, *number, count)?;
            let begin = fs::metadata(log_of(site, *number)).map_or(0, |log| log.len());
            self.launch(site, *number, count)?;
            waiting.extend(self.waiting(site, *number, count, begin)?);
            if self.spec.start == StartOrder::OneByOne {
                wait(site, std::mem::take(&mut waiting), self.spec.ready.within.0)?;
            }
        }
        wait(site, waiting, self.spec.ready.within.0)?;
        let running = Self::running(site);
        match missing.iter().find(|number| !running.contains(number)) {
            None => Ok(()),
            Some(number) => {
                let message = format!("node {number} ended once it was ready");
                let log = log_of(site, *number);
                let hint = format!("see its log, {}", log.display());
                Err(UserError::cluster(message).with_hint(hint))
            }
        }
    }

    /// Determines once whether quotas can be set, and whether the kernel enforces them.
    fn find_hierarchies(&mut self, site: &mut Site) -> Result<(), UserError> {
        let quota = self.spec.quota.filter(|_| !site.options.no_quota);
        let Some(quota) = quota.filter(|_| self.hierarchies.is_none()) else {
            return Ok(());
        };
        let found = hierarchies(&quota)?;
        if quota.cpu.is_some() {
            try_kernel(site, &found, &self.name)?;
        }
        self.hierarchies = Some(found);
        Ok(())
    }

    /// Assigns ports and data directories to nodes.
    fn plan(&self, site: &mut Site, missing: &[u32]) -> Result<(), UserError> {
        let mut held = Vec::new();
        for number in missing {
            let host = host(&self.spec, *number);
            let data = self.data.of_node(*number);
            let nodes = &mut site.file.state.nodes;
            let before = nodes.get(number).cloned().unwrap_or_default();
            let named = &self.spec.ports;
            let ports = values::of_node(*number, &host, named, &before.ports, &mut held)?;
            // Data in another directory belong to an earlier version of the file.
            let prepared = before.prepared && before.data == data;
            let node = NodeState { ports, data, prepared, ..NodeState::default() };
            nodes.insert(*number, node);
        }
        site.file.write()
    }

    /// Creates the data directory of a node, unless it exists from an earlier start.
    fn make_data(&self, site: &mut Site, number: u32) -> Result<(), UserError> {
        let node = site.file.state.nodes.entry(number).or_default();
        if node.prepared && node.data.is_dir() {
            return Ok(());
        }
        node.prepared = false;
        site.file.write()?;
        self.data.make(number)
    }

    /// Writes the files of all nodes: those of running nodes also list their new peers.
    fn write_files(&self, site: &Site, count: u32) -> Result<(), UserError> {
        let values = self.values(site, count);
        for number in values.numbers() {
            for (name, text) in &self.spec.files {
                self.data.write(number, name, &values.fill(number, text)?)?;
            }
        }
        Ok(())
    }

    /// Prepares a new data directory.
    fn prepare(&self, site: &mut Site, number: u32, count: u32) -> Result<(), UserError> {
        let node = site.file.state.nodes.get(&number);
        if node.is_some_and(|node| node.prepared) {
            return Ok(());
        }
        if let Some(text) = &self.spec.prepare {
            let command = Command {
                name: &format!("`prepare` of node {number}"),
                text,
                within: PREPARE_WITHIN,
            };
            self.shell(site, number, count, command, true)?;
        }
        if let Some(node) = site.file.state.nodes.get_mut(&number) {
            node.prepared = true;
        }
        site.file.write()
    }

    fn launch(&self, site: &mut Site, number: u32, count: u32) -> Result<(), UserError> {
        let mark = site.mark();
        let hierarchies = self.hierarchies.as_ref().filter(|_| !site.options.no_quota);
        let group = format!("highwater-{}-{number}-{mark}", self.name);
        let groups = hierarchies.map_or(Vec::new(), |hierarchies| hierarchies.group(&group));
        let started = StartedProcess { id: None, mark: mark.clone(), groups: groups.clone() };
        record(site, number, started.clone())?;
        if let Some(quota) = self.spec.quota.filter(|_| !groups.is_empty()) {
            make(&groups, &quota)?;
        }
        let values = self.values(site, count);
        let words = match &self.spec.command {
            CommandLine::Words(words) => values.fill_all(number, words)?,
            CommandLine::Shell(text) => {
                vec!["/bin/sh".to_owned(), "-c".to_owned(), values.fill(number, text)?]
            }
        };
        let launch = Launch {
            words: &words,
            environment: &values.environment(number)?,
            hidden: &site.options.hidden,
            directory: &self.data.of_node(number),
            log: &log_of(site, number),
            output: None,
            user: self.user,
            mark: &mark,
        };
        let gated = launch.start()?;
        add(&groups, gated.pid())?;
        let id = Some(gated.id);
        record(site, number, StartedProcess { id, ..started })?;
        let child = gated.release()?;
        site.adopt(child);
        site.note(format!("node {number} is process {}", id.map_or(0, |id| id.pid)));
        Ok(())
    }
}

/// Records a process before it starts.
fn record(site: &mut Site, number: u32, started: StartedProcess) -> Result<(), UserError> {
    let node = site.file.state.nodes.entry(number).or_default();
    node.process = Some(started);
    site.file.write()
}

/// Uses a core for some tenths of a second, or for some seconds with a quota.
const BUSY: &str = "i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done";
/// The quota for the check, in cores.
const TRIED_CORES: f64 = 0.2;
/// From this use on, the quota was ignored: three times the quota, because ticks are coarse.
const IGNORED_CORES: f64 = 0.6;
/// Duration of the check.
const WATCHED: Nanos = Nanos::from_millis(400);
/// Ticks per CPU second: see proc_pid_stat(5).
const TICKS_PER_S: f64 = 100.0;

/// The hierarchies required by a quota.
pub(super) fn hierarchies(quota: &QuotaFile) -> Result<Hierarchies, UserError> {
    let cpu = quota.cpu.map(|_| "cpu");
    let memory = quota.memory.map(|_| "memory");
    let controllers: Vec<&str> = cpu.into_iter().chain(memory).collect();
    // A node's use of its quota is in a separate hierarchy.
    Hierarchies::find(&controllers, quota.cpu.map(|_| "cpuacct"))
}

/// Creates the control group of a node before its start.
pub(super) fn make(group: &[PathBuf], quota: &QuotaFile) -> Result<(), UserError> {
    create(group)?;
    if let Some(Size(bytes)) = quota.memory {
        limit_memory(group, bytes)?;
    }
    match quota.cpu {
        Some(cores) if quota.begins == QuotaStart::Start => limit_cpu(group, cores),
        _ => Ok(()),
    }
}

/// Checks whether a process can exceed its quota.
pub(super) fn try_kernel(
    site: &mut Site,
    hierarchies: &Hierarchies,
    name: &str,
) -> Result<(), UserError> {
    try_by(site, hierarchies, name, busy)
}

/// The same with a given measurement of the used cores.
fn try_by(
    site: &mut Site,
    hierarchies: &Hierarchies,
    name: &str,
    busy: impl FnOnce(&mut Site, &[PathBuf], &str) -> Result<f64, UserError>,
) -> Result<(), UserError> {
    let mark = site.mark();
    let groups = hierarchies.group(&format!("highwater-{name}-trial-{mark}"));
    site.file.state.command =
        Some(StartedProcess { id: None, mark: mark.clone(), groups: groups.clone() });
    site.file.write()?;
    let used = busy(site, &groups, &mark);
    site.end_command()?;
    used.and_then(kept_to)
}

/// Whether a process that used this many cores was limited by its quota.
fn kept_to(cores: f64) -> Result<(), UserError> {
    if cores < IGNORED_CORES {
        return Ok(());
    }
    let message = format!(
        "the kernel ignores quotas: a process with {TRIED_CORES} cores used {cores:.2} of them"
    );
    Err(UserError::usage(message).with_hint("add --no-quota to start the nodes without quotas"))
}

/// The cores that a busy process uses under its quota.
fn busy(site: &mut Site, groups: &[PathBuf], mark: &str) -> Result<f64, UserError> {
    create(groups)?;
    limit_cpu(groups, TRIED_CORES)?;
    let launch = Launch {
        words: &["/bin/sh", "-c", BUSY].map(str::to_owned),
        environment: &BTreeMap::new(),
        hidden: &site.options.hidden,
        directory: site.file.directory(),
        log: &site.file.directory().join("commands.log"),
        output: None,
        user: None,
        mark,
    };
    let gated = launch.start()?;
    let id = gated.id;
    add(groups, gated.pid())?;
    if let Some(command) = &mut site.file.state.command {
        command.id = Some(id);
    }
    site.file.write()?;
    let before = id.cpu_ticks().unwrap_or(0);
    let clock = RealClock::start();
    let child = gated.release()?;
    while clock.now() < WATCHED {
        site.pause();
    }
    // It is reaped only later, so that its CPU time can be read.
    let ticks = id.cpu_ticks().unwrap_or(0).saturating_sub(before);
    let elapsed = clock.now().as_secs_f64();
    site.adopt(child);
    Ok(to_f64(ticks) / TICKS_PER_S / elapsed)
}

#[cfg(test)]
mod tests {
    use super::super::control_group::remove;
    use super::super::processes::ProcessId;
    use super::super::site::StateFile;
    use super::*;
    use crate::Options;
    use highwater_driver::interrupts;
    use highwater_model::user_error::UserError;
    use std::path::Path;
    use std::rc::Rc;

    #[test]
    fn a_process_beyond_its_quota_shows_that_the_kernel_ignores_it() {
        // Clock ticks explain two ticks above the quota, and a period's quota may be used early.
        assert_eq!(kept_to(0.26), Ok(()));
        let error = kept_to(0.98).unwrap_err();
        let message = "the kernel ignores quotas: a process with 0.2 cores used 0.98 of them";
        assert_eq!(error.message, message);
        assert!(error.hint.unwrap().contains("--no-quota"));
    }

    fn site(directory: &Path) -> Site {
        let options = Options {
            directory: directory.to_owned(),
            no_quota: false,
            remove_data: false,
            takes_over: false,
            hidden: Vec::new(),
            open: Rc::new(|_: &str| Err(UserError::usage("nothing is opened"))),
            report: Rc::new(|_: &str| ()),
        };
        let file = StateFile::open(&directory.join("state")).unwrap();
        Site::new(options, file, interrupts::channel().1)
    }

    /// Uses a real quota if this machine has control groups; otherwise none, in a group that is a plain directory. The
    /// measurement reports a use above the quota.
    #[test]
    fn a_kernel_that_ignores_quotas_is_refused_and_its_trial_leaves_nothing() {
        let place = tempfile::tempdir().unwrap();
        let mut site = site(place.path());
        let found = Hierarchies::find(&["cpu"], Some("cpuacct")).ok();
        let is_usable = |found: &Hierarchies| {
            let group = found.group(&format!("highwater-usable-{}", std::process::id()));
            let is_made = create(&group).is_ok();
            remove(&group) && is_made
        };
        let real = found.filter(is_usable);
        let has_groups = real.is_some();
        let hierarchies = real.unwrap_or_else(|| Hierarchies::at(vec![place.path().to_owned()]));
        let mut tried = None;
        let refused = try_by(&mut site, &hierarchies, "ignored", |site, groups, mark| {
            if has_groups {
                busy(site, groups, mark)?;
            } else {
                create(groups)?;
            }
            assert!(groups.iter().all(|group| group.exists()));
            tried = site.file.state.command.clone();
            Ok(0.98)
        });
        let message = "the kernel ignores quotas: a process with 0.2 cores used 0.98 of them";
        assert_eq!(refused.unwrap_err().message, message);
        let tried = tried.unwrap();
        assert_eq!(tried.id.is_some(), has_groups);
        assert!(!tried.id.is_some_and(ProcessId::is_alive));
        assert!(!tried.groups.is_empty());
        assert!(!tried.groups.iter().any(|group| group.exists()), "{tried:?}");
        drop(site);
        let state = StateFile::open(&place.path().join("state")).unwrap().state;
        assert_eq!(state.command, None, "the next Highwater has nothing to end");
    }
}
