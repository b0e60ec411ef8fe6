//! Rules about rates: against durations, latencies, the sum of their parts, a benchmark's own ceiling, the load on each
//! node, and other points of the set.
//!
//! J. D. C. Little, "A Proof for the Queuing Formula L = λW", Operations Research 9(3), 1961. 12.86 new orders per
//! minute and warehouse follow from the keying and think times of TPC-C revision 5.11, clause 5.2.5.7.

use std::collections::{BTreeMap, BTreeSet};

use super::{PlausibilityWarning, Rule, Weight, by_nodes, short};
use crate::scaling::ScalingModel;
use crate::series::{Origin, Point, SeriesSet, Setting, names, number_text};

/// Maximum difference, as a fraction: a rate is often the mean without its beginning.
const AMOUNT_TOLERANCE: f64 = 0.15;

/// Rate × duration against the number of rows or queries.
pub(super) fn rate_times_duration(point: &Point) -> Option<PlausibilityWarning> {
    let duration_s = point.number(names::DURATION)?;
    // `rows` for rows/s, `queries` for queries/s, independent of the column's name.
    let noun = point.unit.strip_suffix("/s")?;
    let amount = point.number(noun).filter(|amount| *amount > 0.0)?;
    let expected = point.throughput * duration_s;
    if (expected / amount - 1.0).abs() <= AMOUNT_TOLERANCE {
        return None;
    }
    let figures = [point.throughput, duration_s, expected, amount];
    let ([rate, seconds, all, amount], unit) = (figures.map(number_text), &point.unit);
    let message =
        format!("{rate} {unit} for {seconds} s are {all} {noun}, but {amount} are stated");
    let check = "is the rate a peak, or the mean over all of the time? Were all of these written \
                 in that time, or were some there before?";
    Some(Rule::RateTimesDuration.warning(Weight::Contradiction, &[point], message, check))
}

/// Maximum difference of busy sessions from stated ones, as a fraction: four standard deviations of a rate and a
/// latency with errors of 3% each.
const LITTLE_TOLERANCE: f64 = 0.15;
const LITTLE_CHECK: &str = "are rate, latency and sessions those of the same time, and does the latency \
                     count from when an op was due? A load at a fixed rate has pace `open`.";

/// Little's law: sessions = ops per second × time per op. Judges one point at a time.
///
/// J. D. C. Little, "A Proof for the Queuing Formula L = λW", Operations Research 9(3), 1961.
pub(super) fn littles_law(point: &Point) -> Option<PlausibilityWarning> {
    let sessions = point.sessions().filter(|sessions| *sessions > 0.0)?;
    let ops = point.ops_per_s()?;
    let open = point.word(names::PACE) == Some("open");
    let think_s = point.number(names::THINK_TIME).unwrap_or(0.0);
    let Some(mean_s) = point.number(names::MEAN_LATENCY) else {
        return above_p99(point, sessions, ops, think_s, open);
    };
    let busy = ops * (mean_s + think_s);
    let weight = if busy > sessions * (1.0 + LITTLE_TOLERANCE) {
        Weight::Contradiction
    } else if !open && busy < sessions * (1.0 - LITTLE_TOLERANCE) {
        Weight::Doubt
    } else {
        return None;
    };
    let figures = [ops, (mean_s + think_s) * 1e3, busy, sessions];
    let [ops, each_ms, busy, sessions] = figures.map(number_text);
    let message = format!(
        "{ops} ops/s of {each_ms} ms each keep {busy} sessions busy, but {sessions} are stated"
    );
    Some(Rule::LittlesLaw.warning(weight, &[point], message, LITTLE_CHECK))
}

/// Sessions that are always busy spend sessions / rate on each op on average; few ops can take longer than the p99, so
/// a mean above it is suspicious.
fn above_p99(
    point: &Point,
    sessions: f64,
    ops: f64,
    think_s: f64,
    open: bool,
) -> Option<PlausibilityWarning> {
    let p99_s = point.number(names::P99_LATENCY)?;
    let mean_s = sessions / ops - think_s;
    if open || mean_s <= p99_s * (1.0 + LITTLE_TOLERANCE) {
        return None;
    }
    let figures = [sessions, ops, mean_s * 1e3, p99_s * 1e3];
    let [sessions, ops, mean, p99] = figures.map(number_text);
    let message = format!(
        "{sessions} sessions and {ops} ops/s make a mean of {mean} ms, above the stated p99 of {p99} ms"
    );
    Some(Rule::LittlesLaw.warning(Weight::Doubt, &[point], message, LITTLE_CHECK))
}

