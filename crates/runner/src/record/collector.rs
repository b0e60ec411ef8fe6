//! Combines the executors' reports of each second: intervals, gaps, progress, the journal, the ledger file.
//!
//! Bounded: latencies of a second are kept as a histogram only until no op can add to it. Its totals, and the counts
//! per 100 ms, then stay in scratch files until the end.
//!
//! The ledger file gets every executor's report once a second and, at the end of the load, all outcomes in row order.
//! It is bounded, too: consecutive rows form one span, and beyond a number of spans the file is marked as incomplete.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use highwater_analysis::judge::objective::OpSoFar;
use highwater_driver::Target;
use highwater_model::event::{Event, RecentLatency, SecondProgress, StreamProgress, WarningKind};
use highwater_model::histogram::LatencyHistogram;
use highwater_model::plan::{Plan, Unit};
use highwater_model::record::{IntervalRecord, InterventionRecord, TelemetrySample, Windows};
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use super::journaled::{KeyNames, counts, interval_record, journal_line};
use super::objectives::ObjectiveCounts;
use crate::executor::{Pass, Tick};
use crate::ledger::stored::{Span, Spans, line_of};
use crate::recorder::{AcknowledgementMap, Gap, GapSearch, IntervalDelta, WindowDelta};
use crate::request::Observer;
use crate::schedule::{PhaseTimes, ScheduledPhase};
use crate::stop::{MissCounts, StopCounts, words};
use crate::store::{Journal, LedgerFile, LedgerHead, LedgerLine, RunDirectory, Spool};
use crate::telemetry::{self, Counters};

/// Seconds whose latencies are shown together if one second has too few ops.
const RECENT_S: u64 = 10;

