//! `highwater tune`: settings → trials, each a run → best configuration → exit code. Must not choose configurations.

use std::collections::BTreeMap;
use std::sync::Arc;

use highwater_analysis::tuning::{is_small, probes_most};
use highwater_driver::TargetUrl;
use highwater_drivers::SIMULATION_PARAMETERS;
use highwater_experiment as experiment;
use highwater_experiment::Configuration;
use highwater_experiment::trials::{NextTrial, PreparedTrial, TrialMaker, TrialPlace};
use highwater_model::display::{duration, plain, ratio};
use highwater_model::plan::{Pace, Plan, StopRule};
use highwater_model::quantity::{parse_count, parse_duration};
use highwater_model::record::Question;
use highwater_model::tune::{
    TrialRecord, TrialVerdict, TuneAxis, TuneFigure, TunePolicy, TuneRecord,
};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_workload::Workload;

use crate::cluster_file::on_cluster;
use crate::exit::did_you_mean;
use crate::grammar::flags::{
    ARRIVALS, AUDIT, AUDITED, BOUNDS, BUDGET, CLUSTER, CONFIG, DATA, DRY_RUN, LENGTH, LITERALS,
    LOAD, MAX_CPU, NO_COLOR, OBJECTIVES, OUTPUT, RATE, RETRIES, RUNNING, SESSIONS, SHARED, SHARES,
    STORED, TABLES, THINK, TIMEOUT, TUNED, WARM_UP,
};
use crate::grammar::{CommandSpec, Flag, Reach, WORKLOAD_AND_TARGETS, flag};
use crate::intent::resolve::Seconds;
use crate::intent::{RunIntent, parsers, resolve, streams};
use crate::layers::{Layers, Origin, SettingValue, Strength};
use crate::prepare::trials::{self, Pauses, Prepared, ResumeRequest, TrialOverhead};
use crate::prepare::{self, StoredPlan, stops};
use crate::variants::{FLAGS, SIM, WITH, set_axis};
use crate::{shares, stored_files};

/// `highwater tune`.
pub(crate) static COMMAND: CommandSpec = CommandSpec {
    name: "tune",
    summary: "Find the best batch size, sessions, shards, or other settings with few trials",
    usage: "--over AXIS=VALUES [WORKLOAD] [TARGET]...",
    positionals: WORKLOAD_AND_TARGETS,
    flags: &[
        ("Tuning", TUNING_FLAGS),
        (LOAD, &[SESSIONS, RATE, THINK, ARRIVALS, TIMEOUT, RETRIES, LITERALS]),
        (LENGTH, &[WARM_UP]),
        (DATA, TABLES),
        (DATA, &[TUNED, CLUSTER]),
        (DATA, RUNNING),
        (OBJECTIVES, BOUNDS),
        (OBJECTIVES, &[MAX_CPU]),
        (AUDIT, AUDITED),
        (SHARES, SHARED),
        (OUTPUT, STORED),
        (OUTPUT, &[CONFIG, NO_COLOR]),
    ],
    main_flags: Some(
        "over by budget resume quick dry-run sessions rate file set drop p99 ui out json",
    ),
    examples: "  highwater tune cpu $URL --over batch=500..32k --over sessions=4..64
      the best batch size and number of sessions, without measuring every configuration
  highwater tune cpu $URL --over shards=3,9,12,18,36,54 --drop
      a new table for each number of shards
  highwater tune cpu $URL --over batch=1k..32k --rate 50k --by server_cpu_per_row
      the lowest server CPU at an equal rate
  highwater tune cpu $URL --over rows=0,10M,100M --budget 6h
      throughput against data volume
  highwater find cpu $URL --tuned RUN
      use the best configuration in a search",
    run: |layers| {
        let settings = TuneIntent::resolve(&on_cluster(layers)?)?;
        shares::report(layers)?;
        tune(&settings)
    },
};

