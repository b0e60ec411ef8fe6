//! Settings of `highwater tune`: the run of each trial, the axes, and the limits. Must not choose configurations.

use std::collections::BTreeMap;

use highwater_drivers::SIMULATION_PARAMETERS;
use highwater_model::plan::StopRule;
use highwater_model::quantity::{parse_count, parse_duration};
use highwater_model::tune::{TuneAxis, TuneFigure};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::intent::probes::{self, Seconds};
use crate::intent::{RunIntent, parsers, streams};
use crate::layers::{Layers, Origin, SettingValue, Strength};
use crate::trust;
use crate::tuned::{FLAGS, SIM, WITH, set_axis};

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
    /// The figure that configurations are compared by.
    pub(crate) by: TuneFigure,
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
            settle: probes::settle(layers)?,
            budget: layers.require("budget", parse_duration)?,
            target_seed: 0,
            resume: trust::resumed(layers)?,
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
        // The nodes of a growth are known only after they were started.
        trial.options.telemetry = self.run.options.telemetry.clone();
        Ok(trial)
    }
}

fn run(layers: &Layers) -> Result<RunIntent, UserError> {
    let probe = probes::length(layers, "probe", PROBE)?;
    let mut layers = layers.clone();
    // Throughput with rejected or failed ops is not comparable.
    layers.add(Strength::Default, "rejected", "0", Origin::Default);
    layers.add(Strength::Default, "errors", "0%", Origin::Default);
    let streams = streams::first(&layers)?;
    RunIntent::of(&layers, streams, probe, StopRule::default())
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
        let hint = if SIMULATION_PARAMETERS.contains(&axis.name.as_str()) {
            let other = over(axis, &format!("{SIM}{}", axis.name));
            format!("of a simulated cluster it is `{other}`")
        } else {
            HINT.to_owned()
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

/// Refuses an axis that this kind of target has by another name, and says which.
pub(super) fn check_names(axes: &[TuneAxis], is_simulated: bool) -> Result<(), UserError> {
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
        None => values.split(',').map(|value| plain(name, value)).collect::<Result<_, _>>()?,
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

/// A value as the flag takes it: numbers written out.
fn plain(name: &str, value: &str) -> Result<String, UserError> {
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