/// The reports so far.
pub(crate) struct Collector<'a> {
    names: KeyNames,
    /// Seconds that ops may still change.
    open: BTreeMap<(u64, usize), IntervalDelta>,
    open_maps: BTreeMap<u64, AcknowledgementMap>,
    /// Number of reported seconds of this pass.
    reported: u64,
    /// Late additions to reported seconds, by key; reported with the next second, so that no slow op is omitted.
    late: BTreeMap<usize, IntervalDelta>,
    closed: Spool<IntervalRecord>,
    closed_maps: Spool<AcknowledgementMap>,
    /// Counts per 100 ms since the last second, by key.
    fresh_windows: BTreeMap<usize, WindowDelta>,
    /// Counts per 100 ms of the earlier seconds of this pass.
    windows: Spool<WindowDelta>,
    directory: RunDirectory,
    /// Input of the pass's stop rule.
    pub(crate) stop: StopCounts,
    /// Counts for the objectives during the pass; only if a miss ends it.
    misses: MissCounts,
    /// The current state of the objectives.
    objectives: ObjectiveCounts,
    /// The busy CPU fraction of the target's busiest node, as polled.
    busiest_cpu: Rc<Cell<Option<f64>>>,
    /// Which objective could no longer be met, as text.
    pub(crate) hopeless: Option<String>,
    telemetry: Spool<TelemetrySample>,
    counters: Spool<Counters>,
    last_counters: Option<Counters>,
    journal: Option<Journal>,
    /// Absent if no rows are audited, or if it could not be written.
    ledger: Option<LedgerLog>,
    /// Why the journal or the ledger's file ended early.
    pub(crate) journal_error: Option<String>,
    /// Why a session could not connect since the last second.
    unconnected: Option<String>,
    observer: &'a dyn Observer,
    target: Arc<dyn Target>,
    measures_machine: bool,
    /// Whether the end of a warm-up until steady throughput was reported.
    is_warm: bool,
    /// An interval may still change this long after its end, in seconds.
    settle_s: u64,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        plan: &Plan,
        directory: &RunDirectory,
        observer: &'a dyn Observer,
        target: Arc<dyn Target>,
        busiest_cpu: Rc<Cell<Option<f64>>>,
        measures_machine: bool,
    ) -> Result<Self, UserError> {
        Ok(Self {
            names: KeyNames::default(),
            open: BTreeMap::new(),
            open_maps: BTreeMap::new(),
            reported: 0,
            late: BTreeMap::new(),
            closed: directory.spool(),
            closed_maps: directory.spool(),
            fresh_windows: BTreeMap::new(),
            windows: directory.spool(),
            directory: directory.clone(),
            stop: StopCounts::default(),
            misses: MissCounts::default(),
            objectives: ObjectiveCounts::default(),
            busiest_cpu,
            hopeless: None,
            telemetry: directory.spool(),
            counters: directory.spool(),
            last_counters: None,
            journal: Some(directory.journal()?),
            ledger: None,
            journal_error: None,
            unconnected: None,
            observer,
            target,
            measures_machine,
            is_warm: false,
            settle_s: ((plan.timeout.0 + plan.drain_limit.0) / Nanos::SECOND.0 + 2).max(RECENT_S),
        })
    }

    /// Also stores the outcomes of rows in the ledger file.
    pub(crate) fn keep_ledger(&mut self, log: LedgerLog) {
        self.ledger = Some(log);
    }

    /// Keys have a new meaning from here on.
    pub(crate) fn begin_pass(&mut self, pass: &Pass) {
        self.close_before(u64::MAX);
        self.reported = 0;
        self.late.clear();
        self.closed_maps.clear();
        self.counters.clear();
        self.last_counters = None;
        self.telemetry.clear();
        self.stop = StopCounts::new(&pass.plan);
        self.stop.add_phases(&pass.schedule.all());
        self.misses = MissCounts::new(&pass.plan);
        self.objectives = ObjectiveCounts::new(&pass.plan);
        self.names = KeyNames::of_pass(pass);
    }

    /// A command to the pass was executed.
    pub(crate) fn intervene(&mut self, done: &InterventionRecord, pass: &Pass) {
        self.names = KeyNames::of_pass(pass);
        self.stop.add_phases(&pass.schedule.all());
        self.observer.event(&Event::Intervention(done.clone()));
        self.write_journal(|journal| journal.append(done));
    }

    /// The counts per 100 ms, after the last op of the pass.
    pub(crate) fn end_pass(&mut self) -> Spool<WindowDelta> {
        self.keep_windows();
        std::mem::replace(&mut self.windows, self.directory.spool())
    }

    /// Stores the counts at once: they are summed at the end, so none must wait for others of the same time.
    fn keep_windows(&mut self) {
        for delta in std::mem::take(&mut self.fresh_windows).into_values() {
            self.windows.push(delta);
        }
    }

    /// A report of one executor.
    pub(crate) fn add(&mut self, tick: Tick) {
        for map in tick.recorded.acknowledgements {
            let second = map.second;
            self.open_maps
                .entry(second)
                .or_insert_with(|| AcknowledgementMap::new(second))
                .merge(&map);
        }
        for delta in tick.recorded.windows {
            self.misses.add_windows(&delta);
            self.objectives.add_windows(&delta);
            self.fresh_windows
                .entry(delta.key)
                .and_modify(|fresh| fresh.merge(&delta))
                .or_insert(delta);
        }
        for delta in tick.recorded.intervals {
            let key = self.names.split(delta.key);
            self.stop.add(key.phase, key.stream, &delta);
            self.misses.add_counts(&delta);
            self.objectives.add(&delta);
            let line = journal_line(&delta, self.names.interval(delta.key));
            self.write_journal(|journal| journal.append(&line));
            if delta.second < self.reported {
                add_late(&mut self.late, &delta);
            }
            self.open
                .entry((delta.second, delta.key))
                .and_modify(|open| open.merge(&delta))
                .or_insert(delta);
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.add(tick.outcomes);
        }
        self.unconnected = tick.unconnected.or(self.unconnected.take());
    }

    /// Processes the end of a second.
    pub(crate) fn second(&mut self, second: u64, phases: &[PhaseTimes]) {
        if self.measures_machine {
            self.sample(Nanos((second + 1) * Nanos::SECOND.0));
        }
        self.report(second, phases);
        self.write_journal(Journal::flush);
        self.write_ledger(LedgerLog::write);
        self.close_before(second.saturating_sub(self.settle_s));
        self.keep_windows();
    }

    /// Reports the end of a warm-up until throughput is steady, once.
    pub(crate) fn report_warm_up(&mut self, phases: &[ScheduledPhase], now: Nanos) {
        let over = |phase: &&ScheduledPhase| phase.early.is_some() || phase.times.end <= now;
        let mut over = phases.iter().filter(over);
        let ended = over.find_map(|phase| Some((phase.duration(), phase.steady()?)));
        if let Some((took, steady)) = ended.filter(|_| !self.is_warm) {
            self.is_warm = true;
            self.observer.event(&Event::WarmedUp { took, steady });
        }
    }

    /// The measured phase that is running `now` in which an objective can no longer be met.
    pub(crate) fn hopeless_phase(
        &mut self,
        phases: &[ScheduledPhase],
        now: Nanos,
    ) -> Option<usize> {
        let names = &self.names;
        let named = |key: usize| {
            let position = names.split(key);
            let stream = &names.streams[position.stream];
            let planned = OpSoFar {
                stream: stream.name.clone(),
                op: names.ops[position.op].clone(),
                units_per_op: stream.units_per_op,
                is_closed: stream.is_closed,
                ..OpSoFar::default()
            };
            (position.phase, planned)
        };
        let (phase, found) = self.misses.hopeless(phases, now, named)?;
        self.hopeless = Some(words(&found));
        Some(phase)
    }

    /// Reports the rest as the last second, after the last op of the pass.
    pub(crate) fn last_second(&mut self, phases: &[PhaseTimes]) {
        let second = self.reported;
        for delta in self.open.range((second + 1, 0)..).map(|(_, delta)| delta) {
            add_late(&mut self.late, delta);
        }
        let mut of_second = self.open.range((second, 0)..(second + 1, 0));
        if of_second.next().is_some() || !self.late.is_empty() {
            self.report(second, phases);
        }
        self.write_journal(Journal::flush);
    }

    fn report(&mut self, second: u64, phases: &[PhaseTimes]) {
        let mut line = self.line(second, phases);
        line.unconnected = self.unconnected.take();
        self.reported = second + 1;
        self.late.clear();
        self.observer.event(&Event::Second(line));
    }

    /// Reads the machine's counters now.
    pub(crate) fn sample(&mut self, at: Nanos) {
        let counters = telemetry::read(at, self.target.embedded_cpu());
        if let Some(before) = self.last_counters.filter(|before| before.at < at) {
            self.telemetry.push(telemetry::between(&before, &counters));
        }
        self.last_counters = Some(counters);
        self.counters.push(counters);
    }

    /// Finishes: later queries see everything that arrived.
    pub(crate) fn finish(&mut self) {
        self.close_before(u64::MAX);
        self.write_journal(Journal::flush);
    }

    /// The counts per 100 ms of each of this many keys of a pass; absent if they cannot be read back.
    pub(crate) fn windows_of(
        &mut self,
        pass: &mut Spool<WindowDelta>,
        keys: usize,
    ) -> Option<Vec<Windows>> {
        let mut windows = vec![Windows::default(); keys];
        let read = pass.drain(|delta| {
            if let Some(of_key) = windows.get_mut(delta.key) {
                delta.add_to(of_key);
            }
        });
        self.read_back(read).map(|()| windows)
    }

    /// The seconds of all passes, in order.
    pub(crate) fn intervals(&mut self) -> Vec<IntervalRecord> {
        let intervals = self.closed.take();
        self.read_back(intervals).unwrap_or_default()
    }

    /// What the machine did in each second of the last pass.
    pub(crate) fn telemetry(&mut self) -> Vec<TelemetrySample> {
        let telemetry = self.telemetry.take();
        self.read_back(telemetry).unwrap_or_default()
    }

    /// Passes on the machine's counters of the last pass, in order.
    pub(crate) fn counters(&mut self, each: impl FnMut(Counters)) {
        let read = self.counters.drain(each);
        self.read_back(read);
    }

    /// The longest gaps of the last pass, at most `limit` in each of these phases.
    pub(crate) fn gaps(&mut self, phases: &[PhaseTimes], limit: usize) -> Vec<Gap> {
        let searches = phases.iter().map(|times| GapSearch::between(times.start, times.end, limit));
        let mut searches: Vec<GapSearch> = searches.collect();
        let read = self.closed_maps.drain(|map| {
            for search in &mut searches {
                search.add(&map);
            }
        });
        match self.read_back(read) {
            Some(()) => searches.into_iter().flat_map(GapSearch::finish).collect(),
            None => Vec::new(),
        }
    }

    fn read_back<T>(&mut self, read: Result<T, UserError>) -> Option<T> {
        read.map_err(|error| self.warn_of(&error.to_string())).ok()
    }

    fn close_before(&mut self, second: u64) {
        let rest = self.open.split_off(&(second, 0));
        for ((second, key), delta) in std::mem::replace(&mut self.open, rest) {
            let names = self.names.interval(key);
            self.closed.push(interval_record(second, names, &delta));
        }
        let rest = self.open_maps.split_off(&second);
        for map in std::mem::replace(&mut self.open_maps, rest).into_values() {
            self.closed_maps.push(map);
        }
    }

    fn line(&self, second: u64, phases: &[PhaseTimes]) -> SecondProgress {
        let middle = Nanos(second * Nanos::SECOND.0 + Nanos::SECOND.0 / 2);
        let phase = phases.iter().position(|times| times.contains(middle));
        let name = phase.map_or("drain", |phase| self.names.phases[phase].as_str());
        let streams = 0..self.names.streams.len();
        let streams: Vec<_> = streams.map(|at| self.stream(second, phase, at)).collect();
        let mut line = SecondProgress {
            second: second + 1,
            phase: name.to_owned(),
            errors: streams.iter().map(|stream| stream.errors).sum(),
            dropped: streams.iter().map(|stream| stream.counts.dropped).sum(),
            streams,
            sessions: self.names.sessions_at(Nanos::from_secs(second + 1)),
            ..SecondProgress::default()
        };
        if let Some(phase) = phase {
            let passed = Nanos((second + 1) * Nanos::SECOND.0).saturating_sub(phases[phase].start);
            let (seconds, cpu_busy) = (passed.as_secs_f64(), self.busiest_cpu.get());
            line.objectives = self.objectives.so_far(&self.names, phase, seconds, cpu_busy);
        }
        line
    }

    #[expect(clippy::cast_precision_loss, reason = "display")]
    fn stream(&self, second: u64, phase: Option<usize>, stream: usize) -> StreamProgress {
        let of_stream = |delta: &&IntervalDelta| self.names.split(delta.key).stream == stream;
        let mut sum = IntervalDelta::new(second, 0);
        let deltas = self.open.range((second, 0)..(second + 1, 0));
        for delta in deltas.map(|(_, delta)| delta).filter(of_stream) {
            sum.merge(delta);
        }
        let named = &self.names.streams[stream];
        let units_per_s = match named.unit {
            Unit::Rows => sum.rows_acknowledged as f64,
            Unit::Queries | Unit::Transactions => sum.acknowledged as f64,
        };
        // Slow ops of an earlier phase do not count for this one.
        let mut latency = sum.latency.clone();
        for delta in self.late.values().filter(of_stream) {
            let due_in = self.names.split(delta.key).phase;
            if phase.is_none_or(|phase| phase == due_in) {
                latency.merge(&delta.latency);
            }
            sum.merge(delta);
        }
        let p99 = latency.percentile(0.99);
        let offered = phase.and_then(|phase| self.names.offered.get(phase));
        StreamProgress {
            stream: named.name.clone(),
            unit: named.unit,
            offered_per_s: offered.and_then(|of| of.get(stream).copied().flatten()),
            units_per_s,
            p50_ns: latency.percentile(0.5).map(|p50| p50.ns),
            p99_ns: p99.map(|p99| p99.ns),
            p99_at_least: p99.is_some_and(|p99| p99.at_least),
            max_ns: latency.percentile(1.0).map(|max| max.ns),
            recent: match p99 {
                Some(_) => None,
                None => self.recent(second, phase, stream),
            },
            errors: sum.errors,
            rejected: sum.rejected,
            counts: counts(&sum),
        }
    }

    /// Latency of a stream over the last seconds of this phase; absent if no op was intended in them.
    fn recent(&self, second: u64, phase: Option<usize>, stream: usize) -> Option<RecentLatency> {
        let first = (second + 1).saturating_sub(RECENT_S);
        let mut all = LatencyHistogram::coarse();
        for ((_, key), delta) in self.open.range((first, 0)..(second + 1, 0)) {
            let key = self.names.split(*key);
            if key.stream == stream && Some(key.phase) == phase {
                all.merge(&delta.latency);
            }
        }
        let percentile = |quantile| all.percentile(quantile);
        let max = percentile(1.0)?;
        Some(RecentLatency {
            seconds: second + 1 - first,
            ops: all.count(),
            p50_ns: percentile(0.5).map(|p50| p50.ns),
            p99_ns: percentile(0.99).map(|p99| p99.ns),
            max_ns: max.ns,
            at_least: max.at_least,
        })
    }

    /// If writing fails, the run continues: its measurements are kept in memory and reported.
    fn write_journal(&mut self, write: impl FnOnce(&mut Journal) -> Result<(), UserError>) {
        if let Some(journal) = &mut self.journal
            && let Err(error) = write(journal)
        {
            self.journal = None;
            self.warn_of(&error.to_string());
        }
    }

    /// Marks the ledger file as ended, with the first row of the next run, and adds the writes of rows that replace each
    /// other: all statements have ended.
    pub(crate) fn end_ledger(&mut self, next_row: u64, replaced: Vec<LedgerLine>) {
        self.write_ledger(|ledger| ledger.end(next_row, replaced));
        self.ledger = None;
    }

    fn write_ledger(&mut self, write: impl FnOnce(&mut LedgerLog) -> Result<(), UserError>) {
        if let Some(ledger) = &mut self.ledger
            && let Err(error) = write(ledger)
        {
            self.ledger = None;
            self.warn_of(&error.to_string());
        }
    }

    fn warn_of(&mut self, error: &str) {
        // Later failures usually have the same cause.
        if self.journal_error.is_none() {
            self.journal_error = Some(error.to_owned());
            self.observer.event(&Event::Warning {
                kind: WarningKind::FileNotWritten,
                message: error.to_owned(),
            });
        }
    }
}

