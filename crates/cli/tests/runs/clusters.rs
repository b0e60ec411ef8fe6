//! `highwater cluster`: every way of ending leaves no process, and a record that says what happened.
//!
//! Nodes are shells that sleep; each has a variable by which all of its processes are found.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::called::{Called, Place};
use highwater_model::limit::Resource;

/// A node that does what it is to do when it is stopped, with a child that it ends itself.
const OBEDIENT: &str = "trap 'kill $!; exit 0' TERM; sleep 300 & echo up {node} of {nodes}; wait";
/// One that never says that it is up.
const SILENT: &str = "trap 'kill $!; exit 0' TERM; sleep 300 & echo hello; wait";

/// A directory with the file of a cluster.
struct Lab(Place);

impl Lab {
    /// Nodes with this command, and these lines of `[node]` besides.
    fn new(command: &str, more: &str) -> Self {
        let lab = Self(Place::new());
        lab.describe(command, more);
        lab
    }

    /// A cluster of the user's own commands.
    fn of_commands(commands: &str) -> Self {
        let lab = Self(Place::new());
        let text = format!("format = 1\nname = 'lab'\nnodes = 2\n[commands]\n{commands}\n");
        lab.0.file("lab.toml", &text);
        lab
    }

    /// Writes the file anew.
    fn describe(&self, command: &str, more: &str) {
        let here = self.0.path().display();
        let text = format!(
            "format = 1\nname = 'lab'\nnodes = 2\n[node]\ncommand = \"{command}\"\n\
             url = 'sim:?seed={{port.http}}'\nports.http = 0\nenvironment.LAB = '{here}'\n\
             ready.log = 'up {{node}}'\n{more}\n"
        );
        self.0.file("lab.toml", &text);
    }

    fn call(&self, action: &str, more: &[&str]) -> Called {
        self.0
            .call(&[&["cluster", action, "lab.toml"], more].concat())
    }

    /// Calls the program, interrupts it at a line of its progress, and waits for its end.
    fn interrupted_at(&self, line: &str) -> Called {
        let mut running = self.0.start(&["cluster", "up", "lab.toml"]);
        running.wait_for(line);
        running.signal(Signal::INT);
        running.end()
    }

    /// Kills the program at a line of its progress.
    fn killed_at(&self, line: &str) {
        let mut running = self.0.start(&["cluster", "up", "lab.toml"]);
        running.wait_for(line);
        running.kill();
    }

