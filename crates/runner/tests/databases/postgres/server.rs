//! A server that the tests of this file share while any of them runs, each in a database and
//! under an application name of its own; and runs against it.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use highwater_driver::{Target, TargetOptions};
use highwater_model::units::{Nanos, Seed};
use highwater_runner::interrupts;
use highwater_runner::observer::Silent;
use highwater_runner::run::{RunEnd, RunError, run};
use highwater_testing::postgres::{Postgres, SUPERUSER};

use crate::support::Job;

static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());

/// Looks at the server, one each 20 ms, before a test gives up.
const LOOKS_MAX: u32 = 1_500;

/// A database for one test.
pub(crate) struct Database {
    pub(crate) server: Arc<Postgres>,
    pub(crate) name: &'static str,
}

impl Database {
    /// On the shared server, which ends with the last test that holds it.
    pub(crate) fn new(name: &'static str) -> Self {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let server = shared.upgrade().unwrap_or_else(|| {
            let server = Arc::new(Postgres::start());
            *shared = Arc::downgrade(&server);
            server
        });
        server.sql("postgres", &format!("CREATE DATABASE {name}"));
        Self { server, name }
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

    /// Looks until the query answers `t`.
    pub(crate) fn wait_for(&self, condition: &str) {
        wait_for(condition, || self.sql(condition) == "t");
    }

    /// Looks until so many rows are in the table; it may not be there yet.
    pub(crate) fn wait_for_rows(&self, rows: u64) {
        self.wait_for("SELECT to_regclass('cpu') IS NOT NULL");
        self.wait_for(&format!("SELECT count(*) >= {rows} FROM cpu"));
    }

    /// The target, with that insert mode.
    pub(crate) fn target(&self, insert: Option<&str>) -> Arc<dyn Target> {
        target(&[self.url()], self.name, insert)
    }

    pub(crate) fn run(&self, job: &Job) -> RunEnd {
        try_run(job, self.target(None), false).unwrap()
    }
}

/// Looks until it is so.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..LOOKS_MAX {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("never came: {what}");
}

/// A target at several URLs, whose sessions have that application name.
pub(crate) fn target(urls: &[String], name: &str, insert: Option<&str>) -> Arc<dyn Target> {
    let options = TargetOptions {
        insert: insert.map(str::to_owned),
        data_directory: None,
        application_name: name.to_owned(),
        seed: Seed(42),
        connect_timeout: Nanos::from_secs(5),
    };
    highwater_drivers::open(urls, &options).unwrap()
}

/// Runs, with `--drop` or without.
pub(crate) fn try_run(job: &Job, target: Arc<dyn Target>, drop: bool) -> Result<RunEnd, RunError> {
    let root = tempfile::tempdir().unwrap();
    let (_keep, interrupts) = interrupts::channel();
    let mut request = job.request(target, root.path());
    request.drop_tables = drop;
    run(request, Rc::new(Silent), interrupts)
}
