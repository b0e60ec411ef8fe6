//! The state behind the page of a running run or experiment: its events, aggregated.
//!
//! Pure and bounded, however long the run takes: seconds and telemetry points are joined when there are many, and lists
//! keep their last entries; counters over all runs of a command never decrease, as scrapers expect. Must not contain markup
//! (`html`) or the metrics format, or judge.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use highwater_model::control::{Change, InterventionRecord};
use highwater_model::event::{
    AuditProgress, Event, ExperimentProgress, LATENCY_BOUNDS_NS, LoadBounds, Part, SecondProgress,
    StreamProgress, Trial,
};
use highwater_model::judgment::Judgments;
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::{Objective, PhasePlan, Unit};
use highwater_model::record::{ExperimentRecord, FailureRecord, RunRecord};
use highwater_model::target_telemetry::{TargetTelemetry, TelemetryPoint};
use highwater_model::units::Nanos;

use super::answer::short_target;
use super::events::{intervention, part_line, trial_begun, unconnected, warmed_up, warning};
use crate::kinds::group::group_trial_line;
use crate::kinds::growth::scale_trial_line;
use crate::kinds::search::probe_line;
use crate::kinds::tuning::trial_line;

/// Maximum number of lines about trials, and about events.
const LINES_MAX: usize = 200;
/// Maximum number of telemetry points; half as many are left after joining.
const POINTS_MAX: usize = 600;

/// Everything that the page shows.
#[derive(Debug, Clone, Default)]
pub struct WatchedPage {
    /// The current run, or the last one.
    pub run: WatchedRun,
    /// The experiment so far, and the experiment that its trial consists of, as in their records; the outermost first.
    pub experiments: Vec<Arc<ExperimentRecord>>,
    /// Whether an experiment pauses, or will pause after the current trial.
    pub is_held: bool,
    /// Descriptions of an experiment's trials, the latest last.
    pub trials: VecDeque<String>,
    /// The current trial, or the last one; for nested experiments, the outermost first.
    pub trying: Vec<Trying>,
    /// Events other than the load, the latest last.
    pub notes: VecDeque<String>,
    /// Everything since the beginning, over all runs.
    pub totals: Totals,
    /// Where the last record is stored, and its judgments.
    pub ended: Option<(String, Judgments)>,
    /// Events that were dropped because the receiver was too slow.
    pub dropped: u64,
    /// Whether the command has ended, so that no events follow.
    pub is_over: bool,
}

/// A trial of an experiment.
#[derive(Debug, Clone, PartialEq)]
pub struct Trying {
    /// What is tried.
    pub trial: Trial,
    /// The progress of the experiment when the trial began.
    pub progress: ExperimentProgress,
}

/// One run as the page shows it.
#[derive(Debug, Clone, Default)]
pub struct WatchedRun {
    /// Where it is stored.
    pub directory: String,
    /// Name of the workload.
    pub workload: String,
    /// URLs of the target.
    pub urls: Vec<String>,
    /// Name and version of the target, in short.
    pub target: String,
    /// Whether its seconds are those of a model.
    pub simulated: bool,
    /// Planned phases.
    pub phases: Vec<PhasePlan>,
    /// Objectives of the run.
    pub objectives: Vec<Objective>,
    /// Current stage.
    pub stage: Stage,
    /// The load so far.
    pub seconds: Seconds,
    /// The last second.
    pub last: Option<SecondProgress>,
    /// The seconds up to it in which nothing was acknowledged.
    pub silent_s: u64,
    /// Why a session could not connect since the last acknowledgment.
    pub unconnected: Option<String>,
    /// Changes that the user made, the latest last.
    pub interventions: VecDeque<InterventionRecord>,
    /// Telemetry of the target and its host during this load.
    pub telemetry: TargetTelemetry,
    /// The record so far, without its seconds; absent before it is known.
    pub record: Option<Arc<RunRecord>>,
    /// The record contains the seconds before this one.
    pub record_until: u64,
    /// Failed ops in these seconds by cause, most frequent first, each with the second in which it was seen last.
    pub failures: Vec<(FailureRecord, u64)>,
}

/// Stage of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Stage {
    /// Not begun.
    #[default]
    Before,
    /// A part without a pace, in words.
    Part(String),
    /// An experiment is paused between two trials.
    Paused,
    /// A load.
    Load(LoadBounds),
    /// The audit.
    Audit(AuditProgress),
    /// The record has been written.
    Over,
}

