//! The decision between clusters in words: the scenarios, the most influential assumptions, and regret. For the summary
//! and for the page. Must not compute.

use highwater_model::display::{count, percent_plain, percent_whole, plain, rate, significant};
use highwater_sizing::cluster::{
    Assumption, AssumptionWeight, Condition, HOURS_PER_MONTH, NeedPlan, ReplicaEffect, Scenario,
    SizeAxis, SizePlan, ToProve,
};

use crate::layout::{Row, headed, list, or_absent};

/// Number of most influential assumptions to show.
pub(crate) const ASSUMPTIONS_SHOWN: usize = 3;

/// The head and a row for each scenario; the first column holds words.
pub(crate) fn scenario_rows(plan: &SizePlan) -> Vec<Row> {
    let scenarios = &plan.decision.scenarios;
    let has_replicas = scenarios.iter().any(|scenario| scenario.replicas_leave.is_some());
    let replicas = if has_replicas { " | replicas leave" } else { "" };
    let has_prices = scenarios.iter().any(|scenario| scenario.price_per_month.is_some());
    let price = if has_prices { " | a month" } else { "" };
    let noun = plan.axis.noun();
    let has_machines = scenarios.iter().any(|scenario| scenario.machines > 1);
    let sizes = if has_machines { format!("machines × {noun}") } else { noun.to_owned() };
    let head = format!("scenario | {sizes} | 90% interval{replicas}{price}");
    let rows = scenarios.iter().map(|scenario| {
        let nodes = figure(scenario);
        let machines = match scenario.machines {
            machines if has_machines && scenario.nodes.is_some() => format!("{machines} × {nodes}"),
            _ => nodes,
        };
        let mut cells = vec![name(scenario), machines, interval(scenario)];
        cells.extend(has_replicas.then(|| or_absent(scenario.replicas_leave, left)));
        cells.extend(has_prices.then(|| or_absent(scenario.price_per_month, rate)));
        // A number that is exceeded is no plan.
        let is_plan = scenario.is_planned && scenario.to_prove.is_none();
        let planned = is_plan.then(|| "planned".to_owned());
        let loses = scenario.condition == Condition::NodesLost
            && f64::from(scenario.replicas) < scenario.value;
        let lost = loses.then(|| "loses data".to_owned());
        Row::new(cells).remark(list(planned.into_iter().chain(lost), ", "))
    });
    headed(&head, rows)
}

/// `6`; for an unproven number `> 6`, or `≥ 31` if more than the next size can prove are needed; or `none`.
fn figure(scenario: &Scenario) -> String {
    match (scenario.nodes, scenario.to_prove) {
        (None, _) => "none".to_owned(),
        (Some(_), Some(proof)) => match proof.at_least {
            Some(nodes) => format!("≥ {}", count(nodes.into())),
            None => format!("> {}", count(proof.farthest.into())),
        },
        (Some(nodes), None) => count(nodes.into()),
    }
}

/// The price of an hour, from that of a month.
pub(crate) fn hourly(per_month: f64) -> String {
    significant(per_month / HOURS_PER_MONTH)
}

/// The number of an unproven plan: `at least 31`, or `more than 6`.
pub(crate) fn unproven(proof: ToProve) -> (String, u32) {
    match proof.at_least {
        Some(nodes) => (format!("at least {}", count(nodes.into())), nodes),
        None => (or_more(true, &count(proof.farthest.into())), proof.farthest),
    }
}

/// `84`, or `more than 84`.
pub(crate) fn or_more(is_exceeded: bool, nodes: &str) -> String {
    format!("{}{nodes}", if is_exceeded { "more than " } else { "" })
}

/// The conditions that were stated: ` with 20% headroom, with 1 node lost, and 12 months at 5% a month`.
pub(crate) fn conditions(plan: &SizePlan) -> String {
    let stated = plan.decision.scenarios.iter().filter(|scenario| !scenario.is_example);
    let names = stated.filter_map(|scenario| match scenario.condition {
        Condition::Headroom => Some(format!("{} headroom", percent_plain(scenario.value))),
        Condition::NodesLost => Some(format!("{} lost", lost(plan, scenario.value))),
        Condition::Growth => Some(format!(
            "{} months of growth by {} a month",
            scenario.months,
            percent_plain(scenario.value)
        )),
        Condition::Today | Condition::All => None,
    });
    let names: Vec<String> = names.collect();
    match &names[..] {
        [] => String::new(),
        [one] => format!(" with {one}"),
        [others @ .., last] => format!(" with {} and {last}", others.join(", ")),
    }
}

