//! Growths of started clusters, ended in each phase: nothing is left of the clusters, and the record describes the end.

use std::path::PathBuf;

use highwater_model::scale::{ScaleOutcome, ScaleRecord, SizeVerdict};
use rustix::process::Signal;

use super::lab::{GROW, Lab, SIMULATED};
use crate::called::{Called, Running};
use crate::growing::has_no_quotas;
use crate::scaling::{order, scale_of};

/// A quota that the sleeping nodes never use up.
const QUOTA: &str = "quota = { cpu = 0.5 }";
/// A growth that would take long.
const LONG: &str = "-d 10m --warm-up 0s";

/// Interrupts a growth, which reports it; returns its output and its record.
#[track_caller]
fn interrupted(lab: &Lab, running: Running) -> (Called, ScaleRecord) {
    running.signal(Signal::INT);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    let shown = lab.0.call(&["show"]);
    assert_eq!(shown.code, Some(130), "{shown:?}");
    shown.prints(" [interrupted]\n");
    let scale = scale_of(&lab.0.runs().pop().unwrap());
    assert_eq!(scale.outcome, Some(ScaleOutcome::Interrupted), "{called:?}");
    (called, scale)
}

/// The existing groups of the running nodes.
#[track_caller]
fn groups(lab: &Lab) -> Vec<PathBuf> {
    let groups = lab.groups();
    assert!(!groups.is_empty() && groups.iter().all(|group| group.exists()));
    groups
}

#[test]
fn ctrl_c_while_a_size_is_measured_ends_its_nodes() {
    if has_no_quotas() {
        return;
    }
    let lab = Lab::growing("real", "", QUOTA);
    let mut running = lab.grow(LONG);
    running.wait_for_second("measure");
    let groups = groups(&lab);
    let (called, scale) = interrupted(&lab, running);
    assert_eq!(order(&scale), [1]);
    let verdict = scale.trials[0].figures.verdict;
    assert_eq!(verdict, SizeVerdict::Interrupted, "{called:?}");
    lab.expect_nothing_left("node 1 ended");
    lab.expect_no_groups(&groups);
}

#[test]
fn ctrl_c_while_a_node_is_measured_alone_ends_it() {
    if has_no_quotas() {
        return;
    }
    let lab = Lab::growing("real", "", &format!("alone = true\n{QUOTA}"));
    let mut running = lab.grow(LONG);
    running.wait_for("node 1 alone");
    running.wait_for_second("measure");
    let groups = groups(&lab);
    let (called, scale) = interrupted(&lab, running);
    let [alone] = &scale.alone.trials[..] else {
        panic!("{called:?}");
    };
    let verdict = alone.figures.verdict;
    assert_eq!((alone.node, verdict), (Some(1), SizeVerdict::Interrupted));
    assert_eq!(order(&scale), [0; 0]);
    lab.expect_nothing_left("node 1 ended");
    lab.expect_no_groups(&groups);
}

#[test]
fn ctrl_c_during_the_warm_up_before_quotas_ends_the_nodes() {
    if has_no_quotas() {
        return;
    }
    let quota = "quota = { cpu = 0.5, begins = 'warm-up' }";
    let lab = Lab::growing("real", "", quota);
    let mut running = lab.grow("-d 10m");
    running.wait_for_second("warm-up");
    let groups = groups(&lab);
    let (called, scale) = interrupted(&lab, running);
    let [trial] = &scale.trials[..] else {
        panic!("{called:?}");
    };
    assert_eq!(trial.figures.verdict, SizeVerdict::Interrupted);
    let before = trial.before_quota.as_ref().unwrap();
    assert_ne!(before.steady, Some(true), "{before:?}");
    lab.expect_nothing_left("node 1 ended");
    lab.expect_no_groups(&groups);
}

#[test]
fn ctrl_c_while_data_are_brought_back_ends_the_command_and_the_nodes() {
    let said = "interrupted while `restore` was running";
    let lab = Lab::growing("sim", "restore = 'sleep 300'", "");
    let mut running = lab.grow("-d 20s");
    running.wait_for("running `restore`");
    running.signal(Signal::INT);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    called.reports(said);
    assert!(lab.0.runs().is_empty(), "nothing was measured");
    lab.expect_nothing_left(said);

    // Earlier measurements are kept.
    lab.describe_growing("sim", "restore = '[ {nodes} = 1 ] || sleep 300'", "");
    let mut running = lab.grow("-d 20s");
    running.wait_for("running `restore`");
    running.wait_for("running `restore`");
    let (_, scale) = interrupted(&lab, running);
    assert_eq!(order(&scale), [1]);
    lab.expect_nothing_left(said);
}

