//! SQLite, bundled and in this process: the target that needs nothing installed.
//!
//! SQLite blocks, so each session (and the admin) owns a connection on a separate OS thread, with which the executor
//! communicates over channels of capacity 1. The CPU time of these threads counts as the database's. SQLite has one
//! writer at a time: writing sessions of one target queue in a fair lock, so that no back-off of SQLite distorts the
//! measurement. SQLite's own busy timeout applies to other processes.
//!
//! Values are stored as follows: timestamps as INTEGER milliseconds, booleans as 0 and 1, objects as JSON text. A batch
//! is one transaction: all of its rows or none.
//!
//! Must not block an executor's thread.

mod admin;
mod audit;
mod database;
mod describe;
mod error;
mod settings;
mod statements;
mod thread;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use highwater_driver::contract::{Driver, Target, TargetOptions};
use highwater_driver::target_url::TargetUrl;
use highwater_model::user_error::UserError;

/// The driver of `sqlite:PATH`.
#[derive(Debug, Clone, Copy)]
pub struct SqliteDriver;

impl Driver for SqliteDriver {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["sqlite"]
    }

    fn summary(&self) -> &'static str {
        "SQLite inside this process, one writer at a time, e.g. sqlite:bench.db?synchronous=full"
    }

    fn default_url(&self) -> Option<&'static str> {
        Some("sqlite:")
    }

    fn open(
        &self,
        urls: &[TargetUrl],
        options: &TargetOptions,
    ) -> Result<Arc<dyn Target>, UserError> {
        let settings = settings::Settings::new(urls, options)?;
        let database = Arc::new(database::Database::new(settings));
        Ok(Arc::new(database::SqliteTarget { database }))
    }
}
