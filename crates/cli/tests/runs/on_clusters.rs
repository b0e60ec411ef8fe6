//! `--cluster FILE` of commands that load a cluster started by `highwater cluster up`: its URLs, and its nodes' quotas.

use std::fs;
use std::path::Path;

use highwater_model::limit::Resource;
use highwater_model::record::{Record, RunRecord};
use highwater_runner::record;
use highwater_testing::postgres;

use crate::called::{Called, Place, experiment};
use crate::growing::{Lab, has_no_quotas};

/// Two nodes that sleep next to a simulated cluster, with these additional lines of `[node]`.
fn waiting(more: &str) -> Lab {
    let lab = Lab(Place::new());
    let text = format!(
        "format = 1\nname = 'lab'\nnodes = 2\n[node]\ncommand = 'echo up; exec sleep 300'\n\
         targets = 'first'\nready.log = 'up'\nurl = 'sim:?nodes={{nodes}}&replicas=0'\n{more}\n"
    );
    lab.0.file("lab.toml", &text);
    lab
}

#[track_caller]
fn up(lab: &Lab) -> String {
    let up = lab.cluster("up", &[]);
    assert_eq!(up.code, Some(0), "{up:?}");
    up.stdout.trim().to_owned()
}

/// Calls a command on the cluster; returns the stored run, or the last run of an experiment.
#[track_caller]
fn loaded(lab: &Lab, words: &str) -> (Called, RunRecord) {
    let before = lab.0.runs();
    let called = lab.0.typed(&format!("{words} --cluster lab.toml -q"));
    let mut runs = lab.0.runs();
    runs.retain(|run| !before.contains(run));
    let [run] = &runs[..] else {
        panic!("{called:?}");
    };
    let run = match record::read(run).unwrap() {
        Record::Run(run) => *run,
        Record::Experiment(experiment) => *experiment.last_run,
        Record::Imported(_) => panic!("{called:?}"),
    };
    (called, run)
}

#[test]
fn a_cluster_that_is_up_is_the_target_and_its_nodes_have_their_quotas() {
    if has_no_quotas() {
        return;
    }
    let lab = waiting("quota = { cpu = 0.5 }");
    let url = up(&lab);
    // The settings with which the nodes were started apply.
    let text = fs::read_to_string(lab.0.path().join("lab.toml")).unwrap();
    lab.0.file("lab.toml", &text.replace("cpu = 0.5", "cpu = 0.7"));
    for words in [
        "run cpu -d 10s",
        "load cpu --rows 20k",
        "find cpu --quick --p99 100ms",
        "tune cpu --quick --over sessions=2,4",
    ] {
        let (called, run) = loaded(&lab, &format!("{words} --batch 20"));
        assert_eq!(called.code, Some(0), "{called:?}");
        assert_eq!(run.target.urls, [url.as_str()], "{called:?}");
        let quotas: Vec<_> =
            run.target.cpu_quotas.iter().map(|quota| (quota.node.as_str(), quota.cores)).collect();
        assert_eq!(quotas, [("1", 0.5), ("2", 0.5)], "{called:?}");
        // The proposed command uses the cluster, whatever its addresses are then.
        let next = called.stdout.split("\nnext:").nth(1);
        let next = next.unwrap_or_else(|| panic!("{called:?}"));
        let next: Vec<&str> = next.split_whitespace().collect();
        let next = next.join(" ");
        let is_again_of_it = next.contains(" --cluster lab.toml") && !next.contains("sim:");
        assert!(is_again_of_it, "{next}");
    }
}

