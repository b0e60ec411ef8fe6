//! The command that repeats a run or experiment exactly, from the record's plan and the user's flags.

use std::fmt::Write as _;

use highwater_model::group::GroupRecord;
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::{Objective, Pace, PhaseKind, StreamPlan};
use highwater_model::quantity::print_count;
use highwater_model::record::{ExperimentRecord, Question, RecordRef, RunRecord};
use highwater_model::scale::{
    ClusterStart, LeftOut, NodesAlone, ScaleEach, ScaleRecord, ScaleSize,
};
use highwater_model::search::{SearchAxis, SearchRecord};
use highwater_model::tune::TuneRecord;

use crate::commands::{self, RepeatedRun};

/// The command, without passwords, which are not in records.
pub fn again(record: RecordRef<'_>) -> String {
    match record {
        RecordRef::Experiment(experiment) => match &experiment.question {
            Question::Tune(tune) => again_tune(experiment.into(), tune),
            Question::Search(search) => again_search(experiment.into(), search, 1),
            Question::Group(group) => again_group(experiment, group),
            Question::Scale(scale) => again_scale(experiment, scale),
        },
        RecordRef::Run(_) | RecordRef::Imported(_) => again_run(&record.measured_run()),
    }
}

/// The command that repeats the group, without passwords, which are not in records.
pub(crate) fn again_group(experiment: &ExperimentRecord, group: &GroupRecord) -> String {
    let mut run = experiment.last_run.clone();
    if let Some(baseline) = group.variants.first() {
        run.target.urls.clone_from(&baseline.urls);
    }
    let mut command = again_run(&run);
    command += &format!(" --repeat {}", group.times);
    for variant in &group.variants {
        if let Some(shell) = &variant.command {
            let given = format!("{}={shell}", variant.name);
            command += &format!(" --variant {}", commands::quoted(&given));
        }
    }
    let others = group.variants.iter().skip(1);
    for other in others.filter(|other| other.command.is_none()) {
        for url in &other.urls {
            command += &format!(" --interleave {}", commands::quoted(url));
        }
    }
    if group.settle_ns > 0 {
        command += &format!(" --settle {}", commands::span(group.settle_ns));
    }
    if let Some(budget) = group.budget_ns {
        command += &format!(" --budget {}", commands::span(budget));
    }
    command
}

// Writing to a string cannot fail.

/// The command, without passwords, which are not in records.
pub(crate) fn again_run(record: &RunRecord) -> String {
    let plan = &record.plan.definition;
    if plan.stop.fills {
        return commands::base("load", record, &[]);
    }
    let mut command = commands::base("run", record, &[]);
    for stream in &plan.streams {
        command += &commands::stream_flag(&stream.name, &paces(stream));
    }
    let is_closed = |pace: &Pace| matches!(pace, Pace::Closed { .. });
    let streams = || plan.streams.iter();
    if !record.header.given.contains_key("sessions")
        && streams().flat_map(|stream| &stream.paces).any(is_closed)
        && let Some(sessions) = streams().map(|stream| stream.sessions).max()
    {
        let _ = write!(command, " -c {sessions}");
    }
    let mut measured = plan.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
    if let Some(first) = measured.next() {
        let length = commands::between(plan.stop.minimum.0, first.duration.0);
        let is_stepped = measured.next().is_some();
        let flag = if is_stepped { "--step" } else { "-d" };
        let _ = write!(command, " {flag} {length}");
    }
    for objective in &plan.objectives {
        match objective {
            Objective::Throughput { min } => {
                let _ = write!(command, " --min-rate {}", min.as_f64());
            }
            other => command += &commands::flag(other),
        }
    }
    if plan.share.of > 1 {
        let _ = write!(command, " --share {}/{}", plan.share.index, plan.share.of);
    }
    command
}

/// `50,100`, or `4c` for closed sessions, and `4c,think=1s` for sessions with a think time.
fn paces(stream: &StreamPlan) -> String {
    stream
        .paces
        .iter()
        .map(|pace| match pace {
            Pace::Open { rate } => rate.as_f64().to_string(),
            Pace::Closed { sessions } => format!("{sessions}c"),
        })
        .collect::<Vec<_>>()
        .join(",")
        + &commands::think(stream)
}

/// The same search with its time multiplied by `longer`.
pub(crate) fn again_search(record: RepeatedRun<'_>, search: &SearchRecord, longer: u64) -> String {
    again_without(record, search, longer, &[])
}

/// The same search with the length of its probes, and its time, multiplied by `times`.
pub(crate) fn longer_probes(
    experiment: &ExperimentRecord,
    search: &SearchRecord,
    times: u64,
) -> String {
    let again = again_without(experiment.into(), search, times, &["probe", "quick"]);
    let probe = commands::span(search.policy.probe_ns.saturating_mul(times));
    format!("{again} --probe {probe}")
}

