//! The connection of an audit: while the target is away it waits, and what the target refuses for
//! now it requests again, with growing waits. The audit's time limit ends both.
//!
//! What must not be here: what is compared, and the limit itself.

use std::rc::Rc;

use highwater_driver::{
    Admin, KeyCounts, RowTaker, Target, TargetError, TargetErrorKind, Timeline,
};
use highwater_model::event::{AuditStage, Part};
use highwater_model::op::BoundTable;
use highwater_model::stored::KeyRange;
use highwater_model::units::Nanos;

use super::progress::AuditProgressReporter;
use crate::deadline::within;

/// An admin connection that does not respond to the simplest query in this time is replaced.
const RESPONSE_LIMIT: Nanos = Nanos::from_secs(10);
/// First wait before a request is repeated …
const PAUSE_MIN: Nanos = Nanos::from_millis(250);
/// … and the longest one.
const PAUSE_MAX: Nanos = Nanos::from_secs(10);

/// Growing waits between repetitions.
#[derive(Debug, Default)]
pub(super) struct Waits(u32);

impl Waits {
    fn next(&mut self) -> Nanos {
        let pause = Nanos(PAUSE_MIN.0 << self.0.min(16));
        self.0 += 1;
        pause.min(PAUSE_MAX)
    }
}

/// An admin that outlasts the target's absence.
pub(super) struct PatientAdmin<'a> {
    pub(super) admin: &'a mut Box<dyn Admin>,
    target: &'a dyn Target,
    timeline: &'a Rc<dyn Timeline>,
    progress: &'a AuditProgressReporter<'a>,
    /// The target has not responded since it was last requested.
    away: bool,
}

impl<'a> PatientAdmin<'a> {
    pub(super) fn new(
        admin: &'a mut Box<dyn Admin>,
        target: &'a dyn Target,
        timeline: &'a Rc<dyn Timeline>,
        progress: &'a AuditProgressReporter<'a>,
    ) -> Self {
        Self {
            admin,
            target,
            timeline,
            progress,
            away: false,
        }
    }

    /// Whether the target was away when the audit ended.
    pub(super) fn is_away(&self) -> bool {
        self.away
    }

    /// Waits until the target responds; it may have gone in mid-run, with this connection.
    pub(super) async fn until_present(&mut self) -> Result<(), TargetError> {
        let mut waits = Waits::default();
        let mut stage = None;
        let ended = loop {
            match self.renew().await {
                Err(error) if is_transient(&error) => {
                    self.away = true;
                    let error = error.to_string();
                    if stage.is_none() {
                        let error = error.clone();
                        self.progress.announce(Part::AuditWaiting { error });
                    }
                    let before = self.progress.wait(AuditStage::WaitingForTarget { error });
                    stage.get_or_insert(before);
                    self.sleep(waits.next()).await;
                }
                ended => break ended,
            }
        };
        self.away = false;
        if let Some(stage) = stage {
            self.progress.resume(stage);
        }
        ended
    }

    /// Keeps the connection if it responds, or replaces it: the target may answer on another host.
    async fn renew(&mut self) -> Result<(), TargetError> {
        let idle = self.admin.quiesce(Nanos::ZERO);
        if let Some(Ok(_)) = within(RESPONSE_LIMIT, self.timeline.as_ref(), idle).await {
            return Ok(());
        }
        *self.admin = self.target.administer(Rc::clone(self.timeline)).await?;
        Ok(())
    }

    /// After a refusal: waits where it may pass, or returns it.
    pub(super) async fn recover(
        &mut self,
        error: TargetError,
        waits: &mut Waits,
    ) -> Result<(), TargetError> {
        if !is_transient(&error) {
            return Err(error);
        }
        let error = error.to_string();
        self.pause(AuditStage::Repeating { error }, waits).await;
        self.until_present().await
    }

    /// Waits before the next attempt, and shows why.
    pub(super) async fn pause(&self, why: AuditStage, waits: &mut Waits) {
        let stage = self.progress.wait(why);
        self.sleep(waits.next()).await;
        self.progress.resume(stage);
    }

    async fn sleep(&self, pause: Nanos) {
        let until = self.timeline.now().saturating_add(pause);
        self.timeline.sleep_until(until).await;
    }

    /// Asks until there is an answer, or a refusal that stays.
    pub(super) async fn ask<T>(
        &mut self,
        mut ask: impl AsyncFnMut(&mut dyn Admin) -> Result<T, TargetError>,
    ) -> Result<T, TargetError> {
        let mut waits = Waits::default();
        loop {
            match ask(self.admin.as_mut()).await {
                Err(error) => self.recover(error, &mut waits).await?,
                done => return done,
            }
        }
    }

    pub(super) async fn count_by_key(
        &mut self,
        table: &BoundTable,
        width: u64,
    ) -> Result<KeyCounts, TargetError> {
        self.ask(async |admin| admin.count_by_key(table, width).await)
            .await
    }

    /// Once only: a reader knows by itself what it has to forget before it reads again.
    pub(super) async fn read_rows(
        &mut self,
        table: &BoundTable,
        ranges: &[KeyRange],
        take: &mut RowTaker<'_>,
    ) -> Result<(), TargetError> {
        self.admin.read_rows(table, ranges, take).await
    }
}

/// Whether the same request may succeed later: the target is away, or has no room for it now.
pub(super) fn is_transient(error: &TargetError) -> bool {
    error.kind == TargetErrorKind::Unreachable
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_ten_seconds() {
        let mut waits = Waits::default();
        let ms: Vec<u64> = (0..8).map(|_| waits.next().0 / 1_000_000).collect();
        assert_eq!(ms, [250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    }
}
