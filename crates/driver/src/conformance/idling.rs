//! Rules about sessions that wait for their next op.

use std::future::poll_fn;

use futures_util::future::{Either, select};
use highwater_model::units::Nanos;

use super::broken::{Broken, require};
use super::sample;
use super::subject::{Client, Subject};

/// How long an idle session is watched that nobody closes.
const WATCHED: Nanos = Nanos::from_millis(300);
/// A closed connection is seen in less.
const SEEN_WITHIN: Nanos = Nanos::from_secs(5);

/// Whether a session says within this time that its connection was closed.
async fn says_closed(subject: &Subject, client: &mut Client, within: Nanos) -> bool {
    let end = subject.timeline.now().saturating_add(within);
    let closed = poll_fn(|context| client.session.poll_closed(context));
    let closed = std::pin::pin!(closed);
    let over = subject.timeline.sleep_until(end);
    matches!(select(closed, over).await, Either::Left(_))
}

pub(super) async fn an_idle_session_is_closed_only_by_its_target(
    subject: &Subject,
) -> Result<(), Broken> {
    let (target, workload, _tables, mut client) = subject.stage(None, "idle").await?;
    for number in 0..2 {
        let closed = says_closed(subject, &mut client, WATCHED).await;
        require!(!closed, "an open session said that it was closed");
        let outcome = client.insert(sample::batch(number * 10, 10)).await;
        require!(outcome.is_success(), "an idle session failed: {outcome:?}");
    }
    let Some(cut) = &subject.cut else {
        return Ok(());
    };
    cut();
    let closed = says_closed(subject, &mut client, SEEN_WITHIN).await;
    require!(closed, "nothing was said of a connection that was closed");
    let mut new = subject.connect(target.as_ref(), &workload).await?;
    let outcome = new.insert(sample::batch(100, 10)).await;
    require!(outcome.is_success(), "a new session failed: {outcome:?}");
    Ok(())
}