const TUNING_FLAGS: &[Flag] = &[
    flag(
        "--over <AXIS=VALUES>...",
        "Vary AXIS: batch, sessions, shards, replicas, rows (preloaded), with.NAME \
         (a setting of new tables), or sim.NAME (a parameter of the simulated cluster). VALUES is \
         a list (3,9,12) or a range, which doubles (500..32k), or steps by one for replicas and \
         sim.nodes (1..5) [required]",
    ),
    flag(
        "--by <FIGURE>",
        "Choose the configuration with the highest throughput, or with the lowest \
         server_cpu_per_row or disk_bytes_per_row",
    )
    .default("throughput"),
    flag("--probe <DURATION>", "Measure each trial for DURATION [default: 20s; 5s with --quick]"),
    flag(
        "--settle <DURATION>",
        "Leave the target idle for DURATION before each trial [default: 5s; 1s with --quick]",
    ),
    BUDGET,
    flag(
        "--resume <RUN>",
        "Resume this tuning (named as for show) without repeating its trials. All other flags must \
         be the same, except --budget [default: start a new one]",
    )
    .once()
    .reach(Reach::File),
    flag("--quick", "Use shorter trials for a rough result"),
    DRY_RUN,
];

/// Number of confirmations of the winner, and of the runner-up.
const CONFIRMATIONS: u32 = 5;

/// Runs the tuning; returns the exit code.
fn tune(settings: &TuneIntent) -> Result<u8, UserError> {
    if settings.dry_run {
        check_axes(settings)?;
        return intended(settings)?.show();
    }
    let prepared = prepared(settings)?;
    let stops = stops()?;
    let hash = prepared.experiment.definition_hash.clone();
    let (record, place) = prepared.measure(&settings.run, "tune", &hash, &stops)?;
    shares::print_experiment(&settings.run, &record, &place)
}

/// A tuning before its first trial.
type PreparedTuning<'a> = Prepared<TuneRecord, TrialRuns<'a>>;

/// Prepares the tuning. Every value of every axis is validated with the workload, so that a wrong one is reported
/// before the first measurement.
pub(super) fn prepared(settings: &TuneIntent) -> Result<PreparedTuning<'_>, UserError> {
    check_axes(settings)?;
    prepared_on(settings, prepare::with_password(&settings.run)?)
}

/// Prepares the tuning without a connection.
pub(super) fn intended(settings: &TuneIntent) -> Result<PreparedTuning<'_>, UserError> {
    prepared_on(settings, settings.run.targets.clone())
}

/// Rejects axes that have another name for this target; does not connect.
fn check_axes(settings: &TuneIntent) -> Result<(), UserError> {
    let target = prepare::open(&settings.run, &settings.run.targets, &settings.run.out)?;
    check_names(&settings.axes, target.capabilities().simulated)
}

/// Time of all trials.
fn all_ns(policy: &TunePolicy) -> u64 {
    u64::from(policy.probes_max).saturating_mul(policy.trial_cost_ns)
}

fn prepared_on(
    settings: &TuneIntent,
    urls: Vec<TargetUrl>,
) -> Result<PreparedTuning<'_>, UserError> {
    let maker = TrialRuns { settings, urls };
    let mut first = None;
    for (axis, values) in settings.axes.iter().enumerate() {
        for value in 0..values.values.len() {
            let mut at = vec![0; settings.axes.len()];
            at[axis] = value;
            let (run, workload, urls) = maker.trial(&at)?;
            let plan = prepare::plan(&run, &workload, &urls)?;
            first.get_or_insert((plan, workload));
        }
    }
    let Some((first, workload)) = first else {
        return Err(UserError::usage("--over is missing"));
    };
    let mut tune = tuning(settings, &workload, &first)?;
    let pauses = resume(settings, &mut tune)?;
    experiment::check(&tune)?;
    Ok(Prepared {
        preview: trials::on_its_clock(preview(&tune), &settings.run)?,
        cost: Nanos(all_ns(&tune.policy).min(tune.policy.budget_ns)),
        experiment: tune,
        maker,
        first,
        workload,
        pauses,
        settle: settings.settle,
    })
}

