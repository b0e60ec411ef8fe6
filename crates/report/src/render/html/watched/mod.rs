//! The page of a running run or experiment: the data so far, as parts that are swapped once a second around fixed
//! controls.
//!
//! Must not judge or look like a result: each figure is marked "so far".

mod charts;
#[cfg(test)]
mod tests;

use maud::{Markup, PreEscaped, html};

use highwater_analysis::judge::measured_streams;
use highwater_analysis::judge::objective::may_yet_be_met;
use highwater_model::display::{count, duration, harmless, percent_whole, rate, ratio, span};
use highwater_model::event::{LoadBounds, Part, SecondProgress, StreamProgress};
use highwater_model::judgment::Judgments;
use highwater_model::numbers::to_f64;
use highwater_model::plan::AuditLevel;
use highwater_model::record::{ExperimentRecord, RecordRef};
use highwater_model::units::Nanos;

use super::blocks::{hero, part};
use super::page::{served, so_far};
use crate::answer::Tone;
use crate::answer::to_the_second;
use crate::chart;
use crate::events::part_line;
use crate::judgments::{objective_bound, three};
use crate::kinds::search::bracket;
use crate::kinds::{of_question, run_answer};
use crate::layout::{list, or_absent};
use crate::live::left_at_most;
use crate::objective_progress::standings;
use crate::plots::target_so_far;
use crate::progress::{offered, p99};
use crate::watched::{RunWatched, SlotStream, Stage, Watched};

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

/// Maximum number of planned phases that are named.
const PHASES_MAX: usize = 12;

/// Columns of figures in the table of streams; on phones, each figure has the name of its column.
const FIGURES: [&str; 7] =
    ["offered/s", "last second", "so far", "p50", "p99", "acknowledged", "failed"];

/// The phase of ops that end after the last paced phase; it is not part of any rate.
const DRAIN: &str = "drain";

const STYLE: &str = include_str!("../style.css");
const LIVE_STYLE: &str = include_str!("live.css");

/// The style of the page.
pub fn live_style() -> String {
    format!("{STYLE}\n{LIVE_STYLE}")
}

/// The page at this time; its script, served separately, swaps the parts. Without the script, the page reloads.
pub fn live_page(watched: &Watched, rights: LiveRights) -> String {
    let head = html! {
        script src="/live.js" defer {}
        noscript { meta http-equiv="refresh" content="5"; }
    };
    let body = html! {
        a class="skip" href="#parts" { "To the content" }
        header class="live-top" {
            p class="brand" { a href="/" { "Highwater" } }
            p id="connection" role="status" { "live" }
        }
        main {
            @if rights != LiveRights::View { (controls(rights)) }
            div id="parts" { (PreEscaped(live_parts(watched))) }
        }
        footer { p { "So far: figures of a load that goes on. The record has the result." } }
    };
    served("In progress", &head, &body)
}

/// The parts that the script swaps.
pub fn live_parts(watched: &Watched) -> String {
    let run = &watched.run;
    let parts = html! {
        (status(watched))
        @for experiment in &watched.experiments { (trials_so_far(experiment)) }
        (answer(watched))
        (judged_so_far(run))
        @for chart in charts::of(run) { (chart::still(&chart)) }
        @if let Some(last) = &run.last { (streams(run, last)) }
        (machines(run))
        @if !watched.trials.is_empty() {
            section {
                h2 { "Trials" }
                ol class="lines" { @for line in &watched.trials { li { (line) } } }
            }
        }
        @if !watched.notes.is_empty() {
            section {
                h2 { "What happened" }
                ul class="lines" { @for line in &watched.notes { li { (line) } } }
            }
        }
        @if watched.dropped > 0 {
            p class="note" { (count(watched.dropped)) " events were not taken in time and are not shown." }
        }
    };
    harmless(&parts.into_string())
}

