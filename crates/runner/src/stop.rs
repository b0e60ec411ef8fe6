//! The plan's stop rule: what it looks at, and whether it holds.
//!
//! TargetInspection at once a second, from what the executors have reported by then. It must not look at
//! anything else of a run's own results.

use highwater_analysis::throughput::throughput;
use highwater_model::plan::{PhaseKind, Plan, Predicate, StopRule};
use highwater_model::record::WINDOW_NS;
use highwater_model::units::Nanos;

use crate::recorder::{IntervalDelta, WINDOWS_PER_SECOND};
use crate::schedule::{PhaseTimes, ScheduledPhase};

/// What has come in so far, as far as the rule asks for it.
#[derive(Debug, Default)]
pub(crate) struct StopCounts {
    rule: StopRule,
    measured: Vec<bool>,
    /// Failed ops, by phase.
    errors: Vec<u64>,
    /// Acknowledged ops per 100 ms of the pass, by stream; only where the rule asks for them.
    windows: Vec<Vec<u64>>,
}

impl StopCounts {
    /// Nothing yet, of this plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let phases = plan.phases.iter();
        Self {
            rule: plan.stop.clone(),
            measured: phases.map(|p| p.kind == PhaseKind::Measure).collect(),
            errors: vec![0; plan.phases.len()],
            windows: vec![Vec::new(); plan.streams.len()],
        }
    }

    /// Learns of the phases that were added since.
    pub(crate) fn add_phases(&mut self, phases: &[ScheduledPhase]) {
        self.measured = phases
            .iter()
            .map(|p| p.kind == PhaseKind::Measure)
            .collect();
        self.errors.resize(phases.len(), 0);
    }

    /// Adds a report.
    pub(crate) fn add(&mut self, phase: usize, stream: usize, delta: &IntervalDelta) {
        match self.rule.until {
            None => {}
            Some(Predicate::ErrorsAbove { .. }) => self.errors[phase] += delta.errors,
            Some(Predicate::RelativeCiBelow { .. }) => {
                let counts = &mut self.windows[stream];
                let first = usize::try_from(delta.second).unwrap_or(0) * WINDOWS_PER_SECOND;
                if counts.len() < first + WINDOWS_PER_SECOND {
                    counts.resize(first + WINDOWS_PER_SECOND, 0);
                }
                for (count, new) in counts[first..].iter_mut().zip(delta.windows) {
                    *count += u64::from(new);
                }
            }
        }
    }

    /// The measured phase that is running `now` and that the rule ends; `reported` seconds of the
    /// pass have come in whole. Times count from the begin of the pass.
    pub(crate) fn ends(&self, phases: &[PhaseTimes], now: Nanos, reported: u64) -> Option<usize> {
        let running = phases.iter().position(|times| times.contains(now))?;
        let start = phases[running].start;
        let old_enough = start.saturating_add(self.rule.minimum) <= now;
        let ends = self.measured[running]
            && old_enough
            && match self.rule.until? {
                Predicate::ErrorsAbove { count } => self.errors[running] > count,
                Predicate::RelativeCiBelow { ppm } => self.windows.iter().all(|counts| {
                    relative_ci(counts, start, reported).is_some_and(|ci| ci * 1e6 < f64::from(ppm))
                }),
            };
        ends.then_some(running)
    }
}

/// Half width of the 95 % interval of a stream's throughput, relative to its mean, from the whole
/// windows since `start`: what the record would say now.
fn relative_ci(counts: &[u64], start: Nanos, reported: u64) -> Option<f64> {
    let index = |windows: u64| usize::try_from(windows).unwrap_or(usize::MAX);
    let first = index(start.0.div_ceil(WINDOW_NS));
    let last = index(reported.saturating_mul(WINDOWS_PER_SECOND as u64));
    let mut phase = counts.get(first..last.min(counts.len()))?.to_vec();
    // What has not been answered at all was reported, too.
    phase.resize(last.checked_sub(first)?, 0);
    let throughput = throughput(&phase, Nanos(WINDOW_NS));
    let (low, high) = throughput.ci95?;
    (throughput.mean_per_s > 0.0).then(|| (high - low) / 2.0 / throughput.mean_per_s)
}