/// Minimum efficiency that may be called linear: with two throughputs with errors of 3% each it differs by 15% once in
/// two thousand cases.
const LINEAR: f64 = 0.85;
/// Words that negate "linear", before or after it.
const NEGATIONS: [&str; 8] = [
    "sublinear",
    "sub-linear",
    "nonlinear",
    "non-linear",
    "not linear",
    "not scale linear",
    "less than linear",
    "below linear",
];

/// Efficiency against the word "linear", for a series over nodes.
pub(super) fn not_linear(points: &[&Point]) -> Option<PlausibilityWarning> {
    let claim = points.iter().find(|point| says_linear(&point.claim))?;
    let groups = by_nodes(points);
    let ((few, first), (many, last)) = (groups.first()?, groups.last()?);
    let (base, largest) = (greatest(first)?, greatest(last)?);
    if few >= many || base.unit != largest.unit {
        return None;
    }
    let efficiency = (largest.throughput / many) / (base.throughput / few);
    if efficiency >= LINEAR {
        return None;
    }
    let figures = [*many, many / few, *few, largest.throughput, base.throughput];
    let [many, times, few, reached, first] = figures.map(number_text);
    let said: String = claim.claim.chars().take(80).collect();
    let message = format!(
        "the source says \"{said}\", but {many} nodes reach {:.1}% of {times} times what {few} \
         reach ({reached} against {first} {}, {})",
        efficiency * 100.0,
        base.unit,
        short(&base.origin),
    );
    let check = "say by how much it grows, or which part of the range is linear; size with the \
                 measured efficiency.";
    Some(Rule::NotLinear.warning(Weight::Contradiction, &[base, largest], message, check))
}

/// Throughput per node grows by less than this from one size to the next, whatever caches do.
const SUPERLINEAR: f64 = 3.0;

/// A digit too few, or too many.
pub(super) fn out_of_line(points: &[&Point]) -> Option<PlausibilityWarning> {
    let valid: Vec<&Point> = points.iter().filter(|point| !point.invalid).copied().collect();
    let groups = by_nodes(&valid);
    let sizes: Vec<(f64, &Point)> =
        groups.iter().filter_map(|(nodes, of_size)| Some((*nodes, greatest(of_size)?))).collect();
    let is_out = |three: &&[(f64, &Point)]| {
        let [(_, smaller), (_, of), (_, larger)] = three else {
            return false;
        };
        let is_low =
            of.throughput < smaller.throughput / 2.0 && larger.throughput > smaller.throughput;
        let is_high =
            of.throughput > larger.throughput * 2.0 && larger.throughput > smaller.throughput;
        smaller.unit == of.unit && of.unit == larger.unit && (is_low || is_high)
    };
    let Some([smaller, (nodes, point), larger]) = sizes.windows(3).find(is_out) else {
        return superlinear(&sizes);
    };
    let figures =
        [*nodes, point.throughput, smaller.1.throughput, smaller.0, larger.1.throughput, larger.0];
    let [nodes, of, less, fewer, more, many] = figures.map(number_text);
    let message = format!(
        "{nodes} nodes have {of} {}, between {less} with {fewer} and {more} with {many}",
        point.unit
    );
    let check =
        "look for a digit too few or too many; if it was measured so, measure that size again.";
    Some(Rule::OutOfLine.warning(Weight::Doubt, &[point], message, check))
}

/// Far more than linear growth from one size to the next: figures in different units, or a digit too many.
fn superlinear(sizes: &[(f64, &Point)]) -> Option<PlausibilityWarning> {
    let times = |pair: &&[(f64, &Point)]| match pair {
        [(few, smaller), (many, larger)] if smaller.unit == larger.unit => {
            larger.throughput / many / (smaller.throughput / few)
        }
        _ => 1.0,
    };
    let pair = sizes.windows(2).find(|pair| times(pair) > SUPERLINEAR)?;
    let ([(few, smaller), (many, larger)], times) = (pair, times(&pair)) else {
        return None;
    };
    let figures = [*many, larger.throughput, times, *few, smaller.throughput];
    let [many, more, times, few, less] = figures.map(number_text);
    let message = format!(
        "{many} nodes have {more} {}, per node {times} times as much as {few} with {less}",
        larger.unit
    );
    let check =
        "look whether both figures have the same unit, and for a digit too few or too many.";
    Some(Rule::OutOfLine.warning(Weight::Doubt, &[smaller, larger], message, check))
}