/// The part of the capacity that must stay free, if it was stated.
pub(crate) fn requested_headroom(plan: &SizePlan) -> Option<f64> {
    let mut stated = plan.decision.scenarios.iter().filter(|scenario| !scenario.is_example);
    stated.find(|of| of.condition == Condition::Headroom).map(|of| of.value)
}

/// `1 node`, or `2 machines` where sizes count vCPUs.
fn lost(plan: &SizePlan, number: f64) -> String {
    let noun = if plan.axis == SizeAxis::Nodes { "node" } else { "machine" };
    format!("{} {noun}{}", plain(number), if number > 1.0 { "s" } else { "" })
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

/// The 90% interval; of an unproven number, which has none, the expected one, or how likely the largest proven one is.
fn interval(scenario: &Scenario) -> String {
    match (scenario.interval, scenario.to_prove) {
        (Some(interval), _) => interval.text(),
        (None, Some(proof)) => match proof.expected {
            Some(expected) if expected > proof.farthest => {
                format!("unproven, {} expected", count(expected.into()))
            }
            Some(_) => format!("unproven, {} at {}", count(proof.farthest.into()), proof.likely()),
            None => "unproven".to_owned(),
        },
        (None, None) => "no number is enough".to_owned(),
    }
}

/// The flags of conditions that were not stated and have example values; absent if all were stated.
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

/// What to measure next if a scenario is unproven; absent if none is.
pub(crate) fn proof(plan: &SizePlan) -> Option<String> {
    if let Some(proof) = plan.nodes.to_prove {
        return Some(proven_by(plan, proof));
    }
    let proof = plan.decision.scenarios.iter().find_map(|scenario| scenario.to_prove)?;
    let next = plan.axis.counted(proof.measure);
    Some(format!("measure {next} next: the unproven numbers depend on them"))
}

/// `6 nodes are 62% likely to be enough; measure 6 nodes next`.
pub(crate) fn proven_by(plan: &SizePlan, proof: ToProve) -> String {
    let next = plan.axis.counted(proof.measure);
    let [farthest, noun] = [plan.axis.counted(proof.farthest), plan.axis.noun().to_owned()];
    let expected = match proof.expected {
        Some(expected) if expected > proof.farthest => {
            let measured = proof.measure;
            let expected = count(expected.into());
            format!("{expected} expected if {measured} {noun} sustain what is predicted")
        }
        _ => {
            let more = proof.at_least.map_or_else(String::new, |nodes| {
                format!(", and at least {} are needed", count(nodes.into()))
            });
            format!("{farthest} are {} likely to be enough{more}", proof.likely())
        }
    };
    let then = proof.interval.map_or_else(String::new, |ends| {
        let [low, high] = ends.map(percent_whole);
        let counted = plan.axis.counted(plan.nodes.planned);
        format!("; the throughput of {counted} then has a 90% interval of about {low} to +{high}")
    });
    let range = proof.low.filter(|low| *low > proof.farthest).map_or_else(String::new, |low| {
        let first = count(low.into());
        match proof.high.filter(|high| *high > low) {
            Some(high) => format!(": {first} to {} are expected then", count(high.into())),
            None => format!(": {first} or more are expected then"),
        }
    });
    format!("{expected}; measure {next} next{range}{then}")
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
        let note = if scenario.to_prove.is_some() { "unproven" } else { "" };
        let of = format!("{} {}", figure(scenario), plan.axis.noun());
        let figure = match scenario.machines {
            _ if scenario.nodes.is_none() => "none".to_owned(),
            1 => of,
            machines => format!("{machines} × {of}"),
        };
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
        || format!("no number of {} is expected to be enough", plan.axis.noun()),
        |nodes| {
            let nodes = or_more(weight.is_exceeded, &plan.sized(nodes));
            format!("it takes {nodes}{unproven}")
        },
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
    let head = format!("{} | a month (730 h) | regret if low | if high", plan.axis.noun());
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
