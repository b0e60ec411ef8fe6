//! A run over time: its intervals by op, a point for one or more seconds, and its phases.

use highwater_model::display::foreign;
use highwater_model::numbers::{len_to_f64, to_f64};
use highwater_model::plan::{PhaseKind, Unit};
use highwater_model::record::{Change, IntervalRecord, InterventionRecord, RunRecord};
use highwater_model::units::Nanos;

use crate::chart::{Axis, Chart, Point, Quantity, Series, Span, SpanKind};
use crate::events::intervention_label;

/// Maximum points of a series over time.
const POINTS_MAX: u64 = 600;

/// Fewer points than seconds, without losing a peak or a gap: how many seconds a point covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Downsampling {
    /// Seconds per point; at least 1.
    pub(crate) seconds: u64,
    /// Total seconds.
    pub(crate) total: u64,
}

impl Downsampling {
    /// For a run of `total` whole seconds.
    pub(crate) const fn new(total: u64) -> Self {
        let seconds = total.div_ceil(POINTS_MAX);
        Self { seconds: if seconds == 0 { 1 } else { seconds }, total }
    }

    /// Number of points.
    pub(crate) fn points(self) -> usize {
        usize::try_from(self.total.div_ceil(self.seconds)).unwrap_or(0)
    }

    /// The point that a second belongs to; absent after the end.
    pub(crate) fn point_of(self, second: u64) -> Option<usize> {
        (second < self.total).then(|| usize::try_from(second / self.seconds).ok()).flatten()
    }

    /// Position of a point: the middle of its seconds.
    pub(crate) fn middle(self, point: usize) -> f64 {
        let first = len_to_f64(point) * to_f64(self.seconds);
        let last = (first + to_f64(self.seconds)).min(to_f64(self.total));
        f64::midpoint(first, last)
    }

    /// Seconds of a point: fewer at the end.
    pub(crate) fn length(self, point: usize) -> f64 {
        let first = point as u64 * self.seconds;
        to_f64(self.seconds.min(self.total.saturating_sub(first)))
    }

    /// A sentence for the note of a chart; empty if each second has its own point.
    pub(crate) fn note(self, what: &str) -> String {
        if self.seconds == 1 {
            String::new()
        } else {
            format!(" Each point covers {} seconds: {what}.", self.seconds)
        }
    }
}

/// Minimum length of a marked gap.
const GAP_NS: u64 = 1_000_000_000;
/// Minimum length of a marked gap, as a multiple of the mean time between responses.
const GAP_TIMES: u64 = 5;
/// Maximum number of marked gaps.
const GAPS_MAX: usize = 12;
/// Maximum number of changes that are searched for notes.
const NOTES_MAX: usize = 100;
/// Maximum characters of a note.
const WORDS: usize = 200;

/// Phases with a pace, in whole seconds.
pub(super) struct Timeline<'a> {
    pub(super) record: &'a RunRecord,
    pub(super) thinning: Downsampling,
    /// For a run in progress: the end of the axis in seconds. The seconds of a point are known only in
    /// total.
    so_far: Option<f64>,
}

/// The unit that a slot counts.
#[derive(Clone, Copy)]
pub(super) struct CountedUnit {
    pub(super) unit: Unit,
    pub(super) units_per_op: u64,
}

impl CountedUnit {
    /// Counts ops.
    pub(super) const OPS: Self = Self { unit: Unit::Queries, units_per_op: 1 };
}

/// Counts in the seconds of a point.
#[derive(Debug, Clone, Default)]
pub(super) struct Slot {
    /// Units offered.
    pub(super) offered: f64,
    /// Units acknowledged.
    pub(super) acknowledged: f64,
    /// Acknowledged units, for each second of the point.
    pub(super) per_second: Vec<f64>,
    /// Failed ops.
    pub(super) errors: f64,
    /// Failed ops that were rejected.
    pub(super) rejected: f64,
    /// Rows that were not stored.
    pub(super) rows_refused: f64,
    /// Intended ops that were never sent.
    pub(super) dropped: f64,
    /// Medians of its seconds, in nanoseconds.
    pub(super) medians: Vec<u64>,
    /// Largest p99 of its seconds.
    pub(super) p99: Option<u64>,
    /// Maximum latency.
    pub(super) max: Option<u64>,
}

