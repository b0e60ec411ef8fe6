//! Settings of `highwater find`: those of a run, and the limits of the search. Must not search.

use highwater_model::quantity::{QuantityError, parse_duration, parse_rate};
use highwater_model::search::SearchAxis;
use highwater_model::units::Nanos;

use super::probes::DefaultLength;
use super::resolve::duration_above_zero;
use super::{
    FindSettings, Load, PaceSetting, RunSettings, StreamSetting, Streams, TargetSchemes, load,
    parsers, probes,
};
use crate::failure::Failure;
use crate::layers::{Layers, SettingValue};

/// Marks the stream whose pace is searched.
const SEARCHED: &str = "@find";
const PROBE: DefaultLength = DefaultLength {
    usual: Nanos::from_secs(60),
    quick: Nanos::from_secs(15),
};
const CONFIRM: DefaultLength = DefaultLength {
    usual: Nanos::from_secs(300),
    quick: Nanos::from_secs(30),
};
/// Maximum of sessions without `--max`.
const MOST_SESSIONS: f64 = 65_536.0;

impl FindSettings {
    /// Settings of `highwater find`.
    pub fn resolve(layers: &Layers, supported: &TargetSchemes) -> Result<Self, Failure> {
        let axis = layers.require("axis", parsers::axis)?;
        let (streams, searched) = streams(layers, axis)?;
        let load = Load {
            sessions: layers.parse("sessions", parsers::positive)?,
            streams: Streams::Named(streams),
            arrivals: layers.parse("arrivals", parsers::arrivals)?,
            spawn_rate: None,
        };
        let length = probes::length(layers, PROBE)?;
        let mut run = RunSettings::of(layers, supported, load, length)?;
        let floor = run.objectives.min_rate.take();
        let no_errors = run.objectives.errors.is_none();
        if run.objectives.rejected.is_none() {
            run.objectives.rejected = Some(highwater_model::quantity::Ppm(0));
        }
        let value = |name| value(layers, name, axis);
        let first_sessions = (axis == SearchAxis::Sessions).then_some(1.0);
        let most_sessions = (axis == SearchAxis::Sessions).then_some(MOST_SESSIONS);
        let settings = Self {
            run,
            axis,
            searched,
            first: value("start")?.or(first_sessions),
            max: value("max")?.or(most_sessions),
            tolerance: layers.require("tolerance", parsers::tolerance)?,
            probe: length.at_most,
            confirm: match duration_above_zero(layers, "confirm")? {
                Some(given) => given,
                None => CONFIRM.of(layers)?,
            },
            settle: probes::settle(layers)?,
            budget: layers.require("budget", parse_duration)?,
            soak: layers.parse("then", parsers::soak)?,
            floor,
            no_errors,
            resume: layers.parse("resume", parsers::word)?,
            dry_run: layers.switch("dry-run")?,
        };
        if let (Some(first), Some(max), Some(given)) =
            (settings.first, settings.max, layers.value("max"))
            && first > max
        {
            return Err(given.failure(format!("{max} is below --start {first}")));
        }
        Ok(settings)
    }
}

/// A value on the axis.
fn value(layers: &Layers, name: &str, axis: SearchAxis) -> Result<Option<f64>, Failure> {
    match axis {
        SearchAxis::Rate => {
            let rate = layers.parse(name, parse_rate)?;
            Ok(rate.map(highwater_model::units::Rate::as_f64))
        }
        SearchAxis::Sessions => Ok(layers.parse(name, parsers::positive)?.map(f64::from)),
    }
}

/// The streams with their fixed paces, and which of them is searched; a stream without a name is
/// the workload's first.
fn streams(layers: &Layers, axis: SearchAxis) -> Result<(Vec<StreamSetting>, usize), Failure> {
    let given = layers.list("stream");
    let searched_pace = match axis {
        SearchAxis::Rate => PaceSetting::Open(highwater_model::units::Rate::per_second(1)),
        SearchAxis::Sessions => PaceSetting::Closed(Some(1)),
    };
    let mut streams: Vec<StreamSetting> = Vec::new();
    let mut searched = None;
    for stream in given {
        let parsed = match stream.text.strip_suffix(SEARCHED) {
            Some(name) => {
                if searched.replace(streams.len()).is_some() {
                    return Err(stream
                        .failure("a second stream is marked `@find`")
                        .with_hint("one pace is searched while the others stay fixed"));
                }
                StreamSetting {
                    name: name.to_owned(),
                    paces: vec![searched_pace],
                }
            }
            None => fixed(stream)?,
        };
        if parsed.name.is_empty() || streams.iter().any(|other| other.name == parsed.name) {
            let cause = format!("`{}` has no name of its own", stream.text);
            return Err(stream.failure(cause).with_hint("name each stream once"));
        }
        if streams.len() == load::MOST_STREAMS {
            return Err(stream.failure(format!("more than {} streams", load::MOST_STREAMS)));
        }
        streams.push(parsed);
    }
    match (searched, given.last()) {
        (Some(searched), _) => Ok((streams, searched)),
        (None, Some(last)) => Err(last
            .failure("no stream is marked `@find`")
            .with_hint("write `--stream NAME@find` for the one whose pace is searched")),
        (None, None) => Ok((
            vec![StreamSetting {
                name: String::new(),
                paces: vec![searched_pace],
            }],
            0,
        )),
    }
}

fn fixed(given: &SettingValue) -> Result<StreamSetting, Failure> {
    let stream = given.parse(load::stream)?;
    if stream.paces.len() > 1 {
        let error = QuantityError {
            message: format!("`{}` has several paces", given.text),
            hint: "a stream that is not searched has one pace",
        };
        return Err(given.failure(&error).with_hint(error.hint));
    }
    Ok(stream)
}
