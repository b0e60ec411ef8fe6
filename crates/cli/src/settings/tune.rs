//! Settings of `highwater tune`: those of a run, the axes and the limits; and how a value of an axis
//! becomes a setting of a run, there and with `--tuned`. Must not choose configurations.

use std::collections::BTreeMap;

use highwater_model::quantity::{Ppm, QuantityError, parse_count, parse_duration, parse_rate};
use highwater_model::tune::{TuneAxis, TuneFigure};
use highwater_model::units::Nanos;

use super::probes::DefaultLength;
use super::resolve::SIM_PARAMETERS;
use super::{Load, RunSettings, Streams, TargetSchemes, parsers, probes};
use crate::failure::Failure;
use crate::layers::{Layers, Origin, SettingValue, Strength};

/// Measured time of a trial.
const PROBE: DefaultLength = DefaultLength {
    usual: Nanos::from_secs(20),
    quick: Nanos::from_secs(5),
};
/// Maximum of axes, values of one, and configurations.
const MOST_AXES: usize = 6;
const MOST_VALUES: usize = 64;
const MOST_CONFIGURATIONS: usize = 10_000;
/// Axes that are flags of the same name.
const FLAGS: [&str; 4] = ["batch", "sessions", "shards", "replicas"];
/// Begin of axes that are settings of new tables, and parameters of a simulated cluster.
const WITH: &str = "with.";
const SIM: &str = "sim.";

const HINT: &str =
    "write `--over batch=500..32k`, `--over shards=3,9,12` or `--over with.NAME=a,b`";

/// Settings of `highwater tune`.
#[derive(Debug, Clone)]
pub struct TuneSettings {
    /// Common settings of all trials.
    pub run: RunSettings,
    /// The axes.
    pub axes: Vec<TuneAxis>,
    /// The figure that configurations are compared by.
    pub by: TuneFigure,
    /// Idle time of the target before each trial.
    pub settle: Nanos,
    /// Time for the whole tuning.
    pub budget: Nanos,
    /// The tuning to resume.
    pub resume: Option<String>,
    /// Only print the preview.
    pub dry_run: bool,
    layers: Layers,
    supported: TargetSchemes,
}

impl TuneSettings {
    /// Settings of `highwater tune`.
    pub fn resolve(layers: &Layers, supported: &TargetSchemes) -> Result<Self, Failure> {
        Ok(Self {
            run: run(layers, supported)?,
            axes: axes(layers)?,
            by: layers.require("by", figure)?,
            settle: probes::settle(layers)?,
            budget: layers.require("budget", parse_duration)?,
            resume: layers.parse("resume", parsers::word)?,
            dry_run: layers.switch("dry-run")?,
            layers: layers.clone(),
            supported: supported.clone(),
        })
    }

    /// The run of a trial: its values, by axis, act like flags.
    pub fn trial(&self, values: &BTreeMap<String, String>) -> Result<RunSettings, Failure> {
        let mut layers = self.layers.clone();
        for (axis, value) in values {
            set_axis(&mut layers, Strength::CommandLine, axis, value);
        }
        run(&layers, &self.supported)
    }
}

/// Sets a value of an axis like the flag of that axis.
pub(crate) fn set_axis(layers: &mut Layers, strength: Strength, axis: &str, value: &str) {
    let (name, text) = if let Some(name) = FLAGS.into_iter().find(|name| *name == axis) {
        (name, value.to_owned())
    } else if let Some(name) = axis.strip_prefix(WITH) {
        ("with", format!("{name}={value}"))
    } else if let Some(name) = axis.strip_prefix(SIM) {
        (SIM_PARAMETERS, format!("{name}={value}"))
    } else {
        ("set", format!("{axis}={value}"))
    };
    layers.add(strength, name, text, Origin::CommandLine);
}

fn run(layers: &Layers, supported: &TargetSchemes) -> Result<RunSettings, Failure> {
    let load = Load {
        sessions: layers.parse("sessions", parsers::positive)?,
        streams: Streams::First {
            rate: layers.parse("rate", parse_rate)?,
        },
        arrivals: layers.parse("arrivals", parsers::arrivals)?,
        spawn_rate: None,
    };
    let length = probes::length(layers, PROBE)?;
    let mut run = RunSettings::of(layers, supported, load, length)?;
    // Throughput with rejected or failed ops is not comparable.
    run.objectives.rejected = run.objectives.rejected.or(Some(Ppm(0)));
    run.objectives.errors = run.objectives.errors.or(Some(Ppm(0)));
    Ok(run)
}