/// Hidden until the script runs: without it, the controls have no effect.
fn controls(rights: LiveRights) -> Markup {
    html! {
        form id="controls" aria-label="Control" hidden {
            @if rights == LiveRights::Control {
                label { "Stream " select id="stream" {} }
                label { "Pace "
                    input id="pace" inputmode="decimal" autocomplete="off" size="9" required;
                }
                select id="pace-kind" aria-label="Unit of the pace" {
                    option value="rate" { "per second" }
                    option value="sessions" { "sessions" }
                }
                label id="ramp-of" { "by "
                    input id="ramp" inputmode="decimal" autocomplete="off" size="5" placeholder="all";
                    " a second"
                }
                button id="change" type="submit" { "Change" }
                label { "Note " input id="note" maxlength="1000" autocomplete="off"; }
                button id="keep-note" type="button" { "Keep the note" }
            }
            @if rights == LiveRights::Trials {
                button id="pause" type="button" { "Pause" }
            }
            button id="stop" type="button" { "Stop and keep" }
            output id="said" role="status" {}
            p class="term" {
                @if rights == LiveRights::Control {
                    "A change begins a new phase, which the record lists; sessions that come one by one are in it \
                     when all of them are there. Stop ends the load, and keeps and audits what was measured; twice ends \
                     at once."
                } @else {
                    "A pause begins when the trial that runs is over; its time is in no budget, and the record lists it. \
                     Stop keeps what is known."
                }
            }
        }
    }
}

/// The current stage, and its remaining time.
fn status(watched: &Watched) -> Markup {
    let run = &watched.run;
    let (words, share) = match &run.stage {
        Stage::Before => ("Connecting".to_owned(), None),
        Stage::Part(words) => (words.clone(), None),
        Stage::Paused => (part_line(&Part::Paused), None),
        Stage::Load(bounds) => (loading(run, *bounds), elapsed_share(run, *bounds)),
        Stage::Audit(progress) => {
            let share = ratio(progress.rows, progress.of);
            let (doing, of) = (&progress.doing, count(progress.of));
            let words = format!("Audit: {doing}, {} of {of} rows", percent_whole(share));
            (words, Some(share))
        }
        Stage::Over => ("The run is over".to_owned(), None),
    };
    let most = watched.progress.map(|progress| {
        let elapsed = run.last.as_ref().map_or(0, |last| last.second);
        let left = left_at_most(progress, Nanos::from_secs(elapsed));
        let number = progress.done + 1;
        format!("trial {number} of at most {}, at most {} left", progress.most, to_the_second(left))
    });
    html! {
        p class="status" data-held=(watched.is_held) {
            b { @if watched.is_over { "The command is over" } @else { (words) } }
            @if let Some(most) = most.filter(|_| !watched.is_over) { " · " (most) }
            @if watched.is_held && run.stage != Stage::Paused { " · pauses when this trial is over" }
        }
        @if let (Stage::Load(LoadBounds { length: Some(length), .. }), Some(share)) = (&run.stage, share) {
            (charts::bar(run, *length, share))
        } @else if let Some(share) = share {
            progress max="1" value=(format!("{share:.3}")) aria-label="How far this part is" {}
        }
        @if run.phases.len() > 1 { (phases(run)) }
    }
}

/// The planned phases, and the current one.
fn phases(run: &RunWatched) -> Markup {
    let now = run.last.as_ref().map(|last| last.phase.as_str());
    let more = run.phases.len().saturating_sub(PHASES_MAX);
    html! {
        ol class="phases" aria-label="Planned phases" {
            @for phase in run.phases.iter().take(PHASES_MAX) {
                @let current = (now == Some(phase.name.as_str())).then_some("step");
                li aria-current=[current] { (phase.name) " " (span(phase.duration.0)) }
            }
            @if more > 0 { li { "and " (count(more as u64)) " more" } }
        }
    }
}

fn loading(run: &RunWatched, bounds: LoadBounds) -> String {
    let Some(last) = &run.last else {
        return "The load begins".to_owned();
    };
    let left = bounds.length.map(|length| {
        let passed = last.second.saturating_mul(1_000_000_000);
        format!(", {} left", span(length.0.saturating_sub(passed)))
    });
    let phase = &last.phase;
    format!("Running: {phase}, {} s{}", last.second, left.unwrap_or_default())
}

