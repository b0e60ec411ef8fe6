//! Acts during a run. Must not know the target.

use std::thread;
use std::time::Duration;

/// Maximum checks, 50 ms apart, before a test fails.
const LOOKS_MAX: u32 = 600;

/// Runs during another action, which must also complete.
pub(crate) fn beside<T>(act: impl FnOnce() + Send, run: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let acting = scope.spawn(act);
        let end = run();
        acting.join().unwrap();
        end
    })
}

/// Waits until a condition is true.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..LOOKS_MAX {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("never came: {what}");
}