    /// Processes of nodes that run.
    fn alive(&self) -> usize {
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
    fn expect_nothing_left(&self, words: &str) {
        assert_eq!(self.alive(), 0);
        let status = self.call("status", &[]);
        assert_eq!(status.code, Some(0), "{status:?}");
        assert!(status.stdout.contains("none runs"), "{status:?}");
        assert!(status.stdout.contains(words), "{status:?}");
    }

    fn exists(&self, name: &str) -> bool {
        self.0.path().join(name).exists()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // A test that failed leaves nothing either.
        drop(self.call("down", &["--remove-data"]));
    }
}

#[test]
fn up_leaves_nodes_running_that_others_resize_and_end() {
    let lab = Lab::new(OBEDIENT, "");
    let up = lab.call("up", &[]);
    assert_eq!(up.code, Some(0), "{up:?}");
    let urls: Vec<&str> = up.stdout.lines().collect();
    assert_eq!(urls.len(), 2, "{up:?}");
    assert!(urls[0].starts_with("sim:?seed=") && urls[0] != urls[1]);
    assert_eq!(lab.alive(), 4, "a shell and its child each");
    let status = lab.call("status", &[]);
    assert_eq!(
        (status.code, status.stdout.matches("ready · ").count()),
        (Some(0), 2)
    );
    let grown = lab.call("resize", &["--nodes", "3"]);
    assert_eq!(
        (grown.stdout.lines().count(), lab.alive()),
        (3, 6),
        "{grown:?}"
    );
    assert!(
        grown.stdout.starts_with(&up.stdout),
        "nodes 1 and 2 are where they were"
    );
    let again = lab.call("up", &["--nodes", "3"]);
    assert_eq!(again.stdout, grown.stdout, "nothing was to be done");
    let one = lab.call("resize", &["--nodes", "1"]);
    assert_eq!((one.stdout.lines().count(), lab.alive()), (1, 2), "{one:?}");
    let down = lab.call("down", &[]);
    assert_eq!(down.code, Some(0), "{down:?}");
    lab.expect_nothing_left("node 1 ended");
}

#[test]
fn ctrl_c_ends_what_was_started() {
    let lab = Lab::new(SILENT, "");
    let called = lab.interrupted_at("node 2 is process");
    assert_eq!(called.code, Some(130), "{called:?}");
    assert!(
        called.stderr.contains("error: interrupted while node"),
        "{called:?}"
    );
    lab.expect_nothing_left("interrupted while node");
}

#[test]
fn ctrl_c_ends_the_making_ready_of_a_data_directory() {
    let lab = Lab::new(OBEDIENT, "prepare = 'touch begun; sleep 300'");
    let running = lab.0.start(&["cluster", "up", "lab.toml"]);
    while lab.alive() == 0 {
        std::thread::yield_now();
    }
    running.signal(Signal::INT);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    lab.expect_nothing_left("interrupted while `prepare` of node 1 was running");
}

#[test]
fn what_a_killed_highwater_left_is_ended_by_the_next_one() {
    for next in ["status", "down", "up"] {
        let lab = Lab::new(SILENT, "");
        lab.killed_at("node 2 is process");
        while lab.alive() < 4 {
            std::thread::yield_now();
        }
        lab.describe(OBEDIENT, "");
        let called = lab.call(next, &[]);
        assert_eq!(called.code, Some(0), "{called:?}");
        let words = "was left by a Highwater that was killed; ending it";
        assert_eq!(called.stderr.matches(words).count(), 2, "{called:?}");
        let alive = if next == "up" { 4 } else { 0 };
        assert_eq!(lab.alive(), alive);
    }
}

#[test]
fn a_killed_highwater_leaves_nodes_that_were_kept_before() {
    let lab = Lab::new(OBEDIENT, "");
    assert_eq!(lab.call("up", &["--nodes", "1"]).code, Some(0));
    lab.describe(SILENT, "");
    let mut running = lab
        .0
        .start(&["cluster", "resize", "lab.toml", "--nodes", "2"]);
    running.wait_for("node 2 is process");
    running.kill();
    let status = lab.call("status", &[]);
    assert!(status.stderr.contains("node 2 (process"), "{status:?}");
    assert_eq!(lab.alive(), 2, "node 1 goes on");
}

#[test]
fn a_node_that_does_not_come_up_says_its_last_words() {
    let lab = Lab::new(SILENT, "ready.within = '300ms'");
    let called = lab.call("up", &[]);
    assert_eq!(called.code, Some(5), "{called:?}");
    let message = "error: node 1 is not ready after 300 ms: its log has no `up 1`; its last words:";
    assert!(called.stderr.contains(message), "{called:?}");
    assert!(called.stderr.contains("  | hello"), "{called:?}");
    lab.expect_nothing_left("node 1 is not ready after 300 ms");
}

#[test]
fn a_node_that_ends_is_not_waited_for() {
    let lab = Lab::new("echo no license >&2; exit 3", "");
    let called = lab.call("up", &[]);
    assert_eq!(called.code, Some(5), "{called:?}");
    assert!(
        called.stderr.contains("ended while it was starting"),
        "{called:?}"
    );
    assert!(called.stderr.contains("  | no license"), "{called:?}");
    lab.expect_nothing_left("ended while it was starting");
    lab.describe("no/such/program", "");
    let missing = lab.call("up", &[]);
    assert_eq!(missing.code, Some(5), "{missing:?}");
    assert!(missing.stderr.contains("no/such/program"), "{missing:?}");
}

#[test]
fn a_node_that_fails_in_a_resize_takes_no_other_with_it() {
    let lab = Lab::new("[ {node} = 1 ] || exit 1; sleep 300 & echo up 1; wait", "");
    assert_eq!(lab.call("up", &["--nodes", "1"]).code, Some(0));
    let called = lab.call("resize", &["--nodes", "2"]);
    assert_eq!(called.code, Some(5), "{called:?}");
    let status = lab.call("status", &[]);
    assert!(status.stdout.contains("node 1"), "{status:?}");
    assert_eq!(lab.alive(), 2);
}

#[test]
fn a_port_in_use_is_named_before_anything_is_started() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let lab = Lab::new(OBEDIENT, &format!("ports.tcp = {port}"));
    let called = lab.call("up", &[]);
    assert_eq!(called.code, Some(2), "{called:?}");
    let message = format!("error: port `tcp` of node 1 cannot be used: 127.0.0.1:{port}: ");
    assert!(called.stderr.contains(&message), "{called:?}");
    lab.expect_nothing_left("port `tcp` of node 1 cannot be used");
}

