//! How many bytes a row has: as the source states, or as a workload of ours writes it.
//!
//! It measures the rows that the catalog's own generator makes; it holds no figure itself.

use std::collections::BTreeMap;

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
    /// The source says it; else a workload of the catalog writes such rows.
    pub(super) is_stated: bool,
    /// How it is known, as the end of a sentence.
    pub(super) origin: String,
}

/// Absent where the source states none and the workload is not of the catalog.
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
