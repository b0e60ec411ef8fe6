//! What the model says of itself: nodes with their cores, queues and disks, and what they refused.
//! Looking costs no simulated time.

use highwater_core::model::numbers::{len_to_f64, to_f64};

use super::View;
use super::node::stall_at;
use crate::contract::{BoxFuture, TargetError};
use crate::telemetry::{Reading, TelemetryReader, names};

/// Nodes that are told one by one; all others are as alike as these.
const NODES_TOLD: usize = 16;

/// Reads a cluster.
pub(super) struct SimReader(pub(super) View);

impl SimReader {
    fn readings(&self) -> Result<Vec<Reading>, TargetError> {
        let View {
            parameters,
            timeline,
            ..
        } = &self.0;
        let now = timeline.now();
        let mut cluster = self.0.alive()?;
        let rejected = cluster.planted().rejected_ops;
        let mut readings = vec![Reading::count(names::REJECTED, "1", to_f64(rejected))];
        if !parameters.stall.is_empty() {
            let stalled = stall_at(&parameters.stall, now).is_some();
            readings.push(Reading::level(
                "stalled",
                "share",
                f64::from(u8::from(stalled)),
            ));
        }
        let cores = parameters.cores.map(f64::from);
        let nodes = cluster.nodes().iter_mut().enumerate();
        for (number, node) in nodes.take(NODES_TOLD) {
            let look = node.look(now);
            let of = |reading: Reading| reading.of(number.to_string());
            if let Some((occupied, cores)) = look.occupied.zip(cores) {
                let busy = occupied.as_secs_f64() / cores;
                readings.push(of(Reading::seconds(names::CPU_BUSY, busy)));
            }
            readings.push(of(Reading::level(
                names::ACTIVE,
                "1",
                len_to_f64(look.active),
            )));
            readings.push(of(Reading::level(
                names::QUEUE,
                "1",
                len_to_f64(look.waiting),
            )));
            if let Some(disk) = node.disk() {
                let held = f64::from(u8::from(disk.holds_back(now)));
                readings.push(of(Reading::level(names::DISK_BUSY, "share", held)));
                let left = disk.credit_left(now);
                readings.push(of(Reading::level("disk_credit", "share", left)));
                let rows = to_f64(disk.rows());
                readings.push(of(Reading::count("disk_rows", "rows", rows)));
            }
        }
        Ok(readings)
    }
}

impl TelemetryReader for SimReader {
    fn read(&mut self) -> BoxFuture<'_, Result<Vec<Reading>, TargetError>> {
        Box::pin(std::future::ready(self.readings()))
    }
}
