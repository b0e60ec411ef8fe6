//! The rules of the limit: utilization of CPUs, disks, and networks, throttling by the target, contention for locks and
//! slots of a pool, and limits of the load itself. The last count only if nothing else came near its limit.

use highwater_model::display::ratio;
use highwater_model::limit::LimitFigure::{
    Busy, BusyAtEnd, BytesPerS, CreditLeft, DelayedInserts, OfCeiling, Offered, OthersBusy,
    Overload, Parts, Paused, QuotaCores, RejectedOps, RejectedPerS, RowsPerOp, Sessions,
    SpeedBytesPerS, StallsPerS, Throttled, Waiting, WaitingPart,
};
use highwater_model::limit::Resource;
use highwater_model::numbers::round_to_u64;
use highwater_model::plan::Objective;
use highwater_model::target_telemetry::{TelemetrySeries, names};

use super::{Candidate, FULL, Input, REJECTED_OPS, REJECTED_PART, waits_for_sessions};
use crate::judge::measurement::{CLIENT_CPU_LIMIT, ceiling, greatest, planned_and_not_offered};
use crate::judge::shares::{offered, rejected_ops};
use crate::telemetry::{TimeRange, mean, part_at_least};

/// A node this many times as busy as the others is hot.
const HOT: f64 = 1.5;
/// A disk is at its limit if this fraction of the sessions waits for it, whatever its reported utilization.
const WAIT_FOR_DISK: f64 = 0.5;
/// A credit is used up when less than this is left.
const SPENT: f64 = 0.05;
/// A network counts only if CPU use is below this: its speed is a guess.
const NETWORK_CPU: f64 = 0.7;

/// The fullest CPU; a hot node if the others are not full. For a node with a quota, the used fraction of it; a quota
/// that is always used up counts like a CPU that is always busy.
pub(super) fn cpu(input: &Input<'_>) -> Option<Candidate> {
    let over = input.over.as_ref()?;
    let (series, busy) = input.busiest_cpu()?;
    let nodes = over.means(names::CPU_BUSY);
    let is_this = |other: &TelemetrySeries| std::ptr::eq(other, series);
    // A machine is not a node in addition to those on it.
    let is_node = nodes.iter().any(|(node, _)| is_this(node));
    let others: Vec<f64> =
        nodes.iter().filter(|(node, _)| !is_this(node)).map(|(_, mean)| *mean).collect();
    let number = f64::from(u32::try_from(others.len()).ok()?);
    let has_others = is_node && number > 0.0;
    let mean_of_others = has_others.then(|| others.iter().sum::<f64>() / number);
    let hot = mean_of_others.filter(|others| busy > HOT * others);
    let resource = if hot.is_some() { Resource::HotNode } else { Resource::Cpu };
    let evidence = [
        Some((Busy, busy)),
        input.quota_of(series).map(|cores| (QuotaCores, cores)),
        input.held_back(series).map(|part| (Throttled, part)),
        hot.map(|others| (OthersBusy, others)),
        input.at_node(names::QUEUE, series).map(|queue| (Waiting, queue)),
    ];
    let (program, parts) = input.parts_of_host(series);
    let evidence = evidence.into_iter().flatten().chain(parts);
    let nearness = input.fullness(series, busy) / FULL;
    let mut candidate = Candidate::new(resource, nearness, evidence).at(series);
    candidate.resource.program = program;
    Some(candidate)
}

