//! The plan as text: a paragraph for a design document, and the list of its inputs with their origins. Must not
//! compute anything that the plan does not hold.

use highwater_model::display::{self, percent_plain};
use highwater_model::numbers::round_to_u32;

use super::basis::{Basis, SizeAxis};
use super::counting::NodeCounts;
use super::layout::{length, uneven};
use super::plan::{Estimate, Input, Need, NeedPlan, Origin, Request, SizePlan, WithOrigin};
use crate::scaling::{DEVIATIONS, Size};

/// A target above this multiple of the highest throughput raises a doubt about units.
const DISTANT_TARGET: f64 = 30.0;

/// The plan in prose: the result, its basis, its probability, and its assumptions.
pub(super) fn summary(request: &Request, plan: &SizePlan) -> String {
    let mut sentences = vec![headline(request, plan)];
    sentences.extend(plan.needs.iter().map(basis));
    sentences.push(nodes(plan));
    sentences.extend(storage(request, plan));
    if let Some(price) = plan.price_per_month {
        let price = display::rate(price);
        let planned = plan.sized(plan.nodes.planned);
        sentences.push(format!("The price of {planned} is {price} a month of 730 hours."));
    }
    sentences.extend(assumptions(plan));
    sentences.join(" ")
}

fn headline(request: &Request, plan: &SizePlan) -> String {
    let needs: Vec<String> = plan.needs.iter().map(need_text).collect();
    let copies = match request.replicas.value {
        0 => "no replica".to_owned(),
        1 => "one replica".to_owned(),
        more => format!("{more} replicas"),
    };
    let loss = match plan.nodes.survive {
        0 => String::new(),
        lost => format!(", {lost} of which may be lost"),
    };
    let (needs, nodes) = (needs.join(" and "), plan.sized(plan.nodes.planned));
    if !plan.nodes.reached {
        return format!(
            "To sustain {needs} with {copies} of each row, no number of {} is expected to be enough: {}.",
            plan.axis.noun(),
            plan.ended()
        );
    }
    if plan.nodes.is_exceeded {
        let at_least = plan.nodes.to_prove.and_then(|proof| proof.at_least);
        let nodes = at_least.map_or_else(
            || format!("more than {nodes}"),
            |least| format!("at least {}", plan.sized(least)),
        );
        return format!(
            "To sustain {needs} with {copies} of each row and a probability of {}, {nodes} are needed{loss}.",
            percent_plain(plan.nodes.probability)
        );
    }
    format!("To sustain {needs} with {copies} of each row, {nodes} are planned{loss}.")
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
    let planned = nodes.planned;
    let enough = match &nodes.interval {
        Some(interval) => format!(
            "{} are expected to be enough (90% interval {}); the planned {planned} are enough with a probability of \
             at least {}.",
            interval.expected,
            interval.text(),
            percent_plain(nodes.probability)
        ),
        None => nodes.to_prove.map_or_else(String::new, |proof| {
            let half = match proof.expected {
                Some(expected) if expected > proof.farthest => {
                    "Half of such clusters need more than the planned number. "
                }
                _ => "",
            };
            format!(
                "This is unproven: {} are enough with a probability of {}, and predictions for more have no interval. \
                 {half}Measure {} next.",
                plan.axis.counted(proof.farthest),
                proof.likely(),
                plan.axis.counted(proof.measure),
            )
        }),
    };
    if nodes.is_exceeded {
        return enough;
    }
    let capacity = match &plan.needs[..] {
        [need] => {
            let capacity = estimate(need.capacity, &need.unit, display::about);
            format!(" {} are expected to sustain {capacity}.", plan.sized(planned))
        }
        _ => String::new(),
    };
    let headroom = |of| estimate(of, "", display::percent_whole);
    let after = if nodes.survive > 0 && plan.axis == SizeAxis::Nodes {
        format!(", and {} after that loss", headroom(nodes.headroom_after_loss))
    } else {
        String::new()
    };
    format!(
        "{enough}{capacity} That leaves {} of the capacity free{after}.",
        headroom(nodes.headroom)
    )
}

