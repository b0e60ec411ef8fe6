//! What a key of the recorder stands for: a phase, a stream and an op. Must not count anything.

use super::key_stats::RowWait;

/// What the recorder must know of a (phase, stream, op).
#[derive(Debug, Clone, PartialEq)]
pub struct KeyPlan {
    /// Position of the phase.
    pub phase: usize,
    /// Position of the stream.
    pub stream: usize,
    /// Position of the op in the workload.
    pub op: usize,
    /// Whether it belongs to a measured phase.
    pub measured: bool,
    /// In open load of rows: how its rows wait for their batch.
    pub row_wait: Option<RowWait>,
}
