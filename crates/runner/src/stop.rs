//! Ends a phase before its planned end: a measured phase by the plan's stop rule, a warm-up by steady throughput.
//!
//! Evaluated once a second, from the executors' reports so far. Must not use other results of the run.

use std::collections::BTreeMap;

use highwater_analysis::judge::objective::{Hopeless, OpSoFar, hopeless};
use highwater_analysis::throughput::{Throughput, throughput};
use highwater_model::display::{percent, percent_asked, quantile, span};
use highwater_model::numbers::{len_to_f64, round_to_u32};
use highwater_model::plan::{
    Objective, PhaseKind, Plan, Predicate, SteadinessRule, StopRule, Unit,
};
use highwater_model::record::{Steadiness, WINDOW_NS};
use highwater_model::units::Nanos;

use crate::recorder::{IntervalDelta, WINDOWS_PER_SECOND, WindowDelta};
use crate::schedule::{EarlyEnd, PhaseTimes, ScheduledPhase};

/// Bounds of the time over which a warm-up's throughput must be steady: over more, it could not be determined.
const HORIZON: [Nanos; 2] = [Nanos::from_secs(15), Nanos::from_secs(60)];

/// The counts so far that may end a phase.
#[derive(Debug, Default)]
pub(crate) struct StopCounts {
    rule: StopRule,
    steadiness: SteadinessRule,
    /// The time over which a warm-up's throughput must be steady.
    horizon: Nanos,
    /// By phase.
    endings: Vec<Ending>,
    /// Failed ops, by phase.
    errors: Vec<u64>,
    /// By stream; only for streams that need them.
    windows: Vec<StreamWindows>,
}

/// What a stream acknowledged per 100 ms of the pass.
#[derive(Debug, Default)]
struct StreamWindows {
    unit: Unit,
    ops: Vec<u64>,
    rows: Vec<u64>,
    /// Whether some ops were acknowledged in part, so that ops differ in their number of rows.
    is_partial: bool,
}

impl StreamWindows {
    fn add(&mut self, delta: &IntervalDelta) {
        self.is_partial |= delta.partial > 0;
        let first = usize::try_from(delta.second).unwrap_or(0) * WINDOWS_PER_SECOND;
        for (counts, new) in [(&mut self.ops, delta.windows), (&mut self.rows, delta.row_windows)] {
            if counts.len() < first + WINDOWS_PER_SECOND {
                counts.resize(first + WINDOWS_PER_SECOND, 0);
            }
            for (count, new) in counts[first..].iter_mut().zip(new) {
                *count += u64::from(new);
            }
        }
    }

    /// What the record's throughput counts.
    fn counted(&self) -> &[u64] {
        if self.is_partial && self.unit == Unit::Rows { &self.rows } else { &self.ops }
    }
}

/// What may end a phase early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Never,
    Rule,
    Steady,
}

impl Ending {
    fn new(kind: PhaseKind, until_steady: bool) -> Self {
        match kind {
            PhaseKind::Measure => Self::Rule,
            _ if until_steady => Self::Steady,
            _ => Self::Never,
        }
    }
}

