//! Proofs of the sizing arithmetic, on the published series and on clusters that are made up.

mod decisions;
mod plans;