impl<'a> Timeline<'a> {
    /// Absent if no second is known.
    pub(super) fn from_record(record: &'a RunRecord) -> Option<Self> {
        let end = record
            .phases
            .iter()
            .filter(|phase| is_paced(phase.kind))
            .map(|phase| phase.start_ns.saturating_add(phase.duration_ns))
            .max()?;
        // The last second counts only if it is whole, or nearly.
        let total = (end + Nanos::SECOND.0 / 20) / Nanos::SECOND.0;
        let has_seconds = record.intervals.iter().any(|i| i.second < total);
        let thinning = Downsampling::new(total);
        has_seconds.then_some(Self { record, thinning, so_far: None })
    }

    /// A run in progress, whose intervals cover up to `seconds` seconds each; the axis ends at `end`.
    pub(super) fn so_far(record: &'a RunRecord, seconds: u64, end: f64) -> Option<Self> {
        let whole = Self::from_record(record)?;
        let thinning = Downsampling { seconds, ..whole.thinning };
        Some(Self { thinning, so_far: Some(end), ..whole })
    }

    /// Whether the seconds of each point are known one by one.
    pub(super) const fn knows_seconds(&self) -> bool {
        self.so_far.is_none()
    }

    /// Intervals of phases with a pace.
    fn intervals(&self) -> impl Iterator<Item = &'a IntervalRecord> {
        let record = self.record;
        let paced = move |name: &str| {
            let phase = record.phases.iter().find(|phase| phase.name == name);
            phase.is_some_and(|phase| is_paced(phase.kind))
        };
        record.intervals.iter().filter(move |interval| paced(&interval.phase))
    }

    /// Streams and their units, in the order of the plan.
    pub(super) fn streams(&self) -> Vec<(&'a str, CountedUnit)> {
        let plans = &self.record.plan.definition.streams;
        let plans = plans.iter().filter(|plan| {
            let mut intervals = self.record.intervals.iter();
            intervals.any(|interval| interval.stream == plan.name)
        });
        plans
            .map(|plan| {
                let (unit, units_per_op) = (plan.unit, plan.units_per_op.max(1));
                (plan.name.as_str(), CountedUnit { unit, units_per_op })
            })
            .collect()
    }

    /// Names of streams and ops, in order of appearance.
    pub(super) fn ops(&self) -> Vec<(&'a str, &'a str)> {
        let mut ops: Vec<(&str, &str)> = Vec::new();
        for interval in self.intervals() {
            let name = (interval.stream.as_str(), interval.op.as_str());
            if !ops.contains(&name) {
                ops.push(name);
            }
        }
        ops.sort_by_key(|(stream, _)| {
            self.record
                .plan
                .definition
                .streams
                .iter()
                .map(|plan| plan.name.as_str())
                .position(|name| name == *stream)
        });
        ops
    }

    /// A slot for each point, from the intervals that `selected` accepts; counts in `unit`.
    pub(super) fn slots(
        &self,
        counted: CountedUnit,
        selected: impl Fn(&IntervalRecord) -> bool,
    ) -> Vec<Slot> {
        let CountedUnit { unit, units_per_op } = counted;
        let mut slots = vec![Slot::default(); self.thinning.points()];
        let seconds = usize::try_from(self.thinning.total).unwrap_or(0);
        let mut by_second = vec![0_u64; seconds];
        for interval in self.intervals().filter(|interval| selected(interval)) {
            let Some(slot) = self.thinning.point_of(interval.second) else {
                continue;
            };
            let slot = &mut slots[slot];
            let done = match unit {
                Unit::Rows => interval.rows_acknowledged,
                Unit::Queries | Unit::Transactions => interval.acknowledged,
            };
            slot.offered += to_f64(interval.offered.saturating_mul(units_per_op));
            slot.acknowledged += to_f64(done);
            slot.errors += to_f64(interval.errors);
            slot.rejected += to_f64(interval.rejected);
            slot.rows_refused += to_f64(interval.rows_refused);
            slot.dropped += to_f64(interval.dropped);
            slot.medians.extend(interval.p50_ns);
            slot.p99 = slot.p99.max(interval.p99_ns);
            slot.max = slot.max.max(interval.max_ns);
            if let Ok(second) = usize::try_from(interval.second) {
                by_second[second] += done;
            }
        }
        for (second, done) in (0_u64..).zip(by_second) {
            if let Some(slot) = self.thinning.point_of(second) {
                slots[slot].per_second.push(to_f64(done));
            }
        }
        slots
    }

    pub(super) fn axis(&self) -> Axis {
        let end = self.so_far.unwrap_or(to_f64(self.thinning.total));
        Axis::between("time since the start", Quantity::Time, 0.0, end)
    }

    /// These series over the time of the run; `of` has the texts and the vertical axis. Absent without any series.
    pub(super) fn chart(&self, of: Chart, series: Vec<Series>) -> Option<Chart> {
        (!series.is_empty()).then(|| Chart { series, ..self.blank(of) })
    }

    /// The time axis, and the background of all lines.
    pub(super) fn blank(&self, of: Chart) -> Chart {
        Chart { x: self.axis(), spans: self.spans(), ..of }
    }

    /// A point in the middle of each slot's seconds; `of` computes it from a slot and its number of seconds.
    pub(super) fn points<T>(&self, slots: &[T], of: impl Fn(&T, f64) -> Point) -> Vec<Point> {
        slots
            .iter()
            .enumerate()
            .map(|(number, slot)| Point {
                x: self.thinning.middle(number),
                ..of(slot, self.thinning.length(number))
            })
            .collect()
    }

    /// A count of each slot, per second.
    pub(super) fn per_second(&self, slots: &[Slot], of: fn(&Slot) -> f64) -> Vec<Point> {
        self.points(slots, |slot, seconds| Point::new(0.0, Some(of(slot) / seconds)))
    }

    /// Phases, and notable gaps.
    pub(super) fn spans(&self) -> Vec<Span> {
        let mut spans: Vec<Span> = self
            .record
            .phases
            .iter()
            .filter_map(|phase| {
                let kind = match phase.kind {
                    PhaseKind::WarmUp => SpanKind::LeftOut,
                    PhaseKind::Measure => SpanKind::Measured,
                    PhaseKind::Load | PhaseKind::Drain | PhaseKind::Audit => return None,
                };
                Some(span(phase.start_ns, phase.duration_ns, &phase.name, kind))
            })
            .collect();
        let gaps = self.gaps();
        let gaps = gaps.iter().take(GAPS_MAX);
        spans.extend(gaps.map(|[start, length]| span(*start, *length, "", SpanKind::Gap)));
        spans.extend(notes(&self.record.interventions));
        spans
    }

    /// Gaps that are long, absolutely and for the pace of this run.
    pub(super) fn gaps(&self) -> Vec<[u64; 2]> {
        let seen = &self.record.availability;
        let answers: u64 = seen.acknowledged_per_s.iter().sum();
        let seconds = u64::try_from(seen.acknowledged_per_s.len()).unwrap_or(0);
        let usual = (seconds * Nanos::SECOND.0).checked_div(answers);
        let least = GAP_NS.max(usual.unwrap_or(0).saturating_mul(GAP_TIMES));
        seen.gaps.iter().filter(|[_, length]| *length >= least).copied().collect()
    }
}

