//! `highwater demo`: several experiments in one process, all ended by one Ctrl-C.

use highwater_model::scale::ScaleOutcome;
use rustix::process::Signal;

use crate::called::{Place, experiment};

#[test]
fn the_demo_searches_grows_and_sizes_a_cluster_that_it_calls_simulated() {
    let place = Place::new();
    let called = place.call(&["demo"]);
    assert_eq!(called.code, Some(0), "{called:?}");
    let simulated = "A demonstration: the cluster and its clock are simulated";
    assert!(called.stdout.starts_with(simulated), "{called:?}");
    let commands = called.stdout.lines().filter_map(|line| line.strip_prefix("$ highwater "));
    let commands: Vec<&str> = commands.collect();
    let names = commands.iter().map(|line| line.split(' ').next().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["find", "scale", "size"]);
    // Each step is the command that it prints.
    assert_eq!(place.shell(commands[2]).code, Some(0), "{called:?}");

    // Its runs are in the store, where every other command finds them.
    let mut runs = place.runs();
    runs.sort();
    let [search, growth] = &runs[..] else { panic!("{runs:?}") };
    assert!(experiment(search).search().unwrap().has_mark());
    let growth = experiment(growth);
    let scale = growth.scale().unwrap();
    assert_eq!(scale.outcome, Some(ScaleOutcome::Complete), "{called:?}");
    let nodes = scale.trials.iter().map(|trial| trial.size.nodes);
    assert_eq!(nodes.collect::<Vec<_>>(), [1, 2, 4, 6, 1]);
}

#[test]
fn ctrl_c_in_the_first_part_ends_the_demo_and_keeps_its_measurements() {
    let place = Place::new();
    let running = place.start(&["demo"]);
    let search = || {
        let search = place.runs().pop()?;
        search.join("probes").exists().then_some(search)
    };
    let search = loop {
        match search() {
            Some(search) => break search,
            None => crate::called::before_the_next_look(),
        }
    };
    running.signal(Signal::INT);
    let called = running.end();
    assert_eq!(called.code, Some(130), "{called:?}");
    assert!(!called.stdout.contains("$ highwater scale"), "{called:?}");
    let record = experiment(&search);
    assert!(!record.search().unwrap().has_mark(), "{called:?}");
}