/// `98,300 rows/s (90% interval 97,100 to 99,200)`, without an interval if it is unproven.
pub fn estimate(of: Estimate, unit: &str, show: impl Fn(f64) -> String) -> String {
    let mut text = show(of.expected);
    if !unit.is_empty() {
        text = format!("{text} {unit}");
    }
    match of.interval.map(|ends| ends.map(show)) {
        Some([low, high]) => format!("{text} (90% interval {low} to {high})"),
        None => text,
    }
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

/// Every input, the needs first.
pub(super) fn list(request: &Request) -> Vec<Input> {
    let mut list: Vec<Input> = Vec::new();
    for need in &request.needs {
        of_need(need, &mut list);
    }
    of_cluster(request, &mut list);
    of_data(request, &mut list);
    list
}

fn of_need(need: &Need, list: &mut Vec<Input>) {
    let basis = &need.basis;
    let unit = &basis.unit;
    let least = need.at_least_per_s;
    let least = least.map_or_else(String::new, |least| format!("{} to ", display::rate(least)));
    let rate = format!("{least}{} {unit}", display::rate(need.per_s.value));
    list.push(need.per_s.input("target", rate, "RATE"));
    let (measured, sizes) = (&basis.origin, super::basis::measured_sizes(basis));
    list.push(measured.input(&format!("throughput, {unit}"), sizes, "--from"));
    of_growth(basis, list);
    let part = percent_plain(basis.growth.error());
    let error = format!("{part} of each measurement");
    list.push(basis.error().input("measurement error", error, "--error"));
    let cost = basis.replica_cost.value.expected;
    let text = format!("{} of the first copy", display::percent_whole(cost));
    let what = format!("cost of a replica, {unit}");
    list.push(basis.replica_cost.input(&what, text, "--replica-cost"));
}

/// The growth model, or that growth is assumed.
fn of_growth(basis: &Basis, list: &mut Vec<Input>) {
    let unit = &basis.unit;
    if let Some(pooled) = basis.growth.pooled() {
        let growth = &basis.growth_origin;
        let noun = basis.axis.noun();
        let exponent = format!("{noun}^{:.2}", pooled.exponent());
        list.push(growth.input(&format!("growth with {noun}, {unit}"), exponent, "--assume"));
        return;
    }
    let averaged = (
        "Amdahl, USL and power, averaged",
        Origin::Assumed("no model is known to hold; what predicts best counts most".to_owned()),
    );
    let (model, origin) =
        basis.model.map_or(averaged, |model| (model.name(), Origin::Given("--model".to_owned())));
    list.push(origin.input(&format!("scaling model, {unit}"), model, "--model"));
}

fn of_cluster(request: &Request, list: &mut Vec<Input>) {
    let probability = percent_plain(request.probability.value);
    let what = "chance that the nodes suffice";
    list.push(request.probability.input(what, probability, "--confidence"));
    let spare = percent_plain(request.spare.value);
    let free = &request.spare;
    list.push(free.input("capacity kept free", spare, "--headroom"));
    let growth = format!("{} a month", percent_plain(request.growth_per_month.value));
    list.push(request.growth_per_month.input("growth", growth, "--growth"));
    let months = request.months.value.to_string();
    list.push(request.months.input("months ahead", months, "--months"));
    let survive = request.survive.value.to_string();
    let what = "nodes that may be lost";
    list.push(request.survive.input(what, survive, "--tolerate-failures"));
    let replicas = request.replicas.value.to_string();
    list.push(request.replicas.input("replicas", replicas, "--replicas"));
    if let Some(vcpus) = request.planned_vcpus() {
        let text = display::plain(vcpus.value);
        list.push(vcpus.input("vCPUs a node", text, "--vcpus"));
    }
    if let Some(price) = &request.price_per_node_hour {
        let text = display::plain(price.value);
        list.push(price.input("price of a node and hour", text, "--price"));
    }
}

fn of_data(request: &Request, list: &mut Vec<Input>) {
    if let Some(retention) = &request.retention_s {
        let text = format!("{} days", display::plain(retention.value / 86_400.0));
        list.push(retention.input("retention", text, "--retention"));
    }
    let mut bytes = |input: &Option<WithOrigin<f64>>, name: &str, flag: &str| {
        if let Some(input) = input {
            list.push(input.input(name, format!("{} B", display::plain(input.value)), flag));
        }
    };
    let (stored, sent) = (&request.stored_bytes_per_row, &request.sent_bytes_per_row);
    bytes(stored, "a row on disk", "--bytes-per-row");
    bytes(sent, "a row as sent", "--sent-bytes-per-row");
    bytes(&request.bytes_per_answer, "an answer", "--bytes-per-answer");
    if request.rows_per_s() > 0.0 {
        let rules = &request.guidance.value;
        let per_vcpu = format!("{} written at once", display::plain(rules.shards_per_vcpu));
        let guidance = &request.guidance;
        list.push(guidance.input("shards a vCPU", per_vcpu, "--shards-per-vcpu"));
        let greatest = display::plain(rules.greatest_shard_bytes / 1e9);
        let most = format!("{greatest} GB at most");
        list.push(guidance.input("size of a shard", most, "--shard-size"));
        let fill = percent_plain(rules.greatest_disk_fill);
        list.push(guidance.input("disk in use", format!("{fill} at most"), "--disk-fill"));
    }
}

/// Information for the reader that is not an error.
pub(super) fn notes(request: &Request, counts: &NodeCounts) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let nodes = counts.planned;
    for need in &request.needs {
        notes.extend(need.basis.notes.iter().cloned());
        of_basis(request, need, &mut notes);
    }
    if counts.to_prove.is_some() {
        notes.push(
            "Unproven: predictions have an interval up to twice the largest measured size, and no number up to there is \
             enough with the probability of --confidence. An unproven number has no margin for it; \"at least\" and ≥ are the \
             largest of what linear growth takes, of what the next size can prove, and of what one condition alone takes. \
             Measure that size before you buy."
                .to_owned(),
        );
    }
    of_machines(request, counts, &mut notes);
    of_regret(request, counts, &mut notes);
    if request.needs.len() > 1 {
        notes.push(
            "That rows and queries share the capacity in proportion is assumed; only a run with \
             both streams shows how they disturb each other."
                .to_owned(),
        );
    }
    let (replicas, survive) = (request.replicas.value, request.survive.value);
    let assumed = request.needs.iter().map(|need| &need.basis).find(|basis| {
        let cost = &basis.replica_cost;
        let is_open = cost.origin.is_assumption() && cost.value.low < cost.value.high;
        is_open && basis.replicas.value < f64::from(replicas)
    });
    if assumed.is_some() {
        notes.insert(
            0,
            "The cost of a replica is assumed: measure one size with and without replicas to narrow it."
                .to_owned(),
        );
    }
    if replicas < survive {
        notes.push(format!(
            "With {replicas} replicas and {survive} lost, data are lost; --replicas {survive} \
             keeps them."
        ));
    }
    if request.axis() == SizeAxis::Nodes && counts.enough().is_some_and(|nodes| nodes <= replicas) {
        notes.push(format!("{nodes} nodes cannot hold {replicas} replicas apart from each other."));
    }
    notes.extend(unevenly_measured(request));
    if counts.enough().is_some() {
        notes.extend(uneven_shards(request, nodes));
        of_layout(request, nodes, &mut notes);
    }
    notes
}

