//! Whole runs through the program: what is printed, kept and returned, and how they end.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

mod availability;
mod called;
mod checking;
mod clickhouse;
mod clusters;
mod comparing;
mod comparing_growths;
mod continuing;
mod control;
mod demonstrating;
mod endings;
mod events;
mod exit_codes;
mod finding;
mod foreign;
mod growing;
mod growing_long;
mod importing;
mod input_errors;
mod invariants;
mod leases;
mod literals;
mod live;
mod on_clusters;
mod outputs;
mod own;
mod own_sql;
mod proxy;
mod pseudo;
mod repeating;
mod scaling;
mod secrets;
mod servers;
mod shares;
mod sketching;
mod stage;
mod stopping;
mod stored_audits;
mod telemetry;
mod transfers;
mod traps;
mod tuning;
mod validity;
mod watching;
