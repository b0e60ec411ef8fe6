//! Rules about a target as a whole and its sessions, busy and idle.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

use futures_util::future::join;
use highwater_model::op::OpBody;
use highwater_model::units::Nanos;

use highwater_driver::contract::Request;
use highwater_driver::target_url::TargetUrl;
use highwater_driver::time_limit::ended;

use super::broken::{Broken, require, same};
use super::sample;
use super::subject::{Client, Subject, expect_applied, insert_request};

/// More rows than any target's limit on a statement's parameters allows.
pub(super) const MANY_ROWS: usize = 8_003;

/// Rows that no target can store within a few polls.
const BUSY_ROWS: usize = 50_000;
/// Pause between two polls for a busy target.
const BUSY_POLL_PAUSE: Nanos = Nanos::from_millis(1);
/// How long an idle session is watched without being closed.
const WATCHED: Nanos = Nanos::from_millis(300);
/// Time limit for detecting a closed connection.
const SEEN_WITHIN: Nanos = Nanos::from_secs(5);

/// There is a default insert mode and a default number of sessions.
pub(super) async fn capabilities_are_usable(subject: &Subject) -> Result<(), Broken> {
    let target = subject.open(None)?;
    let capabilities = target.capabilities();
    require!(!capabilities.insert_modes.is_empty(), "no insert mode");
    require!(capabilities.default_sessions > 0, "no default sessions");
    require!(
        !capabilities.simulated_clock || capabilities.simulated,
        "a simulated clock without a simulated target"
    );
    require!(
        target.capabilities() == capabilities,
        "capabilities change from one call to the next"
    );
    for mode in capabilities.insert_modes {
        subject.open(Some(mode))?;
    }
    require!(
        subject.open(Some("no such mode")).is_err(),
        "an insert mode that does not exist was accepted"
    );
    Ok(())
}

/// Every host has a URL for display, without the password of the URL that was given.
pub(super) async fn urls_show_no_secret(subject: &Subject) -> Result<(), Broken> {
    let target = subject.open(None)?;
    let shown = target.urls();
    require!(!shown.is_empty(), "no URL to show");
    for number in 0..8 {
        let host = target.host_of(number, 0);
        require!(host < shown.len(), "session {number} is on host {host} of {}", shown.len());
    }
    for given in &subject.urls {
        let Some(password) = TargetUrl::parse(given)?.password else {
            continue;
        };
        let secret = password.reveal();
        require!(
            shown.iter().all(|url| !url.contains(secret)),
            "a URL for display holds the password"
        );
    }
    Ok(())
}

/// Version, dialects, durability and insert mode are reported.
pub(super) async fn facts_are_reported(subject: &Subject) -> Result<(), Broken> {
    for mode in subject.insert_modes().await? {
        let target = subject.open(Some(mode))?;
        let facts = subject.admin(target.as_ref()).await?.facts().await?;
        require!(!facts.version.is_empty(), "no version");
        require!(!facts.version.contains('\n'), "the version is not one line");
        require!(!facts.dialects.is_empty(), "no dialect");
        let insert_fact = facts.settings.get("insert").map(String::as_str);
        same(&insert_fact, &Some(mode), "the setting `insert`")?;
        require!(
            target.capabilities().simulated || facts.settings.contains_key("durability"),
            "no setting `durability`"
        );
    }
    Ok(())
}

/// Batches of no row, one row, and thousands are applied, and the outcome has their number.
pub(super) async fn rows_applied_are_counted(subject: &Subject) -> Result<(), Broken> {
    for mode in subject.insert_modes().await? {
        let (_target, _workload, _admin, mut client) = subject.stage(Some(mode), "counted").await?;
        let mut first_row = 0;
        for rows in [0, 1, 2, 1_000, 0, MANY_ROWS, 1_001] {
            client.applies(sample::batch(first_row, rows), mode).await?;
            first_row += rows as u64;
        }
    }
    Ok(())
}

/// A request keeps its op, and one encoder and one request can be reused for many ops.
pub(super) async fn requests_come_back(subject: &Subject) -> Result<(), Broken> {
    let (_target, _workload, _admin, mut client) = subject.stage(None, "requests").await?;
    let mut second = client.session.encoder();
    let mut request = insert_request(sample::batch(0, 0));
    let mut first_row = 0;
    // Long after short and short after long: nothing may remain of the previous op.
    for rows in [3, 500, 2, 0, 40] {
        let batch = sample::batch(first_row, rows);
        request.op.body = OpBody::Insert(batch.clone());
        second.encode(&mut request);
        let outcome = client.execute(&mut request).await;
        expect_applied(&outcome, rows, "default")?;
        require!(
            request.op.body == OpBody::Insert(batch),
            "the request of {rows} rows holds another op after it was executed"
        );
        first_row += rows as u64;
    }
    Ok(())
}

