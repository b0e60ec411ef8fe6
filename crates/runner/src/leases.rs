//! Holds the tables of a run while it runs, so that no second run fills or drops them.
//!
//! A separate thread writes the heartbeat on its own connection. Neither a busy target nor a busy executor delays it
//! for long, and an outage only makes it wait. Must not contain SQL, or the rules for sharing a table.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use futures_util::future::{Either, select};
use highwater_driver::table_registry::{
    HEARTBEAT, HEARTBEAT_OVERDUE, Holder, LEASES_TABLE, Owner, WATCH,
};
use highwater_driver::{Admin, Lease, LeaseAction, Target, Timeline};
use highwater_model::display::duration;
use highwater_model::event::Part;
use highwater_model::plan::Plan;
use highwater_model::units::Nanos;
use highwater_model::user_error::{UserError, UserErrorKind};
use tokio::sync::oneshot;

use crate::canary::UncomparedColumn;
use crate::holders::{HeldToken, holder_of, is_at_work, this_process};
use crate::meeting::{Meeting, ON_PLAN, is_stopped};
use crate::request::Observer;
use crate::time_limits::within;
use highwater_driver::clock::{RealClock, RealTimeline, wall_clock};
use highwater_driver::interrupts::{Interrupter, Interrupts};

/// Time limit for one heartbeat, including the connection.
const RENEWAL_LIMIT: Nanos = Nanos::from_secs(5);
/// Time limit for releasing tables.
const END_LIMIT: Nanos = Nanos::from_secs(5);

