//! Runs a plan against a target and returns a record.
//!
//! Planner, pacer, the one worker loop, recorder, ledger, audit, telemetry, store. Knows no
//! database by name: it talks to the driver contract only.

pub mod clock;
