//! One executor thread: its sessions' workers, their watchdog, a report once a second, the thread's measurements,
//! and the number of its sessions that had work.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, watch};

use highwater_driver::system::thread_cpu;
use highwater_driver::{Target, Timeline};
use highwater_model::op::BoundWorkload;
use highwater_model::plan::{AuditLevel, Plan};
use highwater_model::record::SchedulingClass;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::kernel::{enter_real_time, leave_real_time};
use crate::ledger::Ledger;
use crate::ledger::stored::Span;
use crate::planner::spawn_delay;
use crate::recorder::{PhaseKeys, RecordedCounts, Recorder};
use crate::schedule::{PhaseTimes, Schedule, ScheduledPhase};
use crate::sessions::Sessions;
use crate::source::{Feed, Source};
use crate::store::RunDirectory;
use crate::time_limits::Watchdog;
use crate::worker::{ReconnectOrder, Think, Worker};

/// One stream of a pass.
pub(crate) struct PassStream {
    pub(crate) source: Arc<Source>,
    pub(crate) feed: Arc<dyn Feed>,
    /// Closed in every phase of the plan: sessions prepare their next op ahead.
    pub(crate) closed: bool,
}

/// Shared by all executor threads: the phases of one plan against one target.
pub(crate) struct Pass {
    pub(crate) plan: Arc<Plan>,
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) streams: Vec<PassStream>,
    pub(crate) target: Arc<dyn Target>,
    pub(crate) bound: Arc<BoundWorkload>,
    /// Sessions of this share.
    pub(crate) sessions: Sessions,
    /// Whether paces may change, and sessions may be added.
    pub(crate) may_grow: bool,
    /// Earliest start of sessions; seconds of intervals count from here.
    pub(crate) start: Nanos,
    pub(crate) executors: u32,
    /// Holds data that does not fit in memory.
    pub(crate) directory: RunDirectory,
}

/// Empty ledgers, by table; with checksums only if the audit compares them.
pub(crate) fn ledgers(plan: &Plan, bound: &BoundWorkload, directory: &RunDirectory) -> Vec<Ledger> {
    let sums = plan.audit.level >= AuditLevel::Sums;
    bound
        .tables
        .iter()
        .map(|table| {
            let columns = if sums { table.columns.as_slice() } else { &[] };
            Ledger::new(columns, directory.spill())
        })
        .collect()
}

/// What an executor reports once a second.
pub(crate) struct Tick {
    pub(crate) recorded: RecordedCounts,
    /// By table: outcomes of rows.
    pub(crate) outcomes: Vec<Vec<Span>>,
    /// Why a session could not connect, if one failed to.
    pub(crate) unconnected: Option<String>,
}

impl Pass {
    /// The position of (phase, stream, op) among the keys.
    pub(crate) fn key(&self, phase: usize, stream: usize, op: usize) -> usize {
        (phase * self.streams.len() + stream) * self.bound.ops.len() + op
    }

    /// The phases' current times, by number, from the start of the pass.
    pub(crate) fn times(&self) -> Vec<PhaseTimes> {
        self.schedule.all().into_iter().map(|phase| self.relative(phase.times)).collect()
    }

    /// The phases in their current order; times count from the start of the pass.
    pub(crate) fn phases(&self) -> Vec<ScheduledPhase> {
        let relative = self
            .schedule
            .in_order()
            .into_iter()
            .map(|phase| ScheduledPhase { times: self.relative(phase.times), ..phase });
        relative.collect()
    }

    fn relative(&self, times: PhaseTimes) -> PhaseTimes {
        PhaseTimes {
            start: times.start.saturating_sub(self.start),
            end: times.end.saturating_sub(self.start),
        }
    }

    /// Whether ops have intended times and the database is a separate process on this host. A database in this
    /// process would share the executors' scheduling class.
    pub(crate) fn must_send_on_time(&self) -> bool {
        let capabilities = self.target.capabilities();
        let is_elsewhere = !self.target.is_local();
        let is_paced = self.streams.iter().any(|stream| !stream.closed);
        is_paced && !(is_elsewhere || capabilities.embedded || capabilities.simulated_clock)
    }

    pub(crate) fn recorder(&self) -> Recorder {
        let keys = PhaseKeys {
            plan: Arc::clone(&self.plan),
            schedule: Arc::clone(&self.schedule),
            ops: self.bound.ops.len(),
        };
        Recorder::of_pass(keys, &self.plan.objectives, self.start)
    }