/// The tables of a run, held until this is ended.
pub(crate) struct HeldLeases {
    target: Arc<dyn Target>,
    token: HeldToken,
    lost: Arc<AtomicBool>,
    /// The run is over: what stops other shares no longer concerns it.
    over: Arc<AtomicBool>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Takes the leases of a run, or those of a command that drops tables and has no plan; or reports their holders.
/// `watching` receives a description of the awaited event.
pub(crate) async fn take(
    admin: &mut dyn Admin,
    tables: &[&str],
    plan: Option<&Plan>,
    timeline: &dyn Timeline,
    watching: impl Fn(Part),
) -> Result<HeldToken, UserError> {
    let mine = own_leases(tables, plan);
    let token = HeldToken::new(mine.first().map_or(String::new(), |l| l.token.clone()));
    let found = admin.leases(LeaseAction::Read).await?;
    end_gone(admin, found, &mine, timeline, watching).await?;
    let found = admin.leases(LeaseAction::Take(&mine)).await?;
    let is_mine =
        |lease: &Lease| found.iter().any(|f| f.token == token.0 && f.table == lease.table);
    let other = found.iter().find(|found| mine.iter().any(|lease| lease.excludes(found)));
    if other.is_none() && mine.iter().all(is_mine) {
        return Ok(token);
    }
    let refused = other.map_or_else(taken_and_ended, in_use);
    admin.leases(LeaseAction::End(&token.0)).await?;
    Err(refused)
}

/// Ends conflicting leases whose holders have ended; fails if a holder is running.
async fn end_gone(
    admin: &mut dyn Admin,
    mut found: Vec<Lease>,
    mine: &[Lease],
    timeline: &dyn Timeline,
    watching: impl Fn(Part),
) -> Result<(), UserError> {
    let in_the_way = |lease: &Lease| mine.iter().any(|mine| mine.excludes(lease));
    // Of two holders of a share, the lease on the plan says more.
    found.sort_by_key(|lease| !lease.table.starts_with(ON_PLAN));
    let mut silent = Vec::new();
    let mut watch = WATCH;
    for lease in found.into_iter().filter(in_the_way) {
        match holder_of(&lease) {
            // The same share of a plan that was started again at once: its lease is that of a process that was killed
            // on another machine, unless it shows a sign of life.
            Holder::Alive if is_restart(&lease, mine) => {
                let until_gone =
                    HEARTBEAT_OVERDUE.saturating_add(WATCH).saturating_sub(lease.silent);
                watch = watch.max(until_gone);
                silent.push(lease);
            }
            Holder::Alive => return Err(in_use(&lease)),
            Holder::Gone => drop(admin.leases(LeaseAction::End(&lease.token)).await?),
            Holder::Silent => silent.push(lease),
        }
    }
    let Some(first) = silent.first() else {
        return Ok(());
    };
    watching(Part::TableHeld {
        table: first.table.clone(),
        owner: first.owner.name.clone(),
        silent: first.silent,
        wait: watch,
    });
    timeline.sleep_until(timeline.now().saturating_add(watch)).await;
    let again = admin.leases(LeaseAction::Read).await?;
    for lease in silent {
        let is_same = |l: &&Lease| l.token == lease.token && l.table == lease.table;
        match again.iter().find(is_same) {
            Some(now) if now.beat_since(&lease, watch) => return Err(in_use(now)),
            Some(_) => drop(admin.leases(LeaseAction::End(&lease.token)).await?),
            None => {}
        }
    }
    Ok(())
}

/// Whether a lease is that of the same share of the same plan, held by a process of another machine.
fn is_restart(lease: &Lease, mine: &[Lease]) -> bool {
    let is_same = |mine: &Lease| {
        mine.plan == lease.plan && (mine.share, mine.shares) == (lease.share, lease.shares)
    };
    lease.shares > 1 && mine.iter().any(is_same) && is_at_work(&lease.owner, &lease.token).is_none()
}

/// Drops registered tables that no run holds, and the tables of Highwater itself if it created no other there.
///
/// # Errors
/// A run holds one of them, and none is dropped; or the target rejects a statement.
pub async fn drop_tables(
    admin: &mut dyn Admin,
    names: &[String],
    timeline: &dyn Timeline,
    watching: impl Fn(Part),
) -> Result<(), UserError> {
    let tables: Vec<&str> = names.iter().map(String::as_str).collect();
    let token = take(admin, &tables, None, timeline, watching).await?;
    let left = admin.listed_tables(names).await;
    let leases = admin.leases(LeaseAction::End(&token.0)).await?;
    if left?.is_empty() && leases.is_empty() {
        admin.query(&format!("DROP TABLE {LEASES_TABLE}")).await?;
    }
    Ok(())
}

fn own_leases(tables: &[&str], plan: Option<&Plan>) -> Vec<Lease> {
    let Owner { process, started, .. } = this_process();
    let token = format!("{process:08x}{started:016x}{:016x}", wall_clock().0);
    tables.iter().map(|table| own_lease(table, plan, &token)).collect()
}

fn own_lease(table: &str, plan: Option<&Plan>, token: &str) -> Lease {
    let (share, shares) = plan.map_or((1, 1), |plan| (plan.share.index, plan.share.of));
    Lease {
        table: table.to_owned(),
        share,
        shares,
        token: token.to_owned(),
        plan: plan.map_or_else(|| "none, it drops tables".to_owned(), Plan::hash),
        owner: this_process(),
        ..Lease::default()
    }
}

fn in_use(lease: &Lease) -> UserError {
    let share = if lease.shares > 1 {
        format!(", share {}/{}", lease.share, lease.shares)
    } else {
        String::new()
    };
    let plan: String = lease.plan.chars().take(6).collect();
    if lease.table.starts_with(ON_PLAN) {
        let message = format!(
            "share {} of {} of this plan is running already: {}, process {}, for {}; last heartbeat {} ago",
            lease.share,
            lease.shares,
            lease.owner.name,
            lease.owner.process,
            duration(lease.held.0),
            duration(lease.silent.0)
        );
        return UserError::new(UserErrorKind::ForeignTable, message).with_hint(
            "give each load generator another share, such as --share 1/2 and --share 2/2",
        );
    }
    let message = format!(
        "table `{}` is in use by another run: {}, process {}, plan {plan}{share}, for {}; last \
         heartbeat {} ago",
        lease.table,
        lease.owner.name,
        lease.owner.process,
        duration(lease.held.0),
        duration(lease.silent.0)
    );
    UserError::new(UserErrorKind::ForeignTable, message).with_hint(
        "wait until that run has ended, or name another database or schema; the tables of a run \
         that was killed are free after half a minute",
    )
}

fn taken_and_ended() -> UserError {
    let message = "another run began on the same tables at this moment";
    UserError::new(UserErrorKind::ForeignTable, message)
        .with_hint("wait until that run has ended, or name another database or schema")
}

impl HeldLeases {
    /// Keeps the leases of a token by a heartbeat; if the user stops another share of the plan, whose lease is named, it
    /// stops this one.
    pub(crate) fn keep(
        target: &Arc<dyn Target>,
        token: HeldToken,
        meets: Option<(String, Interrupter)>,
    ) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let [lost, over] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        let heart = Heart {
            target: Arc::clone(target),
            token: token.0.clone(),
            lost: Arc::clone(&lost),
            over: Arc::clone(&over),
            meets,
        };
        let beating = move || {
            let beat = |timeline: Rc<RealTimeline>| heart.beat(timeline, stopped);
            // Without a timeline there is no heartbeat, and the lease expires.
            drop(RealTimeline::block_on(RealClock::start(), beat));
        };
        let builder = std::thread::Builder::new().name("leases".to_owned());
        let thread = builder.spawn(beating)?;
        let target = Arc::clone(target);
        Ok(Self { target, token, lost, over, stop: Some(stop), thread: Some(thread) })
    }

