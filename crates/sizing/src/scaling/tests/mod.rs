//! Proofs of the models, their fits and their predictions.

mod coverage;
mod fits;
mod predictions;
