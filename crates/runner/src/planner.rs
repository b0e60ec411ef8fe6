//! The planner turns the user's request, the workload, and the target's capabilities into a plan.
//!
//! Pure. Everything that can be decided before the run is decided here.

use highwater_analysis::judge::shares::ops_to_judge;
use highwater_model::display;
use highwater_model::numbers::{ceil_to_u64, round_to_u64, to_f64};
use highwater_model::plan::{
    Arrivals, AuditLevel, AuditPlan, Objective, PLAN_SCHEMA, Pace, PhaseKind, PhasePlan, Plan,
    RetryPlan, Share, SteadinessRule, StopRule, StreamPlan, Unit, WorkloadPlan,
};
use highwater_model::units::{Nanos, Rate};
use highwater_model::user_error::UserError;
use highwater_workload::{StreamSpec, Workload};

use crate::pacer::time_of;
use crate::request::rows_per_op;

/// A requested pace; without a number of sessions, the default applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PaceInput {
    /// At a rate, in the stream's unit.
    Open(Rate),
    /// This many sessions.
    Closed(Option<u32>),
}

/// A requested stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamInput {
    /// Its name; the workload's first stream if absent.
    pub name: Option<String>,
    /// One pace per step, or one for all; never empty.
    pub paces: Vec<PaceInput>,
    /// Pause of a closed session between a response and its next op.
    pub think: Option<Nanos>,
}

/// The user's request.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanInput {
    /// At least one.
    pub streams: Vec<StreamInput>,
    /// Queries carry their values in their text.
    pub literals: bool,
    /// `--sessions`, if given.
    pub sessions: Option<u32>,
    /// `--arrivals`, if given.
    pub arrivals: Option<Arrivals>,
    /// Closed sessions per second.
    pub spawn_rate: Option<Rate>,
    /// Excluded from results; the maximum if the warm-up ends on steady throughput.
    pub warm_up: Nanos,
    /// The warm-up ends as soon as throughput is steady.
    pub until_steady: bool,
    /// Length of each measured step.
    pub step: Nanos,
    /// Ends a measured phase early.
    pub stop: StopRule,
    /// The objectives.
    pub objectives: Vec<Objective>,
    /// When throughput counts as steady.
    pub steadiness: SteadinessRule,
    /// What to do with failed ops.
    pub retry: RetryPlan,
    /// When an op times out.
    pub timeout: Nanos,
    /// The check of the data.
    pub audit: AuditPlan,
    /// This process's share.
    pub share: Share,
}

/// Default sessions for open load: enough for a thousand ops a second that take a quarter of a second each.
const OPEN_SESSIONS_MIN: u32 = 64;

/// Name of the phase in which the target gets warm.
const WARM_UP: &str = "warm-up";

/// Makes the plan; `default_sessions` is the target's default.
pub fn plan(
    workload: &Workload,
    input: &PlanInput,
    default_sessions: u32,
) -> Result<Plan, UserError> {
    let sessions = input.sessions.unwrap_or(default_sessions);
    let streams: Vec<StreamPlan> = input
        .streams
        .iter()
        .map(|stream| stream_plan(workload, stream, input, sessions))
        .collect::<Result<_, _>>()?;
    check_writers(workload, &streams)?;
    check_spawn_rate(&streams, input)?;
    check_share(&streams, &input.share)?;
    check_sessions(&streams, &input.share)?;
    check_rates(&streams, &input.share)?;
    check_identity(workload, input)?;
    check_literals(workload, input)?;
    let steps = streams.iter().map(|stream| stream.paces.len()).max().unwrap_or(1);
    let rows_to_load = workload.rows_to_load();
    Ok(Plan {
        schema: PLAN_SCHEMA.to_owned(),
        workload: WorkloadPlan {
            name: workload.name().to_owned(),
            version: workload.version(),
            fingerprint: workload.fingerprint().to_owned(),
            parameters: workload.parameters().clone().into_iter().collect(),
            rows_to_load,
            load_batch: workload.load_op().map_or(0, |op| workload.rows_per_op(op)),
            distinct_rows: workload.distinct_rows(),
            literals: input.literals,
        },
        seed: workload.seed(),
        phases: phases(steps, ramp(&streams), input),
        streams,
        stop: input.stop.clone(),
        objectives: input.objectives.clone(),
        faults: Vec::new(),
        steadiness: input.steadiness,
        retry: input.retry,
        timeout: input.timeout,
        // Stopping earlier would count ops as timeouts before their timeout.
        drain_limit: input.timeout,
        audit: input.audit,
        share: input.share.clone(),
    })
}