fn elapsed_share(run: &RunWatched, bounds: LoadBounds) -> Option<f64> {
    let last = run.last.as_ref()?;
    let length_s = to_f64(bounds.length?.0) / 1e9;
    Some((to_f64(last.second) / length_s).clamp(0.0, 1.0))
}

/// The question, and the answer so far.
fn answer(watched: &Watched) -> Markup {
    let run = &watched.run;
    let bounds = list(run.objectives.iter().map(objective_bound), " and ");
    let question = match bounds.as_str() {
        "" => "How much does it take?".to_owned(),
        bounds => format!("Does it hold {bounds}?"),
    };
    html! {
        @if !run.workload.is_empty() {
            h1 class="question" { (run.workload) " on " (run.target) ": " (question) }
        }
        @if let Some((directory, judgments)) = watched.ended.as_ref().filter(|_| run.stage == Stage::Over) {
            (judged(directory, judgments))
        } @else if let Some(first) = run.last.as_ref().and_then(|last| last.streams.first()) {
            @let so_far = phase_rate(run, 0);
            p class="so-far" {
                span class="soft" { "so far " }
                b id="so-far" class="figure" { (rate(so_far)) }
                " " (first.unit.name()) "/s"
                @if first.p99_ns.is_some() {
                    span class="beside" { " p99 " (p99(first)) " in the last second" }
                } @else if first.recent.is_some() {
                    span class="beside" { " p99 " (p99(first)) }
                }
            }
            @for standing in run.last.iter().flat_map(|last| standings(&run.objectives, last)) {
                p class="distance" { (standing.words()) }
            }
        }
        p class="plan" { (run.urls.join(", ")) }
    }
}

/// Units per second of a stream over the current phase so far, or over the last phase if none is running.
fn phase_rate(run: &RunWatched, stream: usize) -> f64 {
    let (mut units, mut seconds) = (0, 0);
    let slots = run.seconds.slots.iter().rev();
    let mut phases = slots.clone().map(|slot| &slot.phase);
    let phase = phases.find(|phase| *phase != DRAIN);
    let slots = slots.skip_while(|slot| Some(&slot.phase) != phase);
    for slot in slots.take_while(|slot| Some(&slot.phase) == phase) {
        // Includes acknowledgments that were reported a second late.
        let stream = slot.streams.get(stream);
        units += stream.map_or(0, |stream| stream.acknowledged);
        seconds += slot.seconds;
    }
    ratio(units, seconds.max(1))
}

fn judged(directory: &str, judgments: &Judgments) -> Markup {
    html! {
        ul class="judged" {
            @for of in three(judgments) { li { (of.name) " " b { (of.value) } } }
        }
        p { "Kept in " code { (directory) } "; " code { "report.html" } " there is its page." }
    }
}

/// Sessions, and telemetry of the target and its host, as small multiples.
fn machines(run: &RunWatched) -> Markup {
    let all: Vec<_> =
        charts::sessions(&run.seconds).into_iter().chain(target_so_far(&run.telemetry)).collect();
    html! {
        @if !all.is_empty() {
            section id="machines" {
                h2 { "Sessions and machines" }
                (chart::sparklines(&all))
            }
        }
    }
}

fn streams(run: &RunWatched, last: &SecondProgress) -> Markup {
    html! {
        section id="streams" {
            h2 { "Streams" }
            div class="table" tabindex="0" role="region" aria-label="Figures of each stream" {
                table class="cards" {
                    thead { tr {
                        th { "stream" }
                        @for name in FIGURES {
                            th class="figure" { (name) }
                        }
                    } }
                    tbody {
                        @for (number, stream) in last.streams.iter().enumerate() {
                            (stream_row(run, number, stream))
                        }
                    }
                }
            }
            p class="term" {
                @if last.sessions > 0 { (count(last.sessions.into())) " sessions are open. " }
                "p50 and p99 are of the last second, or, where it has fewer than 100 ops, p99 of the \
                 seconds in brackets, or the slowest op of them."
            }
        }
    }
}

