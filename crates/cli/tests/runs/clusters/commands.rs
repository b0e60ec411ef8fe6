//! Clusters of custom commands: the commands that are run, and the state after they fail, are stopped, or are changed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use highwater_runner::record;
use rustix::process::Signal;

use super::lab::{Lab, OBEDIENT, SIMULATED};
use crate::scaling::{order, scale_of};
use crate::telemetry::serving;

/// Commands that log to files.
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
    assert!(called.stderr.contains("`up` ended with exit code 4"), "{called:?}");
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
        crate::called::before_the_next_look();
    }
    running.kill();
    let called = lab.call("status", &[]);
    assert_eq!(called.code, Some(0), "{called:?}");
    assert!(called.stderr.contains("was left by a Highwater that was killed"), "{called:?}");
    assert!(lab.exists("down"));
}

#[test]
fn a_second_ctrl_c_ends_down_and_the_next_down_ends_the_cluster() {
    let waiting =
        COMMANDS.replace("touch down", "touch begun; test -e may && touch down || sleep 300");
    let lab = Lab::of_commands(&waiting);
    assert_eq!(lab.call("up", &[]).code, Some(0));
    let running = lab.0.start(&["cluster", "down", "lab.toml"]);
    while !lab.exists("begun") {
        crate::called::before_the_next_look();
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
fn output_of_a_command_is_not_left_in_a_file() {
    let lab = Lab::of_commands(&COMMANDS.replace("sim:?seed=$n", "sim:?seed=$n#geheim"));
    lab.call("up", &[]);
    let states = lab.0.path().join("state/highwater/clusters");
    let mut states = fs::read_dir(states).unwrap();
    let state = states.next().unwrap().unwrap().path();
    let mode = fs::metadata(&state).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(!state.join("commands.out").exists());
}

/// A file may have changed while its cluster is running.
#[test]
fn down_ends_running_nodes_even_if_the_file_has_changed() {
    let lab = Lab::new(OBEDIENT, "");
    assert_eq!(lab.call("up", &[]).code, Some(0));
    let nodes = fs::read_to_string(lab.0.path().join("lab.toml")).unwrap();
    let commands = format!("format = 1\nname = 'lab'\nnodes = 2\n[commands]\n{COMMANDS}\n");
    lab.0.file("lab.toml", &commands);
    let up = lab.call("up", &[]);
    assert_eq!(up.code, Some(2), "{up:?}");
    assert!(up.stderr.contains("as the file described it before"), "{up:?}");
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
fn ctrl_c_while_the_cluster_is_not_ready_is_followed_by_down() {
    for (ready, said) in [
        ("touch trying; sleep 300", "`ready` was running"),
        // Between two attempts, or during one.
        ("touch trying; exit 1", ""),
    ] {
        let commands = COMMANDS.replace("test -e tried || { touch tried; exit 1; }", ready);
        let lab = Lab::of_commands(&commands);
        let running = lab.0.start(&["cluster", "up", "lab.toml"]);
        while !lab.exists("trying") {
            crate::called::before_the_next_look();
        }
        running.signal(Signal::INT);
        let called = running.end();
        assert_eq!(called.code, Some(130), "{called:?}");
        let said = format!("interrupted while {said}");
        called.reports(&format!("error: {said}"));
        assert!(lab.exists("down"));
        lab.expect_nothing_left(&said);
    }
}

/// The URLs of each node's metrics are those that the command prints, in the order of the node URLs.
#[test]
fn metrics_of_own_commands_are_read_during_a_load_and_a_growth() {
    let port = serving("/of-a-node", || "node_load1 0.25\n".to_owned());
    let metrics = format!("metrics = 'echo http://127.0.0.1:{port}/of-a-node'");
    let urls = format!("urls = 'echo \"sim:?clock=real&{SIMULATED}\"'");
    let commands = format!("up = 'true'\ndown = 'true'\n{urls}\n{metrics}\n");
    let lab = Lab::of_commands(&commands);
    let load = "-d 1s --warm-up 0s";
    let expect_read = |run: &Path| {
        let run = record::read(run).unwrap().into_run().unwrap();
        let series = run.target_telemetry.unwrap().series;
        let of_node = series.iter().find(|one| one.source.contains("/of-a-node"));
        let of_node = of_node.unwrap_or_else(|| panic!("{series:?}"));
        let read: Vec<f64> = of_node.values.iter().copied().flatten().collect();
        let is_it = |value: &f64| (value - 0.25).abs() < 1e-9;
        assert!(!read.is_empty() && read.iter().all(is_it), "{of_node:?}");
    };
    assert_eq!(lab.call("up", &["--nodes", "1"]).code, Some(0));
    let called = lab.0.typed(&format!("run cpu --cluster lab.toml {load} --batch 12 -q"));
    expect_read(&lab.0.runs().pop().unwrap_or_else(|| panic!("{called:?}")));
    assert_eq!(lab.call("down", &[]).code, Some(0));

    let called = lab.grow(&format!("{load} sim:?{SIMULATED}")).end();
    let growth = lab.0.runs().pop().unwrap();
    let scale = scale_of(&growth);
    assert_eq!(order(&scale), [1, 2, 1], "{called:?}");
    for trial in &scale.trials {
        expect_read(&growth.join(&trial.run));
    }
}
