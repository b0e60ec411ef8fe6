//! Polls the target, its host, and other endpoints for telemetry during the load.
//!
//! Each source has its own connection and a time limit per response; a failure is counted, and the source is retried
//! after a pause. Must not make a run wait longer than for one response, or end it.

mod control_groups;
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
use highwater_driver::{BoxFuture, MetricSample, Target, TargetError, TelemetryReader, Timeline};
use highwater_model::target_telemetry::{TargetTelemetry, TelemetrySource, sources};
use highwater_model::units::Nanos;
use tokio::sync::oneshot;

use self::series::Table;
use crate::deadline::within;
use crate::observer::Observer;
use crate::request::LimitedNode;

/// Time limit for a response.
const ANSWER_LIMIT: Nanos = Nanos::from_secs(1);
/// Time limit for a connection.
const OPEN_LIMIT: Nanos = Nanos::from_secs(2);
/// Pause after a failure; it doubles with each further failure …
const PAUSE_MIN: Nanos = Nanos::from_secs(1);
/// … up to this.
const PAUSE_MAX: Nanos = Nanos::from_secs(30);
/// After a response, its source rests for this many times the response time, so that polling takes at most a tenth of
/// the time.
const REST: u64 = 9;
/// Maximum characters of a reason.
const REASON_CHARACTERS_MAX: usize = 200;

type Opened = Result<Option<Box<dyn TelemetryReader>>, TargetError>;

/// Opens a reader; `None` if there is nothing to read.
pub(crate) type Opener = Box<dyn Fn(Rc<dyn Timeline>) -> BoxFuture<'static, Opened>>;

/// A polled source.
struct Source {
    record: TelemetrySource,
    open: Opener,
    reader: Option<Box<dyn TelemetryReader>>,
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
                let reader = control_groups::reader(&nodes);
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

    /// Its readings; `None` if it rests, is mute, or fails.
    async fn ask(&mut self, timeline: &Rc<dyn Timeline>) -> Option<Vec<MetricSample>> {
        let begun = timeline.now();
        if self.mute || begun < self.rests_until {
            return None;
        }
        self.record.readings += 1;
        let answer = self.answer(timeline).await;
        let took = timeline.now().saturating_sub(begun);
        match answer {
            Ok(Some(readings)) => {
                self.record.reading_ns = self.record.reading_ns.saturating_add(took.0);
                self.record.longest_ns = self.record.longest_ns.max(took.0);
                self.pause = PAUSE_MIN;
                let rest = Nanos(took.0.saturating_mul(REST));
                self.rests_until = timeline.now().saturating_add(rest);
                Some(readings)
            }
            Ok(None) => {
                self.mute = true;
                None
            }
            Err(reason) => {
                self.record.failed += 1;
                if self.record.failure.is_none() {
                    let reason = reason.chars().take(REASON_CHARACTERS_MAX);
                    self.record.failure = Some(reason.collect());
                }
                self.rests_until = timeline.now().saturating_add(self.pause);
                self.pause = Nanos(self.pause.0.saturating_mul(2)).min(PAUSE_MAX);
                None
            }
        }
    }

    async fn answer(
        &mut self,
        timeline: &Rc<dyn Timeline>,
    ) -> Result<Option<Vec<MetricSample>>, String> {
        let mut reader = if let Some(reader) = self.reader.take() {
            reader
        } else {
            let opening = (self.open)(Rc::clone(timeline));
            match in_time(OPEN_LIMIT, timeline, opening).await? {
                Some(reader) => reader,
                None => return Ok(None),
            }
        };
        let readings = in_time(ANSWER_LIMIT, timeline, reader.read()).await?;
        // A failed reader is not reused.
        self.reader = Some(reader);
        Ok(Some(readings))
    }
}

/// The result, if it arrives in time.
async fn in_time<T>(
    limit: Nanos,
    timeline: &Rc<dyn Timeline>,
    polls: BoxFuture<'_, Result<T, TargetError>>,
) -> Result<T, String> {
    let answer = within(limit, timeline.as_ref(), polls).await;
    let late = || format!("no answer within {} s", limit.as_secs_f64());
    answer.ok_or_else(late)?.map_err(|error| error.message)
}