/// The tuning before its first trial, whose plan is given.
fn tuning(
    settings: &TuneIntent,
    workload: &Workload,
    first: &Plan,
) -> Result<TuneRecord, UserError> {
    let overhead = TrialOverhead::new(&settings.run, settings.settle, workload, first)?;
    let cost = overhead.with(settings.run.plan.step);
    let stream = &first.streams[0];
    let is_axis = settings.axes.iter().any(|axis| axis.name == "sessions");
    let sessions = match stream.paces.first() {
        Some(Pace::Closed { sessions }) if !is_axis => Some(*sessions),
        _ => None,
    };
    let mut tune = TuneRecord {
        axes: settings.axes.clone(),
        by: settings.by,
        stream: stream.name.clone(),
        unit: stream.unit,
        sessions,
        policy: TunePolicy {
            seed: settings.run.seed.0,
            confirmations: CONFIRMATIONS,
            probes_max: probes_most(&settings.axes, CONFIRMATIONS),
            budget_ns: 0,
            trial_cost_ns: cost.0,
        },
        ..TuneRecord::default()
    };
    tune.definition_hash = tune.hash(&first.hash());
    tune.policy.budget_ns = settings.budget.0;
    Ok(tune)
}

/// Takes over the trials of the tuning to resume; returns its pauses.
fn resume(settings: &TuneIntent, tune: &mut TuneRecord) -> Result<Pauses, UserError> {
    let request = ResumeRequest {
        out: &settings.run.out,
        name: settings.resume.as_deref(),
        what: "a tuning",
        command: "tune` run",
        definition: "its axes, workload, lengths, or seed",
        now: &settings.run.command,
        free: "--budget",
        from: None,
    };
    let of = |question| match question {
        Question::Tune(tune) => Some((tune.definition_hash, tune.trials)),
        Question::Search(_) | Question::Group(_) | Question::Scale(_) => None,
    };
    let early = [TrialVerdict::Interrupted, TrialVerdict::TargetLost];
    let ended_early = |trial: &TrialRecord| early.contains(&trial.verdict);
    let TuneRecord { definition_hash, trials, .. } = tune;
    request.take_over(definition_hash, trials, of, ended_early, |trial| &mut trial.run)
}

/// The planned trials and their duration, without the time for filling tables, which is unknown before the first trial.
fn preview(tune: &TuneRecord) -> String {
    let axes = tune.axes.iter().map(|axis| format!("{} {}", axis.name, axis.values.join(", ")));
    let axes: Vec<String> = axes.collect();
    let grid: usize = tune.axes.iter().map(|axis| axis.values.len()).product();
    let policy = &tune.policy;
    let most = trials::within_budget(all_ns(policy), Some(policy.budget_ns));
    let order = if is_small(&tune.axes) {
        "each configuration is measured, and the better half of them repeatedly"
    } else {
        "a random part of the configurations is measured, more of them while none is valid, then those along the \
         axes through the best"
    };
    let resumed = trials::resumed(tune.trials.len(), "trials");
    format!(
        "tune {} by {} over {}\n{grid} configurations, at most {} probes of {} each, {CONFIRMATIONS} + \
         {CONFIRMATIONS} of them to confirm: {most}; filling tables not counted\n\
         {order}: at most {} probes per configuration\n{resumed}",
        tune.stream,
        tune.by.name(),
        axes.join(" × "),
        policy.probes_max,
        duration(policy.trial_cost_ns),
        plain(ratio(policy.probes_max.into(), grid as u64)),
    )
}

/// Makes the trials' runs from the settings.
pub(super) struct TrialRuns<'a> {
    settings: &'a TuneIntent,
    urls: Vec<TargetUrl>,
}

impl TrialRuns<'_> {
    /// The settings of a trial, its workload, and its target.
    fn trial(&self, at: &[usize]) -> Result<(RunIntent, Arc<Workload>, Vec<TargetUrl>), UserError> {
        let axes = self.settings.axes.iter().zip(at);
        let values = axes.map(|(axis, at)| (axis.name.clone(), axis.values[*at].clone()));
        let run = self.settings.trial(&values.collect())?;
        let workload = prepare::workload(&run)?;
        Ok((run, workload, urls_at(&self.settings.axes, &self.urls, at)))
    }

    /// Whether an axis requires new tables for each value.
    fn varies_tables(&self) -> bool {
        let of_sessions = |axis: &TuneAxis| axis.name == "sessions";
        !self.settings.axes.iter().all(of_sessions)
    }
}

