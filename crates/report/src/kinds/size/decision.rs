//! The decision between clusters in words: a node lost, growth, the most influential assumptions, and regret. For the
//! summary and for the page. Must not compute.

use highwater_model::display::{about, percent_plain, percent_whole, plain, rate};
use highwater_sizing::cluster::{
    Ahead, Assumption, AssumptionWeight, Headroom, NeedPlan, OneLost, SizePlan,
};

use crate::answer::nodes;
use crate::layout::{Row, headed, list};

/// Number of most influential assumptions that come first.
pub(crate) const ASSUMPTIONS_SHOWN: usize = 3;

/// The cluster after the loss of one node, and some months ahead, each with its name.
pub(crate) fn facts(plan: &SizePlan) -> Vec<(String, String)> {
    let decision = &plan.decision;
    let lost = decision.one_lost.map(one_lost);
    let lost = lost.map(|lost| ("one node lost".to_owned(), lost));
    let months = format!("in {} months", decision.ahead.months);
    let ahead = (months, ahead(plan, &decision.ahead));
    lost.into_iter().chain([ahead]).collect()
}

/// The same facts as key figures: name, figure, and note.
pub(crate) fn key_figures(plan: &SizePlan) -> Vec<(&'static str, String, String)> {
    let decision = &plan.decision;
    let mut all = Vec::new();
    if let Some(lost) = decision.one_lost.filter(|_| plan.nodes.survive == 0) {
        let (free, left) = (headroom(lost.headroom), nodes(lost.nodes));
        let free = format!("{free} free with {left} left");
        all.push(("one node lost", probability(lost.probability), free));
    }
    if let Some(later) = decision.ahead.nodes {
        let growth = percent_plain(decision.ahead.growth_per_month);
        let known = if decision.ahead.stated {
            format!("growing {growth} a month")
        } else {
            format!("if it grew {growth} a month")
        };
        let known = format!("in {} months, {known}", decision.ahead.months);
        all.push(("later", nodes(later), known));
    }
    all
}

fn enough(found: Option<u32>) -> String {
    found.map_or_else(|| "more nodes than can be named".to_owned(), nodes)
}

/// The need of each unit.
pub(crate) fn needs(plan: &SizePlan) -> String {
    list(plan.needs.iter().map(need), " and ")
}

/// `1,000,000 rows/s`, or `500,000 to 800,000 rows/s`.
fn need(need: &NeedPlan) -> String {
    let least =
        need.at_least_per_s.map_or_else(String::new, |least| format!("{} to ", rate(least)));
    format!("{least}{} {}", rate(need.per_s), need.unit)
}

pub(crate) fn headroom(of: Headroom) -> String {
    let [expected, low, high] = [of.expected, of.low, of.high].map(percent_whole);
    format!("{expected} ({low} to {high})")
}

fn one_lost(lost: OneLost) -> String {
    let data =
        if lost.keeps_data { "" } else { "; its rows are lost with it (--replicas 1 keeps them)" };
    let enough = if lost.probability < 0.005 {
        "less than 1%".to_owned()
    } else {
        percent_whole(lost.probability)
    };
    format!(
        "{} left are enough with a probability of {enough}, {} free{data}",
        nodes(lost.nodes),
        headroom(lost.headroom)
    )
}

fn ahead(plan: &SizePlan, ahead: &Ahead) -> String {
    let units = plan.needs.iter().map(|need| need.unit.as_str());
    let needs =
        ahead.per_s.iter().zip(units).map(|(per_s, unit)| format!("{} {unit}", about(*per_s)));
    let needs = list(needs, " and ");
    let enough = enough(ahead.nodes);
    let growth = percent_plain(ahead.growth_per_month);
    let whose = if ahead.stated {
        format!("growing {growth} a month")
    } else {
        format!("if it grew {growth} a month (--growth)")
    };
    format!("{needs} need {enough}, {whose}")
}

/// The most influential assumptions, each with the flag that changes it.
pub(crate) fn weighed_most(plan: &SizePlan) -> impl Iterator<Item = String> {
    plan.decision.assumptions.iter().take(ASSUMPTIONS_SHOWN).map(weighed)
}

/// `growth 0% a month; with 5% 13 nodes (--growth)`.
pub(crate) fn weighed(weight: &AssumptionWeight) -> String {
    let enough = enough(weight.nodes);
    let (name, unit, flag) = match weight.what {
        Assumption::Growth => ("growth", " a month", "--growth"),
        Assumption::Headroom => ("capacity kept free", "", "--headroom"),
        Assumption::Failures => ("nodes that may be lost", "", "--tolerate-failures"),
        Assumption::Replicas => ("replicas", "", "--replicas"),
        Assumption::ReplicaCost => ("cost of a replica", " of the first copy", "--replica-cost"),
        Assumption::Confidence => ("probability", "", "--confidence"),
        Assumption::Scaling => ("growth with nodes as published", "", "--from"),
    };
    let [value, other] = [weight.value, weight.other].map(|value| match weight.what {
        Assumption::Failures | Assumption::Replicas => plain(value),
        _ => percent_plain(value),
    });
    format!("{name} {value}{unit}; with {other} it takes {enough} ({flag})")
}

/// The head and a row for each size that an unknown demand decides between; empty if the demand is known.
pub(crate) fn regret_rows(plan: &SizePlan) -> Vec<Row> {
    let all = &plan.decision.regrets;
    if !all.iter().any(|regret| regret.least) {
        return Vec::new();
    }
    let rows = all.iter().map(|regret| {
        let cells = [
            regret.nodes.to_string(),
            rate(regret.price_per_month),
            rate(regret.if_low),
            rate(regret.if_high),
        ];
        Row::new(cells).remark(if regret.least { "least regret" } else { "" })
    });
    headed("nodes | a month | regret if low | if high", rows)
}

/// A probability, never rounded to certainty.
pub(crate) fn probability(probability: f64) -> String {
    if probability > 0.995 {
        return "> 99%".to_owned();
    }
    if probability < 0.005 {
        return "< 1%".to_owned();
    }
    percent_whole(probability)
}