/// Warns that the shards with which all sizes were measured cannot be spread evenly over the planned nodes: those with
/// the most shards limit the cluster, which no measured size shows.
fn uneven_shards(request: &Request, nodes: u32) -> Option<String> {
    let need = request.needs.iter().find(|need| need.basis.counts_rows())?;
    let shards = need.basis.primary_shards.filter(|_| request.axis() == SizeAxis::Nodes)?;
    let (most, part) = uneven(shards * f64::from(request.replicas.value + 1), nodes)?;
    if need.basis.sweep.sizes().iter().any(|size| size.size >= f64::from(nodes)) {
        return None;
    }
    let even = (shards / f64::from(nodes)).ceil() * f64::from(nodes);
    let [shards, most, even] = [shards, most, even].map(display::plain);
    Some(format!(
        "WARNING: all sizes were measured with {shards} primary shards, which do not divide evenly among {nodes} nodes: \
         the busiest holds {most}, so up to {} less than planned may be left. Plan a multiple, such as {even}, and \
         measure with it.",
        display::percent_whole(1.0 - part),
    ))
}

/// Warns of measured sizes at which the shards could not be spread evenly: the models take the loss for one of growth.
fn unevenly_measured(request: &Request) -> Option<String> {
    let need = request.needs.iter().find(|need| need.basis.counts_rows())?;
    let shards = need.basis.primary_shards.filter(|_| request.axis() == SizeAxis::Nodes)?;
    let copies = shards * (need.basis.replicas.value + 1.0);
    let sizes = need.basis.sweep.sizes();
    let lost = sizes.iter().filter_map(|size| {
        let nodes = round_to_u32(size.size);
        let (most, part) = uneven(copies, nodes)?;
        let [most, part] = [display::plain(most), display::percent_whole(part)];
        Some(format!("{nodes} nodes (the busiest holds {most}, so about {part} of linear)"))
    });
    let lost: Vec<String> = lost.take(SIZES_MAX).collect();
    (!lost.is_empty()).then(|| {
        format!(
            "WARNING: {} copies of shards did not divide evenly among {}. Such sizes are lower than these nodes can do: \
             measure with a multiple of every size.",
            display::plain(copies),
            lost.join(", ")
        )
    })
}