#[test]
fn data_that_could_not_be_made_ready_are_made_anew() {
    let lab = Lab::new(
        OBEDIENT,
        "prepare = 'touch begun; echo no room >&2; exit 7'",
    );
    let called = lab.call("up", &[]);
    assert_eq!(called.code, Some(5), "{called:?}");
    let message = "`prepare` of node 1 ended with exit code 7; its last words:\n  | no room";
    assert!(called.stderr.contains(message), "{called:?}");
    lab.describe(OBEDIENT, "prepare = 'test ! -e begun && touch made'");
    assert_eq!(lab.call("up", &[]).code, Some(0));
    lab.describe(OBEDIENT, "prepare = 'exit 1'");
    assert_eq!(lab.call("down", &[]).code, Some(0));
    assert_eq!(lab.call("up", &[]).code, Some(0), "data are kept and ready");
    let fresh = lab.call("up", &["--fresh"]);
    assert_eq!(fresh.code, Some(5), "{fresh:?}");
    lab.expect_nothing_left("exit code 1");
}

#[test]
fn a_node_that_does_not_obey_is_killed_with_all_that_it_started() {
    let command = "trap '' TERM; setsid sleep 300 & sleep 300 & echo up {node}; wait";
    let lab = Lab::new(command, "stop.within = '200ms'");
    let called = lab.call("up", &["--nodes", "1"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert_eq!(lab.alive(), 3);
    assert_eq!(lab.call("down", &[]).code, Some(0));
    lab.expect_nothing_left("node 1 was killed: it did not end within 200 ms");
}

#[test]
fn a_cluster_is_used_by_one_at_a_time() {
    let lab = Lab::new(SILENT, "");
    let mut running = lab.0.start(&["cluster", "up", "lab.toml"]);
    running.wait_for("node 2 is process");
    let second = lab.call("down", &[]);
    assert_eq!(second.code, Some(2), "{second:?}");
    assert!(
        second.stderr.contains("in use by another Highwater"),
        "{second:?}"
    );
    running.signal(Signal::INT);
    assert_eq!(running.end().code, Some(130));
}

/// Commands that note in files what they did.
const COMMANDS: &str = "up = 'echo {nodes} >> up'\nresize = 'echo $HIGHWATER_NODES >> resized'\n\
    ready = 'test -e tried || { touch tried; exit 1; }'\n\
    urls = 'echo noise >&2; for n in $(seq {nodes}); do echo sim:?seed=$n; done'\n\
    down = 'touch down'\n";

#[test]
fn own_commands_start_resize_and_end_a_cluster() {
    let lab = Lab::of_commands(&format!("{COMMANDS}\n"));
    let up = lab.call("up", &[]);
    assert_eq!(up.code, Some(0), "{up:?}");
    assert_eq!(up.stdout, "sim:?seed=1\nsim:?seed=2\n");
    assert!(lab.exists("tried"), "it was tried until it was ready");
    let resized = lab.call("resize", &["--nodes", "3"]);
    assert_eq!(resized.stdout.lines().count(), 3, "{resized:?}");
    let read = |name: &str| fs::read_to_string(lab.0.path().join(name)).unwrap();
    assert_eq!((read("up"), read("resized")), ("2\n".into(), "3\n".into()));
    assert!(!lab.exists("down"));
    assert_eq!(lab.call("down", &[]).code, Some(0));
    assert!(lab.exists("down"));
    lab.expect_nothing_left("the cluster was ended");
}

#[test]
fn own_commands_that_fail_or_are_stopped_are_followed_by_down() {
    let failing = COMMANDS.replace("echo {nodes} >> up", "echo quota exceeded >&2; exit 4");
    let lab = Lab::of_commands(&failing);
    let called = lab.call("up", &[]);
    assert_eq!(called.code, Some(5), "{called:?}");
    assert!(
        called.stderr.contains("`up` ended with exit code 4"),
        "{called:?}"
    );
    assert!(called.stderr.contains("  | quota exceeded"), "{called:?}");
    assert!(lab.exists("down"));
    lab.expect_nothing_left("the cluster was ended");

    let waiting = COMMANDS.replace("echo {nodes} >> up", "sleep 300");
    let lab = Lab::of_commands(&waiting);
    let called = lab.interrupted_at("running `up`");
    assert_eq!(called.code, Some(130), "{called:?}");
    assert!(lab.exists("down"));
    lab.expect_nothing_left("interrupted while `up` was running");
}

#[test]
fn own_commands_of_a_killed_highwater_are_ended_and_followed_by_down() {
    let waiting = COMMANDS.replace("echo {nodes} >> up", "touch begun; sleep 300");
    let lab = Lab::of_commands(&waiting);
    let running = lab.0.start(&["cluster", "up", "lab.toml"]);
    while !lab.exists("begun") {
        std::thread::yield_now();
    }
    running.kill();
    let called = lab.call("status", &[]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert!(
        called
            .stderr
            .contains("was left by a Highwater that was killed"),
        "{called:?}"
    );
    assert!(lab.exists("down"));
}

#[test]
fn a_second_ctrl_c_ends_down_and_the_next_down_ends_the_cluster() {
    let waiting = COMMANDS.replace(
        "touch down",
        "touch begun; test -e may && touch down || sleep 300",
    );
    let lab = Lab::of_commands(&waiting);
    assert_eq!(lab.call("up", &[]).code, Some(0));
    let running = lab.0.start(&["cluster", "down", "lab.toml"]);
    while !lab.exists("begun") {
        std::thread::yield_now();
    }
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    assert!(!lab.exists("down"));
    lab.0.file("may", "");
    assert_eq!(lab.call("down", &[]).code, Some(0));
    assert!(lab.exists("down"));
    lab.expect_nothing_left("the cluster was ended");
}

#[test]
fn what_a_command_prints_is_not_left_in_a_file() {
    let lab = Lab::of_commands(&COMMANDS.replace("sim:?seed=$n", "sim:?seed=$n#geheim"));
    lab.call("up", &[]);
    let states = lab.0.path().join("state/highwater/clusters");
    let mut states = fs::read_dir(states).unwrap();
    let state = states.next().unwrap().unwrap().path();
    let mode = fs::metadata(&state).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(!state.join("commands.out").exists());
}

/// A file may describe something else while its cluster is up.
#[test]
fn down_ends_what_runs_whatever_the_file_describes_by_now() {
    let lab = Lab::new(OBEDIENT, "");
    assert_eq!(lab.call("up", &[]).code, Some(0));
    let nodes = fs::read_to_string(lab.0.path().join("lab.toml")).unwrap();
    let commands = format!("format = 1\nname = 'lab'\nnodes = 2\n[commands]\n{COMMANDS}\n");
    lab.0.file("lab.toml", &commands);
    let up = lab.call("up", &[]);
    assert_eq!(up.code, Some(2), "{up:?}");
    assert!(
        up.stderr.contains("as the file described it before"),
        "{up:?}"
    );
    assert_eq!(lab.alive(), 4);
    assert_eq!(lab.call("down", &[]).code, Some(0));
    assert!(!lab.exists("down"), "its commands started nothing");
    lab.expect_nothing_left("node 1 ended");

    assert_eq!(lab.call("up", &[]).code, Some(0));
    lab.0.file("lab.toml", &nodes);
    assert_eq!(lab.call("up", &[]).code, Some(2));
    assert_eq!(lab.call("down", &[]).code, Some(0));
    assert!(lab.exists("down"));
    lab.expect_nothing_left("the cluster was ended");
}

#[test]
fn a_size_that_no_cluster_has_is_refused_and_ends_nothing() {
    let lab = Lab::new(OBEDIENT, "");
    assert_eq!(lab.call("up", &[]).code, Some(0));
    let called = lab.call("up", &["--fresh", "--nodes", "257"]);
    assert_eq!(called.code, Some(2), "{called:?}");
    assert!(called.stderr.contains("from 1 to 256 nodes"), "{called:?}");
    assert_eq!(lab.alive(), 4);
}

#[test]
fn restore_brings_data_back() {
    let lab = Lab::new(OBEDIENT, "");
    let text = fs::read_to_string(lab.0.path().join("lab.toml")).unwrap();
    let restore = "name = 'lab'\nrestore = 'echo {nodes} > restored'";
    lab.0
        .file("lab.toml", &text.replace("name = 'lab'", restore));
    assert_eq!(lab.call("restore", &[]).code, Some(2), "nothing is up");
    assert_eq!(lab.call("up", &[]).code, Some(0));
    assert_eq!(lab.call("restore", &[]).code, Some(0));
    let restored = fs::read_to_string(lab.0.path().join("restored")).unwrap();
    assert_eq!(restored, "2\n");
}

#[test]
fn wrong_words_and_wrong_files_are_refused() {
    let lab = Lab::new(OBEDIENT, "");
    for (words, message) in [
        (&["cluster"][..], "there is nothing to do"),
        (
            &["cluster", "start", "lab.toml"],
            "cannot do `start lab.toml`",
        ),
        (&["cluster", "resize", "lab.toml"], "--nodes is missing"),
        (&["cluster", "up", "none.toml"], "cannot read none.toml"),
    ] {
        let called = lab.0.call(words);
        assert_eq!(called.code, Some(2), "{called:?}");
        assert!(called.stderr.contains(message), "{called:?}");
    }
    lab.0.file(
        "wrong.toml",
        "format = 1\nname = 'x'\n[node]\ncommand = 'x {prot.http}'\n\
        url = 'db:'\nready.log = 'x'\n",
    );
    let called = lab.0.call(&["check", "wrong.toml"]);
    assert_eq!(called.code, Some(2), "{called:?}");
    assert!(
        called.stderr.contains("unknown placeholder `{prot.http}`"),
        "{called:?}"
    );
    assert!(called.stderr.contains("--> wrong.toml:4:14"), "{called:?}");
    let good = lab.0.call(&["check", "lab.toml"]);
    assert!(
        good.stdout.contains("a process of this machine"),
        "{good:?}"
    );
}

/// The directory of the files that are shipped.
fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/clusters")
}

#[test]
fn every_file_that_is_shipped_can_be_read() {
    let place = Place::new();
    let files = fs::read_dir(shipped()).unwrap();
    let files = files.map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|found| found == "toml"));
    let mut checked = 0;
    for file in files {
        let called = place.call(&["check", file.to_str().unwrap()]);
        assert_eq!(called.code, Some(0), "{file:?}: {called:?}");
        checked += 1;
    }
    assert!(checked >= 8, "{checked}");
}

