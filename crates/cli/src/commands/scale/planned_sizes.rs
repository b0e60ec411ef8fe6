//! The sizes of a growth. Before the first one: the definition of each, the preview, and the results of a resumed
//! growth. Then their searches, tunings, and runs, and those of single nodes: resizes the cluster for each, and
//! prepares the trial on it. Must not choose sizes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use highwater_analysis::growth::drift;
use highwater_driver::clock::RealClock;
use highwater_experiment::SizedTrial;
use highwater_experiment::scale::Cluster;
use highwater_experiment::trials::{
    NextTrial, PreparedTrial, TargetPreparation, TrialMaker, TrialPlace,
};
use highwater_model::cluster::Rows;
use highwater_model::display::{count, duration, rate};
use highwater_model::plan::{PhaseKind, Plan, StopRule, Unit};
use highwater_model::record::{ExperimentRecord, Question, TableStart};
use highwater_model::scale::{
    GrowthVariant, NODE_LABEL, ScaleEach, ScalePurpose, ScaleRecord, ScaleSize, ScaleTrial,
    SizeVerdict, WarmUpRun,
};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_report as report;
use highwater_runner::planner::PaceInput;
use highwater_runner::store::{self, PROBES};
use highwater_runner::{record, run as runner};

use super::intent::{ClusterChoice, ScaleIntent};
use crate::commands::{find, tune};
use crate::intent::RunIntent;
use crate::prepare::trials::{self, Pauses, Prepared, ResumeRequest, TrialOverhead};
use crate::prepare::{self, StoredPlan};
use crate::{cluster_file, variants, workload_file};

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
fn run_alone(settings: &ScaleIntent) -> Result<RunIntent, UserError> {
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
fn shorten(run: &mut RunIntent, longest: Nanos) {
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

/// Number of sizes that remain to be measured, with the repetition of the first one.
fn remaining(scale: &ScaleRecord) -> u64 {
    let is_missing = |size: &&ScaleSize| {
        let mut trials = scale.trials.iter().filter(|of| of.purpose != ScalePurpose::Again);
        !trials.any(|trial| trial.size == **size)
    };
    scale.sizes.iter().filter(is_missing).count() as u64 + 1
}

/// Time of the remaining sizes in nanoseconds, within the budget.
pub(super) fn estimate(scale: &ScaleRecord) -> u64 {
    let of_nodes = nodes_alone(scale).saturating_mul(scale.alone.trial_cost_ns);
    let of_sizes = remaining(scale).saturating_mul(scale.trial_cost_ns);
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
        "growth of {} over {} nodes, then the first size again; {} at each\n{}{until}{of_nodes}{} measurements of about {} each: \
         {most}{with_nodes}; {apart} not counted\n{resumed}",
        scale.stream,
        sizes.join(", "),
        scale.each.name(),
        settings.concat(),
        count(remaining(scale)),
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
        now: &settings.command,
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

/// Measured time when a cluster is warm and its quotas are not in effect yet: the minimum that is judged.
const BEFORE_QUOTA: Nanos = Nanos::from_secs(3);

/// A cluster, possibly shared by several growths.
pub(super) type SharedCluster = Rc<RefCell<Box<dyn Cluster>>>;

/// Makes the searches and the runs of sizes from the settings.
pub(super) struct SizedRuns<'a> {
    pub(super) settings: &'a ScaleIntent,
    pub(super) cluster: SharedCluster,
    /// Clusters of other variants, which are ended before this one is started.
    pub(super) others: Vec<SharedCluster>,
    /// The search to resume.
    pub(super) unfinished: Option<UnfinishedSearch>,
}

impl SizedRuns<'_> {
    /// Index of a size.
    fn at(&self, size: &ScaleSize) -> usize {
        let mut sizes = self.settings.record.sizes.iter();
        sizes.position(|other| other == size).unwrap_or_default()
    }

    /// Resizes the cluster, and places this trial's run on it. The pace of a searched stream is not known yet.
    fn resize(
        &self,
        trial: &SizedTrial,
        place: &TrialPlace,
        run: &mut RunIntent,
        searched: Option<usize>,
    ) -> Result<(), UserError> {
        for other in &self.others {
            other.borrow_mut().end()?;
        }
        if let Some(variant) = &self.settings.variant {
            variants::configure(&variant.name, variant.command.as_deref(), &place.interrupts)?;
        }
        let mut cluster = self.cluster.borrow_mut();
        let start = self.settings.record.start;
        let resized = match trial.node {
            Some(node) => cluster.alone(node)?,
            None => cluster.resize(trial.size.nodes, start)?,
        };
        run.targets = resized.urls;
        let endpoints = cluster_file::endpoints(&resized.metrics)?;
        run.options.telemetry.endpoints.extend(endpoints);
        run.options.drop |= trial.remakes_tables;
        if trial.keeps_tables {
            // Existing tables keep the settings that they were created with.
            run.options.tables.settings.clear();
        }
        let mut ready = TargetPreparation { took: resized.took, before_quota: None };
        if cluster.awaits_warm_up() && run.plan.warm_up > Nanos::ZERO {
            let clock = RealClock::start();
            ready.before_quota = Some(warm_up(place, run, searched)?);
            ready.took = ready.took.saturating_add(clock.now());
        }
        // After a stop, a size needs no cluster.
        if place.interrupts.requested().is_none() {
            cluster.begin_quota()?;
        }
        run.options.telemetry.limited_nodes = cluster.limited_nodes();
        *place.ready.borrow_mut() = ready;
        Ok(())
    }

    /// The search that was stopped at this size.
    fn unfinished_of(&self, trial: &SizedTrial) -> Option<&UnfinishedSearch> {
        let unfinished = self.unfinished.as_ref();
        unfinished.filter(|search| search.size == trial.size && search.purpose == trial.purpose)
    }

    /// Tunes at a size.
    fn tuning(
        &self,
        requested: &NextTrial<SizedTrial>,
        place: &TrialPlace,
    ) -> Result<ExperimentRecord, UserError> {
        let trial = &requested.trial;
        let at = self.at(&trial.size);
        let mut tuning = self.settings.tune_at(at, trial.remakes_tables)?;
        self.resize(trial, place, &mut tuning.run, None)?;
        if tuning.run.options.drop && !trial.remakes_tables {
            // Each of its trials is resolved again.
            let placed = tuning.run;
            tuning = self.settings.tune_at(at, true)?;
            tuning.run.targets = placed.targets;
            tuning.run.options.telemetry = placed.options.telemetry;
        }
        tuning.target_seed = seed_of(requested.number);
        tune::prepared(&tuning)?.nest(place)
    }

    /// The failure that ended the growth, with its place in the workload file if it has one.
    pub(super) fn located(&self, failure: UserError) -> UserError {
        // Sizes change values, but never the statements of a file.
        let first = self.settings.common_at(0).and_then(|run| {
            let workload = prepare::workload(&run)?;
            Ok((run, workload))
        });
        match first {
            Ok((run, workload)) => workload_file::located(failure, &run.workload, &workload),
            Err(other) => other,
        }
    }
}

impl TrialMaker<SizedTrial> for SizedRuns<'_> {
    fn prepare<'a>(
        &'a self,
        requested: &'a NextTrial<SizedTrial>,
        place: &'a TrialPlace,
    ) -> Result<PreparedTrial<'a>, UserError> {
        let trial = &requested.trial;
        let mut run = match trial.node {
            Some(_) => run_alone(self.settings)?,
            None => self.settings.run_at(self.at(&trial.size))?,
        };
        if let Some(node) = trial.node {
            run.options.labels.insert(NODE_LABEL.to_owned(), node.to_string());
        }
        self.resize(trial, place, &mut run, None)?;
        let urls = prepare::with_password(&run)?;
        let workload = prepare::workload(&run)?;
        let plan = prepare::plan(&run, &workload, &urls)?;
        Ok(PreparedTrial::new(plan, move |plan, directory| {
            // A simulated target gets another seed; rows and ops stay the same.
            run.seed.0 = run.seed.0.wrapping_add(seed_of(requested.number));
            let stored = StoredPlan::new(plan, directory, None);
            prepare::request(&run, workload, stored, &urls)
        }))
    }

    fn nested(
        &self,
        requested: &NextTrial<SizedTrial>,
        place: &TrialPlace,
    ) -> Result<ExperimentRecord, UserError> {
        if self.settings.record.each == ScaleEach::Tune {
            return self.tuning(requested, place);
        }
        let trial = &requested.trial;
        let mut search = self.settings.find_at(self.at(&trial.size))?;
        self.resize(trial, place, &mut search.run, Some(search.searched))?;
        search.target_seed = seed_of(requested.number);
        if let Some(unfinished) = self.unfinished_of(trial)
            && find::is_same(&search, &unfinished.directory)?
        {
            search.resume = Some(unfinished.directory.display().to_string());
            search.resumed_from = Some(unfinished.from.clone());
        }
        find::prepared(&search)?.nest(place)
    }
}

