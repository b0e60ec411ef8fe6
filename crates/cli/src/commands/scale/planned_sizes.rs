//! A growth before its first size: the definition of each size, the preview, and what is taken over of a growth that is
//! resumed. Must not connect.

use std::collections::BTreeMap;
use std::path::PathBuf;

use highwater_analysis::growth::drift;
use highwater_model::cluster::Rows;
use highwater_model::display::{count, duration, rate};
use highwater_model::plan::{Plan, StopRule, Unit};
use highwater_model::record::{ExperimentRecord, Question};
use highwater_model::scale::{
    GrowthVariant, ScaleEach, ScalePurpose, ScaleRecord, ScaleSize, ScaleTrial, SizeVerdict,
};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_report as report;
use highwater_runner::planner::PaceInput;
use highwater_runner::{record, store};

use super::intent::{ClusterChoice, ScaleIntent};
use crate::commands::{find, tune};
use crate::intent::RunIntent;
use crate::prepare;
use crate::prepare::trials::{self, Pauses, Prepared, ResumeRequest, TrialOverhead};
use crate::variants;

/// The file that a growth has after its first measured size.
const RECORD: &str = "record.json";

/// Maximum measured time of a node alone; it is enough for a rate, and every node takes this time.
const ALONE: Nanos = Nanos::from_secs(15);

/// Definition of a size.
struct PlannedSize {
    /// The plan of its first run.
    plan: Plan,
    /// Everything that defines it, except its target's password.
    definition: String,
    /// Its time, without the time for filling tables.
    cost: Nanos,
    stream: String,
    unit: Unit,
}

impl PlannedSize {
    fn new(settings: &ScaleIntent, at: usize) -> Result<Self, UserError> {
        Ok(match settings.record.each {
            ScaleEach::Find => {
                let intent = settings.find_at(at)?;
                let Prepared { experiment: search, first, cost, .. } = find::intended(&intent)?;
                let (stream, unit) = (search.stream, search.unit);
                Self { plan: first, definition: search.definition_hash, cost, stream, unit }
            }
            ScaleEach::Tune => {
                let intent = settings.tune_at(at, false)?;
                let Prepared { experiment: tune, first, cost, .. } = tune::intended(&intent)?;
                let (stream, unit) = (tune.stream, tune.unit);
                Self { plan: first, definition: tune.definition_hash, cost, stream, unit }
            }
            ScaleEach::Run => {
                let (plan, cost) = planned(settings, &settings.run_at(at)?)?;
                let (definition, first) = (plan.hash(), &plan.streams[0]);
                let (stream, unit) = (first.name.clone(), first.unit);
                Self { plan, definition, cost, stream, unit }
            }
        })
    }
}

