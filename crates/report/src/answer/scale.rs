//! The answer of a growth: what the largest size reaches, and how much of linear that is.

use highwater_model::display::{about, percent, percent_signed, rate};
use highwater_model::record::MeasuredRun;
use highwater_model::scale::{ScaleEach, ScaleRecord};
use highwater_sizing::growth::{GrowthReport, report};

use super::parts::{Answer, KeyFigure, limit_line, target_name};
use crate::text::scale::nodes;

pub(super) fn scale(run: &MeasuredRun<'_>, scale: &ScaleRecord) -> Answer {
    let grown = report(scale);
    let unit = format!("{}/s", scale.unit.name());
    let question = format!("How do {unit} of {} grow with its nodes?", target_name(run));
    let Some(largest) = grown.sizes.last() else {
        return Answer {
            question,
            figure: "Nothing".to_owned(),
            condition: "was measured".to_owned(),
            caveat: Some("no size counts"),
            ..Answer::default()
        };
    };
    let figures = &largest.trial.figures;
    let level = match scale.each {
        ScaleEach::Find => "90% interval",
        ScaleEach::Run | ScaleEach::Tune => "95% CI",
    };
    let interval = figures
        .interval
        .map(|[low, high]| format!("{level} {} to {} {unit}", rate(low), rate(high)));
    let first = grown.sizes.first().filter(|_| grown.sizes.len() > 1);
    let basis = first.map_or_else(String::new, |first| {
        format!(
            "{} of linear from {}",
            percent(largest.compared.of_linear),
            nodes(first.trial.size.nodes)
        )
    });
    Answer {
        question,
        figure: rate(figures.per_s),
        unit: unit.clone(),
        condition: format!("with {}", nodes(largest.trial.size.nodes)),
        interval: interval.unwrap_or_else(|| "interval not known".to_owned()),
        basis,
        limit: figures.limit.as_ref().map(limit_line),
        keys: keys(&grown, &unit),
        ..Answer::default()
    }
}

fn keys(grown: &GrowthReport<'_>, unit: &str) -> Vec<KeyFigure> {
    let mut keys = Vec::new();
    if let [first, .., last] = &grown.sizes[..] {
        keys.push(KeyFigure::new(
            "first size",
            format!("{} {unit}", rate(first.trial.figures.per_s)),
            nodes(first.trial.size.nodes),
        ));
        keys.push(KeyFigure::new(
            "of linear",
            percent(last.compared.of_linear),
            format!("at {}", nodes(last.trial.size.nodes)),
        ));
        if let Some(gain) = last.compared.gain {
            let sign = if gain < 0.0 { "" } else { "+" };
            let change = last
                .compared
                .change
                .map_or_else(String::new, percent_signed);
            let figure = format!("{sign}{} {unit}", rate(gain));
            keys.push(KeyFigure::new("last step", figure, change));
        }
        keys.push(KeyFigure::new(
            "per node",
            format!("{} {unit}", rate(last.compared.per_node)),
            format!(
                "{} with {}",
                rate(first.compared.per_node),
                nodes(first.trial.size.nodes)
            ),
        ));
    }
    if let Some((larger, predicted)) = grown.next {
        keys.push(KeyFigure::new(
            format!("{} predicted", nodes(larger)),
            format!("{} {unit}", about(predicted.expected)),
            format!(
                "90% interval {} to {}",
                about(predicted.low90),
                about(predicted.high90)
            ),
        ));
    }
    let (made, held) = grown.predictions;
    if made > 0 {
        keys.push(KeyFigure::new(
            "predictions",
            format!("{held} of {made}"),
            "held their 90% interval",
        ));
    }
    keys
}
