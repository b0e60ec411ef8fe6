//! Nodes on this machine: starting, resizing, and ending them in any way leaves no process, and a record of what
//! happened.

use std::net::TcpListener;

use rustix::process::Signal;

use super::lab::{Lab, OBEDIENT, SILENT};

#[test]
fn up_leaves_nodes_running_that_other_commands_resize_and_end() {
    let lab = Lab::new(OBEDIENT, "");
    let up = lab.call("up", &[]);
    assert_eq!(up.code, Some(0), "{up:?}");
    let urls: Vec<&str> = up.stdout.lines().collect();
    assert_eq!(urls.len(), 2, "{up:?}");
    assert!(urls[0].starts_with("sim:?seed=") && urls[0] != urls[1]);
    assert_eq!(lab.alive(), 4, "a shell and its child each");
    let status = lab.call("status", &[]);
    assert_eq!((status.code, status.stdout.matches("ready · ").count()), (Some(0), 2));
    let grown = lab.call("resize", &["--nodes", "3"]);
    assert_eq!((grown.stdout.lines().count(), lab.alive()), (3, 6), "{grown:?}");
    assert!(grown.stdout.starts_with(&up.stdout), "nodes 1 and 2 are where they were");
    let again = lab.call("up", &["--nodes", "3"]);
    assert_eq!(again.stdout, grown.stdout, "nothing was to be done");
    let one = lab.call("resize", &["--nodes", "1"]);
    assert_eq!((one.stdout.lines().count(), lab.alive()), (1, 2), "{one:?}");
    let down = lab.call("down", &[]);
    assert_eq!(down.code, Some(0), "{down:?}");
    lab.expect_nothing_left("node 1 ended");
}

#[test]
fn ctrl_c_ends_started_nodes() {
    let lab = Lab::new(SILENT, "");
    let called = lab.interrupted_at("node 2 is process");
    assert_eq!(called.code, Some(130), "{called:?}");
    assert!(called.stderr.contains("error: interrupted while node"), "{called:?}");
    lab.expect_nothing_left("interrupted while node");
}

#[test]
fn ctrl_c_ends_the_making_ready_of_a_data_directory() {
    let lab = Lab::new(OBEDIENT, "prepare = 'touch begun; sleep 300'");
    let running = lab.0.start(&["cluster", "up", "lab.toml"]);
    while lab.alive() == 0 {
        crate::called::before_the_next_look();
    }
    running.signal(Signal::INT);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    lab.expect_nothing_left("interrupted while `prepare` of node 1 was running");
}

#[test]
fn processes_left_by_a_killed_highwater_are_ended_by_the_next_one() {
    for next in ["status", "down", "up"] {
        let lab = Lab::new(SILENT, "");
        lab.killed_at("node 2 is process");
        while lab.alive() < 4 {
            crate::called::before_the_next_look();
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
    let mut running = lab.0.start(&["cluster", "resize", "lab.toml", "--nodes", "2"]);
    running.wait_for("node 2 is process");
    running.kill();
    let status = lab.call("status", &[]);
    assert!(status.stderr.contains("node 2 (process"), "{status:?}");
    assert_eq!(lab.alive(), 2, "node 1 goes on");
}

#[test]
fn a_node_that_does_not_start_is_reported_with_its_last_output() {
    let lab = Lab::new(SILENT, "ready.within = '3s'");
    let called = lab.call("up", &[]);
    assert_eq!(called.code, Some(5), "{called:?}");
    let message = "error: node 1 is not ready after 3 s: its log has no `up 1`; its last words:";
    assert!(called.stderr.contains(message), "{called:?}");
    assert!(called.stderr.contains("  | hello"), "{called:?}");
    lab.expect_nothing_left("node 1 is not ready after 3 s");
}

#[test]
fn a_node_that_ends_is_not_waited_for() {
    let lab = Lab::new("echo no license >&2; exit 3", "");
    let called = lab.call("up", &[]);
    assert_eq!(called.code, Some(5), "{called:?}");
    assert!(called.stderr.contains("ended while it was starting"), "{called:?}");
    assert!(called.stderr.contains("  | no license"), "{called:?}");
    lab.expect_nothing_left("ended while it was starting");
    lab.describe("no/such/program", "");
    let missing = lab.call("up", &[]);
    assert_eq!(missing.code, Some(5), "{missing:?}");
    assert!(missing.stderr.contains("no/such/program"), "{missing:?}");
}

#[test]
fn a_node_that_fails_in_a_resize_ends_no_other() {
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
fn data_that_could_not_be_prepared_are_prepared_again() {
    let lab = Lab::new(OBEDIENT, "prepare = 'touch begun; echo no room >&2; exit 7'");
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
    assert!(second.stderr.contains("in use by another Highwater"), "{second:?}");
    running.signal(Signal::INT);
    assert_eq!(running.end().code, Some(130));
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