/// A share without sessions would wait for the others' end and measure nothing.
fn check_share(streams: &[StreamPlan], share: &Share) -> Result<(), UserError> {
    let idle = streams.iter().find_map(|stream| {
        let all: Option<Vec<u32>> = stream.paces.iter().map(closed_sessions).collect();
        let most = all?.into_iter().max()?;
        (share.part_of(most) == 0).then_some((&stream.name, most))
    });
    idle.map_or(Ok(()), |(name, sessions)| {
        let Share { index, of, .. } = share;
        Err(impossible(
            format!(
                "--share: share {index} of {of} gets no session of stream `{name}`, which has {sessions}"
            ),
            format!("use at least as many sessions as shares: -c {of}"),
        ))
    })
}

/// Repeated rows have no unique keys: an audit by key would report them as lost.
fn check_identity(workload: &Workload, input: &PlanInput) -> Result<(), UserError> {
    let level = input.audit.level;
    let replaces = (0..workload.tables()).any(|table| workload.replacing_column(table).is_some());
    if replaces && input.share.start_at.is_some() && input.share.of > 1 && level != AuditLevel::Off
    {
        return Err(impossible(
            "--start-at: rows replace each other, and which is the last depends on times that load generators with \
             different clocks do not share",
            "leave out --start-at, so that the shares begin together by the target's clock; or run it with --audit off",
        ));
    }
    match workload.distinct_rows() {
        Some(rows) if level != AuditLevel::Off => Err(impossible(
            format!(
                "workload `{}` repeats {rows} rows, which nothing distinguishes: no audit is possible",
                workload.name()
            ),
            "run it with --audit off",
        )),
        _ => Ok(()),
    }
}

/// `--literals` without queries would misdescribe the results.
fn check_literals(workload: &Workload, input: &PlanInput) -> Result<(), UserError> {
    if !input.literals || workload.takes_literals() {
        return Ok(());
    }
    Err(impossible(
        format!(
            "--literals: workload `{}` has no queries, or transactions, whose values are always \
             parameters",
            workload.name()
        ),
        "leave it out; rows of inserts are parameters in any case",
    ))
}

fn stream_plan(
    workload: &Workload,
    stream: &StreamInput,
    input: &PlanInput,
    sessions: u32,
) -> Result<StreamPlan, UserError> {
    let spec = find_stream(workload, stream.name.as_deref())?;
    let paces: Vec<Pace> = stream
        .paces
        .iter()
        .map(|pace| match *pace {
            PaceInput::Open(rate) => Pace::Open { rate },
            PaceInput::Closed(own) => Pace::Closed { sessions: own.unwrap_or(sessions) },
        })
        .collect();
    let closed = paces.iter().all(|pace| closed_sessions(pace).is_some());
    if stream.think.is_some() && !closed {
        // In open load, no op waits for the pause of a session.
        let name = &spec.name;
        return Err(impossible(
            format!(
                "stream `{name}` has a rate, and a think time is the pause of a closed session"
            ),
            format!("leave the think time out, or give sessions, such as `{name}@50c,think=1s`"),
        ));
    }
    let open_sessions = input.sessions.unwrap_or(sessions.max(OPEN_SESSIONS_MIN));
    Ok(StreamPlan {
        units_per_op: units_per_op(workload, &spec)?,
        name: spec.name,
        unit: spec.unit,
        paces,
        sessions: open_sessions,
        arrivals: input.arrivals.unwrap_or(spec.arrivals),
        spawn_rate: input.spawn_rate.filter(|_| closed),
        think: stream.think,
    })
}

fn find_stream(workload: &Workload, name: Option<&str>) -> Result<StreamSpec, UserError> {
    let names: Vec<&str> = workload.streams().iter().map(|stream| stream.name.as_str()).collect();
    let found = match name {
        None => workload.streams().first().cloned(),
        Some(name) => workload.stream(name),
    };
    found.ok_or_else(|| {
        let file = workload.name();
        match name {
            Some(name) => impossible(
                format!("workload `{file}` has no stream or op `{name}`"),
                format!("its streams are {}", names.join(", ")),
            ),
            None => impossible(
                format!("workload `{file}` declares no stream, so none runs by default"),
                "name an op with --stream, or declare a stream in the file: `[streams.NAME]`",
            ),
        }
    })
}

