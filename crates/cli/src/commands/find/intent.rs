//! Settings of `highwater find`: the run of each probe, and the limits of the search. Must not search.

use highwater_model::plan::{Objective, StopRule};
use highwater_model::quantity::{Ppm, parse_duration, parse_rate};
use highwater_model::search::SearchAxis;
use highwater_model::units::{Nanos, Rate};
use highwater_model::user_error::UserError;
use highwater_runner::planner::SESSIONS_MAX;
use highwater_runner::planner::{PaceInput, StreamInput};

use crate::intent::probes::{self, Seconds};
use crate::intent::streams::{self, MOST_STREAMS};
use crate::intent::{RunIntent, parsers};
use crate::layers::{Layers, Origin, SettingValue, Strength};
use crate::trust;

/// Marks the stream whose pace is searched for.
const SEARCHED: &str = "@find";
const PROBE: Seconds = Seconds { usual: 60, with_quick: 15 };
const CONFIRM: Seconds = Seconds { usual: 300, with_quick: 30 };
const BUDGET_WITH_QUICK: Nanos = Nanos::from_secs(900);
const TOLERANCE: Ppm = Ppm(20_000);
/// Results of short probes vary by several percent.
const TOLERANCE_WITH_QUICK: Ppm = Ppm(50_000);

/// Settings of a search.
#[derive(Debug)]
pub(crate) struct FindIntent {
    /// Settings shared by all probes. Its streams hold the fixed paces; the searched pace and the length differ per
    /// probe.
    pub(crate) run: RunIntent,
    /// The axis of the search.
    pub(crate) axis: SearchAxis,
    /// Index of the searched stream in the streams of the run.
    pub(crate) searched: usize,
    /// First value of the search.
    pub(crate) first: Option<f64>,
    /// Maximum probed value.
    pub(crate) max: Option<f64>,
    /// Maximum relative difference between the ends of the mark.
    pub(crate) tolerance: Ppm,
    /// Measured time of each probe.
    pub(crate) probe: Nanos,
    /// Measured time of each confirmation.
    pub(crate) confirm: Nanos,
    /// Idle time of the target between probes.
    pub(crate) settle: Nanos,
    /// Time for the whole search.
    pub(crate) budget: Nanos,
    /// Measured time of the soak after the search.
    pub(crate) soak: Option<Nanos>,
    /// Minimum for the mark.
    pub(crate) floor: Option<Rate>,
    /// `--errors` is absent, so no op may fail.
    pub(crate) no_errors: bool,
    /// Added to a simulated target's seed, so that searches within an experiment are independent.
    pub(crate) target_seed: u64,
    /// The directory of the search to resume, relative to this one's directory; absent if both are siblings.
    pub(crate) resumed_from: Option<String>,
    /// The search to resume.
    pub(crate) resume: Option<String>,
    /// Only print the preview.
    pub(crate) dry_run: bool,
}

impl FindIntent {
    pub(crate) fn resolve(layers: &Layers) -> Result<Self, UserError> {
        let axis = layers.require("axis", parsers::axis)?;
        let (streams, searched) = streams(layers, axis)?;
        let probe = probes::length(layers, "probe", PROBE)?;
        let no_errors = layers.value("errors").is_none();
        let floor = layers.parse("min-rate", parse_rate)?;
        let mut for_runs = layers.clone();
        for_runs.add(Strength::Default, "rejected", "0", Origin::Default);
        let mut run = RunIntent::of(&for_runs, streams, probe, StopRule::default())?;
        let objectives = &mut run.plan.objectives;
        objectives.retain(|objective| !matches!(objective, Objective::Throughput { .. }));
        let value = |name| value(layers, name, axis);
        let of_sessions = |value| (axis == SearchAxis::Sessions).then_some(value);
        let intent = Self {
            run,
            axis,
            searched,
            first: value("start")?.or(of_sessions(1.0)),
            max: value("max")?.or(of_sessions(SESSIONS_MAX.into())),
            tolerance: tolerance(layers)?,
            probe,
            confirm: probes::length(layers, "confirm", CONFIRM)?,
            settle: probes::settle(layers)?,
            budget: budget(layers)?,
            soak: layers.parse("then", parsers::soak)?,
            floor,
            no_errors,
            target_seed: 0,
            resumed_from: None,
            resume: trust::resumed(layers)?,
            dry_run: layers.switch("dry-run")?,
        };
        if let (Some(first), Some(max), Some(given)) =
            (intent.first, intent.max, layers.value("max"))
            && first > max
        {
            return Err(given.failure(format!("{max} is below --start {first}")));
        }
        Ok(intent)
    }
}

