//! A pass: phases of one plan against one target, from first claim to last response.
//!
//! Next to the executors, the controller collects, shows, and stores their reports once a second, applies the plan's
//! stop rule, and executes the user's commands. It never touches an op.

use std::rc::Rc;
use std::sync::Arc;

use highwater_driver::Timeline;
use highwater_model::record::{SchedulingClass, StallRecord};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use tokio::sync::mpsc;

use crate::control::{Controls, LEAD, obey};
use crate::executor::{HostCounts, Pass, PassStream, SessionUse, ThreadRecord, Tick, execute};
use crate::faults::Faults;
use crate::ledger::Ledger;
use crate::record::collector::Collector;
use crate::recorder::{KeyStats, Recorder, WindowDelta};
use crate::schedule::{EarlyEnd, ScheduledPhase};
use crate::source::{Claim, inserts_into};
use crate::store::Spool;
use crate::telemetry::{ClockStep, StallWatch};
use highwater_driver::clock::{RealClock, RealTimeline};
use highwater_driver::interrupts::{Interrupts, StopRequest};

/// Maximum reports queued for the controller.
const TICKS_QUEUED_MAX: usize = 64;

/// Delay from the end of a second to its processing, so that reports have arrived.
const LOOK_DELAY: Nanos = Nanos::from_millis(250);

/// Where executors run.
#[derive(Clone, Copy)]
pub(crate) enum Executors {
    /// One thread each, on the real clock.
    Threads(RealClock),
    /// One, on the controller's thread and the simulated clock.
    Inline,
}

/// The measurements of a pass.
pub(crate) struct PassRecord {
    pub(crate) stats: Vec<Option<Box<KeyStats>>>,
    /// Counts per 100 ms; counts of the same key are summed later.
    pub(crate) windows: Spool<WindowDelta>,
    pub(crate) ledgers: Vec<Ledger>,
    pub(crate) hosts: Vec<HostCounts>,
    /// When the pass began, on the run's timeline; its other times count from here.
    pub(crate) origin: Nanos,
    /// In execution order.
    pub(crate) phases: Vec<ScheduledPhase>,
    pub(crate) end: Nanos,
    pub(crate) fatal: Option<UserError>,
    pub(crate) interrupted: bool,
    /// Times during which this process was stalled.
    pub(crate) stalls: Vec<StallRecord>,
    /// Times at which the wall clock was set.
    pub(crate) clock_steps: Vec<ClockStep>,
    /// The executors' scheduling class; if they differ, the one further from the requested class.
    pub(crate) scheduling: SchedulingClass,
    /// By stream: sessions that had work.
    pub(crate) worked: Vec<SessionUse>,
    /// By stream: an upper bound above the index of every issued op.
    pub(crate) ends: Vec<u64>,
}

/// The measurements of a run's passes.
pub(crate) struct Passes {
    pub(crate) load: Option<PassRecord>,
    pub(crate) main: Option<PassRecord>,
}

impl Passes {
    fn each(&self) -> impl Iterator<Item = &PassRecord> {
        [&self.load, &self.main].into_iter().flatten()
    }

    pub(crate) fn fatal(&self) -> Option<UserError> {
        self.each().find_map(|pass| pass.fatal.clone())
    }

    /// Start of the record's times.
    pub(crate) fn origin(&self) -> Nanos {
        self.each().last().map_or(Nanos::ZERO, |pass| pass.origin)
    }

    /// By op, how many took effect, and how many may have; `ops` is the number of ops of the workload.
    pub(crate) fn effects(&self, ops: usize) -> Vec<(u64, u64)> {
        let mut effects = vec![(0, 0); ops];
        for (key, stats) in self.each().flat_map(|pass| pass.stats.iter().enumerate()) {
            if let (Some(stats), Some(op)) = (stats, key.checked_rem(ops)) {
                effects[op].0 += stats.acknowledged - stats.rolled_back;
                effects[op].1 += stats.unknown;
            }
        }
        effects
    }

    pub(crate) fn interrupted(&self) -> bool {
        self.each().any(|pass| pass.interrupted)
    }
}

