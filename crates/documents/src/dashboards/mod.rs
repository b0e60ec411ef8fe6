//! Dashboards for Grafana, as data: from one description come the files under `grafana/dashboards`, which nobody
//! edits by hand, and the samples over which a test evaluates each of their queries, as far as it has no recordings
//! of real exporters.
//!
//! Must not query any server.

mod cockroachdb;
mod cratedb;
mod dashboard;
mod grafana;
mod highwater_history;
mod highwater_run;
mod postgresql;

pub use dashboard::{All, Choice, Dashboard, Panel, Shape, Unit};
pub use grafana::json;

/// All of them.
pub static ALL: &[&Dashboard] = &[
    &highwater_run::DASHBOARD,
    &highwater_history::DASHBOARD,
    &cratedb::ON_KUBERNETES,
    &cratedb::ON_MACHINES,
    &postgresql::DASHBOARD,
    &cockroachdb::DASHBOARD,
];