impl WatchedPage {
    /// Applies an event.
    pub fn event(&mut self, event: &Event) {
        match event {
            Event::Begun {
                directory,
                workload,
                urls,
                target,
                simulated,
                phases,
                objectives,
                ..
            } => {
                self.run = WatchedRun {
                    directory: directory.clone(),
                    workload: workload.clone(),
                    urls: urls.clone(),
                    target: short_target(target),
                    simulated: *simulated,
                    phases: phases.clone(),
                    objectives: objectives.clone(),
                    ..WatchedRun::default()
                };
            }
            Event::Part(Part::Paused) => self.run.stage = Stage::Paused,
            Event::Part(part) => self.run.stage = Stage::Part(part_line(part)),
            Event::Load(bounds) => {
                self.run.stage = Stage::Load(*bounds);
                // Times restart with each load. The record so far has no data from filling tables.
                self.run.telemetry = TargetTelemetry::default();
                self.run.seconds = Seconds::default();
                (self.run.last, self.run.silent_s, self.run.unconnected) = (None, 0, None);
            }
            Event::Second(second) => {
                let is_silent = second.streams.iter().all(|stream| stream.units_per_s <= 0.0);
                self.run.silent_s = if is_silent { self.run.silent_s + 1 } else { 0 };
                let before = self.run.unconnected.take().filter(|_| is_silent);
                if let (None, Some(why)) = (&before, &second.unconnected) {
                    keep(&mut self.notes, format!("{} s: {}", second.second, unconnected(why)));
                }
                self.run.unconnected = second.unconnected.clone().or(before);
                self.totals.add(second);
                self.run.seconds.add(second);
                self.run.last = Some(second.clone());
            }
            Event::WarmedUp { took, steady } => keep(&mut self.notes, warmed_up(*took, *steady)),
            Event::Intervention(done) => self.intervened(done),
            Event::Audit(progress) => self.run.stage = Stage::Audit(progress.clone()),
            Event::Ended { directory, judgments, rows_found } => {
                self.totals.rows_found += rows_found.unwrap_or(0);
                self.run.stage = Stage::Over;
                self.ended = Some((directory.clone(), judgments.clone()));
            }
            Event::Trial { number, trial, progress } => {
                self.try_next(trial, *progress);
                keep(&mut self.trials, trial_begun(*number, trial));
            }
            Event::Probed(probe) => keep(&mut self.trials, probe_line(probe)),
            Event::Measured { trial, unit } => {
                keep(&mut self.trials, trial_line(trial, unit.name()));
            }
            Event::Repeated { trial, unit } => {
                keep(&mut self.trials, group_trial_line(trial, unit.name()));
            }
            Event::Sized { trial, unit } => {
                keep(&mut self.trials, scale_trial_line(trial, unit.name()));
            }
            Event::Warning { kind, message } => keep(&mut self.notes, warning(*kind, message)),
            Event::Dropped { events } => self.dropped += events,
            Event::Stream { .. } | Event::Estimate(_) | Event::Filling { .. } => {}
        }
    }

    /// A trial replaces the previous one of its kind, and all trials nested in it.
    fn try_next(&mut self, trial: &Trial, progress: ExperimentProgress) {
        let kind = std::mem::discriminant(trial);
        let mut kinds = self.trying.iter().map(|trying| std::mem::discriminant(&trying.trial));
        if let Some(place) = kinds.position(|of| of == kind) {
            self.trying.truncate(place);
        }
        self.trying.push(Trying { trial: trial.clone(), progress });
    }

    fn intervened(&mut self, done: &InterventionRecord) {
        keep(&mut self.notes, intervention(done));
        keep(&mut self.run.interventions, done.clone());
        if matches!(done.change, Change::Pause { .. }) {
            self.run.stage = Stage::Before;
        }
    }

    /// Adds a telemetry point of the target or its host.
    pub fn telemetry(&mut self, point: &TelemetryPoint) {
        self.run.telemetry.add(point, POINTS_MAX);
    }
}

impl WatchedRun {
    /// Whether nothing has been acknowledged for so long that it is called an outage.
    pub fn is_silent(&self) -> bool {
        self.silent_s >= SILENT_S
    }
}

fn keep<T>(lines: &mut VecDeque<T>, line: T) {
    if lines.len() == LINES_MAX {
        lines.pop_front();
    }
    lines.push_back(line);
}

/// Seconds without an acknowledgment that are called an outage.
const SILENT_S: u64 = 2;

/// Maximum number of slots; half as many are left after joining.
const SLOTS_MAX: usize = 600;

