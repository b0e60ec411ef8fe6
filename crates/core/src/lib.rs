//! The nouns of Highwater, its workloads, its analysis and its reports, and what other tools wrote.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no async, no global
//! randomness. Equal records give equal bytes.

pub mod analysis;
pub mod import;
pub mod input_error;
pub mod model;
pub mod report;
pub mod workload;