/// The busiest disk. A disk that ran out of credit throttles from then on, so the last third counts too.
pub(super) fn disk(input: &Input<'_>) -> Option<Candidate> {
    let over = input.over.as_ref()?;
    let TimeRange { from_ns, to_ns } = over.range;
    let last_third = TimeRange { from_ns: to_ns - to_ns.saturating_sub(from_ns) / 3, to_ns };
    let in_the_end = |series| mean(over.telemetry, series, last_third).unwrap_or(0.0);
    let busiest = over
        .means(names::DISK_BUSY)
        .into_iter()
        .map(|(series, mean)| (series, [mean, in_the_end(series)]))
        .max_by(|(_, a), (_, b)| a[0].max(a[1]).total_cmp(&b[0].max(b[1])));
    let waiting = input.sum(names::DISK_WAITS);
    let waited = waiting.map_or(0.0, |waiting| waiting / (WAIT_FOR_DISK * input.sessions()));
    let Some((series, [busy, at_end])) = busiest else {
        let nearness = input.if_cpu_is_known(waited);
        let evidence = [(Waiting, waiting?)];
        return Some(Candidate::new(Resource::Disk, nearness, evidence));
    };
    let mut credits = over.series(names::DISK_CREDIT);
    let credit = credits.find(|credit| credit.node == series.node);
    let credit = credit.map(in_the_end).filter(|left| *left <= SPENT);
    let fullest = busy.max(at_end);
    let evidence = [
        Some((Busy, busy)),
        (busy < FULL && at_end >= FULL).then_some((BusyAtEnd, at_end)),
        credit.filter(|_| fullest >= FULL).map(|left| (CreditLeft, left)),
        waiting.filter(|_| waited >= 1.0).map(|waiting| (Waiting, waiting)),
    ];
    let nearness = input.if_cpu_is_known((fullest / FULL).max(waited));
    let evidence = evidence.into_iter().flatten();
    Some(Candidate::new(Resource::Disk, nearness, evidence).at(series))
}

/// A network that transfers as much as its speed allows.
pub(super) fn network(input: &Input<'_>) -> Option<Candidate> {
    input.cpu().filter(|busy| *busy < NETWORK_CPU)?;
    let (series, carried, speed) = input.over.as_ref()?.full_network()?;
    let evidence = [(Busy, carried / speed), (BytesPerS, carried), (SpeedBytesPerS, speed)];
    Some(Candidate::new(Resource::Network, 1.0, evidence).at(series))
}

/// A store with this many write stalls per second is at its limit.
const STALLS_PER_S: f64 = 1.0;
/// The setting for the number of parts per partition from which on the target delays inserts.
const PARTS_LIMIT: &str = "parts_to_delay_insert";
/// Inserts of this fraction of the sessions are delayed at any time.
const DELAYED: f64 = 0.1;
/// Replication that is paused for this fraction of the time limits writes.
const PAUSED: f64 = 0.2;
/// Work of this fraction of the sessions is throttled at any time.
const HELD_BACK: f64 = 0.25;

/// The storage engine stops writes.
pub(super) fn write_stalls(input: &Input<'_>) -> Option<Candidate> {
    let (series, per_s) = input.greatest(names::WRITE_STALLS)?;
    let evidence = [(StallsPerS, per_s)];
    Some(Candidate::new(Resource::WriteStalls, per_s / STALLS_PER_S, evidence).at(series))
}

/// Inserts are delayed because there are too many parts.
pub(super) fn parts(input: &Input<'_>) -> Option<Candidate> {
    let parts = input.greatest(names::PARTS_OF_PARTITION);
    let delayed = input.sum(names::DELAYED_INSERTS);
    let of_limit = parts
        .zip(input.setting(PARTS_LIMIT).filter(|limit| *limit > 0.0))
        .map_or(0.0, |((_, parts), limit)| parts / limit);
    let held_up = delayed.map_or(0.0, |inserts| inserts / (DELAYED * input.sessions()));
    let parts = parts.map(|(_, parts)| (Parts, parts));
    let delayed = delayed.map(|inserts| (DelayedInserts, inserts));
    let evidence: Vec<_> = parts.into_iter().chain(delayed).collect();
    let nearness = of_limit.max(held_up);
    (!evidence.is_empty()).then(|| Candidate::new(Resource::Parts, nearness, evidence))
}

/// Compaction lags by as much as the target considers an overload.
pub(super) fn compaction(input: &Input<'_>) -> Option<Candidate> {
    let (series, overload) = input.greatest(names::COMPACTION_OVERLOAD)?;
    let evidence = [(Overload, overload)];
    Some(Candidate::new(Resource::Compaction, overload, evidence).at(series))
}

