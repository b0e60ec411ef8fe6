//! Throughput and latency of a running run, over time: its seconds as intervals of a record, which the charts of a
//! result draw. Must not draw anything by itself but the progress bar.

use highwater_model::display::percent_whole;
use highwater_model::event::LoadBounds;
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::{PhaseKind, StreamPlan};
use highwater_model::record::{IntervalRecord, PhaseRecord, RunRecord};
use highwater_model::units::Nanos;
use maud::{Markup, html};

use crate::chart::{Axis, Chart, Point, Quantity, Series, Shape, Span, SpanKind, values};
use crate::plots;
use crate::watched::{RunWatched, Seconds, Slot, SlotStream, Stage};

/// Maximum length of the axis: this multiple of the elapsed time, so that the data do not shrink to a line at its left
/// end, but always at least `SHOWN_S` seconds.
const SHOWN_AHEAD: f64 = 3.0;
const SHOWN_S: f64 = 60.0;
/// Minimum length of the axis in seconds.
const LEAST_S: f64 = 10.0;

/// All charts with data, with the remaining time.
pub(super) fn over_time(run: &RunWatched) -> Vec<Chart> {
    let Some(last) = run.seconds.slots.last() else {
        return Vec::new();
    };
    let to_come = to_come(run);
    let now = to_f64(last.from_s + last.seconds).max(LEAST_S);
    let end = to_come.last().map_or(now, |span| span.to);
    let mut charts = plots::so_far(&recorded(run), run.seconds.slot_s, end);
    for chart in &mut charts {
        chart.spans.extend(to_come.iter().cloned());
    }
    charts
}

/// The record so far with the seconds as intervals: each stream counts in its unit, and has one op.
fn recorded(run: &RunWatched) -> RunRecord {
    let mut record = run.record.as_deref().cloned().unwrap_or_default();
    let streams = run.seconds.slots.last().map_or(&[][..], |slot| &slot.streams);
    record.plan.definition.objectives.clone_from(&run.objectives);
    record.plan.definition.streams = streams
        .iter()
        .map(|of| StreamPlan {
            name: of.stream.clone(),
            unit: of.unit,
            units_per_op: 1,
            ..StreamPlan::default()
        })
        .collect();
    for stream in streams.iter().filter(|of| of.offered.is_some()) {
        record.streams.push(highwater_model::record::StreamRecord {
            stream: stream.stream.clone(),
            planned_rate: stream.offered,
            ..Default::default()
        });
    }
    record.interventions = run.interventions.iter().cloned().collect();
    record.phases = phases(run);
    record.intervals = run.seconds.slots.iter().flat_map(intervals).collect();
    record
}

fn intervals(slot: &Slot) -> impl Iterator<Item = IntervalRecord> + '_ {
    slot.streams.iter().map(|stream: &SlotStream| {
        let units = round_to_u64(stream.units);
        IntervalRecord {
            second: slot.from_s,
            phase: slot.phase.clone(),
            stream: stream.stream.clone(),
            op: stream.stream.clone(),
            offered: stream.offered.map_or(0, round_to_u64),
            acknowledged: units,
            rows_acknowledged: units,
            errors: stream.errors,
            rejected: stream.rejected,
            dropped: stream.dropped,
            p50_ns: stream.p50_ns,
            p99_ns: stream.p99_ns,
            ..IntervalRecord::default()
        }
    })
}

/// The phases of the slots; ramps, and what the plan does not measure, are left out of results.
fn phases(run: &RunWatched) -> Vec<PhaseRecord> {
    let mut phases: Vec<PhaseRecord> = Vec::new();
    for slot in &run.seconds.slots {
        let ns = |seconds: u64| seconds.saturating_mul(Nanos::SECOND.0);
        match phases.last_mut() {
            Some(last) if last.name == slot.phase => {
                last.duration_ns = ns(slot.from_s + slot.seconds).saturating_sub(last.start_ns);
            }
            _ => {
                let mut planned = run.phases.iter();
                let kind = planned.find(|phase| phase.name == slot.phase).map(|phase| phase.kind);
                let is_left_out = matches!(slot.phase.as_str(), "warm-up" | "drain")
                    || slot.phase.ends_with("-ramp");
                phases.push(PhaseRecord {
                    name: slot.phase.clone(),
                    kind: kind.unwrap_or(if is_left_out {
                        PhaseKind::WarmUp
                    } else {
                        PhaseKind::Measure
                    }),
                    step: None,
                    start_ns: ns(slot.from_s),
                    duration_ns: ns(slot.seconds),
                    steady: None,
                });
            }
        }
    }
    phases
}

