//! Writes a run's ledger file: every executor's report once a second and, at the end of the load, all outcomes in row
//! order.
//!
//! Bounded: consecutive rows form one span, and beyond a number of spans the file is marked as incomplete. Must not
//! interpret the outcomes.

use highwater_model::user_error::UserError;

use crate::ledger::spans::{Span, Spans};
use crate::ledger::stored::line_of;
use crate::store::{LedgerFile, LedgerHead, LedgerLine};

/// Maximum number of spans; about 50 MB.
const SPANS_MAX: usize = 1 << 20;
/// The file is rewritten once it exceeds this size and twice its size after the last rewrite.
const REWRITE_BYTES: u64 = 4 << 20;

/// The ledger file of a run, and its content.
#[derive(Debug)]
pub(crate) struct LedgerLog {
    file: LedgerFile,
    /// The first line: which run it belongs to.
    head: LedgerLine,
    /// By table: all outcomes so far.
    tables: Vec<Spans>,
    /// By table: outcomes that are not in the file yet.
    pending: Vec<Spans>,
    /// Length of the file after the last rewrite.
    rewritten_bytes: u64,
    overflowed: bool,
}

impl LedgerLog {
    /// Starts the file with its head.
    pub(crate) fn begin(mut file: LedgerFile, head: LedgerHead) -> Result<Self, UserError> {
        let head = LedgerLine { run: Some(head), ..LedgerLine::default() };
        file.append(std::slice::from_ref(&head))?;
        Ok(Self {
            file,
            head,
            tables: Vec::new(),
            pending: Vec::new(),
            rewritten_bytes: 0,
            overflowed: false,
        })
    }

    /// Adds the outcomes that an executor reports, by table.
    pub(crate) fn add(&mut self, tables: Vec<Vec<Span>>) {
        if self.tables.len() < tables.len() {
            self.tables.resize_with(tables.len(), Spans::default);
            self.pending.resize_with(tables.len(), Spans::default);
        }
        let all = self.tables.iter_mut().zip(&mut self.pending);
        for ((whole, pending), spans) in all.zip(tables) {
            for span in spans {
                if whole.len() >= SPANS_MAX {
                    self.overflowed = true;
                    break;
                }
                whole.add(span);
                pending.add(span);
            }
        }
    }

    /// Writes the pending outcomes.
    pub(crate) fn write(&mut self) -> Result<(), UserError> {
        if self.file.bytes() > REWRITE_BYTES.max(2 * self.rewritten_bytes) {
            return self.rewrite(None);
        }
        let pending = self
            .pending
            .iter_mut()
            .map(std::mem::take)
            .enumerate()
            .filter(|(_, spans)| spans.len() > 0);
        let mut lines: Vec<LedgerLine> =
            pending.map(|(table, spans)| line_of(table, spans.all())).collect();
        lines.extend(self.mark(None));
        if lines.is_empty() {
            return Ok(());
        }
        self.file.append(&lines)
    }

    /// Writes all outcomes in order, and that the load has ended before this row.
    pub(crate) fn end(&mut self, next_row: u64) -> Result<(), UserError> {
        self.rewrite(Some(next_row))
    }

    fn rewrite(&mut self, next_row: Option<u64>) -> Result<(), UserError> {
        self.pending.fill(Spans::default());
        let lines =
            self.tables.iter().enumerate().map(|(table, spans)| line_of(table, spans.all()));
        let lines = std::iter::once(self.head.clone()).chain(lines);
        let lines: Vec<LedgerLine> = lines.chain(self.mark(next_row)).collect();
        self.file.replace(&lines)?;
        self.rewritten_bytes = self.file.bytes();
        Ok(())
    }

    /// A line about the whole file.
    fn mark(&self, next_row: Option<u64>) -> Option<LedgerLine> {
        (next_row.is_some() || self.overflowed).then(|| LedgerLine {
            ended: next_row.is_some(),
            next_row,
            overflowed: self.overflowed,
            ..LedgerLine::default()
        })
    }
}
