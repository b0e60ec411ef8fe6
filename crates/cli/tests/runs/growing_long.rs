//! Growths of real clusters whose nodes have quotas of CPU, with claims about their speed: shards add capacity, one
//! server in front of all shards adds none, and copies add less.
//!
//! They take minutes, want the machine for themselves, and print the tables of their growths.

use highwater_analysis::growth::drift;
use highwater_model::limit::{LimitFigure, LimitingResource, Resource};
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::{ScaleRecord, ScaleTrial};
use highwater_runner::record;
use highwater_testing::{clickhouse, galera};

use crate::called::Called;
use crate::growing::{Lab, has_no_quotas, rates};

/// Long enough that the rate of one node comes again: runs of 15 s of one node scattered by up to 30%.
const LENGTH: [&str; 4] = ["-d", "40s", "--warm-up", "20s"];
/// The load of shards: batches that are not so small that the server has too many parts to merge.
const SHARDS: [&str; 4] = ["-c", "8n", "--batch", "5k"];
/// The quota of a node in the file that is shipped for ClickHouse.
const QUOTA_CORES: f64 = 0.3;

#[expect(clippy::print_stdout, reason = "the long tests print their figures")]
fn say(text: &str) {
    println!("{text}");
}

/// What was printed of a growth, by which a failure explains itself.
fn shown(called: &Called) -> String {
    let shown = format!("\n{}\n{}", called.stdout, called.stderr);
    say(&shown);
    shown
}

/// A growth by these flags and what was printed of it. One during which the machine drifted, by the record's own
/// judgment of the first size and the same again, is made once more.
#[track_caller]
fn grown(lab: &Lab, words: &[&str]) -> (String, ExperimentRecord) {
    let words = [words, &LENGTH].concat();
    let (called, grown) = lab.grown(&words.join(" "));
    if !is_drifted(grown.scale().unwrap()) {
        return (shown(&called), grown);
    }
    say("The machine drifted during this growth, which is made once more.");
    shown(&called);
    let (called, grown) = lab.grown(&words.join(" "));
    (shown(&called), grown)
}

fn is_drifted(scale: &ScaleRecord) -> bool {
    drift(scale).unwrap().is_drifted()
}

/// The rate of each size, and of the first one again.
#[track_caller]
fn rates_of<const N: usize>(scale: &ScaleRecord, shown: &str) -> [f64; N] {
    let rates = rates(scale);
    rates[..].try_into().unwrap_or_else(|_| panic!("{shown}"))
}

/// What limited a size.
#[track_caller]
fn limit<'a>(trial: &'a ScaleTrial, shown: &str) -> &'a LimitingResource {
    let limit = trial.figures.limit.as_ref();
    let by = limit.and_then(|limit| limit.by.as_ref());
    by.unwrap_or_else(|| panic!("no limit of {} nodes: {shown}", trial.size.nodes))
}

/// The CPU of a node of this size, by the quota that it was given.
#[track_caller]
fn expect_quota_is_limit(trial: &ScaleTrial, shown: &str) {
    let by = limit(trial, shown);
    assert_eq!(by.resource, Resource::Cpu, "{by:?} {shown}");
    let node: u32 = by.node.as_ref().unwrap().parse().unwrap();
    assert!((1..=trial.size.nodes).contains(&node), "{by:?} {shown}");
    assert_eq!(by.value(LimitFigure::QuotaCores), Some(QUOTA_CORES), "{by:?} {shown}");
}

/// With data in memory, three nodes made 164,200 rows/s where one had made 50,933 and then 52,333; nodes are not equal,
/// and steps scatter by 10%: 1.5 and 2 times as much leave room for both.
#[test]
#[ignore = "long: a growth of a real ClickHouse, with quotas: eight minutes, twice that on a machine that drifts"]
fn long_real_shards_add_capacity_and_the_first_size_comes_again() {
    if clickhouse::skipped() || has_no_quotas() {
        return;
    }
    let lab = Lab::of("clickhouse.toml");
    let (shown, grown) = grown(&lab, &[&["--nodes", "1..3"], &SHARDS[..]].concat());
    let scale = grown.scale().unwrap();
    let [one, two, three, _] = rates_of(scale, &shown);
    assert!(two >= 1.5 * one && three >= 2.0 * one, "{shown}");
    assert!(!is_drifted(scale), "{:?} {shown}", drift(scale));
    for trial in &scale.trials {
        let before = trial.before_quota.as_ref().unwrap();
        assert!(before.took_ns > 0, "quotas began with the nodes: {shown}");
        expect_quota_is_limit(trial, &shown);
    }
    // Nodes are not equal, so that the record has each of them alone, too.
    let alone: Vec<_> = scale.alone.trials.iter().map(|trial| trial.node).collect();
    assert_eq!(alone, [Some(1), Some(2), Some(3)], "{shown}");
}

/// All sessions are on the first node, which reads every row and passes most of them on: its quota is that of the
/// whole. Tables in memory, as rows that others sort and write in its place are the one thing by which more nodes
/// relieve it: with a `MergeTree` three nodes made 1.16 to 1.31 times what one made, and in memory half to seven tenths,
/// as one node passes no row on.
#[test]
#[ignore = "long: a growth of a real ClickHouse, with quotas: six minutes, twice that on a machine that drifts"]
fn long_real_shards_behind_one_server_do_not_grow() {
    if clickhouse::skipped() || has_no_quotas() {
        return;
    }
    let lab = Lab::of("clickhouse.toml");
    lab.change("/default\"", "/default?initiator=first\"");
    // Rows that are read one by one, where a block is passed on nearly as it is.
    let insert = [
        "--nodes",
        "1,3",
        "--insert",
        "distributed-rowbinary",
        "--with",
        "engine=Memory",
        "--no-measure-nodes",
    ];
    let (shown, grown) = grown(&lab, &[&insert, &SHARDS[..]].concat());
    let scale = grown.scale().unwrap();
    let [one, three, _] = rates_of(scale, &shown);
    assert!(three < one, "{shown}");
    let by = limit(&scale.trials[1], &shown);
    let is_cpu = matches!(by.resource, Resource::Cpu | Resource::HotNode);
    assert!(is_cpu && by.node.as_deref() == Some("1"), "{by:?} {shown}");
}

/// All nodes apply all rows, so that three of them that are written to gain less over one than three shards, which
/// make at least twice as much here. That all copies are equal is part of clean data, which every growth here has.
#[test]
#[ignore = "long: a growth of a real Galera, with quotas: ten minutes, twice that on a machine that drifts"]
fn long_real_copies_gain_less_than_shards() {
    if galera::skipped() || has_no_quotas() {
        return;
    }
    let lab = Lab::of("galera.toml");
    let words = ["--nodes", "1..3", "-c", "4n", "--batch", "100", "--no-measure-nodes"];
    let (shown, grown) = grown(&lab, &words);
    let scale = grown.scale().unwrap();
    let [one, _, three, _] = rates_of(scale, &shown);
    assert!(three < 2.0 * one, "{shown}");
    let directory = lab.0.runs().pop().unwrap();
    for trial in &scale.trials[1..3] {
        let run = record::read(&directory.join(&trial.run)).unwrap();
        let audit = run.into_run().unwrap().audit;
        assert_eq!(audit.copies, u64::from(trial.size.nodes), "{shown}");
    }
}
