//! A system whose kernel has no process files: nothing is known, and threads stay in the normal class.

use std::future::ready;

use highwater_driver::telemetry::LimitedNode;
use highwater_driver::{BoxFuture, Listener, MetricSample, TelemetryReader};
use highwater_model::user_error::UserError;

use super::{EmbeddedCpu, MachineReader, MachineTicks};

pub(crate) const fn machine_ticks() -> Option<MachineTicks> {
    None
}

pub(crate) const fn resident_bytes() -> [u64; 2] {
    [0, 0]
}

pub(crate) const fn memory_bytes() -> Option<u64> {
    None
}

pub(crate) const fn processor() -> Option<String> {
    None
}

pub(crate) const fn process_space() -> Option<String> {
    None
}

pub(crate) const fn process_start(_process: u32) -> Option<u64> {
    None
}

pub(crate) const fn enter_real_time() -> Option<bool> {
    None
}

pub(crate) const fn leave_real_time() -> bool {
    true
}

pub(crate) fn reader(
    _listeners: &[Listener],
    _embedded_cpu: Option<EmbeddedCpu>,
) -> Option<MachineReader> {
    None
}

pub(crate) fn quota_reader(_nodes: &[LimitedNode]) -> MachineReader {
    Box::new(Nothing)
}

struct Nothing;

impl TelemetryReader for Nothing {
    fn read(&mut self) -> BoxFuture<'_, Result<Vec<MetricSample>, UserError>> {
        Box::pin(ready(Ok(Vec::new())))
    }
}
