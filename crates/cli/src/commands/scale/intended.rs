//! A growth before its first size: the definition of each size, and the preview. Must not connect.

use std::collections::BTreeMap;

use highwater_model::cluster::Rows;
use highwater_model::display::{count, duration, rate};
use highwater_model::plan::{Plan, Unit};
use highwater_model::scale::{GrowthVariant, ScaleEach, ScaleRecord, ScaleSize};
use highwater_model::units::Nanos;
use highwater_report as report;

use super::cluster_choice::ClusterChoice;
use super::intent::ScaleIntent;
use super::short::run_alone;
use crate::commands::{find, tune};
use crate::failure::Failure;
use crate::intent::RunIntent;
use crate::prepare;
use crate::prepare::trials::{self, Around};
use crate::variants;

/// Definition of a size.
struct IntendedSize {
    /// The plan of its first run.
    plan: Plan,
    /// Everything that defines it, except its target's password.
    definition: String,
    /// Its time, without the time for filling tables.
    cost: Nanos,
    stream: String,
    unit: Unit,
}

impl IntendedSize {
    fn of(settings: &ScaleIntent, at: usize) -> Result<Self, Failure> {
        let (plan, cost, definition, stream, unit) = match settings.record.each {
            ScaleEach::Find => {
                let (search, plan, cost) = find::intended(&settings.find_at(at)?)?;
                let hash = search.definition_hash;
                (plan, cost, hash, search.stream, search.unit)
            }
            ScaleEach::Tune => {
                let (tune, plan, cost) = tune::intended(&settings.tune_at(at, false)?)?;
                (plan, cost, tune.definition_hash, tune.stream, tune.unit)
            }
            ScaleEach::Run => {
                let (plan, cost) = planned(settings, &settings.run_at(at)?)?;
                let (hash, first) = (plan.hash(), &plan.streams[0]);
                let (stream, unit) = (first.name.clone(), first.unit);
                (plan, cost, hash, stream, unit)
            }
        };
        Ok(Self { plan, definition, cost, stream, unit })
    }
}

/// The growth before its first size, and the plan of its first run. Every size is validated with the workload, so that
/// a wrong setting is reported before the first measurement.
pub(super) fn intended(settings: &ScaleIntent) -> Result<(ScaleRecord, Plan), Failure> {
    let first = IntendedSize::of(settings, 0)?;
    for at in 1..settings.record.sizes.len() {
        IntendedSize::of(settings, at)?;
    }
    let cluster = settings.cluster.as_ref();
    let mut scale = ScaleRecord {
        stream: first.stream,
        unit: first.unit,
        cluster_file: cluster.map(|cluster| cluster.path.display().to_string()),
        without_quotas: cluster.is_some_and(|cluster| cluster.flags.no_quota),
        rows_everywhere: cluster.is_some_and(|cluster| cluster.spec.rows == Rows::Everywhere),
        trial_cost_ns: first.cost.0,
        variant: settings.variant.as_ref().map(|variant| GrowthVariant {
            name: variant.name.clone(),
            command: variant.command.as_deref().map(variants::shown),
            all: BTreeMap::new(),
            before: BTreeMap::new(),
        }),
        ..settings.record.clone()
    };
    if scale.alone.nodes > 0 {
        // The run of a node alone is validated with the workload, too.
        let (_, cost) = planned(settings, &run_alone(settings)?)?;
        scale.alone.trial_cost_ns = cost.0;
    }
    let of_cluster = cluster.map(ClusterChoice::definition);
    let definition = first.definition + &of_cluster.unwrap_or_default();
    scale.definition_hash = scale.hash(&definition);
    Ok((scale, first.plan))
}

/// The plan of a run, and its time.
fn planned(settings: &ScaleIntent, run: &RunIntent) -> Result<(Plan, Nanos), Failure> {
    let workload = prepare::workload(run)?;
    let plan = prepare::plan(run, &workload, &run.targets)?;
    let around = Around::new(run, settings.settle, &workload, &plan)?;
    let cost = around.of_run(&plan);
    Ok((plan, cost))
}

/// Number of nodes that remain to be measured alone.
fn nodes_alone(scale: &ScaleRecord) -> u64 {
    if scale.trials.is_empty() { scale.alone.missing().into() } else { 0 }
}

/// Time of all sizes in nanoseconds, within the budget.
pub(super) fn estimate(scale: &ScaleRecord) -> u64 {
    let of_nodes = nodes_alone(scale).saturating_mul(scale.alone.trial_cost_ns);
    let sizes = scale.sizes.len() as u64 + 1;
    let of_sizes = sizes.saturating_mul(scale.trial_cost_ns);
    let budget = scale.budget_ns.unwrap_or(u64::MAX);
    of_sizes.saturating_add(of_nodes).min(budget)
}

/// The planned sizes and their duration, without the time for filling tables, which is unknown before the first one.
pub(super) fn preview(scale: &ScaleRecord) -> String {
    let sizes: Vec<String> = scale.sizes.iter().map(|s| s.nodes.to_string()).collect();
    let alone = nodes_alone(scale);
    let most = match scale.budget_ns {
        Some(budget) if estimate(scale) == budget => format!("{}, the budget", duration(budget)),
        _ => duration(estimate(scale)),
    };
    let until = scale.until_per_s.map_or_else(String::new, |until| {
        let unit = scale.unit.name();
        format!("no larger size than the first that reaches {} {unit}/s\n", rate(until))
    });
    let settings: Vec<String> = scale.sizes.iter().filter_map(settings_line).collect();
    let apart = match scale.cluster_file {
        Some(_) => "starting clusters, bringing data back, and filling tables",
        None => "filling tables",
    };
    let resumed = trials::resumed(scale.trials.len(), "sizes");
    let of_nodes = nodes_line(scale, alone);
    let with_nodes = if alone > 0 { " with the nodes alone" } else { "" };
    format!(
        "grow {} over {} nodes, then the first size again; {} at each\n{}{until}{of_nodes}{} sizes of about {} each: \
         {most}{with_nodes}; {apart} not counted\n{resumed}",
        scale.stream,
        sizes.join(", "),
        scale.each.name(),
        settings.concat(),
        count(scale.sizes.len() as u64 + 1),
        duration(scale.trial_cost_ns),
    )
}

/// Number of nodes to measure alone, or why there are none.
fn nodes_line(scale: &ScaleRecord, nodes: u64) -> String {
    if nodes > 0 {
        let each = duration(scale.alone.trial_cost_ns);
        return format!("before them {nodes} nodes alone, about {each} each\n");
    }
    let left_out = scale.alone.left_out.and(report::nodes_left_out(scale));
    left_out.map_or_else(String::new, |why| format!("nodes alone {why}\n"))
}

fn settings_line(size: &ScaleSize) -> Option<String> {
    let settings: Vec<String> =
        size.settings.iter().map(|(name, value)| format!("{name} {value}")).collect();
    let nodes = size.nodes;
    (!settings.is_empty()).then(|| format!("  {nodes:>6} nodes: {}\n", settings.join(", ")))
}
