//! Shared by the conformance tests of all drivers: real time, and options.

use std::rc::Rc;
use std::time::{Duration, Instant};

use highwater_driver::{BoxFuture, TargetOptions, Timeline};
use highwater_model::units::{Nanos, Seed};

/// Real time, as precise as the executor's timers.
pub struct WallTimeline {
    start: Instant,
}

impl WallTimeline {
    /// Starts now.
    #[expect(clippy::disallowed_methods, reason = "this is the tests' clock")]
    pub fn start() -> Rc<dyn Timeline> {
        Rc::new(Self { start: Instant::now() })
    }
}

impl Timeline for WallTimeline {
    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the tests' clock")]
    fn sleep_until(&self, deadline: Nanos) -> BoxFuture<'static, ()> {
        let wait = deadline.saturating_sub(self.now());
        // This also yields if the work has used up the executor's budget, as in a run.
        let sleep = tokio::time::sleep(Duration::from_nanos(wait.0));
        Box::pin(tokio::task::unconstrained(sleep))
    }
}

/// Options as of a run without flags.
pub fn options() -> TargetOptions {
    TargetOptions {
        insert: None,
        data_directory: None,
        leases_directory: None,
        application_name: "highwater conformance".to_owned(),
        seed: Seed(42),
        connect_timeout: Nanos::from_secs(10),
    }
}

/// Runs a future that need not be `Send`, on this thread.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
