//! Rules that every target keeps, stored values or not.

use std::cell::Cell;
use std::future::poll_fn;
use std::task::Poll;

use futures_util::future::join;
use highwater_model::op::OpBody;
use highwater_model::units::Nanos;

use crate::contract::Request;
use crate::target_url::TargetUrl;

use super::broken::{Broken, require};
use super::sample;
use super::subject::{Client, Subject, expect_applied, insert_request};

/// More rows than any of the bounds on a statement's parameters of the targets.
pub(super) const MANY_ROWS: usize = 8_003;

/// Rows that no target stores within a few polls.
const BUSY_ROWS: usize = 50_000;
/// Pause between two polls whether it is busy.
const BUSY_POLL_PAUSE: Nanos = Nanos::from_millis(1);

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

pub(super) async fn urls_show_no_secret(subject: &Subject) -> Result<(), Broken> {
    let target = subject.open(None)?;
    let shown = target.urls();
    require!(!shown.is_empty(), "no URL to show");
    for number in 0..8 {
        let host = target.host_of(number, 0);
        require!(
            host < shown.len(),
            "session {number} is on host {host} of {}",
            shown.len()
        );
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

pub(super) async fn facts_are_reported(subject: &Subject) -> Result<(), Broken> {
    for mode in subject.insert_modes().await? {
        let target = subject.open(Some(mode))?;
        let facts = subject.admin(target.as_ref()).await?.facts().await?;
        require!(!facts.version.is_empty(), "no version");
        require!(!facts.version.contains('\n'), "the version is not one line");
        require!(!facts.dialects.is_empty(), "no dialect");
        let insert_fact = facts.settings.get("insert").map(String::as_str);
        require!(
            insert_fact == Some(mode),
            "the setting `insert` is {insert_fact:?}, asked was {mode}"
        );
        require!(
            target.capabilities().simulated || facts.settings.contains_key("durability"),
            "no setting `durability`"
        );
    }
    Ok(())
}

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

pub(super) async fn requests_come_back(subject: &Subject) -> Result<(), Broken> {
    let (_target, _workload, _admin, mut client) = subject.stage(None, "requests").await?;
    let mut second = client.session.encoder();
    let mut request = insert_request(sample::batch(0, 0));
    let mut first_row = 0;
    // Long after short and short after long: nothing may be left of the op before.
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
        let found = subject.count(admin.as_mut(), &workload.tables[0]).await?;
        require!(
            found == 2_000,
            "2,000 rows were acknowledged, {found} found"
        );
    }
    Ok(())
}

pub(super) async fn abandoned_ops_leave_the_target_usable(subject: &Subject) -> Result<(), Broken> {
    let (target, workload, mut admin, mut other) = subject.stage(None, "abandoned").await?;
    for attempt in 0..4_u64 {
        let client = subject.connect(target.as_ref(), &workload).await?;
        let row = attempt * 10_000;
        abandon(client, insert_request(sample::batch(row, 2_000))).await;
        other
            .applies(sample::batch(row + 5_000, 10), "default")
            .await?;
    }
    subject.quiesce(admin.as_mut()).await?;
    let mut new = subject.connect(target.as_ref(), &workload).await?;
    new.applies(sample::batch(100_000, 10), "default").await
}

pub(super) async fn idle_targets_quiesce(subject: &Subject) -> Result<(), Broken> {
    let target = subject.open(None)?;
    let workload = sample::insert_only("quiet", subject.sql);
    let mut admin = subject.create(target.as_ref(), &workload).await?;
    subject.quiesce(admin.as_mut()).await?;
    let mut client = subject.connect(target.as_ref(), &workload).await?;
    client.applies(sample::batch(0, 10), "default").await?;
    subject.quiesce(admin.as_mut()).await
}

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
        // An op that is answered at once cannot be abandoned; that is fine too.
        let _answered = execution.as_mut().poll(context).is_ready();
        Poll::Ready(())
    })
    .await;
}