impl StopCounts {
    /// Empty counts for this plan; phases are added later.
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            rule: plan.stop.clone(),
            steadiness: plan.steadiness,
            horizon: horizon(plan),
            windows: plan
                .streams
                .iter()
                .map(|stream| StreamWindows { unit: stream.unit, ..StreamWindows::default() })
                .collect(),
            ..Self::default()
        }
    }

    /// Adds phases that are not known yet.
    pub(crate) fn add_phases(&mut self, phases: &[ScheduledPhase]) {
        self.endings =
            phases.iter().map(|phase| Ending::new(phase.kind, phase.until_steady)).collect();
        self.errors.resize(phases.len(), 0);
    }

    /// Adds a report.
    pub(crate) fn add(&mut self, phase: usize, stream: usize, delta: &IntervalDelta) {
        if matches!(self.rule.until, Some(Predicate::ErrorsAbove { .. })) {
            self.errors[phase] += delta.errors;
        }
        let by_interval = matches!(self.rule.until, Some(Predicate::RelativeCiBelow { .. }));
        if !by_interval && self.endings[phase] != Ending::Steady {
            return;
        }
        self.windows[stream].add(delta);
    }

    /// The phase running `now` that must end, and why; `reported` seconds of the pass are complete. Times count from
    /// the start of the pass.
    pub(crate) fn ends(
        &self,
        phases: &[PhaseTimes],
        now: Nanos,
        reported: u64,
    ) -> Option<(usize, EarlyEnd)> {
        let running = phases.iter().position(|times| times.contains(now))?;
        let start = phases[running].start;
        let mut windows = self.windows.iter().map(StreamWindows::counted);
        let (ends, why) = match self.endings[running] {
            Ending::Never => return None,
            Ending::Rule => (self.holds(running, start, now, reported), EarlyEnd::Predicate),
            Ending::Steady => {
                let ends = windows.all(|counts| self.is_steady(counts, start, reported));
                (ends, EarlyEnd::Steady)
            }
        };
        ends.then_some((running, why))
    }

    /// Whether the stop rule ends the measured phase that began at `start`.
    fn holds(&self, phase: usize, start: Nanos, now: Nanos, reported: u64) -> bool {
        if start.saturating_add(self.rule.minimum) > now {
            return false;
        }
        let mut windows = self.windows.iter().map(StreamWindows::counted);
        match self.rule.until {
            None => false,
            Some(Predicate::ErrorsAbove { count }) => self.errors[phase] > count,
            Some(Predicate::RelativeCiBelow { ppm }) => windows.all(|counts| {
                relative_ci(counts, start, reported).is_some_and(|ci| ci * 1e6 < f64::from(ppm))
            }),
        }
    }

    /// Whether a stream's throughput was steady over the second half of a warm-up that began at `start`. It uses the
    /// test of the record's throughput, and extrapolates the drift to the horizon: a target that becomes faster for a
    /// minute changes little in any three seconds.
    fn is_steady(&self, counts: &[u64], start: Nanos, reported: u64) -> bool {
        let whole = whole_windows(counts, start, reported).unwrap_or_default();
        let latter = &whole[whole.len() / 2..];
        let length = Nanos(WINDOW_NS).as_secs_f64() * len_to_f64(latter.len());
        let throughput = of_windows(latter);
        // A stream without throughput would pass the test.
        let drift = throughput.drift.filter(|_| throughput.mean_per_s > 0.0);
        drift.is_some_and(|drift| {
            let times = (self.horizon.as_secs_f64() / length).max(1.0);
            drift.over(times).steadiness(self.steadiness) == Steadiness::Steady
        })
    }
}

/// The length of the first measured phase, within bounds.
fn horizon(plan: &Plan) -> Nanos {
    let mut phases = plan.phases.iter();
    let measured = phases.find(|phase| phase.kind == PhaseKind::Measure);
    let [least, most] = HORIZON;
    measured.map_or(least, |phase| phase.duration.clamp(least, most))
}

/// Half width of the 95% confidence interval of a stream's throughput, relative to its mean, from the whole windows
/// since `start`: the value that a record written now would contain.
fn relative_ci(counts: &[u64], start: Nanos, reported: u64) -> Option<f64> {
    let throughput = of_windows(&whole_windows(counts, start, reported)?);
    let (low, high) = throughput.ci95?;
    (throughput.mean_per_s > 0.0).then(|| (high - low) / 2.0 / throughput.mean_per_s)
}

fn of_windows(counts: &[u64]) -> Throughput {
    throughput(counts, Nanos(WINDOW_NS))
}