/// The seconds of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Seconds {
    /// In order; none is longer than [`Self::slot_s`].
    pub slots: Vec<Slot>,
    /// Seconds that a slot holds.
    pub slot_s: u64,
}

/// One or several seconds, all of one phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Slot {
    /// Name of the phase.
    pub phase: String,
    /// Where it begins, in seconds from the start of the first phase.
    pub from_s: u64,
    /// Seconds that are in it.
    pub seconds: u64,
    /// Maximum number of open sessions.
    pub sessions: u32,
    /// Streams, in the order of the plan.
    pub streams: Vec<SlotStream>,
}

/// A stream in a slot.
#[derive(Debug, Clone, PartialEq)]
pub struct SlotStream {
    /// Its name.
    pub stream: String,
    /// The unit that it counts.
    pub unit: Unit,
    /// Units with an acknowledgment that was reported in the same second.
    pub units: f64,
    /// All acknowledged units, including those that were reported later.
    pub acknowledged: u64,
    /// Units that the plan offered; absent in closed load.
    pub offered: Option<f64>,
    /// Median of the slowest second; a percentile is never averaged.
    pub p50_ns: Option<u64>,
    /// 99th percentile of the slowest second; absent if all have few ops.
    pub p99_ns: Option<u64>,
    /// Maximum latency.
    pub max_ns: Option<u64>,
    /// Ops that failed.
    pub errors: u64,
    /// Failed ops that were rejected for lack of capacity.
    pub rejected: u64,
    /// Intended ops that were never sent.
    pub dropped: u64,
}

impl Default for Seconds {
    fn default() -> Self {
        Self { slots: Vec::new(), slot_s: 1 }
    }
}

impl Seconds {
    /// Adds the next second.
    pub fn add(&mut self, second: &SecondProgress) {
        self.push(Slot::from_second(second));
        // Phases that are shorter than a slot are not joined; with more phases than any run may have, slots double on.
        while self.slots.len() >= SLOTS_MAX && self.slot_s < u64::MAX / 2 {
            self.double();
        }
    }

    /// Begin and length of the times without an acknowledgment that are called an outage, in nanoseconds.
    pub fn silences(&self) -> Vec<[u64; 2]> {
        let ns = |seconds: u64| Nanos::from_secs(seconds).0;
        let is_silent = |slot: &Slot| slot.streams.iter().all(|stream| stream.acknowledged == 0);
        let groups = self.slots.chunk_by(|a, b| is_silent(a) == is_silent(b));
        groups
            .filter(|slots| slots.first().is_some_and(is_silent))
            .map(|slots| [slots[0].from_s, slots.iter().map(|slot| slot.seconds).sum()])
            .filter(|[_, seconds]| *seconds >= SILENT_S)
            .map(|[from, seconds]| [ns(from), ns(seconds)])
            .collect()
    }

    fn double(&mut self) {
        self.slot_s *= 2;
        let slots = std::mem::replace(&mut self.slots, Vec::with_capacity(SLOTS_MAX));
        for slot in slots {
            self.push(slot);
        }
    }

    fn push(&mut self, slot: Slot) {
        match self.slots.last_mut() {
            Some(last) if last.takes(&slot, self.slot_s) => last.join(&slot),
            _ => self.slots.push(slot),
        }
    }
}

impl Slot {
    fn from_second(second: &SecondProgress) -> Self {
        Self {
            phase: second.phase.clone(),
            from_s: second.second.saturating_sub(1),
            seconds: 1,
            sessions: second.sessions,
            streams: second.streams.iter().map(SlotStream::from_stream).collect(),
        }
    }

    /// Whether the next slot can be joined to this one: slots lie at multiples of their length.
    fn takes(&self, next: &Self, slot_s: u64) -> bool {
        let same_place = self.from_s / slot_s == next.from_s / slot_s;
        // A slot of a year joins everything, so that the number of phases cannot exceed the bound.
        let same_phase = self.phase == next.phase || slot_s > 365 * 86_400;
        same_place && same_phase && self.streams.len() == next.streams.len()
    }

    fn join(&mut self, next: &Self) {
        self.seconds += next.seconds;
        self.sessions = self.sessions.max(next.sessions);
        for (stream, next) in self.streams.iter_mut().zip(&next.streams) {
            stream.units += next.units;
            stream.acknowledged += next.acknowledged;
            stream.offered = stream.offered.zip(next.offered).map(|(a, b)| a + b);
            stream.p50_ns = stream.p50_ns.max(next.p50_ns);
            stream.p99_ns = stream.p99_ns.max(next.p99_ns);
            stream.max_ns = stream.max_ns.max(next.max_ns);
            stream.errors += next.errors;
            stream.rejected += next.rejected;
            stream.dropped += next.dropped;
        }
    }
}

