//! The nouns of Highwater, its workloads, its analysis and its reports.
//!
//! Everything here is a pure function of its arguments: no I/O, no clock, no async, no global
//! randomness. Equal records give equal bytes.

pub mod analysis;
pub mod mistake;
pub mod model;
pub mod report;
pub mod workload;
