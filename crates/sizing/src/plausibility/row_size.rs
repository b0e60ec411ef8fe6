//! How many bytes a row has: as the source states, or as a workload of ours writes it.
//!
//! It measures the rows that the catalog's own generator makes; it holds no figure itself.

use std::collections::BTreeMap;
use std::fmt;

use crate::series::{Point, names};
use highwater_model::numbers::len_to_f64;
use highwater_model::op::{ColumnData, Dictionary};
use highwater_model::units::Seed;
use highwater_workload::{WorkloadSpec, builtin};

/// Rows that are looked at.
const SAMPLE: usize = 256;

/// A row's size and how it is known.
pub(super) struct RowSize {
    pub(super) bytes: f64,
    pub(super) origin: Origin,
}

/// How the size of a row is known; displayed as the end of a sentence.
#[derive(PartialEq, Eq)]
pub(super) enum Origin {
    /// The source says it.
    Stated,
    /// The catalog's workload of this name writes such rows.
    Workload(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stated => f.write_str("stated"),
            Self::Workload(name) => {
                write!(f, "what a row of the workload `{name}` has as JSON")
            }
        }
    }
}

/// Absent where the source states none and the workload is not of the catalog.
pub(super) fn of(point: &Point) -> Option<RowSize> {
    if let Some(bytes) = point.number(names::BYTES_PER_ROW) {
        return (bytes > 0.0).then_some(RowSize {
            bytes,
            origin: Origin::Stated,
        });
    }
    let name = point.word(names::WORKLOAD)?;
    Some(RowSize {
        bytes: of_workload(name)?,
        origin: Origin::Workload(name.to_owned()),
    })
}

/// Mean length of the rows of a workload's first insert, as JSON with the names of its columns
/// left out.
fn of_workload(name: &str) -> Option<f64> {
    let spec = WorkloadSpec::parse(builtin(name)?.text).ok()?;
    let workload = spec.instantiate(&BTreeMap::new(), Seed(1)).ok()?;
    let batch = workload.row_batch(0, 0, SAMPLE);
    let bytes: usize = batch.columns.iter().map(column_bytes).sum();
    (batch.rows > 0).then(|| len_to_f64(bytes) / len_to_f64(batch.rows))
}

/// Characters of a column's values in a JSON array, with a comma behind each.
fn column_bytes(column: &ColumnData) -> usize {
    let texts = |lengths: &mut dyn Iterator<Item = usize>| lengths.map(|length| length + 1).sum();
    let dictionary = |dictionary: &Dictionary, quotes: usize| {
        let lengths = dictionary.codes.iter().map(|code| {
            let value = usize::try_from(*code)
                .ok()
                .and_then(|at| dictionary.values.get(at));
            value.map_or(0, |value| value.len() + quotes)
        });
        texts(&mut { lengths })
    };
    match column {
        ColumnData::Integer(values) | ColumnData::TimestampMs(values) => {
            texts(&mut values.iter().map(|value| value.to_string().len()))
        }
        ColumnData::Float(values) => texts(&mut values.iter().map(|v| v.to_string().len())),
        ColumnData::Boolean(values) => texts(&mut values.iter().map(|v| v.to_string().len())),
        ColumnData::Text(values) => texts(&mut values.iter().map(|value| value.len() + 2)),
        ColumnData::TextDictionary(values) => dictionary(values, 2),
        ColumnData::ObjectDictionary(values) => dictionary(values, 0),
    }
}
