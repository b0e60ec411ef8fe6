//! Each command: carries out its settings and returns the exit code. Must not parse arguments.

pub mod audit;
pub mod check;
mod check_figures;
pub mod compare;
pub mod demo;
mod facts;
pub mod find;
pub mod import;
pub mod manual;
mod plan_input;
mod probes;
pub mod repeat;
pub mod run;
pub mod show;
pub mod size;
pub mod table;
pub mod tune;
pub mod workloads;