/// Runs the load of a size until its cluster is warm, before the quotas of its nodes take effect: servers that compile
/// at run time would otherwise take very long to do so. The run after it recreates the tables.
fn warm_up(
    place: &TrialPlace,
    run: &mut RunIntent,
    searched: Option<usize>,
) -> Result<WarmUpRun, UserError> {
    let mut warming = run.clone();
    warming.plan.step = BEFORE_QUOTA;
    shorten(&mut warming, BEFORE_QUOTA);
    if let Some(at) = searched {
        warming.plan.streams[at].paces = vec![PaceInput::Closed(None)];
    }
    let urls = prepare::with_password(&warming)?;
    let workload = prepare::workload(&warming)?;
    let plan = prepare::plan(&warming, &workload, &urls)?;
    let name = format!("{}-warm-up", place.name);
    let directory = place.experiment.create_trial(&name, &plan)?;
    let stored = StoredPlan::new(plan, directory.clone(), None);
    let request = prepare::request(&warming, workload, stored, &urls)?;
    let (observer, interrupts) = (Rc::clone(&place.observer), place.interrupts.clone());
    let record = runner::run(request, observer, interrupts)?.record;
    let tables = &record.target.tables;
    // Restored data must stay, and therefore also rows that were written next to them.
    let made_all = tables.iter().all(|table| table.start != TableStart::Continued);
    run.options.drop |= made_all && !tables.is_empty();
    let mut phases = record.phases.iter().filter(|phase| phase.kind == PhaseKind::WarmUp);
    let warm_up = phases.next_back();
    Ok(WarmUpRun {
        took_ns: warm_up.map_or(0, |phase| phase.duration_ns),
        steady: warm_up.and_then(|phase| phase.steady),
        run: format!("{PROBES}/{}", directory.id()),
    })
}

/// Added to a simulated target's seed, so that a repeated size is independent.
fn seed_of(number: u32) -> u64 {
    const APART: u64 = 1_000_000;
    u64::from(number).wrapping_mul(APART)
}