#[test]
fn a_cluster_that_is_not_up_or_is_not_the_target_is_refused() {
    let lab = waiting("");
    let expect = |words: &str, code: i32, said: &str| {
        let called = lab.0.typed(&format!("run cpu -d 5s -q {words}"));
        assert_eq!(called.code, Some(code), "{called:?}");
        called.reports(said);
    };
    let not_up = "error: --cluster: the cluster of lab.toml is not up\n\n\
                  hint: start it with `highwater cluster up lab.toml`";
    expect("--cluster lab.toml", 2, not_up);
    let no_file = "error: cannot read none.toml: No such file";
    expect("--cluster none.toml", 2, no_file);

    let url = up(&lab);
    let other = "error: TARGET: `sim:` is not of the cluster of lab.toml, which --cluster names";
    expect("sim: --cluster lab.toml", 2, other);
    expect(&format!("{url} --cluster lab.toml"), 0, "");
    // A target on the command line overrides the cluster in the settings, and vice versa.
    lab.0.file("own.toml", "cluster = 'none.toml'\n");
    expect("sim: --config own.toml", 0, "");
    lab.0.own_settings("target = 'sim:?nodes=9'\n");
    let before = lab.0.runs();
    expect("--cluster lab.toml", 0, "");
    // Names of two runs in the same second can be in any order.
    let mut runs = lab.0.runs().into_iter();
    let newest = runs.find(|run| !before.contains(run)).unwrap();
    let run = record::read(&newest).unwrap().into_run().unwrap();
    assert_eq!(run.target.urls, [url]);
}

#[test]
fn nodes_of_a_cluster_are_not_polled_while_another_target_runs() {
    let lab = waiting("metrics = ['http://127.0.0.1:1/of-node-{node}']");
    let text = fs::read_to_string(lab.0.path().join("lab.toml")).unwrap();
    lab.0.file("lab.toml", &text.replace("sim:?", "sim:?clock=real&"));
    up(&lab);
    let other = "--interleave sim:?clock=real&nodes=1&replicas=0";
    let both = "--metrics http://127.0.0.1:1/of-both -d 3s --warm-up 0s -q";
    let called = lab.0.typed(&format!("run cpu --cluster lab.toml {other} {both}"));
    let group = lab.0.runs().pop().unwrap();
    let grouped = experiment(&group);
    let polled = grouped.group().unwrap().trials.iter().map(|trial| {
        let run = record::read(&group.join(&trial.run)).unwrap();
        let sources = run.into_run().unwrap().target_telemetry.unwrap().sources;
        let polled = |of: &str| sources.iter().filter(|one| one.name.contains(of)).count();
        [polled("/of-node-"), polled("/of-both")]
    });
    assert_eq!(polled.collect::<Vec<_>>(), [[2, 1], [0, 1]], "{called:?}");
}

/// A server that has used up its quota, which is so small that this also happens during other tests. If those saturate
/// the machine, the machine is correctly named as the limit instead.
#[test]
fn a_node_that_uses_up_its_quota_is_the_limit() {
    if postgres::skipped() || has_no_quotas() {
        return;
    }
    let lab = Lab(Place::new().verbose());
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR"));
    let shipped = shipped.join("../../examples/clusters/postgres-standby.toml");
    let shipped = fs::read_to_string(shipped).unwrap();
    let quota = "targets = \"first\"\nquota = { cpu = 0.1, begins = \"warm-up\" }";
    let one = shipped.replace("nodes = 2", "nodes = 1");
    lab.0.file("lab.toml", &one.replace("targets = \"first\"", quota));
    up(&lab);
    let load = || loaded(&lab, "run cpu -c 4 --batch 100 -d 6s --warm-up 1s --drop");
    let of_node = |run: &RunRecord| {
        let by = run.limit.as_ref().and_then(|limit| limit.by.as_ref());
        by.is_some_and(|by| by.resource == Resource::Cpu && by.node.as_deref() == Some("1"))
    };
    let mut tries = (0..3).map(|_| load());
    let found = tries.find(|(_, run)| of_node(run));
    let (called, _) = found.expect("another limit, three times");
    called.prints("limited by     CPU of node 1, ");
    called.prints(" of its quota of 0.1 cores");
}
