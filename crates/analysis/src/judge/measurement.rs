//! Whether the figures describe the target, and are sufficient.
//!
//! These rules judge the load generator and how the run went. Must not call a measurement invalid
//! because the target is slow or loses data.
//!
//! Contribution of the load generator's delays to percentiles: each op's latency is known with and without its delay.
//!
//! Effect of a throughput drift over a measured phase on the validity of the figures.
//!
//! A drift is primarily an observation about the target: it slows down as rows are added, or its host's speed changed.
//! The mean over such a phase is correct, but describes neither its start nor its end, so the measurement is
//! inconclusive, not invalid. A drift that is not known precisely enough is a note.

use highwater_model::control::{Change, CommandSender};
use highwater_model::display::{
    count, duration, foreign, percent, percent_asked, percent_whole, rate, span,
};
use highwater_model::judgment::{Judgment, Measurement, Reason, ReasonCode};
use highwater_model::numbers::{ceil_to_u64, to_f64};
use highwater_model::plan::{Arrivals, Objective, PhaseKind, SteadinessRule};
use highwater_model::record::{
    IncidentKind, ResultRecord, RunRecord, STALL_NS, SchedulingClass, StallKind, StallRecord,
    Steadiness,
};
use highwater_model::target_telemetry::names;

use super::measured::{
    MeasuredStream, SHORTEST_PHASE_NS, littles_law_sessions, littles_law_tolerance,
};
use super::shares::{PERCENTILES, Shown, latency_objectives, latency_verdicts};
use super::{incident, judgment, objective, reason};
use crate::telemetry::{self, OverTime};

/// Busy fraction of a load generator's cores above which ops wait for its CPU: near saturation a
/// run queue grows without bound, and one core may be saturated long before the others.
pub const CLIENT_CPU_LIMIT: f64 = 0.85;
/// A load generator must be able to offer this many times what it measures; otherwise it influences
/// the result.
pub const CEILING_HEADROOM: f64 = 1.5;
/// Allowed shortfall of the offered load, as a fraction of the planned load: rates are quoted with
/// at most three digits.
pub const OFFERED_SHORTFALL: f64 = 0.01;
/// Poisson arrivals vary; a shortfall within this number of standard deviations is not significant.
pub const POISSON_DEVIATIONS: f64 = 3.0;
/// Other programs are noted if they use at least this fraction of the CPU time of the target's host. On a dedicated
/// host, the target could use that much more.
pub const OTHERS_NOTED: f64 = 0.25;
/// Maximum number of characters of the reason why a session could not connect.
const WHY: usize = 160;
/// The hint if too little was measured.
const LONGER: &str = "measure longer (-d)";
/// Minimum number of ops per session for checking Little's law: with fewer, the ops split by the
/// boundaries of a phase allow a deviation of a fifth or more.
pub const LITTLES_LAW_OPS_PER_SESSION: u64 = 5;

