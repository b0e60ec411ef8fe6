//! Cluster files: invalid ones are rejected, and the shipped ones can be read, and used if their database is installed.

use std::fs;
use std::path::{Path, PathBuf};

use highwater_model::limit::Resource;

use super::lab::{Lab, OBEDIENT};
use crate::called::Place;

#[test]
fn wrong_words_and_wrong_files_are_refused() {
    let lab = Lab::new(OBEDIENT, "");
    for (words, message) in [
        (&["cluster"][..], "there is nothing to do"),
        (&["cluster", "start", "lab.toml"], "cannot do `start lab.toml`"),
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
    assert!(called.stderr.contains("unknown placeholder `{prot.http}`"), "{called:?}");
    assert!(called.stderr.contains("--> wrong.toml:4:14"), "{called:?}");
    let good = lab.0.call(&["check", "lab.toml"]);
    assert!(good.stdout.contains("a process of this machine"), "{good:?}");
}

/// The directory of the shipped files.
fn shipped() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/clusters")
}

#[test]
fn every_file_that_is_shipped_can_be_read() {
    let place = Place::new();
    let files = fs::read_dir(shipped()).unwrap();
    let files = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == "toml"));
    let mut checked = 0;
    for file in files {
        let called = place.call(&["check", file.to_str().unwrap()]);
        assert_eq!(called.code, Some(0), "{file:?}: {called:?}");
        checked += 1;
    }
    assert!(checked >= 8, "{checked}");
}

#[test]
fn terraform_has_the_variable_and_the_outputs_that_its_cluster_file_names() {
    let cluster = fs::read_to_string(shipped().join("terraform.toml")).unwrap();
    let read = |name: &str| fs::read_to_string(shipped().join("terraform").join(name)).unwrap();
    let outputs = read("outputs.tf");
    let named = cluster
        .split("output -raw ")
        .skip(1)
        .map(|rest| rest.split(|next: char| !next.is_ascii_lowercase()).next());
    let named: Vec<&str> = named.map(Option::unwrap).collect();
    assert_eq!(named, ["health", "urls", "metrics"]);
    for name in named {
        let output = format!("output \"{name}\" {{");
        assert!(outputs.contains(&output), "{output}");
    }
    assert!(cluster.contains("-var nodes={nodes}"));
    assert!(read("variables.tf").contains("variable \"nodes\" {"));
}

/// Starts the first number of nodes of a shipped file, uses them, resizes to the second number, and ends them.
fn expect_usable(name: &str, nodes: [&str; 2]) {
    let lab = Lab(Place::new());
    let shipped = fs::read_to_string(shipped().join(name)).unwrap();
    lab.0.file("lab.toml", &shipped);
    for (action, nodes) in ["up", "resize"].iter().zip(nodes) {
        let called = lab.call(action, &["--nodes", nodes, "--no-quota"]);
        assert_eq!(called.code, Some(0), "{called:?}");
        let urls: Vec<&str> = called.stdout.lines().collect();
        let (first, last) = (urls[0], urls[urls.len() - 1]);
        if action == &"resize" {
            // A node that was added later is usable, too.
            let check = lab.0.call(&["check", last]);
            assert_eq!(check.code, Some(0), "{check:?}");
        }
        let length = ["-q", "-d", "1s", "--warm-up", "0s", "--drop"];
        let words = [&["run", "cpu", first], &length[..]].concat();
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

/// Whether this process may set quotas on this machine, as the shipped file requires.
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
    assert!(called.stdout.contains(" of its quota of 0.3 cores"), "{called:?}");
    let record = highwater_runner::record::read(&lab.0.runs().pop().unwrap()).unwrap();
    let scale = record.into_experiment().unwrap();
    for trial in &scale.scale().unwrap().trials {
        let limit = trial.figures.limit.as_ref().unwrap();
        let by = limit.by.as_ref().unwrap();
        let is_cpu = [Resource::Cpu, Resource::HotNode].contains(&by.resource);
        assert!(is_cpu && trial.figures.target_cpu.unwrap() > 0.9, "{trial:?}");
    }
}
