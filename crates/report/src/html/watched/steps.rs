//! The planned phases of a load on its time line: done and remaining time of each. Must not depend on charts.

use maud::{Markup, html};

use highwater_model::display::percent_whole;
use highwater_model::numbers::to_f64;
use highwater_model::units::Nanos;

use crate::watched::RunWatched;

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
