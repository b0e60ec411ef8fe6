//! The commands, one module each: grammar and implementation.

pub(crate) mod audit;
pub(crate) mod check;
mod clean;
mod cluster;
pub(crate) mod compare;
mod faults;
pub(crate) mod find;
mod import;
pub mod manual;
pub(crate) mod run;
pub(crate) mod scale;
mod serve;
pub(crate) mod show;
mod size;
mod table;
mod tables;
pub(crate) mod tune;
mod workloads;

use crate::grammar::CommandSpec;

/// All commands, in the order of the help.
pub static ALL: &[&CommandSpec] = &[
    &manual::DEMO_COMMAND,
    &run::COMMAND,
    &run::LOAD_COMMAND,
    &find::COMMAND,
    &tune::COMMAND,
    &scale::COMMAND,
    &faults::COMMAND,
    &show::COMMAND,
    &serve::COMMAND,
    &audit::COMMAND,
    &compare::COMMAND,
    &import::COMMAND,
    &size::COMMAND,
    &table::COMMAND,
    &check::COMMAND,
    &cluster::COMMAND,
    &workloads::COMMAND,
    &tables::COMMAND,
    &clean::COMMAND,
];
