//! Connects a session, with retries while the target is away, and decides which session tries then. Must not send an
//! op.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::select;
use tokio::sync::Notify;

use highwater_driver::{Connect, Request, Session};
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};

use super::{ConnectedSession, Worker};
use crate::sessions::Refusals;

/// First wait between two attempts to connect.
const BACKOFF_MIN: Nanos = Nanos::from_millis(10);
/// Maximum wait of the session that probes whether the target is back.
const BACKOFF_OF_FIRST_MAX: Nanos = Nanos::from_millis(100);
/// Maximum wait of the others, which that session wakes.
const BACKOFF_MAX: Nanos = Nanos::SECOND;

/// A session that the target closes within this time was never really available.
const SHORT_LIFE: Nanos = Nanos::SECOND;

impl Worker {
    /// Connects, with bounded back-off; `None` when the run has ended or cannot continue.
    ///
    /// While other sessions work, the target is available, and only this session ends.
    pub(super) async fn connect(&self, has_worked: bool) -> Option<ConnectedSession> {
        let since = self.timeline.now();
        let had = has_worked.then_some(since);
        let time_out = since.saturating_add(self.retry.reconnect_limit);
        let mut attempt = 0;
        let mut backoff = BACKOFF_MIN;
        let mut first = None;
        let mut failed = None;
        loop {
            if self.timeline.now() >= self.schedule.end() {
                self.note_away(failed);
                return None;
            }
            let connect = Connect {
                workload: Arc::clone(&self.bound),
                number: self.number,
                attempt,
                timeline: Rc::clone(&self.timeline),
            };
            // A target may accept the connection and then send nothing.
            let mut connecting = self.target.connect(connect);
            let answer = self.guarded(time_out, |context| connecting.as_mut().poll(context));
            match answer.await {
                Some(Ok(session)) => return Some(self.connected(session, attempt)),
                None => {
                    let limit = self.retry.reconnect_limit.as_secs_f64();
                    let error = failed.unwrap_or_else(|| {
                        UserError::unreachable(format!(
                            "the target made no session ready within {limit} s"
                        ))
                    });
                    if self.timeline.now() >= time_out {
                        self.lose(error, had);
                    } else {
                        self.note_missing(error);
                    }
                    return None;
                }
                Some(Err(mut error)) => {
                    // The statement could be prepared before the load. Since then, the workload itself or others
                    // changed the user's tables.
                    let by_itself = !has_worked && self.bound.tables.is_empty();
                    if matches!(error.kind, UserErrorKind::Preparation(_)) && !by_itself {
                        error.kind = UserErrorKind::Statement;
                    }
                    let permanent = !error.may_pass();
                    if permanent {
                        self.time_out(error);
                        return None;
                    }
                    if self.timeline.now().saturating_add(backoff) >= time_out {
                        self.lose(error, had);
                        return None;
                    }
                    self.record.borrow_mut().unconnected = Some(error.message.clone());
                    failed = Some(error);
                }
            }
            first = first.or_else(|| self.reconnect_order.take_first());
            self.wait_outside(backoff, first.is_some()).await;
            let most = if first.is_some() { BACKOFF_OF_FIRST_MAX } else { BACKOFF_MAX };
            backoff = Nanos(backoff.0 * 2).min(most);
            attempt += 1;
        }
    }

    /// Pauses if the session was closed soon after it was opened, so that a server that accepts and closes every
    /// session is not flooded.
    pub(super) async fn rest_after(&self, since: Nanos) {
        let now = self.timeline.now();
        if now < since.saturating_add(SHORT_LIFE) {
            let until = now.saturating_add(BACKOFF_OF_FIRST_MAX);
            self.wait_until(until, None).await;
        }
    }

    /// Waits between two attempts. All but the first session also wait until the first one is connected.
    async fn wait_outside(&self, backoff: Nanos, is_first: bool) {
        let until = self.timeline.now().saturating_add(backoff);
        let mut changed = self.schedule.subscribe();
        let wait = self.wait_until(until, Some(&mut changed));
        if is_first {
            wait.await;
        } else {
            let opened = std::pin::pin!(self.reconnect_order.opened());
            select(std::pin::pin!(wait), opened).await;
        }
    }

    fn connected(&self, session: Box<dyn Session>, attempt: u32) -> ConnectedSession {
        let host = self.target.host_of(self.number, attempt);
        self.record.borrow_mut().hosts[host].sessions += 1;
        let now = self.timeline.now();
        ConnectedSession {
            encoder: session.encoder(),
            session,
            host,
            since: now,
            free: now,
            refusals: Refusals::default(),
            spare: Request::empty(),
        }
    }

    /// The run has ended, and the target did not respond to the last attempt.
    fn note_away(&self, failed: Option<UserError>) {
        let Some(error) = failed else { return };
        self.note_missing(error.clone());
        let mut record = self.record.borrow_mut();
        record.away += 1;
        record.away_for.get_or_insert(error);
    }

    fn note_missing(&self, error: UserError) {
        self.record.borrow_mut().worked[self.stream].missing_because = Some(error);
    }

    /// Connecting took longer than the limit. `had`: until when this session was a working one.
    fn lose(&self, error: UserError, had: Option<Nanos>) {
        let others_work = match had {
            None => self.record.borrow().worked.iter().any(|w| w.working > 0),
            Some(until) => self.record.borrow().acknowledged_at > Some(until),
        };
        if !others_work {
            return self.time_out(error);
        }
        if had.is_some() {
            self.record.borrow_mut().worked[self.stream].working -= 1;
        }
        self.note_missing(error);
    }

    /// Ends the run for all sessions.
    pub(super) fn time_out(&self, error: UserError) {
        self.record.borrow_mut().fatal.get_or_insert(error);
        self.schedule.stop(self.timeline.now());
    }
}

/// The sessions of one thread whose target accepts none: one of them retries often, and wakes the others once
/// connected. This measures an outage at a fine resolution, and does not flood a target that starts.
#[derive(Default)]
pub(crate) struct ReconnectOrder {
    has_first: Cell<bool>,
    opened: Notify,
}

/// The place at the front; released when dropped.
struct First<'a>(&'a ReconnectOrder);

impl ReconnectOrder {
    /// Takes the place at the front, if it is free.
    fn take_first(&self) -> Option<First<'_>> {
        (!self.has_first.replace(true)).then_some(First(self))
    }

    /// Waits until the session at the front leaves: it is connected, or has given up.
    pub(super) async fn opened(&self) {
        self.opened.notified().await;
    }
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        self.0.has_first.set(false);
        // The others try as well; the first that fails takes the front.
        self.0.opened.notify_waiters();
    }
}