/// Two sessions execute at the same time.
pub(super) async fn sessions_work_side_by_side(subject: &Subject) -> Result<(), Broken> {
    let (target, workload, mut admin, mut first) = subject.stage(None, "side_by_side").await?;
    let mut second = subject.connect(target.as_ref(), &workload).await?;
    for turn in 0..5_u64 {
        let row = turn * 400;
        let (one, other) = join(
            first.insert(sample::batch(row, 200)),
            second.insert(sample::batch(row + 200, 200)),
        )
        .await;
        expect_applied(&one, 200, "default")?;
        expect_applied(&other, 200, "default")?;
    }
    if target.capabilities().stores_values {
        let (admin, table) = (admin.as_mut(), &workload.tables[0]);
        let what = "rows acknowledged";
        subject.expect_rows(admin, table, 2_000, what).await?;
    }
    Ok(())
}

/// A session dropped in the middle of an op does not disturb others.
pub(super) async fn abandoned_ops_leave_the_target_usable(subject: &Subject) -> Result<(), Broken> {
    let (target, workload, mut admin, mut other) = subject.stage(None, "abandoned").await?;
    for attempt in 0..4_u64 {
        let client = subject.connect(target.as_ref(), &workload).await?;
        let row = attempt * 10_000;
        abandon(client, insert_request(sample::batch(row, 2_000))).await;
        other.adds(row + 5_000, 10).await?;
    }
    subject.quiesce(admin.as_mut()).await?;
    let mut new = subject.connect(target.as_ref(), &workload).await?;
    new.adds(100_000, 10).await
}

/// Without running ops the target is idle at once.
pub(super) async fn idle_targets_quiesce(subject: &Subject) -> Result<(), Broken> {
    let target = subject.open(None)?;
    let workload = sample::insert_only("quiet", subject.sql);
    let mut admin = subject.create(target.as_ref(), &workload).await?;
    subject.quiesce(admin.as_mut()).await?;
    let mut client = subject.connect(target.as_ref(), &workload).await?;
    client.adds(0, 10).await?;
    subject.quiesce(admin.as_mut()).await
}

/// While an op runs the target is not reported as idle.
pub(super) async fn running_ops_are_not_idle(subject: &Subject) -> Result<(), Broken> {
    let (_target, _workload, mut admin, mut client) = subject.stage(None, "busy").await?;
    let answered = Cell::new(false);
    let work = async {
        let outcome = client.insert(sample::batch(0, BUSY_ROWS)).await;
        answered.set(true);
        outcome
    };
    let poll_busy = async {
        let mut seen = 0_u32;
        while !answered.get() {
            if !admin.quiesce(Nanos::ZERO).await? {
                seen += 1;
            }
            let next = subject.timeline.now().saturating_add(BUSY_POLL_PAUSE);
            subject.timeline.sleep_until(next).await;
        }
        Ok::<u32, Broken>(seen)
    };
    let (outcome, seen) = join(work, poll_busy).await;
    expect_applied(&outcome, BUSY_ROWS, "default")?;
    require!(
        seen? > 0,
        "the target reported itself as idle at every poll while it stored {BUSY_ROWS} rows"
    );
    subject.quiesce(admin.as_mut()).await
}

/// Starts a request and drops it, with its session, after the first wait.
pub(super) async fn abandon(mut client: Client, mut request: Request) {
    client.encoder.encode(&mut request);
    let mut execution = client.session.execute(&mut request);
    poll_fn(|context| {
        // An op that is answered at once cannot be abandoned, which is fine.
        let _answered = execution.as_mut().poll(context).is_ready();
        Poll::Ready(())
    })
    .await;
}

/// Whether a session detects within this time that its connection was closed.
async fn says_closed(subject: &Subject, client: &mut Client, within: Nanos) -> bool {
    let closed = poll_fn(|context| client.session.poll_closed(context));
    ended(&subject.timeline, within, closed).await.is_some()
}

/// An idle session reports at once when its target closes it, and only then.
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
