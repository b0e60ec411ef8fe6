//! From the text of a workload file to its definition; all errors are collected.
//!
//! What must not be here: rows, ops and SQL; a definition is data.

mod data_time;
mod distribution;
mod entity;
mod field;
mod file;
mod file_parameters;
mod generator;
mod invariant;
mod keys;
pub(super) mod kinds;
mod names;
mod op;
mod parts;
mod plain;
mod query_parameter;
mod reference;
mod section;
mod statement;
mod table;
mod writes;

pub(super) use distribution::DISTRIBUTIONS;
pub(super) use file::read;