/// The URLs with the parameters that are an axis. Their passwords may come from a prompt. A cluster that was started
/// may have other and more URLs than the settings of the trials.
fn urls_at(axes: &[TuneAxis], urls: &[TargetUrl], at: &[usize]) -> Vec<TargetUrl> {
    let of_axes = axes.iter().zip(at).filter_map(|(axis, at)| {
        let name = axis.name.strip_prefix(SIM)?;
        Some((name.to_owned(), axis.values[*at].clone()))
    });
    let mut urls = urls.to_vec();
    for url in &mut urls {
        url.parameters.extend(of_axes.clone());
    }
    urls
}

impl TrialMaker<Configuration> for TrialRuns<'_> {
    fn prepare<'a>(
        &'a self,
        request: &'a NextTrial<Configuration>,
        place: &'a TrialPlace,
    ) -> Result<PreparedTrial<'a>, UserError> {
        let (mut run, workload, urls) = self.trial(&request.trial.at)?;
        let plan = prepare::plan(&run, &workload, &urls)?;
        Ok(PreparedTrial::new(plan, move |plan, directory| {
            if request.tables_kept && !run.options.drop && self.varies_tables() {
                let cause = "the tables held rows before, and each trial needs new tables";
                return Err(UserError::usage(cause)
                    .with_hint("drop these rows with --drop, or tune in another schema"));
            }
            run.options.drop |= !request.is_first && !request.tables_kept;
            // A simulated target gets another seed; rows and ops stay the same.
            run.seed.0 = run.seed.0.wrapping_add(self.settings.target_seed);
            run.seed.0 = run.seed.0.wrapping_add(request.number.into());
            let stored = StoredPlan::new(plan, directory, Some(&place.experiment));
            prepare::request(&run, workload, stored, &urls)
        }))
    }
}

/// Measured time of a trial.
const PROBE: Seconds = Seconds { usual: 20, with_quick: 5 };
/// Maximum number of axes, of values per axis, and of configurations.
const MOST_AXES: usize = 6;
const MOST_VALUES: usize = 64;
const MOST_CONFIGURATIONS: usize = 10_000;

const HINT: &str =
    "write `--over batch=500..32k`, `--over shards=3,9,12` or `--over with.NAME=a,b`";

/// Settings of a tuning.
#[derive(Debug)]
pub(crate) struct TuneIntent {
    /// Settings shared by all trials.
    pub(crate) run: RunIntent,
    /// The axes.
    pub(crate) axes: Vec<TuneAxis>,
    /// The figure by which configurations are compared.
    by: TuneFigure,
    /// Idle time of the target before each trial.
    pub(crate) settle: Nanos,
    /// Time for the whole tuning.
    pub(crate) budget: Nanos,
    /// Added to a simulated target's seed, so that tunings within an experiment are independent.
    pub(crate) target_seed: u64,
    /// The tuning to resume.
    pub(crate) resume: Option<String>,
    /// Only print the preview.
    pub(crate) dry_run: bool,
    layers: Layers,
}

impl TuneIntent {
    pub(crate) fn resolve(layers: &Layers) -> Result<Self, UserError> {
        Ok(Self {
            run: run(layers)?,
            axes: axes(layers)?,
            by: layers.require("by", figure)?,
            settle: resolve::settle(layers)?,
            budget: layers.require("budget", parse_duration)?,
            target_seed: 0,
            resume: stored_files::resumed(layers)?,
            dry_run: layers.switch("dry-run")?,
            layers: layers.clone(),
        })
    }

