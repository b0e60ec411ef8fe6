//! The answer of a size plan: how many nodes, why not one fewer, and what it rests on.

use highwater_model::display::{about, percent_whole, rate};
use highwater_sizing::cluster::{Alternative, Origin, SizePlan};

use super::parts::{Answer, JudgmentLine, KeyFigure, LimitLine, plural};
use crate::size::decided::{self, probability};
use crate::text::judged::Tone;

pub(crate) fn size(plan: &SizePlan) -> Answer {
    let nodes = &plan.nodes;
    let needs: Vec<String> = plan.needs.iter().map(decided::need).collect();
    let capacity = plan.needs.first().map_or_else(String::new, |need| {
        format!(
            "capacity {} to {} {} (90% interval)",
            about(need.capacity.low),
            about(need.capacity.high),
            need.unit
        )
    });
    let survive = match nodes.survive {
        0 => String::new(),
        lost => format!(" with {} lost", plural(lost as usize, "node")),
    };
    Answer {
        question: format!("How many nodes do {} need{survive}?", needs.join(" and ")),
        figure: nodes.planned.to_string(),
        unit: if nodes.planned == 1 { "node" } else { "nodes" }.to_owned(),
        condition: format!("P(enough) {}", planned_probability(plan)),
        caveat: plan
            .extrapolated
            .then_some("extrapolated beyond twice the largest measured size"),
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
    let nodes = plan
        .nodes
        .planned
        .checked_sub(1)
        .filter(|nodes| *nodes > 0)?;
    let mut others = plan.alternatives.iter();
    let fewer = others.find(|other| other.nodes == nodes && other.replicas == replicas)?;
    Some(LimitLine {
        label: format!(
            "{} not enough:",
            if nodes == 1 { "1 node is" } else { "Fewer are" }
        ),
        what: format!(
            "{} with a probability of {}",
            plural(nodes as usize, "node"),
            probability(fewer.probability)
        ),
        more: format!(
            "where {} is requested.",
            percent_whole(plan.nodes.probability)
        ),
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
    let basis = plan.needs.first().map_or_else(String::new, |need| {
        format!("{}.", need.measured.trim_end_matches('.'))
    });
    let assumed = plan
        .inputs
        .iter()
        .filter(|input| input.origin.is_assumption());
    let assumed = assumed.count();
    let of = plan.inputs.len();
    vec![
        JudgmentLine {
            name: "Measurement",
            value: value.to_owned(),
            tone,
            sentence: basis,
        },
        JudgmentLine {
            name: "Inputs",
            value: if assumed == 0 {
                "all known".to_owned()
            } else {
                format!("{assumed} of {of} assumed")
            },
            tone: if assumed == 0 { Tone::Good } else { Tone::Open },
            sentence: "Inputs says which, and the flag that changes each.".to_owned(),
        },
        JudgmentLine {
            name: "Objective",
            value: "met".to_owned(),
            tone: Tone::Good,
            sentence: format!(
                "Enough with a probability of at least {}.",
                percent_whole(plan.nodes.probability)
            ),
        },
    ]
}

fn keys(plan: &SizePlan) -> Vec<KeyFigure> {
    let nodes = &plan.nodes;
    let mut keys: Vec<KeyFigure> = plan
        .needs
        .iter()
        .map(|need| {
            let known = format!(
                "90% interval {} to {}",
                about(need.capacity.low),
                about(need.capacity.high)
            );
            let figure = format!("{} {}", about(need.capacity.expected), need.unit);
            KeyFigure::new("capacity", figure, known)
        })
        .collect();
    keys.push(KeyFigure::new(
        "headroom",
        percent_whole(nodes.headroom.expected),
        format!(
            "90% interval {} to {}",
            percent_whole(nodes.headroom.low),
            percent_whole(nodes.headroom.high)
        ),
    ));
    if nodes.survive > 0 {
        keys.push(KeyFigure::new(
            "after loss",
            percent_whole(nodes.headroom_after_loss.expected),
            format!(
                "headroom with {} lost",
                plural(nodes.survive as usize, "node")
            ),
        ));
    }
    for (name, figure, known) in decided::key_figures(plan) {
        keys.push(KeyFigure::new(name, figure, known));
    }
    if let Some(shards) = &plan.shards {
        keys.push(KeyFigure::new(
            "shards",
            shards.primaries.to_string(),
            "primaries",
        ));
    }
    if let Some(disk) = &plan.disk {
        let figure = crate::size::display_bytes(disk.per_node_bytes);
        keys.push(KeyFigure::new("disk", figure, "per node"));
    }
    if let Some(price) = plan.price_per_month {
        keys.push(KeyFigure::new(
            "price",
            rate(price),
            "per month of 730 hours",
        ));
    }
    keys.truncate(6);
    keys
}
