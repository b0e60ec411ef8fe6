//! A directory with the file of a cluster, whose nodes are shells that sleep; each has a variable by which all of its
//! processes are found. Must not test anything.

use std::fs;

use rustix::process::Signal;

use crate::called::{Called, Place};

/// A node that does what it is to do when it is stopped, with a child that it ends itself.
pub(super) const OBEDIENT: &str =
    "trap 'kill $!; exit 0' TERM; sleep 300 & echo up {node} of {nodes}; wait";
/// One that never says that it is up.
pub(super) const SILENT: &str = "trap 'kill $!; exit 0' TERM; sleep 300 & echo hello; wait";

/// A directory with the file of a cluster.
pub(super) struct Lab(pub(super) Place);

impl Lab {
    /// Nodes with this command, and these lines of `[node]` besides.
    pub(super) fn new(command: &str, more: &str) -> Self {
        let lab = Self(Place::new());
        lab.describe(command, more);
        lab
    }

    /// A cluster of the user's own commands.
    pub(super) fn of_commands(commands: &str) -> Self {
        let lab = Self(Place::new());
        let text = format!("format = 1\nname = 'lab'\nnodes = 2\n[commands]\n{commands}\n");
        lab.0.file("lab.toml", &text);
        lab
    }

    /// Writes the file anew.
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
        self.0
            .call(&[&["cluster", action, "lab.toml"], more].concat())
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

    /// Processes of nodes that run.
    pub(super) fn alive(&self) -> usize {
        let variable = format!("LAB={}", self.0.path().display());
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let environments =
            processes.filter_map(|entry| fs::read(entry.path().join("environ")).ok());
        let has = |environment: &Vec<u8>| {
            let mut variables = environment.split(|byte| *byte == 0);
            variables.any(|found| found == variable.as_bytes())
        };
        environments.filter(has).count()
    }

    /// Nothing is left, and the history has these words.
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
        // A test that failed leaves nothing either.
        drop(self.call("down", &["--remove-data"]));
    }
}