pub(super) fn judge(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Judgment<Measurement> {
    let ended = [
        IncidentKind::Interrupted,
        IncidentKind::Killed,
        IncidentKind::TargetLost,
        IncidentKind::DiskFull,
        IncidentKind::RecordIncomplete,
        IncidentKind::SharesApart,
    ];
    let steadiness = drifts(record.plan.definition.steadiness, measured);
    let invalid = ended.map(|kind| ended_by(record, kind)).into_iter().chain([
        client_saturated(record, measured),
        client_lag(record, measured),
        client_stalled(record),
        sessions_missing(record, measured),
        rate_not_offered(measured),
        contradiction(record, measured),
    ]);
    // Phases cut short by a changed pace are not judged.
    let (short, short_note) = match phase_too_short(record) {
        short if measured.is_empty() || !measured.iter().all(MeasuredStream::is_long) => {
            (short, None)
        }
        cut_short => (None, cut_short),
    };
    let unknown = [
        nothing_acknowledged(record, measured),
        latency_unknown(measured),
        outcome_unknown(measured),
        too_few_samples(record, measured),
        short,
        backlog_grew(record, measured),
        steadiness.reason,
    ];
    // If a run was stopped because the disk was filling up, no other reason is given for its
    // shortness.
    let stopped = incident(record, IncidentKind::DiskFull).is_some();
    let counts = |reason: &Reason| !stopped || reason.code != ReasonCode::TooShort;
    let mut reasons: Vec<Reason> = invalid.flatten().collect();
    let is_invalid = !reasons.is_empty();
    // A run that fills a table is not a measurement, so too few results are not a problem.
    if !record.plan.definition.stop.fills {
        reasons.extend(unknown.into_iter().flatten().filter(counts));
    }
    let value = match (is_invalid, reasons.is_empty()) {
        (true, _) => Measurement::Invalid,
        (false, false) => Measurement::Inconclusive,
        (false, true) => Measurement::Valid,
    };
    let notes = [short_note, shared_host(record), steadiness.note];
    reasons.extend(notes.into_iter().flatten().filter(counts));
    judgment(value, reasons)
}

fn ended_by(record: &RunRecord, kind: IncidentKind) -> Option<Reason> {
    let (message, hint) = match kind {
        IncidentKind::Interrupted => ("you stopped the run before its plan was complete", ""),
        IncidentKind::Killed => (
            "the program ended without writing its record",
            "look in the system's log for what ended it",
        ),
        IncidentKind::TargetLost => {
            ("lost the connection to the target", "check the target's log, then run again")
        }
        IncidentKind::DiskFull => (
            "stopped to keep the target's disk from filling up",
            "free space where the target keeps its data, or write fewer rows",
        ),
        IncidentKind::SharesApart => (
            "the shares did not begin together",
            "give all of them one --start-at, when the slowest is ready too",
        ),
        _ => (
            "part of the record could not be written",
            "free space in the record's directory, then run again",
        ),
    };
    let mut place = incident(record, kind)?;
    // A stop that was requested by other means is not a signal.
    let mut stops = record.interventions.iter().filter(|done| matches!(done.change, Change::Stop));
    if let (IncidentKind::Interrupted, Some(by)) =
        (kind, stops.next_back().and_then(|stop| stop.by))
    {
        place = match by {
            CommandSender::Page => "from its page",
            CommandSender::Control => "by --control",
        };
    }
    reason(kind.reason()?, message, &[place.to_owned()], hint)
}

fn client_saturated(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    // Against a sink, saturation of the load generator is the purpose of the run.
    if record.target.sink {
        return None;
    }
    let mut places: Vec<String> = record
        .clients
        .iter()
        // A simulated target computes in this process, and its seconds are not those of the CPU.
        .filter(|client| !record.target.simulated && client.cpu_fraction > CLIENT_CPU_LIMIT)
        .map(|client| {
            let (share, cores) = (&client.share, client.cores);
            let [used, limit] = [client.cpu_fraction, CLIENT_CPU_LIMIT].map(percent);
            format!(
                "load generator {share} may have limited the result: it used {used} of its {cores} \
                 cores; the limit is {limit}"
            )
        })
        .collect();
    if let (Some(ceiling), Some((reached, unit))) = (ceiling(record), greatest(measured))
        && reached * CEILING_HEADROOM > ceiling
    {
        let generators = generators_needed(record, measured, reached, ceiling);
        let [reached, ceiling] = [reached, ceiling].map(rate);
        places.push(format!(
            "the load generator may have limited the result: {reached} {unit}/s acknowledged, and its ceiling is {ceiling} {unit}/s; \
             this rate needs {generators} load generators"
        ));
    }
    let message = "the load generator may have limited the result";
    let hint = "use a larger load generator, or several with --share";
    reason(ReasonCode::ClientSaturated, message, &places, hint)
}

/// How many load generators like those of this run have the headroom for the rate that it planned, or else reached.
fn generators_needed(
    record: &RunRecord,
    measured: &[MeasuredStream<'_>],
    reached: f64,
    ceiling: f64,
) -> u64 {
    let of_phase = |phase: &str| -> f64 {
        let of_phase = measured.iter().filter(|of| of.phase.name == phase);
        of_phase.filter_map(|of| of.stream.planned_rate).sum()
    };
    let planned = measured.iter().map(|of| of_phase(&of.phase.name)).fold(0.0, f64::max);
    let each = ceiling / to_f64(record.clients.len() as u64).max(1.0);
    ceil_to_u64(planned.max(reached) * CEILING_HEADROOM / each)
}

/// Units per second that all load generators together reached against a sink, if all were measured.
pub fn ceiling(record: &RunRecord) -> Option<f64> {
    let sum: Option<f64> = record.clients.iter().map(|client| client.calibrated_ceiling).sum();
    sum.filter(|sum| *sum > 0.0)
}

/// The greatest throughput of a measured phase, in the unit of its first stream.
pub fn greatest(measured: &[MeasuredStream<'_>]) -> Option<(f64, &'static str)> {
    let unit = measured.first()?.stream.unit;
    let of_phase = |phase: &str| -> f64 {
        measured
            .iter()
            .filter(|m| m.phase.name == phase && m.stream.unit == unit)
            .map(MeasuredStream::units_per_s)
            .sum()
    };
    let phases = measured.iter().map(|m| of_phase(&m.phase.name));
    Some((phases.fold(0.0, f64::max), unit.name()))
}

/// Only where the target's own processes are known, so that they do not count as others.
fn shared_host(record: &RunRecord) -> Option<Reason> {
    let over = OverTime::within(record, telemetry::measured(record)?)?;
    let (_, busy) = over.host_cpu().filter(|_| !record.target.simulated)?;
    let part_of = |name| Some(over.means(name)).filter(|of| !of.is_empty()).map(|_| over.sum(name));
    let (server, client) =
        (part_of(names::CPU_OF_SERVER)?, part_of(names::CPU_OF_LOAD_GENERATOR).unwrap_or(0.0));
    let others = busy - server - client;
    let figures = [others, server, client, OTHERS_NOTED].map(percent_whole);
    let [others_took, server, client, limit] = figures;
    let place = format!(
        "other programs took {others_took} of the CPU of the target's host, the target {server}, and the load \
         generator {client}: the figures are those of a shared host (noted from {limit} on)"
    );
    let places: Vec<String> = (others >= OTHERS_NOTED).then_some(place).into_iter().collect();
    let message = "other programs took much of the CPU of the target's host";
    let hint = "stop them, or measure a target on a dedicated host";
    reason(ReasonCode::SharedHost, message, &places, hint)
}

/// Judged by its effect on percentiles.
fn client_lag(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let places = places(record, measured);
    let message = "the load generator sent ops late";
    let hint = hint(record);
    reason(ReasonCode::ClientLag, message, &places, hint)
}

/// The load generator itself was stalled.
fn client_stalled(record: &RunRecord) -> Option<Reason> {
    let measured = |stall: &&StallRecord| {
        let mut phases = record.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure);
        phases.any(|phase| {
            let end = phase.start_ns.saturating_add(phase.duration_ns);
            stall.start_ns < end && phase.start_ns < stall.end_ns()
        })
    };
    let mut places = Vec::new();
    for client in &record.clients {
        let stalls: Vec<&StallRecord> = client.stalls.iter().filter(measured).collect();
        if let Some(longest) = stalls.iter().max_by_key(|stall| stall.duration_ns) {
            let what = match longest.kind {
                StallKind::NotRunning => "did not run",
                StallKind::MachinePaused => "was paused with its machine",
            };
            let together = duration(stalls.iter().map(|stall| stall.duration_ns).sum());
            let more = match stalls.len() {
                1 => String::new(),
                times => format!(", the longest of {times} times, {together} in all"),
            };
            let (share, times) = (&client.share, [longest.duration_ns, longest.start_ns]);
            let ([lasted, at], limit) = (times.map(duration), duration(STALL_NS));
            places.push(format!(
                "load generator {share} {what} for {lasted} at {at}{more}; the limit is {limit}"
            ));
        }
    }
    let message = "the load generator stood still";
    let hint = "do not pause the load generator or its machine, and leave it a CPU of its own";
    reason(ReasonCode::ClientStalled, message, &places, hint)
}

/// The number of sessions defines a closed load: fewer sessions are a different load.
fn sessions_missing(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    // When a table is filled, only its rows matter, not which session writes them.
    if record.plan.definition.stop.fills {
        return None;
    }
    let missing = |stream: &MeasuredStream<'_>| {
        let working = stream.stream.working?;
        (working < stream.stream.sessions && !stream.is_open()).then(|| {
            let pauses = stream.plan.is_some_and(|plan| plan.think.is_some());
            let refused = stream.stream.missing_because.as_deref();
            let refused =
                refused.map(|why| format!("; a session could not connect: {}", foreign(why, WHY)));
            let why = match &refused {
                Some(why) => why.as_str(),
                None if pauses => "; the others paused: measure for longer than their think time",
                None => "; the others had no op left to send",
            };
            let numbers = [working, stream.stream.sessions];
            let [working, all] = numbers.map(|number| count(u64::from(number)));
            format!("{stream}: {working} of {all} sessions worked{why}")
        })
    };
    let places: Vec<String> = measured.iter().filter_map(missing).collect();
    let message = "fewer sessions worked than were planned";
    let hint = "allow the target more connections and this process more open files (ulimit -n), or \
                use fewer sessions (-c)";
    reason(ReasonCode::SessionsMissing, message, &places, hint)
}

fn rate_not_offered(measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let mut places = Vec::new();
    for stream in measured {
        if let Some(planned) = planned_and_not_offered(stream) {
            let [offered, planned] = [stream.units_offered(), planned].map(rate);
            let unit = stream.stream.unit.name();
            places.push(format!(
                "{stream}: the load generator offered {offered} of {planned} planned {unit}"
            ));
        }
    }
    let message = "the load generator offered less than planned";
    let hint = "lower --rate, or split the load with --share";
    reason(ReasonCode::RateNotOffered, message, &places, hint)
}

/// Units that were planned, if significantly fewer were offered; open load only.
pub(crate) fn planned_and_not_offered(stream: &MeasuredStream<'_>) -> Option<f64> {
    let planned = stream.stream.planned_rate? * stream.seconds_due();
    let per_op = to_f64(stream.units_per_op());
    let poisson = stream.plan.is_some_and(|p| p.arrivals == Arrivals::Poisson);
    let spread =
        if poisson { POISSON_DEVIATIONS * (planned / per_op).sqrt() * per_op } else { per_op };
    let allowed = (planned * OFFERED_SHORTFALL).max(spread);
    (stream.units_offered() < planned - allowed).then_some(planned)
}

/// Sessions of the stream in the measured phase before; 0 if there is none.
fn sessions_before(record: &RunRecord, measured: &MeasuredStream<'_>) -> u32 {
    let of_it = record.streams.iter().filter(|stream| stream.stream == measured.stream.stream);
    let before = of_it.take_while(|stream| stream.phase != measured.phase.name);
    before.last().map_or(0, |stream| stream.sessions)
}

fn contradiction(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let mut places = Vec::new();
    for stream in measured {
        // Sessions that never worked are a separate reason, and cost the others no time.
        let sessions = stream.stream.working.unwrap_or(stream.stream.sessions);
        let sessions = u64::from(sessions);
        let ops = stream.acknowledged();
        let enough = ops >= sessions * LITTLES_LAW_OPS_PER_SESSION;
        let Some(expected) = littles_law_sessions(stream).filter(|_| enough) else {
            continue;
        };
        // When this phase begins, one op per session of the previous phase is still in flight.
        let in_flight = sessions.max(sessions_before(record, stream).into());
        let tolerance = littles_law_tolerance(in_flight, ops);
        if (expected / to_f64(sessions) - 1.0).abs() > tolerance {
            places.push(format!(
                "{stream}: throughput × latency implies {expected:.2} sessions, but {sessions} were used (Little's law)"
            ));
        }
    }
    let message = "sessions, throughput, and latency contradict each other";
    let hint = "check the load generator's CPU: time is lost between ops";
    reason(ReasonCode::LittlesLaw, message, &places, hint)
}

fn nothing_acknowledged(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    // Whoever stopped it before knows why.
    let is_stopped = || record.incidents.iter().any(|of| of.kind == IncidentKind::Interrupted);
    if measured.is_empty() && is_stopped() {
        return None;
    }
    let mut places: Vec<String> = measured
        .iter()
        .filter(|stream| stream.acknowledged() == 0 && stream.answered() == 0)
        .map(|stream| match stream.offered() {
            0 => format!("{stream}: no op was sent"),
            ops => format!("{stream}: none of {} ops was acknowledged", count(ops)),
        })
        .collect();
    if measured.is_empty() {
        let reached = record.phases.last().map_or("none", |phase| &phase.name);
        places.push(format!("no measured phase started; the last phase was {reached}"));
    }
    let message = "no op was acknowledged in a measured phase";
    let hint = "run `highwater check URL` and see `errors` in the record";
    reason(ReasonCode::NothingAcknowledged, message, &places, hint)
}

/// All responses belonged to ops intended earlier: there is a throughput, but no latency.
fn latency_unknown(measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let places: Vec<String> = measured
        .iter()
        .filter(|stream| stream.acknowledged() == 0 && stream.answered() > 0)
        .map(|stream| {
            let [due, answered] = [stream.offered(), stream.answered()].map(count);
            format!(
                "{stream}: none of {due} ops that were intended in the measured phase got a response; the {answered} responses in it were to earlier ops"
            )
        })
        .collect();
    let message =
        "no op that was intended in a measured phase got a response, so its latency is unknown";
    let hint = "use fewer sessions, or measure longer than an op takes (-d, --timeout)";
    reason(ReasonCode::LatencyUnknown, message, &places, hint)
}

fn outcome_unknown(measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let message = "the outcome of many rows is unknown";
    let hint = "see `errors` in the record; a longer --timeout waits for more of the answers";
    let places: Vec<String> = measured.iter().filter_map(super::place).collect();
    reason(ReasonCode::OutcomeUnknown, message, &places, hint)
}

/// A percentile objective was shown neither to be met nor to be missed.
fn too_few_samples(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let objectives = &record.plan.definition.objectives;
    let places: Vec<String> = if objectives.iter().any(Objective::bounds_latency) {
        latency_verdicts(objectives, measured)
            .into_iter()
            .filter_map(|verdict| match verdict.shown {
                Shown::TooFew { samples, needed } => Some(format!(
                    "{}: {} ops measured, {} needed for {}",
                    verdict.place,
                    count(samples),
                    count(needed),
                    verdict.percentile
                )),
                _ => None,
            })
            .collect()
    } else {
        Vec::new()
    };
    let message = "too few ops for a percentile of the objective";
    reason(ReasonCode::TooFewSamples, message, &places, LONGER)
}

/// Only if no objective is stated: otherwise the objective is missed.
fn backlog_grew(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Option<Reason> {
    let places =
        if objective::has_none(record) { objective::growing(record, measured) } else { Vec::new() };
    let message = "the number of ops in flight or waiting kept growing, so latencies depend on the length of the phase";
    let hint = "lower --rate or add sessions (-c)";
    reason(ReasonCode::BacklogGrew, message, &places, hint)
}

fn phase_too_short(record: &RunRecord) -> Option<Reason> {
    let places: Vec<String> = record
        .phases
        .iter()
        .filter(|p| p.kind == PhaseKind::Measure && p.duration_ns < SHORTEST_PHASE_NS)
        .map(|phase| {
            let (lasted, least) = (duration(phase.duration_ns), span(SHORTEST_PHASE_NS));
            let name = &phase.name;
            format!("the phase {name} lasted {lasted}; at least {least} is needed")
        })
        .collect();
    let message = "a measured phase is too short to judge";
    reason(ReasonCode::TooShort, message, &places, LONGER)
}

/// A delay that is negligible in any latency worth reporting, nanoseconds.
pub const FLOOR_NS: u64 = 1_000_000;
/// Allowed overstatement of a percentile, as a fraction of its value.
pub const OVERSTATED_LIMIT: f64 = 0.05;

/// If only the delays are known, they may be up to this fraction of the median latency: their effect
/// is small against its spread.
const LAG_PART: u64 = 10;

/// The highest percentile for which a measurement is judged, millionths. Higher ones depend on
/// single ops.
const RAREST: u32 = 990_000;

/// A percentile with and without the load generator's delays, nanoseconds.
#[derive(Clone, Copy)]
struct Overstatement {
    name: &'static str,
    quantile_ppm: u32,
    shown: u64,
    undelayed: u64,
}

impl Overstatement {
    fn by(self) -> u64 {
        self.shown.saturating_sub(self.undelayed)
    }

    fn share(self) -> f64 {
        to_f64(self.by()) / to_f64(self.shown.max(1))
    }
}

/// The percentiles whose value is known with and without the delays.
fn percentiles(result: &ResultRecord) -> impl Iterator<Item = Overstatement> + '_ {
    let undelayed = result.undelayed_ns.as_ref();
    let known = |name: &str| !result.latency_ns.at_least.iter().any(|bound| bound == name);
    PERCENTILES.into_iter().filter(|(_, quantile_ppm, _)| *quantile_ppm <= RAREST).filter_map(
        move |(name, quantile_ppm, of)| {
            let (shown, undelayed) = (of(&result.latency_ns)?, of(undelayed?)?);
            known(name).then_some(Overstatement { name, quantile_ppm, shown, undelayed })
        },
    )
}

/// Maximum overstatement of the reported percentiles, nanoseconds; absent if it was not measured.
pub fn overstated_by(result: &ResultRecord) -> Option<u64> {
    percentiles(result).map(Overstatement::by).max()
}

/// The invalid results, each with its figures.
pub(super) fn places(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Vec<String> {
    let objectives = &record.plan.definition.objectives;
    let mut places = Vec::new();
    for stream in measured {
        for result in stream.results.iter().filter(|result| result.open) {
            let why = match result.undelayed_ns {
                Some(_) => spoiled(result, objectives),
                None => late(result),
            };
            let place = stream.place_of(result);
            places.extend(why.map(|why| format!("{place}: {why}")));
        }
    }
    places
}

/// The remedy.
pub(super) fn hint(record: &RunRecord) -> &'static str {
    let mut clients = record.clients.iter();
    if clients.any(|client| client.scheduling == SchedulingClass::NotPermitted) {
        "permit the real-time class (`ulimit -r 1`, or the capability CAP_SYS_NICE), or run the load \
         generator on a host of its own"
    } else {
        "give the load generator more idle CPU, or split the load with --share"
    }
}

/// For a record that lacks latencies without the delay.
fn late(result: &ResultRecord) -> Option<String> {
    let tenth = result.latency_ns.p50.unwrap_or(0) / LAG_PART;
    let limit = tenth.max(FLOOR_NS);
    let lag = result.client_lag_ns.p99.filter(|lag| *lag > limit)?;
    let (lag, limit) = (duration(lag), duration(limit));
    Some(format!(
        "the load generator sent ops late: client lag p99 was {lag}; the limit is {limit}"
    ))
}

/// Why a result is invalid: a percentile is overstated by a fraction that matters, or misses a
/// bound that it would meet without the delays.
fn spoiled(result: &ResultRecord, objectives: &[Objective]) -> Option<String> {
    let worst = percentiles(result)
        .filter(|of| of.share() > OVERSTATED_LIMIT)
        .filter(|of| of.by() >= FLOOR_NS);
    if let Some(of) = worst.max_by(|a, b| a.share().total_cmp(&b.share())) {
        let [share, limit] = [of.share(), OVERSTATED_LIMIT].map(percent);
        return Some(format!(
            "the load generator sent ops late, which overstates {} by {} ({share}); the limit is {limit}",
            of.name,
            duration(of.by()),
        ));
    }
    percentiles(result)
        .find(|of| decides(*of, result, objectives))
        .map(|of| {
            format!(
                "the load generator sent ops late: {} was {}, and without that {}, which is within its limit",
                of.name,
                duration(of.shown),
                duration(of.undelayed)
            )
        })
}

/// Whether a bound on this percentile of this op is missed with the delays and met without them.
fn decides(of: Overstatement, result: &ResultRecord, objectives: &[Objective]) -> bool {
    let mut of_percentile = latency_objectives(objectives)
        .filter(|bound| !bound.of_rows)
        .filter(|bound| bound.ppm == of.quantile_ppm);
    of_percentile.any(|bound| {
        let is_about = bound.is_about(&result.stream, &result.op);
        is_about && of.undelayed <= bound.max.0 && bound.max.0 < of.shown
    })
}

/// The standard deviation of a steady target's estimate is half of its interval's half-width, and
/// the whole interval must lie within the bound: with this multiple of the half-width it does in
/// nine of ten runs.
const LIKELY: f64 = 1.8;
/// A run longer than this many times the phase is not recommended.
const LONGEST: f64 = 100.0;

/// The effect of the drifts of all streams.
#[derive(Debug, Default)]
pub(super) struct Drifts {
    /// The measurement is inconclusive.
    pub(super) reason: Option<Reason>,
    /// The measurement stays valid.
    pub(super) note: Option<Reason>,
}

pub(super) fn drifts(rule: SteadinessRule, measured: &[MeasuredStream<'_>]) -> Drifts {
    let of = |values: &[Steadiness]| -> Vec<&MeasuredStream<'_>> {
        measured
            .iter()
            .filter(|m| m.is_long() && m.answered() > 0)
            .filter(|m| values.contains(&value(m, rule)))
            .collect()
    };
    let drifted = of(&[Steadiness::NotSteady]);
    let unclear = of(&[Steadiness::NotShown, Steadiness::NotTested]);
    let drifted: Vec<String> = drifted.into_iter().map(changed).collect();
    let unclear: Vec<String> = unclear.into_iter().map(|m| not_shown(m, rule)).collect();
    if rule.required {
        let places = [drifted, unclear].concat();
        let message = "steady throughput was required, and it was not shown";
        let hint =
            "wait for it (--warm-up steady), measure longer (-d), or allow more (--steady-within)";
        return Drifts {
            reason: reason(ReasonCode::SteadinessRequired, message, &places, hint),
            note: None,
        };
    }
    let message = "throughput drifted during the measured phase";
    let hint = "wait until it is steady (--warm-up steady) or measure longer (-d)";
    let is_unknown = "whether throughput was steady is not known";
    let (not_steady, not_shown) = (ReasonCode::NotSteady, ReasonCode::SteadinessNotShown);
    Drifts {
        reason: reason(not_steady, message, &drifted, hint),
        note: reason(not_shown, is_unknown, &unclear, "measure longer (-d)"),
    }
}

/// Earlier records call any detected drift not steady, however small.
fn value(stream: &MeasuredStream<'_>, rule: SteadinessRule) -> Steadiness {
    let of = stream.stream;
    let is_small = |drift: f64| drift.abs() < rule.within_percent();
    match of.steadiness {
        Steadiness::NotSteady if of.drift_percent.is_some_and(is_small) => Steadiness::Steady,
        other => other,
    }
}

fn changed(stream: &MeasuredStream<'_>) -> String {
    let of = stream.stream;
    let Some(drift) = of.drift_percent else {
        return format!("{stream}: throughput reached no steady state");
    };
    let verb = if drift < 0.0 { "fell" } else { "rose" };
    let change = of.change().map_or_else(String::new, |change| format!(" {change}"));
    // If the drift is as large as the mean, only the thirds are meaningful.
    let line = of.drift().filter(|line| of.change().as_ref() != Some(line));
    let line = line.map_or_else(String::new, |line| {
        format!("; a straight line through all of it changes by {line}")
    });
    format!("{stream}: throughput {verb}{change} of the measured phase{line}")
}

fn not_shown(stream: &MeasuredStream<'_>, rule: SteadinessRule) -> String {
    let of = stream.stream;
    let (Some(drift), Some([low, high])) = (of.drift(), of.drift_ci95) else {
        return format!("{stream}: too short to tell whether throughput was stable");
    };
    let times = ((high - low) / 2.0 * LIKELY / rule.within_percent()).powi(2);
    let tens = ceil_to_u64(to_f64(stream.phase.duration_ns) * times / 1e10);
    let bound = percent_asked(rule.within_ppm);
    let unknown =
        format!("{stream}: too short to tell whether throughput was stable within {bound}");
    // An interval of many times the bound tells a reader nothing.
    if !(1.0..=LONGEST).contains(&times) {
        return unknown;
    }
    let change = of.change().map_or_else(|| format!("by {drift}"), |change| change.clone());
    format!("{unknown}: it changed {change}; about {} would tell", span(tens * 10_000_000_000))
}
