//! Holds the tables of a run while it runs, so that no second run fills or drops them.
//!
//! A thread of its own writes the heartbeat, on a connection of its own: neither a busy target nor a
//! busy executor makes it late for long, and an outage makes it only wait. What must not be here: SQL,
//! and the rules of who may share a table.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use futures_util::future::{Either, select};
use highwater_driver::lease::{HEARTBEAT, Holder, Owner, WATCH};
use highwater_driver::{Admin, Lease, LeaseAction, Target, TargetError, TargetErrorKind, Timeline};
use highwater_model::display::duration;
use highwater_model::event::Part;
use highwater_model::plan::Plan;
use highwater_model::units::Nanos;
use procfs::ProcError;
use procfs::process::Process;
use tokio::sync::oneshot;

use crate::canary::Uncompared;
use crate::clock::{RealClock, RealTimeline, wall_clock};
use crate::deadline::within;

/// Longest time for one heartbeat, the connection included.
const RENEWAL_LIMIT: Nanos = Nanos::from_secs(5);
/// Longest time for giving tables back.
const END_LIMIT: Nanos = Nanos::from_secs(5);
/// Characters of an owner's name.
const NAME_CHARACTERS_MAX: usize = 80;

/// Tokens that runs of this process hold.
static HELD_HERE: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The token of a run of this process, for as long as it holds its tables. A target that was too busy to take a lease
/// back still has it, and this process is there: by its token alone the next run sees that nobody is at work on it.
pub(crate) struct HeldToken(String);

impl HeldToken {
    fn new(token: String) -> Self {
        let mut held = HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(token.clone());
        Self(token)
    }

    fn is_held_here(token: &str) -> bool {
        let held = HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner);
        held.contains(token)
    }
}

impl Drop for HeldToken {
    fn drop(&mut self) {
        let mut held = HELD_HERE.lock().unwrap_or_else(PoisonError::into_inner);
        held.remove(&self.0);
    }
}

