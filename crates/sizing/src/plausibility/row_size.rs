//! Bytes per row: as stated by the source, or as written by a built-in workload.
//!
//! Measures the rows of the catalog's own generator. Must not hold a figure.

use std::collections::BTreeMap;

use crate::series::{Point, names};
use highwater_model::numbers::len_to_f64;
use highwater_model::op::{ColumnData, Dictionary};
use highwater_model::units::Seed;
use highwater_workload::{WorkloadSpec, builtin};

/// Number of rows sampled.
const SAMPLE: usize = 256;

/// A row's size and its origin.
pub(super) struct RowSize {
    pub(super) bytes: f64,
    /// Stated by the source; otherwise from a built-in workload.
    pub(super) is_stated: bool,
    /// The origin, as the end of a sentence.
    pub(super) origin: String,
}

/// Absent if the source states none and the workload is not built in.
pub(super) fn of(point: &Point) -> Option<RowSize> {
    if let Some(bytes) = point.number(names::BYTES_PER_ROW) {
        return (bytes > 0.0).then(|| RowSize {
            bytes,
            is_stated: true,
            origin: "stated".to_owned(),
        });
    }
    let name = point.word(names::WORKLOAD)?;
    Some(RowSize {
        bytes: of_workload(name)?,
        is_stated: false,
        origin: format!("what a row of the workload `{name}` has as JSON"),
    })
}

/// Mean length of the rows of a workload's first insert, as JSON without column names.
fn of_workload(name: &str) -> Option<f64> {
    let spec = WorkloadSpec::parse(builtin(name)?.text).ok()?;
    let workload = spec.instantiate(&BTreeMap::new(), Seed(1)).ok()?;
    let batch = workload.row_batch(0, 0, SAMPLE);
    let bytes: usize = batch.columns.iter().map(column_bytes).sum();
    (batch.rows > 0).then(|| len_to_f64(bytes) / len_to_f64(batch.rows))
}

/// Characters of a column's values in a JSON array, each followed by a comma.
fn column_bytes(column: &ColumnData) -> usize {
    let texts = |lengths: &mut dyn Iterator<Item = usize>| lengths.map(|length| length + 1).sum();
    let dictionary = |dictionary: &Dictionary, quotes: usize| {
        let lengths = dictionary.codes.iter().map(|code| {
            let value = usize::try_from(*code).ok().and_then(|at| dictionary.values.get(at));
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
