//! Converts a ledger to the lines of its file, and back.
//!
//! The file names rows, not checksums: these are summed again from regenerated rows.
//!
//! Outcomes of rows are stored as spans of neighbors. In row order, nearly all of them join into one span; the rest was
//! in flight or failed. Must not handle files or queries.

use std::collections::BTreeMap;
use std::ops::Range;

use highwater_model::op::RowBatch;

use super::{Ledger, RowOutcome};
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
    pub(crate) fn from_lines<'l>(
        lines: impl IntoIterator<Item = &'l LedgerLine>,
        tables: usize,
    ) -> Self {
        let mut stored = Self { tables: vec![Spans::default(); tables], ..Self::default() };
        for line in lines {
            stored.ended |= line.ended;
            stored.next_row = stored.next_row.max(line.next_row);
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

/// The outcome of the rows of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SpanOutcome {
    /// The target reported them as stored.
    Acknowledged,
    /// Not stored, or not completely.
    Excepted(RowOutcome),
}

impl SpanOutcome {
    /// Whether neighbors with this outcome are joined. The audit reports rows of unknown outcome batch by batch.
    fn joins(self) -> bool {
        matches!(
            self,
            Self::Acknowledged | Self::Excepted(RowOutcome::Refused | RowOutcome::NotSent)
        )
    }
}

/// Consecutive rows with the same outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    /// Index of the first row.
    pub(crate) first: u64,
    /// At least 1.
    pub(crate) rows: u64,
    pub(crate) outcome: SpanOutcome,
}

impl Span {
    /// Index after the last row.
    pub(crate) fn end(&self) -> u64 {
        self.first.saturating_add(self.rows)
    }

    /// Appends the next span; false if they must stay separate.
    fn join(&mut self, next: &Self) -> bool {
        let joins =
            self.end() == next.first && self.outcome == next.outcome && self.outcome.joins();
        if joins {
            self.rows += next.rows;
        }
        joins
    }
}

/// Adds a span after the last one.
pub(super) fn push(spans: &mut Vec<Span>, span: Span) {
    if span.rows > 0 && !spans.last_mut().is_some_and(|last| last.join(&span)) {
        spans.push(span);
    }
}

/// Spans of one table in row order, without overlaps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Spans(BTreeMap<u64, Span>);

impl Spans {
    /// Adds a span for rows that have none yet.
    pub(crate) fn add(&mut self, span: Span) {
        if span.rows == 0 {
            return;
        }
        let mut span = span;
        if let Some((first, next)) = self.0.range(span.end()..).next()
            && *first == span.end()
        {
            let next = *next;
            if span.join(&next) {
                self.0.remove(&next.first);
            }
        }
        if let Some((_, before)) = self.0.range_mut(..span.first).next_back()
            && before.join(&span)
        {
            return;
        }
        self.0.insert(span.first, span);
    }

    /// Their number.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Span> {
        self.0.values()
    }

    /// Index after the last row of all spans; 0 if empty.
    pub(crate) fn end(&self) -> u64 {
        self.0.last_key_value().map_or(0, |(_, last)| last.end())
    }

    /// Rows that were acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        let all = self.all();
        all.filter(|span| span.outcome == SpanOutcome::Acknowledged).map(|span| span.rows).sum()
    }

    /// Parts of `rows` that no span covers.
    pub(crate) fn gaps(&self, rows: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = rows.start;
        for span in self.all() {
            if span.first >= rows.end {
                break;
            }
            if span.first > at {
                gaps.push(at..span.first);
            }
            at = at.max(span.end());
        }
        if at < rows.end {
            gaps.push(at..rows.end);
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
        let stored = StoredLedger::from_lines(&lines, 2);
        assert_eq!(stored.tables, [Spans::default(), spans]);
        assert!(stored.ended && !stored.overflowed);
    }

    #[test]
    fn rows_in_no_span_have_an_unknown_outcome() {
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

    const UNKNOWN: SpanOutcome = SpanOutcome::Excepted(RowOutcome::Unknown);
    const REFUSED: SpanOutcome = SpanOutcome::Excepted(RowOutcome::Refused);

    #[test]
    fn neighbors_with_one_outcome_become_one_in_any_order() {
        let mut spans = Spans::default();
        for first in [20, 0, 10, 40] {
            spans.add(span(first, 10, ACKNOWLEDGED));
        }
        spans.add(span(30, 5, REFUSED));
        let all: Vec<Span> = spans.all().copied().collect();
        let joined = [span(0, 30, ACKNOWLEDGED), span(30, 5, REFUSED), span(40, 10, ACKNOWLEDGED)];
        assert_eq!(all, joined);
        assert_eq!(spans.end(), 50);
        assert_eq!(spans.gaps(0..60), [35..40, 50..60]);
    }

    #[test]
    fn batches_of_unknown_outcome_stay_apart() {
        let mut list = Vec::new();
        push(&mut list, span(0, 10, UNKNOWN));
        push(&mut list, span(10, 10, UNKNOWN));
        push(&mut list, span(20, 10, REFUSED));
        push(&mut list, span(30, 10, REFUSED));
        push(&mut list, span(40, 0, REFUSED));
        let ends: Vec<u64> = list.iter().map(Span::end).collect();
        assert_eq!(ends, [10, 20, 40]);
        let mut spans = Spans::default();
        for span in list {
            spans.add(span);
        }
        assert_eq!(spans.len(), 3);
    }

    proptest! {
        /// Every row keeps its outcome, in whatever order batches end.
        #[test]
        fn every_row_keeps_its_outcome(
            outcomes in proptest::collection::vec(0_usize..4, 1..60),
            order in any::<u64>(),
        ) {
            const ROWS: u64 = 5;
            let kinds = [Some(ACKNOWLEDGED), Some(UNKNOWN), Some(REFUSED), None];
            let mut batches: Vec<(u64, Option<SpanOutcome>)> =
                (0..).zip(outcomes.iter().map(|kind| kinds[*kind])).collect();
            batches.sort_by_key(|(batch, _)| (batch + 1).wrapping_mul(order | 1));
            let mut spans = Spans::default();
            for (batch, outcome) in &batches {
                if let Some(outcome) = outcome {
                    spans.add(span(batch * ROWS, ROWS, *outcome));
                }
            }
            let end = outcomes.len() as u64 * ROWS;
            let gaps = spans.gaps(0..end);
            for (row, kind) in (0..end).map(|row| (row, outcomes[usize::try_from(row / ROWS).unwrap()])) {
                let of_row: Vec<_> = spans
                    .all()
                    .filter(|span| (span.first..span.end()).contains(&row))
                    .map(|span| span.outcome)
                    .collect();
                prop_assert_eq!(&of_row, &kinds[kind].into_iter().collect::<Vec<_>>());
                prop_assert_eq!(gaps.iter().any(|gap| gap.contains(&row)), of_row.is_empty());
            }
        }
    }
}
