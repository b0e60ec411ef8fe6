//! SQL shared by several drivers: operations before and after a load, dialects, quoting, the audit's statements, table
//! descriptions, and table settings.
//!
//! Must not do I/O: a driver passes its wire as a [`connection::TextWire`] or its connection as a
//! [`connection::SqlQuery`], or sends the statements itself.

pub mod admin;
pub mod audit;
pub mod connection;
pub mod cratedb;
pub mod dialect;
pub mod facts;
pub mod leases;
pub mod tables;
pub mod with_clause;