    /// Empty ledgers, by table.
    pub(crate) fn ledgers(&self) -> Vec<Ledger> {
        ledgers(&self.plan, &self.bound, &self.directory)
    }

    fn record(&self) -> ThreadRecord {
        ThreadRecord {
            recorder: self.recorder(),
            ledgers: self.ledgers(),
            hosts: vec![HostCounts::default(); self.target.urls().len()],
            worked: vec![SessionUse::default(); self.streams.len()],
            fatal: None,
            away: 0,
            away_for: None,
            acknowledged_at: None,
            unconnected: None,
            scheduling: SchedulingClass::default(),
        }
    }
}

/// Runs executor number `executor` of the pass to its end.
pub(crate) async fn execute(
    pass: Arc<Pass>,
    executor: u32,
    timeline: Rc<dyn Timeline>,
    ticks: mpsc::Sender<Tick>,
) -> ThreadRecord {
    let record = Rc::new(RefCell::new(pass.record()));
    let watchdog = Rc::new(Watchdog::default());
    let scheduling = Scheduling::enter(pass.must_send_on_time(), timeline.now());
    record.borrow_mut().scheduling = scheduling.class();
    let crew = Crew {
        pass: &pass,
        executor,
        timeline: &timeline,
        record: &record,
        watchdog: &watchdog,
        reconnect_order: Rc::default(),
        blocks: 0,
    };
    {
        let all = std::pin::pin!(crew.work());
        let patrol =
            watchdog.patrol(&timeline, &pass.schedule, pass.plan.timeout, pass.plan.drain_limit);
        let patrol = std::pin::pin!(patrol);
        let report =
            std::pin::pin!(report_seconds(&timeline, pass.start, &record, &ticks, scheduling));
        let beside = select(patrol, report);
        // The tasks next to the workers end only after the workers do.
        if let Either::Right((_, all)) = select(all, beside).await {
            all.await;
        }
    }
    send_tick(&record, &ticks).await;
    match Rc::try_unwrap(record) {
        Ok(record) => record.into_inner(),
        Err(shared) => std::mem::replace(&mut *shared.borrow_mut(), pass.record()),
    }
}

/// The sessions of one executor.
struct Crew<'a> {
    pass: &'a Arc<Pass>,
    executor: u32,
    timeline: &'a Rc<dyn Timeline>,
    record: &'a Rc<RefCell<ThreadRecord>>,
    watchdog: &'a Watchdog,
    reconnect_order: Rc<ReconnectOrder>,
    /// Blocks of sessions that already have workers.
    blocks: usize,
}

impl Crew<'_> {
    /// Runs all workers until the last has ended and no session can be added.
    async fn work(mut self) {
        let mut working = FuturesUnordered::new();
        loop {
            let changed = self.pass.schedule.subscribe();
            let workers = self.new_workers().into_iter();
            working.extend(workers.map(|worker| {
                Either::Left(async {
                    worker.work().await;
                    // The schedule has ended: there are no sessions to open.
                    false
                })
            }));
            // A set that has polled all its futures yields once more before it sleeps: with few sessions, a system call
            // per op. With a future that hardly ever wakes, it has never polled them all.
            working.push(Either::Right(self.change(changed)));
            loop {
                if working.len() == 1 && !self.may_grow() {
                    return;
                }
                if working.next().await == Some(true) {
                    break;
                }
            }
        }
    }

    /// Whether sessions may still be added.
    fn may_grow(&self) -> bool {
        self.pass.may_grow && self.timeline.now() < self.pass.schedule.end()
    }

    /// Waits for a change of the schedule, or its end; forever if nothing can be added. True: there may be sessions to
    /// open.
    fn change(&self, mut changed: watch::Receiver<u64>) -> impl Future<Output = bool> + use<> {
        let end = self.may_grow().then(|| {
            let end = self.pass.schedule.end();
            self.timeline.sleep_until(end)
        });
        async move {
            match end {
                None => std::future::pending::<()>().await,
                Some(end) => drop(select(end, std::pin::pin!(changed.changed())).await),
            }
            true
        }
    }

    /// Workers for this executor's new sessions.
    fn new_workers(&mut self) -> Vec<Worker> {
        let blocks = self.pass.sessions.blocks_from(self.blocks);
        self.blocks += blocks.len();
        let mut workers = Vec::new();
        for block in blocks {
            for (slot, number) in block.slots.clone().zip(block.first_number..) {
                if number % self.pass.executors == self.executor {
                    let begin = block.begin_of(slot);
                    let begin = begin.unwrap_or_else(|| begin_of(self.pass, block.stream, slot));
                    workers.push(self.worker(block.stream, slot, number, begin));
                }
            }
        }
        workers
    }

    fn worker(&self, stream: usize, slot: u32, number: u32, begin: Nanos) -> Worker {
        let pass = self.pass;
        let keys_of = Arc::clone(pass);
        let of_stream = &pass.streams[stream];
        let think = pass.plan.streams[stream].think;
        let think = think.map(|pause| Think::new(pause, session_of(pass, slot), begin));
        Worker {
            timeline: Rc::clone(self.timeline),
            schedule: Arc::clone(&pass.schedule),
            source: Arc::clone(&of_stream.source),
            feed: Arc::clone(&of_stream.feed),
            target: Arc::clone(&pass.target),
            bound: Arc::clone(&pass.bound),
            record: Rc::clone(self.record),
            watch: self.watchdog.watch(),
            retry: pass.plan.retry,
            reconnect_order: Rc::clone(&self.reconnect_order),
            timeout: pass.plan.timeout,
            stream,
            slot,
            number,
            begin,
            ahead: of_stream.closed && think.is_none(),
            think,
            keys: Rc::new(move |phase, op| keys_of.key(phase, stream, op)),
        }
    }
}