/// The remaining time of the load, step by step; empty if it has no planned end.
fn to_come(run: &RunWatched) -> Vec<Span> {
    let (Stage::Load(LoadBounds { length, .. }), Some(last)) =
        (&run.stage, run.seconds.slots.last())
    else {
        return Vec::new();
    };
    let now = to_f64(last.from_s + last.seconds);
    let shown = (now * SHOWN_AHEAD).max(SHOWN_S);
    let steps = length.map_or_else(Vec::new, |length| steps(run, length));
    let ahead = steps.iter().filter(|step| step.to > now && step.from < shown);
    let spans = ahead.map(|step| Span {
        from: step.from.max(now),
        to: step.to.min(shown),
        // The current step is named at its start.
        name: match step.from {
            from if from < now => String::new(),
            _ => step.name.to_owned(),
        },
        kind: SpanKind::ToCome,
    });
    spans.collect()
}

/// Open sessions; absent before the first second.
pub(super) fn sessions(seconds: &Seconds) -> Option<Chart> {
    let last = seconds.slots.last()?;
    let points = seconds.slots.iter().map(|slot| {
        let middle = to_f64(slot.from_s) + to_f64(slot.seconds) / 2.0;
        Point::new(middle, Some(f64::from(slot.sessions)))
    });
    let series = vec![Series::new("all streams", Shape::Line, 0, points.collect())];
    seconds.slots.iter().any(|slot| slot.sessions > 0).then(|| Chart {
        title: "Sessions".to_owned(),
        x: Axis::between("time", Quantity::Time, 0.0, to_f64(last.from_s + last.seconds)),
        y: Axis::from_zero("sessions", Quantity::Number, values(&series)),
        series,
        ..Chart::default()
    })
}

/// Width of the bar in its own units, and the space between two steps.
const WIDTH: f64 = 1_000.0;
const APART: f64 = 4.0;

/// A planned phase, in seconds from the start of the first one.
#[derive(Debug, PartialEq)]
pub(super) struct Step<'a> {
    pub(super) from: f64,
    pub(super) to: f64,
    /// Empty if the load has no planned phases.
    pub(super) name: &'a str,
}

/// The steps of a load of this length; a single step if its phases do not add up to that length.
pub(super) fn steps(run: &RunWatched, length: Nanos) -> Vec<Step<'_>> {
    let planned = run.phases.iter();
    let whole: u64 = planned.clone().map(|phase| phase.duration.0).sum();
    if whole != length.0 {
        return vec![Step { from: 0.0, to: to_f64(length.0) / 1e9, name: "" }];
    }
    let mut end = 0.0;
    let steps = planned.map(|phase| {
        let from = end;
        end += to_f64(phase.duration.0) / 1e9;
        Step { from, to: end, name: &phase.name }
    });
    steps.collect()
}

/// Progress of a load of this length, step by step.
pub(super) fn bar(run: &RunWatched, length: Nanos, share: f64) -> Markup {
    let length_s = to_f64(length.0) / 1e9;
    let percent = percent_whole(share);
    let place = |seconds: f64| seconds / length_s * WIDTH;
    html! {
        div class="steps" role="progressbar" aria-label="How far the load is" aria-valuemin="0"
            aria-valuemax="1" aria-valuenow=(format!("{share:.3}")) aria-valuetext=(percent) {
            svg viewBox=(format!("0 0 {WIDTH} 8")) preserveAspectRatio="none" aria-hidden="true" {
                @for step in steps(run, length) {
                    @let [from, to] = [step.from, step.to].map(place);
                    @let end = if to < WIDTH { (to - APART).max(from) } else { to };
                    @let done = (share * WIDTH).clamp(from, end) - from;
                    rect x=(format!("{from:.1}")) width=(format!("{:.1}", end - from)) height="8" {}
                    rect class="done" x=(format!("{from:.1}")) width=(format!("{done:.1}")) height="8" {}
                }
            }
        }
    }
}
