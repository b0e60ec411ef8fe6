//! Counts for the plan's stop on a missed objective, per key, as they arrive. Must not use any other result of the run,
//! or decide: `analysis` determines what is hopeless.

use std::collections::BTreeMap;

use highwater_analysis::judge::objective::{Hopeless, OpSoFar, hopeless};
use highwater_model::display::{percent, percent_asked, quantile, span};
use highwater_model::numbers::round_to_u32;
use highwater_model::plan::{Objective, PhaseKind, Plan};
use highwater_model::units::Nanos;

use crate::recorder::{IntervalDelta, WindowDelta};
use crate::schedule::ScheduledPhase;

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
        Objective::Throughput { .. } | Objective::Cpu { .. } => "its objective".to_owned(),
    };
    format!(
        "stopped early: {place} {what} could no longer be met by what was to be expected: {} of its ops missed \
         it, {} may",
        percent(found.missed),
        percent_asked(round_to_u32(found.allowed * 1e6))
    )
}
