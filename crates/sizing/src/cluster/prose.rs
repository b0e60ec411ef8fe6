//! The plan as a paragraph for a design document.

use super::headroom::Headroom;
use super::layout::length;
use super::plan::{NeedPlan, SizePlan};
use super::request::Request;
use super::traced::Origin;
use crate::scaling::LEVEL;
use highwater_model::display::{self, percent_plain};

/// The plan in prose: the result, its basis, its probability, and its assumptions.
pub(super) fn summary(request: &Request, plan: &SizePlan) -> String {
    let mut sentences = vec![headline(request, plan)];
    sentences.extend(plan.needs.iter().map(basis));
    sentences.push(nodes(plan));
    sentences.extend(storage(request, plan));
    if let Some(price) = plan.price_per_month {
        let price = display::rate(price);
        sentences.push(format!("They cost {price} a month of 730 hours."));
    }
    sentences.extend(assumptions(plan));
    sentences.join(" ")
}

fn headline(request: &Request, plan: &SizePlan) -> String {
    let needs: Vec<String> = plan.needs.iter().map(need_text).collect();
    let copies = match request.replicas.value {
        0 => "no further copy".to_owned(),
        1 => "one further copy".to_owned(),
        more => format!("{more} replicas"),
    };
    let loss = match plan.nodes.survive {
        0 => String::new(),
        1 => ", one of which may be lost".to_owned(),
        lost => format!(", {lost} of which may be lost"),
    };
    let extrapolated = if plan.extrapolated {
        " (EXTRAPOLATED beyond twice the largest known cluster)"
    } else {
        ""
    };
    let (needs, nodes) = (needs.join(" and "), plan.nodes.planned);
    format!(
        "To carry {needs} with {copies} of each row, {nodes} nodes are planned{loss}{extrapolated}."
    )
}

fn need_text(need: &NeedPlan) -> String {
    let now = format!("{} {}", display::rate(need.per_s), need.unit);
    if need.per_s_at_end > need.per_s {
        return format!("{now} (growing to {})", display::rate(need.per_s_at_end));
    }
    now
}

fn basis(need: &NeedPlan) -> String {
    let (verb, source) = match &need.origin {
        Origin::Published(source) => ("published", source.as_str()),
        origin => ("measured", origin.detail()),
    };
    let growth = match &need.growth {
        Origin::Published(growth) if need.growth != need.origin => {
            format!(", with an assumed growth: {growth}")
        }
        _ => String::new(),
    };
    let measured = &need.measured;
    format!("This rests on {measured} {verb} as {source}{growth}.")
}

fn nodes(plan: &SizePlan) -> String {
    let nodes = &plan.nodes;
    let capacity = match &plan.needs[..] {
        [need] => {
            let of = need.capacity;
            let [about, low, high] = [of.expected, of.low, of.high].map(display::about);
            let unit = &need.unit;
            format!(" They are expected to carry {about} {unit} (90% interval {low} to {high}).")
        }
        _ => String::new(),
    };
    let headroom = headroom(nodes.headroom);
    let after = if nodes.survive > 0 {
        let after = self::headroom(nodes.headroom_after_loss);
        format!(", and {after} after that loss")
    } else {
        String::new()
    };
    format!(
        "{} are expected to be enough ({} to {} at a level of {}); the planned {} are enough with a \
         chance of at least {}.{capacity} That leaves {headroom} of the capacity free{after}.",
        nodes.expected,
        nodes.low,
        nodes.most(),
        percent_plain(LEVEL),
        nodes.planned,
        percent_plain(nodes.probability)
    )
}

fn headroom(headroom: Headroom) -> String {
    let part = |part: f64| format!("{:.0}", 100.0 * part);
    let expected = part(headroom.expected);
    let low = part(headroom.low);
    let high = part(headroom.high);
    format!("{expected}% ({low} to {high}%)")
}

fn storage(request: &Request, plan: &SizePlan) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(shards) = &plan.shards {
        let each = shards
            .partition_days
            .map_or(String::new(), |days| format!(" in a partition for each {}", length(days)));
        let size = shards.bytes.map_or(String::new(), |bytes| {
            format!(" of up to {} GB", display::significant(bytes / 1e9))
        });
        sentences.push(format!(
            "The table has {} primary shards{each}{size}, {} on each node, copies included.",
            shards.primaries,
            display::plain(shards.per_node.ceil())
        ));
    }
    if let Some(disk) = &plan.disk {
        let days = request.retention_s.as_ref().map_or(0.0, |kept| kept.value / 86_400.0);
        sentences.push(format!(
            "Rows of {} days take {} TB with all copies, so each node needs {} TB of disk.",
            display::plain(days),
            display::significant(disk.stored_bytes / 1e12),
            display::significant(disk.per_node_bytes / 1e12)
        ));
    }
    if let Some(network) = &plan.network {
        let gbit = display::significant(network.per_node_bytes_per_s * 8.0 / 1e9);
        sentences.push(format!("Each node moves {gbit} Gbit/s."));
    }
    sentences
}

fn assumptions(plan: &SizePlan) -> Option<String> {
    let assumed: Vec<String> = plan
        .inputs
        .iter()
        .filter(|input| input.origin.is_assumption())
        .map(|input| format!("{} {} ({})", input.name, input.value, input.flag))
        .collect();
    (!assumed.is_empty()).then(|| format!("Assumed, not measured here: {}.", assumed.join("; ")))
}
