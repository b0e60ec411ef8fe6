//! Refills columns of data, reusing their memory. Must not determine the values.

use std::sync::Arc;

use super::layout::Segments;
use super::segment::Segment;
use highwater_model::op::{ColumnData, Dictionary};

/// Fills integers.
pub(crate) fn integers(
    data: &mut ColumnData,
    all: Segments,
    fill: impl Fn(Segment, &mut Vec<i64>),
) {
    let old = match taken(data) {
        ColumnData::Integer(old) => old,
        _ => Vec::new(),
    };
    *data = ColumnData::Integer(filled(old, all, fill));
}

/// Fills timestamps.
pub(crate) fn timestamps(
    data: &mut ColumnData,
    all: Segments,
    fill: impl Fn(Segment, &mut Vec<i64>),
) {
    let old = match taken(data) {
        ColumnData::TimestampMs(old) => old,
        _ => Vec::new(),
    };
    *data = ColumnData::TimestampMs(filled(old, all, fill));
}

/// Fills doubles.
pub(crate) fn floats(data: &mut ColumnData, all: Segments, fill: impl Fn(Segment, &mut Vec<f64>)) {
    let old = match taken(data) {
        ColumnData::Float(old) => old,
        _ => Vec::new(),
    };
    *data = ColumnData::Float(filled(old, all, fill));
}

/// Fills codes for a dictionary of `values`.
pub(crate) fn codes(
    data: &mut ColumnData,
    values: &Arc<[Box<str>]>,
    all: Segments,
    wrap: impl Fn(Dictionary) -> ColumnData,
    fill: impl Fn(Segment, &mut Vec<u32>),
) {
    let old = match taken(data) {
        ColumnData::TextDictionary(old) | ColumnData::ObjectDictionary(old) => old.codes,
        _ => Vec::new(),
    };
    *data = wrap(Dictionary { values: Arc::clone(values), codes: filled(old, all, fill) });
}

fn taken(data: &mut ColumnData) -> ColumnData {
    std::mem::replace(data, ColumnData::Integer(Vec::new()))
}

fn filled<T>(mut old: Vec<T>, all: Segments, fill: impl Fn(Segment, &mut Vec<T>)) -> Vec<T> {
    old.clear();
    old.reserve(all.left);
    all.for_each(|segment| fill(segment, &mut old));
    old
}
