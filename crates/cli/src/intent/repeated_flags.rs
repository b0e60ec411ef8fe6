//! Flags that the user gave and that a later command must repeat to continue the same run. The
//! record stores them for the command that it proposes.
//!
//! Must not hold targets (they may hold a password), or what the next command takes from the record's
//! plan: the load, its length, the objectives, the share.

use std::collections::BTreeMap;

use highwater_runner::planner::StreamInput;

use super::WorkloadChoice;
use super::streams::are_open;
use crate::layers::{Layers, Origin, Strength};

/// Flags with one value that are repeated unchanged, separated by blanks.
const REPEATED: &str = "arrivals audit audit-timeout cluster confirm insert max out probe \
     retries rows seed settle spawn-rate start steady-within think timeout tolerance until \
     warm-up";
/// Parameters that have flags of their own: what was given by them is repeated by them.
const PARAMETERS: &[&str] = &["batch", "shards", "replicas"];
/// Switches that are repeated.
const SWITCHES: &[&str] = &["abort-on-miss", "literals", "quick", "require-steady"];

/// By name; a switch has no value.
pub(crate) fn repeated_flags(
    layers: &Layers,
    workload: &WorkloadChoice,
    parameters: &BTreeMap<String, String>,
    streams: &[StreamInput],
) -> BTreeMap<String, Vec<String>> {
    let by_user = |name: &str| layers.strength(name) > Some(Strength::Default);
    let mut names: Vec<&str> = REPEATED.split(' ').collect();
    if are_open(streams) {
        // The limit of ops in flight; the sessions of a closed pace are in the plan.
        names.push("sessions");
    }
    let mut given: BTreeMap<String, Vec<String>> = names
        .into_iter()
        .filter(|name| by_user(name))
        .filter_map(|name| Some((name.to_owned(), vec![layers.value(name)?.text.clone()])))
        .collect();
    let mut targets = layers.list("target").iter();
    if targets.any(|target| target.origin != Origin::Default) {
        // It only adds quotas to a target, which the record has.
        given.remove("cluster");
    }
    for name in SWITCHES {
        if by_user(name) && layers.switch(name).unwrap_or(false) {
            given.insert((*name).to_owned(), Vec::new());
        }
    }
    match workload {
        WorkloadChoice::Named(_) => {}
        WorkloadChoice::File(path) => {
            given.insert("file".to_owned(), vec![path.display().to_string()]);
        }
        WorkloadChoice::Scripts(scripts) => {
            let files = scripts.iter().map(|(path, weight)| format!("{}@{weight}", path.display()));
            given.insert("file".to_owned(), files.collect());
        }
    }
    let is_set = |name: &str| {
        let mut set = layers.every_layer("set");
        set.any(|(_, pair)| pair.text.split('=').next() == Some(name))
    };
    let by_flag = PARAMETERS
        .iter()
        .filter(|name| !is_set(name))
        .filter_map(|name| Some((*name, layers.value(name)?.text.clone())));
    given.extend(by_flag.map(|(name, text)| (name.to_owned(), vec![text])));
    let pairs: Vec<String> = parameters
        .iter()
        .filter(|(name, _)| !given.contains_key(*name))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !pairs.is_empty() {
        given.insert("set".to_owned(), pairs);
    }
    given
}
