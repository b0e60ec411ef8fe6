//! What the kernel says of this machine and its processes, and its real-time class for threads. Linux: from its process
//! files. Elsewhere both are absent, never invented. Must not judge it.

#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;
#[cfg(target_os = "linux")]
mod processes;

use highwater_driver::TelemetryReader;
use highwater_model::units::Nanos;
use serde::{Deserialize, Serialize};

#[cfg(target_os = "linux")]
pub(crate) use host::{quota_reader, reader};
#[cfg(target_os = "linux")]
pub(crate) use linux::*;
#[cfg(not(target_os = "linux"))]
pub(crate) use other::*;

/// CPU time that a database in this process has used.
pub(crate) type EmbeddedCpu = Box<dyn Fn() -> Nanos>;

/// Reads telemetry of this machine.
pub(crate) type MachineReader = Box<dyn TelemetryReader>;

/// Ticks of all processors of a machine since it was started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineTicks {
    /// Busy ticks.
    pub busy: u64,
    /// Ticks used by other virtual machines; absent if the kernel does not report them.
    pub stolen: Option<u64>,
    /// All of them.
    pub total: u64,
}
