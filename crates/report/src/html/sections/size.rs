//! A size plan as the parts of a page.

use maud::html;

use crate::answer::plural;
use crate::layout::{Row, headed, list};
use crate::size::{self as size_text, decided};
use highwater_model::display::{about, foreign, percent, plain};
use highwater_sizing::cluster::{NeedPlan, Origin, SizePlan};

use super::super::chart::{self, Chart};
use super::super::kept::sentence;
use super::super::page::Part;
use super::tables::table;

/// Maximum characters of an origin.
const WORDS: usize = 200;

/// The origin of a plan's figures; "measured" and "published" must be distinguished.
pub(in crate::html) fn size_facts(plan: &SizePlan) -> Vec<String> {
    plan.needs
        .iter()
        .map(|need| {
            let origin = &need.origin;
            let detail = foreign(origin.detail(), WORDS);
            format!("{} {}: {detail}", need.unit, origin.word())
        })
        .collect()
}

pub(in crate::html) fn size_tags(plan: &SizePlan) -> Vec<String> {
    let assumed = plan.assumed.then_some("rests on assumptions");
    let extrapolated = plan.extrapolated.then_some("extrapolated");
    let tags = assumed.into_iter().chain(extrapolated);
    tags.map(str::to_owned).collect()
}

/// `charts` are the ones that are not above the folds.
pub(in crate::html) fn size(plan: &SizePlan, charts: &[Chart]) -> Vec<Part> {
    let assumed = plan.inputs.iter().filter(|input| input.origin.is_assumption());
    vec![
        decision(plan),
        Part {
            id: "alternatives",
            title: "Alternatives",
            abstract_line: format!(
                "{}, with other nodes and copies",
                plural(plan.alternatives.len(), "cluster")
            ),
            body: html! {
                (table("Alternatives", &size_text::alternative_rows(plan), 0))
                p class="term" {
                    "Copies: how often each row is stored. Headroom: the part of the capacity that stays \
                     free. Probability: that the cluster sustains the rate."
                }
            },
        },
        Part {
            id: "inputs",
            title: "Inputs",
            abstract_line: format!(
                "{} of {} assumed or published by others",
                assumed.count(),
                plural(plan.inputs.len(), "input")
            ),
            body: html! { (table("Inputs", &size_text::inputs(&plan.inputs, "origin", WORDS), 4)) },
        },
        growth(plan, charts),
        Part {
            id: "plan",
            title: "The plan in words",
            abstract_line: match plan.notes.len() {
                0 => "all figures, and a summary".to_owned(),
                notes => format!("all figures, a summary, and {}", plural(notes, "note")),
            },
            body: html! {
                p class="lead" { (plan.summary) }
                pre tabindex="0" { code { (size_text::figures(plan).join("\n")) } }
                @if !plan.notes.is_empty() {
                    ul class="noted" { @for note in &plan.notes { li { (sentence(note)) } } }
                }
            },
        },
    ]
}

/// The decision between clusters: one node lost, six months ahead, the assumptions, and the cost of an unknown demand.
fn decision(plan: &SizePlan) -> Part {
    let facts = decided::facts(plan);
    let weights = &plan.decision.assumptions;
    let regrets = decided::regret_rows(plan);
    Part {
        id: "decision",
        title: "What decides",
        abstract_line: match weights.len() {
            0 => "no assumption moves the number of nodes".to_owned(),
            number => {
                let weighed = format!("{} weighed", plural(number, "assumption"));
                let facts = facts.iter().map(|(name, _)| name.clone());
                list(std::iter::once(weighed).chain(facts), ", ")
            }
        },
        body: html! {
            ul class="noted" { @for (name, fact) in &facts { li { (name) ": " (fact) } } }
            @if !weights.is_empty() {
                h3 { "Assumptions, the one that moves the answer most first" }
                ol { @for weight in weights { li { (decided::weighed(weight)) } } }
            }
            @if !regrets.is_empty() {
                h3 { "What each size costs too much, if demand is low and if it is high" }
                (table("Regret", &regrets, 0))
            }
        },
    }
}

fn growth(plan: &SizePlan, charts: &[Chart]) -> Part {
    let known = plan
        .needs
        .iter()
        .flat_map(|need| &need.curve)
        .filter(|point| point.measured_per_s.is_some())
        .count();
    let models: usize = plan.needs.iter().map(|need| need.models.len()).sum();
    let word = plan.needs.first().map_or("measured", |need| known_word(need));
    Part {
        id: "growth",
        title: "Growth",
        abstract_line: format!(
            "{} {word}, {}",
            plural(known, "size"),
            plural(models, "scaling model")
        ),
        body: html! {
            (chart::all(charts))
            @for need in &plan.needs {
                @let label = format!("Expected against {}", known_word(need));
                h3 { (label) ", " (need.unit) }
                (table(&label, &sizes(need), 0))
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
                 are averaged; the others are shown for comparison. The interval is the one that held on \
                 published series."
            }
        },
    }
}

/// Sizes published by others must not be called measured.
pub(in crate::html) const fn known_word(need: &NeedPlan) -> &'static str {
    match need.origin {
        Origin::Published(_) => "published",
        Origin::Assumed(_) => "assumed",
        Origin::Given(_) | Origin::Measured(_) => "measured",
    }
}

/// Each size with its measured and its expected throughput.
fn sizes(need: &NeedPlan) -> Vec<Row> {
    let word = known_word(need);
    let head = format!("nodes | {word} | expected | {word} / expected | per node");
    let sizes = need.curve.iter().filter_map(|point| {
        let measured = point.measured_per_s?;
        let expected = point.predicted.expected;
        Some(Row::new([
            plain(point.nodes),
            about(measured),
            about(expected),
            percent(measured / expected),
            about(measured / point.nodes),
        ]))
    });
    headed(&head, sizes)
}
