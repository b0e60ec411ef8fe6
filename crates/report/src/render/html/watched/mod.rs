//! The page of a running run or experiment: the page of its result, with unknown parts left open, in regions that
//! are swapped once a second around fixed controls.
//!
//! Its charts draw the seconds as intervals of a record. Must not judge, or word a figure differently from the page of
//! the result.

mod so_far;

#[cfg(test)]
mod tests;

use maud::{Markup, html};

use highwater_analysis::judge::measured_streams;
use highwater_model::display::{count, foreign, harmless, percent_whole, rate, ratio, span};
use highwater_model::event::{LoadBounds, Part as RunPart};
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::{PhaseKind, StreamPlan, Unit};
use highwater_model::record::{IntervalRecord, PhaseRecord, RunRecord};
use highwater_model::units::Nanos;

use super::served;
use crate::answer::{plural, to_the_second};
use crate::chart::{Axis, Chart, Point, Quantity, Series, Shape, Span, SpanKind, values};
use crate::events::part_line;
use crate::kinds::run::figure;
use crate::layout::{Row, headed, list};
use crate::live::left_words;
use crate::plots;
use crate::progress::{LOWER_BOUND, named_p99};
use crate::render::html;
use crate::render::html::blocks::{Part, table};
use crate::watched::{Seconds, Slot, SlotStream, Stage, WatchedPage, WatchedRun};

/// Rights of the page of a watched run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveRights {
    /// View only.
    View,
    /// For an experiment: stop it, and pause it between two trials.
    Trials,
    /// For a run: stop it, change a stream's pace, and add a note.
    Control,
}

const STYLE: &str = include_str!("../style.css");
const LIVE_STYLE: &str = include_str!("live.css");

/// The style of the page.
pub fn live_style() -> String {
    format!("{STYLE}\n{LIVE_STYLE}")
}

/// The page at this time; its script, served separately, swaps the regions. Without the script, the page reloads.
pub fn live_page(watched: &WatchedPage, rights: LiveRights) -> String {
    let head = html! { noscript { meta http-equiv="refresh" content="5"; } };
    let [top, answer, more] = regions(watched);
    let body = html! {
        a class="skip" href="#content" { "To the answer" }
        header class="live" { (top) div class="acts" { span id="connection" role="status" {} } }
        main id="content" {
            (answer)
            @if rights != LiveRights::View { (controls(rights)) }
            (more)
        }
    };
    served("In progress", &head, &body)
}

/// The regions that the script swaps, one per line.
pub fn live_parts(watched: &WatchedPage) -> String {
    list(regions(watched).map(|region| harmless(&region.into_string())), "\n")
}

/// The header, the answer, and everything below the controls.
fn regions(watched: &WatchedPage) -> [Markup; 3] {
    let page = so_far::page(watched);
    let top = html! { (html::top(&page)) (status(watched)) };
    let answer = html::head(&page.answer, &page.tags);
    let more = html! {
        div class="hero" { (page.hero) }
        (html::keys(&page.answer.keys))
        div class="folds" { @for part in &page.parts { (html::folded(part, true)) } }
        @if watched.dropped > 0 {
            p class="note" { (count(watched.dropped)) " events were not taken in time and are not shown." }
        }
    };
    [("top", top), ("parts", answer), ("more", more)]
        .map(|(id, region)| html! { div id=(id) { (region) } })
}

/// Hidden until the script runs: without it, the controls have no effect.
fn controls(rights: LiveRights) -> Markup {
    html! {
        form id="controls" aria-label="Control" hidden {
            @if rights == LiveRights::Control {
                label { "Stream " select id="stream" {} }
                label { span id="pace-name" { "Rate" } " "
                    input id="pace" inputmode="decimal" autocomplete="off" size="9" required;
                }
                select id="pace-kind" aria-label="Unit of the pace" {
                    option value="rate" { "per second" }
                    option value="sessions" { "sessions" }
                }
                label { "Ramp "
                    input id="ramp" inputmode="decimal" autocomplete="off" size="6" placeholder="at once";
                    " " span id="ramp-unit" { "a second" }
                }
                button id="change" type="submit" { "Change" }
                label { "Note " input id="note" maxlength="1000" autocomplete="off"; }
                button id="keep-note" type="button" { "Add note" }
            }
            @if rights == LiveRights::Trials { button id="pause" type="button" { "Pause" } }
            button id="stop" type="button" { "Stop" }
            output id="said" role="status" {}
            p class="term" {
                @if rights == LiveRights::Control {
                    "Changes start a new phase in the report; a rate ramp makes up to ten, while this page is open. Stop: finish, \
                     audit, save. Stop twice: abort."
                } @else {
                    "Pause: wait after the current trial, outside the budget. Stop: finish with what is known."
                }
            }
        }
    }
}

