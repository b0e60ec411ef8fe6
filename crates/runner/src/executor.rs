//! One executor thread: its sessions' workers, their watchdog, and a report once a second.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use highwater_driver::{Target, Timeline};
use highwater_model::op::BoundWorkload;
use highwater_model::plan::{AuditLevel, Pace, PhaseKind, Plan, Unit};
use highwater_model::record::SchedulingClass;
use highwater_model::units::Nanos;
use tokio::sync::mpsc;

use crate::feed::Feed;
use crate::ledger::Ledger;
use crate::ledger::spans::Span;
use crate::planner::spawn_delay;
use crate::recorder::{KeyPlan, Recorded, Recorder, RowWait};
use crate::schedule::{PhaseTimes, Schedule};
use crate::scheduling::Scheduling;
use crate::source::Source;
use crate::store::RunDirectory;
use crate::thread_record::{SessionsWorked, ThreadRecord};
use crate::watchdog::Watchdog;
use crate::worker::{ReconnectOrder, Worker};

/// One stream of a pass.
pub(crate) struct PassStream {
    pub(crate) source: Arc<Source>,
    pub(crate) feed: Arc<dyn Feed>,
    /// Sessions of this share.
    pub(crate) sessions: u32,
    pub(crate) closed: bool,
}

/// Everything that executor threads share: phases of one plan against one target.
pub(crate) struct Pass {
    pub(crate) plan: Arc<Plan>,
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) streams: Vec<PassStream>,
    pub(crate) target: Arc<dyn Target>,
    pub(crate) bound: Arc<BoundWorkload>,
    pub(crate) keys: Vec<KeyPlan>,
    /// Where sessions may begin; seconds of intervals count from here.
    pub(crate) start: Nanos,
    pub(crate) executors: u32,
    /// Where what does not fit memory goes.
    pub(crate) directory: RunDirectory,
}

/// Empty ledgers, by table; checksums only where the audit compares them.
pub(crate) fn ledgers(plan: &Plan, bound: &BoundWorkload, directory: &RunDirectory) -> Vec<Ledger> {
    let sums = plan.audit.level >= AuditLevel::Sums;
    let tables = bound.tables.iter();
    tables
        .map(|table| {
            let columns = if sums { table.columns.as_slice() } else { &[] };
            Ledger::new(columns, directory.spill())
        })
        .collect()
}

/// What an executor reports once a second.
pub(crate) struct Tick {
    pub(crate) recorded: Recorded,
    /// By table: outcomes of rows.
    pub(crate) outcomes: Vec<Vec<Span>>,
}

impl Pass {
    /// The position of (phase, stream, op) among the keys.
    pub(crate) fn key(&self, phase: usize, stream: usize, op: usize) -> usize {
        (phase * self.streams.len() + stream) * self.bound.ops.len() + op
    }

    /// The phases' times as they stand, from the start of the pass.
    pub(crate) fn phases(&self) -> Vec<PhaseTimes> {
        let relative = |at: Nanos| at.saturating_sub(self.start);
        let times = self.schedule.all().into_iter();
        times
            .map(|times| PhaseTimes {
                start: relative(times.start),
                end: relative(times.end),
            })
            .collect()
    }

    /// Whether ops are due beside a database on the same host. One inside this process would be in the
    /// executors' scheduling class.
    pub(crate) fn must_send_on_time(&self) -> bool {
        let capabilities = self.target.capabilities();
        let is_elsewhere = !self.target.is_local();
        let is_paced = self.streams.iter().any(|stream| !stream.closed);
        is_paced && !(is_elsewhere || capabilities.embedded || capabilities.simulated_clock)
    }

    pub(crate) fn recorder(&self) -> Recorder {
        Recorder::new(self.keys.clone(), &self.plan.objectives, self.start)
    }

    /// Empty ones, by table.
    pub(crate) fn ledgers(&self) -> Vec<Ledger> {
        ledgers(&self.plan, &self.bound, &self.directory)
    }