/// Nodes in the column of the throughput.
pub(super) fn swapped(point: &Point) -> Option<PlausibilityWarning> {
    let nodes = point.nodes().filter(|nodes| *nodes >= 1_000.0 && point.throughput < *nodes)?;
    let [nodes, throughput] = [nodes, point.throughput].map(number_text);
    let message = format!("{nodes} nodes have {throughput} {} together", point.unit);
    let check = "look whether the columns of nodes and throughput are exchanged.";
    Some(Rule::Swapped.warning(Weight::Doubt, &[point], message, check))
}

fn says_linear(claim: &str) -> bool {
    let mut claim = claim.to_lowercase();
    for negation in NEGATIONS {
        claim = claim.replace(negation, "");
    }
    claim.contains("linear")
}

fn greatest<'a>(points: &[&'a Point]) -> Option<&'a Point> {
    points.iter().copied().reduce(
        |best, point| {
            if point.throughput > best.throughput { point } else { best }
        },
    )
}

/// Maximum excess of the sum of parts over their total, as a fraction: rounding.
const PARTS_TOLERANCE: f64 = 0.01;
/// Values of the column `op` for all ops together.
const TOTALS: [&str; 4] = ["total", "all", "sum", "overall"];
const PARTS_CHECK: &str = "were parts and total measured over the same time? Tools that divide each \
                     part by its own time span print parts that add up to too much.";

/// Parts in separate columns.
pub(super) fn parts(point: &Point) -> Option<PlausibilityWarning> {
    let sum: f64 = point.parts.values().sum();
    let names: Vec<&str> = point.parts.keys().map(String::as_str).collect();
    (!names.is_empty()).then_some(())?;
    not_the_sum(point, &[point], sum, &names)
}

/// Parts in separate rows: equal settings except `op`, and one row for the total.
pub(super) fn ops(points: &[&Point]) -> Vec<PlausibilityWarning> {
    let is_total = |point: &&&Point| {
        let op = point.word(names::OP).map(str::to_lowercase);
        op.is_some_and(|op| TOTALS.contains(&op.as_str()))
    };
    let warnings = points.iter().filter(is_total).filter_map(|total| {
        let parts: Vec<&Point> = points
            .iter()
            .copied()
            .filter(|point| !is_total(&point) && same_but_op(point, total))
            .collect();
        let sum: f64 = parts.iter().map(|point| point.throughput).sum();
        let named: Vec<&str> = parts.iter().filter_map(|p| p.word(names::OP)).collect();
        let mut places = vec![*total];
        places.extend(&parts);
        not_the_sum(total, &places, sum, &named)
    });
    warnings.collect()
}

fn not_the_sum(
    total: &Point,
    places: &[&Point],
    sum: f64,
    parts: &[&str],
) -> Option<PlausibilityWarning> {
    let above = sum / total.throughput - 1.0;
    if above <= PARTS_TOLERANCE {
        return None;
    }
    let [sum, all] = [sum, total.throughput].map(number_text);
    let (parts, unit, above) = (parts.join(" + "), &total.unit, above * 100.0);
    let message = format!("{parts} make {sum} {unit}, {above:.1}% above the total of {all}");
    Some(Rule::PartsExceedTotal.warning(Weight::Contradiction, places, message, PARTS_CHECK))
}

fn same_but_op(a: &Point, b: &Point) -> bool {
    let without = |point: &Point| -> Vec<(String, Setting)> {
        point
            .settings
            .iter()
            .filter(|(name, _)| *name != names::OP)
            .map(|(n, s)| (n.clone(), s.clone()))
            .collect()
    };
    a.unit == b.unit && without(a) == without(b)
}

/// Maximum new orders per minute and warehouse.
const CEILING: f64 = 12.86;
/// Two decimals of the ceiling are known, and figures are rounded.
const CEILING_TOLERANCE: f64 = 0.002;
/// A series that stays above this fraction of the ceiling never reached the database's limit.
const AT_CEILING: f64 = 0.97;

/// TPC-C's ceiling: the specified waits of terminals limit their rate.
///
/// 12.86 new orders per minute and warehouse follow from the keying and think times of TPC-C revision 5.11, clause
/// 5.2.5.7.
pub(super) fn ceiling(point: &Point) -> Option<PlausibilityWarning> {
    let (tpmc, warehouses) = rate_and_warehouses(point)?;
    let most = CEILING * warehouses;
    if tpmc <= most * (1.0 + CEILING_TOLERANCE) {
        return None;
    }
    let figures = [tpmc, warehouses, tpmc / warehouses, most];
    let [tpmc, warehouses, each, most] = figures.map(number_text);
    let message = format!(
        "{tpmc} tpmC from {warehouses} warehouses are {each} each; with the waiting times of the \
         specification they cannot make more than 12.86 each, {most} in all"
    );
    let check = "is the number of warehouses right? Without keying and think times the result must \
                 not be called tpmC.";
    Some(Rule::TpmcPerWarehouse.warning(Weight::Contradiction, &[point], message, check))
}