fn add_late(late: &mut BTreeMap<usize, IntervalDelta>, delta: &IntervalDelta) {
    let of_key =
        late.entry(delta.key).or_insert_with(|| IntervalDelta::new(delta.second, delta.key));
    of_key.merge(delta);
}

/// Maximum number of spans; about 50 MB.
const SPANS_MAX: usize = 1 << 20;
/// The file is rewritten once it exceeds this size and twice its size after the last rewrite.
const REWRITE_BYTES: u64 = 4 << 20;

/// The ledger file of a run, and its content.
#[derive(Debug)]
pub(crate) struct LedgerLog {
    file: LedgerFile,
    /// The first line: which run it belongs to.
    head: LedgerLine,
    /// By table: all outcomes so far.
    tables: Vec<Spans>,
    /// By table: outcomes that are not in the file yet.
    pending: Vec<Spans>,
    /// Length of the file after the last rewrite.
    rewritten_bytes: u64,
    overflowed: bool,
}

impl LedgerLog {
    /// Starts the file with its head.
    pub(crate) fn begin(mut file: LedgerFile, head: LedgerHead) -> Result<Self, UserError> {
        let head = LedgerLine { run: Some(head), ..LedgerLine::default() };
        file.append(std::slice::from_ref(&head))?;
        Ok(Self {
            file,
            head,
            tables: Vec::new(),
            pending: Vec::new(),
            rewritten_bytes: 0,
            overflowed: false,
        })
    }

