//! Polls the target, its host, and other endpoints for telemetry during the load.
//!
//! Each source has its own connection and a time limit per response; a failure is counted, and the source is retried
//! after a pause. A slow response is waited for across samples: a database under load answers late just when its
//! telemetry matters. Must not delay a run, or the other sources, for more than a second; must not end a run.

mod host;
mod series;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::convert::Infallible;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{Either, join, join_all, select};
use highwater_driver::{BoxFuture, MetricSample, Target, TelemetryReader, Timeline};
use highwater_model::target_telemetry::{TargetTelemetry, TelemetrySource, sources};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use tokio::sync::oneshot;

use self::series::Table;
use crate::deadline::within;
use crate::request::Observer;
use highwater_driver::telemetry::LimitedNode;

/// Time limit for a response, with the connection for it.
const ANSWER_LIMIT: Nanos = Nanos::from_secs(10);
/// How long the sample that asks for a response waits for it …
const WAIT: Nanos = Nanos::from_secs(1);
/// … and how long each later sample does, so that the other sources are still polled once a second.
const LATER_WAIT: Nanos = Nanos::from_millis(100);
/// At the end of a pass, a source whose last response is older than this is polled though it rests.
const FRESH: Nanos = Nanos::from_secs(5);
/// Pause after a failure; it doubles with each further failure …
const PAUSE_MIN: Nanos = Nanos::from_secs(1);
/// … up to this.
const PAUSE_MAX: Nanos = Nanos::from_secs(30);
/// After a response, its source rests for this many times the response time, so that polling takes at most a tenth of
/// the time …
const REST: u64 = 9;
/// … but at most this long: a response that takes longer than half a second has mostly waited for a busy server, whose
/// lost nodes are to be seen.
const REST_MAX: Nanos = Nanos::from_secs(5);
/// Maximum characters of a reason.
const REASON_CHARACTERS_MAX: usize = 200;

type Opened = Result<Option<Box<dyn TelemetryReader>>, UserError>;
/// A response and the reader that it came from; `None` if there is nothing to read.
type Reading = Result<Option<(Box<dyn TelemetryReader>, Vec<MetricSample>)>, UserError>;

/// Opens a reader; `None` if there is nothing to read.
pub(crate) type Opener = Box<dyn Fn(Rc<dyn Timeline>) -> BoxFuture<'static, Opened>>;

/// A polled source.
struct Source {
    record: TelemetrySource,
    open: Opener,
    reader: Option<Box<dyn TelemetryReader>>,
    /// When a response was asked for that has not arrived.
    pending: Option<(Nanos, BoxFuture<'static, Reading>)>,
    /// When the last response arrived.
    responded_at: Nanos,
    /// It has no data, or another source covers it.
    mute: bool,
    /// Not polled before this time.
    rests_until: Nanos,
    pause: Nanos,
}

/// All polled sources, and their readings.
pub(crate) struct TelemetryPoller {
    sources: Vec<Source>,
    table: Table,
    timeline: Rc<dyn Timeline>,
    /// The start of the pass; times count from it.
    origin: Nanos,
    /// The busy CPU fraction of the busiest node, at its last reading.
    busiest_cpu: Rc<Cell<Option<f64>>>,
}

impl TelemetryPoller {
    /// A poller without sources.
    pub(crate) fn new(timeline: Rc<dyn Timeline>) -> Self {
        Self {
            sources: Vec::new(),
            table: Table::default(),
            origin: timeline.now(),
            busiest_cpu: Rc::default(),
            timeline,
        }
    }