fn stream_row(run: &RunWatched, number: usize, stream: &StreamProgress) -> Markup {
    let unit = stream.unit.name();
    let all = |of: fn(&SlotStream) -> u64| {
        let streams = run.seconds.slots.iter().filter_map(|slot| slot.streams.get(number));
        count(streams.map(of).sum())
    };
    let figures = [
        offered(stream.offered_per_s),
        format!("{} {unit}/s", rate(stream.units_per_s)),
        format!("{} {unit}/s", rate(phase_rate(run, number))),
        or_absent(stream.p50_ns, duration),
        p99(stream),
        format!("{} {unit}", all(|stream| stream.acknowledged)),
        all(|stream| stream.errors),
    ];
    html! {
        tr data-stream=(stream.stream) data-open=(stream.offered_per_s.is_some()) {
            th { (stream.stream) }
            @for (name, figure) in FIGURES.iter().zip(figures) {
                td class="figure" data-label=(name) { (figure) }
            }
        }
    }
}

/// In a shorter measured phase, ops in flight at its start and end distort the figures.
const SHORTEST: Nanos = Nanos::from_secs(5);
/// A record that lags by more seconds is marked as late; it is updated every few seconds.
const LATE_S: u64 = 15;

/// Empty before the target has responded, and once the result exists.
fn judged_so_far(run: &RunWatched) -> Markup {
    let Some(record) = run.record.as_deref().filter(|_| run.stage != Stage::Over) else {
        return html! {};
    };
    let measured = measured_streams(record);
    if measured.iter().all(|of| of.phase.duration_ns < SHORTEST.0) {
        return html! { p class="term" { "Nothing is judged in the first seconds of the measurement." } };
    }
    let mut answer = run_answer(record, &measured);
    if let [measurement, data, objective] = answer.judgments.as_mut_slice() {
        measurement.value += " so far";
        if measurement.sentence.is_empty() {
            measurement.sentence += "By what the load shows; the end knows more.";
        }
        (data.value, data.tone) = ("after the load".to_owned(), Tone::None);
        data.sentence = String::from(match record.plan.definition.audit.level {
            AuditLevel::Off => "No audit is planned.",
            _ => "The audit begins when the load is over.",
        });
        if may_yet_be_met(record, &measured) {
            (objective.value, objective.tone) = ("not decided yet".to_owned(), Tone::Open);
            "Percentiles are judged when the load is over.".clone_into(&mut objective.sentence);
        } else if !record.plan.definition.objectives.is_empty() {
            objective.value += " so far";
        }
    }
    if let Some(limit) = answer.limit.as_mut().filter(|limit| limit.what.is_empty()) {
        limit.label += " so far";
        limit.more.clear();
    }
    let seen = run.last.as_ref().map_or(0, |last| last.second);
    html! {
        (so_far(&answer))
        @if seen.saturating_sub(run.record_until) > LATE_S && run.record_until > 0 {
            p class="term" { "Judged by the first " (count(run.record_until)) " s; the rest is being read." }
        }
    }
}

/// The part of a growth with links to pages of runs, which are not served here.
const LINKS: &str = "sizes";

fn trials_so_far(experiment: &ExperimentRecord) -> Markup {
    let report = of_question(&RecordRef::from(experiment).measured_run(), &experiment.question);
    let bracket = experiment.search().filter(|search| search.outcome.is_none()).map(bracket);
    html! {
        section class="experiment" {
            @if let Some(bracket) = bracket { p id="bracket" class="distance" { (bracket) } }
            (hero(&report.hero))
            @for part in report.sections.iter().filter(|of| of.id != LINKS).map(part) {
                section id=(part.id) {
                    h2 { (part.title) }
                    p class="term" { (part.abstract_line) }
                    (part.body)
                }
            }
        }
    }
}