#[test]
fn a_command_that_fails_at_a_size_is_retried_and_keeps_the_earlier_sizes() {
    let prepare = "prepare = '[ {node} = 1 ] || { echo no room >&2; exit 7; }'";
    let lab = Lab::growing("sim", "", prepare);
    let called = lab.grow("-d 20s").end();
    assert_eq!(called.code, Some(5), "{called:?}");
    let said = "`prepare` of node 2 ended with exit code 7";
    called.reports(&format!("{said}; its last words:\n  | no room"));
    let scale = scale_of(&lab.0.runs().pop().unwrap());
    assert_eq!(scale.outcome, Some(ScaleOutcome::TargetLost), "{called:?}");
    assert_eq!(order(&scale), [1, 2, 2]);
    lab.expect_nothing_left(said);
}

/// Its nodes run until the next call of Highwater, whatever that does.
#[test]
fn a_growth_that_was_killed_while_it_measured_is_ended_by_the_next_highwater() {
    if has_no_quotas() {
        return;
    }
    let growth = format!("{GROW} -d 20s --warm-up 2s");
    for (next, code) in [
        ("cluster status lab.toml", 0),
        ("cluster down lab.toml", 0),
        // Removing its data was not requested.
        (growth.as_str(), 2),
    ] {
        let lab = Lab::growing("real", "", QUOTA);
        let mut running = lab.grow(LONG);
        // A second is in the journal when the next one is reported.
        running.wait_for_second("measure");
        running.wait_for_second("measure");
        let groups = groups(&lab);
        running.kill();
        assert_eq!(lab.alive(), 1, "nobody ended it");

        let killed = lab.0.runs().pop().unwrap();
        let size = killed.join("probes/01-nodes-1");
        let shown = lab.0.call(&["show", size.to_str().unwrap()]);
        assert_eq!(shown.code, Some(130), "{shown:?}");
        shown.prints("the program ended without writing its record");
        let shown = lab.0.call(&["show", killed.to_str().unwrap()]);
        assert_eq!(shown.code, Some(2), "{shown:?}");
        shown.reports("the program ended in the first of this experiment's runs");
        shown.reports("probes/01-nodes-1");

        lab.describe_growing("sim", "", QUOTA);
        let called = lab.0.typed(next);
        assert_eq!(called.code, Some(code), "{called:?}");
        called.reports("was left by a Highwater that was killed; ending it");
        assert_eq!(lab.alive(), 0);
        lab.expect_no_groups(&groups);
        if code != 0 {
            called.reports("remove them with `highwater cluster down FILE --remove-data`");
            let down = lab.call("down", &["--remove-data"]);
            assert_eq!(down.code, Some(0), "{down:?}");
            let again = lab.0.typed(next);
            assert_eq!(again.code, Some(0), "{again:?}");
        }
    }
}

/// The clock of the first size is simulated, so that it ends immediately.
#[test]
fn a_growth_that_was_killed_in_its_second_size_has_the_first_one_in_its_record() {
    let clock = "clock=sim; [ {nodes} = 1 ] || clock=real";
    let commands = format!(
        "up = 'true'\nurls = '{clock}; echo \"sim:?clock=$clock&{SIMULATED}\"'\ndown = 'touch down'\n"
    );
    let lab = Lab::of_commands(&commands);
    let target = format!("sim:?{SIMULATED}");
    let mut running = lab.grow(&format!("{LONG} {target}"));
    running.wait_for("2 nodes, predicted ");
    running.wait_for_second("measure");
    running.kill();
    let called = lab.call("status", &[]);
    assert_eq!(called.code, Some(0), "{called:?}");
    called.reports("the cluster was left by a Highwater that was killed; ending it");
    assert!(lab.exists("down"));
    let shown = lab.0.call(&["show"]);
    assert_eq!(shown.code, Some(3), "{shown:?}");
    shown.prints("the growth has not ended: 1 of 2 sizes");
    let scale = scale_of(&lab.0.runs().pop().unwrap());
    assert_eq!((order(&scale), scale.outcome), (vec![1], None));
}

#[test]
fn without_rights_for_quotas_nothing_is_started_and_the_way_without_is_named() {
    if has_no_quotas() {
        return;
    }
    let lab = Lab::growing("sim", "", QUOTA);
    let growth = format!("{GROW} -d 20s --warm-up 2s");
    for words in ["cluster up lab.toml", growth.as_str()] {
        let Some(called) = lab.without_rights(words) else {
            return;
        };
        assert_eq!(called.code, Some(2), "{called:?}");
        called.reports("cannot make the control group /");
        called.reports(": Permission denied");
        called.reports("hint: run Highwater as root, or add --no-quota");
        assert!(lab.0.runs().is_empty());
        lab.expect_nothing_left("cannot make the control group");
        let without = lab.without_rights(&format!("{words} --no-quota")).unwrap();
        assert_eq!(without.code, Some(0), "{without:?}");
        let down = lab.without_rights("cluster down lab.toml --remove-data").unwrap();
        assert_eq!(down.code, Some(0), "{down:?}");
    }
}
