//! The watch over the target's disk while a run writes.
//!
//! It asks beside the load, on the connection that is idle then, once a second; it never touches an
//! op. What must not be here: what becomes of a run that it stops.

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;

use futures_util::future::{Either, pending, select};
use highwater_core::model::display::bytes;
use highwater_core::model::units::Nanos;
use highwater_driver::{Admin, DiskSpace, Timeline};

use crate::estimate::{must_stop, reserve};

/// Between two looks.
const LOOK_EVERY: Nanos = Nanos::from_secs(1);
/// How long an answer is waited for when the run is over.
const ANSWER_LIMIT: Nanos = Nanos::from_secs(5);
/// Looks in a row without an answer, after which nobody looks any more.
const SILENT_MAX: u32 = 5;

/// A watch, and whether a question of it is on its way.
#[derive(Default)]
pub(crate) struct Watch {
    is_measuring: Cell<bool>,
    over: Cell<bool>,
}

impl Watch {
    /// Completes, with a sentence for the reader, when the disk would soon be full; without one
    /// when it is over; never, where the target does not tell, or does not answer any more.
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
            timeline
                .sleep_until(timeline.now().saturating_add(LOOK_EVERY))
                .await;
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

    /// Ends the watch; false if a question got no answer, which would be taken for that to the next
    /// one: the connection is of no use any more.
    pub(crate) async fn end<T>(
        &self,
        watching: impl Future<Output = T> + Unpin,
        timeline: &Rc<dyn Timeline>,
    ) -> bool {
        if !self.is_measuring.get() {
            return true;
        }
        self.over.set(true);
        let limit = timeline.sleep_until(timeline.now().saturating_add(ANSWER_LIMIT));
        matches!(select(watching, limit).await, Either::Left(_))
    }
}
