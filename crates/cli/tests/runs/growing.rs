//! Real clusters that grow: shards that add capacity with CPU quotas, and replicas that are copied to a joining node.

use std::fs;
use std::path::Path;

use highwater_model::judgment::Data;
use highwater_model::record::{ExperimentRecord, RunRecord, TableStart};
use highwater_model::scale::{ScaleOutcome, ScaleRecord};
use highwater_runner::record;
use highwater_testing::programs::report_left_out;
use highwater_testing::{clickhouse, galera};

use crate::called::{Called, Place, experiment, split};

/// A directory with a shipped file; its cluster is ended on drop.
pub(crate) struct Lab(pub(crate) Place);

impl Lab {
    pub(crate) fn new(name: &str) -> Self {
        let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/clusters");
        let lab = Self(Place::new().verbose());
        lab.0.file("lab.toml", &fs::read_to_string(shipped.join(name)).unwrap());
        lab
    }

    /// Replaces a text in the cluster's file.
    #[track_caller]
    pub(crate) fn change(&self, from: &str, to: &str) {
        let text = fs::read_to_string(self.0.path().join("lab.toml")).unwrap();
        assert!(text.contains(from), "{text}");
        self.0.file("lab.toml", &text.replace(from, to));
    }

    pub(crate) fn cluster(&self, action: &str, more: &[&str]) -> Called {
        self.0.call(&[&["cluster", action, "lab.toml"], more].concat())
    }

    /// Measures the growth of the cluster; each size is a run with clean data.
    #[track_caller]
    pub(crate) fn grown(&self, words: &str) -> (Called, ExperimentRecord) {
        let before = self.0.runs();
        let scale = "scale cpu --cluster lab.toml --each run --settle 0s -q";
        let called = self.0.typed(&format!("{scale} {words}"));
        let mut runs = self.0.runs();
        runs.retain(|run| !before.contains(run));
        let [run] = &runs[..] else {
            panic!("{called:?}");
        };
        let grown = experiment(run);
        expect_clean(grown.scale().unwrap(), &called);
        let status = self.cluster("status", &[]);
        status.prints("none runs");
        (called, grown)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Also after a failed test.
        drop(self.cluster("down", &["--remove-data"]));
    }
}

/// Every size was measured, and all acknowledged rows are in all copies.
#[track_caller]
fn expect_clean(scale: &ScaleRecord, called: &Called) {
    assert_eq!(scale.outcome, Some(ScaleOutcome::Complete), "{called:?}");
    for trial in &scale.trials {
        let judgments = trial.figures.judgments.as_ref().unwrap();
        assert_eq!(judgments.data.value, Data::Clean, "{called:?}");
    }
}

/// Whether this process may not create control groups on this machine; prints a message if so.
pub(crate) fn has_no_quotas() -> bool {
    let parents = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup"];
    let name = format!("highwater-test-{}", std::process::id());
    let has = parents.iter().any(|parent| {
        let path = Path::new(parent).join(&name);
        let is_hierarchy = Path::new(parent).join("cgroup.procs").exists();
        let made = is_hierarchy && fs::create_dir(&path).is_ok();
        let files = ["cpu.cfs_quota_us", "cpu.max"].map(|file| path.join(file).exists());
        made && fs::remove_dir(&path).is_ok() && files.contains(&true)
    });
    if !has {
        report_left_out("need control groups", "this process may not make any");
    }
    !has
}

/// Units per second of each measured size.
pub(crate) fn rates(scale: &ScaleRecord) -> Vec<f64> {
    scale.trials.iter().map(|trial| trial.figures.per_s).collect()
}

