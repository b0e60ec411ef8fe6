//! `restore` of a cluster file: where data are restored, and the cost.

use std::fs;

use super::lab::{Lab, OBEDIENT};
use crate::scaling::{order, scale_of};

/// Logs the number of nodes, and the times of its start and its end.
const RESTORE: &str =
    "restore = 'echo {nodes} >> restored; date +%s%N >> times; sleep 0.3; date +%s%N >> times'";

/// Lines of a file that the command wrote.
fn lines(lab: &Lab, name: &str) -> Vec<u64> {
    let text = fs::read_to_string(lab.0.path().join(name)).unwrap();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn restore_brings_data_back() {
    let lab = Lab::new(OBEDIENT, "");
    let text = fs::read_to_string(lab.0.path().join("lab.toml")).unwrap();
    let restore = "name = 'lab'\nrestore = 'echo {nodes} > restored'";
    lab.0.file("lab.toml", &text.replace("name = 'lab'", restore));
    assert_eq!(lab.call("restore", &[]).code, Some(2), "nothing is up");
    assert_eq!(lab.call("up", &[]).code, Some(0));
    assert_eq!(lab.call("restore", &[]).code, Some(0));
    assert_eq!(lines(&lab, "restored"), [2]);
}

#[test]
fn data_are_brought_back_once_into_each_new_cluster_of_a_growth_outside_its_budget() {
    let lab = Lab::growing("sim", RESTORE, "");
    let called = lab.grow("-d 20s --warm-up 2s").end();
    assert_eq!(called.code, Some(0), "{called:?}");
    let scale = scale_of(&lab.0.runs().pop().unwrap());
    assert_eq!(order(&scale), [1, 2, 1]);
    assert_eq!(lines(&lab, "restored"), [1, 2, 1]);
    for (trial, times) in scale.trials.iter().zip(lines(&lab, "times").chunks(2)) {
        let restored = times[1] - times[0];
        assert!(trial.ready_ns >= restored, "{restored} of {trial:?}");
        let budgeted = trial.budgeted_ns();
        assert_eq!(budgeted + trial.ready_ns, trial.took_ns, "{trial:?}");
    }
}

#[test]
fn a_node_that_joins_is_brought_no_data() {
    let lab = Lab::growing("sim", RESTORE, "");
    let called = lab.grow("-d 20s --warm-up 2s --grow").end();
    assert_eq!(called.code, Some(0), "{called:?}");
    let scale = scale_of(&lab.0.runs().pop().unwrap());
    assert_eq!(order(&scale), [1, 2, 1]);
    // The repeated first size is a new cluster.
    assert_eq!(lines(&lab, "restored"), [1, 1]);
}

#[test]
fn a_restore_that_fails_ends_the_growth_with_its_last_words() {
    let lab = Lab::growing("sim", "restore = 'echo no snapshot >&2; exit 9'", "");
    let called = lab.grow("-d 20s").end();
    assert_eq!(called.code, Some(5), "{called:?}");
    called.reports("`restore` ended with exit code 9; its last words:\n  | no snapshot");
    assert!(lab.0.runs().is_empty());
    lab.expect_nothing_left("`restore` ended with exit code 9");
}