const fn is_paced(kind: PhaseKind) -> bool {
    matches!(kind, PhaseKind::WarmUp | PhaseKind::Measure)
}

/// The times of a user's changes and notes.
fn notes(interventions: &[InterventionRecord]) -> impl Iterator<Item = Span> + '_ {
    let drawn = interventions.iter().filter(|done| !matches!(done.change, Change::Pause { .. }));
    drawn.take(NOTES_MAX).map(|done| {
        let name = foreign(&intervention_label(done), WORDS);
        span(done.time_ns, 0, &name, SpanKind::Note)
    })
}

fn span(start_ns: u64, length_ns: u64, name: &str, kind: SpanKind) -> Span {
    Span {
        from: Nanos(start_ns).as_secs_f64(),
        to: Nanos(start_ns.saturating_add(length_ns)).as_secs_f64(),
        name: name.to_owned(),
        kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_has_a_point_a_second_and_a_long_one_at_most_six_hundred() {
        for (total, seconds, points) in
            [(0, 1, 0), (62, 1, 62), (600, 1, 600), (601, 2, 301), (3_602, 7, 515)]
        {
            let thinning = Downsampling::new(total);
            assert_eq!((thinning.seconds, thinning.points()), (seconds, points));
            assert_eq!(thinning.point_of(total), None);
            if total > 0 {
                assert_eq!(thinning.point_of(total - 1), Some(points - 1));
            }
        }
    }

    #[test]
    fn points_lie_in_the_middle_of_their_seconds() {
        let thinning = Downsampling::new(601);
        let middles = [0, 300].map(|point| thinning.middle(point).to_string());
        assert_eq!(middles, ["1", "600.5"]);
        assert_eq!(thinning.length(300).to_string(), "1");
    }
}
