//! Starts the nodes that a size needs on this machine, and ends the others.
//!
//! Must not touch a node that stays.

use std::fs;

use highwater_model::cluster::{CommandLine, StartOrder};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::control_group::add;
use super::launch::Launch;
use super::nodes::{Command, Processes, log_of};
use super::ready::wait;
use super::site::Site;
use super::state::{NodeState, Started};
use super::values::host;
use super::{ports, quota};

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
        let found = quota::hierarchies(&quota)?;
        if quota.cpu.is_some() {
            quota::try_kernel(site, &found, &self.name)?;
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
            let ports = ports::of_node(*number, &host, named, &before.ports, &mut held)?;
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
        let started = Started { id: None, mark: mark.clone(), groups: groups.clone() };
        record(site, number, started.clone())?;
        if let Some(quota) = self.spec.quota.filter(|_| !groups.is_empty()) {
            quota::make(&groups, &quota)?;
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
        record(site, number, Started { id, ..started })?;
        let child = gated.release()?;
        site.adopt(child);
        site.note(format!("node {number} is process {}", id.map_or(0, |id| id.pid)));
        Ok(())
    }
}

/// Records a process before it starts.
fn record(site: &mut Site, number: u32, started: Started) -> Result<(), UserError> {
    let node = site.file.state.nodes.entry(number).or_default();
    node.process = Some(started);
    site.file.write()
}