/// The state with the time that has passed and the time left, the figures of the last second, and a progress bar.
fn status(watched: &WatchedPage) -> Markup {
    let run = &watched.run;
    let second = run.last.as_ref().map_or(0, |last| last.second);
    let (state, share) = state(watched);
    let failed: u64 =
        run.seconds.slots.iter().flat_map(|slot| &slot.streams).map(|stream| stream.errors).sum();
    html! {
        p class="status" data-held=(watched.is_held) data-second=(second) data-over=(watched.is_over) {
            b { (state) }
            @for time in times(watched, second) { span { (time) } }
            @if watched.is_held && run.stage != Stage::Paused { span { "pauses after this trial" } }
        }
        @if let Some(last) = run.last.as_ref().filter(|_| !watched.is_over) {
            p class="now" {
                @if !watched.trying.is_empty() { span { "at " (span(second.saturating_mul(Nanos::SECOND.0))) " of this run" } }
                @if let (Stage::Load(_), Some(first)) = (&run.stage, last.streams.first()) {
                    @let (name, latency) = named_p99(first);
                    span { b { (rate(first.units_per_s)) } " " (first.unit.name()) "/s now" }
                    // The last percentile is that of ops before the outage.
                    @if run.is_silent() {
                        span class="bad" { b { "no response for " (run.silent_s) " s" } }
                    } @else {
                        span { (name) " " b { (latency.replace('≥', "at least")) } }
                    }
                }
                span { b { (count(failed)) } " failed" }
                @for stream in &last.streams {
                    @let pace = so_far::pace_now(run, last, stream);
                    data hidden data-stream=(stream.stream) data-open=(stream.offered_per_s.is_some()) value=(pace) {}
                }
            }
        }
        @if let (Stage::Load(LoadBounds { length: Some(length), .. }), Some(share)) = (&run.stage, share) {
            (bar(run, *length, share))
        } @else if let Some(share) = share {
            progress max="1" value=(format!("{share:.3}")) aria-label="How far this part is" {}
        }
    }
}

/// The current activity, in words, and its completed fraction.
fn state(watched: &WatchedPage) -> (String, Option<f64>) {
    let run = &watched.run;
    if watched.is_over {
        return ("Finished".to_owned(), None);
    }
    match &run.stage {
        Stage::Before => ("Connecting".to_owned(), None),
        Stage::Part(words) => (words.clone(), None),
        Stage::Paused => (part_line(&RunPart::Paused), None),
        Stage::Load(bounds) => {
            let phase = run.last.as_ref().map_or("", |last| last.phase.as_str());
            let second = run.last.as_ref().map_or(0, |last| last.second);
            let share = bounds
                .length
                .map(|length| (to_f64(second) / length.as_secs_f64().max(1.0)).clamp(0.0, 1.0));
            (list(["Running", phase].into_iter().filter(|of| !of.is_empty()), ": "), share)
        }
        Stage::Audit(progress) => {
            let share = ratio(progress.rows, progress.of);
            let (doing, of) = (&progress.doing, count(progress.of));
            (format!("Audit: {doing}, {} of {of} rows", percent_whole(share)), Some(share))
        }
        // Only this trial has ended: an experiment continues with the next.
        Stage::Over if watched.trying.is_empty() => ("Saved".to_owned(), None),
        Stage::Over => ("Between two trials".to_owned(), None),
    }
}

/// The time that has passed and the time left, of the experiment if there is one; of a model its own time, which is not
/// that of the reader's clock.
fn times(watched: &WatchedPage, second: u64) -> Vec<String> {
    if watched.is_over {
        return Vec::new();
    }
    let ns = |seconds: u64| seconds.saturating_mul(1_000_000_000);
    let simulated = watched.run.simulated;
    let (elapsed, to_come) =
        (if simulated { "simulated" } else { "elapsed" }, left_words(simulated));
    let (passed, left) = match (watched.trying.first(), &watched.run.stage) {
        (Some(outermost), _) => {
            // Time that its current trial has spent on its own trials.
            let nested = watched.trying.iter().skip(1).map(|trying| trying.progress.spent.0);
            let this = nested.fold(ns(second), u64::saturating_add);
            let passed = outermost.progress.spent.0.saturating_add(this);
            let left = outermost.progress.left.saturating_sub(Nanos(this));
            let left = Some(format!("about {}", to_the_second(left.0))).filter(|_| left.0 > 0);
            (to_the_second(passed), left)
        }
        (None, Stage::Load(bounds)) => {
            let left = bounds.length.map(|of| span(of.0.saturating_sub(ns(second))));
            // Every figure of the page is of this time.
            let at = format!("at {}", span(ns(second)));
            let at = if simulated { format!("{at} {elapsed}") } else { at };
            let at = Some(at).filter(|_| second > 0);
            return at.into_iter().chain(left.map(|left| format!("{left} {to_come}"))).collect();
        }
        (None, _) => return Vec::new(),
    };
    let left = left.map(|left| format!("{left} {to_come}"));
    std::iter::once(format!("{passed} {elapsed}")).chain(left).collect()
}

