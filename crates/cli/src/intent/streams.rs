//! Streams and their paces, and the objectives of a run: a bound for each op, or for one of them. Must not judge.

use highwater_model::display::{percent_asked, quantile};
use highwater_model::plan::Objective;
use highwater_model::quantity::{parse_count, parse_duration, parse_percent, parse_rate};
use highwater_model::units::{Nanos, Rate};
use highwater_model::user_error::UserError;
use highwater_runner::planner::{PaceInput, StreamInput};

use super::parsers;
use crate::layers::{Layers, Origin, SettingValue};

/// Maximum number of parallel streams.
pub(crate) const MOST_STREAMS: usize = 64;
/// Maximum steps of a stream.
const MOST_STEPS: usize = 1_000;

/// Steps of a ramp, unless it changes by fewer sessions or takes less time.
const RAMP_STEPS: u64 = 10;
/// Minimum length of a step with meaningful figures.
const SHORTEST_STEP: Nanos = Nanos::from_secs(3);

const STREAM_HINT: &str = "a stream is written `NAME` or `NAME@PACE,PACE…`; a pace is a rate (1k, \
                           50/s), `8c` for 8 closed sessions, or `max`; `,think=1s` behind it pauses \
                           between ops";
const RAMP_HINT: &str = "a ramp is written `NAME@FROM..TO:DURATION`, such as `dashboards@50c..200c:10m` for sessions or \
     `insert@1k..50k:10m` for a rate";

/// A stream as given by the user.
#[derive(Debug)]
pub(crate) struct GivenStream {
    pub(crate) input: StreamInput,
    /// Length of each step of a ramp, which changes from one pace to another in even steps.
    pub(crate) ramp: Option<Nanos>,
}

/// The streams of a run.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) inputs: Vec<StreamInput>,
    /// Length of the steps of ramps.
    pub(crate) ramp: Option<Nanos>,
}

/// The parallel streams of a run: named ones, or the workload's first, at a rate in its unit or closed. All streams
/// with several paces must have the same number of them, and the paces of a stream must be all open or all closed.
pub(crate) fn streams(layers: &Layers) -> Result<Streams, UserError> {
    let by_name = layers.strength("stream").is_some()
        && (layers.strength("rate").is_none() || layers.second_wins("rate", "stream")?);
    if by_name {
        return named(layers);
    }
    Ok(Streams { inputs: first(layers)?, ramp: None })
}

/// The streams of a command whose runs have their own length.
pub(crate) fn without_ramp(layers: &Layers) -> Result<Vec<StreamInput>, UserError> {
    let Streams { inputs, ramp } = streams(layers)?;
    match (ramp, layers.value("stream")) {
        (Some(_), Some(given)) => Err(given
            .failure("a ramp is for one run")
            .with_hint("use it with `highwater run`, or give the stream one pace")),
        _ => Ok(inputs),
    }
}

/// The length of a ramp's steps, unless a setting with higher precedence sets another one.
pub(crate) fn ramp_step(layers: &Layers, ramp: Option<Nanos>) -> Result<Option<Nanos>, UserError> {
    let Some(step) = ramp else {
        return Ok(None);
    };
    let counts =
        layers.second_wins("step", "stream")? && layers.second_wins("duration", "stream")?;
    Ok(counts.then_some(step))
}

/// The streams, with the given think time for all closed ones.
pub(crate) fn with_think(
    layers: &Layers,
    mut streams: Vec<StreamInput>,
) -> Result<Vec<StreamInput>, UserError> {
    let think = layers.parse("think", parse_think)?;
    let (Some(think), Some(given)) = (think, layers.value("think")) else {
        return Ok(streams);
    };
    if are_open(&streams) {
        return Err(given
            .failure("is the pause of a closed session, and every stream has a rate")
            .with_hint("leave it out, or give sessions in place of the rate, such as -c 50"));
    }
    let closed = streams.iter_mut();
    for stream in closed.filter(|stream| !stream.paces.iter().any(is_open)) {
        stream.think.get_or_insert(think);
    }
    Ok(streams)
}

