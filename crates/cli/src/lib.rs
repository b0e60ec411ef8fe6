//! The command line of Highwater: arguments, intents, commands, exit codes.
//!
//! The only crate that prints, exits, or handles colors. Must not measure. `main.rs` shows the architecture; everything
//! it calls is here, so that tests can call it too.

pub mod cluster_file;
pub mod commands;
pub mod exit;
mod faults;
pub mod figures;
pub mod grammar;
pub mod intent;
pub mod launchers;
pub mod layers;
pub mod line_streams;
pub mod live;
pub mod prepare;
pub mod progress;
pub mod secrets;
mod shares;
pub mod sources;
mod starting;
pub mod stored_files;
pub mod terminal;
pub mod variants;
pub mod workload_file;