/// Starts so many nodes of a shipped file, uses them, changes their number, and ends them.
fn expect_usable(name: &str, nodes: [&str; 2]) {
    let lab = Lab(Place::new());
    let shipped = fs::read_to_string(shipped().join(name)).unwrap();
    lab.0.file("lab.toml", &shipped);
    for (action, nodes) in ["up", "resize"].iter().zip(nodes) {
        let called = lab.call(action, &["--nodes", nodes, "--no-quota"]);
        assert_eq!(called.code, Some(0), "{called:?}");
        let urls: Vec<&str> = called.stdout.lines().collect();
        for url in &urls {
            let check = lab.0.call(&["check", url]);
            assert_eq!(check.code, Some(0), "{check:?}");
        }
        let length = ["-q", "-d", "1s", "--warm-up", "0s", "--drop"];
        let words = [&["run", "cpu", urls[0]], &length[..]].concat();
        let run = lab.0.call(&words);
        assert!(run.stdout.contains("\ndata           clean "), "{run:?}");
    }
    let status = lab.call("status", &[]);
    assert_eq!(status.code, Some(0), "{status:?}");
    let down = lab.call("down", &["--remove-data"]);
    assert_eq!(down.code, Some(0), "{down:?}");
    assert!(!down.stderr.contains("was killed"), "{down:?}");
}