    /// The run of a trial: the values of its axes act like flags.
    pub(crate) fn trial(&self, values: &BTreeMap<String, String>) -> Result<RunIntent, UserError> {
        let mut layers = self.layers.clone();
        for (axis, value) in values {
            set_axis(&mut layers, Strength::CommandLine, axis, value);
        }
        let mut trial = run(&layers)?;
        trial.command = self.run.command.in_trial(trial.command);
        // The nodes of a growth are known only after they were started.
        trial.options.telemetry = self.run.options.telemetry.clone();
        Ok(trial)
    }
}

fn run(layers: &Layers) -> Result<RunIntent, UserError> {
    let probe = resolve::probe_length(layers, "probe", PROBE)?;
    let mut layers = layers.clone();
    // Throughput with rejected or failed ops is not comparable.
    layers.add(Strength::Default, "rejected", "0", Origin::Default);
    layers.add(Strength::Default, "errors", "0%", Origin::Default);
    let streams = streams::first(&layers)?;
    RunIntent::with_streams(&layers, streams, probe, StopRule::default())
}

fn figure(text: &str) -> Result<TuneFigure, UserError> {
    let hint = "there are `throughput`, `server_cpu_per_row` and `disk_bytes_per_row`";
    serde_json::from_value(text.into()).map_err(|_| parsers::wrong(text, "is not a figure", hint))
}

/// The axes of `--over`.
pub(crate) fn axes(layers: &Layers) -> Result<Vec<TuneAxis>, UserError> {
    let mut axes: Vec<TuneAxis> = Vec::new();
    for given in layers.list("over") {
        let axis = given.parse(axis)?;
        check(layers, given, &axis, &axes)?;
        axes.push(axis);
    }
    let configurations: usize = axes.iter().map(|axis| axis.values.len()).product();
    match axes.len() {
        0 => Err(UserError::usage("--over is missing").with_hint(HINT)),
        _ if configurations < 2 => {
            Err(UserError::usage("--over: there is only one configuration").with_hint(HINT))
        }
        _ if configurations > MOST_CONFIGURATIONS => Err(UserError::usage(format!(
            "--over: {configurations} configurations, {MOST_CONFIGURATIONS} at most"
        ))
        .with_hint("name fewer values")),
        1..=MOST_AXES => Ok(axes),
        _ => Err(UserError::usage(format!("--over: more than {MOST_AXES} axes"))),
    }
}

fn check(
    layers: &Layers,
    given: &SettingValue,
    axis: &TuneAxis,
    before: &[TuneAxis],
) -> Result<(), UserError> {
    let is_setting = [WITH, SIM]
        .iter()
        .any(|begin| axis.name.strip_prefix(begin).is_some_and(|rest| !rest.is_empty()));
    if !is_setting && axis.name != "rows" && !FLAGS.contains(&axis.name.as_str()) {
        let failure = given.failure(format!("`{}` is not an axis", axis.name));
        let near = || did_you_mean(&axis.name, FLAGS.iter().copied().chain(["rows"]));
        let hint = if SIMULATION_PARAMETERS.contains(&axis.name.as_str()) {
            let other = over(axis, &format!("{SIM}{}", axis.name));
            format!("of a simulated cluster it is `{other}`")
        } else {
            near().map_or(HINT.to_owned(), |near| format!("did you mean `{}`?", over(axis, near)))
        };
        return Err(failure.with_hint(hint));
    }
    if before.iter().any(|other| other.name == axis.name) {
        let cause = format!("`{}` is given twice", axis.name);
        return Err(given.failure(cause).with_hint("list its values in one --over"));
    }
    if FLAGS.contains(&axis.name.as_str())
        && layers.strength(&axis.name) == Some(Strength::CommandLine)
    {
        let cause = format!("--{} is given, too", axis.name);
        return Err(given.failure(cause).with_hint("leave one of them out"));
    }
    Ok(())
}

