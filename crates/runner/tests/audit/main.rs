//! Faults planted inside real databases: every one is found and named, and no other.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails where it finds something else"
)]

mod levels;
mod named;
mod own_sql;
mod plans;
mod proxy;
mod random;
mod replacing;
mod simulated;
#[path = "../support/mod.rs"]
mod support;
mod tampered;
mod terms;
mod wire;
mod wire_faults;
