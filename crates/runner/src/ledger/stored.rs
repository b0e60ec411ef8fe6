//! Converts a ledger to the lines of its file, and back. Must not handle files or queries.
//!
//! The file names rows, not checksums: these are summed again from regenerated rows.

use std::ops::Range;

use highwater_model::op::RowBatch;

use super::Ledger;
use super::exceptions::RowOutcome;
use super::spans::{Span, SpanOutcome, Spans};
use crate::store::LedgerLine;

/// Rows generated at once.
const ROWS_AT_ONCE: u64 = 16_384;

/// Regenerates rows from the first index and their number.
type MakeRows<'a> = &'a dyn Fn(u64, usize) -> RowBatch;

/// The line for some spans of a table.
pub(crate) fn line_of<'s>(table: usize, spans: impl Iterator<Item = &'s Span>) -> LedgerLine {
    let mut line = LedgerLine { table, ..LedgerLine::default() };
    for span in spans {
        let rows = [span.first, span.rows];
        match span.outcome {
            SpanOutcome::Acknowledged => line.acknowledged.push(rows),
            SpanOutcome::Excepted(RowOutcome::Refused) => line.refused.push(rows),
            SpanOutcome::Excepted(RowOutcome::Unknown) => line.unknown.push(rows),
            SpanOutcome::Excepted(RowOutcome::NotSent | RowOutcome::Absent) => {
                line.not_sent.push(rows);
            }
            SpanOutcome::Excepted(RowOutcome::Partly { least, most }) => {
                let counts = [least.into(), most.into()];
                line.partly.push([span.first, span.rows, counts[0], counts[1]]);
            }
        }
    }
    line
}

fn spans_of(line: &LedgerLine) -> impl Iterator<Item = Span> {
    let whole = [
        (&line.acknowledged, SpanOutcome::Acknowledged),
        (&line.refused, SpanOutcome::Excepted(RowOutcome::Refused)),
        (&line.unknown, SpanOutcome::Excepted(RowOutcome::Unknown)),
        (&line.not_sent, SpanOutcome::Excepted(RowOutcome::NotSent)),
    ];
    let whole = whole.into_iter().flat_map(|(spans, outcome)| {
        spans.iter().copied().map(move |[first, rows]| Span { first, rows, outcome })
    });
    let count = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let partly = line.partly.iter().copied();
    whole.chain(partly.map(move |[first, rows, least, most]| Span {
        first,
        rows,
        outcome: SpanOutcome::Excepted(RowOutcome::Partly {
            least: count(least),
            most: count(most),
        }),
    }))
}

/// The content of a run's ledger file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct StoredLedger {
    /// By table.
    pub(crate) tables: Vec<Spans>,
    /// The load ended before the process did.
    pub(crate) ended: bool,
    /// Where the next run begins, if the load ended.
    pub(crate) next_row: Option<u64>,
    /// The file could not keep all outcomes.
    pub(crate) overflowed: bool,
}

impl StoredLedger {
    /// The ledger in these lines, for this many tables.
    pub(crate) fn of(lines: &[LedgerLine], tables: usize) -> Self {
        let mut stored = Self { tables: vec![Spans::default(); tables], ..Self::default() };
        for line in lines {
            stored.ended |= line.ended;
            stored.next_row = stored.next_row.or(line.next_row);
            stored.overflowed |= line.overflowed;
            if let Some(table) = stored.tables.get_mut(line.table) {
                spans_of(line).for_each(|span| table.add(span));
            }
        }
        stored
    }
}

/// Fills an empty ledger with the spans of a table, and with rows of unknown outcome for the parts of `rows` that they
/// do not cover.
pub(crate) fn restore(ledger: &mut Ledger, spans: &Spans, rows: Range<u64>, make: MakeRows<'_>) {
    for span in spans.all() {
        match span.outcome {
            SpanOutcome::Acknowledged => {
                for (first, count) in parts(span.first..span.end()) {
                    let count = usize::try_from(count).unwrap_or(0);
                    ledger.acknowledge(&rows_of(ledger, make, first, count), 0..count);
                }
                ledger.plan_rows(span.first, span.rows);
            }
            SpanOutcome::Excepted(outcome) => ledger.except(span.first, span.rows, outcome),
        }
    }
    for gap in spans.gaps(rows) {
        for (first, count) in parts(gap) {
            ledger.except(first, count, RowOutcome::Unknown);
        }
    }
}

/// The rows as sent; without values if the ledger only counts.
fn rows_of(ledger: &Ledger, make: MakeRows<'_>, first: u64, count: usize) -> RowBatch {
    if ledger.adds_up() {
        return make(first, count);
    }
    RowBatch { first_row: first, rows: count, columns: Vec::new() }
}

/// Splits rows into parts that are generated or searched for at once.
fn parts(rows: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
    let mut at = rows.start;
    std::iter::from_fn(move || {
        let first = at;
        let count = ROWS_AT_ONCE.min(rows.end.saturating_sub(first));
        at += count;
        (count > 0).then_some((first, count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ACKNOWLEDGED: SpanOutcome = SpanOutcome::Acknowledged;

    fn span(first: u64, rows: u64, outcome: SpanOutcome) -> Span {
        Span { first, rows, outcome }
    }

    #[test]
    fn a_ledger_comes_back_from_its_lines() {
        let partly = RowOutcome::Partly { least: 2, most: 4 };
        let mut spans = Spans::default();
        for (first, outcome) in [
            (0, ACKNOWLEDGED),
            (10, SpanOutcome::Excepted(RowOutcome::Refused)),
            (20, SpanOutcome::Excepted(RowOutcome::Unknown)),
            (30, SpanOutcome::Excepted(partly)),
            (40, SpanOutcome::Excepted(RowOutcome::NotSent)),
        ] {
            spans.add(span(first, 10, outcome));
        }
        let end = LedgerLine { ended: true, ..LedgerLine::default() };
        let lines = [line_of(1, spans.all()), end];
        let stored = StoredLedger::of(&lines, 2);
        assert_eq!(stored.tables, [Spans::default(), spans]);
        assert!(stored.ended && !stored.overflowed);
    }

    #[test]
    fn what_no_span_names_is_of_unknown_outcome() {
        let mut spans = Spans::default();
        spans.add(span(10, 30, ACKNOWLEDGED));
        spans.add(span(50, 5, SpanOutcome::Excepted(RowOutcome::Refused)));
        let root = tempfile::tempdir().unwrap();
        let mut ledger = Ledger::new(&[], crate::store::Spill::at(root.path().join("a")));
        let make = |first_row, rows| RowBatch { first_row, rows, columns: Vec::new() };
        restore(&mut ledger, &spans, 10..40_000, &make);
        let totals = ledger.totals();
        assert_eq!((totals.acknowledged, totals.refused), (30, 5));
        assert_eq!(totals.unknown, 40_000 - 10 - 35);
        assert_eq!(ledger.rows(), 10..40_000);
    }
}
