//! The limit: the one resource that kept a run from being faster, from the utilization, saturation, and errors of each
//! resource in the telemetry.
//!
//! The method is Gregg's USE method ("Thinking Methodically about Performance", ACM Queue 10(12), 2012). A resource is
//! named only if its evidence clears a documented bound; otherwise the limit is not identified. Must not read findings
//! or judgments of other rules, or produce text. The input of its rules is one phase of a record, and its telemetry.

mod rules;

#[cfg(test)]
mod tests;

use highwater_model::display::ratio;
use highwater_model::judgment::ObjectiveValue;
use highwater_model::limit::{
    Evidence, Limit, LimitFigure, LimitingResource, Resource, SaturationSign,
};
use highwater_model::record::{PhaseRecord, ResultRecord, RunRecord};
use highwater_model::search::{ProbeRecord, SearchOutcome, SearchRecord};
use highwater_model::target_telemetry::{TelemetrySeries, names, sources};

use crate::judge::measurement::planned_and_not_offered;
use crate::judge::objective::is_sustained;
use crate::judge::shares::{offered, rejected_ops};
use crate::judge::{MeasuredStream, measured_streams};
use crate::telemetry::{OverTime, TimeRange};

/// If nothing came nearer to its bound than this, the target is idle and the load too small: CPUs and disks were busy
/// for at most half of the time.
const IDLE: f64 = 0.55;
/// A resource that came nearer to its bound than this may be the runner-up.
const NEXT: f64 = 0.5;

type Rule = fn(&Input<'_>) -> Option<Candidate>;

/// In causal order. A saturated load generator shows nothing about the target. A target that throttles reports the
/// reason itself. A busy CPU or disk lengthens lock waits and queues, not the reverse. Sessions and batches are too
/// small only if the target is idle.
const RULES: &[Rule] = &[
    rules::load_generator,
    rules::write_stalls,
    rules::parts,
    rules::compaction,
    rules::replication,
    rules::cpu,
    rules::disk,
    rules::network,
    rules::admission_control,
    rules::locks,
    rules::pool,
    rules::batch,
    rules::sessions,
];

/// The limit of the last measured phase at or beyond saturation; absent if there was none.
pub fn limit(record: &RunRecord) -> Option<Limit> {
    let (phase, saturation) = last_saturated(record)?;
    let input = Input::new(record, phase);
    let mut candidates: Vec<Candidate> = RULES.iter().filter_map(|rule| rule(&input)).collect();
    let is_idle = |of: &Candidate| of.is_of_small_load() || of.nearness < IDLE;
    if !candidates.iter().all(is_idle) {
        candidates.retain(|candidate| !candidate.is_of_small_load());
    }
    let by = candidates.iter().position(Candidate::is_at_limit);
    let by = by.map(|position| candidates.remove(position).resource);
    Some(Limit {
        phase: phase.name.clone(),
        saturation,
        by,
        next: next(candidates),
        unseen: input.unseen(),
    })
}

/// Another resource at its limit, or else the nearest one.
fn next(mut candidates: Vec<Candidate>) -> Option<LimitingResource> {
    if let Some(position) = candidates.iter().position(Candidate::is_at_limit) {
        return Some(candidates.remove(position).resource);
    }
    let nearest = candidates
        .into_iter()
        .filter(|of| of.nearness >= NEXT)
        .max_by(|a, b| a.nearness.total_cmp(&b.nearness));
    nearest.map(|candidate| candidate.resource)
}

/// The limit of a search's mark: that of the run that showed that the mark does not hold for long, or else of the probe
/// nearest above it. If none is identified there, that of any other saturated probe.
pub fn of_search(search: &SearchRecord) -> Option<&Limit> {
    let mark = match search.outcome.as_ref()? {
        SearchOutcome::Mark(mark) => mark.confirmed,
        SearchOutcome::NoMark(no_mark) => no_mark.highest_met.unwrap_or(0.0),
    };
    let is_above = |probe: &&ProbeRecord| probe.at > mark && probe.purpose.judges();
    let mut above: Vec<&ProbeRecord> = search.probes.iter().filter(is_above).collect();
    above.sort_by(|a, b| a.at.total_cmp(&b.at));
    let all = || search.soak().into_iter().chain(above.iter().copied()).chain(&search.probes);
    let limits = || all().filter_map(|probe| probe.limit.as_ref());
    limits().find(|limit| limit.by.is_some()).or_else(|| limits().next())
}

/// A CPU or disk this busy is at its limit.
const FULL: f64 = 0.9;
/// Just below the bound at which a resource is named.
const UNSURE: f64 = 0.99;

/// A resource, and its nearness to the bound at which it is named; it is named from 1 on.
struct Candidate {
    resource: LimitingResource,
    nearness: f64,
}

impl Candidate {
    /// A candidate of the load, or of the target as a whole.
    fn new(
        resource: Resource,
        nearness: f64,
        evidence: impl IntoIterator<Item = (LimitFigure, f64)>,
    ) -> Self {
        let evidence = evidence.into_iter().map(|(figure, value)| Evidence { figure, value });
        Self {
            resource: LimitingResource {
                resource,
                source: None,
                node: None,
                program: None,
                evidence: evidence.collect(),
            },
            nearness,
        }
    }

    /// Sets the place that this series describes.
    fn at(mut self, series: &TelemetrySeries) -> Self {
        self.resource.source = Some(series.source.clone());
        self.resource.node.clone_from(&series.node);
        self
    }

    fn is_at_limit(&self) -> bool {
        self.nearness >= 1.0
    }

    /// Whether it means that the load is too small for its target.
    fn is_of_small_load(&self) -> bool {
        matches!(self.resource.resource, Resource::Sessions | Resource::Batch)
    }
}

/// One saturated phase.
struct Input<'a> {
    record: &'a RunRecord,
    streams: Vec<MeasuredStream<'a>>,
    /// Absent without telemetry.
    over: Option<OverTime<'a>>,
}