/// The workload's first stream.
pub(crate) fn first(layers: &Layers) -> Result<Vec<StreamInput>, UserError> {
    let rate = layers.parse("rate", parse_rate)?;
    let pace = rate.map_or(PaceInput::Closed(None), PaceInput::Open);
    Ok(vec![at_one_pace(None, pace)])
}

/// A stream with this name (the workload's first without a name), without a think time.
pub(crate) fn at_one_pace(name: Option<String>, pace: PaceInput) -> StreamInput {
    StreamInput { name, paces: vec![pace], think: None }
}

/// Whether every pace is a rate.
pub(crate) fn are_open(streams: &[StreamInput]) -> bool {
    let mut paces = streams.iter().flat_map(|stream| &stream.paces);
    paces.all(is_open)
}

fn is_open(pace: &PaceInput) -> bool {
    matches!(pace, PaceInput::Open(_))
}

fn named(layers: &Layers) -> Result<Streams, UserError> {
    let mut streams: Vec<StreamInput> = Vec::new();
    let mut ramp = None;
    for given in layers.list("stream") {
        let GivenStream { input, ramp: own } = given.parse(stream)?;
        if own.is_some() && ramp.is_some() && own != ramp {
            return Err(given
                .failure("ramps of one run take the same time")
                .with_hint("give both the same DURATION and as many steps"));
        }
        ramp = ramp.or(own);
        let name = |stream: &StreamInput| stream.name.clone().unwrap_or_default();
        if streams.iter().any(|other| other.name == input.name) {
            return Err(given
                .failure(format!("`{}` is given twice", name(&input)))
                .with_hint("several paces of one stream are steps: `NAME@PACE,PACE`"));
        }
        let steps = |stream: &StreamInput| stream.paces.len();
        let other = streams
            .iter()
            .find(|other| steps(other) > 1 && steps(&input) > 1 && steps(other) != steps(&input));
        if let Some(other) = other {
            return Err(given
                .failure(format!(
                    "`{}` has {} steps, but `{}` has {}",
                    name(&input),
                    steps(&input),
                    name(other),
                    steps(other),
                ))
                .with_hint("give all streams the same number of paces, or just one"));
        }
        if streams.len() == MOST_STREAMS {
            return Err(given.failure(format!("more than {MOST_STREAMS} streams")));
        }
        streams.push(input);
    }
    Ok(Streams { inputs: streams, ramp })
}

pub(crate) fn stream(text: &str) -> Result<GivenStream, UserError> {
    let fail = |message: String| UserError::usage(message).with_hint(STREAM_HINT);
    let (text, think) = match text.split_once(",think=") {
        Some((text, think)) => (text, Some(parse_think(think)?)),
        None => (text, None),
    };
    let (name, paces) = text.split_once('@').unwrap_or((text, "max"));
    if name.is_empty() {
        return Err(fail(format!("`{text}` has no name")));
    }
    let (paces, ramp) = if paces.contains("..") {
        let (paces, ramp) = parse_ramp(paces)?;
        (paces, Some(ramp))
    } else {
        let paces: Result<_, _> = paces.split(',').map(pace).collect();
        (paces?, None)
    };
    if paces.len() > MOST_STEPS {
        return Err(fail(format!("`{name}` has more than {MOST_STEPS} steps")));
    }
    if paces.iter().any(is_open) && !paces.iter().all(is_open) {
        return Err(fail(format!(
            "`{text}` mixes open and closed paces, which cannot be compared"
        )));
    }
    let input = StreamInput { name: Some(name.to_owned()), paces, think };
    Ok(GivenStream { input, ramp })
}

