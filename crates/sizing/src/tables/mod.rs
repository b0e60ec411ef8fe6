//! Tables over an axis: the effect of one setting on the throughput, as articles print it.
//!
//! Points in, tables out: value, throughput, change from the previous step, efficiency, per node, the best value, where
//! the curve flattens, and for amounts their cost model. Must not predict; scaling models do.

pub mod axis;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use axis::{distinct, no_such_setting};
use highwater_analysis::growth::SizedRate;
use highwater_model::numbers::len_to_f64;
use highwater_model::user_error::UserError;
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::series::{Point, SeriesSet, Setting, names};

pub use axis::{Axis, VariedSetting};

/// Maximum number of tables per set; more would be unreadable, and are an error.
pub const MOST_TABLES: usize = 100;

/// A series over one axis, or a part of a series in which all other settings are equal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Table {
    /// Name of the series.
    pub series: String,
    /// Source of the figures; empty if not stated.
    pub source: String,
    /// Unit of the throughput.
    pub unit: String,
    /// The setting that changes from row to row.
    pub axis: Axis,
    /// Names and values of the settings that distinguish this table from the others of its series.
    pub part: Vec<(String, String)>,
    /// Rows by value of the axis; text values in the order of the file.
    pub rows: Vec<Row>,
    /// Other settings that changed along the axis, so that the table also shows their effect.
    pub also_varied: Vec<VariedSetting>,
    /// The highest throughput; absent if there is only one row.
    pub best: Option<Best>,
    /// Cost model of an amount, for axes that are amounts with at least three values.
    pub cost_model: Option<CostModel>,
}

/// The tables of a set over the named axis, or over the axis of each series.
///
/// Fails if a series has no numeric setting, or lacks the named one.
pub fn tables(set: &SeriesSet, over: Option<&str>) -> Result<Vec<Table>, UserError> {
    let mut tables = Vec::new();
    for series in set.series() {
        let points: Vec<&Point> = set.points_of(series).collect();
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
        return Err(no_such_setting(set, name));
    }
    if tables.len() > MOST_TABLES {
        let message = format!("{} tables; at most {MOST_TABLES} are made", tables.len());
        let hint = "leave out settings that differ from row to row, or split the file";
        return Err(UserError::usage(message).with_hint(hint));
    }
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
    let rows = rows(points, axis);
    let of = |text: fn(&Point) -> &String| points.first().map(|p| text(p).clone());
    Table {
        series: of(|p| &p.series).unwrap_or_default(),
        source: of(|p| &p.source).unwrap_or_default(),
        unit: of(|p| &p.unit).unwrap_or_default(),
        axis: axis.clone(),
        part,
        also_varied: axis::also_varied(set, points, axis),
        best: Best::from_rows(&rows),
        cost_model: CostModel::from_points(points, axis, &rows),
        rows,
    }
}

/// Whether an axis is an amount of rows, and whether that amount is a batch.
fn amount(axis: &Axis) -> Option<bool> {
    match axis.name.as_str() {
        names::BATCH_ROWS => Some(true),
        names::ROWS => Some(false),
        _ => None,
    }
}

/// Sessions that send batches: as stated, or one.
fn sessions(points: &[&Point], of_batches: bool) -> (f64, bool) {
    let stated = points.first().and_then(|point| point.sessions());
    match stated {
        Some(sessions) if of_batches && sessions > 0.0 => (sessions, true),
        _ => (1.0, false),
    }
}

/// Seconds per amount; for batches by Little's law, with one batch in flight per session.
fn amount_s(axis: &Axis, number: Option<f64>, throughput: f64, points: &[&Point]) -> Option<f64> {
    let of_batches = amount(axis)?;
    let counts_rows = points.iter().all(|point| point.counts_rows());
    let rows = number.filter(|rows| counts_rows && *rows > 0.0)?;
    Some(sessions(points, of_batches).0 * rows / throughput)
}