impl<'a> Input<'a> {
    fn new(record: &'a RunRecord, phase: &PhaseRecord) -> Self {
        let mut streams = measured_streams(record);
        streams.retain(|stream| stream.phase.name == phase.name);
        let range = TimeRange {
            from_ns: phase.start_ns,
            to_ns: phase.start_ns.saturating_add(phase.duration_ns),
        };
        Self { record, streams, over: OverTime::within(record, range) }
    }

    /// Sessions of all streams; at least 1.
    fn sessions(&self) -> f64 {
        let sessions = self.streams.iter().map(|of| of.stream.sessions);
        f64::from(sessions.fold(0, u32::saturating_add).max(1))
    }

    fn results(&self) -> impl Iterator<Item = &'a ResultRecord> + '_ {
        self.streams.iter().flat_map(|stream| &stream.results).copied()
    }

    /// A number that the target reports, or that was set for the tables.
    fn setting(&self, name: &str) -> Option<f64> {
        self.record.target.setting(name)?.parse().ok()
    }

    /// Sum of the means of all series of that name; absent if none is known.
    fn sum(&self, name: &'static str) -> Option<f64> {
        let means = self.over.as_ref()?.means(name);
        (!means.is_empty()).then(|| means.iter().map(|(_, mean)| mean).sum())
    }

    /// The series of that name with the greatest mean.
    fn greatest(&self, name: &'static str) -> Option<(&'a TelemetrySeries, f64)> {
        self.over.as_ref()?.greatest(name)
    }

    /// Busy fraction of the busiest CPU; for a node with a quota, the used fraction of it. Absent if not all nodes
    /// report it. An idle machine does not show whether a node's quota is used up, so the machine does not count for
    /// nodes with quotas.
    fn cpu(&self) -> Option<f64> {
        let nodes = self.over.as_ref()?.means(names::CPU_BUSY);
        let number = |of: usize| u32::try_from(of).ok().map(f64::from);
        let target = &self.record.target;
        let quotas = &target.cpu_quotas;
        let of_host = |(series, _): &(&TelemetrySeries, f64)| series.source == sources::HOST;
        let is_all = if nodes.iter().any(of_host) {
            quotas.is_empty()
        } else {
            let listed = target.hosts.len().max(quotas.len());
            number(nodes.len())? >= self.setting("nodes").unwrap_or(number(listed)?)
        };
        let (_, busiest) = self.busiest_cpu()?;
        is_all.then_some(busiest)
    }

    /// The fullest CPU reported, and how busy it is. For nodes with quotas, of which none is used up, the machine
    /// counts if it is saturated: then no node gets its full quota.
    fn busiest_cpu(&self) -> Option<(&'a TelemetrySeries, f64)> {
        let cpus = self.over.as_ref()?.means(names::CPU_BUSY).into_iter();
        let fullness = |cpu: &(&TelemetrySeries, f64)| self.fullness(cpu.0, cpu.1);
        let (series, busy) = cpus.max_by(|a, b| fullness(a).total_cmp(&fullness(b)))?;
        let has_quota =
            series.source == sources::CONTROL_GROUPS && self.fullness(series, busy) < FULL;
        let host = self.over.as_ref()?.host_cpu();
        let host = host.filter(|(_, busy)| has_quota && *busy >= FULL);
        Some(host.unwrap_or((series, busy)))
    }

    /// Utilization of such a CPU. A node that is throttled all the time has used up its quota, even if its CPU time is
    /// reported late.
    fn fullness(&self, series: &TelemetrySeries, busy: f64) -> f64 {
        busy.max(self.held_back(series).unwrap_or(0.0))
    }

    /// The fraction of the time in which the node of a series had used up its quota.
    fn held_back(&self, series: &TelemetrySeries) -> Option<f64> {
        self.quota_of(series).and_then(|_| self.at_node(names::CPU_THROTTLED, series))
    }

    /// The mean of that name at the node of this series.
    fn at_node(&self, name: &'static str, series: &TelemetrySeries) -> Option<f64> {
        let means = self.over.as_ref()?.means(name);
        let mut here = means.iter().filter(|(other, _)| other.node == series.node);
        here.next().map(|(_, mean)| *mean)
    }