/// At least three sizes, all at the ceiling.
pub(super) fn limited_by_load(points: &[&Point]) -> Option<PlausibilityWarning> {
    let at_ceiling = |point: &&Point| {
        rate_and_warehouses(point).is_some_and(|(tpmc, warehouses)| {
            let share = tpmc / (CEILING * warehouses);
            (AT_CEILING..=1.0 + CEILING_TOLERANCE).contains(&share)
        })
    };
    if points.len() < 3 || !points.iter().all(at_ceiling) {
        return None;
    }
    let message = format!(
        "all {} points are within 3% of 12.86 tpmC per warehouse: they show how many warehouses \
         were loaded, not how many the cluster could serve",
        points.len()
    );
    let check = "raise the warehouses at each size until efficiency falls; do not fit a scaling \
                 model to these.";
    Some(Rule::TpmcPerWarehouse.warning(Weight::Doubt, points, message, check))
}

fn rate_and_warehouses(point: &Point) -> Option<(f64, f64)> {
    let warehouses = point.number(names::WAREHOUSES).filter(|w| *w > 0.0)?;
    let is_tpmc = point.unit.to_lowercase().starts_with("tpm");
    is_tpmc.then_some((point.throughput, warehouses))
}

/// Maximum difference of the load per node between sizes, as a fraction.
const USERS_TOLERANCE: f64 = 0.10;

/// Only if each size was measured with one load: a grid of loads separates the effects.
pub(super) fn users_per_node(points: &[&Point]) -> Option<PlausibilityWarning> {
    let generators = |point: &Point| point.number(names::CLIENT_PROCESSES);
    changes(points, "sessions", Point::sessions)
        .or_else(|| changes(points, "load generators", generators))
}

fn changes(
    points: &[&Point],
    what: &str,
    load: fn(&Point) -> Option<f64>,
) -> Option<PlausibilityWarning> {
    let mut sizes: Vec<(f64, f64, &Point)> = Vec::new();
    for (nodes, group) in by_nodes(points) {
        let mut loads: Vec<f64> = group.iter().filter_map(|point| load(point)).collect();
        loads.sort_by(f64::total_cmp);
        loads.dedup();
        match loads[..] {
            [] => {}
            [load] => sizes.push((nodes, load / nodes, group[0])),
            _ => return None,
        }
    }
    let by_load = |a: &&(f64, f64, &Point), b: &&(f64, f64, &Point)| a.1.total_cmp(&b.1);
    let (least, most) = (sizes.iter().min_by(by_load)?, sizes.iter().max_by(by_load)?);
    if most.1 <= least.1 * (1.0 + USERS_TOLERANCE) {
        return None;
    }
    let (before, after) = if least.0 < most.0 { (least, most) } else { (most, least) };
    let [from, to] = [before.1, after.1].map(number_text);
    let [few, many] = [before.0, after.0].map(nodes_text);
    let message = format!(
        "{what} per node go from {from} at {few} to {to} at {many}: what changes between the sizes \
         is the load as well as the cluster"
    );
    let check = "measure every size with the same load per node, or with the best load of each \
                 and say so.";
    Some(Rule::UsersPerNode.warning(Weight::Doubt, &[before.2, after.2], message, check))
}

fn nodes_text(nodes: f64) -> String {
    let plural = if nodes > 1.0 { "s" } else { "" };
    format!("{} node{plural}", number_text(nodes))
}

/// A requested model and its requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelRequest {
    /// Its name in sentences.
    pub name: String,
    /// Number of fitted parameters; with as many sizes the fit has no error estimate.
    pub parameters: usize,
    /// Recommended number of sizes.
    pub advised: usize,
}

impl ModelRequest {
    /// A scaling model. Twice as many sizes as parameters are recommended; for the universal scalability law that is
    /// the half dozen of Gunther 2007.
    pub fn new(model: ScalingModel) -> Self {
        Self {
            name: format!("the model `{}`", model.name()),
            parameters: model.parameters(),
            advised: 2 * model.parameters(),
        }
    }
}

