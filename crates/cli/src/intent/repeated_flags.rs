//! Flags that the user gave and that a later command must repeat to continue the same run. The
//! record stores them for the command that it proposes.
//!
//! Must not hold targets (they may hold a password), or what the next command takes from the record's
//! plan: the load, its length, the objectives, the share.

use std::collections::BTreeMap;

use highwater_driver::TargetUrl;
use highwater_runner::planner::StreamInput;

use super::WorkloadChoice;
use super::streams::are_open;
use crate::layers::{Layers, Next, Origin, Strength};

/// By name; a switch has no value.
pub(crate) fn repeated_flags(
    layers: &Layers,
    workload: &WorkloadChoice,
    parameters: &BTreeMap<String, String>,
    streams: &[StreamInput],
) -> BTreeMap<String, Vec<String>> {
    let is_set = |name: &str| {
        let mut set = layers.every_layer("set");
        set.any(|(_, pair)| pair.text.split('=').next() == Some(name))
    };
    let mut given: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (&name, &next) in &layers.next {
        if layers.strength(name) <= Some(Strength::Default) {
            continue;
        }
        let values = match next {
            // The limit of ops in flight; the sessions of a closed pace are in the plan.
            Next::LeftOut if name == "sessions" && are_open(streams) => {
                layers.texts(name).collect()
            }
            Next::Parameter if is_set(name) => continue,
            Next::Repeated | Next::Parameter => layers.texts(name).collect(),
            Next::RepeatedSwitch if layers.switch(name).unwrap_or(false) => Vec::new(),
            Next::LeftOut | Next::RepeatedSwitch => continue,
            Next::RepeatedUrl => {
                layers.list(name).iter().filter_map(|url| without_password(&url.text)).collect()
            }
        };
        given.insert(name.to_owned(), values);
    }
    let mut targets = layers.list("target").iter();
    if targets.any(|target| target.origin != Origin::Default) {
        // It only adds quotas to a target, which the record has.
        given.remove("cluster");
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

/// A URL as records keep it; absent where it is none.
fn without_password(text: &str) -> Option<String> {
    TargetUrl::parse(text).ok().map(|url| url.to_string())
}
