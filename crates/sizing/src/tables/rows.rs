//! The rows of a table: throughputs, and their ratios.
//!
//! Points with the same value are repeats in one row, which shows their arithmetic mean.

use std::collections::BTreeMap;

use highwater_model::numbers::len_to_f64;
use schemars::JsonSchema;
use serde::Serialize;

use super::amount::amount_s;
use super::axis::Axis;
use crate::by_op::{OpRate, by_op};
use crate::series::{Point, Setting, names};
use highwater_analysis::growth::SizedRate;

/// One value of the axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The value; absent where it is a word.
    pub number: Option<f64>,
    /// The value as text.
    pub value: String,
    /// Mean throughput of the repeats, in the table's unit.
    pub throughput: f64,
    /// How often it was measured.
    pub repeats: usize,
    /// Where it stands in the file, or which runs.
    pub places: Vec<String>,
    /// Throughput over that of the row before, minus one.
    pub change: Option<f64>,
    /// Throughput more than in the row before; over nodes.
    pub gain: Option<f64>,
    /// What the row before gives by the rules of thumb of a growth; over nodes.
    pub rule_of_thumb: Option<f64>,
    /// Throughput per piece over that of the first row; for axes of pieces.
    pub efficiency: Option<f64>,
    /// Throughput per piece; for axes of pieces.
    pub per_piece: Option<f64>,
    /// Throughput per node; where nodes are stated and not the axis.
    pub per_node: Option<f64>,
    /// Seconds of one amount (a batch, all rows); for axes that are amounts.
    pub amount_s: Option<f64>,
    /// Parts of the throughput by name, each the mean of the repeats that have it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, OpRate>,
}

pub(super) fn rows(points: &[&Point], axis: &Axis) -> Vec<Row> {
    let groups = by_value(points, axis);
    let mut rows: Vec<Row> = Vec::with_capacity(groups.len());
    let mut first_per_piece = None;
    let mut size_before = None;
    let mut parts = Vec::with_capacity(groups.len());
    for (setting, points) in groups {
        let number = match &setting {
            Setting::Number(number) => Some(*number),
            Setting::Word(_) => None,
        };
        let throughput = mean(points.iter().map(|point| point.throughput));
        let per = |pieces: f64| (pieces > 0.0).then(|| throughput / pieces);
        let per_piece = number.filter(|_| axis.pieces).and_then(per);
        let base = *first_per_piece.get_or_insert(per_piece);
        let first = points.first();
        let nodes = first.and_then(|point| point.nodes());
        let is_over_nodes = axis.name == names::NODES;
        let size = number.filter(|nodes| is_over_nodes && *nodes > 0.0);
        let replicas = first.and_then(|point| point.number(names::REPLICAS));
        let size = size.map(|nodes| SizedRate {
            nodes,
            replicas: replicas.unwrap_or(0.0),
            per_s: throughput,
        });
        let before = size_before.replace(size).flatten();
        let compared = size.zip(before).map(|(size, before)| size.beside(Some(before), before));
        rows.push(Row {
            number,
            value: setting.to_string(),
            throughput,
            repeats: points.len(),
            places: points.iter().map(|p| p.origin.to_string()).collect(),
            change: rows.last().map(|before| throughput / before.throughput - 1.0),
            gain: compared.and_then(|compared| compared.gain),
            rule_of_thumb: compared.and_then(|compared| compared.rule_of_thumb),
            efficiency: per_piece.zip(base).map(|(now, first)| now / first),
            per_piece,
            per_node: nodes.filter(|_| !is_over_nodes).and_then(per),
            amount_s: amount_s(axis, number, throughput, &points),
            parts: BTreeMap::new(),
        });
        parts.push(mean_parts(&points));
    }
    for (row, parts) in rows.iter_mut().zip(by_op(&parts)) {
        row.parts = parts;
    }
    rows
}

/// The mean of each part over the points that have it.
fn mean_parts(points: &[&Point]) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (name, per_s) in points.iter().flat_map(|point| &point.parts) {
        all.entry(name.clone()).or_default().push(*per_s);
    }
    let means = all.into_iter().map(|(name, values)| (name, mean(values.into_iter())));
    means.collect()
}

/// Points by the value of the axis: numbers ascending, words in the order of the file.
fn by_value<'a>(points: &[&'a Point], axis: &Axis) -> Vec<(Setting, Vec<&'a Point>)> {
    let mut groups: Vec<(Setting, Vec<&Point>)> = Vec::new();
    for point in points {
        let Some(setting) = point.settings.get(&axis.name) else {
            continue;
        };
        match groups.iter_mut().find(|(known, _)| known == setting) {
            Some((_, group)) => group.push(point),
            None => groups.push((setting.clone(), vec![point])),
        }
    }
    groups.sort_by(|(a, _), (b, _)| match (a, b) {
        (Setting::Number(a), Setting::Number(b)) => a.total_cmp(b),
        // A stable sort keeps the order of words.
        _ => std::cmp::Ordering::Equal,
    });
    groups
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = len_to_f64(values.len());
    values.sum::<f64>() / count
}