fn parse_think(text: &str) -> Result<Nanos, UserError> {
    let hint = "a think time is above zero, such as `1s`";
    match parse_duration(text)? {
        Nanos::ZERO => Err(parsers::wrong(text, "is no pause", hint)),
        think => Ok(think),
    }
}

/// `50c..200c:10m`, or with rates: the paces of even steps, and the length of each.
fn parse_ramp(text: &str) -> Result<(Vec<PaceInput>, Nanos), UserError> {
    let fail = |cause: &str| parsers::wrong(text, cause, RAMP_HINT);
    let with_hint = |error: UserError| error.with_hint(RAMP_HINT);
    let (range, length) =
        text.rsplit_once(':').ok_or_else(|| fail("is a ramp without a length"))?;
    let length = parse_duration(length).map_err(with_hint)?;
    let (from, to) = range.split_once("..").ok_or_else(|| fail("is not a ramp"))?;
    let closed = to.strip_suffix('c');
    let (from, to) = if let Some(to) = closed {
        let from = from.strip_suffix('c').unwrap_or(from);
        let sessions = |text| parsers::positive(text).map(u64::from).map_err(with_hint);
        (sessions(from)?, sessions(to)?)
    } else {
        let rate = |text| parse_rate(text).map(|rate| rate.micro_per_s);
        (rate(from).map_err(with_hint)?, rate(to).map_err(with_hint)?)
    };
    let different = from.abs_diff(to).saturating_add(1);
    let steps = RAMP_STEPS.min(different).min(length.0 / SHORTEST_STEP.0);
    if different == 1 {
        return Err(fail("begins and ends at the same pace"));
    }
    if steps < 2 {
        return Err(fail("is too short: two steps of 3 s are the least"));
    }
    let paces = (0..steps).map(|step| {
        let value = between(from, to, step, steps - 1);
        if closed.is_some() {
            PaceInput::Closed(Some(u32::try_from(value).unwrap_or(u32::MAX)))
        } else {
            PaceInput::Open(Rate { micro_per_s: value })
        }
    });
    Ok((paces.collect(), Nanos(length.0 / steps)))
}

/// The value after `step` of `last` even steps, rounded.
fn between(from: u64, to: u64, step: u64, last: u64) -> u64 {
    let weighted = |value: u64, weight: u64| u128::from(value) * u128::from(weight);
    let sum = weighted(from, last - step) + weighted(to, step);
    let value = (sum + u128::from(last) / 2) / u128::from(last);
    u64::try_from(value).unwrap_or(u64::MAX)
}

