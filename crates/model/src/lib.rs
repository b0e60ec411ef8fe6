//! The nouns: plain data with public fields, each with one producer.
//!
//! `Plan → Op → Outcome → IntervalRecord → Record`; ARCHITECTURE.md describes the path. Everything is a pure function
//! of its arguments: no I/O, clock, async, or global randomness.

pub mod audit_record;
pub mod cluster;
pub mod control;
pub mod display;
pub mod event;
pub mod fault;
pub mod group;
pub mod histogram;
pub mod json;
pub mod judgment;
pub mod limit;
pub mod literal;
mod named;
pub mod numbers;
pub mod op;
pub mod outcome;
pub mod plan;
pub mod quantity;
pub mod record;
pub mod run_record;
pub mod scale;
pub mod search;
pub mod stored;
pub mod table_shape;
pub mod target_telemetry;
pub mod transaction;
pub mod tune;
pub mod units;
pub mod user_error;
