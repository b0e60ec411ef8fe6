//! Input of the limit's rules: one phase of a record, and its telemetry. Must not hold a rule.

use highwater_model::limit::{Evidence, LimitFigure, LimitingResource, Resource};
use highwater_model::record::{PhaseRecord, ResultRecord, RunRecord};
use highwater_model::target_telemetry::{TelemetrySeries, names, sources};

use crate::judge::{MeasuredStream, measured_streams};
use crate::telemetry::{OverTime, TimeRange};

/// A CPU or disk this busy is at its limit.
pub(super) const FULL: f64 = 0.9;
/// Just below the bound at which a resource is named.
const UNSURE: f64 = 0.99;

/// A resource, and its nearness to the bound at which it is named; it is named from 1 on.
pub(super) struct Candidate {
    pub(super) resource: LimitingResource,
    pub(super) nearness: f64,
}

impl Candidate {
    /// A candidate of the load, or of the target as a whole.
    pub(super) fn new(
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
                evidence: evidence.collect(),
            },
            nearness,
        }
    }

    /// Sets the place that this series describes.
    pub(super) fn at(mut self, series: &TelemetrySeries) -> Self {
        self.resource.source = Some(series.source.clone());
        self.resource.node.clone_from(&series.node);
        self
    }

    pub(super) fn is_at_limit(&self) -> bool {
        self.nearness >= 1.0
    }

    /// Whether it means that the load is too small for its target.
    pub(super) fn is_of_small_load(&self) -> bool {
        matches!(self.resource.resource, Resource::Sessions | Resource::Batch)
    }
}

/// One saturated phase.
pub(super) struct Input<'a> {
    pub(super) record: &'a RunRecord,
    pub(super) streams: Vec<MeasuredStream<'a>>,
    /// Absent without telemetry.
    pub(super) over: Option<OverTime<'a>>,
}

impl<'a> Input<'a> {
    pub(super) fn of(record: &'a RunRecord, phase: &PhaseRecord) -> Self {
        let mut streams = measured_streams(record);
        streams.retain(|stream| stream.phase.name == phase.name);
        let range = TimeRange {
            from_ns: phase.start_ns,
            to_ns: phase.start_ns.saturating_add(phase.duration_ns),
        };
        Self { record, streams, over: OverTime::of(record, range) }
    }

    /// Sessions of all streams; at least 1.
    pub(super) fn sessions(&self) -> f64 {
        let sessions = self.streams.iter().map(|of| of.stream.sessions);
        f64::from(sessions.fold(0, u32::saturating_add).max(1))
    }

    pub(super) fn results(&self) -> impl Iterator<Item = &'a ResultRecord> + '_ {
        self.streams.iter().flat_map(|stream| &stream.results).copied()
    }

    /// A number that the target reports, or that was set for the tables.
    pub(super) fn setting(&self, name: &str) -> Option<f64> {
        self.record.target.setting(name)?.parse().ok()
    }

    /// Sum of the means of all series of that name; absent if none is known.
    pub(super) fn sum(&self, name: &'static str) -> Option<f64> {
        let means = self.over.as_ref()?.means(name);
        (!means.is_empty()).then(|| means.iter().map(|(_, mean)| mean).sum())
    }

    /// The series of that name with the greatest mean.
    pub(super) fn greatest(&self, name: &'static str) -> Option<(&'a TelemetrySeries, f64)> {
        self.over.as_ref()?.greatest(name)
    }

    /// Busy fraction of the busiest CPU; for a node with a quota, the used fraction of it. Absent if not all nodes
    /// report it. An idle machine says nothing about a node whose quota is used up, so the machine does not count for
    /// nodes with quotas.
    pub(super) fn cpu(&self) -> Option<f64> {
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
    pub(super) fn busiest_cpu(&self) -> Option<(&'a TelemetrySeries, f64)> {
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
    pub(super) fn fullness(&self, series: &TelemetrySeries, busy: f64) -> f64 {
        busy.max(self.held_back(series).unwrap_or(0.0))
    }

    /// The fraction of the time in which the node of a series had used up its quota.
    pub(super) fn held_back(&self, series: &TelemetrySeries) -> Option<f64> {
        self.quota_of(series).and_then(|_| self.at_node(names::CPU_THROTTLED, series))
    }

    /// The mean of that name at the node of this series.
    pub(super) fn at_node(&self, name: &'static str, series: &TelemetrySeries) -> Option<f64> {
        let means = self.over.as_ref()?.means(name);
        let mut here = means.iter().filter(|(other, _)| other.node == series.node);
        here.next().map(|(_, mean)| *mean)
    }

    /// The quota of the node of a series, cores.
    pub(super) fn quota_of(&self, series: &TelemetrySeries) -> Option<f64> {
        let is_measured = series.source == sources::CONTROL_GROUPS;
        let mut quotas = self.record.target.cpu_quotas.iter();
        quotas
            .find(|quota| is_measured && Some(&quota.node) == series.node.as_ref())
            .map(|quota| quota.cores)
    }

    /// A resource that a saturated CPU may explain as well is named only if all CPUs are reported.
    pub(super) fn if_cpu_is_known(&self, nearness: f64) -> f64 {
        match self.cpu() {
            Some(_) => nearness,
            None => nearness.min(UNSURE),
        }
    }

    /// Resources of the target without telemetry.
    pub(super) fn unseen(&self) -> Vec<Resource> {
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
    pub(super) fn cpu_if_all_is_shown(&self) -> Option<f64> {
        // An embedded database may have one writer, however many sessions there are.
        let in_process = self.record.target.embedded && !self.record.target.simulated;
        self.cpu().filter(|_| !in_process && self.unseen().is_empty())
    }
}