/// Rejects an axis that has another name for this kind of target, and reports that name.
fn check_names(axes: &[TuneAxis], is_simulated: bool) -> Result<(), UserError> {
    for axis in axes {
        let own = axis.name.strip_prefix(SIM);
        let (cause, name) = match (own, is_simulated) {
            (None, true) => {
                let setting = axis.name.strip_prefix(WITH).unwrap_or(&axis.name);
                let is_of_cluster = SIMULATION_PARAMETERS.contains(&setting);
                let name = is_of_cluster.then(|| format!("{SIM}{setting}"));
                ("a simulated cluster is described by its URL", name)
            }
            (Some(own), true) if FLAGS.contains(&own) && !SIMULATION_PARAMETERS.contains(&own) => {
                ("a simulated cluster has no such parameter", Some(own.to_owned()))
            }
            (Some(own), false) => {
                let is_flag = FLAGS.contains(&own);
                let name = if is_flag { own.to_owned() } else { format!("{WITH}{own}") };
                ("the target is no simulated cluster", Some(name))
            }
            _ => continue,
        };
        if let Some(name) = name {
            let failure = UserError::usage(format!("--over {}: {cause}", axis.name));
            return Err(failure.with_hint(format!("write `{}`", over(axis, &name))));
        }
    }
    Ok(())
}

/// The flag of an axis by another name: `--over sim.shards=6,12`.
fn over(axis: &TuneAxis, name: &str) -> String {
    format!("--over {name}={}", axis.values.join(","))
}

/// `batch=500..32k`, `shards=3,9,12`, `with.codec=a,b`.
fn axis(text: &str) -> Result<TuneAxis, UserError> {
    let wrong = |message: String| UserError::usage(message).with_hint(HINT);
    let (name, values) =
        text.split_once('=').ok_or_else(|| wrong(format!("`{text}` names no values")))?;
    let values = match values.split_once("..") {
        Some((first, last)) => range(name, first, last)?,
        None => {
            values.split(',').map(|value| written_out(name, value)).collect::<Result<_, _>>()?
        }
    };
    let mut different = values.clone();
    different.sort();
    different.dedup();
    if values.iter().any(String::is_empty) || different.len() < values.len() {
        return Err(wrong(format!("`{text}` has an empty value, or one twice")));
    }
    if values.len() > MOST_VALUES {
        return Err(wrong(format!("`{text}` has more than {MOST_VALUES} values")));
    }
    Ok(TuneAxis { name: name.to_owned(), values })
}

/// A value in the form of the flag: numbers written out.
fn written_out(name: &str, value: &str) -> Result<String, UserError> {
    let is_count = name == "rows" || FLAGS.contains(&name) && name != "replicas";
    if !is_count {
        return Ok(value.to_owned());
    }
    parse_count(value).map(|count| count.to_string())
}

/// All values of a range: by doubling, or consecutive if there are naturally few values.
fn range(name: &str, first: &str, last: &str) -> Result<Vec<String>, UserError> {
    let (first, last) = (parse_count(first)?, parse_count(last)?);
    let by_one = matches!(name.strip_prefix(SIM).unwrap_or(name), "replicas" | "nodes");
    if first > last || (first == 0 && !by_one) {
        return Err(UserError::usage(format!("`{first}..{last}` is no range"))
            .with_hint("a range goes up, from 1 on; that of replicas from 0"));
    }
    let next = |value: &u64| {
        let next = if by_one { value + 1 } else { value.saturating_mul(2) };
        (*value < last).then(|| next.min(last))
    };
    let values = std::iter::successors(Some(first), next).take(MOST_VALUES + 1);
    Ok(values.map(|value| value.to_string()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_url_is_kept_and_gets_the_values_of_the_axes() {
        let axis = |name: &str, values: [&str; 2]| TuneAxis {
            name: name.to_owned(),
            values: values.map(str::to_owned).to_vec(),
        };
        let axes = [axis("sessions", ["4", "8"]), axis("sim.cores", ["1", "2"])];
        let url = |text: &str| TargetUrl::parse(text).unwrap();
        let urls = ["sim:?nodes=1", "sim:?nodes=2&cores=9", "sim:"].map(url);
        let expected = ["sim:?nodes=1&cores=2", "sim:?nodes=2&cores=2", "sim:?cores=2"];
        assert_eq!(urls_at(&axes, &urls, &[0, 1]), expected.map(url));
        assert_eq!(urls_at(&axes[..1], &urls, &[0]), urls);
    }
}