/// Replication waits for a node.
pub(super) fn replication(input: &Input<'_>) -> Option<Candidate> {
    let (series, paused) = input.greatest(names::REPLICATION_PAUSED)?;
    let evidence = [(Paused, paused)];
    Some(Candidate::new(Resource::Replication, paused / PAUSED, evidence).at(series))
}

/// Work waits to be admitted.
pub(super) fn admission_control(input: &Input<'_>) -> Option<Candidate> {
    let waits = [names::ADMISSION_WAITS, names::ADMISSION_STORE_WAITS];
    let waiting = waits.into_iter().filter_map(|name| input.sum(name)).reduce(|a, b| a + b)?;
    let least = (HELD_BACK * input.sessions()).max(1.0);
    let nearness = input.if_cpu_is_known(waiting / least);
    let (resource, evidence) = (Resource::AdmissionControl, [(Waiting, waiting)]);
    Some(Candidate::new(resource, nearness, evidence))
}

/// Locks limit the load if this fraction of the sessions waits for them.
const LOCKED: f64 = 0.25;
/// Closed load repeats rejected work at once, so a few rejections cost it nothing.
const REJECTED_CLOSED: f64 = 0.01;
/// In this fraction of the samples work waited for a slot of the pool although the CPU was not saturated. Work that
/// waits for a core only does so while the cores are busy, so its fraction of waiting is at most that of busy cores.
const WAITED: f64 = 0.9;
const ROOM: f64 = 0.6;

/// Sessions wait for each other's locks.
pub(super) fn locks(input: &Input<'_>) -> Option<Candidate> {
    let (waiting, sessions) = (input.sum(names::LOCK_WAITS)?, input.sessions());
    let nearness = input.if_cpu_is_known(waiting / (LOCKED * sessions).max(1.0));
    let evidence = [(Waiting, waiting), (Sessions, sessions)];
    Some(Candidate::new(Resource::Locks, nearness, evidence))
}

/// The pool rejects work, or delays it, while no CPU or disk is saturated.
pub(super) fn pool(input: &Input<'_>) -> Option<Candidate> {
    let cpu = input.cpu().filter(|busy| *busy < FULL)?;
    if input.unseen().contains(&Resource::Disk) {
        return None;
    }
    rejecting(input).or_else(|| waiting(input).filter(|_| cpu < ROOM))
}

fn rejecting(input: &Input<'_>) -> Option<Candidate> {
    let rejected: u64 = input.results().map(rejected_ops).sum();
    let offered: u64 = input.results().map(offered).sum();
    let inside = input.sum(names::REJECTED).unwrap_or(0.0);
    // Tasks that the target itself retries are compared with ops, too.
    let pieces = round_to_u64(inside * input.streams.first()?.seconds());
    let part = ratio(rejected.max(pieces), offered.max(1));
    let bounds =
        input.record.plan.definition.objectives.iter().filter_map(|objective| match objective {
            Objective::Rejected { max_ppm } => Some(f64::from(*max_ppm) / 1e6),
            _ => None,
        });
    let is_missed = bounds.min_by(f64::total_cmp).is_some_and(|most| part > most);
    let is_closed = input.streams.iter().any(|stream| !stream.is_open());
    let least = if is_closed { REJECTED_CLOSED } else { REJECTED_PART };
    let nearness = if is_missed { 1.0 } else { part / least };
    let of_ops = ratio(rejected, offered.max(1));
    let evidence = [(RejectedOps, of_ops), (RejectedPerS, inside)];
    let found = Candidate::new(Resource::WritePool, nearness, evidence);
    (is_missed || rejected.max(pieces) >= REJECTED_OPS).then(|| {
        match input.greatest(names::REJECTED) {
            Some((series, _)) => found.at(series),
            None => found,
        }
    })
}

