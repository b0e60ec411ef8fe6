//! A size plan as the parts of a page.

use maud::{Markup, html};

use crate::layout::Row;
use crate::size as size_text;
use highwater_model::display::{about, foreign, percent, plain, rate};
use highwater_sizing::cluster::{NeedPlan, SizePlan};

use super::super::chart::{self, Chart};
use super::super::page::Part;
use super::tables::table;

/// Characters of an origin.
const WORDS: usize = 200;

pub(in crate::html) fn size_head(plan: &SizePlan) -> Markup {
    let needs = plan.needs.iter();
    let needs: Vec<String> = needs
        .map(|need| format!("{} {}", rate(need.per_s), need.unit))
        .collect();
    let nodes = &plan.nodes;
    html! {
        p class="brand" { "Highwater" }
        h1 { (needs.join(" and ")) ": " (nodes.planned) " nodes" }
        p class="traits" {
            (nodes.expected) " expected, " (nodes.low) " to " (nodes.most())
            " with 90 % · enough with a chance of " (percent(nodes.probability))
        }
        @if plan.assumed {
            p class="banner" { "Rests on assumptions; each is marked in the list of inputs." }
        }
        @if plan.extrapolated {
            p class="banner" { "Extrapolated beyond twice the largest measured size." }
        }
    }
}

pub(in crate::html) fn size(plan: &SizePlan, charts: &[Chart]) -> Vec<Part> {
    let mut parts = vec![Part {
        id: "plan",
        title: "The plan",
        body: html! {
            p class="lead" { (plan.summary) }
            pre tabindex="0" { code { (size_text::figures(plan).join("\n")) } }
            @if !plan.notes.is_empty() {
                ul class="noted" { @for note in &plan.notes { li { (note) } } }
            }
        },
    }];
    parts.push(Part {
        id: "growth",
        title: "How it grows",
        body: html! {
            (chart::all(charts))
            @for need in &plan.needs {
                h3 { "Expected against measured, " (need.unit) }
                (table("Expected against measured", &sizes(need), 0))
                h3 { "Scaling models, " (need.unit) }
                @if need.models.is_empty() {
                    p { (size_text::assumed_growth(need)) }
                } @else {
                    (table("Scaling models", &size_text::models(&need.models), 1))
                }
                @if let Some(identifiability) = &need.identifiability {
                    @for sentence in &identifiability.sentences { p { (sentence) } }
                }
            }
            p class="term" {
                "Left out: how far off a model is on a size that it was not shown. Models with a weight \
                 are averaged; the others are shown beside them. The interval is the one that held on \
                 published series."
            }
        },
    });
    parts.push(Part {
        id: "alternatives",
        title: "Alternatives",
        body: html! {
            (table("Alternatives", &size_text::alternative_rows(plan), 0))
            p class="term" {
                "Copies: how often each row is stored. Headroom: the part of the capacity that stays \
                 free. Chance: that the cluster carries the rate."
            }
        },
    });
    parts.push(Part {
        id: "inputs",
        title: "Inputs",
        body: html! { (table("Inputs", &inputs(plan), 4)) },
    });
    parts
}

/// Each size with what was measured there and what was expected.
fn sizes(need: &NeedPlan) -> Vec<Row> {
    let mut rows = vec![Row::new([
        "nodes",
        "measured",
        "expected",
        "measured / expected",
        "per node",
    ])];
    rows.extend(need.curve.iter().filter_map(|point| {
        let measured = point.measured_per_s?;
        let expected = point.predicted.expected;
        Some(Row::new([
            plain(point.nodes),
            about(measured),
            about(expected),
            percent(measured / expected),
            about(measured / point.nodes),
        ]))
    }));
    rows
}

fn inputs(plan: &SizePlan) -> Vec<Row> {
    let mut rows = vec![Row::new(["input", "value", "origin", "changed by"])];
    rows.extend(plan.inputs.iter().map(|input| {
        Row::new([
            input.name.clone(),
            input.value.clone(),
            input.origin.word().to_owned(),
            input.flag.clone(),
        ])
        .remark(foreign(input.origin.detail(), WORDS))
    }));
    rows
}
