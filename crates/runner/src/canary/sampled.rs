//! The rows that the canary writes: the last one that a run may reach, and those with the extremes of each column.
//! They are sent in the same way as by the load: with the same session, encoder, and op. Must not read any back.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::rc::Rc;

use highwater_driver::{Encoder, Request, Session, Timeline};
use highwater_model::display::count;
use highwater_model::numbers::truncate_to_i64;
use highwater_model::op::{BoundColumn, BoundTable, ColumnData, Op, OpBody, OpId, RowBatch, Value};
use highwater_model::outcome::{Certainty, ErrorClass, OpError, Outcome};
use highwater_model::plan::{Pace, Plan, Unit};
use highwater_model::units::Nanos;
use highwater_workload::Workload;

/// Number of rows searched for extreme values: this many at the start, and this many over the whole run.
const LOOKED_AT: u64 = 256;
/// Additional rows at the start, as long as all values together stay within this number of bytes:
/// entities take turns.
const MORE_LOOKED_AT: u64 = 8_192;
const BYTES_MAX: usize = 8 << 20;
/// Assumed maximum rows per second of closed load: later rows are hardly ever sent.
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

/// The last row first, then the examined rows with the least or greatest value of a column, with its
/// shortest or longest text, or without a value.
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

/// For each column the least and greatest value of its generator, or its shortest and longest text;
/// none for a column whose values follow from the row's index.
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

/// Replaces the value of one row in a column by another value of its type.
pub(super) fn set(data: &mut ColumnData, value: &Value) {
    match (data, value) {
        (ColumnData::Nullable(values, nulls), value) => {
            *nulls = vec![*value == Value::Null];
            set(values, value);
        }
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

/// Texts are ordered by length: a type may hold only short ones.
fn compared(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Integer(one), Value::Integer(other))
        | (Value::TimestampMs(one), Value::TimestampMs(other)) => one.cmp(other),
        (Value::Float(one), Value::Float(other)) => one.total_cmp(other),
        (Value::Text(one), Value::Text(other)) => one.len().cmp(&other.len()),
        _ => Ordering::Equal,
    }
}

/// One table, and the op that fills it.
pub(super) struct TriedTable<'a> {
    pub(super) position: usize,
    /// The table as read by a full scan.
    pub(super) table: BoundTable,
    pub(super) op: OpId,
    pub(super) batch: u64,
    pub(super) workload: &'a Workload,
    pub(super) first_row: u64,
    /// Whether a load follows, whose audit names rejected expressions.
    pub(super) before_load: bool,
    /// Rows that were sent with the extreme values of generators instead of their own.
    pub(super) made: Vec<RowBatch>,
}

impl TriedTable<'_> {
    /// Rows as they are sent.
    pub(super) fn rows(&self, first: u64, rows: u64) -> RowBatch {
        let rows = usize::try_from(rows).unwrap_or(1);
        self.workload.row_batch(self.position, first, rows)
    }

    /// One row as it was sent.
    pub(super) fn sent(&self, row: u64) -> RowBatch {
        self.made_row(row).cloned().unwrap_or_else(|| self.rows(row, 1))
    }

    fn made_row(&self, row: u64) -> Option<&RowBatch> {
        self.made.iter().find(|made| made.first_row == row)
    }

    /// The origin of a row's value, for display.
    pub(super) fn origin(&self, row: u64) -> String {
        match self.made_row(row) {
            Some(_) => "which its generator may make".to_owned(),
            None => format!("its value in row {}", count(row)),
        }
    }
}

/// The column's type as the target declares it, or else the workload.
pub(super) fn kind_of(column: &BoundColumn) -> &str {
    match column.declared.name.as_str() {
        "" => column.kind.name(),
        declared => declared,
    }
}

/// The outcome of a batch.
pub(super) enum Sent {
    /// All of its rows were stored.
    Stored,
    /// A value does not fit its column, with the target's message; none of its rows was stored.
    Refused(String),
    /// Anything else, and the reason; the load may show more.
    Unclear(Option<OpError>),
}

