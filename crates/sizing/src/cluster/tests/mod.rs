//! Tests of the sizing arithmetic, on the published series and on synthetic clusters.

mod decisions;
mod firmness;
mod plans;
