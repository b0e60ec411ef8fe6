//! A directory with a cluster file, whose nodes are sleeping shells with an environment variable that identifies all
//! their processes. Must not test anything.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use highwater_testing::programs::report_left_out;
use rustix::process::Signal;
use serde_json::Value;

use crate::called::{Called, Place, Running, finish, split};

/// A node that stops on request, with a child that it ends itself.
pub(super) const OBEDIENT: &str =
    "trap 'kill $!; exit 0' TERM; sleep 300 & echo up {node} of {nodes}; wait";
/// A node that never becomes ready.
pub(super) const SILENT: &str = "trap 'kill $!; exit 0' TERM; sleep 300 & echo hello; wait";

/// A simulated cluster with as many nodes as are running: 12 batches of 12 rows per second and node.
pub(super) const SIMULATED: &str =
    "nodes={nodes}&cores=1&queue=inf&request=0&row=7ms&shards=12&replicas=0&service=constant";
/// A growth of a started cluster, with its events.
pub(super) const GROW: &str =
    "scale cpu --cluster lab.toml --nodes 1,2 --each run -c 8n --batch 12 --settle 0s --events -";
/// User and group ID without privileges.
const NOBODY: &str = "65534";

/// A directory with a cluster file.
pub(super) struct Lab(pub(super) Place);

impl Lab {
    /// Nodes with this command, and these additional lines of `[node]`.
    pub(super) fn new(command: &str, more: &str) -> Self {
        let lab = Self(Place::new());
        lab.describe(command, more);
        lab
    }

    /// A cluster of custom commands.
    pub(super) fn of_commands(commands: &str) -> Self {
        let lab = Self(Place::new());
        let text = format!("format = 1\nname = 'lab'\nnodes = 2\n[commands]\n{commands}\n");
        lab.0.file("lab.toml", &text);
        lab
    }

    /// Nodes that sleep next to a simulated cluster on this clock, with these additional lines of the file and of
    /// `[node]`.
    pub(super) fn growing(clock: &str, more: &str, of_node: &str) -> Self {
        let lab = Self(Place::new().verbose());
        lab.describe_growing(clock, more, of_node);
        lab
    }

    /// Rewrites the file of such nodes.
    pub(super) fn describe_growing(&self, clock: &str, more: &str, of_node: &str) {
        let (here, name) = (self.0.path().display(), self.name());
        let text = format!(
            "format = 1\nname = '{name}'\n{more}\n[node]\ncommand = 'echo up; exec sleep 300'\n\
             targets = 'first'\nready.log = 'up'\nenvironment.LAB = '{here}'\n\
             url = 'sim:?clock={clock}&{SIMULATED}'\n{of_node}\n"
        );
        self.0.file("lab.toml", &text);
    }

    /// The cluster's unique name.
    fn name(&self) -> String {
        let here = self.0.path().file_name().unwrap().to_string_lossy();
        format!("lab-{}", here.trim_start_matches('.'))
    }

    /// Starts a growth of such nodes.
    pub(super) fn grow(&self, more: &str) -> Running {
        self.0.start(&split(&format!("{GROW} {more}")))
    }

    /// Calls the program as an unprivileged user, who becomes the owner of the directory. Absent, with a message, if
    /// that user cannot run the program, or this one cannot switch to that user.
    pub(super) fn without_rights(&self, words: &str) -> Option<Called> {
        let here = self.0.path();
        let owner = format!("{NOBODY}:{NOBODY}");
        let given = Command::new("chown").arg("-R").arg(owner).arg(here).status();
        let is_given = given.is_ok_and(|status| status.success());
        let as_nobody = || {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
            command
        };
        let program = env!("CARGO_BIN_EXE_highwater");
        let tried = as_nobody().args(["test", "-x", program]).status();
        if is_given && tried.is_ok_and(|status| status.success()) {
            let mut command = as_nobody();
            command.arg(program);
            return Some(finish(&mut self.0.prepared(command, &split(words))));
        }
        let why = "only root may do that, with a program that all may run";
        report_left_out("become a user without rights", why);
        None
    }

    /// The control groups of the running nodes.
    pub(super) fn groups(&self) -> Vec<PathBuf> {
        let states = fs::read_dir(self.0.path().join("state/highwater/clusters"));
        let [state] = &states.unwrap().collect::<Vec<_>>()[..] else {
            panic!("there is one cluster");
        };
        let state = state.as_ref().unwrap().path().join("state.json");
        let state: Value = serde_json::from_str(&fs::read_to_string(state).unwrap()).unwrap();
        let groups = state["nodes"]
            .as_object()
            .unwrap()
            .values()
            .flat_map(|node| node["process"]["groups"].as_array().unwrap());
        groups.map(|group| group.as_str().unwrap().into()).collect()
    }

    /// If these groups existed, no group of this cluster is left.
    #[track_caller]
    pub(super) fn expect_no_groups(&self, earlier: &[PathBuf]) {
        let prefix = format!("highwater-{}-", self.name());
        for group in earlier {
            let there = fs::read_dir(group.parent().unwrap()).unwrap();
            let mut ours = there
                .map(|entry| entry.unwrap().file_name())
                .filter(|name| name.to_string_lossy().starts_with(&prefix));
            assert_eq!(ours.next(), None);
        }
    }

    /// Rewrites the file.
    pub(super) fn describe(&self, command: &str, more: &str) {
        let here = self.0.path().display();
        let text = format!(
            "format = 1\nname = 'lab'\nnodes = 2\n[node]\ncommand = \"{command}\"\n\
             url = 'sim:?seed={{port.http}}'\nports.http = 0\nenvironment.LAB = '{here}'\n\
             ready.log = 'up {{node}}'\n{more}\n"
        );
        self.0.file("lab.toml", &text);
    }

    pub(super) fn call(&self, action: &str, more: &[&str]) -> Called {
        self.0.call(&[&["cluster", action, "lab.toml"], more].concat())
    }

    /// Calls the program, interrupts it at a line of its progress, and waits for its end.
    pub(super) fn interrupted_at(&self, line: &str) -> Called {
        let mut running = self.0.start(&["cluster", "up", "lab.toml"]);
        running.wait_for(line);
        running.signal(Signal::INT);
        running.end()
    }

    /// Kills the program at a line of its progress.
    pub(super) fn killed_at(&self, line: &str) {
        let mut running = self.0.start(&["cluster", "up", "lab.toml"]);
        running.wait_for(line);
        running.kill();
    }

    /// Number of processes of running nodes.
    pub(super) fn alive(&self) -> usize {
        let variable = format!("LAB={}", self.0.path().display());
        let environments = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| fs::read(entry.path().join("environ")).ok());
        let has = |environment: &Vec<u8>| {
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|found| found == variable.as_bytes())
        };
        environments.filter(has).count()
    }

    /// Nothing is left, and the history contains these words.
    #[track_caller]
    pub(super) fn expect_nothing_left(&self, words: &str) {
        assert_eq!(self.alive(), 0);
        let status = self.call("status", &[]);
        assert_eq!(status.code, Some(0), "{status:?}");
        assert!(status.stdout.contains("none runs"), "{status:?}");
        assert!(status.stdout.contains(words), "{status:?}");
    }

    pub(super) fn exists(&self, name: &str) -> bool {
        self.0.path().join(name).exists()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Also after a failed test.
        drop(self.call("down", &["--remove-data"]));
    }
}
