//! The command line of Highwater: arguments, intents, commands, exit codes.
//!
//! The only crate that prints, exits, or handles colors. Must not measure. `main.rs` shows the architecture; everything
//! it calls is here, so that tests can call it too.

pub mod ceiling;
pub mod cluster_file;
pub mod commands;
pub mod control;
pub mod error_text;
pub mod event_log;
pub mod exit;
pub mod figures;
pub mod grammar;
pub mod intent;
pub mod invocation;
pub mod layers;
pub mod live;
pub mod output_file;
pub mod prepare;
pub mod process_title;
pub mod progress;
pub mod prompt;
pub mod running_cluster;
pub mod screen;
pub mod secret_variables;
pub mod sources;
mod starting;
pub mod terminal;
mod trust;
pub mod tuned;
pub mod variants;
pub mod workload_file;