/// The growth before its first size, and the plan of its first run. Every size is validated with the workload, so that
/// a wrong setting is reported before the first measurement.
pub(super) fn planned_growth(settings: &ScaleIntent) -> Result<(ScaleRecord, Plan), UserError> {
    let first = PlannedSize::new(settings, 0)?;
    for at in 1..settings.record.sizes.len() {
        PlannedSize::new(settings, at)?;
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
fn planned(settings: &ScaleIntent, run: &RunIntent) -> Result<(Plan, Nanos), UserError> {
    let workload = prepare::workload(run)?;
    let plan = prepare::plan(run, &workload, &run.targets)?;
    let overhead = TrialOverhead::new(run, settings.settle, &workload, &plan)?;
    let cost = overhead.of_run(&plan);
    Ok((plan, cost))
}

/// The run of a node alone: a short one as at the smallest size, with the settings of one node.
pub(super) fn run_alone(settings: &ScaleIntent) -> Result<RunIntent, UserError> {
    let mut one = settings.clone();
    one.record.sizes[0].nodes = 1;
    let mut run = one.common_at(0)?;
    if settings.record.each != ScaleEach::Run {
        // Probes have their own length.
        run.plan.step = ALONE;
    }
    shorten(&mut run, ALONE);
    // The maximum of a node requires closed load.
    for stream in &mut run.plan.streams {
        if let [PaceInput::Open(_)] = stream.paces[..] {
            stream.paces = vec![PaceInput::Closed(None)];
        }
    }
    if settings.record.each == ScaleEach::Find {
        let searched = one.find_at(0)?.searched;
        run.plan.streams[searched].paces = vec![PaceInput::Closed(None)];
    }
    Ok(run)
}

/// Reduces a run to a measurement of the rate, for at most this time.
pub(super) fn shorten(run: &mut RunIntent, longest: Nanos) {
    run.plan.step = run.plan.step.min(longest);
    run.plan.stop = StopRule::default();
    run.plan.objectives.clear();
    for stream in &mut run.plan.streams {
        stream.paces.truncate(1);
    }
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

/// A search that was stopped before its size had a figure.
pub(super) struct UnfinishedSearch {
    /// The size.
    pub(super) size: ScaleSize,
    /// Its purpose.
    pub(super) purpose: ScalePurpose,
    /// Its directory.
    pub(super) directory: PathBuf,
    /// The same directory, relative to that of the search that resumes it.
    pub(super) from: String,
}

/// The record of this variant among those of an earlier call, of which `name` is one; absent if none of its sizes was
/// measured. Without variants, `name` itself.
pub(super) fn own_record(settings: &ScaleIntent, name: &str) -> Result<Option<String>, UserError> {
    let Some(own) = &settings.variant else {
        return Ok(Some(name.to_owned()));
    };
    let found = store::find(&settings.out, Some(name))?;
    let experiment = record::read(&found)?.into_experiment();
    let scale = experiment.as_ref().and_then(ExperimentRecord::scale);
    let Some(variant) = scale.and_then(|scale| scale.variant.as_ref()) else {
        let cause = format!("cannot resume {name}: it is no growth of a variant");
        return Err(UserError::usage(cause).with_hint("leave --variant out"));
    };
    let place = store::directory_of(&found);
    let beside = place.parent().unwrap_or(place);
    // A variant that was stopped or killed before its next size only has the record that it had resumed.
    let ids = [&variant.all, &variant.before];
    let mut places = ids.into_iter().filter_map(|ids| ids.get(&own.name)).map(|id| beside.join(id));
    let Some(path) = places.find(|path| path.join(RECORD).exists()) else {
        return Ok(None);
    };
    let experiment = record::read(&path)?.into_experiment();
    let path = path.display().to_string();
    let scale = experiment.as_ref().and_then(ExperimentRecord::scale);
    let before = scale.and_then(|scale| scale.variant.as_ref()?.command.clone());
    if before != own.command.as_deref().map(variants::shown) {
        let cause = format!("cannot resume {path}: its variant had another command");
        return Err(
            UserError::usage(cause).with_hint("give each variant the same command as before")
        );
    }
    Ok(Some(path))
}

/// Takes over the sizes of another growth; returns its pauses, and the search that was stopped.
pub(super) fn resume(
    settings: &ScaleIntent,
    name: &str,
    scale: &mut ScaleRecord,
) -> Result<(Pauses, Option<UnfinishedSearch>), UserError> {
    let request = ResumeRequest {
        out: &settings.out,
        name: Some(name),
        what: "a growth",
        command: "scale` run",
        definition: "its targets, cluster file, workload, objective, lengths, or seed",
        free: "--nodes, --until, --price, and --budget",
        from: None,
    };
    let found = store::find(&settings.out, Some(name))?;
    let place = store::directory_of(&found);
    let (mut last, mut alone) = (None, Vec::new());
    let of = |question| match question {
        Question::Scale(scale) => {
            last = scale.trials.last().cloned();
            alone = scale.alone.trials;
            Some((scale.definition_hash, scale.trials))
        }
        Question::Search(_) | Question::Tune(_) | Question::Group(_) => None,
    };
    let early = [SizeVerdict::Interrupted, SizeVerdict::TargetLost];
    let ended_early = |trial: &ScaleTrial| early.contains(&trial.figures.verdict);
    let ScaleRecord { definition_hash, trials, .. } = scale;
    let pauses =
        request.take_over(definition_hash, trials, of, ended_early, |trial| &mut trial.run)?;
    let id = place.file_name().unwrap_or_default().to_string_lossy();
    alone.retain(|trial| !ended_early(trial));
    let beside = |run: &mut String| {
        if !run.starts_with("..") {
            *run = format!("../{id}/{run}");
        }
    };
    for trial in &mut alone {
        beside(&mut trial.run);
    }
    scale.alone.trials = alone;
    let warm_ups = scale.alone.trials.iter_mut().chain(&mut scale.trials);
    warm_ups
        .filter_map(|trial| trial.before_quota.as_mut())
        .for_each(|warm_up| beside(&mut warm_up.run));
    expect_same(name, scale)?;
    let unfinished = last
        .filter(|trial| {
            settings.record.each == ScaleEach::Find
                && trial.figures.verdict == SizeVerdict::Interrupted
        })
        .map(|trial| UnfinishedSearch {
            directory: place.join(&trial.run),
            from: format!("../../../{id}/{}", trial.run),
            size: trial.size,
            purpose: trial.purpose,
        });
    Ok((pauses, unfinished))
}

/// Rejects sizes that are measured differently, and another machine.
fn expect_same(name: &str, scale: &ScaleRecord) -> Result<(), UserError> {
    let mut trials = scale.trials.iter();
    if let Some(trial) = trials.find(|trial| !scale.sizes.contains(&trial.size)) {
        let nodes = trial.size.nodes;
        let cause =
            format!("cannot resume {name}: {nodes} nodes are not measured now as they were");
        let hint = "name the sizes with the same settings as before";
        return Err(UserError::usage(cause).with_hint(hint));
    }
    if drift(scale).is_some_and(|drift| drift.is_drifted()) {
        let cause = format!("cannot resume {name}: the machine drifted meanwhile");
        let hint = "measure all sizes again, without --resume";
        return Err(UserError::usage(cause).with_hint(hint));
    }
    Ok(())
}