/// Nodes that sleep next to a simulated cluster, whose ops take four times as long for its first 20 s.
#[test]
fn a_quota_begins_when_the_nodes_are_warm() {
    if has_no_quotas() {
        return;
    }
    let lab = Lab(Place::new().verbose());
    lab.0.file(
        "lab.toml",
        "format = 1\nname = 'lab'\n[node]\ncommand = 'echo up; exec sleep 300'\ntargets = 'first'\n\
         ready.log = 'up'\nquota = { cpu = 0.5, begins = 'warm-up' }\n\
         url = 'sim:?nodes={nodes}&cores=1&queue=inf&request=0&row=7ms&shards=12&replicas=0\
         &service=constant&warm=20s:4'\n",
    );
    let (called, grown) = lab.grown("--nodes 1,2 -c 8n --batch 12 -d 20s");
    assert_eq!(called.code, Some(0), "{called:?}");
    let begun = called.stderr.matches("each node has 0.5 cores from now on");
    assert_eq!(begun.count(), 3, "{called:?}");
    let directory = lab.0.runs().pop().unwrap();
    for trial in &grown.scale().unwrap().trials {
        let before = trial.before_quota.as_ref().unwrap();
        assert_eq!(before.steady, Some(true), "{before:?}");
        assert!(before.took_ns > 20_000_000_000, "{before:?}");
        // Both are separate runs; the one that counts was warmed up, too.
        assert!(record::read(&directory.join(&before.run)).is_ok());
        let own = record::read(&directory.join(&trial.run)).unwrap();
        let own = own.into_run().unwrap();
        assert!(own.phases.iter().any(|phase| phase.steady == Some(true)));
        let truth = 142.857 * f64::from(trial.size.nodes);
        assert!((trial.figures.per_s / truth - 1.0).abs() < 0.01, "{trial:?}");
    }
    called.prints(" of warm-up before quotas");
}

/// The start of each size's table, and its number of rows: if nodes are added, the rows of the sizes before it.
#[track_caller]
fn expect_tables_kept(lab: &Lab, grown: &ExperimentRecord) {
    let directory = lab.0.runs().pop().unwrap();
    let runs = grown
        .scale()
        .unwrap()
        .trials
        .iter()
        .map(|trial| record::read(&directory.join(&trial.run)).unwrap());
    let runs: Vec<RunRecord> = runs.map(|run| run.into_run().unwrap()).collect();
    let tables: Vec<_> = runs
        .iter()
        .map(|run| &run.target.tables[0])
        .map(|table| (table.start, table.rows_before))
        .collect();
    let kept = Some(runs[0].audit.acknowledged);
    assert!(kept > Some(0));
    // The repeated first size is a new cluster, for comparison with the added data.
    let (new, old) = (TableStart::Fresh, TableStart::Continued);
    assert_eq!(tables, [(new, Some(0)), (old, kept), (new, Some(0))]);
}

/// Nodes that sleep; the table is in the first one's data directory.
#[test]
fn a_growth_that_adds_nodes_continues_with_the_existing_tables() {
    let lab = Lab(Place::new().verbose());
    lab.0.file(
        "lab.toml",
        "format = 1\nname = 'lab'\n[node]\ncommand = 'echo up; exec sleep 300'\ntargets = 'first'\n\
         ready.log = 'up'\nurl = 'sqlite:{data}/rows.db'\n",
    );
    let load = "sqlite:planned.db --nodes 1,2 --grow -c 1 -d 1s --warm-up 0s --batch 100";
    let (called, grown) = lab.grown(load);
    expect_tables_kept(&lab, &grown);
    let started = called.stderr.matches("node 1 is process");
    assert_eq!(started.count(), 2, "{called:?}");
    called.prints("one cluster, to which nodes are added");
}

#[test]
fn shards_grow_from_one_to_two() {
    if clickhouse::skipped() {
        return;
    }
    let lab = Lab::new("clickhouse.toml");
    let (called, grown) = lab.grown("--nodes 1,2 --no-quota -c 1n -d 1s --warm-up 0s");
    let scale = grown.scale().unwrap();
    let nodes = scale.trials.iter().map(|trial| trial.size.nodes);
    assert_eq!(nodes.collect::<Vec<_>>(), [1, 2, 1], "{called:?}");
    assert!(rates(scale).iter().all(|per_s| *per_s > 0.0), "{called:?}");
    // A shard starts without the others, so each is measured alone before.
    let alone = scale.alone.trials.iter().map(|trial| (trial.node, trial.figures.per_s > 0.0));
    let both = [(Some(1), true), (Some(2), true)];
    assert_eq!(alone.collect::<Vec<_>>(), both, "{called:?}");
}