/// Maximum number of named sizes.
const SIZES_MAX: usize = 4;

/// Notes that a machine may be larger than any available one.
fn of_machines(request: &Request, counts: &NodeCounts, notes: &mut Vec<String>) {
    let largest = request.needs.iter().map(|need| need.basis.sweep.largest());
    let largest = largest.fold(f64::INFINITY, f64::min);
    let is_larger = counts.enough().is_some_and(|planned| f64::from(planned) > largest);
    if request.axis() == SizeAxis::Vcpus && is_larger {
        let (planned, largest) = (display::count(counts.planned.into()), display::plain(largest));
        notes.push(format!(
            "A machine of {planned} vCPUs is larger than the largest that was measured ({largest}), and may not exist: \
             look for it before you plan with it, or measure how throughput grows with machines."
        ));
    }
}

/// Explains why an unknown demand has no size of least regret.
fn of_regret(request: &Request, counts: &NodeCounts, notes: &mut Vec<String>) {
    if request.needs.iter().all(|need| need.at_least_per_s.is_none()) {
        return;
    }
    if request.price_per_node_hour.is_none() {
        notes.push("The size of least regret needs --price.".to_owned());
    } else if counts.interval.is_none() {
        notes.push(
            "No size of least regret is named, because the number for the upper rate is unproven: measure the next \
             size first."
                .to_owned(),
        );
    }
}

fn of_basis(request: &Request, need: &Need, notes: &mut Vec<String>) {
    let unit = &need.basis.unit;
    let sizes = need.basis.sweep.sizes().iter();
    let largest = sizes.map(|size| size.per_s).fold(0.0, f64::max);
    if need.per_s.value > DISTANT_TARGET * largest {
        notes.push(format!(
            "WARNING: the target, {} {unit}, is {} times the highest throughput that was {} ({}). Are the figures per \
             second, and in the target's unit?",
            display::rate(need.per_s.value),
            display::about(need.per_s.value / largest),
            need.basis.origin.word(),
            display::about(largest),
        ));
    }
    if let Some(average) = need.basis.growth.average() {
        of_sizes(need.basis.sweep.sizes(), unit, notes);
        if average.widened > 1.05 {
            notes.push(format!(
                "No model comes as near to the points of {unit} as their error says; the error is \
                 taken as {}.",
                percent_plain(need.basis.growth.error())
            ));
        }
    }
    let requested = request.vcpus_per_node.as_ref();
    match (requested, need.basis.vcpus_per_node) {
        (Some(requested), Some(measured)) if (requested.value - measured).abs() > 1e-9 => {
            let times = display::significant(requested.value / measured);
            let [planned, measured] = [requested.value, measured].map(display::plain);
            notes.push(format!(
                "That nodes of {planned} vCPUs do {times} times as much as those of {measured} is assumed."
            ));
        }
        (Some(_), None) => notes.push(format!(
            "The source of {unit} does not say how many vCPUs a node had; planned nodes are taken \
             to be like those."
        )),
        _ => {}
    }
}