fn figure(text: &str) -> Result<TuneFigure, QuantityError> {
    let all = [
        TuneFigure::Throughput,
        TuneFigure::ServerCpuPerRow,
        TuneFigure::DiskBytesPerRow,
    ];
    all.into_iter()
        .find(|figure| figure.name() == text)
        .ok_or_else(|| QuantityError {
            message: format!("`{text}` is not a figure"),
            hint: "there are `throughput`, `server_cpu_per_row` and `disk_bytes_per_row`",
        })
}

fn axes(layers: &Layers) -> Result<Vec<TuneAxis>, Failure> {
    let mut axes: Vec<TuneAxis> = Vec::new();
    for given in layers.list("over") {
        let axis = given.parse(axis)?;
        check(layers, given, &axis, &axes)?;
        axes.push(axis);
    }
    let configurations: usize = axes.iter().map(|axis| axis.values.len()).product();
    match axes.len() {
        0 => Err(Failure::usage("--over is missing").with_hint(HINT)),
        _ if configurations < 2 => {
            Err(Failure::usage("--over: there is only one configuration").with_hint(HINT))
        }
        _ if configurations > MOST_CONFIGURATIONS => Err(Failure::usage(format!(
            "--over: {configurations} configurations, {MOST_CONFIGURATIONS} at most"
        ))
        .with_hint("name fewer values")),
        1..=MOST_AXES => Ok(axes),
        _ => Err(Failure::usage(format!(
            "--over: more than {MOST_AXES} axes"
        ))),
    }
}

fn check(
    layers: &Layers,
    given: &SettingValue,
    axis: &TuneAxis,
    before: &[TuneAxis],
) -> Result<(), Failure> {
    if before.iter().any(|other| other.name == axis.name) {
        let cause = format!("`{}` is given twice", axis.name);
        return Err(given
            .failure(cause)
            .with_hint("list its values in one --over"));
    }
    if FLAGS.contains(&axis.name.as_str())
        && layers.strength(&axis.name) == Some(Strength::CommandLine)
    {
        let cause = format!("--{} is given, too", axis.name);
        return Err(given.failure(cause).with_hint("leave one of them out"));
    }
    Ok(())
}

/// `batch=500..32k`, `shards=3,9,12`, `with.codec=a,b`.
fn axis(text: &str) -> Result<TuneAxis, QuantityError> {
    let wrong = |message: String| QuantityError {
        message,
        hint: HINT,
    };
    let (name, values) = text
        .split_once('=')
        .ok_or_else(|| wrong(format!("`{text}` names no values")))?;
    let is_setting = [WITH, SIM].iter().any(|begin| {
        name.strip_prefix(begin)
            .is_some_and(|rest| !rest.is_empty())
    });
    if !is_setting && name != "rows" && !FLAGS.contains(&name) {
        return Err(wrong(format!("`{name}` is not an axis")));
    }
    let values = match values.split_once("..") {
        Some((first, last)) => range(name, first, last)?,
        None => values
            .split(',')
            .map(|value| plain(name, value))
            .collect::<Result<_, _>>()?,
    };
    let mut different = values.clone();
    different.sort();
    different.dedup();
    if values.iter().any(String::is_empty) || different.len() < values.len() {
        return Err(wrong(format!("`{text}` has an empty value, or one twice")));
    }
    if values.len() > MOST_VALUES {
        return Err(wrong(format!(
            "`{text}` has more than {MOST_VALUES} values"
        )));
    }
    Ok(TuneAxis {
        name: name.to_owned(),
        values,
    })
}

/// A value as the flag takes it: numbers written out.
fn plain(name: &str, value: &str) -> Result<String, QuantityError> {
    if name.starts_with(WITH) || name.starts_with(SIM) || name == "replicas" {
        return Ok(value.to_owned());
    }
    parse_count(value).map(|count| count.to_string())
}

/// All values of a range: doubled, or one after the other where the values are few by nature.
fn range(name: &str, first: &str, last: &str) -> Result<Vec<String>, QuantityError> {
    let (first, last) = (parse_count(first)?, parse_count(last)?);
    let by_one = name == "replicas" || name == "sim.nodes";
    if first > last || (first == 0 && !by_one) {
        return Err(QuantityError {
            message: format!("`{first}..{last}` is no range"),
            hint: "a range goes up, from 1 on; that of replicas from 0",
        });
    }
    let next = |value: &u64| {
        let next = if by_one {
            value + 1
        } else {
            value.saturating_mul(2)
        };
        (*value < last).then(|| next.min(last))
    };
    let values = std::iter::successors(Some(first), next).take(MOST_VALUES + 1);
    Ok(values.map(|value| value.to_string()).collect())
}