/// The same search with confirmations as long as its soak.
pub(crate) fn longer_confirmations(experiment: &ExperimentRecord, search: &SearchRecord) -> String {
    let again = again_without(experiment.into(), search, 2, &["confirm", "quick"]);
    let policy = &search.policy;
    let held = policy.confirmation_ns.max(policy.soak_ns.unwrap_or(0));
    format!("{again} --confirm {}", commands::span(held))
}

fn again_without(
    record: RepeatedRun<'_>,
    search: &SearchRecord,
    longer: u64,
    without: &[&str],
) -> String {
    let mut command = commands::base("find", record, without);
    if record.plan.definition.streams.len() > 1 {
        for stream in &record.plan.definition.streams {
            command += &commands::searching_flag(stream, stream.name == search.stream);
        }
    }
    if search.axis == SearchAxis::Sessions {
        command += " --axis sessions";
    }
    for objective in &search.objective.stated {
        if *objective != (Objective::Rejected { max_ppm: 0 }) {
            command += &commands::flag(objective);
        }
    }
    if let Some(soak) = search.policy.soak_ns {
        command += &format!(" --then soak={}", commands::span(soak));
    }
    if let Some(budget) = search.policy.budget_ns {
        let longer = commands::span(budget.saturating_mul(longer));
        command += &format!(" --budget {longer}");
    }
    command
}

/// A command with the user's flags, except those of the axes: they were set for a configuration, not by the user.
pub(crate) fn without_axes(command: &str, record: RepeatedRun<'_>, tune: &TuneRecord) -> String {
    const PAIRS: [(&str, &str); 2] = [("set", ""), ("with", "with.")];
    let is_axis = |name: &str| tune.axes.iter().any(|axis| axis.name == name);
    let without: Vec<&str> = tune
        .axes
        .iter()
        .map(|axis| axis.name.as_str())
        .chain(PAIRS.map(|(flag, _)| flag))
        .collect();
    let mut command = commands::base(command, record, &without);
    for (flag, axis_of) in PAIRS {
        for given in record.header.given.get(flag).into_iter().flatten() {
            let name = given.split_once('=').map_or("", |(name, _)| name);
            if !is_axis(&format!("{axis_of}{name}")) {
                command += &format!(" --{flag} {}", commands::quoted(given));
            }
        }
    }
    command
}

/// The command that repeats the tuning, without passwords, which are not in records.
pub(crate) fn again_tune(record: RepeatedRun<'_>, tune: &TuneRecord) -> String {
    let is_axis = |name: &str| tune.axes.iter().any(|axis| axis.name == name);
    let mut command = without_axes("tune", record, tune);
    let first = record.plan.definition.streams.first();
    match first.and_then(|stream| stream.paces.first()) {
        Some(Pace::Closed { sessions }) if !is_axis("sessions") => {
            command += &format!(" -c {sessions}");
        }
        Some(Pace::Open { .. }) => {
            let rate = first.map(commands::pace).unwrap_or_default();
            command += &format!(" --rate {rate}");
        }
        _ => {}
    }
    for axis in &tune.axes {
        let values = format!("{}={}", axis.name, axis.values.join(","));
        command += &format!(" --over {}", commands::quoted(&values));
    }
    let stated = record
        .plan
        .definition
        .objectives
        .iter()
        .filter(|objective| !commands::IMPLIED.contains(objective));
    command += &stated.map(commands::flag).collect::<String>();
    format!("{command} --by {}", tune.by.name())
}

