//! Faults planted inside real databases: every one is found and named, and no other.

pub(crate) mod database;
mod levels;
mod named;
mod own_sql;
mod plans;
mod planted;
mod proxy;
mod random;
mod replacing;
mod simulated;
mod tampered;
mod terms;
mod wire;
mod wire_faults;