    /// Polls the target; if it is on this machine, also its nodes with a quota, and the machine.
    pub(crate) fn of_target(
        target: &Arc<dyn Target>,
        limited_nodes: &[LimitedNode],
        timeline: &Rc<dyn Timeline>,
    ) -> Self {
        let mut poller = Self::new(Rc::clone(timeline));
        let is_here = is_on_this_machine(target.as_ref());
        if is_here && !limited_nodes.is_empty() {
            let nodes = limited_nodes.to_vec();
            let open: Opener = Box::new(move |_| {
                let reader = host::quota_reader(&nodes);
                Box::pin(async { Ok(Some(reader)) })
            });
            poller.add(sources::CONTROL_GROUPS, open);
        }
        let polls = Arc::clone(target);
        let open: Opener = Box::new(move |timeline| {
            let target = Arc::clone(&polls);
            Box::pin(async move { target.telemetry(timeline).await })
        });
        poller.add(sources::TARGET, open);
        if is_here {
            poller.add(sources::HOST, Box::new(|_| Box::pin(async { Ok(host::reader()) })));
        }
        poller
    }

    /// Adds a source.
    pub(crate) fn add(&mut self, name: &str, open: Opener) {
        self.sources.push(Source {
            record: TelemetrySource { name: name.to_owned(), ..TelemetrySource::default() },
            open,
            reader: None,
            pending: None,
            responded_at: Nanos::ZERO,
            mute: false,
            rests_until: Nanos::ZERO,
            pause: PAUSE_MIN,
        });
    }

    /// Takes the first sample of a pass, from which counters start. Earlier samples are dropped, as is the client's own
    /// telemetry of an earlier pass.
    pub(crate) async fn begin(&mut self) {
        for source in &mut self.sources {
            source.record = TelemetrySource {
                name: std::mem::take(&mut source.record.name),
                readings: u64::from(source.pending.is_some()),
                ..TelemetrySource::default()
            };
        }
        // The first responses include connecting, at unpredictable times; the second ones count.
        for _ in 0..2 {
            self.table = Table::default();
            for source in &mut self.sources {
                source.rests_until = source.rests_until.min(source.tried_again_at());
            }
            self.sample().await;
        }
        self.origin = self.timeline.now();
    }

    /// The busy CPU fraction of the busiest node, updated with each reading.
    pub(crate) fn busiest_cpu(&self) -> Rc<Cell<Option<f64>>> {
        Rc::clone(&self.busiest_cpu)
    }

    /// Samples until `running` has ended, and once more at the end; passes each sample to `observer`. Waits for a
    /// sample in progress, so that every query has been answered or has failed.
    pub(crate) async fn beside<T>(
        &mut self,
        observer: &dyn Observer,
        running: impl Future<Output = T>,
    ) -> T {
        let (end, ended) = oneshot::channel();
        let running = async {
            let value = running.await;
            drop(end);
            value
        };
        let (value, ()) = join(running, self.every_interval(observer, ended)).await;
        let now = self.timeline.now();
        for source in &mut self.sources {
            if source.responded_at.saturating_add(FRESH) < now {
                source.rests_until = now;
            }
        }
        self.sample().await;
        value
    }

    async fn every_interval(
        &mut self,
        observer: &dyn Observer,
        mut ended: oneshot::Receiver<Infallible>,
    ) {
        loop {
            let interval = self.table.interval.0;
            let passed = self.timeline.now().saturating_sub(self.origin).0;
            let next = Nanos((passed / interval + 1) * interval);
            let next = self.origin.saturating_add(next);
            let next = self.timeline.sleep_until(next);
            if let Either::Left(_) = select(&mut ended, next).await {
                return;
            }
            self.sample().await;
            observer.telemetry(&|| self.table.last(self.origin, &self.names()));
        }
    }

    /// Names of the sources, in order.
    fn names(&self) -> Vec<&str> {
        self.sources.iter().map(|source| source.record.name.as_str()).collect()
    }

    /// Polls all sources that do not rest, concurrently. A sample has the time of its start: fast sources have
    /// responded, and slow ones read about then.
    async fn sample(&mut self) {
        let at = self.timeline.now();
        let timeline = &self.timeline;
        let polls = self.sources.iter_mut().map(|source| source.ask(timeline));
        let answers: Vec<Option<Vec<MetricSample>>> = join_all(polls).await;
        if answers.iter().all(Option::is_none) {
            return;
        }
        self.table.add(at, answers);
        // Nodes do not see their own quota, and the machine also runs other tasks.
        let mut groups = self.sources.iter();
        let groups = groups.position(|source| source.record.name == sources::CONTROL_GROUPS);
        if let Some(busy) = self.table.busiest_cpu(groups) {
            self.busiest_cpu.set(Some(busy));
        }
    }