async fn report_seconds(
    timeline: &Rc<dyn Timeline>,
    origin: Nanos,
    record: &Rc<RefCell<ThreadRecord>>,
    ticks: &mpsc::Sender<Tick>,
    mut scheduling: Scheduling,
) {
    loop {
        let seconds = timeline.now().saturating_sub(origin).0 / Nanos::SECOND.0;
        timeline.sleep_until(origin.saturating_add(Nanos::from_secs(seconds + 1))).await;
        scheduling.review(timeline.now());
        record.borrow_mut().scheduling = scheduling.class();
        send_tick(record, ticks).await;
    }
}

async fn send_tick(record: &Rc<RefCell<ThreadRecord>>, ticks: &mpsc::Sender<Tick>) {
    // Waits for space first: the end of the load may cut the wait short. A closed receiver needs no report.
    let Ok(permit) = ticks.reserve().await else {
        return;
    };
    let mut record = record.borrow_mut();
    let recorded = record.recorder.take();
    let ledgers = record.ledgers.iter_mut();
    let outcomes = ledgers.map(Ledger::take_fresh).collect();
    permit.send(Tick { recorded, outcomes, unconnected: record.unconnected.take() });
}

/// When a session of this share starts: sessions are assigned to the shares in turn.
fn begin_of(pass: &Pass, stream: usize, slot: u32) -> Nanos {
    let rate = pass.plan.streams[stream].spawn_rate;
    let delay = rate.map_or(Nanos::ZERO, |rate| spawn_delay(rate, session_of(pass, slot)));
    pass.start.saturating_add(delay)
}

/// The number of a session among all shares' sessions.
fn session_of(pass: &Pass, slot: u32) -> u32 {
    let share = &pass.plan.share;
    slot.saturating_mul(share.of).saturating_add(share.index - 1)
}

/// A thread may use one part in this many of a core in the real-time class.
const CORE_PARTS: u64 = 4;

/// The class of this thread.
#[derive(Debug)]
pub(crate) struct Scheduling {
    class: SchedulingClass,
    /// When its CPU time was last checked, and its value.
    looked_at: Nanos,
    cpu: Nanos,
}

impl Scheduling {
    /// Takes the real-time class for this thread, if it must send on time and the system has that class. Threads that it starts inherit the class,
    /// for example those of an embedded database.
    pub(crate) fn enter(must_send_on_time: bool, now: Nanos) -> Self {
        let class = match must_send_on_time.then(enter_real_time).flatten() {
            None => SchedulingClass::Normal,
            Some(true) => SchedulingClass::RealTime,
            Some(false) => SchedulingClass::NotPermitted,
        };
        Self { class, looked_at: now, cpu: thread_cpu().unwrap_or_default() }
    }

    /// Returns to the normal class if the thread used more than its part of a core since the last check. Within a
    /// second, the kernel's own limit applies, 95% by default.
    fn review(&mut self, now: Nanos) {
        if self.class != SchedulingClass::RealTime {
            return;
        }
        let cpu = thread_cpu().unwrap_or_default();
        let used = cpu.saturating_sub(self.cpu).0;
        let passed = now.saturating_sub(self.looked_at).0;
        (self.looked_at, self.cpu) = (now, cpu);
        if used > passed / CORE_PARTS && leave_real_time() {
            self.class = SchedulingClass::RealTimeGivenUp;
        }
    }