/// The record of a run against these nodes.
fn run(lab: &Lab, urls: &str) -> RunRecord {
    let load = "-c 4 -d 3s --warm-up 0s --batch 100 -q";
    let called = lab.0.typed(&format!("run cpu {urls} {load}"));
    let newest = lab.0.runs().pop().unwrap();
    let record = record::read(&newest).unwrap().into_run().unwrap();
    assert_eq!(record.judgments.data.value, Data::Clean, "{called:?}");
    record
}

#[test]
#[ignore = "long: a minute, most of which is the transfer to the node that joins"]
fn long_a_node_that_joins_under_load_is_sent_all_rows() {
    if galera::skipped() {
        return;
    }
    let lab = Lab::new("galera.toml");
    let up = lab.cluster("up", &["--nodes", "1", "--no-quota"]);
    assert_eq!(up.code, Some(0), "{up:?}");
    let one = up.stdout.trim();
    let before = run(&lab, one);
    let load = format!("run cpu {one} -c 2 -d 5m --warm-up 0s --batch 100");
    let mut loaded = lab.0.start(&split(&load));
    loaded.wait_for("measure");
    let resized = lab.cluster("resize", &["--nodes", "2", "--no-quota"]);
    assert_eq!(resized.code, Some(0), "{resized:?}");
    loaded.signal(rustix::process::Signal::INT);
    let loaded = loaded.end();
    assert_eq!(loaded.code, Some(130), "{loaded:?}");
    assert_eq!(resized.stdout.lines().count(), 2, "{resized:?}");
    let newest = lab.0.runs().pop().unwrap();
    let joined = record::read(&newest).unwrap().into_run().unwrap();
    assert_eq!(joined.judgments.data.value, Data::Clean, "{joined:?}");
    // It appends to the rows of both, and its audit compares its own rows in both copies.
    let after = run(&lab, &resized.stdout);
    let table = &after.target.tables[0];
    let rows_before = before.audit.acknowledged + joined.audit.acknowledged;
    assert_eq!(table.start, TableStart::Continued);
    assert_eq!(table.rows_before, Some(rows_before), "{table:?}");
    assert_eq!(after.target.settings["wsrep_cluster_size"], "2");
}

#[test]
#[ignore = "long: a minute, most of which is the transfer to the node that joins"]
fn long_copies_that_are_added_are_sent_the_rows_that_are_there() {
    if galera::skipped() {
        return;
    }
    let lab = Lab::new("galera.toml");
    let load = "--nodes 1,2 --grow --no-quota -c 4n -d 3s --warm-up 0s --batch 100";
    let (called, grown) = lab.grown(load);
    expect_tables_kept(&lab, &grown);
    called.prints("one cluster, to which nodes are added");
}

#[test]
#[ignore = "long: three starts of a server"]
fn long_added_shards_do_not_receive_existing_rows_and_the_record_states_it() {
    if clickhouse::skipped() {
        return;
    }
    let lab = Lab::new("clickhouse.toml");
    let load = "--nodes 1,2 --grow --no-quota --no-measure-nodes --insert distributed --with index_granularity=8192 \
         -c 2 -d 3s --warm-up 0s";
    let (called, grown) = lab.grown(load);
    expect_tables_kept(&lab, &grown);
    let directory = lab.0.runs().pop().unwrap();
    let second = &grown.scale().unwrap().trials[1];
    let second = record::read(&directory.join(&second.run)).unwrap();
    let notes = second.into_run().unwrap().notes;
    let of_rows = |text: &str| text.contains("ClickHouse moves no rows to servers that are added");
    assert!(notes.iter().any(|note| of_rows(&note.message)), "{called:?}");
}