/// The tables of a run, held until this is ended.
pub(crate) struct HeldLeases {
    target: Arc<dyn Target>,
    token: HeldToken,
    lost: Arc<AtomicBool>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// Takes the leases of a run, or says who has them. `watching` is called with what is waited for.
pub(crate) async fn take(
    admin: &mut dyn Admin,
    tables: &[&str],
    plan: &Plan,
    timeline: &dyn Timeline,
    watching: impl Fn(Part),
) -> Result<HeldToken, TargetError> {
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

/// Ends the leases in the way whose holders are gone; fails with one whose holder is at work.
async fn end_gone(
    admin: &mut dyn Admin,
    found: Vec<Lease>,
    mine: &[Lease],
    timeline: &dyn Timeline,
    watching: impl Fn(Part),
) -> Result<(), TargetError> {
    let in_the_way = |lease: &Lease| mine.iter().any(|mine| mine.excludes(lease));
    let mut silent = Vec::new();
    for lease in found.into_iter().filter(in_the_way) {
        match lease.holder(|owner| is_at_work(owner, &lease.token)) {
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
        wait: WATCH,
    });
    timeline.sleep_until(timeline.now().saturating_add(WATCH)).await;
    let again = admin.leases(LeaseAction::Read).await?;
    for lease in silent {
        let is_same = |l: &&Lease| l.token == lease.token && l.table == lease.table;
        match again.iter().find(is_same) {
            Some(now) if now.beat_since(&lease, WATCH) => return Err(in_use(now)),
            Some(_) => drop(admin.leases(LeaseAction::End(&lease.token)).await?),
            None => {}
        }
    }
    Ok(())
}

fn own_leases(tables: &[&str], plan: &Plan) -> Vec<Lease> {
    let (owner, hash) = (this_process(), plan.hash());
    let (process, started, now) = (owner.process, owner.started, wall_clock().0);
    let token = format!("{process:08x}{started:016x}{now:016x}");
    let lease = |table: &&str| Lease {
        table: (*table).to_owned(),
        share: plan.share.index,
        shares: plan.share.of,
        token: token.clone(),
        plan: hash.clone(),
        owner: owner.clone(),
        held: Nanos::ZERO,
        silent: Nanos::ZERO,
        is_locked: None,
    };
    tables.iter().map(lease).collect()
}

fn in_use(lease: &Lease) -> TargetError {
    let share = if lease.shares > 1 {
        format!(", share {}/{}", lease.share, lease.shares)
    } else {
        String::new()
    };
    let plan: String = lease.plan.chars().take(6).collect();
    let message = format!(
        "table `{}` is in use by another run: {}, process {}, plan {plan}{share}, for {}; last \
         heartbeat {} ago",
        lease.table,
        lease.owner.name,
        lease.owner.process,
        duration(lease.held.0),
        duration(lease.silent.0)
    );
    TargetError::new(TargetErrorKind::ForeignTable, message).with_hint(
        "wait until that run has ended, or name another database or schema; the tables of a run \
         that was killed are free after half a minute",
    )
}

fn taken_and_ended() -> TargetError {
    let message = "another run began on the same tables at this moment";
    TargetError::new(TargetErrorKind::ForeignTable, message)
        .with_hint("wait until that run has ended, or name another database or schema")
}

impl HeldLeases {
    /// Keeps the leases of a token by a heartbeat.
    pub(crate) fn keep(target: &Arc<dyn Target>, token: HeldToken) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel();
        let lost = Arc::new(AtomicBool::new(false));
        let heart =
            Heart { target: Arc::clone(target), token: token.0.clone(), lost: Arc::clone(&lost) };
        let beating = move || {
            let beat = |timeline: Rc<RealTimeline>| heart.beat(timeline, stopped);
            // Without a timeline nothing beats, and the lease ends by itself.
            drop(RealTimeline::block_on(RealClock::start(), beat));
        };
        let builder = std::thread::Builder::new().name("leases".to_owned());
        let thread = builder.spawn(beating)?;
        Ok(Self { target: Arc::clone(target), token, lost, stop: Some(stop), thread: Some(thread) })
    }

    /// Whether these tables of this target are held by it.
    async fn covers(&self, admin: &mut dyn Admin, tables: &[&str]) -> Result<bool, TargetError> {
        let found = admin.leases(LeaseAction::Read).await?;
        let is_held = |table: &&str| {
            found.iter().any(|lease| lease.token == self.token.0 && lease.table == **table)
        };
        Ok(tables.iter().all(is_held))
    }

    /// Whether another run took the tables over.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    /// Gives the tables back, if the target can be reached soon; else the lease ends by itself.
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

/// What the runs of a search or a tuning hand to each other, so that their tables are never free in between.
#[derive(Clone, Default)]
pub struct KeptLeases {
    held: Rc<RefCell<Option<HeldLeases>>>,
    /// What came of trying the audit: once for all of these runs.
    tried: Rc<RefCell<Option<Vec<Uncompared>>>>,
}

impl KeptLeases {
    /// Keeps what a run held.
    pub(crate) fn keep(&self, held: HeldLeases) {
        drop(self.held.replace(Some(held)));
    }

    /// Hands over what the run before held, if it is what this one needs; else it is given back, or this
    /// process would stand in its own way.
    pub(crate) async fn hand_over(
        &self,
        admin: &mut dyn Admin,
        tables: &[&str],
        timeline: &dyn Timeline,
    ) -> Result<Option<HeldLeases>, TargetError> {
        let Some(held) = self.held.take() else {
            return Ok(None);
        };
        if held.covers(admin, tables).await? {
            return Ok(Some(held));
        }
        held.end(admin, timeline).await;
        Ok(None)
    }

    /// The columns that an earlier run found not to be comparable, if one has tried.
    pub(crate) fn tried(&self) -> Option<Vec<Uncompared>> {
        self.tried.borrow().clone()
    }

    /// Keeps what came of trying.
    pub(crate) fn keep_tried(&self, uncompared: &[Uncompared]) {
        self.tried.replace(Some(uncompared.to_vec()));
    }

    /// Gives the tables back, if the target can be reached soon.
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
        // Without a timeline the lease ends by itself.
        drop(RealTimeline::block_on(RealClock::start(), ending));
    }
}

/// What the thread of the heartbeat needs.
struct Heart {
    target: Arc<dyn Target>,
    token: String,
    lost: Arc<AtomicBool>,
}

impl Heart {
    async fn beat(self, timeline: Rc<dyn Timeline>, stopped: oneshot::Receiver<()>) {
        let beating = std::pin::pin!(async {
            let mut admin = None;
            loop {
                let next = timeline.now().saturating_add(HEARTBEAT);
                timeline.sleep_until(next).await;
                // What did not answer in time is not asked again.
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
    ) -> Result<Box<dyn Admin>, TargetError> {
        let mut admin = match connection {
            Some(connection) => connection,
            None => self.target.administer(Rc::clone(timeline)).await?,
        };
        let found = admin.leases(LeaseAction::Renew(&self.token)).await?;
        if !found.iter().any(|lease| lease.token == self.token) {
            self.lost.store(true, Ordering::Relaxed);
        }
        Ok(admin)
    }
}

/// This process, as others can look for it.
fn this_process() -> Owner {
    let started = Process::myself().and_then(|process| process.stat());
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let user = std::env::var("USER").unwrap_or_else(|_| "unknown".to_owned());
    let name = format!("{user}@{host}");
    // What others print must not steer their terminal.
    let is_plain = |c: &char| c.is_ascii_graphic();
    Owner {
        name: name.chars().filter(is_plain).take(NAME_CHARACTERS_MAX).collect(),
        machine: machine().unwrap_or_default(),
        process: std::process::id(),
        started: started.map_or(0, |stat| stat.starttime),
    }
}

/// The boot of this machine, and the namespace of its process numbers.
fn machine() -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{} {}", boot.trim(), namespace.display()))
}

/// Whether the holder of a token is there; nothing of a holder on another machine.
fn is_at_work(owner: &Owner, token: &str) -> Option<bool> {
    if *owner == this_process() {
        return Some(HeldToken::is_held_here(token));
    }
    is_running(owner)
}

/// Whether a process of this machine is there; nothing of a process of another one.
fn is_running(owner: &Owner) -> Option<bool> {
    if owner.machine.is_empty() || machine()? != owner.machine {
        return None;
    }
    let number = i32::try_from(owner.process).ok()?;
    match Process::new(number).and_then(|process| process.stat()) {
        Ok(stat) => Some(stat.starttime == owner.started),
        Err(ProcError::NotFound(_)) => Some(false),
        Err(_) => None,
    }
}
