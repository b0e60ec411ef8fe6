//! The audit's connection: it waits while the target is away, and retries temporary refusals with growing waits. The
//! audit's time limit ends both.
//!
//! Must not contain comparisons, or the limit itself.

use std::rc::Rc;

use highwater_driver::{Admin, KeyCounts, RowTaker, Target, Timeline};
use highwater_model::audit_record::ExhaustedStatements;
use highwater_model::event::{AuditStage, Part};
use highwater_model::op::BoundTable;
use highwater_model::stored::KeyRange;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::AuditProgressReporter;
use crate::time_limits::within;

/// An admin connection that does not respond to the simplest query in this time is replaced.
const RESPONSE_LIMIT: Nanos = Nanos::from_secs(10);
/// First wait before a request is repeated …
const PAUSE_MIN: Nanos = Nanos::from_millis(250);
/// … and the longest one.
const PAUSE_MAX: Nanos = Nanos::from_secs(10);

/// How often the idle check is repeated if the target lacked resources for it: others must release theirs first.
const POLLS_MAX: u32 = 8;

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
    /// The target has not responded since the last request.
    away: bool,
    /// The statement for which the target lacked resources.
    pub(super) exhausted: Option<ExhaustedStatements>,
}

/// What to do after a statement for which the target lacked resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Send a smaller one.
    Smaller,
    /// Send the same query again, a few times: its next response may differ.
    Poll,
    /// Stop: it cannot be split further, and is not resent unchanged.
    Nothing,
}

impl Next {
    /// The next step for a statement that can or cannot be split.
    pub(super) fn smaller_if(is_parted: bool) -> Self {
        if is_parted { Self::Smaller } else { Self::Nothing }
    }
}

impl<'a> PatientAdmin<'a> {
    pub(super) fn new(
        admin: &'a mut Box<dyn Admin>,
        target: &'a dyn Target,
        timeline: &'a Rc<dyn Timeline>,
        progress: &'a AuditProgressReporter<'a>,
    ) -> Self {
        Self { admin, target, timeline, progress, away: false, exhausted: None }
    }

    /// Whether the target was away when the audit ended.
    pub(super) fn is_away(&self) -> bool {
        self.away
    }

    /// Waits until the target responds. It may have become unreachable during the run, which ends
    /// this connection.
    pub(super) async fn until_present(&mut self) -> Result<(), UserError> {
        let mut waits = Waits::default();
        let mut stage = None;
        let ended = loop {
            match self.renew().await {
                Err(error) if error.may_pass() => {
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

    /// Keeps the connection if it responds; otherwise replaces it, perhaps on another host.
    async fn renew(&mut self) -> Result<(), UserError> {
        let idle = self.admin.quiesce(Nanos::ZERO);
        if let Some(Ok(_)) = within(RESPONSE_LIMIT, self.timeline.as_ref(), idle).await {
            return Ok(());
        }
        *self.admin = self.target.administer(Rc::clone(self.timeline)).await?;
        Ok(())
    }

    /// After a refusal: waits if it may pass; otherwise returns it. A statement for which the target lacked resources
    /// is not resent unchanged.
    pub(super) async fn recover(
        &mut self,
        error: UserError,
        waits: &mut Waits,
        next: Next,
    ) -> Result<(), UserError> {
        let is_exhausted = error.kind == UserErrorKind::Exhausted;
        if is_exhausted {
            let ended = match next {
                Next::Smaller => false,
                Next::Poll => waits.0 >= POLLS_MAX,
                Next::Nothing => true,
            };
            let exhausted = self.exhausted.get_or_insert_default();
            exhausted.statements += 1;
            exhausted.error = error.to_string();
            exhausted.ended = ended;
        }
        let has_ended = self.exhausted.as_ref().is_some_and(|of| of.ended);
        if !error.may_pass() || has_ended {
            return Err(error);
        }
        let error = error.to_string();
        let why = if is_exhausted && next == Next::Smaller {
            AuditStage::Shrinking { error }
        } else {
            AuditStage::Repeating { error }
        };
        self.pause(why, waits).await;
        self.until_present().await
    }

    /// Waits before the next attempt, and shows the reason.
    pub(super) async fn pause(&self, why: AuditStage, waits: &mut Waits) {
        let stage = self.progress.wait(why);
        self.sleep(waits.next()).await;
        self.progress.resume(stage);
    }

    async fn sleep(&self, pause: Nanos) {
        let until = self.timeline.now().saturating_add(pause);
        self.timeline.sleep_until(until).await;
    }

    /// Retries until there is a response or a permanent refusal.
    pub(super) async fn ask<T>(
        &mut self,
        ask: impl AsyncFnMut(&mut dyn Admin) -> Result<T, UserError>,
    ) -> Result<T, UserError> {
        self.ask_or(ask, Next::Nothing).await
    }

    /// Waits until the target is idle, at most until `deadline`; returns whether it is.
    pub(super) async fn quiesce(&mut self, deadline: Nanos) -> Result<bool, UserError> {
        let poll = async |admin: &mut dyn Admin| admin.quiesce(deadline).await;
        self.ask_or(poll, Next::Poll).await
    }

    async fn ask_or<T>(
        &mut self,
        mut ask: impl AsyncFnMut(&mut dyn Admin) -> Result<T, UserError>,
        next: Next,
    ) -> Result<T, UserError> {
        let mut waits = Waits::default();
        loop {
            match ask(self.admin.as_mut()).await {
                Err(error) => self.recover(error, &mut waits, next).await?,
                done => return done,
            }
        }
    }

    pub(super) async fn count_by_key(
        &mut self,
        table: &BoundTable,
        width: u64,
    ) -> Result<KeyCounts, UserError> {
        self.ask(async |admin| admin.count_by_key(table, width).await).await
    }

    /// Tries only once: the reader itself must know what to discard before it reads again.
    pub(super) async fn read_rows(
        &mut self,
        table: &BoundTable,
        ranges: &[KeyRange],
        take: &mut RowTaker<'_>,
    ) -> Result<(), UserError> {
        self.admin.read_rows(table, ranges, take).await
    }
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