/// Runs the pass to its end.
pub(crate) async fn run(
    pass: &Arc<Pass>,
    executors: Executors,
    timeline: &Rc<dyn Timeline>,
    collector: &mut Collector<'_>,
    interrupts: &mut Interrupts,
    controls: &mut Controls,
) -> PassRecord {
    let (sender, receiver) = mpsc::channel(TICKS_QUEUED_MAX);
    let mut stalls = None;
    let (records, interrupted) = match executors {
        Executors::Inline => {
            let executor = execute(Arc::clone(pass), 0, Rc::clone(timeline), sender);
            let control = control(pass, timeline, collector, interrupts, controls, receiver);
            let (record, interrupted) = futures_util::join!(executor, control);
            (vec![Ok(record)], interrupted)
        }
        Executors::Threads(clock) => {
            stalls = StallWatch::start(clock, pass.must_send_on_time());
            let threads: Vec<_> = (0..pass.executors)
                .map(|number| spawn(Arc::clone(pass), number, clock, sender.clone()))
                .collect();
            drop(sender);
            let control = control(pass, timeline, collector, interrupts, controls, receiver);
            let interrupted = control.await;
            (threads.into_iter().map(join).collect(), interrupted)
        }
    };
    let mut record = merge(pass, records);
    record.interrupted = interrupted;
    let faults = stalls.map(|watch| watch.end(pass.start)).unwrap_or_default();
    (record.stalls, record.clock_steps) = (faults.stalls, faults.steps);
    let end = timeline.now();
    record.end = end.saturating_sub(pass.start);
    drop_unclaimed(pass, end, &mut record, collector);
    collector.last_second(&pass.times());
    record.windows = collector.end_pass();
    record.ends = pass.streams.iter().map(|s| s.source.end()).collect();
    record
}

type Thread = std::io::Result<std::thread::JoinHandle<std::io::Result<ThreadRecord>>>;

fn spawn(pass: Arc<Pass>, number: u32, clock: RealClock, ticks: mpsc::Sender<Tick>) -> Thread {
    std::thread::Builder::new().name(format!("executor-{number}")).spawn(move || {
        RealTimeline::block_on(clock, |timeline| execute(pass, number, timeline, ticks))
    })
}

fn join(thread: Thread) -> Result<ThreadRecord, UserError> {
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(record))) => Ok(record),
        Ok(Ok(Err(error))) | Err(error) => {
            Err(UserError::usage(format!("executor thread: {error}")))
        }
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
    }
}

/// Processes every second until all executors are done; true if the user interrupted the run.
async fn control(
    pass: &Arc<Pass>,
    timeline: &Rc<dyn Timeline>,
    collector: &mut Collector<'_>,
    interrupts: &mut Interrupts,
    controls: &mut Controls,
    mut ticks: mpsc::Receiver<Tick>,
) -> bool {
    controls.begin(pass.start);
    let mut faults = Faults::new(pass, controls.actions.clone());
    let mut interrupted = false;
    let mut second = 0;
    loop {
        let look_at = pass.start.saturating_add(Nanos::from_secs(second + 1)) + LOOK_DELAY;
        tokio::select! {
            biased;
            interrupt = interrupts.next() => {
                interrupted = true;
                match interrupt {
                    StopRequest::Stop => pass.schedule.stop(timeline.now()),
                    StopRequest::StopAtOnce => pass.schedule.abort(timeline.now()),
                }
            }
            received = controls.next() => {
                let answer = obey(pass, &received.command, timeline.now(), controls);
                let answer = answer.map(|done| received.signed(done));
                if let Ok(done) = &answer {
                    collector.intervene(done, pass);
                }
                controls.answer(received, answer);
            }
            tick = ticks.recv() => match tick {
                Some(tick) => collector.add(tick),
                None => break,
            },
            done = faults.next(pass, timeline) => {
                collector.intervene(&done, pass);
                controls.keep(done);
            }
            () = timeline.sleep_until(look_at) => {
                collector.second(second, &pass.times());
                second += 1;
                end_early(pass, collector, timeline.now(), second);
            }
        }
    }
    if let Some(done) = faults.end(pass, timeline.as_ref()).await {
        collector.intervene(&done, pass);
        controls.keep(done);
    }
    interrupted
}

/// Ends the running phase if the plan's predicate holds, or if it waits for steady throughput and that is reached;
/// reports the end of such a warm-up. Ends the run if an objective of the stop rule can no longer be met.
fn end_early(pass: &Pass, collector: &mut Collector<'_>, now: Nanos, reported: u64) {
    let elapsed = now.saturating_sub(pass.start);
    if let Some((phase, why)) = collector.stop.ends(&pass.times(), elapsed, reported) {
        let at = match why {
            // All executors learn of the next phase before it begins.
            EarlyEnd::Steady => now.saturating_add(LEAD),
            EarlyEnd::Predicate | EarlyEnd::Rows | EarlyEnd::Hopeless => now,
        };
        pass.schedule.end_phase(phase, at, why);
    }
    collector.report_warm_up(&pass.phases(), elapsed);
    if let Some(phase) = collector.hopeless_phase(&pass.phases(), elapsed) {
        pass.schedule.end_phase(phase, now, EarlyEnd::Hopeless);
        pass.schedule.stop(now);
    }
}

