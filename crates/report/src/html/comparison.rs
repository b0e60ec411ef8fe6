//! A comparison on a page: the intervals of all figures next to each other, and the other differences.

use maud::{Markup, html};

use highwater_analysis::comparison::{Better, Compared, Comparison, Verdict};
use highwater_model::display::with_unit;

use super::kept::kept;
use crate::comparison::{difference, differing, figures_of, interval, named, place_of, word};

/// Half the width of a drawing, in multiples of the smallest difference that matters.
const REACH: f64 = 4.0;
/// Width of a drawing in pixels.
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 22.0;

/// Every figure with its interval, oriented so that right is better. The unit is the smallest difference that matters,
/// so that the gray zone is the same for all.
pub(crate) fn forest(comparison: &Comparison) -> Markup {
    html! {
        div class="forest" {
            p class="caption" {
                b { "B against A, with 95% confidence intervals." }
                " Right of the grey zone B is better; inside it the difference is too small to matter."
            }
            div class="table" tabindex="0" role="region" aria-label="Figures of both groups" {
                table class="cards" {
                    thead {
                        tr {
                            th scope="col" { "figure" }
                            th scope="col" class="figure" { "A" }
                            th scope="col" class="figure" { "B" }
                            th scope="col" class="drawn" { "← worse · better →" }
                            th scope="col" class="figure" { "difference" }
                            th scope="col" class="figure" { "95% CI" }
                            th scope="col" { "verdict" }
                        }
                    }
                    tbody { @for compared in ordered(comparison) { (row(compared)) } }
                }
            }
        }
    }
}

/// The primary figure comes first.
fn ordered(comparison: &Comparison) -> impl Iterator<Item = &Compared> {
    let figures = || comparison.figures.iter();
    figures()
        .filter(|compared| compared.is_primary)
        .chain(figures().filter(|compared| !compared.is_primary))
}

fn row(compared: &Compared) -> Markup {
    let [a, b] = figures_of(compared);
    let (figure, unit) = difference(compared);
    let word = word(compared.verdict, false);
    let class = class(compared.verdict);
    html! {
        tr {
            th scope="row" { (place_of(compared)) " " (compared.figure.name) }
            td class="figure" data-label="A" { (a) }
            td class="figure" data-label="B" { (b) }
            td class="drawn" { (drawing(compared)) }
            td class="figure" data-label="difference" { (kept(&with_unit(&figure, &unit))) }
            td class="figure" data-label="95% CI" { (kept(&interval(compared))) }
            td class=(class) data-label="verdict" { (word) }
        }
    }
}

const fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Worse => "verdict bad",
        Verdict::Inconclusive => "verdict open",
        Verdict::Equal => "verdict none",
        Verdict::Better => "verdict good",
    }
}

/// The interval as a line with a dot, and the zone of differences that do not matter.
fn drawing(compared: &Compared) -> Markup {
    let turned = match compared.figure.better {
        Better::More => 1.0,
        Better::Less => -1.0,
    };
    let at = |difference: f64| {
        let units = turned * difference / compared.practical.max(f64::MIN_POSITIVE);
        (units.clamp(-REACH, REACH) / REACH + 1.0) * WIDTH / 2.0
    };
    let zone = WIDTH / REACH / 2.0;
    let middle = HEIGHT / 2.0;
    let color = class(compared.verdict);
    html! {
        svg class="interval" width=(WIDTH) height=(HEIGHT) viewBox=(format!("0 0 {WIDTH} {HEIGHT}"))
            aria-hidden="true" {
            rect class="zone" x=(WIDTH / 2.0 - zone) y="0" width=(2.0 * zone) height=(HEIGHT) {}
            path class="zero" d=(format!("M{} 0v{HEIGHT}", WIDTH / 2.0)) {}
            @if let Some(effect) = compared.effect {
                @let (low, high) = (at(effect.low), at(effect.high));
                path class=(color) d=(format!(
                    "M{low:.1} {middle}H{high:.1}M{low:.1} {}v8M{high:.1} {}v8",
                    middle - 4.0, middle - 4.0
                )) {}
                circle class=(color) cx=(format!("{:.1}", at(effect.difference))) cy=(middle) r="4" {}
            }
        }
    }
}

/// Other differences between the groups with these names.
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
