//! One comparison on a page: its verdict as a card, and what differs.

use maud::{Markup, html};

use highwater_analysis::comparison::{Comparison, Verdict};

use super::words::{basis, differing, directions, named, word};

/// What else differs between two groups of these names.
pub(crate) fn differences(names: [&str; 2], comparison: &Comparison) -> Markup {
    let lines = differing(comparison);
    let [_, b] = named(names, comparison);
    html! {
        h3 { (b) }
        @if lines.is_empty() {
            p { "Nothing that the records know of." }
        } @else {
            ul class="noted" { @for line in lines { li { (line) } } }
        }
    }
}

/// The verdict on the second of two groups of these names.
pub(crate) fn card(names: [&str; 2], comparison: &Comparison) -> Markup {
    let [_, b] = named(names, comparison);
    let class = match comparison.verdict() {
        Verdict::Worse => "verdict bad",
        Verdict::Inconclusive => "verdict open",
        Verdict::Equal => "verdict none",
        Verdict::Better => "verdict good",
    };
    html! {
        article class=(class) {
            h3 { (b) }
            p class="value" { (word(comparison.verdict(), false)) }
            @let directions = directions(comparison);
            @if !directions.is_empty() { p class="remark" { (directions) } }
            @for line in basis(comparison) { p class="question" { (line) } }
        }
    }
}