    /// Adds the outcomes that an executor reports, by table.
    pub(crate) fn add(&mut self, tables: Vec<Vec<Span>>) {
        if self.tables.len() < tables.len() {
            self.tables.resize_with(tables.len(), Spans::default);
            self.pending.resize_with(tables.len(), Spans::default);
        }
        let all = self.tables.iter_mut().zip(&mut self.pending);
        for ((whole, pending), spans) in all.zip(tables) {
            for span in spans {
                if whole.len() >= SPANS_MAX {
                    self.overflowed = true;
                    break;
                }
                whole.add(span);
                pending.add(span);
            }
        }
    }

    /// Writes the pending outcomes.
    pub(crate) fn write(&mut self) -> Result<(), UserError> {
        if self.file.bytes() > REWRITE_BYTES.max(2 * self.rewritten_bytes) {
            return self.rewrite(None, Vec::new());
        }
        let pending = self
            .pending
            .iter_mut()
            .map(std::mem::take)
            .enumerate()
            .filter(|(_, spans)| spans.len() > 0);
        let mut lines: Vec<LedgerLine> =
            pending.map(|(table, spans)| line_of(table, spans.all())).collect();
        lines.extend(self.mark(None));
        if lines.is_empty() {
            return Ok(());
        }
        self.file.append(&lines)
    }

    /// Writes all outcomes in order, and that the load has ended before this row.
    pub(crate) fn end(
        &mut self,
        next_row: u64,
        replaced: Vec<LedgerLine>,
    ) -> Result<(), UserError> {
        self.rewrite(Some(next_row), replaced)
    }

    fn rewrite(
        &mut self,
        next_row: Option<u64>,
        replaced: Vec<LedgerLine>,
    ) -> Result<(), UserError> {
        self.pending.fill(Spans::default());
        let lines =
            self.tables.iter().enumerate().map(|(table, spans)| line_of(table, spans.all()));
        let lines = std::iter::once(self.head.clone()).chain(lines);
        let lines = lines.chain(replaced).chain(self.mark(next_row));
        let lines: Vec<LedgerLine> = lines.collect();
        self.file.replace(&lines)?;
        self.rewritten_bytes = self.file.bytes();
        Ok(())
    }

    /// A line about the whole file.
    fn mark(&self, next_row: Option<u64>) -> Option<LedgerLine> {
        (next_row.is_some() || self.overflowed).then(|| LedgerLine {
            ended: next_row.is_some(),
            next_row,
            overflowed: self.overflowed,
            ..LedgerLine::default()
        })
    }
}