/// Maximum length of the axis: this multiple of the elapsed time, so that the data do not shrink to a line at its left
/// end, but always at least `SHOWN_S` seconds.
const SHOWN_AHEAD: f64 = 3.0;
const SHOWN_S: f64 = 60.0;
/// Minimum length of the axis in seconds.
const LEAST_S: f64 = 10.0;

/// All charts with data, with the remaining time.
fn over_time(run: &WatchedRun) -> Vec<Chart> {
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
fn recorded(run: &WatchedRun) -> RunRecord {
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
    record.availability.gaps = run.seconds.silences();
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
            max_ns: stream.max_ns,
            ..IntervalRecord::default()
        }
    })
}

/// The phases of the slots; ramps and unmeasured phases are excluded from results.
fn phases(run: &WatchedRun) -> Vec<PhaseRecord> {
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
fn to_come(run: &WatchedRun) -> Vec<Span> {
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
fn sessions(seconds: &Seconds) -> Option<Chart> {
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
struct Step<'a> {
    from: f64,
    to: f64,
    /// Empty if the load has no planned phases.
    name: &'a str,
}

/// The steps of a load of this length; a single step if its phases do not add up to that length.
fn steps(run: &WatchedRun, length: Nanos) -> Vec<Step<'_>> {
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
fn bar(run: &WatchedRun, length: Nanos, share: f64) -> Markup {
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

/// Maximum characters of a message of the target.
const WORDS: usize = 200;

/// Requests, failures, rate and latency of each op in the current phase; absent before the first measured second.
fn ops(run: &WatchedRun) -> Option<Part> {
    let measured = measured_streams(run.record.as_deref()?);
    let phase = measured.last()?.phase;
    let (mut rows, mut requests, mut failed) = (Vec::new(), 0, 0);
    for stream in measured.iter().filter(|of| of.phase.name == phase.name) {
        for result in &stream.results {
            let per_s = match stream.stream.unit {
                Unit::Rows => result.throughput.rows_per_s,
                Unit::Queries | Unit::Transactions => result.throughput.ops_per_s,
            };
            requests += result.sent;
            failed += result.failed_ops();
            let latency = &result.latency_ns;
            let latencies = [
                ("p50", latency.p50),
                ("p95", latency.p95),
                ("p99", latency.p99),
                ("max", latency.max),
            ];
            let latencies = latencies.map(|(name, ns)| figure(latency, name, ns));
            let counts = [
                count(result.sent),
                count(result.failed_ops()),
                format!("{} {}/s", rate(per_s), stream.stream.unit.name()),
            ];
            let name = if result.stream == result.op {
                result.op.clone()
            } else {
                format!("{} {}", result.stream, result.op)
            };
            rows.push(Row::new(std::iter::once(name).chain(counts).chain(latencies)));
        }
    }
    let lead = format!(
        "{}: {}, {} failed",
        phase.name,
        plural(usize::try_from(requests).unwrap_or(usize::MAX), "request"),
        count(failed)
    );
    let rows = headed("op | requests | failed | rate | p50 | p95 | p99 | max", rows);
    let is_bound = rows.iter().any(|row| row.cells.iter().any(|cell| cell.starts_with('≥')));
    let bound = if is_bound { format!(" {LOWER_BOUND}.") } else { String::new() };
    let caption = format!("In {}, {} so far.{bound}", phase.name, to_the_second(phase.duration_ns));
    Some(Part {
        id: "ops",
        title: "Ops",
        abstract_line: lead,
        body: html! { (table("Figures of each op", &rows, 1)) p class="term" { (caption) } },
    })
}

/// Failed ops by class and message, the most frequent first, with the time of the last one; absent without any. Messages
/// are known a few seconds later than the number of ops.
fn failures(run: &WatchedRun) -> Option<Part> {
    let slots = run.seconds.slots.iter().flat_map(|slot| &slot.streams);
    let failed: u64 = slots.map(|stream| stream.errors).sum();
    let now = run.last.as_ref().map_or(0, |last| last.second);
    let rows = run.failures.iter().map(|(failure, second)| {
        let ago =
            format!("{} ago", span(now.saturating_sub(*second).saturating_mul(1_000_000_000)));
        Row::new([
            failure.class.clone(),
            foreign(&failure.cause(), WORDS),
            count(failure.count),
            ago,
        ])
    });
    let rows = headed("class | message | count | last seen", rows);
    let lead = match run.failures.first() {
        Some((first, _)) => {
            format!("{} ops; most often: {}", count(failed), foreign(&first.cause(), WORDS))
        }
        None => format!("{} ops", count(failed)),
    };
    (failed > 0).then(|| Part {
        id: "failures",
        title: "Failures",
        abstract_line: lead,
        body: if run.failures.is_empty() {
            html! {}
        } else {
            table("Failed ops", &rows, 2)
        },
    })
}