pub(super) fn too_few(points: &[&Point], request: &ModelRequest) -> Option<PlausibilityWarning> {
    let sizes = by_nodes(points).len();
    let ModelRequest { name, parameters, advised } = request;
    if sizes >= *advised {
        return None;
    }
    let (weight, message) = if sizes <= *parameters {
        let message = format!(
            "{name} has {parameters} parameters, and {sizes} sizes were measured: it fits them \
             whatever they are"
        );
        (Weight::Contradiction, message)
    } else {
        let message = format!("{name} is fitted to {sizes} sizes; {advised} are advised");
        (Weight::Doubt, message)
    };
    let check = "measure more sizes, or choose a model with fewer parameters.";
    Some(Rule::TooFewSizes.warning(weight, points, message, check))
}

/// Maximum ratio of the greatest to the least of equal points.
pub const AGREE: f64 = 1.2;

/// Points with equal settings whose throughputs disagree.
///
/// Within a series all such points are repeats. Between series of one source they are repeats if the series vary
/// different settings and meet in a point; two series that vary the same settings are compared on purpose, and differ
/// in something without a column.
pub(super) fn disagree(set: &SeriesSet) -> Vec<PlausibilityWarning> {
    let varied: BTreeMap<&str, Vec<&str>> =
        set.series().into_iter().map(|series| (series, varied(set, series))).collect();
    let mut warnings = Vec::new();
    let mut seen = vec![false; set.points.len()];
    for (at, point) in set.points.iter().enumerate() {
        if seen[at] || point.settings.is_empty() {
            continue;
        }
        let mut equal = vec![point];
        for (other_at, other) in set.points.iter().enumerate().skip(at + 1) {
            if !seen[other_at] && meet(point, other, &varied) && same(point, other) {
                seen[other_at] = true;
                equal.push(other);
            }
        }
        warnings.extend(disagreement(&equal));
    }
    warnings
}

fn disagreement(equal: &[&Point]) -> Option<PlausibilityWarning> {
    let by_throughput = |a: &&&Point, b: &&&Point| a.throughput.total_cmp(&b.throughput);
    let least = equal.iter().min_by(by_throughput)?;
    let most = equal.iter().max_by(by_throughput)?;
    if most.throughput <= least.throughput * AGREE {
        return None;
    }
    let [high, low] = [most, least].map(|point| number_text(point.throughput));
    let apart = (most.throughput / least.throughput - 1.0) * 100.0;
    let (unit, equal) = (&most.unit, settings(most));
    let message =
        format!("{high} and {low} {unit} for equal settings ({equal}): {apart:.0}% apart");
    let check = "what was not written down changed between them: other data, a cache, burst \
                 credits, another day? A difference between settings that is smaller than this one \
                 means nothing.";
    Some(Rule::DuplicatesDisagree.warning(Weight::Contradiction, &[most, least], message, check))
}

/// Whether two points may be repeats.
fn meet(a: &Point, b: &Point, varied: &BTreeMap<&str, Vec<&str>>) -> bool {
    if a.series == b.series {
        return true;
    }
    let from_file = |point: &Point| matches!(point.origin, Origin::Line(_));
    let one_source = !a.source.is_empty() && a.source == b.source;
    one_source
        && from_file(a)
        && from_file(b)
        && varied.get(a.series.as_str()) != varied.get(b.series.as_str())
}

fn same(a: &Point, b: &Point) -> bool {
    // Another offered rate is another load.
    (&a.unit, &a.settings, a.offered_per_s) == (&b.unit, &b.settings, b.offered_per_s)
}

/// Settings with several values in a series.
fn varied<'a>(set: &'a SeriesSet, series: &'a str) -> Vec<&'a str> {
    let points: Vec<&Point> = set.points_of(series).collect();
    let names: BTreeSet<&str> =
        points.iter().flat_map(|point| point.settings.keys()).map(String::as_str).collect();
    let is_varied = |name: &&str| {
        let mut values = points.iter().map(|point| point.settings.get(*name));
        let one = values.next().flatten();
        values.any(|value| value != one)
    };
    names.into_iter().filter(is_varied).collect()
}

/// The numeric settings, worded for readers.
fn settings(point: &Point) -> String {
    point
        .settings
        .iter()
        .filter_map(|(name, setting)| match setting {
            Setting::Number(_) => Some(format!("{name} {setting}")),
            Setting::Word(_) => None,
        })
        .collect::<Vec<_>>()
        .join(", ")
}