fn waiting(input: &Input<'_>) -> Option<Candidate> {
    let over = input.over.as_ref()?;
    let waited = over.series(names::QUEUE).filter_map(|series| {
        let part = part_at_least(over.telemetry, series, over.range, 1.0)?;
        Some((series, part))
    });
    let (series, part) = waited.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let waiting = mean(over.telemetry, series, over.range)?;
    let evidence = [(Waiting, waiting), (WaitingPart, part)];
    Some(Candidate::new(Resource::WritePool, part / WAITED, evidence).at(series))
}

/// The load generator is at its ceiling from this fraction of it on.
const AT_CEILING: f64 = 0.9;
/// Batches of fewer rows are small: the cost of an op outweighs that of its rows.
const SMALL_BATCH: f64 = 100.0;
/// This many sessions load any target whose number of cores is unknown.
const MANY_SESSIONS: f64 = 32.0;

/// The CPU, the ceiling and the schedule of the load generator.
pub(super) fn load_generator(input: &Input<'_>) -> Option<Candidate> {
    // A model uses the CPU time of this process, perhaps on another clock.
    let is_simulated = input.record.target.simulated;
    let busy = input
        .record
        .clients
        .iter()
        .filter(|_| !is_simulated)
        .map(|client| client.cpu_fraction)
        .reduce(f64::max);
    let busy = busy.map(|busy| (Busy, busy, busy / CLIENT_CPU_LIMIT));
    let reached = greatest(&input.streams).map(|(reached, _)| reached);
    let of_ceiling = reached.zip(ceiling(input.record)).map(|(reached, ceiling)| {
        let part = reached / ceiling;
        (OfCeiling, part, part / AT_CEILING)
    });
    let late = input.streams.iter().filter_map(|stream| {
        let part = stream.units_offered() / planned_and_not_offered(stream)?;
        Some((Offered, part, 1.0 / part.max(f64::EPSILON)))
    });
    let mut evidence: Vec<_> = busy.into_iter().chain(of_ceiling).chain(late).collect();
    evidence.sort_by(|a, b| b.2.total_cmp(&a.2));
    let nearness = evidence.first()?.2;
    let evidence = evidence.into_iter().map(|(figure, value, _)| (figure, value));
    Some(Candidate::new(Resource::LoadGenerator, nearness, evidence))
}

/// There is a session for each of the target's cores, and an op is hardly any work for it.
pub(super) fn batch(input: &Input<'_>) -> Option<Candidate> {
    let cpu = cpu_if_bounded_by_sessions(input)?;
    let (ops, rows) = input.results().fold((0, 0), |(ops, rows), result| {
        let writes = result.rows.acknowledged > 0;
        let of_result = if writes { result.acknowledged } else { 0 };
        (ops + of_result, rows + result.rows.acknowledged)
    });
    let rows = ratio(rows, ops.max(1));
    let is_small = ops > 0 && rows < SMALL_BATCH;
    (is_small && input.sessions() >= cores(input).unwrap_or(MANY_SESSIONS))
        .then(|| Candidate::new(Resource::Batch, 1.0, [(RowsPerOp, rows), (Busy, cpu)]))
}

/// Every session is busy.
pub(super) fn sessions(input: &Input<'_>) -> Option<Candidate> {
    let cpu = cpu_if_bounded_by_sessions(input)?;
    let evidence = [(Sessions, input.sessions()), (Busy, cpu)];
    Some(Candidate::new(Resource::Sessions, 1.0, evidence))
}

/// CPU use of the target if all resources are reported, and more sessions would have sent more.
fn cpu_if_bounded_by_sessions(input: &Input<'_>) -> Option<f64> {
    let mut streams = input.streams.iter();
    let is_bounded = streams.any(|stream| !stream.is_open() || waits_for_sessions(stream));
    input.cpu_if_all_is_shown().filter(|_| is_bounded)
}

/// Cores of the whole target, if it reports them.
fn cores(input: &Input<'_>) -> Option<f64> {
    let of_node = input.setting("cores").or_else(|| input.setting("processors"))?;
    Some(of_node * input.setting("nodes").unwrap_or(1.0))
}