    fn record(&self) -> ThreadRecord {
        ThreadRecord {
            recorder: self.recorder(),
            ledgers: self.ledgers(),
            hosts: vec![(0, 0); self.target.urls().len()],
            worked: vec![SessionsWorked::default(); self.streams.len()],
            fatal: None,
            away: 0,
            away_for: None,
            acknowledged_at: None,
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
    let workers = workers_of(&pass, executor, &timeline, &record, &watchdog);
    {
        let all = std::pin::pin!(work(workers));
        let patrol = watchdog.patrol(
            &timeline,
            &pass.schedule,
            pass.plan.timeout,
            pass.plan.drain_limit,
        );
        let patrol = std::pin::pin!(patrol);
        let report = std::pin::pin!(report_seconds(
            &timeline, pass.start, &record, &ticks, scheduling
        ));
        let beside = select(patrol, report);
        // The workers' end ends what runs beside them; the reverse cannot happen first.
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

/// Lets all workers work until the last has ended.
async fn work(workers: Vec<Worker>) {
    let mut working: FuturesUnordered<_> = workers
        .into_iter()
        .map(|worker| Either::Left(worker.work()))
        .collect();
    // A set that has polled all its futures yields once more before it sleeps: with few sessions
    // a system call per op. With one that never wakes it has never polled them all.
    working.push(Either::Right(std::future::pending()));
    while working.len() > 1 {
        working.next().await;
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
        timeline
            .sleep_until(origin.saturating_add(Nanos::from_secs(seconds + 1)))
            .await;
        scheduling.review(timeline.now());
        record.borrow_mut().scheduling = scheduling.class();
        send_tick(record, ticks).await;
    }
}

async fn send_tick(record: &Rc<RefCell<ThreadRecord>>, ticks: &mpsc::Sender<Tick>) {
    // Nothing is taken before there is room for it: the end of the load may cut the wait short.
    // A receiver that has gone away has no use for it.
    let Ok(permit) = ticks.reserve().await else {
        return;
    };
    let mut record = record.borrow_mut();
    let recorded = record.recorder.take();
    let ledgers = record.ledgers.iter_mut();
    permit.send(Tick {
        recorded,
        outcomes: ledgers.map(Ledger::take_fresh).collect(),
    });
}

fn workers_of(
    pass: &Arc<Pass>,
    executor: u32,
    timeline: &Rc<dyn Timeline>,
    record: &Rc<RefCell<ThreadRecord>>,
    watchdog: &Watchdog,
) -> Vec<Worker> {
    let mut workers = Vec::new();
    let reconnect_order = Rc::new(ReconnectOrder::default());
    let mut number = 0;
    for (position, stream) in pass.streams.iter().enumerate() {
        for slot in 0..stream.sessions {
            if number % pass.executors == executor {
                let keys_of = Arc::clone(pass);
                workers.push(Worker {
                    timeline: Rc::clone(timeline),
                    schedule: Arc::clone(&pass.schedule),
                    source: Arc::clone(&stream.source),
                    feed: Arc::clone(&stream.feed),
                    target: Arc::clone(&pass.target),
                    bound: Arc::clone(&pass.bound),
                    record: Rc::clone(record),
                    watch: watchdog.watch(),
                    retry: pass.plan.retry,
                    reconnect_order: Rc::clone(&reconnect_order),
                    timeout: pass.plan.timeout,
                    stream: position,
                    slot,
                    number,
                    begin: begin(pass, position, slot),
                    ahead: stream.closed,
                    keys: Rc::new(move |phase, op| keys_of.key(phase, position, op)),
                });
            }
            number += 1;
        }
    }
    workers
}

/// When a session of this share appears: sessions are dealt out to the shares one by one.
fn begin(pass: &Pass, stream: usize, slot: u32) -> Nanos {
    let share = &pass.plan.share;
    let session = slot
        .saturating_mul(share.of)
        .saturating_add(share.index - 1);
    let rate = pass.plan.streams[stream].spawn_rate;
    let delay = rate.map_or(Nanos::ZERO, |rate| spawn_delay(rate, session));
    pass.start.saturating_add(delay)
}

/// Keys in the order of [`Pass::key`].
pub(crate) fn key_plans(plan: &Plan, streams: usize, ops: usize) -> Vec<KeyPlan> {
    let mut keys = Vec::with_capacity(plan.phases.len() * streams * ops);
    for (phase, planned) in plan.phases.iter().enumerate() {
        for stream in 0..streams {
            let row_wait = row_wait(plan, stream, planned.step);
            for op in 0..ops {
                let measured = planned.kind == PhaseKind::Measure;
                keys.push(KeyPlan {
                    phase,
                    stream,
                    op,
                    measured,
                    row_wait,
                });
            }
        }
    }
    keys
}

fn row_wait(plan: &Plan, stream: usize, step: u32) -> Option<RowWait> {
    let planned = &plan.streams[stream];
    match plan.pace(stream, step) {
        Pace::Open { rate } if planned.unit == Unit::Rows => Some(RowWait {
            rows: planned.units_per_op,
            rate,
        }),
        _ => None,
    }
}
