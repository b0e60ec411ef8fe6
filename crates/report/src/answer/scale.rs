//! The answer of a growth: the rate at the largest size, as a fraction of linear growth.

use highwater_model::display::{about, percent, percent_signed, rate};
use highwater_model::record::MeasuredRun;
use highwater_model::scale::{ScaleEach, ScaleRecord};
use highwater_sizing::growth::{GrowthReport, report};

use super::parts::{Answer, KeyFigure, interval90, limit_line, rated, target_name};
use crate::text::scale::nodes;

pub(super) fn scale(run: &MeasuredRun<'_>, scale: &ScaleRecord) -> Answer {
    let grown = report(scale);
    let unit = format!("{}/s", scale.unit.name());
    let question = format!("How do {unit} of {} grow with its nodes?", target_name(run));
    let Some(largest) = grown.sizes.last() else {
        return Answer::nothing(question, "no size counts");
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
        let [least, most] = [first, last].map(|size| nodes(size.trial.size.nodes));
        let (of_first, of_last) = (first.compared, last.compared);
        let reached = rated(first.trial.figures.per_s, unit);
        let linear = percent(of_last.of_linear);
        let with_first = format!("{} with {least}", rate(of_first.per_node));
        keys.push(KeyFigure::new("first size", reached, least));
        keys.push(KeyFigure::new("of linear", linear, format!("at {most}")));
        keys.extend(of_last.gain.map(|gain| {
            let sign = if gain < 0.0 { "" } else { "+" };
            let change = of_last.change.map_or_else(String::new, percent_signed);
            KeyFigure::new("last step", sign.to_owned() + &rated(gain, unit), change)
        }));
        let each = rated(of_last.per_node, unit);
        keys.push(KeyFigure::new("per node", each, with_first));
    }
    keys.extend(grown.next.map(|(larger, predicted)| {
        KeyFigure::new(
            format!("{} predicted", nodes(larger)),
            format!("{} {unit}", about(predicted.expected)),
            interval90(predicted.low90, predicted.high90, about),
        )
    }));
    let (made, held) = grown.predictions;
    if made > 0 {
        let of = format!("{held} of {made}");
        keys.push(KeyFigure::new("predictions", of, "held their 90% interval"));
    }
    keys
}
