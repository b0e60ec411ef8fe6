//! Real databases for tests: started on loopback in a directory of their own, ended by process id.
//!
//! A development dependency only; the product never links it.

pub mod postgres;
