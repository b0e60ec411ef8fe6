//! The decision between clusters in words: the scenarios, the most influential assumptions, and regret. For the summary
//! and for the page. Must not compute.

use highwater_model::display::{count, percent_plain, percent_whole, plain, rate};
use highwater_sizing::cluster::{
    Assumption, AssumptionWeight, Condition, NeedPlan, ReplicaEffect, Scenario, SizePlan, ToProve,
};

use crate::layout::{Row, headed, list, or_absent};

/// Number of most influential assumptions that come first.
pub(crate) const ASSUMPTIONS_SHOWN: usize = 3;

/// The head and a row for each scenario; the first column holds words.
pub(crate) fn scenario_rows(plan: &SizePlan) -> Vec<Row> {
    let scenarios = &plan.decision.scenarios;
    let has_replicas = scenarios.iter().any(|scenario| scenario.replicas_leave.is_some());
    let replicas = if has_replicas { " | replicas leave" } else { "" };
    let price = plan.price_per_month.map_or("", |_| " | a month");
    let head = format!("scenario | {} | 90% interval{replicas}{price}", plan.axis.noun());
    let rows = scenarios.iter().map(|scenario| {
        let nodes = or_absent(scenario.nodes, |nodes| count(nodes.into()));
        let machines = match scenario.machines {
            1 => nodes,
            machines => format!("{machines} × {nodes}"),
        };
        let mut cells = vec![name(scenario), machines, interval(scenario)];
        cells.extend(has_replicas.then(|| or_absent(scenario.replicas_leave, left)));
        cells.extend(plan.price_per_month.map(|_| or_absent(scenario.price_per_month, rate)));
        let planned = scenario.is_planned.then(|| "planned".to_owned());
        let loses = scenario.condition == Condition::NodesLost
            && f64::from(scenario.replicas) < scenario.value;
        let lost =
            loses.then(|| format!("loses data without --replicas {}", plain(scenario.value)));
        Row::new(cells).remark(list(planned.into_iter().chain(lost), ", "))
    });
    headed(&head, rows)
}

fn name(scenario: &Scenario) -> String {
    let value = scenario.value;
    match scenario.condition {
        Condition::Today => "today".to_owned(),
        Condition::Headroom => format!("with {} headroom", percent_plain(value)),
        Condition::NodesLost if value > 1.0 => format!("with {} nodes lost", plain(value)),
        Condition::NodesLost => "with 1 node lost".to_owned(),
        Condition::Growth => {
            format!("{} months at {} a month", scenario.months, percent_plain(value))
        }
        Condition::All => "all of these".to_owned(),
    }
}

/// `60% (45% to 95%)`.
fn left(effect: ReplicaEffect) -> String {
    let of = effect.factor;
    let [expected, low, high] = [of.expected, of.low, of.high].map(percent_whole);
    if low == high { expected } else { format!("{expected} ({low} to {high})") }
}

/// The 90% interval, or what to measure for an unproven number.
fn interval(scenario: &Scenario) -> String {
    match (scenario.interval, scenario.to_prove, scenario.nodes) {
        (Some(interval), ..) => interval.text(),
        (None, Some(proof), _) => format!("unproven: measure {}", count(proof.measure.into())),
        (None, None, Some(_)) => "unproven".to_owned(),
        (None, None, None) => "no number is enough".to_owned(),
    }
}

/// The flags of conditions that were not stated, whose values are examples; absent if all were.
pub(crate) fn not_stated(plan: &SizePlan) -> Option<String> {
    let examples = plan.decision.scenarios.iter().filter(|scenario| scenario.is_example);
    let flags = examples.filter_map(|scenario| match scenario.condition {
        Condition::Headroom => Some("--headroom"),
        Condition::NodesLost => Some("--tolerate-failures"),
        Condition::Growth => Some("--growth"),
        Condition::Today | Condition::All => None,
    });
    let flags = list(flags.map(str::to_owned), ", ");
    (!flags.is_empty()).then(|| format!("{flags}; the table shows examples"))
}

/// The measurement that proves all unproven scenarios; absent if there are none.
pub(crate) fn proof(plan: &SizePlan) -> Option<String> {
    let open = plan.decision.scenarios.iter();
    let open = open.filter_map(|scenario| Some((scenario.to_prove?, scenario.nodes?)));
    open.max_by_key(|(proof, _)| proof.measure).map(|(proof, nodes)| proven_by(plan, proof, nodes))
}

/// `measure 7 nodes; the throughput of 13 nodes then has a 90% interval of about -19% to +19%`.
pub(crate) fn proven_by(plan: &SizePlan, proof: ToProve, nodes: u32) -> String {
    let axis = plan.axis;
    let [low, high] = [proof.low, proof.high].map(percent_whole);
    format!(
        "measure {}; the throughput of {} then has a 90% interval of about {low} to +{high}",
        axis.counted(proof.measure),
        axis.counted(nodes)
    )
}

/// The scenarios that are not planned as key figures: name, figure, and note.
pub(crate) fn key_figures(plan: &SizePlan) -> impl Iterator<Item = (String, String, &'static str)> {
    let others = plan.decision.scenarios.iter().filter(|scenario| !scenario.is_planned);
    others.filter_map(|scenario| {
        let name = match scenario.condition {
            Condition::NodesLost => "with a node lost".to_owned(),
            Condition::Growth => format!("in {} months", scenario.months),
            Condition::Headroom => format!("with {} headroom", percent_plain(scenario.value)),
            Condition::Today | Condition::All => return None,
        };
        let note = if scenario.interval.is_some() { "" } else { "unproven" };
        let figure = scenario.nodes.map_or_else(|| "none".to_owned(), |of| plan.axis.counted(of));
        Some((name, figure, note))
    })
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

/// The most influential assumptions, each with the flag that changes it.
pub(crate) fn weighed_most(plan: &SizePlan) -> impl Iterator<Item = String> {
    plan.decision.assumptions.iter().take(ASSUMPTIONS_SHOWN).map(|weight| weighed(plan, weight))
}

/// `replicas 0; with 1 it takes 13 nodes, unproven (--replicas)`.
pub(crate) fn weighed(plan: &SizePlan, weight: &AssumptionWeight) -> String {
    let unproven = if weight.is_proven { "" } else { ", unproven" };
    let enough = weight.nodes.map_or_else(
        || format!("no number of {} is enough", plan.axis.noun()),
        |nodes| format!("it takes {}{unproven}", plan.axis.counted(nodes)),
    );
    let (name, unit, flag) = match weight.what {
        Assumption::Replicas => ("replicas", "", "--replicas"),
        Assumption::ReplicaCost => ("cost of a replica", " of the first copy", "--replica-cost"),
        Assumption::Confidence => ("probability", "", "--confidence"),
        Assumption::Scaling => ("growth with nodes as published", "", "--from"),
    };
    let [value, other] = [weight.value, weight.other].map(|value| match weight.what {
        Assumption::Replicas => plain(value),
        _ => percent_whole(value),
    });
    format!("{name} {value}{unit}; with {other} {enough} ({flag})")
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
    let head = format!("{} | a month | regret if low | if high", plan.axis.noun());
    headed(&head, rows)
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