/// A rough mark is there soon, or the search says why not.
fn budget(layers: &Layers) -> Result<Nanos, UserError> {
    let given = layers.require("budget", parse_duration)?;
    let is_default = layers.value("budget").is_some_and(|of| of.origin == Origin::Default);
    let is_rough = is_default && layers.switch("quick")?;
    Ok(if is_rough { given.min(BUDGET_WITH_QUICK) } else { given })
}

fn tolerance(layers: &Layers) -> Result<Ppm, UserError> {
    let default = if layers.switch("quick")? { TOLERANCE_WITH_QUICK } else { TOLERANCE };
    let given = layers.parse("tolerance", parsers::tolerance)?;
    Ok(given.unwrap_or(default))
}

/// A value on the search axis.
fn value(layers: &Layers, name: &str, axis: SearchAxis) -> Result<Option<f64>, UserError> {
    match axis {
        SearchAxis::Rate => Ok(layers.parse(name, parse_rate)?.map(Rate::as_f64)),
        SearchAxis::Sessions => {
            let sessions = layers.parse(name, parsers::positive)?;
            match (sessions, layers.value(name)) {
                (Some(sessions), Some(given)) if sessions > SESSIONS_MAX => {
                    Err(given
                        .failure(format!("a load generator has {SESSIONS_MAX} sessions at most")))
                }
                _ => Ok(sessions.map(f64::from)),
            }
        }
    }
}

/// The streams with their fixed paces, and the index of the searched stream; a stream without a name is the workload's
/// first.
fn streams(layers: &Layers, axis: SearchAxis) -> Result<(Vec<StreamInput>, usize), UserError> {
    let given = layers.list("stream");
    let searched_pace = match axis {
        SearchAxis::Rate => PaceInput::Open(Rate::per_second(1)),
        SearchAxis::Sessions => PaceInput::Closed(Some(1)),
    };
    let mut streams: Vec<StreamInput> = Vec::new();
    let mut searched = None;
    for stream in given {
        let parsed = match stream.text.strip_suffix(SEARCHED) {
            Some(name) => {
                if searched.replace(streams.len()).is_some() {
                    return Err(stream
                        .failure("a second stream is marked `@find`")
                        .with_hint("one pace is searched while the others stay fixed"));
                }
                let name = (!name.is_empty()).then(|| name.to_owned());
                streams::at_one_pace(name, searched_pace)
            }
            None => fixed(stream)?,
        };
        if parsed.name.is_none() || streams.iter().any(|other| other.name == parsed.name) {
            let cause = format!("`{}` has no name of its own", stream.text);
            return Err(stream.failure(cause).with_hint("name each stream once"));
        }
        if streams.len() == MOST_STREAMS {
            return Err(stream.failure(format!("more than {MOST_STREAMS} streams")));
        }
        streams.push(parsed);
    }
    match (searched, given.last()) {
        (Some(searched), _) => Ok((streams, searched)),
        (None, Some(last)) => Err(last
            .failure("no stream is marked `@find`")
            .with_hint("write `--stream NAME@find` for the one whose pace is searched")),
        (None, None) => Ok((vec![streams::at_one_pace(None, searched_pace)], 0)),
    }
}

fn fixed(given: &SettingValue) -> Result<StreamInput, UserError> {
    let stream = given.parse(streams::stream)?.input;
    if stream.paces.len() > 1 {
        let cause = format!("`{}` has several paces", given.text);
        let hint = "a stream that is not searched has one pace";
        return Err(given.failure(cause).with_hint(hint));
    }
    Ok(stream)
}
