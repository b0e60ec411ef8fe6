//! Which rows are tried: the last one that a run may reach, and those with the extremes of each column.
//! Must not send one.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use highwater_model::numbers::truncate_to_i64;
use highwater_model::op::{ColumnData, RowBatch, Value};
use highwater_model::plan::{Pace, Plan, Unit};

use highwater_workload::Workload;

use super::tried::TriedTable;

/// Rows in whose columns extremes are looked for: that many at the begin, and as many in all of the run.
const LOOKED_AT: u64 = 256;
/// Rows at the begin besides, as long as all values together have no more bytes: entities come in turn.
const MORE_LOOKED_AT: u64 = 8_192;
const BYTES_MAX: usize = 8 << 20;
/// Rows per second that closed load may reach: a row beyond is hardly sent.
const CLOSED_ROWS_PER_S: f64 = 50_000.0;

/// The last row that a run may send.
pub(crate) fn last_row(plan: &Plan, first_row: u64) -> u64 {
    let begin = first_row.max(plan.workload.rows_to_load);
    let seconds: f64 = plan.phases.iter().map(|phase| phase.duration.as_secs_f64()).sum();
    let per_s = plan.streams.iter().filter(|stream| stream.unit == Unit::Rows).map(|stream| {
        stream
            .paces
            .iter()
            .map(|pace| match pace {
                Pace::Open { rate } => rate.as_f64(),
                Pace::Closed { .. } => CLOSED_ROWS_PER_S,
            })
            .fold(0.0, f64::max)
    });
    let sent = truncate_to_i64(per_s.sum::<f64>() * seconds);
    let sent = sent.max(0).unsigned_abs();
    let sent = plan.stop.rows.map_or(sent, |rows| {
        if plan.stop.fills { rows.saturating_sub(begin) } else { rows.min(sent) }
    });
    begin.saturating_add(sent).saturating_sub(1)
}

/// The last row first, then those of the rows that are looked at that have the least or the greatest
/// value of a column, its shortest or its longest text, or no value.
pub(super) fn extremes(table: &TriedTable<'_>, first: u64, last: u64) -> Vec<u64> {
    let step = ((last - first) / LOOKED_AT).max(1);
    let near = first..first.saturating_add(LOOKED_AT).min(last);
    let far = (first..last).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    let looked_at: BTreeSet<u64> = near.chain(far).chain([last]).collect();
    let more = (first..last).take(usize::try_from(MORE_LOOKED_AT).unwrap_or(0));
    let more = more.filter(|row| !looked_at.contains(row)).map(|row| (row, true));
    let mut extremes: Vec<Extremes> = Vec::new();
    let mut bytes = 0_usize;
    for (row, is_more) in looked_at.iter().map(|row| (*row, false)).chain(more) {
        if is_more && bytes > BYTES_MAX {
            break;
        }
        let batch = table.rows(row, 1);
        extremes.resize_with(batch.columns.len(), Default::default);
        for (column, kept) in extremes.iter_mut().enumerate() {
            let value = value(&batch, column);
            bytes += match &value {
                Value::Text(text) => text.len(),
                _ => size_of::<Value>(),
            };
            kept.keep(row, value);
        }
    }
    let mut rows = vec![last];
    for row in extremes.iter().flat_map(Extremes::rows) {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    rows
}

/// Of each column the least and the greatest value that its generator may make, or its shortest and its
/// longest text; none of a column whose values follow from the row's index.
pub(super) fn extreme_values(workload: &Workload, table: usize) -> Vec<Vec<Value>> {
    let ends = workload.extremes(table).into_iter().map(|values| {
        let mut kept = Extremes::default();
        for (number, value) in (0..).zip(values) {
            kept.keep(number, value);
        }
        let both = kept.least.into_iter().chain(kept.greatest);
        both.map(|(_, value)| value).collect()
    });
    ends.collect()
}

/// Gives one row of a column another value of its type.
pub(super) fn set(data: &mut ColumnData, value: &Value) {
    match (data, value) {
        (ColumnData::Integer(all), Value::Integer(value))
        | (ColumnData::TimestampMs(all), Value::TimestampMs(value)) => *all = vec![*value],
        (ColumnData::Float(all), Value::Float(value)) => *all = vec![*value],
        (ColumnData::Boolean(all), Value::Boolean(value)) => *all = vec![*value],
        (data @ (ColumnData::Text(_) | ColumnData::TextDictionary(_)), Value::Text(text)) => {
            *data = ColumnData::Text(vec![(**text).into()]);
        }
        _ => {}
    }
}

fn value(batch: &RowBatch, column: usize) -> Value {
    let data = batch.columns.get(column);
    data.map_or(Value::Null, |data| data.value(0))
}

/// A value, and the row that has it.
type Found = Option<(u64, Value)>;

/// The extremes of a column so far.
#[derive(Default)]
struct Extremes {
    least: Found,
    greatest: Found,
    /// A row without a value.
    null: Option<u64>,
}

impl Extremes {
    fn keep(&mut self, row: u64, value: Value) {
        if value == Value::Null {
            self.null.get_or_insert(row);
            return;
        }
        let is = |kept: &Found, order| {
            let kept = kept.as_ref();
            kept.is_none_or(|(_, kept)| compared(&value, kept) == order)
        };
        if is(&self.greatest, Ordering::Greater) {
            self.greatest = Some((row, value.clone()));
        }
        if is(&self.least, Ordering::Less) {
            self.least = Some((row, value));
        }
    }

    fn rows(&self) -> impl Iterator<Item = u64> {
        let of_values = self.least.iter().chain(&self.greatest);
        of_values.map(|(row, _)| *row).chain(self.null)
    }
}

/// Texts by their length: a type may have room for short ones only.
fn compared(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Integer(one), Value::Integer(other))
        | (Value::TimestampMs(one), Value::TimestampMs(other)) => one.cmp(other),
        (Value::Float(one), Value::Float(other)) => one.total_cmp(other),
        (Value::Text(one), Value::Text(other)) => one.len().cmp(&other.len()),
        _ => Ordering::Equal,
    }
}
