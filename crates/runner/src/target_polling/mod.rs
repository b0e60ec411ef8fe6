//! Polls the target, its host, and other endpoints for telemetry during the load.
//!
//! Each source has its own connection and a time limit per response; a failure is counted, and the source is retried
//! after a pause. A slow response is waited for across samples: a database under load answers late just when its
//! telemetry matters. Must not delay a run, or the other sources, for more than a second; must not end a run.
//!
//! Readings become series: counters become increases, seconds fractions, and long runs have longer intervals, so that
//! series are bounded.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{Either, join, join_all, select};
use tokio::sync::oneshot;

use highwater_driver::telemetry::{LimitedNode, Measure};
use highwater_driver::{BoxFuture, MetricSample, Target, TelemetryReader, Timeline};
use highwater_model::target_telemetry::{
    POINTS_MAX, SERIES_MAX, SeriesKind, TargetTelemetry, TelemetryPoint, TelemetrySeries,
    TelemetrySource, TelemetryValue, names, sources,
};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use crate::kernel;
use crate::request::Observer;
use crate::time_limits::within;

/// Time limit for a response, with the connection for it.
const ANSWER_LIMIT: Nanos = Nanos::from_secs(10);
/// How long the sample that requests a response waits for it …
const WAIT: Nanos = Nanos::from_secs(1);
/// … and how long each later sample does, so that the other sources are still polled once a second.
const LATER_WAIT: Nanos = Nanos::from_millis(100);
/// At the end of a pass, a source whose last response is older than this is polled even while it
/// rests.
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

type OpenedReader = Result<Option<Box<dyn TelemetryReader>>, UserError>;
/// A response and the reader that it came from; `None` if there is nothing to read.
type Reading = Result<Option<(Box<dyn TelemetryReader>, Vec<MetricSample>)>, UserError>;

/// Opens a reader; `None` if there is nothing to read.
pub(crate) type Opener = Box<dyn Fn(Rc<dyn Timeline>) -> BoxFuture<'static, OpenedReader>>;

/// A polled source.
struct Source {
    record: TelemetrySource,
    open: Opener,
    reader: Option<Box<dyn TelemetryReader>>,
    /// When the pending response was requested.
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
                let reader = kernel::quota_reader(&nodes);
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
            let polls = Arc::clone(target);
            let open: Opener = Box::new(move |_| {
                let target = Arc::clone(&polls);
                let is_embedded = target.capabilities().embedded;
                let listeners = target.local_listeners();
                let embedded_cpu: kernel::EmbeddedCpu = Box::new(move || target.embedded_cpu());
                let reader = kernel::reader(&listeners, is_embedded.then_some(embedded_cpu));
                Box::pin(async { Ok(reader) })
            });
            poller.add(sources::HOST, open);
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

    /// The load starts now, and not when [`Self::begin`] ended.
    pub(crate) fn start(&mut self) {
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

    /// Requests a response, on a new connection after a failure.
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

/// Time between two samples, unless a run is long.
const INTERVAL: Nanos = Nanos::from_secs(1);
/// Significant digits kept: people and programs read a record, and it holds many values.
const DIGITS: usize = 6;

/// Key of a series: source, name, node.
type Key = (usize, String, Option<String>);

/// All readings so far.
struct Table {
    interval: Nanos,
    times: Vec<Nanos>,
    series: Vec<Held>,
    /// Position of a key's series; `None` if it was dropped.
    positions: BTreeMap<Key, Option<usize>>,
    left_out: u64,
}

struct Held {
    /// Position of its source; the name is filled in at the end.
    source: usize,
    series: TelemetrySeries,
    /// Time and value of the last counter reading.
    last: Option<(Nanos, f64)>,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            interval: INTERVAL,
            times: Vec::new(),
            series: Vec::new(),
            positions: BTreeMap::new(),
            left_out: 0,
        }
    }
}

impl Table {
    /// A sample: the readings of each source that answered, by its position.
    fn add(&mut self, at: Nanos, answers: Vec<Option<Vec<MetricSample>>>) {
        if self.times.last().is_some_and(|last| *last >= at) {
            return;
        }
        self.times.push(at);
        for (source, readings) in answers.into_iter().enumerate() {
            for reading in readings.into_iter().flatten() {
                self.take(source, at, &reading);
            }
        }
        let points = self.times.len();
        for held in &mut self.series {
            held.series.values.resize(points, None);
        }
        if points >= POINTS_MAX {
            self.halve();
        }
    }