/// The curve flattens at the first value that reaches this fraction of the best throughput.
pub const FLAT_SHARE: f64 = 0.95;
/// Throughputs within this fraction of the best cannot be distinguished from it: the assumed measurement error.
pub const TELLABLE: f64 = 1.0 - MEASUREMENT_ERROR;

/// The highest throughput of a table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Best {
    /// Value of the axis.
    pub value: String,
    /// Throughput at this value.
    pub throughput: f64,
    /// Other values whose throughput is within 3% of it.
    pub not_distinguished: Vec<String>,
    /// The value at which the curve flattens.
    pub flattens: Flattening,
}

/// The value beyond which a further increase adds little.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flattening {
    /// The first value that reaches [`FLAT_SHARE`] of the best.
    At(String),
    /// Only the last value does, so the end of the curve was not measured.
    NotReached,
}

impl Best {
    /// Absent if there is nothing to compare. The first of equals is best.
    fn from_rows(rows: &[Row]) -> Option<Self> {
        let [first, _, ..] = rows else {
            return None;
        };
        let best = rows
            .iter()
            .fold(first, |best, row| if row.throughput > best.throughput { row } else { best });
        let reaches = |row: &&Row, share: f64| row.throughput >= share * best.throughput;
        let flat = rows.iter().position(|row| reaches(&row, FLAT_SHARE))?;
        Some(Self {
            value: best.value.clone(),
            throughput: best.throughput,
            not_distinguished: rows
                .iter()
                .filter(|row| row.value != best.value && reaches(row, TELLABLE))
                .map(|row| row.value.clone())
                .collect(),
            flattens: if flat + 1 == rows.len() {
                Flattening::NotReached
            } else {
                Flattening::At(rows[flat].value.clone())
            },
        })
    }
}

/// Assumed relative standard deviation of a throughput.
pub const MEASUREMENT_ERROR: f64 = 0.03;

/// `y = intercept + slope · x`.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    intercept: f64,
    slope: f64,
    /// Variances of intercept and slope, and their covariance, for relative errors of 1.
    covariance: [f64; 3],
    /// Root mean square of the relative residuals, over the degrees of freedom.
    scatter: f64,
    /// Points minus two.
    freedom: f64,
}