    /// The parts of a host's CPU time that the target's processes and the load generator took, with the program of the
    /// busiest of these processes; empty if the series is not that of a host.
    fn parts_of_host(&self, series: &TelemetrySeries) -> (Option<String>, Vec<(LimitFigure, f64)>) {
        if series.source != sources::HOST {
            return (None, Vec::new());
        }
        let program = self.greatest(names::CPU_OF_SERVER).and_then(|(of, _)| of.node.clone());
        let parts = [
            (LimitFigure::OfServer, names::CPU_OF_SERVER),
            (LimitFigure::OfLoadGenerator, names::CPU_OF_LOAD_GENERATOR),
        ];
        let parts = parts.into_iter().filter_map(|(figure, name)| Some((figure, self.sum(name)?)));
        (program, parts.collect())
    }

    /// The quota of the node of a series, cores.
    fn quota_of(&self, series: &TelemetrySeries) -> Option<f64> {
        let is_measured = series.source == sources::CONTROL_GROUPS;
        let mut quotas = self.record.target.cpu_quotas.iter();
        quotas
            .find(|quota| is_measured && Some(&quota.node) == series.node.as_ref())
            .map(|quota| quota.cores)
    }

    /// A resource that a saturated CPU may explain as well is named only if all CPUs are reported.
    fn if_cpu_is_known(&self, nearness: f64) -> f64 {
        match self.cpu() {
            Some(_) => nearness,
            None => nearness.min(UNSURE),
        }
    }

    /// Resources of the target without telemetry.
    fn unseen(&self) -> Vec<Resource> {
        let is_known = |name| self.sum(name).is_some();
        let known = [
            (Resource::Cpu, self.cpu().is_some()),
            (Resource::Disk, is_known(names::DISK_BUSY) || is_known(names::DISK_WAITS)),
            (Resource::WritePool, is_known(names::QUEUE) || is_known(names::LOCK_WAITS)),
        ];
        known.into_iter().filter(|(_, is_known)| !is_known).map(|(resource, _)| resource).collect()
    }

    /// Busy fraction of the busiest CPU, if all resources of the target are reported. An unreported resource may delay
    /// a target while everything else is idle.
    fn cpu_if_all_is_shown(&self) -> Option<f64> {
        // An embedded database may have one writer, however many sessions there are.
        let in_process = self.record.target.embedded && !self.record.target.simulated;
        self.cpu().filter(|_| !in_process && self.unseen().is_empty())
    }
}

/// Fewer rejected ops, or a smaller fraction, are not a pattern.
const REJECTED_OPS: u64 = 10;
const REJECTED_PART: f64 = 0.001;

/// The last phase that was saturated.
fn last_saturated(record: &RunRecord) -> Option<(&PhaseRecord, SaturationSign)> {
    let measured = measured_streams(record);
    let is_missed = record.judgments.objective.value == ObjectiveValue::Missed
        && !record.plan.definition.objectives.is_empty();
    let mut phases = measured.iter().map(|stream| stream.phase).rev();
    phases.find_map(|phase| {
        let streams: Vec<&MeasuredStream<'_>> =
            measured.iter().filter(|of| of.phase.name == phase.name).collect();
        if streams.iter().all(|stream| stream.answered() == 0) {
            return None;
        }
        Some((phase, sign(&streams, is_missed)?))
    })
}

fn sign(streams: &[&MeasuredStream<'_>], is_missed: bool) -> Option<SaturationSign> {
    let any = |of: fn(&MeasuredStream<'_>) -> bool| streams.iter().any(|stream| of(stream));
    let signs = [
        (any(|of| !of.is_open()), SaturationSign::ClosedLoad),
        (any(|of| planned_and_not_offered(of).is_some()), SaturationSign::NotOffered),
        (any(|of| !is_sustained(of) || drops(of)), SaturationSign::NotAcknowledged),
        (any(rejects), SaturationSign::Rejected),
        (any(waits_for_sessions), SaturationSign::SessionWait),
        (is_missed, SaturationSign::Objective),
    ];
    signs.into_iter().find_map(|(holds, sign)| holds.then_some(sign))
}

fn drops(stream: &MeasuredStream<'_>) -> bool {
    let mut results = stream.results.iter();
    results.any(|result| result.backlog)
}

fn rejects(stream: &MeasuredStream<'_>) -> bool {
    let results = || stream.results.iter().copied();
    let rejected: u64 = results().map(rejected_ops).sum();
    let offered: u64 = results().map(offered).sum();
    rejected >= REJECTED_OPS && ratio(rejected, offered) >= REJECTED_PART
}

/// Whether ops of open load waited longer for a session than for the response.
fn waits_for_sessions(stream: &MeasuredStream<'_>) -> bool {
    let mut results = stream.results.iter();
    stream.is_open()
        && results.any(|result| {
            result
                .session_wait_ns
                .p50
                .zip(result.service_ns.p50)
                .is_some_and(|(wait, service)| wait > service)
        })
}