fn pace(text: &str) -> Result<PaceInput, UserError> {
    let with_hint = |error: UserError| {
        UserError::usage(format!("pace {}", error.message)).with_hint(STREAM_HINT)
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

/// The bounds of a percentile: `50ms` for each op, `insert<50ms` for one of them.
fn latencies(layers: &Layers, name: &str, quantile_ppm: u32) -> Result<Vec<Objective>, UserError> {
    let mut bounds: Vec<Objective> = Vec::new();
    for given in layers.list(name) {
        let (op, max) = given.parse(parsers::latency_bound)?;
        check(given, max)?;
        let is_same = |bound: &Objective| match bound {
            Objective::Latency { op: other, .. } => *other == op,
            _ => false,
        };
        if bounds.iter().any(is_same) {
            let what = op.as_deref().unwrap_or("every op");
            return Err(given
                .failure(format!("{what} has two bounds"))
                .with_hint("give one for each op, such as 'insert<50ms'"));
        }
        bounds.push(Objective::Latency { quantile_ppm, max, op });
    }
    Ok(bounds)
}

/// A latency of 0 cannot be met.
fn check(given: &SettingValue, max: Nanos) -> Result<(), UserError> {
    if max == Nanos::ZERO {
        return Err(given.failure("must be above zero"));
    }
    Ok(())
}

/// All objectives of the flags, the latencies first.
pub(super) fn objectives(layers: &Layers) -> Result<Vec<Objective>, UserError> {
    const P99: u32 = 990_000;
    const QUANTILES: [(&str, u32); 5] =
        [("p50", 500_000), ("p90", 900_000), ("p95", 950_000), ("p99", P99), ("p999", 999_000)];
    let mut all = Vec::new();
    for (name, quantile_ppm) in QUANTILES {
        all.extend(latencies(layers, name, quantile_ppm)?);
    }
    let row_p99 = layers.parse("row-p99", parse_duration)?;
    if let (Some(max), Some(given)) = (row_p99, layers.value("row-p99")) {
        check(given, max)?;
    }
    let row_p99 = row_p99.map(|max| Objective::RowLatency { quantile_ppm: P99, max });
    let errors = layers.parse("errors", parse_percent)?;
    let rejected = layers.parse("rejected", parsers::percent_or_zero)?;
    let min_rate = layers.parse("min-rate", parse_rate)?;
    let max_cpu = layers.parse("max-cpu", parse_percent)?;
    let others = [
        row_p99,
        errors.map(|ppm| Objective::Errors { max_ppm: ppm.0 }),
        rejected.map(|ppm| Objective::Rejected { max_ppm: ppm.0 }),
        min_rate.map(|min| Objective::Throughput { min }),
        max_cpu.map(|ppm| Objective::Cpu { max_ppm: ppm.0 }),
    ];
    all.extend(others.into_iter().flatten());
    all.extend(of_faults(layers)?);
    check_tails(layers, &all)?;
    Ok(all)
}

/// The objectives for actions on the cluster, which need such actions.
fn of_faults(layers: &Layers) -> Result<Vec<Objective>, UserError> {
    let names = ["recover-within", "during", "lost"];
    let mut given = names.iter().filter_map(|name| layers.value(name));
    if let Some(given) = given.find(|given| !matches!(given.origin, Origin::Default))
        && layers.list("fault").is_empty()
        // The command that brings its own.
        && layers.value("node").is_none()
    {
        return Err(given
            .failure("judges what actions on the cluster do, and there are none")
            .with_hint("add such an action, for example --fault 'kill node 2 at 30s'"));
    }
    let within = layers.parse("recover-within", parse_duration)?;
    if let (Some(max), Some(given)) = (within, layers.value("recover-within")) {
        check(given, max)?;
    }
    let during = layers.parse("during", parsers::rate_during)?;
    let lost = layers.parse("lost", parse_count)?.filter(|max| *max > 0);
    let all = [
        within.map(|max| Objective::Recovery { max }),
        during.map(|ppm| Objective::During { min_ppm: ppm.0 }),
        lost.map(|max| Objective::Lost { max }),
    ];
    Ok(all.into_iter().flatten().collect())
}

/// A failed op ranks as +∞, so a percentile cannot be met if the allowed fraction of errors is as large as its tail.
fn check_tails(layers: &Layers, objectives: &[Objective]) -> Result<(), UserError> {
    let mut quantiles = objectives.iter().filter_map(Objective::quantile_ppm);
    let Some(finest) = quantiles.by_ref().max() else {
        return Ok(());
    };
    let tail = 1_000_000_u32.saturating_sub(finest);
    for objective in objectives {
        let (flag, max_ppm) = match *objective {
            Objective::Errors { max_ppm } => ("errors", max_ppm),
            Objective::Rejected { max_ppm } => ("rejected", max_ppm),
            _ => continue,
        };
        if let Some(given) = layers.value(flag)
            && tail <= max_ppm
        {
            let (name, tail) = (quantile(finest), percent_asked(tail));
            let what = format!("{name} cannot be met where {} may fail", percent_asked(max_ppm));
            return Err(given
                .failure(format!("{what}: a failed op is slower than any limit"))
                .with_hint(format!("allow less than {tail}, or leave out the limit of {name}")));
        }
    }
    Ok(())
}