    /// The class in force.
    pub(crate) fn class(&self) -> SchedulingClass {
        self.class
    }
}

/// The measurements of one executor thread.
pub(crate) struct ThreadRecord {
    pub(crate) recorder: Recorder,
    /// By table.
    pub(crate) ledgers: Vec<Ledger>,
    /// By host.
    pub(crate) hosts: Vec<HostCounts>,
    /// By stream: sessions that had work.
    pub(crate) worked: Vec<SessionUse>,
    /// When the last op was acknowledged.
    pub(crate) acknowledged_at: Option<Nanos>,
    /// Why the run cannot continue.
    pub(crate) fatal: Option<UserError>,
    /// Sessions that were reconnecting when the phases ended, and why.
    pub(crate) away: u32,
    pub(crate) away_for: Option<UserError>,
    /// Why a session could not connect since the last report.
    pub(crate) unconnected: Option<String>,
    /// The thread's scheduling class.
    pub(crate) scheduling: SchedulingClass,
}

/// Counts of one host.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct HostCounts {
    /// Sessions opened.
    pub(crate) sessions: u64,
    /// Ops that it acknowledged, completely or partly.
    pub(crate) acknowledged: u64,
    /// Ops that failed, completely or partly.
    pub(crate) failed: u64,
}

impl HostCounts {
    /// Merges another thread's counts.
    pub(crate) fn merge(&mut self, other: Self) {
        self.sessions += other.sessions;
        self.acknowledged += other.acknowledged;
        self.failed += other.failed;
    }
}

/// Sessions of a stream that had work, and why others could not connect.
#[derive(Debug, Clone, Default)]
pub(crate) struct SessionUse {
    /// Sessions that executed an op, without those that were lost while others continued.
    pub(crate) working: u32,
    /// Why the last unsuccessful session could not connect.
    pub(crate) missing_because: Option<UserError>,
}

impl SessionUse {
    /// Merges another thread's counts.
    pub(crate) fn merge(&mut self, other: Self) {
        self.working += other.working;
        self.missing_because = self.missing_because.take().or(other.missing_because);
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::getpriority_process;

    use super::*;

    /// A separate thread, because the class belongs to the thread.
    fn on_a_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    fn use_cpu(amount: Nanos) {
        let end = thread_cpu().unwrap().saturating_add(amount);
        while thread_cpu().unwrap() < end {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_thread_that_need_not_send_on_time_stays_in_the_normal_class() {
        on_a_thread(|| {
            let mut scheduling = Scheduling::enter(false, Nanos::ZERO);
            scheduling.review(Nanos::SECOND);
            assert_eq!(scheduling.class(), SchedulingClass::Normal);
            assert_eq!(kernel_policy(), "0");
        });
    }

    #[test]
    fn a_thread_gives_the_real_time_class_up_when_it_takes_more_than_a_quarter_of_a_core() {
        on_a_thread(|| {
            let nice = getpriority_process(None).unwrap();
            let mut scheduling = Scheduling::enter(true, Nanos::ZERO);
            if scheduling.class() == SchedulingClass::NotPermitted {
                assert_eq!(kernel_policy(), "0");
                return;
            }
            assert_eq!(kernel_policy(), "1", "SCHED_FIFO");
            use_cpu(Nanos::from_millis(10));
            scheduling.review(Nanos::from_millis(100));
            assert_eq!(scheduling.class(), SchedulingClass::RealTime);
            assert_eq!(kernel_policy(), "1");
            // Of the 20 ms since then it used more than 10.
            use_cpu(Nanos::from_millis(10));
            scheduling.review(Nanos::from_millis(120));
            assert_eq!(scheduling.class(), SchedulingClass::RealTimeGivenUp);
            assert_eq!(kernel_policy(), "0");
            assert_eq!(getpriority_process(None), Ok(nice));
        });
    }

    /// The policy of this thread as reported by the kernel.
    fn kernel_policy() -> String {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        // The name in parentheses may contain blanks; the policy is field 41.
        let behind = stat.rsplit_once(") ").unwrap().1;
        behind.split(' ').nth(41 - 3).unwrap().to_owned()
    }
}
