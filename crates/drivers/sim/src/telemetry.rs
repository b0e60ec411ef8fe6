//! The telemetry of the model: cores, queues, and disks of its nodes, and rejected ops. Must not cost simulated time.

use highwater_model::numbers::{len_to_f64, to_f64};

use super::node::stall_at;
use super::view::ClusterView;
use highwater_driver::contract::Response;
use highwater_driver::telemetry::{MetricSample, TelemetryReader, names, units};
use highwater_model::user_error::UserError;

/// Maximum nodes with their own samples; the others are similar.
const NODES_LISTED: usize = 16;

/// Reads a cluster.
pub(super) struct SimReader(pub(super) ClusterView);

impl SimReader {
    fn samples(&self) -> Result<Vec<MetricSample>, UserError> {
        let ClusterView { parameters, timeline, .. } = &self.0;
        let now = timeline.now();
        let mut cluster = self.0.alive()?;
        let rejected = cluster.planted().rejected_ops;
        let mut samples = vec![MetricSample::count(names::REJECTED, "1", to_f64(rejected))];
        if !parameters.stall.is_empty() {
            let stalled = stall_at(&parameters.stall, now).is_some();
            samples.push(MetricSample::level(
                "stalled",
                units::SHARE,
                f64::from(u8::from(stalled)),
            ));
        }
        // Like servers with locks, which report no pool queue.
        let waiting_for_lock = cluster.waiting_for_lock(now);
        if let Some(waiting) = waiting_for_lock {
            let waiting = len_to_f64(waiting);
            for name in [names::LOCK_WAITS, names::LOCK_WAITS_TABLE] {
                samples.push(MetricSample::level(name, "1", waiting));
            }
        }
        let cores = parameters.cores.map(f64::from);
        let nodes = cluster.nodes().iter_mut().enumerate();
        for (number, node) in nodes.take(NODES_LISTED) {
            let snapshot = node.snapshot(now);
            let of = |sample: MetricSample| sample.of(number.to_string());
            if let Some((occupied, cores)) = snapshot.occupied.zip(cores) {
                let busy = occupied.as_secs_f64() / cores;
                samples.push(of(MetricSample::seconds(names::CPU_BUSY, busy)));
            }
            samples.push(of(MetricSample::level(names::ACTIVE, "1", len_to_f64(snapshot.active))));
            if waiting_for_lock.is_none() {
                let waiting = len_to_f64(snapshot.waiting);
                samples.push(of(MetricSample::level(names::QUEUE, "1", waiting)));
            }
            // Without a limit, it never delays anything.
            let held = node.disk().is_some_and(|disk| disk.holds_back(now));
            let held = f64::from(u8::from(held));
            let busy = MetricSample::level(names::DISK_BUSY, units::SHARE, held);
            samples.push(of(busy));
            if let Some(disk) = node.disk() {
                let left = disk.credit_left(now);
                let left = MetricSample::level(names::DISK_CREDIT, units::SHARE, left);
                samples.push(of(left));
                let rows = to_f64(disk.rows());
                samples.push(of(MetricSample::count("disk_rows", "rows", rows)));
            }
        }
        Ok(samples)
    }
}

impl TelemetryReader for SimReader {
    fn read(&mut self) -> Response<'_, Vec<MetricSample>> {
        Box::pin(std::future::ready(self.samples()))
    }
}
