//! Tables over an axis: the effect of one setting on the throughput, as articles print it.
//!
//! Points in, tables out: value, throughput, change from the previous step, efficiency, per node, the best value, where
//! the curve flattens, and for amounts their cost model. Must not predict; scaling models do.

mod amount;
mod axis;
mod best;
mod cost_model;
mod regression;
mod rows;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::Serialize;

use super::series::{Point, SeriesSet};

pub use axis::{Axis, AxisError, Varied};

use axis::distinct;
pub use best::{Best, FLAT_SHARE, Flattening, TELLABLE};
pub use cost_model::{BatchCostModel, CostModel, Estimate, RegimeChange, SURPRISE};
pub use regression::MEASUREMENT_ERROR;
pub use rows::Row;

/// Maximum number of tables per set; more would be unreadable.
pub const MOST_TABLES: usize = 100;

/// One series, or one part of it with equal other settings, over one axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// Name of the series.
    pub series: String,
    /// Where its figures come from; empty when not stated.
    pub source: String,
    /// Unit of the throughput.
    pub unit: String,
    /// What changes from row to row.
    pub axis: Axis,
    /// Settings that tell this table from the others of its series: name and value.
    pub part: Vec<(String, String)>,
    /// By the value of the axis; words in the order of the file.
    pub rows: Vec<Row>,
    /// Other settings that changed along the axis: what the table shows is their effect, too.
    pub also_varied: Vec<Varied>,
    /// The greatest throughput; absent for a single row.
    pub best: Option<Best>,
    /// The time of an amount, for axes that are amounts, from three values on.
    pub cost_model: Option<CostModel>,
}

/// The tables of a set over the named axis, or over the axis of each series.
///
/// Fails if a series has no numeric setting, or lacks the named one.
pub fn tables(set: &SeriesSet, over: Option<&str>) -> Result<Vec<Table>, AxisError> {
    let mut tables = Vec::new();
    for series in set.series() {
        let points: Vec<&Point> = set.of(series).collect();
        let units: Vec<&str> = distinct(points.iter().map(|point| point.unit.as_str()));
        for unit in units {
            let points: Vec<&Point> = points.iter().copied().filter(|p| p.unit == unit).collect();
            // In a file of several series some may lack the named axis.
            let axis = match Axis::choose(set, &points, over) {
                Ok(axis) => axis,
                Err(_) if over.is_some() && set.series().len() > 1 => continue,
                Err(error) => return Err(error),
            };
            tables.extend(of_series(set, &points, &axis));
        }
    }
    if let (true, Some(name)) = (tables.is_empty(), over) {
        return Err(AxisError::nowhere(set, name));
    }
    tables.truncate(MOST_TABLES);
    Ok(tables)
}

/// One table, or one for each combination of settings with the same value of the axis.
fn of_series(set: &SeriesSet, points: &[&Point], axis: &Axis) -> Vec<Table> {
    let splitting = axis::splitting(points, axis);
    let part_of = |point: &Point| -> Vec<(String, String)> {
        splitting
            .iter()
            .map(|name| (set.header(name).to_owned(), axis::stated(point, name)))
            .collect()
    };
    distinct(points.iter().map(|point| part_of(point)))
        .into_iter()
        .map(|part| {
            let points: Vec<&Point> =
                points.iter().copied().filter(|point| part_of(point) == part).collect();
            table(set, &points, axis, part)
        })
        .collect()
}

fn table(set: &SeriesSet, points: &[&Point], axis: &Axis, part: Vec<(String, String)>) -> Table {
    let rows = rows::rows(points, axis);
    let of = |text: fn(&Point) -> &String| points.first().map(|p| text(p).clone());
    Table {
        series: of(|p| &p.series).unwrap_or_default(),
        source: of(|p| &p.source).unwrap_or_default(),
        unit: of(|p| &p.unit).unwrap_or_default(),
        axis: axis.clone(),
        part,
        also_varied: axis::also_varied(set, points, axis),
        best: Best::of(&rows),
        cost_model: CostModel::of(points, axis, &rows),
        rows,
    }
}
