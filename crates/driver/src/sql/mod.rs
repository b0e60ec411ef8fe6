//! SQL that several drivers share: dialects, quoting, the audit's statements, the description of a
//! table, and table settings.
//!
//! Must not do I/O: a driver passes its connection as a [`describe::SqlQuery`], or sends the
//! statements itself.

pub(crate) mod answer_limit;
pub(crate) mod audit;
pub(crate) mod condition;
pub(crate) mod cratedb_describe;
pub(crate) mod cratedb_telemetry;
pub(crate) mod describe;
pub(crate) mod dialect;
pub(crate) mod leases;
pub(crate) mod quoting;
pub(crate) mod with_clause;