/// Rows per op of a stream that counts rows. All its ops must have the same number; otherwise a rate of rows would not
/// be a rate of ops.
fn units_per_op(workload: &Workload, spec: &StreamSpec) -> Result<u64, UserError> {
    if spec.unit != Unit::Rows {
        return Ok(1);
    }
    let mut rows = spec.ops.iter().map(|(op, _)| workload.rows_per_op(*op));
    let first = rows.next().unwrap_or(0);
    if first == 0 || rows.any(|other| other != first) {
        let name = &spec.name;
        return Err(impossible(
            format!("stream `{name}` counts rows, but its ops write different numbers"),
            "give the stream `unit = \"queries\"`, or ops of one batch size",
        ));
    }
    Ok(first)
}

/// Two writing streams would give the same indexes to different rows.
fn check_writers(workload: &Workload, streams: &[StreamPlan]) -> Result<(), UserError> {
    let writers: Vec<&str> = streams
        .iter()
        .filter(|stream| rows_per_op(workload, &stream.name) > 0)
        .map(|stream| stream.name.as_str())
        .collect();
    if let [first, second, ..] = writers.as_slice() {
        return Err(impossible(
            format!("streams `{first}` and `{second}` both insert; one of a run may"),
            "give one stream the sum of their rates, or several paces for steps",
        ));
    }
    Ok(())
}

/// Rejects a spawn rate without sessions to start.
fn check_spawn_rate(streams: &[StreamPlan], input: &PlanInput) -> Result<(), UserError> {
    if input.spawn_rate.is_none() || streams.iter().any(|stream| stream.spawn_rate.is_some()) {
        return Ok(());
    }
    Err(impossible(
        "a spawn rate is for closed sessions, and every stream is open",
        "leave --spawn-rate out, or give a stream a closed pace, such as `NAME@8c`",
    ))
}

/// Time until the last closed session has started and had its own time to connect: sessions / rate, of the slowest
/// stream.
fn ramp(streams: &[StreamPlan]) -> Nanos {
    let ramps = streams.iter().filter_map(|stream| {
        let sessions = stream.paces.iter().filter_map(closed_sessions);
        Some(spawn_delay(stream.spawn_rate?, sessions.max()?))
    });
    ramps.max().unwrap_or(Nanos::ZERO)
}

/// Sessions that this share opens for a stream.
pub fn sessions_of(plan: &Plan, stream: usize) -> u32 {
    let planned = &plan.streams[stream];
    let share = &plan.share;
    planned
        .paces
        .iter()
        .map(|pace| match pace {
            Pace::Closed { sessions } => share.part_of(*sessions),
            Pace::Open { .. } => share.part_of(planned.sessions).max(1),
        })
        .max()
        .unwrap_or(0)
}

/// When session number `session` of all shares starts.
pub(crate) fn spawn_delay(rate: Rate, session: u32) -> Nanos {
    time_of(u128::from(session), rate)
}

/// The excluded phases come first: sessions start, then the warm-up.
fn phases(steps: usize, ramp: Nanos, input: &PlanInput) -> Vec<PhasePlan> {
    let mut phases: Vec<PhasePlan> = [("ramp", ramp), (WARM_UP, input.warm_up)]
        .into_iter()
        .filter(|(_, duration)| *duration > Nanos::ZERO)
        .map(|(name, duration)| PhasePlan {
            name: name.to_owned(),
            kind: PhaseKind::WarmUp,
            step: 0,
            duration,
            until_steady: input.until_steady && name == WARM_UP,
        })
        .collect();
    for step in 0..u32::try_from(steps).unwrap_or(u32::MAX) {
        let name = if steps == 1 { "measure".to_owned() } else { format!("step {}", step + 1) };
        phases.push(PhasePlan {
            name,
            kind: PhaseKind::Measure,
            step,
            duration: input.step,
            until_steady: false,
        });
    }
    phases
}

/// How long a measured phase must be so that a latency objective can be judged.
#[derive(Debug, Clone, PartialEq)]
pub struct LengthNeeded {
    /// The objective.
    pub objective: Objective,
    /// The op with the fewest samples for it.
    pub op: String,
    /// Number of samples needed.
    pub ops: f64,
    /// Number of samples planned.
    pub ops_per_s: f64,
    /// The phase length that yields enough samples, a multiple of five seconds.
    pub length: Nanos,
    units_per_op: u64,
}

impl LengthNeeded {
    /// The largest batch with enough ops in this time, to two digits; absent without batches.
    pub fn batch(&self, time: Nanos) -> Option<u64> {
        let most = to_f64(self.units_per_op) * self.ops_per_s * time.as_secs_f64() / self.ops;
        let digits = 10_f64.powf(most.log10().floor() - 1.0).max(1.0);
        let batch = round_to_u64((most / digits).floor() * digits);
        (self.units_per_op > 1 && batch >= 1).then_some(batch)
    }
}

