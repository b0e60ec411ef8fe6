//! What is done beside a run. Must not know to what it is done.

use std::thread;
use std::time::Duration;

/// Looks, one each 50 ms, before a test gives up.
const LOOKS_MAX: u32 = 600;

/// Runs while something is done, which must come to its end, too.
pub(crate) fn beside<T>(act: impl FnOnce() + Send, run: impl FnOnce() -> T) -> T {
    thread::scope(|scope| {
        let acting = scope.spawn(act);
        let end = run();
        acting.join().unwrap();
        end
    })
}

/// Looks until it is so.
pub(crate) fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..LOOKS_MAX {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(50));
    }
    panic!("never came: {what}");
}
