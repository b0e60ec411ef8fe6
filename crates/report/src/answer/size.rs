//! The answer of a size plan: the number of nodes, why not one fewer, and the basis.

use highwater_model::display::{about, percent_whole, rate};
use highwater_sizing::cluster::{Alternative, Origin, SizePlan};

use super::parts::{Answer, JudgmentLine, KeyFigure, LimitLine, interval90, plural};
use crate::size::decided::{self, probability};
use crate::text::judged::Tone;

pub(crate) fn size(plan: &SizePlan) -> Answer {
    let nodes = &plan.nodes;
    let capacity = plan.needs.first().map_or_else(String::new, |need| {
        let [low, high] = [need.capacity.low, need.capacity.high].map(about);
        format!("capacity {low} to {high} {} (90% interval)", need.unit)
    });
    let survive = match nodes.survive {
        0 => String::new(),
        lost => format!(" with {} lost", plural(lost as usize, "node")),
    };
    Answer {
        question: format!("How many nodes do {} need{survive}?", decided::needs(plan)),
        figure: nodes.planned.to_string(),
        unit: if nodes.planned == 1 { "node" } else { "nodes" }.to_owned(),
        condition: format!("P(enough) {}", planned_probability(plan)),
        caveat: plan.extrapolated.then_some("extrapolated beyond twice the largest known size"),
        interval: format!(
            "{} expected (90% interval {} to {})",
            nodes.expected,
            nodes.low,
            nodes.most()
        ),
        basis: capacity,
        limit: fewer(plan),
        judgments: judgments(plan),
        keys: keys(plan),
        assumptions: decided::weighed_most(plan).collect(),
        ..Answer::default()
    }
}

fn planned(plan: &SizePlan) -> Option<&Alternative> {
    plan.alternatives.iter().find(|other| other.planned)
}

fn planned_probability(plan: &SizePlan) -> String {
    planned(plan).map_or_else(
        || format!("at least {}", percent_whole(plan.nodes.probability)),
        |planned| probability(planned.probability),
    )
}

/// Why one node fewer is not planned.
fn fewer(plan: &SizePlan) -> Option<LimitLine> {
    let replicas = planned(plan)?.replicas;
    let nodes = plan.nodes.planned.checked_sub(1).filter(|nodes| *nodes > 0)?;
    let mut others = plan.alternatives.iter();
    let fewer = others.find(|other| other.nodes == nodes && other.replicas == replicas)?;
    let are = if nodes == 1 { "1 node is" } else { "Fewer are" };
    let enough = probability(fewer.probability);
    let requested = percent_whole(plan.nodes.probability);
    let nodes = plural(nodes as usize, "node");
    Some(LimitLine {
        label: format!("{are} not enough:"),
        what: format!("{nodes} with a probability of {enough}"),
        more: format!("where {requested} is requested."),
        is_reached: false,
    })
}

fn judgments(plan: &SizePlan) -> Vec<JudgmentLine> {
    let origin = plan.needs.first().map(|need| &need.origin);
    let (value, tone) = match origin {
        Some(Origin::Measured(_) | Origin::Given(_)) => ("measured by you", Tone::Good),
        Some(Origin::Published(_)) => ("published by others", Tone::Open),
        Some(Origin::Assumed(_)) | None => ("assumed", Tone::Open),
    };
    let basis = plan
        .needs
        .first()
        .map_or_else(String::new, |need| format!("{}.", need.measured.trim_end_matches('.')));
    let all = plan.inputs.len();
    let assumed = plan.inputs.iter().map(|input| &input.origin);
    let (inputs, known) = match assumed.filter(|origin| origin.is_assumption()).count() {
        0 => ("all known".to_owned(), Tone::Good),
        some => (format!("{some} of {all} assumed"), Tone::Open),
    };
    let which = "Inputs says which, and the flag that changes each.".to_owned();
    let enough = percent_whole(plan.nodes.probability);
    let enough = format!("Enough with a probability of at least {enough}.");
    [
        ("Measurement", value.to_owned(), tone, basis),
        ("Inputs", inputs, known, which),
        ("Objective", "met".to_owned(), Tone::Good, enough),
    ]
    .map(|(name, value, tone, sentence)| JudgmentLine { name, value, tone, sentence })
    .into()
}

fn keys(plan: &SizePlan) -> Vec<KeyFigure> {
    let nodes = &plan.nodes;
    let mut keys: Vec<KeyFigure> = plan
        .needs
        .iter()
        .map(|need| {
            let of = need.capacity;
            let known = interval90(of.low, of.high, about);
            let figure = format!("{} {}", about(of.expected), need.unit);
            KeyFigure::new("capacity", figure, known)
        })
        .collect();
    let free = nodes.headroom;
    let known = interval90(free.low, free.high, percent_whole);
    let free = percent_whole(free.expected);
    keys.push(KeyFigure::new("headroom", free, known));
    // The keys are truncated below, so the price comes before the less important ones.
    let price = plan.price_per_month.map(rate);
    keys.extend(price.map(|price| KeyFigure::new("price", price, "per month of 730 hours")));
    if nodes.survive > 0 {
        let free = percent_whole(nodes.headroom_after_loss.expected);
        let lost = plural(nodes.survive as usize, "node");
        let lost = format!("headroom with {lost} lost");
        keys.push(KeyFigure::new("after loss", free, lost));
    }
    for (name, figure, known) in decided::key_figures(plan) {
        keys.push(KeyFigure::new(name, figure, known));
    }
    keys.extend(plan.shards.as_ref().map(|shards| {
        let primaries = shards.primaries.to_string();
        KeyFigure::new("shards", primaries, "primaries")
    }));
    keys.extend(plan.disk.as_ref().map(|disk| {
        let figure = crate::size::display_bytes(disk.per_node_bytes);
        KeyFigure::new("disk", figure, "per node")
    }));
    keys.truncate(6);
    keys
}