/// The latency objective that takes the longest to judge at the planned rates. Closed load has no rate that is known
/// before it runs.
pub fn length_needed(workload: &Workload, plan: &Plan) -> Option<LengthNeeded> {
    let longest = |objective: &Objective| {
        let (quantile_ppm, wanted) = match objective {
            Objective::Latency { quantile_ppm, op, .. } => (*quantile_ppm, op.as_deref()),
            Objective::RowLatency { quantile_ppm, .. } => (*quantile_ppm, None),
            _ => return None,
        };
        let ops = ops_to_judge(1_000_000_u64.checked_sub(quantile_ppm.into())?.max(1));
        let rates = plan.streams.iter().flat_map(|stream| op_rates(workload, stream));
        let rates = rates.filter(|(stream, op, _)| {
            wanted.is_none_or(|wanted| wanted == stream.name || wanted == op)
        });
        let (stream, op, ops_per_s) = rates.min_by(|(.., a), (.., b)| a.total_cmp(b))?;
        let fives = ceil_to_u64(ops / ops_per_s / 5.0);
        Some(LengthNeeded {
            objective: objective.clone(),
            op,
            ops,
            ops_per_s,
            length: Nanos::from_secs(fives.saturating_mul(5)),
            units_per_op: stream.units_per_op,
        })
    };
    plan.objectives.iter().filter_map(longest).max_by_key(|needed| needed.length)
}

/// The ops of an open stream, and the number of each per second of its slowest step.
fn op_rates<'a>(
    workload: &'a Workload,
    stream: &'a StreamPlan,
) -> impl Iterator<Item = (&'a StreamPlan, String, f64)> {
    let open = stream.paces.iter().filter_map(|pace| match pace {
        Pace::Open { rate } => Some(rate.as_f64()),
        Pace::Closed { .. } => None,
    });
    let slowest = open.reduce(f64::min).unwrap_or(0.0) / to_f64(stream.units_per_op);
    let ops = workload.stream(&stream.name).map_or_else(Vec::new, |spec| spec.ops);
    let weights: f64 = ops.iter().map(|(_, weight)| f64::from(*weight)).sum();
    ops.into_iter()
        .map(move |(op, weight)| {
            let per_s = slowest * f64::from(weight) / weights;
            (stream, workload.op_name(op).to_owned(), per_s)
        })
        .filter(|(.., per_s)| *per_s > 0.0)
}

/// The plan of the load: one closed stream that fills the first table, without a time limit.
pub(crate) fn load_plan(plan: &Plan, op_name: &str, sessions: u32) -> Plan {
    let stream = StreamPlan {
        name: op_name.to_owned(),
        unit: Unit::Rows,
        units_per_op: plan.workload.load_batch,
        paces: vec![Pace::Closed { sessions }],
        sessions,
        arrivals: Arrivals::Constant,
        spawn_rate: None,
        think: None,
    };
    let phase = PhasePlan {
        name: "load".to_owned(),
        kind: PhaseKind::Load,
        step: 0,
        duration: Nanos(u64::MAX / 2),
        until_steady: false,
    };
    Plan {
        streams: vec![stream],
        phases: vec![phase],
        stop: StopRule::default(),
        objectives: Vec::new(),
        ..plan.clone()
    }
}

/// Maximum ops per second that one load generator can hand out to a stream's sessions: each op takes a shared lock, and
/// a lock and unlock take at least 100 ns.
const OPS_PER_SECOND_MAX: u64 = 10_000_000;
/// Maximum units per second of one load generator: times are whole nanoseconds.
const UNITS_PER_SECOND_MAX: u64 = 1_000_000_000;

/// Maximum sessions of one load generator: each has a connection and its own buffers.
pub const SESSIONS_MAX: u32 = 65_536;

/// The highest rate, in units, that this many load generators can pace together.
pub(crate) fn rate_max(units_per_op: u64, shares: u32) -> Rate {
    let of_each = OPS_PER_SECOND_MAX.saturating_mul(units_per_op);
    let of_each = of_each.min(UNITS_PER_SECOND_MAX);
    Rate::per_second(of_each.saturating_mul(u64::from(shares)))
}

