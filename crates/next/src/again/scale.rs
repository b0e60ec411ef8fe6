//! The command that repeats a growth. It must be valid and ready to paste.

use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::{Objective, Pace, PhaseKind};
use highwater_model::quantity::print_count;
use highwater_model::record::ExperimentRecord;
use highwater_model::scale::{
    ClusterStart, LeftOut, NodesAlone, ScaleEach, ScaleRecord, ScaleSize,
};

use crate::commands;

/// The command that repeats the growth, without passwords, which are not in records.
pub(crate) fn again(experiment: &ExperimentRecord, scale: &ScaleRecord) -> String {
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