impl SlotStream {
    fn from_stream(stream: &StreamProgress) -> Self {
        Self {
            stream: stream.stream.clone(),
            unit: stream.unit,
            units: stream.units_per_s,
            acknowledged: match stream.unit {
                Unit::Rows => stream.counts.rows_acknowledged,
                Unit::Queries | Unit::Transactions => stream.counts.acknowledged,
            },
            offered: stream.offered_per_s,
            p50_ns: stream.p50_ns,
            p99_ns: stream.p99_ns,
            max_ns: stream.max_ns,
            errors: stream.errors,
            rejected: stream.rejected,
            dropped: stream.counts.dropped,
        }
    }
}

/// Maximum number of streams that are counted separately; more than any plan has.
const STREAMS_MAX: usize = 64;

/// The counters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// By stream, in the order in which they were first seen.
    pub streams: Vec<StreamTotals>,
    /// Rows that audits found, over all finished runs.
    pub rows_found: u64,
}

/// Counters of a stream, and its state in the last second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StreamTotals {
    /// Its name.
    pub stream: String,
    /// The unit that it counts.
    pub unit: Unit,
    /// Ops that were intended.
    pub offered: u64,
    /// Ops that were sent.
    pub sent: u64,
    /// Ops that were dropped.
    pub dropped: u64,
    /// Ops that were acknowledged.
    pub acknowledged: u64,
    /// Rows that were acknowledged.
    pub rows_acknowledged: u64,
    /// Rows that the target reported as not stored.
    pub rows_refused: u64,
    /// Ops that failed, in the order of [`ErrorClass::ALL`].
    pub failed: [u64; ErrorClass::ALL.len()],
    /// Ops that failed without a class.
    pub failed_otherwise: u64,
    /// Latencies of the intended ops.
    pub latency: TimesTotal,
    /// Service times of the acknowledged ops.
    pub service: TimesTotal,
    /// Client lag of the completed ops.
    pub lag: TimesTotal,
    /// Units per second offered in the last second; absent in closed load.
    pub offered_per_s: Option<f64>,
}

/// Times in a histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimesTotal {
    /// Ops up to each of [`LATENCY_BOUNDS_NS`], and all ops.
    pub up_to: [u64; LATENCY_BOUNDS_NS.len() + 1],
    /// Sum of the finite times, in nanoseconds.
    pub sum_ns: u128,
}

impl Totals {
    /// Adds a second.
    fn add(&mut self, second: &SecondProgress) {
        for stream in &second.streams {
            if let Some(totals) = self.totals_for(stream) {
                totals.add(stream);
            }
        }
    }

    fn totals_for(&mut self, stream: &StreamProgress) -> Option<&mut StreamTotals> {
        let is_same = |totals: &StreamTotals| totals.stream == stream.stream;
        if !self.streams.iter().any(is_same) && self.streams.len() < STREAMS_MAX {
            self.streams.push(StreamTotals {
                stream: stream.stream.clone(),
                unit: stream.unit,
                ..StreamTotals::default()
            });
        }
        self.streams.iter_mut().find(|totals| is_same(totals))
    }
}

impl StreamTotals {
    fn add(&mut self, second: &StreamProgress) {
        let counts = &second.counts;
        self.offered += counts.offered;
        self.sent += counts.sent;
        self.dropped += counts.dropped;
        self.acknowledged += counts.acknowledged;
        self.rows_acknowledged += counts.rows_acknowledged;
        self.rows_refused += counts.rows_refused;
        for (sum, class) in self.failed.iter_mut().zip(ErrorClass::ALL) {
            *sum += counts.failed.get(&class).copied().unwrap_or(0);
        }
        let of_a_class = counts.failed.values().sum();
        self.failed_otherwise += second.errors.saturating_sub(of_a_class);
        self.latency.add(&counts.latency_up_to, counts.latency_sum_ns);
        self.service.add(&counts.service_up_to, counts.service_sum_ns);
        self.lag.add(&counts.lag_up_to, counts.lag_sum_ns);
        self.offered_per_s = second.offered_per_s;
    }
}

impl TimesTotal {
    fn add(&mut self, up_to: &[u64], sum_ns: u64) {
        for (sum, more) in self.up_to.iter_mut().zip(up_to) {
            *sum += more;
        }
        self.sum_ns += u128::from(sum_ns);
    }
}
