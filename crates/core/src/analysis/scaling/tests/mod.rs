//! Proofs of the laws, their fits and their predictions.

mod coverage;
mod fits;
mod predictions;
