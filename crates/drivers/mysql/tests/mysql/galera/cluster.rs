//! The cluster shared by the tests, and targets on all of its nodes or on one.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use highwater_driver::Target;
use highwater_model::op::BoundWorkload;
use highwater_testing::galera::{Galera, skipped};
use highwater_testing::mariadb::SUPERUSER;

use crate::client::open;
use crate::points::points_of;
use crate::support::block_on;

static SHARED: Mutex<Weak<Galera>> = Mutex::new(Weak::new());
static LOCK: Mutex<()> = Mutex::new(());

/// The cluster, for one test at a time: running statements are distinguished only by user.
pub(crate) struct Exclusive {
    pub(crate) cluster: Arc<Galera>,
    _lock: MutexGuard<'static, ()>,
}

/// Waits for the cluster, which ends with the last waiting test; `None` if Galera is skipped.
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
    Some(Exclusive { cluster, _lock: LOCK.lock().unwrap_or_else(PoisonError::into_inner) })
}

/// Runs a test with the cluster, if available.
pub(crate) fn on_cluster(test: impl AsyncFnOnce(&Galera)) {
    if let Some(held) = exclusive() {
        let cluster: &Galera = &held.cluster;
        block_on(test(cluster));
    }
}

/// A target on all nodes; the first one that responds is used before and after the load.
pub(crate) fn everywhere(cluster: &Galera) -> Arc<dyn Target> {
    open(&cluster.url(SUPERUSER), None).unwrap()
}

/// A target on one node.
pub(crate) fn on(cluster: &Galera, node: usize, insert: Option<&str>) -> Arc<dyn Target> {
    open(&cluster.node(node).url(SUPERUSER), insert).unwrap()
}

/// Op 0 inserts into `points(k, word)`, op 1 reads one of its rows.
pub(crate) fn points() -> Arc<BoundWorkload> {
    points_of(
        "CREATE TABLE points (k INT PRIMARY KEY, word VARCHAR(20) NOT NULL) CHARACTER SET utf8mb4",
        "?1",
    )
}
