//! Highwater's guarantees, proved by whole runs against a simulated cluster whose behavior is known in closed form. One
//! program, so that it is linked once.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

#[path = "../independent/mod.rs"]
mod independent;
#[path = "../support/mod.rs"]
mod support;

mod actions;
mod combined;
mod endings;
mod faults;
mod interventions;
mod outages;
mod percentiles;
mod queues;
mod recovery;
mod reported;
mod reports_so_far;
mod rules;
mod same_bytes;
mod second_simulation;
mod shares;
mod so_far;
mod stall;
mod stopping;
mod telemetry;
mod think_time;
mod warming;
mod witness;