/// Rejects rates that no load generator can offer, whatever free space the target's disk has.
pub(crate) fn check_rates(streams: &[StreamPlan], share: &Share) -> Result<(), UserError> {
    for stream in streams {
        let most = rate_max(stream.units_per_op, share.of);
        let rates = stream.paces.iter().filter_map(|pace| match pace {
            Pace::Open { rate } => Some(*rate),
            Pace::Closed { .. } => None,
        });
        let unit = stream.unit.name();
        if let Some(rate) = rates.max().filter(|rate| *rate > most) {
            return Err(impossible(
                format!(
                    "stream `{}` is planned at {} {unit}/s, and {} load generator{} can pace \
                     {} {unit}/s at most",
                    stream.name,
                    display::rate(rate.as_f64()),
                    share.of,
                    if share.of == 1 { "" } else { "s" },
                    display::rate(most.as_f64()),
                ),
                "lower --rate, or leave it out: then sessions send as fast as they are answered",
            ));
        }
    }
    Ok(())
}

/// Rejects more sessions than a load generator supports.
pub(crate) fn check_sessions(streams: &[StreamPlan], share: &Share) -> Result<(), UserError> {
    let sessions = streams.iter().map(|stream| {
        let each = stream.paces.iter().map(|pace| closed_sessions(pace).unwrap_or(stream.sessions));
        u64::from(share.part_of(each.max().unwrap_or(0)))
    });
    let all = sessions.sum();
    if all <= u64::from(SESSIONS_MAX) {
        return Ok(());
    }
    let (all, most) = (display::count(all), display::count(SESSIONS_MAX.into()));
    Err(impossible(
        format!("{all} sessions are planned, and a load generator has {most} at most"),
        "lower -c, or the sessions of --stream, or use more load generators (--share)",
    ))
}

/// The sessions of a closed pace.
pub(crate) fn closed_sessions(pace: &Pace) -> Option<u32> {
    match pace {
        Pace::Closed { sessions } => Some(*sessions),
        Pace::Open { .. } => None,
    }
}

/// The error for a plan that cannot be made.
pub(crate) fn impossible(message: impl Into<String>, hint: impl Into<String>) -> UserError {
    UserError::usage(message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_model::plan::{Arrivals, Unit};

    fn stream(paces: Vec<Pace>, sessions: u32) -> StreamPlan {
        StreamPlan {
            name: "insert".to_owned(),
            unit: Unit::Rows,
            units_per_op: 1,
            paces,
            sessions,
            arrivals: Arrivals::Constant,
            spawn_rate: None,
            think: None,
        }
    }

    /// Checks whether one of `shares` load generators can pace this rate.
    #[track_caller]
    fn check(rate: Rate, units_per_op: u64, shares: u32, expected: bool) {
        let paces = vec![Pace::Closed { sessions: 1 }, Pace::Open { rate }];
        let stream = StreamPlan { units_per_op, ..stream(paces, 1) };
        let share = Share { of: shares, ..Share::WHOLE };
        let found = check_rates(&[stream], &share);
        assert_eq!(found.is_ok(), expected, "{rate:?} {found:?}");
    }

    #[test]
    fn a_rate_is_bounded_by_its_ops_and_by_its_rows() {
        let more = |units: u64| Rate { micro_per_s: Rate::per_second(units).micro_per_s + 1 };
        check(Rate::per_second(OPS_PER_SECOND_MAX), 1, 1, true);
        check(more(OPS_PER_SECOND_MAX), 1, 1, false);
        check(more(OPS_PER_SECOND_MAX), 1, 2, true);
        check(Rate::per_second(UNITS_PER_SECOND_MAX), 1_000, 1, true);
        check(more(UNITS_PER_SECOND_MAX), 1_000, 1, false);
        check(more(UNITS_PER_SECOND_MAX), u64::MAX, 1, false);
    }
    #[test]
    fn sessions_are_bounded_over_all_streams_of_one_load_generator() {
        let open = Pace::Open { rate: Rate::per_second(1) };
        let closed = |sessions| Pace::Closed { sessions };
        let fits = |streams: &[StreamPlan], of: u32| {
            let share = Share { of, ..Share::WHOLE };
            check_sessions(streams, &share).is_ok()
        };
        let most = SESSIONS_MAX;
        assert!(fits(&[stream(vec![closed(most)], 1)], 1));
        assert!(!fits(&[stream(vec![closed(most + 1)], 1)], 1));
        assert!(fits(&[stream(vec![closed(most + 1)], 1)], 2));
        assert!(!fits(&[stream(vec![open], most + 1)], 1), "ops in flight");
        let half = || stream(vec![closed(1), closed(most / 2 + 1)], 1);
        assert!(fits(&[half()], 1));
        assert!(!fits(&[half(), half()], 1), "both of them together");
    }
}
