//! A server that the tests of this file share while any of them runs, each with a separate database and application
//! name; and runs against it.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use highwater_driver::{Target, TargetOptions};
use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::UserError;
use highwater_runner::run::RunEnd;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::beside::wait_for;
use crate::support::{Job, try_run_on};

static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());

/// A database for one test.
pub(crate) struct Database {
    pub(crate) server: Arc<Postgres>,
    pub(crate) name: &'static str,
}

impl Database {
    /// On the shared server, which ends with the last test that holds it; `None` if it is skipped.
    pub(crate) fn new(name: &'static str) -> Option<Self> {
        if skipped() {
            return None;
        }
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let server = shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Postgres::start());
            *shared = Arc::downgrade(&server);
            server
        });
        server.sql("postgres", &format!("CREATE DATABASE {name}"));
        Some(Self { server, name })
    }

    pub(crate) fn sql(&self, text: &str) -> String {
        self.server.sql(self.name, text)
    }

    pub(crate) fn number(&self, text: &str) -> u64 {
        self.sql(text).parse().unwrap()
    }

    pub(crate) fn url(&self) -> String {
        self.server.url(SUPERUSER, self.name)
    }

    /// Waits until the query returns `t`.
    pub(crate) fn wait_for(&self, condition: &str) {
        wait_for(condition, || self.sql(condition) == "t");
    }

    /// Waits until the table has this many rows of a load; it may not exist yet.
    pub(crate) fn wait_for_rows(&self, rows: u64) {
        self.wait_for("SELECT to_regclass('highwater_tables') IS NOT NULL");
        self.wait_for("SELECT count(*) > 0 FROM highwater_tables WHERE writing");
        self.wait_for(&format!("SELECT count(*) >= {rows} FROM cpu"));
    }

    /// The target with this insert mode.
    pub(crate) fn target(&self, insert: Option<&str>) -> Arc<dyn Target> {
        target(&[self.url()], self.name, insert)
    }

    pub(crate) fn run(&self, job: &Job) -> RunEnd {
        try_run(job, self.target(None), false).unwrap()
    }
}

/// A target at several URLs, whose sessions have that application name.
pub(crate) fn target(urls: &[String], name: &str, insert: Option<&str>) -> Arc<dyn Target> {
    let options = TargetOptions {
        insert: insert.map(str::to_owned),
        data_directory: None,
        leases_directory: None,
        application_name: name.to_owned(),
        seed: Seed(42),
        connect_timeout: Nanos::from_secs(5),
    };
    highwater_drivers::open(urls, &options).unwrap()
}

/// Runs, with `--drop` or without.
pub(crate) fn try_run(job: &Job, target: Arc<dyn Target>, drop: bool) -> Result<RunEnd, UserError> {
    let root = tempfile::tempdir().unwrap();
    let job = Job { drop_tables: drop, ..job.clone() };
    try_run_on(&job, target, root.path())
}