/// A stream's counts in the whole windows since `start`, as far as they were reported.
fn whole_windows(counts: &[u64], start: Nanos, reported: u64) -> Option<Vec<u64>> {
    let index = |windows: u64| usize::try_from(windows).unwrap_or(usize::MAX);
    let first = index(start.0.div_ceil(WINDOW_NS));
    let last = index(reported.saturating_mul(WINDOWS_PER_SECOND as u64));
    let mut phase = counts.get(first..last.min(counts.len()))?.to_vec();
    // Windows without any response were reported as well.
    phase.resize(last.checked_sub(first)?, 0);
    Some(phase)
}

/// Counts so far; absent if no miss ends the run.
#[derive(Debug, Default)]
pub(crate) struct MissCounts {
    objectives: Vec<Objective>,
    by_key: BTreeMap<usize, OpSoFar>,
}

impl MissCounts {
    /// Empty counts for this plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        if !plan.stop.on_miss {
            return Self::default();
        }
        Self { objectives: plan.objectives.clone(), by_key: BTreeMap::new() }
    }

    /// Adds latencies against their bounds.
    pub(crate) fn add_windows(&mut self, delta: &WindowDelta) {
        if self.objectives.is_empty() {
            return;
        }
        let so_far = self.by_key.entry(delta.key).or_default();
        delta.ended.add_to(&mut so_far.ended);
        delta.add_over(&mut so_far.over);
    }

    /// Adds failures.
    pub(crate) fn add_counts(&mut self, delta: &IntervalDelta) {
        if self.objectives.is_empty() {
            return;
        }
        let so_far = self.by_key.entry(delta.key).or_default();
        *so_far.offered.entry(delta.second).or_default() += delta.offered;
        so_far.failed += delta.errors + delta.dropped;
        so_far.rejected += delta.rejected;
    }

    /// The measured phase that is running `now`, and what makes it hopeless; times count from the start of the pass.
    /// `named` returns the phase of a key, and the plan of its op.
    pub(crate) fn hopeless(
        &self,
        phases: &[ScheduledPhase],
        now: Nanos,
        named: impl Fn(usize) -> (usize, OpSoFar),
    ) -> Option<(usize, Hopeless)> {
        if self.objectives.is_empty() {
            return None;
        }
        let running = phases.iter().find(|phase| phase.times.contains(now))?;
        if running.kind != PhaseKind::Measure {
            return None;
        }
        let so_far = self.by_key.iter().filter_map(|(key, counts)| {
            let (phase, planned) = named(*key);
            (phase == running.number).then(|| OpSoFar {
                stream: planned.stream,
                op: planned.op,
                units_per_op: planned.units_per_op,
                is_closed: planned.is_closed,
                ..counts.clone()
            })
        });
        let so_far: Vec<OpSoFar> = so_far.collect();
        let elapsed = now.saturating_sub(running.times.start);
        let length = running.times.end.saturating_sub(running.times.start);
        let found = hopeless(&self.objectives, &so_far, elapsed, length)?;
        Some((running.number, found))
    }
}

/// `stopped, as --abort-on-miss asks: insert p99 ≤ 50 ms can no longer be met: …`, for the record.
pub(crate) fn words(found: &Hopeless) -> String {
    let [stream, op] = &found.place;
    let place = if stream == op { op.clone() } else { format!("{stream} {op}") };
    let what = match &found.objective {
        Objective::Latency { quantile_ppm, max, .. } => {
            format!("{} ≤ {}", quantile(*quantile_ppm), span(max.0))
        }
        Objective::RowLatency { quantile_ppm, max } => {
            format!("{} of rows ≤ {}", quantile(*quantile_ppm), span(max.0))
        }
        Objective::Errors { max_ppm } => format!("errors ≤ {}", percent_asked(*max_ppm)),
        Objective::Rejected { max_ppm } => format!("rejected ≤ {}", percent_asked(*max_ppm)),
        _ => "its objective".to_owned(),
    };
    format!(
        "stopped early: {place} {what} could no longer be met by what was to be expected: {} of its ops missed \
         it, {} may",
        percent(found.missed),
        percent_asked(round_to_u32(found.allowed * 1e6))
    )
}