    /// Whether it holds these tables of this target.
    async fn covers(&self, admin: &mut dyn Admin, tables: &[&str]) -> Result<bool, UserError> {
        let found = admin.leases(LeaseAction::Read).await?;
        let is_held = |table: &&str| {
            found.iter().any(|lease| lease.token == self.token.0 && lease.table == **table)
        };
        Ok(tables.iter().all(is_held))
    }

    /// One of these leases.
    pub(crate) fn lease(&self, table: &str, plan: &Plan) -> Lease {
        own_lease(table, Some(plan), &self.token.0)
    }

    /// Whether another run took the tables over.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Releases the tables if the target is soon reachable; otherwise the lease expires.
    pub(crate) async fn end(mut self, admin: &mut dyn Admin, timeline: &dyn Timeline) {
        self.stop_beating();
        let ended = admin.leases(LeaseAction::End(&self.token.0));
        drop(within(END_LIMIT, timeline, ended).await);
    }

    fn stop_beating(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

impl Drop for HeldLeases {
    fn drop(&mut self) {
        self.stop_beating();
    }
}

/// How long the other shares are waited for after their runs were merged.
const OTHERS_LIMIT: Nanos = Nanos::from_secs(10);
/// Why the shares' runs were not merged.
const WAITED: &str = "stopped while it waited for the other shares";

/// The leases that the runs of a search or a tuning pass on, so that their tables are never free in between.
#[derive(Clone, Default)]
pub struct KeptLeases {
    held: Rc<RefCell<Option<HeldLeases>>>,
    /// The meeting of the run, if it is a share of a plan.
    meeting: Rc<RefCell<Option<Meeting>>>,
    /// The canary's result, shared by all of these runs.
    tried: Rc<RefCell<Option<Vec<UncomparedColumn>>>>,
}

impl KeptLeases {
    /// Keeps the leases of a run.
    pub(crate) fn keep(&self, held: HeldLeases, meeting: Option<Meeting>) {
        held.over.store(true, Ordering::Relaxed);
        drop(self.held.replace(Some(held)));
        drop(self.meeting.replace(meeting));
    }

    /// Waits until every other share of the plan has stored its run or has ended, and returns whether this one merges
    /// them: the lowest one does. Returns false as soon as `is_concluded`, because another one has.
    ///
    /// # Errors
    /// The target does not answer, or the user stops the wait.
    pub fn wait_to_conclude(
        &self,
        observer: &dyn Observer,
        interrupts: &Interrupts,
        is_concluded: &dyn Fn() -> bool,
    ) -> Result<bool, UserError> {
        let target = self.held.borrow().as_ref().map(|held| Arc::clone(&held.target));
        let (Some(target), Some(mut meeting)) = (target, self.meeting.take()) else {
            return Ok(true);
        };
        let kept = Rc::clone(&self.meeting);
        let waiting = |timeline: Rc<RealTimeline>| async move {
            let mut interrupts = interrupts.clone();
            let administer = target.administer(Rc::<RealTimeline>::clone(&timeline));
            let mut admin = administer.await?;
            let waiting =
                meeting.wait_to_conclude(admin.as_mut(), timeline.as_ref(), observer, is_concluded);
            let waited = tokio::select! {
                waited = waiting => waited,
                _ = interrupts.next() => Err(UserError::interrupted(WAITED)),
            };
            kept.replace(Some(meeting));
            waited
        };
        RealTimeline::block_on(RealClock::start(), waiting)
            .unwrap_or_else(|error| Err(UserError::cannot("run", &error)))
    }

    /// Tells the other shares that their runs are merged, or cannot be, and waits a moment until they have ended: a
    /// launcher may end them when this process does.
    pub fn conclude(&self) {
        let target = self.held.borrow().as_ref().map(|held| Arc::clone(&held.target));
        let (Some(target), Some(meeting)) = (target, self.meeting.take()) else {
            return;
        };
        let waiting = |timeline: Rc<RealTimeline>| async move {
            let timeline: Rc<dyn Timeline> = timeline;
            let alone = std::pin::pin!(async {
                let mut admin = target.administer(Rc::clone(&timeline)).await?;
                meeting.conclude(admin.as_mut(), timeline.as_ref()).await
            });
            drop(within(OTHERS_LIMIT, timeline.as_ref(), alone).await);
        };
        // Without a timeline, nothing is waited for.
        drop(RealTimeline::block_on(RealClock::start(), waiting));
    }

    /// Passes on the previous run's leases if this run needs the same. Otherwise releases them, so that this process
    /// does not block itself.
    pub(crate) async fn hand_over(
        &self,
        admin: &mut dyn Admin,
        tables: &[&str],
        timeline: &dyn Timeline,
    ) -> Result<Option<HeldLeases>, UserError> {
        let Some(held) = self.held.take() else {
            return Ok(None);
        };
        if held.covers(admin, tables).await? {
            held.over.store(false, Ordering::Relaxed);
            return Ok(Some(held));
        }
        held.end(admin, timeline).await;
        Ok(None)
    }

    /// The columns that an earlier run found to be not comparable, if it ran the canary.
    pub(crate) fn tried(&self) -> Option<Vec<UncomparedColumn>> {
        self.tried.borrow().clone()
    }

    /// Keeps the canary's result.
    pub(crate) fn keep_tried(&self, uncompared: &[UncomparedColumn]) {
        self.tried.replace(Some(uncompared.to_vec()));
    }

    /// Releases the tables if the target is soon reachable.
    pub fn end(&self) {
        let Some(held) = self.held.take() else {
            return;
        };
        let ending = |timeline: Rc<RealTimeline>| async move {
            let timeline: Rc<dyn Timeline> = timeline;
            let target = Arc::clone(&held.target);
            let administer = target.administer(Rc::clone(&timeline));
            if let Some(Ok(mut admin)) = within(END_LIMIT, timeline.as_ref(), administer).await {
                held.end(admin.as_mut(), timeline.as_ref()).await;
            }
        };
        // Without a timeline, the lease expires.
        drop(RealTimeline::block_on(RealClock::start(), ending));
    }
}

/// The state of the heartbeat thread.
struct Heart {
    target: Arc<dyn Target>,
    token: String,
    lost: Arc<AtomicBool>,
    over: Arc<AtomicBool>,
    /// The name of the lease on the plan, and what stops this share.
    meets: Option<(String, Interrupter)>,
}

impl Heart {
    async fn beat(self, timeline: Rc<dyn Timeline>, stopped: oneshot::Receiver<()>) {
        let beating = std::pin::pin!(async {
            let mut admin = None;
            loop {
                let next = timeline.now().saturating_add(HEARTBEAT);
                timeline.sleep_until(next).await;
                // A connection that did not respond in time is not reused.
                let connection = admin.take();
                let renewal = std::pin::pin!(self.renew(connection, &timeline));
                let renewed = within(RENEWAL_LIMIT, timeline.as_ref(), renewal).await;
                admin = renewed.and_then(Result::ok);
            }
        });
        // The sender is dropped to stop this.
        let _ended: Either<((), _), _> = select(beating, stopped).await;
    }

    async fn renew(
        &self,
        connection: Option<Box<dyn Admin>>,
        timeline: &Rc<dyn Timeline>,
    ) -> Result<Box<dyn Admin>, UserError> {
        let mut admin = match connection {
            Some(connection) => connection,
            None => self.target.administer(Rc::clone(timeline)).await?,
        };
        let found = admin.leases(LeaseAction::Renew(&self.token)).await?;
        if !found.iter().any(|lease| lease.token == self.token) {
            self.lost.store(true, Ordering::Relaxed);
        }
        if let Some((on_plan, interrupter)) = &self.meets
            && !self.over.load(Ordering::Relaxed)
            && is_stopped(&found, on_plan)
            && !interrupter.has_interrupted()
        {
            interrupter.interrupt();
        }
        Ok(admin)
    }
}
