//! The cluster that the tests share, and targets on all of its nodes or on one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use highwater_driver::{Driver, Target, TargetOptions, TargetUrl};
use highwater_driver_mysql::MySqlDriver;
use highwater_model::op::BoundWorkload;
use highwater_model::outcome::{Certainty, ErrorClass, Outcome};
use highwater_testing::galera::{Galera, skipped};
use highwater_testing::mariadb::SUPERUSER;

use crate::points::points_of;
use crate::support;

static SHARED: Mutex<Weak<Galera>> = Mutex::new(Weak::new());
static LOCK: Mutex<()> = Mutex::new(());

/// The cluster, for one test alone: what runs on it is told apart by the user only.
pub(crate) struct Exclusive {
    pub(crate) cluster: Arc<Galera>,
    _lock: MutexGuard<'static, ()>,
}

/// Waits for the cluster, which ends with the last test that waits for it; nothing if Galera is left out.
pub(crate) fn exclusive() -> Option<Exclusive> {
    if skipped() {
        return None;
    }
    let cluster = {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let cluster = Arc::new(Galera::start());
            *shared = Arc::downgrade(&cluster);
            cluster
        })
    };
    Some(Exclusive {
        cluster,
        _lock: LOCK.lock().unwrap_or_else(PoisonError::into_inner),
    })
}

/// A target on all nodes; what is around the load is asked of the first that answers.
pub(crate) fn everywhere(cluster: &Galera) -> Arc<dyn Target> {
    open(&cluster.url(SUPERUSER), None)
}

/// A target on one node.
pub(crate) fn on(cluster: &Galera, node: usize, insert: Option<&str>) -> Arc<dyn Target> {
    open(&cluster.node(node).url(SUPERUSER), insert)
}

fn open(url: &str, insert: Option<&str>) -> Arc<dyn Target> {
    let options = TargetOptions {
        insert: insert.map(str::to_owned),
        ..support::options()
    };
    let url = TargetUrl::parse(url).unwrap();
    MySqlDriver.open(&[url], &options).unwrap()
}

/// Op 0 inserts into `points(k, word)`, op 1 reads one of its rows.
pub(crate) fn points() -> Arc<BoundWorkload> {
    points_of(
        "CREATE TABLE points (k INT PRIMARY KEY, word VARCHAR(20) NOT NULL) CHARACTER SET utf8mb4",
        "?1",
    )
}

/// What an outcome says: number, class, certainty, whether the session goes on.
pub(crate) type Said = (Option<String>, ErrorClass, Certainty, bool);

pub(crate) fn said(outcome: &Outcome) -> Said {
    let error = outcome.error.clone().expect("an error");
    (
        error.code,
        error.class,
        outcome.certainty,
        outcome.session_usable,
    )
}
