//! The best value, and the value from which on more does not help.
//!
//! Both are rules about measured values, stated where they are printed. Must not fit a curve.

use schemars::JsonSchema;
use serde::Serialize;

use super::regression::MEASUREMENT_ERROR;
use super::rows::Row;

/// The curve flattens at the first value that reaches this fraction of the best throughput.
pub const FLAT_SHARE: f64 = 0.95;
/// Throughputs within this fraction of the best cannot be distinguished from it: the assumed measurement error.
pub const TELLABLE: f64 = 1.0 - MEASUREMENT_ERROR;

/// The greatest throughput of a table.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Best {
    /// The axis' value.
    pub value: String,
    /// Its throughput.
    pub throughput: f64,
    /// Other values whose throughput is within 3% of it.
    pub not_distinguished: Vec<String>,
    /// Where the curve flattens.
    pub flattens: Flattening,
}

/// From which value on more does not help.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Flattening {
    /// The first value that reaches [`FLAT_SHARE`] of the best.
    At(String),
    /// Only the last one does: the end of the curve was not measured.
    NotReached,
}

impl Best {
    /// Absent if there is nothing to compare. The first of equals is best.
    pub(super) fn of(rows: &[Row]) -> Option<Self> {
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
