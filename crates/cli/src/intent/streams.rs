//! Streams and their paces.

use highwater_model::quantity::{QuantityError, parse_rate};
use highwater_runner::planner::{PaceInput, StreamInput};

use super::parsers;
use crate::failure::Failure;
use crate::layers::Layers;

/// Most streams side by side.
pub(crate) const MOST_STREAMS: usize = 64;
/// Most steps of a stream.
const MOST_STEPS: usize = 1_000;

const STREAM_HINT: &str = "a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, \
                           50/s), `8c` for 8 closed sessions, or `max`";

/// The streams of a run, side by side: named ones, or the workload's first at a rate in its own
/// unit or closed. All that have several paces have the same number of them; those of one stream
/// are all open or all closed.
pub(crate) fn streams(layers: &Layers) -> Result<Vec<StreamInput>, Failure> {
    let by_name = layers.strength("stream").is_some()
        && (layers.strength("rate").is_none() || layers.second_wins("rate", "stream")?);
    if by_name {
        return named(layers);
    }
    first(layers)
}

/// The workload's first stream.
pub(crate) fn first(layers: &Layers) -> Result<Vec<StreamInput>, Failure> {
    let rate = layers.parse("rate", parse_rate)?;
    Ok(vec![StreamInput {
        name: None,
        paces: vec![rate.map_or(PaceInput::Closed(None), PaceInput::Open)],
    }])
}

/// Whether every pace is a rate.
pub(crate) fn are_open(streams: &[StreamInput]) -> bool {
    let mut paces = streams.iter().flat_map(|stream| &stream.paces);
    paces.all(is_open)
}

fn is_open(pace: &PaceInput) -> bool {
    matches!(pace, PaceInput::Open(_))
}

fn named(layers: &Layers) -> Result<Vec<StreamInput>, Failure> {
    let mut streams: Vec<StreamInput> = Vec::new();
    for given in layers.list("stream") {
        let stream = given.parse(stream)?;
        let name = |stream: &StreamInput| stream.name.clone().unwrap_or_default();
        if streams.iter().any(|other| other.name == stream.name) {
            return Err(given
                .failure(format!("`{}` is given twice", name(&stream)))
                .with_hint("several paces of one stream are steps: `NAME@PACE,PACE`"));
        }
        let steps = |stream: &StreamInput| stream.paces.len();
        let other = streams
            .iter()
            .find(|other| steps(other) > 1 && steps(&stream) > 1 && steps(other) != steps(&stream));
        if let Some(other) = other {
            return Err(given
                .failure(format!(
                    "`{}` has {} steps, but `{}` has {}",
                    name(&stream),
                    steps(&stream),
                    name(other),
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

pub(crate) fn stream(text: &str) -> Result<StreamInput, QuantityError> {
    let fail = |message: String| QuantityError {
        message,
        hint: STREAM_HINT,
    };
    let (name, paces) = text.split_once('@').unwrap_or((text, "max"));
    if name.is_empty() {
        return Err(fail(format!("`{text}` has no name")));
    }
    let paces: Vec<PaceInput> = paces.split(',').map(pace).collect::<Result<_, _>>()?;
    if paces.len() > MOST_STEPS {
        return Err(fail(format!("`{name}` has more than {MOST_STEPS} steps")));
    }
    if paces.iter().any(is_open) && !paces.iter().all(is_open) {
        return Err(fail(format!(
            "`{text}` mixes open and closed paces, which cannot be compared"
        )));
    }
    Ok(StreamInput {
        name: Some(name.to_owned()),
        paces,
    })
}

fn pace(text: &str) -> Result<PaceInput, QuantityError> {
    let with_hint = |error: QuantityError| QuantityError {
        message: format!("pace {}", error.message),
        hint: STREAM_HINT,
    };
    if text == "max" {
        return Ok(PaceInput::Closed(None));
    }
    match text.strip_suffix('c') {
        Some(sessions) => parsers::positive(sessions)
            .map(|sessions| PaceInput::Closed(Some(sessions)))
            .map_err(with_hint),
        None => parse_rate(text).map(PaceInput::Open).map_err(with_hint),
    }
}