impl Line {
    /// The line through points (x, y) with y above zero; absent with fewer than three distinct x.
    fn through(points: &[(f64, f64)]) -> Option<Self> {
        let mut xs: Vec<f64> = points.iter().map(|(x, _)| *x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        if xs.len() < 3 || points.iter().any(|(_, y)| *y <= 0.0) {
            return None;
        }
        let (mut s, mut sx, mut sxx, mut sy, mut sxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (x, y) in points {
            let weight = 1.0 / (y * y);
            s += weight;
            sx += weight * x;
            sxx += weight * x * x;
            sy += weight * y;
            sxy += weight * x * y;
        }
        let determinant = s * sxx - sx * sx;
        let slope = (s * sxy - sx * sy) / determinant;
        let intercept = (sy - slope * sx) / s;
        let freedom = len_to_f64(points.len() - 2);
        let squares: f64 =
            points.iter().map(|(x, y)| ((intercept + slope * x) / y - 1.0).powi(2)).sum();
        let line = Self {
            intercept,
            slope,
            covariance: [sxx / determinant, s / determinant, -sx / determinant],
            scatter: (squares / freedom).sqrt(),
            freedom,
        };
        (slope.is_finite() && intercept.is_finite()).then_some(line)
    }

    /// The value on the line.
    fn at(&self, x: f64) -> f64 {
        self.intercept + self.slope * x
    }

    /// Half widths of the 95% confidence intervals of intercept and slope (Student's t).
    fn half_widths(&self) -> Option<[f64; 2]> {
        let t = StudentsT::new(0.0, 1.0, self.freedom).ok()?;
        let quantile = t.inverse_cdf(0.975);
        let [intercept, slope, _] = self.covariance;
        Some([intercept, slope].map(|variance| quantile * self.scatter * variance.sqrt()))
    }

    /// Standard deviation of a new measurement at x around the line; at least the assumed measurement error.
    fn deviation_at(&self, x: f64) -> f64 {
        let error = self.scatter.max(MEASUREMENT_ERROR);
        let [intercept, slope, both] = self.covariance;
        let of_line = intercept + 2.0 * x * both + x * x * slope;
        error * (self.at(x).powi(2) + of_line.max(0.0)).sqrt()
    }
}

/// One value of the axis.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Value of the axis; absent if it is text.
    pub number: Option<f64>,
    /// Value of the axis as text.
    pub value: String,
    /// Mean throughput of the repeats, in the table's unit.
    pub throughput: f64,
    /// Number of measurements.
    pub repeats: usize,
    /// The lowest and the highest throughput of the repeats; absent for a single measurement.
    pub repeats_between: Option<[f64; 2]>,
    /// Lines of the file, or the runs.
    pub places: Vec<String>,
    /// Change of throughput from the previous row, as a fraction.
    pub change: Option<f64>,
    /// Increase of throughput over the previous row; for axes of nodes.
    pub gain: Option<f64>,
    /// Throughput that the rules of thumb of a growth predict from the previous row; for axes of nodes.
    pub rule_of_thumb: Option<f64>,
    /// Throughput per unit, divided by that of the first row; for axes that count units.
    pub efficiency: Option<f64>,
    /// Throughput per unit; for axes that count units.
    pub per_piece: Option<f64>,
    /// Throughput per node; if nodes are stated and are not the axis.
    pub per_node: Option<f64>,
    /// Duration of one amount (a batch, or all rows) in seconds; for axes that are amounts.
    pub amount_s: Option<f64>,
    /// Parts of the throughput by name, each the mean of the repeats that state it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parts: BTreeMap<String, OpRate>,
}

fn rows(points: &[&Point], axis: &Axis) -> Vec<Row> {
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
            repeats_between: between(&points),
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

fn between(points: &[&Point]) -> Option<[f64; 2]> {
    let all = || points.iter().map(|point| point.throughput);
    Some([all().reduce(f64::min)?, all().reduce(f64::max)?]).filter(|_| points.len() > 1)
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

/// A point is a surprise if it is this many standard deviations off the preceding model: at random, one in two thousand
/// is.
pub const SURPRISE: f64 = 3.5;
/// Minimum number of points before a change of regime can be detected.
const LEAST_BEFORE: usize = 3;

/// A figure with its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Estimate {
    /// The figure.
    pub value: f64,
    /// Lower bound.
    pub low: f64,
    /// Upper bound.
    pub high: f64,
}

/// The cost model of an amount: fixed plus per row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CostModel {
    /// Whether the amount is a batch; otherwise a whole load.
    pub of_batches: bool,
    /// Number of values that it was fitted to: those before the first change of regime.
    pub fitted: usize,
    /// The fitted model; absent below three values.
    pub line: Option<BatchCostModel>,
    /// Values at which a new regime starts.
    pub changes: Vec<RegimeChange>,
}

/// Linear cost model of a batch: t = a + b·rows.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct BatchCostModel {
    /// a: fixed cost in seconds.
    pub fixed_s: Estimate,
    /// b: cost per row in seconds.
    pub per_row_s: Estimate,
    /// Number of concurrent sessions.
    pub sessions: f64,
    /// Whether the number of sessions was stated. If not, one is assumed.
    pub sessions_stated: bool,
    /// sessions / b: asymptotic throughput in rows per second; absent unless b is above zero.
    pub asymptote: Option<f64>,
    /// a / b: number of rows at which half of the asymptotic throughput is reached; absent unless a and b are above
    /// zero.
    pub half_size: Option<f64>,
    /// Maximum relative difference between the model and a value.
    pub worst: f64,
}

/// A value that the model of the preceding values does not explain.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RegimeChange {
    /// Value of the axis.
    pub value: String,
    /// Throughput at this value.
    pub throughput: f64,
    /// Throughput that the model predicts for it.
    pub expected: f64,
    /// Difference in standard deviations.
    pub deviations: f64,
}

