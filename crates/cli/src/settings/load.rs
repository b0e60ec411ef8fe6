//! The load: streams and their paces.

use highwater_model::quantity::{QuantityError, parse_rate};

use super::{Load, PaceSetting, StreamSetting, Streams, parsers};
use crate::failure::Failure;
use crate::layers::Layers;

/// Most streams side by side.
pub(super) const MOST_STREAMS: usize = 64;
/// Most steps of a stream.
const MOST_STEPS: usize = 1_000;

const STREAM_HINT: &str = "a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, \
                           50/s), `8c` for 8 closed sessions, or `max`";

pub(super) fn load(layers: &Layers) -> Result<Load, Failure> {
    let by_streams = layers.strength("stream").is_some()
        && (layers.strength("rate").is_none() || layers.second_wins("rate", "stream")?);
    let streams = if by_streams {
        Streams::Named(streams(layers)?)
    } else {
        Streams::First {
            rate: layers.parse("rate", parse_rate)?,
        }
    };
    Ok(Load {
        sessions: layers.parse("sessions", parsers::positive)?,
        streams,
        arrivals: layers.parse("arrivals", parsers::arrivals)?,
        spawn_rate: layers.parse("spawn-rate", parse_rate)?,
    })
}

fn streams(layers: &Layers) -> Result<Vec<StreamSetting>, Failure> {
    let mut streams: Vec<StreamSetting> = Vec::new();
    for given in layers.list("stream") {
        let stream = given.parse(stream)?;
        if streams.iter().any(|other| other.name == stream.name) {
            return Err(given
                .failure(format!("`{}` is given twice", stream.name))
                .with_hint("several paces of one stream are steps: `NAME@PACE,PACE`"));
        }
        let steps = |stream: &StreamSetting| stream.paces.len();
        let other = streams
            .iter()
            .find(|other| steps(other) > 1 && steps(&stream) > 1 && steps(other) != steps(&stream));
        if let Some(other) = other {
            return Err(given
                .failure(format!(
                    "`{}` has {} steps, but `{}` has {}",
                    stream.name,
                    steps(&stream),
                    other.name,
                    steps(other),
                ))
                .with_hint("give all streams the same number of paces, or just one"));
        }
        if streams.len() == MOST_STREAMS {
            return Err(given.failure(format!("more than {MOST_STREAMS} streams")));
        }
        streams.push(stream);
    }
    Ok(streams)
}

pub(super) fn stream(text: &str) -> Result<StreamSetting, QuantityError> {
    let fail = |message: String| QuantityError {
        message,
        hint: STREAM_HINT,
    };
    let (name, paces) = text.split_once('@').unwrap_or((text, "max"));
    if name.is_empty() {
        return Err(fail(format!("`{text}` has no name")));
    }
    let paces: Vec<PaceSetting> = paces.split(',').map(pace).collect::<Result<_, _>>()?;
    if paces.len() > MOST_STEPS {
        return Err(fail(format!("`{name}` has more than {MOST_STEPS} steps")));
    }
    let open = |pace: &PaceSetting| matches!(pace, PaceSetting::Open(_));
    if paces.iter().any(open) && !paces.iter().all(open) {
        return Err(fail(format!(
            "`{text}` mixes open and closed paces, which cannot be compared"
        )));
    }
    Ok(StreamSetting {
        name: name.to_owned(),
        paces,
    })
}

fn pace(text: &str) -> Result<PaceSetting, QuantityError> {
    let with_hint = |error: QuantityError| QuantityError {
        message: format!("pace {}", error.message),
        hint: STREAM_HINT,
    };
    if text == "max" {
        return Ok(PaceSetting::Closed(None));
    }
    match text.strip_suffix('c') {
        Some(sessions) => parsers::positive(sessions)
            .map(|sessions| PaceSetting::Closed(Some(sessions)))
            .map_err(with_hint),
        None => parse_rate(text).map(PaceSetting::Open).map_err(with_hint),
    }
}