/// The command that repeats the growth, without passwords, which are not in records.
pub(crate) fn again_scale(experiment: &ExperimentRecord, scale: &ScaleRecord) -> String {
    let mut repeated = experiment.clone();
    let run = &mut repeated.last_run;
    run.target.urls.clone_from(&scale.targets);
    let varies = |name: &str| varies(scale, name);
    if let Some(pairs) = run.header.given.get_mut("set") {
        pairs.retain(|pair| !pair.split_once('=').is_some_and(|(name, _)| varies(name)));
    }
    run.header.given.retain(|name, values| {
        let is_empty_list = name == "set" && values.is_empty();
        !varies(name) && !is_empty_list
    });
    if scale.cluster_file.is_some() {
        run.target.urls.clear();
    }
    let mut command = commands::base("scale", &repeated, &[]);
    command += &cluster(scale);
    let plan = &experiment.last_run.plan.definition;
    command += &load(experiment, scale);
    let sizes: Vec<String> = scale.sizes.iter().map(|s| s.nodes.to_string()).collect();
    command += &format!(" --nodes {} --each {}", sizes.join(","), scale.each.name());
    command += &settings(scale);
    for axis in &scale.over {
        command += &format!(" --over {}", commands::quoted(axis));
    }
    if scale.each == ScaleEach::Run {
        let mut measured = plan.phases.iter();
        let measured = measured.find(|phase| phase.kind == PhaseKind::Measure);
        let length = measured.map(|phase| commands::span(phase.duration.0));
        command += &length.map_or_else(String::new, |length| format!(" -d {length}"));
    }
    let is_stated = |objective: &&Objective| {
        scale.each == ScaleEach::Run || !commands::IMPLIED.contains(objective)
    };
    let stated = plan.objectives.iter().filter(is_stated);
    command += &stated.map(commands::flag).collect::<String>();
    if scale.start == ClusterStart::Grow {
        command += " --grow";
    }
    if let Some(until) = scale.until_per_s {
        let whole = round_to_u64(until);
        let is_whole = (to_f64(whole) - until).abs() < f64::EPSILON;
        let until = if is_whole { print_count(whole) } else { until.to_string() };
        command += &format!(" --until {until}");
    }
    if let Some(price) = scale.price_per_node_hour {
        command += &format!(" --price {price}");
    }
    if let Some(budget) = scale.budget_ns {
        command += &format!(" --budget {}", commands::span(budget));
    }
    // A single one of several variants is repeated: its settings already contain its name.
    let variant = scale.variant.as_ref();
    match variant.and_then(|variant| variant.command.as_ref()) {
        Some(configured) => format!("({configured}) && {command}"),
        None => command,
    }
}

/// The cluster file, and the flags about its nodes.
fn cluster(scale: &ScaleRecord) -> String {
    let Some(file) = &scale.cluster_file else {
        return String::new();
    };
    let mut flags = format!(" --cluster {}", commands::quoted(file));
    if scale.without_quotas {
        flags += " --no-quota";
    }
    if scale.alone.left_out == Some(LeftOut::Declined) {
        flags += " --no-measure-nodes";
    } else if scale.alone.nodes > NodesAlone::WITHOUT_REQUEST {
        flags += " --measure-nodes";
    }
    flags
}

/// Whether a setting depends on the size, or is an axis of the tunings.
fn varies(scale: &ScaleRecord, name: &str) -> bool {
    let mut axes = scale.over.iter().filter_map(|axis| axis.split_once('='));
    let of_size = |size: &ScaleSize| size.settings.contains_key(name);
    axes.any(|(axis, _)| axis == name) || scale.sizes.iter().any(of_size)
}

/// The flags of the load that do not depend on the size.
fn load(experiment: &ExperimentRecord, scale: &ScaleRecord) -> String {
    let plan = &experiment.last_run.plan.definition;
    let varies = |name: &str| varies(scale, name);
    let is_searched = |name: &str| scale.each == ScaleEach::Find && name == scale.stream;
    if let [stream] = &plan.streams[..] {
        return match stream.paces.first() {
            _ if is_searched(&stream.name) => String::new(),
            Some(Pace::Closed { sessions }) if !varies("sessions") => format!(" -c {sessions}"),
            Some(Pace::Open { .. }) if !varies("rate") => {
                format!(" --rate {}", commands::pace(stream))
            }
            _ => String::new(),
        };
    }
    plan.streams
        .iter()
        .map(|stream| commands::searching_flag(stream, is_searched(&stream.name)))
        .collect()
}

/// The settings that depend on the size, as lists of values.
fn settings(scale: &ScaleRecord) -> String {
    let flags =
        scale.sizes.first().map(|size| size.settings.keys()).into_iter().flatten().map(|name| {
            let values: Vec<&str> = scale
                .sizes
                .iter()
                .filter_map(|size| size.settings.get(name).map(String::as_str))
                .collect();
            let values = values.join(",");
            if OF_FLAGS.contains(&name.as_str()) {
                format!(" --{name} {}", commands::quoted(&values))
            } else {
                format!(" --set {}", commands::quoted(&format!("{name}={values}")))
            }
        });
    flags.collect()
}

/// Settings with their own flag.
const OF_FLAGS: [&str; 7] = ["batch", "max", "rate", "replicas", "sessions", "shards", "start"];

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::fixture;

    #[test]
    fn the_command_repeats_the_plan() {
        insta::assert_snapshot!(
            again_run(&fixture::closed()),
            @"highwater run cpu sqlite: --stream insert@4c -c 16 -d 10s"
        );
        insta::assert_snapshot!(
            again_run(&fixture::open_steps()),
            @"highwater run cpu sqlite: --stream insert@50000,50000 --stream dashboards@50,100 --step 10s --errors 0.1%"
        );
        insta::assert_snapshot!(
            again_run(&fixture::open_gate()),
            @"highwater run cpu sqlite: --stream insert@1000 -d 10s --p99 10ms"
        );
    }
}
