//! From the text of a workload file to its definition; all errors are collected. Must not hold rows, ops, or SQL; a
//! definition is data.

mod data_time;
mod entity;
mod file;
mod file_parameters;
mod invariant;
mod op;
mod statement;
mod stream;
mod table;
mod writes;

pub(super) use file::read;