/// A session that sends a bounded number of rows.
pub(super) struct Writer {
    session: Box<dyn Session>,
    encoder: Box<dyn Encoder>,
    request: Request,
    /// Number of rows that may still be sent; 0 for a session that has ended.
    left: usize,
    /// The rows of the table sent so far.
    sent: BTreeSet<u64>,
    timeline: Rc<dyn Timeline>,
    /// Nothing is sent after this time.
    end: Nanos,
}

impl Writer {
    /// A writer with a limit of rows and of time.
    pub(super) fn new(
        session: Box<dyn Session>,
        rows: usize,
        timeline: &Rc<dyn Timeline>,
        time: Nanos,
    ) -> Self {
        Self {
            end: timeline.now().saturating_add(time),
            timeline: Rc::clone(timeline),
            encoder: session.encoder(),
            session,
            request: Request::empty(),
            left: rows,
            sent: BTreeSet::new(),
        }
    }

    /// Starts with another table.
    pub(super) fn begin(&mut self) {
        self.sent.clear();
    }

    /// The first row from `first` on that was not sent.
    pub(super) fn fresh(&self, first: u64) -> Option<u64> {
        (first..=u64::MAX).find(|row| !self.sent.contains(row))
    }

    /// Sends a batch.
    pub(super) async fn send(&mut self, op: OpId, batch: RowBatch) -> Sent {
        let is_late = self.timeline.now() >= self.end;
        let Some(left) = self.left.checked_sub(batch.rows).filter(|_| !is_late) else {
            return Sent::Unclear(None);
        };
        self.left = left;
        self.sent.extend((batch.first_row..).take(batch.rows));
        let rows = batch.rows as u64;
        // No op of the load has this index.
        self.request.op = Op { id: op, index: u64::MAX, body: OpBody::Insert(batch) };
        self.encoder.encode(&mut self.request);
        let outcome = self.session.execute(&mut self.request).await;
        if !outcome.session_usable {
            self.left = 0;
        }
        judged(outcome, rows)
    }
}

fn judged(outcome: Outcome, rows: u64) -> Sent {
    let is_certain = outcome.certainty != Certainty::Unknown && outcome.rows_unknown == 0;
    match outcome.error {
        None if is_certain && outcome.rows_applied == rows => Sent::Stored,
        Some(error)
            if is_certain && outcome.rows_applied == 0 && error.class == ErrorClass::Data =>
        {
            Sent::Refused(error.message)
        }
        error => Sent::Unclear(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_driver::BoxFuture;
    use highwater_driver::clock::SimulatedTimeline;

    /// Stores everything; each statement takes this long.
    struct Stores(Rc<dyn Timeline>, Nanos);

    struct NoText;

    impl Encoder for NoText {
        fn encode(&mut self, _: &mut Request) {}
    }

    impl Session for Stores {
        fn encoder(&self) -> Box<dyn Encoder> {
            Box::new(NoText)
        }

        fn execute<'a>(&'a mut self, request: &'a mut Request) -> BoxFuture<'a, Outcome> {
            Box::pin(async {
                self.0.sleep_until(self.0.now().saturating_add(self.1)).await;
                Outcome::applied(request.op.rows())
            })
        }
    }

    /// Number of batches of 30 rows sent, of a thousand rows in one second.
    fn batches(each: Nanos) -> usize {
        let simulated = SimulatedTimeline::new();
        let timeline: Rc<dyn Timeline> = Rc::new(simulated.clone());
        let sent = simulated.block_on(async move {
            let session = Box::new(Stores(Rc::clone(&timeline), each));
            let mut writer = Writer::new(session, 1_000, &timeline, Nanos::SECOND);
            for sent in 0..100 {
                let batch = RowBatch { first_row: 30 * sent as u64, rows: 30, columns: Vec::new() };
                if !matches!(writer.send(OpId(0), batch).await, Sent::Stored) {
                    return sent;
                }
            }
            100
        });
        sent.unwrap()
    }

    #[test]
    fn no_more_rows_are_sent_than_may_be_and_none_after_the_end() {
        assert_eq!(batches(Nanos::from_millis(1)), 33);
        assert_eq!(batches(Nanos::from_millis(400)), 3);
    }
}
