//! Runs a plan against a target and returns a record.
//!
//! Planner, pacer, the one worker loop, recorder, ledger, audit, telemetry, store. Names no database: it uses only the
//! driver contract.

mod audit;
mod binding;
pub mod canary;
pub mod ceilings;
pub mod control;
mod deadline;
mod disk_guard;
mod earlier;
mod empty_responses;
mod estimate;
mod executor;
mod feed;
pub mod intervention;
pub mod leases;
pub mod ledger;
mod misses;
pub mod pacer;
mod pass;
pub mod planner;
pub mod record;
pub mod recorder;
pub mod request;
pub mod run;
pub mod schedule;
mod sessions;
pub mod source;
mod stalls;
mod stop;
pub mod store;
pub mod stored_audit;
mod table_setup;
mod target_polling;
pub mod telemetry;
mod thread_record;
mod watchdog;
mod worker;