impl CostModel {
    /// Absent if the axis is not an amount, the sessions change along it, or fewer than three values were measured.
    fn from_points(points: &[&Point], axis: &Axis, rows: &[Row]) -> Option<Self> {
        let of_batches = amount(axis)?;
        let (sessions, sessions_stated) = sessions(points, of_batches);
        let same = |point: &&Point| point.sessions() == points[0].sessions();
        if of_batches && !points.iter().all(same) {
            return None;
        }
        let times: Vec<(f64, f64)> =
            rows.iter().filter_map(|row| Some((row.number?, row.amount_s?))).collect();
        if times.len() != rows.len() || times.len() < LEAST_BEFORE {
            return None;
        }
        let breaks = breaks(&times);
        let fitted = breaks.first().map_or(times.len(), |(at, _, _)| *at);
        let changes = breaks
            .into_iter()
            .map(|(at, expected_s, deviations)| RegimeChange {
                value: rows[at].value.clone(),
                throughput: rows[at].throughput,
                expected: sessions * times[at].0 / expected_s,
                deviations,
            })
            .collect();
        let line = BatchCostModel::from_times(&times[..fitted], sessions, sessions_stated);
        Some(Self { of_batches, fitted, line, changes })
    }
}

impl BatchCostModel {
    fn from_times(times: &[(f64, f64)], sessions: f64, sessions_stated: bool) -> Option<Self> {
        let line = Line::through(times)?;
        let [a, b] = line.half_widths()?;
        let around =
            |value: f64, half: f64| Estimate { value, low: value - half, high: value + half };
        let off = |(x, y): &(f64, f64)| (line.at(*x) / y - 1.0).abs();
        let has_slope = line.slope > 0.0;
        Some(Self {
            fixed_s: around(line.intercept, a),
            per_row_s: around(line.slope, b),
            sessions,
            sessions_stated,
            asymptote: has_slope.then(|| sessions / line.slope),
            half_size: (has_slope && line.intercept > 0.0).then(|| line.intercept / line.slope),
            worst: times.iter().map(off).fold(0.0, f64::max),
        })
    }
}

/// Positions at which a new regime begins, the prediction of the preceding model, and its error in standard deviations.
/// Each regime has a model fitted to its own points.
fn breaks(times: &[(f64, f64)]) -> Vec<(usize, f64, f64)> {
    let mut found = Vec::new();
    let mut begin = 0;
    for (at, (amount, seconds)) in times.iter().enumerate() {
        if at < begin + LEAST_BEFORE {
            continue;
        }
        let Some(line) = Line::through(&times[begin..at]) else {
            continue;
        };
        let expected = line.at(*amount);
        let deviations = (seconds - expected) / line.deviation_at(*amount);
        if expected > 0.0 && deviations.abs() > SURPRISE {
            found.push((at, expected, deviations));
            begin = at;
        }
    }
    found
}

/// Throughput of one op at a size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct OpRate {
    /// Per second, in the unit of all ops together.
    pub per_s: f64,
    /// Increase over the first size, as a fraction; absent at the first size, and if the op had no throughput there.
    pub gain: Option<f64>,
}

/// The rates of each op by name; sizes in the order given.
pub fn by_op<'a>(
    sizes: impl IntoIterator<Item = &'a BTreeMap<String, f64>>,
) -> Vec<BTreeMap<String, OpRate>> {
    let mut first: Option<&BTreeMap<String, f64>> = None;
    let mut rates = Vec::new();
    for size in sizes {
        let rate = |op: &String, per_s: f64| OpRate {
            per_s,
            gain: first
                .and_then(|first| first.get(op))
                .filter(|base| **base > 0.0)
                .map(|base| per_s / base - 1.0),
        };
        rates.push(size.iter().map(|(op, per_s)| (op.clone(), rate(op, *per_s))).collect());
        first = first.or(Some(size));
    }
    rates
}
