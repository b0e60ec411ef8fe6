//! The page of a running run or experiment: the page of its result, with what is not known yet left open, in regions
//! that are swapped once a second around fixed controls.
//!
//! Must not judge, or put a figure in other words than the page of the result.

mod charts;
mod so_far;
mod tables;
#[cfg(test)]
mod tests;

use maud::{Markup, html};

use highwater_model::display::{count, harmless, percent_whole, rate, ratio, span};
use highwater_model::event::{LoadBounds, Part as RunPart};
use highwater_model::numbers::to_f64;

use super::page::{self, served};
use crate::answer::to_the_second;
use crate::events::part_line;
use crate::layout::list;
use crate::progress::p99;
use crate::watched::{Stage, Watched};
use so_far::left_s;

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
pub fn live_page(watched: &Watched, rights: LiveRights) -> String {
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

/// The regions that the script swaps, one a line.
pub fn live_parts(watched: &Watched) -> String {
    list(regions(watched).map(|region| harmless(&region.into_string())), "\n")
}

/// The header, the answer, and everything below the controls.
fn regions(watched: &Watched) -> [Markup; 3] {
    let page = so_far::page(watched);
    let top = html! { (page::top(&page)) (status(watched)) };
    let answer = page::head(&page.answer, &page.tags);
    let more = html! {
        div class="hero" { (page.hero) }
        (page::keys(&page.answer.keys))
        div class="folds" { @for part in &page.parts { (page::folded(part, true)) } }
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
fn status(watched: &Watched) -> Markup {
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
                @if let Some(first) = last.streams.first() {
                    span { b { (rate(first.units_per_s)) } " " (first.unit.name()) "/s now" }
                    span { "p99 " b { (p99(first)) } }
                }
                span { b { (count(failed)) } " failed" }
                @for stream in &last.streams {
                    @let pace = so_far::pace_now(run, last, stream);
                    data hidden data-stream=(stream.stream) data-open=(stream.offered_per_s.is_some()) value=(pace) {}
                }
            }
        }
        @if let (Stage::Load(LoadBounds { length: Some(length), .. }), Some(share)) = (&run.stage, share) {
            (charts::bar(run, *length, share))
        } @else if let Some(share) = share {
            progress max="1" value=(format!("{share:.3}")) aria-label="How far this part is" {}
        }
    }
}

/// What is going on, in words, and the fraction of it that is done.
fn state(watched: &Watched) -> (String, Option<f64>) {
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
        // Only this trial is over: an experiment continues with the next.
        Stage::Over if watched.trying.is_empty() => ("Saved".to_owned(), None),
        Stage::Over => ("Between two trials".to_owned(), None),
    }
}

/// The time that has passed and the time left, of the experiment if there is one.
fn times(watched: &Watched, second: u64) -> Vec<String> {
    if watched.is_over {
        return Vec::new();
    }
    let ns = |seconds: u64| seconds.saturating_mul(1_000_000_000);
    if let Some(trying) = watched.trying.first() {
        let passed = trying.progress.spent.0.saturating_add(ns(second));
        let left = left_s(watched, second).map(|left| format!("about {} left", span(ns(left))));
        return [Some(format!("{} elapsed", to_the_second(passed))), left]
            .into_iter()
            .flatten()
            .collect();
    }
    let Stage::Load(bounds) = &watched.run.stage else {
        return Vec::new();
    };
    let left = bounds.length.map(|of| format!("{} left", span(of.0.saturating_sub(ns(second)))));
    [Some(format!("{} elapsed", span(ns(second)))), left].into_iter().flatten().collect()
}