fn merge(pass: &Pass, records: Vec<Result<ThreadRecord, UserError>>) -> PassRecord {
    let mut whole = PassRecord {
        stats: Vec::new(),
        windows: pass.directory.spool(),
        ledgers: pass.ledgers(),
        hosts: vec![HostCounts::default(); pass.target.urls().len()],
        origin: pass.start,
        phases: pass.phases(),
        end: Nanos::ZERO,
        fatal: None,
        interrupted: false,
        stalls: Vec::new(),
        clock_steps: Vec::new(),
        scheduling: SchedulingClass::default(),
        worked: vec![SessionUse::default(); pass.streams.len()],
        ends: Vec::new(),
    };
    let mut away = 0;
    let mut away_for = None;
    for record in records {
        match record {
            Ok(record) => {
                add_stats(&mut whole.stats, record.recorder);
                for (mine, theirs) in whole.ledgers.iter_mut().zip(record.ledgers) {
                    mine.merge(theirs);
                }
                for (mine, theirs) in whole.hosts.iter_mut().zip(record.hosts) {
                    mine.merge(theirs);
                }
                for (mine, theirs) in whole.worked.iter_mut().zip(record.worked) {
                    mine.merge(theirs);
                }
                whole.fatal = whole.fatal.take().or(record.fatal);
                away += record.away;
                away_for = away_for.or(record.away_for);
                whole.scheduling = whole.scheduling.max(record.scheduling);
            }
            Err(error) => whole.fatal = Some(error),
        }
    }
    if away == pass.sessions.all() {
        // The phases ended before the sessions had tried long enough to give up.
        whole.fatal = whole.fatal.take().or(away_for);
    }
    whole
}

fn add_stats(whole: &mut Vec<Option<Box<KeyStats>>>, recorder: Recorder) {
    let stats = recorder.finish();
    // A thread does not know phases that were added after its last op.
    whole.resize_with(whole.len().max(stats.len()), || None);
    for (mine, theirs) in whole.iter_mut().zip(stats) {
        match (mine.as_mut(), theirs) {
            (Some(mine), Some(theirs)) => mine.merge(&theirs),
            (None, theirs) => *mine = theirs,
            (Some(_), None) => {}
        }
    }
}

fn not_sent(pass: &Pass, stream: &PassStream, index: u64, ledgers: &mut [Ledger]) {
    if let Some(table) = inserts_into(&pass.bound, stream.feed.op_id(index)) {
        let (first, rows) = stream.feed.rows(index);
        ledgers[table].not_sent(first, rows);
    }
}

/// Counts as dropped every op that was intended but still unclaimed when the last session ended.
fn drop_unclaimed(pass: &Pass, end: Nanos, record: &mut PassRecord, collector: &mut Collector<'_>) {
    let mut recorder = pass.recorder();
    let end = end.max(pass.schedule.end());
    for (position, stream) in pass.streams.iter().enumerate() {
        while let Claim::Dropped(ticket) = stream.source.claim(u32::MAX, end) {
            let op = usize::from(stream.feed.op_id(ticket.index).0);
            let intended = ticket.intended.unwrap_or(ticket.phase_start);
            let key = pass.key(ticket.phase, position, op);
            recorder.record_dropped(key, intended, ticket.phase_start, end);
            not_sent(pass, stream, ticket.index, &mut record.ledgers);
        }
        for index in stream.source.never_due() {
            not_sent(pass, stream, index, &mut record.ledgers);
        }
        // The lanes of other shares are unknown, and not needed.
        if pass.plan.share.of == 1 {
            for index in stream.source.skipped() {
                not_sent(pass, stream, index, &mut record.ledgers);
            }
        }
    }
    let ledgers = record.ledgers.iter_mut();
    collector.add(Tick {
        recorded: recorder.take(),
        outcomes: ledgers.map(Ledger::take_fresh).collect(),
        unconnected: None,
    });
    add_stats(&mut record.stats, recorder);
}