/// Notes on conclusions that too few sizes do not allow.
fn of_sizes(sizes: &[Size], unit: &str, notes: &mut Vec<String>) {
    let [first, last] = sizes else {
        return;
    };
    let grown = (last.per_s / first.per_s).ln();
    // Two measurements of one size differ by more in one of ten cases.
    let by_chance = DEVIATIONS * first.error.hypot(last.error);
    notes.push(if grown.abs() < by_chance {
        format!(
            "WARNING: the two sizes of {unit} differ by {}, less than two measurements of one size \
             can. Whether {unit} grow with nodes is not known, and the interval is too narrow where \
             they do: repeat both sizes, or measure a third.",
            display::percent(grown.exp_m1().abs())
        )
    } else {
        format!(
            "WARNING: growth of {unit} rests on two sizes. One step does not distinguish a bend from noise: \
             measure a third size."
        )
    });
}

fn of_layout(request: &Request, nodes: u32, notes: &mut Vec<String>) {
    if request.rows_per_s() <= 0.0 {
        return;
    }
    if request.axis() == SizeAxis::Vcpus {
        notes.push("Disk, network and shards are sized only from numbers of nodes.".to_owned());
        return;
    }
    let mut missing: Vec<&str> = Vec::new();
    if request.stored_bytes_per_row.is_none() {
        missing.push("--bytes-per-row");
    }
    if request.retention_s.is_none() {
        missing.push("--retention");
    }
    if !missing.is_empty() {
        let missing = missing.join(" and ");
        notes.push(format!("Disk and sizes of shards need {missing}."));
    }
    if request.network(nodes, request.replicas.value).is_none() {
        notes.push(
            "Network needs --sent-bytes-per-row for rows and --bytes-per-answer for queries."
                .to_owned(),
        );
    }
    let Some(shards) = request.shards(nodes, request.replicas.value) else {
        notes.push("Shards need --vcpus.".to_owned());
        return;
    };
    let rules = &request.guidance.value;
    if shards.per_node > rules.most_shards_per_node {
        let (on_node, most) = (shards.per_node, rules.most_shards_per_node);
        let (on_node, most) = (display::rate(on_node), display::plain(most));
        notes.push(format!(
            "{on_node} shards on a node are more than the {most} that are advised: keep rows for less \
             time, or give --shard-size a larger size."
        ));
    }
    if let Some(bytes) = shards.bytes.filter(|bytes| *bytes < rules.least_shard_bytes) {
        let each = shards
            .partition_days
            .map_or(String::new(), |days| format!(" (a partition for each {})", length(days)));
        notes.push(format!(
            "Shards of {} GB{each} are smaller than the {} GB that are advised; they are as many as \
             there are vCPUs to keep busy.",
            display::significant(bytes / 1e9),
            display::plain(rules.least_shard_bytes / 1e9)
        ));
    }
}

impl Basis {
    fn error(&self) -> Origin {
        use crate::scaling::ErrorSource;
        let assumed = "not stated, and nothing was measured twice";
        match self.sweep.error_source() {
            ErrorSource::Stated => Origin::Given("--error".to_owned()),
            ErrorSource::Replicates => self.origin.clone(),
            ErrorSource::Floor => Origin::Assumed(assumed.to_owned()),
        }
    }
}
