//! Watches the target's free disk space while a run writes.
//!
//! It queries during the load, on the otherwise idle connection: once a second, or more often if a second could fill
//! the disk. It never touches an op. Must not handle the run that it stops.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use futures_util::future::pending;
use highwater_driver::{Admin, DiskSpace, Timeline};
use highwater_model::display::bytes;
use highwater_model::units::Nanos;

use crate::deadline::within;
use crate::estimate::{must_stop, reserve};

/// Maximum and minimum time between two checks.
const LOOK_EVERY: (Nanos, Nanos) = (Nanos::from_secs(1), Nanos::from_millis(20));
/// Assumed maximum write rate of a target, bytes per second: four times that of a fast disk. Free space lasts for four
/// checks.
const BYTES_PER_SECOND: u64 = 4 << 30;
/// Time limit for a pending response after the run.
const ANSWER_LIMIT: Nanos = Nanos::from_secs(5);
/// Consecutive checks without a response after which the guard stops checking.
const SILENT_MAX: u32 = 5;

/// A watch, and whether one of its queries is pending.
#[derive(Default)]
pub(crate) struct Watch {
    is_measuring: Cell<bool>,
    over: Cell<bool>,
}

impl Watch {
    /// Completes with a sentence for the reader when the disk would soon be full, or without one when the watch is
    /// over. Never completes if the target does not report, or stops responding.
    pub(crate) async fn full(
        &self,
        admin: &mut dyn Admin,
        space: Option<DiskSpace>,
        timeline: &Rc<dyn Timeline>,
    ) -> Option<String> {
        let Some(mut before) = space else {
            return pending().await;
        };
        let mut silent = 0;
        while silent < SILENT_MAX {
            let pause = pause(&before);
            timeline.sleep_until(timeline.now().saturating_add(pause)).await;
            self.is_measuring.set(true);
            let answer = admin.disk().await;
            self.is_measuring.set(false);
            if self.over.get() {
                return None;
            }
            let Ok(Some(now)) = answer else {
                silent += 1;
                continue;
            };
            silent = 0;
            if must_stop(&now, &before) {
                return Some(format!(
                    "{} of {} are free at {}; {} are kept free",
                    bytes(now.free_bytes),
                    bytes(now.total_bytes),
                    now.place,
                    bytes(reserve(now.total_bytes))
                ));
            }
            before = now;
        }
        pending().await
    }

    /// Ends the watch. False if a query got no response: its late response would be taken for the next query's, so the
    /// connection is unusable.
    pub(crate) async fn end<T>(
        &self,
        watching: impl Future<Output = T> + Unpin,
        timeline: &Rc<dyn Timeline>,
    ) -> bool {
        if !self.is_measuring.get() {
            return true;
        }
        self.over.set(true);
        let answered = within(ANSWER_LIMIT, timeline.as_ref(), watching).await;
        answered.is_some()
    }
}

/// The wait before the next check: a small disk is full within a second.
fn pause(space: &DiskSpace) -> Nanos {
    let room = space.free_bytes.saturating_sub(reserve(space.total_bytes));
    let whole_seconds = room / BYTES_PER_SECOND;
    let rest = room % BYTES_PER_SECOND * Nanos::SECOND.0 / BYTES_PER_SECOND;
    let lasts = Nanos(whole_seconds.saturating_mul(Nanos::SECOND.0).saturating_add(rest));
    lasts.clamp(LOOK_EVERY.1, LOOK_EVERY.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_that_a_second_could_fill_is_looked_at_more_often() {
        for (free, total, millis) in [
            (30 << 20, 30 << 20, 20),
            (1 << 30, 1 << 30, 237),
            (100 << 30, 1 << 40, 1_000),
            (0, 30 << 20, 20),
        ] {
            let space = DiskSpace { place: String::new(), free_bytes: free, total_bytes: total };
            assert_eq!(pause(&space).0 / 1_000_000, millis, "{free} of {total}");
        }
    }
}