    /// The telemetry; `None` if no source responded and none failed.
    pub(crate) fn record(&mut self) -> Option<TargetTelemetry> {
        let table = std::mem::take(&mut self.table);
        let mut telemetry = table.finish(self.origin, &self.names());
        let sources = self.sources.iter().filter(|source| !source.mute);
        telemetry.sources = sources
            .map(|source| source.record.clone())
            .filter(|source| source.readings > 0)
            .collect();
        (!telemetry.sources.is_empty()).then_some(telemetry)
    }
}

/// Whether the target runs on this machine, in this process or another.
fn is_on_this_machine(target: &dyn Target) -> bool {
    let capabilities = target.capabilities();
    let in_this_process = capabilities.embedded && !capabilities.simulated;
    in_this_process || target.is_local()
}

impl Source {
    /// The earliest retry: a failed source must rest; a slow one need not.
    fn tried_again_at(&self) -> Nanos {
        if self.pause > PAUSE_MIN { Nanos::MAX } else { Nanos::ZERO }
    }

    /// Its readings; `None` if it rests, is mute, is still to respond, or fails.
    async fn ask(&mut self, timeline: &Rc<dyn Timeline>) -> Option<Vec<MetricSample>> {
        let now = timeline.now();
        if self.mute || (self.pending.is_none() && now < self.rests_until) {
            return None;
        }
        let ((begun, mut reading), wait) = if let Some(pending) = self.pending.take() {
            (pending, LATER_WAIT)
        } else {
            self.record.readings += 1;
            ((now, self.reading(timeline)), WAIT)
        };
        let limit = begun.saturating_add(ANSWER_LIMIT).saturating_sub(now).min(wait);
        let response = within(limit, timeline.as_ref(), &mut reading).await;
        let now = timeline.now();
        let took = now.saturating_sub(begun);
        let failure = match response {
            Some(Ok(Some((reader, samples)))) => {
                self.reader = Some(reader);
                self.record.reading_ns = self.record.reading_ns.saturating_add(took.0);
                self.record.longest_ns = self.record.longest_ns.max(took.0);
                self.pause = PAUSE_MIN;
                self.responded_at = now;
                let rest = Nanos(took.0.saturating_mul(REST)).min(REST_MAX);
                self.rests_until = now.saturating_add(rest);
                return Some(samples);
            }
            Some(Ok(None)) => {
                self.mute = true;
                return None;
            }
            None if took < ANSWER_LIMIT => {
                self.pending = Some((begun, reading));
                return None;
            }
            None => format!("no answer within {} s", ANSWER_LIMIT.as_secs_f64()),
            Some(Err(error)) => error.message,
        };
        self.record.failed += 1;
        if self.record.failure.is_none() {
            self.record.failure = Some(failure.chars().take(REASON_CHARACTERS_MAX).collect());
        }
        self.rests_until = now.saturating_add(self.pause);
        self.pause = Nanos(self.pause.0.saturating_mul(2)).min(PAUSE_MAX);
        None
    }

    /// Asks for a response, on a new connection after a failure.
    fn reading(&mut self, timeline: &Rc<dyn Timeline>) -> BoxFuture<'static, Reading> {
        let kept = self.reader.take();
        let opening = kept.is_none().then(|| (self.open)(Rc::clone(timeline)));
        Box::pin(async move {
            let opened = match opening {
                Some(opening) => opening.await?,
                None => kept,
            };
            let Some(mut reader) = opened else { return Ok(None) };
            let samples = reader.read().await?;
            Ok(Some((reader, samples)))
        })
    }
}
