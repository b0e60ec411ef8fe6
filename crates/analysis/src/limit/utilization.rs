//! Utilization of resources: CPUs, disks, networks.

use highwater_model::limit::LimitFigure::{
    Busy, BytesPerS, CreditLeft, OthersBusy, QuotaCores, SpeedBytesPerS, Throttled, Waiting,
};
use highwater_model::limit::Resource;
use highwater_model::target_telemetry::{TelemetrySeries, names};

use super::input::{Candidate, FULL, Input};
use crate::telemetry::{TimeRange, mean};

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
    let evidence = evidence.into_iter().flatten();
    let nearness = input.fullness(series, busy) / FULL;
    Some(Candidate::new(resource, nearness, evidence).at(series))
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
        .map(|(series, mean)| (series, mean.max(in_the_end(series))))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let waiting = input.sum(names::DISK_WAITS);
    let waited = waiting.map_or(0.0, |waiting| waiting / (WAIT_FOR_DISK * input.sessions()));
    let Some((series, busy)) = busiest else {
        let nearness = input.if_cpu_is_known(waited);
        let evidence = [(Waiting, waiting?)];
        return Some(Candidate::new(Resource::Disk, nearness, evidence));
    };
    let mut credits = over.series(names::DISK_CREDIT);
    let credit = credits.find(|credit| credit.node == series.node);
    let credit = credit.map(in_the_end).filter(|left| *left <= SPENT);
    let evidence = [
        Some((Busy, busy)),
        credit.filter(|_| busy >= FULL).map(|left| (CreditLeft, left)),
        waiting.filter(|_| waited >= 1.0).map(|waiting| (Waiting, waiting)),
    ];
    let nearness = input.if_cpu_is_known((busy / FULL).max(waited));
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