    /// The highest busy CPU fraction in the last sample; only of this source, if it has any.
    fn busiest_cpu(&self, only: Option<usize>) -> Option<f64> {
        let busy = |held: &&Held| held.series.name == names::CPU_BUSY;
        let of_only = self.series.iter().filter(busy);
        let only = only.filter(|only| of_only.clone().any(|held| held.source == *only));
        let last = of_only
            .filter(|held| only.is_none_or(|only| held.source == only))
            .filter_map(|held| held.series.values.last().copied().flatten());
        last.max_by(f64::total_cmp)
    }

    fn take(&mut self, source: usize, at: Nanos, reading: &MetricSample) {
        let Some(position) = self.position(source, reading) else {
            return;
        };
        let points = self.times.len();
        let held = &mut self.series[position];
        let value = match reading.measure {
            _ if !reading.value.is_finite() => None,
            Measure::Level => Some(reading.value),
            Measure::Count => held.increase(at, reading.value).map(|(value, _)| value),
            Measure::Seconds => held
                .increase(at, reading.value)
                .map(|(seconds, passed)| seconds / passed.as_secs_f64()),
        };
        held.series.values.resize(points, None);
        if let Some(place) = held.series.values.last_mut() {
            *place = value.map(rounded);
        }
    }

    fn position(&mut self, source: usize, reading: &MetricSample) -> Option<usize> {
        let key = (source, reading.name.to_string(), reading.node.clone());
        if let Some(position) = self.positions.get(&key) {
            return *position;
        }
        if self.series.len() >= SERIES_MAX {
            self.left_out = self.left_out.saturating_add(1);
            // Keys are remembered so that each is counted once, but within a bound.
            if self.positions.len() < 4 * SERIES_MAX {
                self.positions.insert(key, None);
            }
            return None;
        }
        let position = self.series.len();
        let series = TelemetrySeries {
            source: String::new(),
            name: key.1.clone(),
            node: key.2.clone(),
            unit: reading.unit.to_string(),
            kind: match reading.measure {
                Measure::Level | Measure::Seconds => SeriesKind::Level,
                Measure::Count => SeriesKind::Count,
            },
            values: Vec::new(),
        };
        self.series.push(Held { source, series, last: None });
        self.positions.insert(key, Some(position));
        Some(position)
    }

    /// Joins neighboring samples. The first sample stays separate: counters start there.
    fn halve(&mut self) {
        let times = std::mem::take(&mut self.times);
        let (first, rest) = times.split_at(1);
        self.times = first.to_vec();
        self.times.extend(rest.chunks(2).filter_map(|pair| pair.last()));
        for held in &mut self.series {
            held.halve();
        }
        self.interval = Nanos(self.interval.0.saturating_mul(2));
    }

    /// The last sample, on a time axis that begins at `origin`.
    fn last(&self, origin: Nanos, sources: &[&str]) -> TelemetryPoint {
        let values = self.series.iter().filter_map(|held| {
            Some(TelemetryValue {
                source: (*sources.get(held.source)?).to_owned(),
                name: held.series.name.clone(),
                unit: held.series.unit.clone(),
                node: held.series.node.clone(),
                kind: held.series.kind,
                value: held.series.values.last().copied().flatten()?,
            })
        });
        let at = self.times.last().copied().unwrap_or_default();
        TelemetryPoint { time_ns: at.saturating_sub(origin).0, values: values.collect() }
    }

    /// The series with the names of their sources, on a time axis that begins at `origin`; without the list of polled
    /// sources.
    fn finish(self, origin: Nanos, sources: &[&str]) -> TargetTelemetry {
        let series = self.series.into_iter().map(|held| {
            let source = sources.get(held.source).copied().unwrap_or_default();
            TelemetrySeries { source: source.to_owned(), ..held.series }
        });
        TargetTelemetry {
            interval_ns: self.interval.0,
            times_ns: self.times.iter().map(|t| t.saturating_sub(origin).0).collect(),
            sources: Vec::new(),
            series: series.collect(),
            series_left_out: self.left_out,
        }
    }
}

impl Held {
    /// The increase of a counter, and its duration. A counter that fell was restarted.
    fn increase(&mut self, at: Nanos, value: f64) -> Option<(f64, Nanos)> {
        let (then, before) = self.last.replace((at, value))?;
        let passed = at.saturating_sub(then);
        (value >= before && passed > Nanos::ZERO).then_some((value - before, passed))
    }

    fn halve(&mut self) {
        let series = &mut self.series;
        series.values = series.kind.halved(&series.values);
        if series.kind == SeriesKind::Level {
            for value in series.values.iter_mut().flatten() {
                *value = rounded(*value);
            }
        }
    }
}

/// Six significant digits; whole numbers, such as counts, are kept unchanged.
fn rounded(value: f64) -> f64 {
    if value.fract() == 0.0 {
        return value;
    }
    format!("{value:.*e}", DIGITS - 1).parse().unwrap_or(value)
}