#[test]
fn a_primary_and_a_standby_start_as_shipped() {
    if !highwater_testing::postgres::skipped() {
        expect_usable("postgres-standby.toml", ["2", "2"]);
    }
}

#[test]
fn shards_start_as_shipped() {
    if !highwater_testing::clickhouse::skipped() {
        expect_usable("clickhouse.toml", ["1", "2"]);
    }
}

#[test]
#[ignore = "takes half a minute"]
fn long_a_synchronous_cluster_starts_as_shipped() {
    if !highwater_testing::galera::skipped() {
        expect_usable("galera.toml", ["2", "3"]);
    }
}

/// Whether this machine lets this process give quotas, as the shipped file needs.
fn can_limit() -> bool {
    let group = format!("/sys/fs/cgroup/cpu/highwater-test-{}", std::process::id());
    rustix::process::geteuid().is_root()
        && fs::create_dir(&group).is_ok()
        && fs::remove_dir(&group).is_ok()
}

#[test]
#[ignore = "takes a minute"]
fn long_shards_that_use_up_their_quotas_are_limited_by_their_cpu() {
    if highwater_testing::clickhouse::skipped() || !can_limit() {
        return;
    }
    let lab = Lab(Place::new());
    let shipped = fs::read_to_string(shipped().join("clickhouse.toml")).unwrap();
    lab.0.file("lab.toml", &shipped);
    let length = ["-d", "8s", "--warm-up", "3s", "--settle", "1s"];
    let words = ["scale", "cpu", "--cluster", "lab.toml", "--nodes", "1,2"];
    let load = ["--each", "run", "-c", "16n"];
    let called = lab.0.call(&[&words[..], &load, &length].concat());
    let limit = "\nlimited by     CPU of node ";
    assert!(called.stdout.contains(limit), "{called:?}");
    assert!(
        called.stdout.contains(" of its quota of 0.3 cores"),
        "{called:?}"
    );
    let record = highwater_runner::record::read(&lab.0.runs().pop().unwrap()).unwrap();
    let scale = record.into_experiment().unwrap();
    for trial in &scale.scale().unwrap().trials {
        let limit = trial.figures.limit.as_ref().unwrap();
        let by = limit.by.as_ref().unwrap();
        let is_cpu = [Resource::Cpu, Resource::HotNode].contains(&by.resource);
        assert!(
            is_cpu && trial.figures.target_cpu.unwrap() > 0.9,
            "{trial:?}"
        );
    }
}
