//! Runs a plan against a target and returns a record.
//!
//! Planner, pacer, the one worker loop, recorder, ledger, audit, telemetry, store. Names no database: it uses only the
//! driver contract.

mod audit;
pub mod canary;
pub mod ceilings;
pub mod control;
mod estimate;
mod executor;
mod faults;
pub mod holders;
mod kernel;
pub mod leases;
pub mod ledger;
pub mod meeting;
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
mod stop;
pub mod store;
pub mod stored_audit;
pub mod stored_shares;
mod table_setup;
mod target_polling;
pub mod telemetry;
mod time_limits;
mod worker;
