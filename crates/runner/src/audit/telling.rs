//! How far an audit is, for whoever watches the run; and what it was doing, if it ends early.

use std::cell::RefCell;

use highwater_core::model::plan::AuditLevel;
use highwater_core::model::units::Nanos;
use highwater_core::report::AuditProgress;

use crate::ledger::Ledger;
use crate::observer::{Event, Observer};

/// Rows that are read between two events.
const ROWS_TOLD: u64 = 1 << 14;

/// Tells of an audit.
pub(crate) struct AuditProgressReporter<'a> {
    observer: &'a dyn Observer,
    progress: RefCell<AuditProgress>,
}

impl<'a> AuditProgressReporter<'a> {
    /// Of an audit at this level, which is expected to take so long.
    pub(crate) fn new(
        observer: &'a dyn Observer,
        (level, estimate): (AuditLevel, Nanos),
        ledgers: &[Ledger],
    ) -> Self {
        let looks = ledgers.iter().map(|ledger| {
            // Rows that replace each other are counted and read back, as all are by `full`.
            let twice = level == AuditLevel::Full || ledger.has_replacements();
            rows_of(ledger).saturating_mul(if twice { 2 } else { 1 })
        });
        let progress = AuditProgress {
            of: looks.fold(0, u64::saturating_add),
            estimate,
            ..AuditProgress::default()
        };
        Self {
            observer,
            progress: RefCell::new(progress),
        }
    }

    /// Something else begins, which looks at so many rows; what was under way is done.
    pub(crate) fn stage(&self, what: impl Into<String>, rows: u64) {
        let mut progress = self.progress.borrow_mut();
        progress.rows += std::mem::replace(&mut progress.under_way, rows);
        progress.of = progress.of.max(progress.rows + rows);
        progress.stage = what.into();
        self.observer.event(&Event::Audit(progress.clone()));
    }

    /// A row came back.
    pub(crate) fn row(&self) {
        let mut progress = self.progress.borrow_mut();
        if progress.under_way > 0 {
            progress.under_way -= 1;
            progress.rows += 1;
        }
        if progress.rows.is_multiple_of(ROWS_TOLD) {
            self.observer.event(&Event::Audit(progress.clone()));
        }
    }

    /// What is being done.
    pub(crate) fn now(&self) -> String {
        self.progress.borrow().stage.clone()
    }
}

/// Rows that an audit of a table looks at.
pub(crate) fn rows_of(ledger: &Ledger) -> u64 {
    let totals = ledger.totals();
    totals.acknowledged.saturating_add(totals.unknown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Heard(RefCell<Vec<(String, u64, u64, u64)>>);

    impl Observer for Heard {
        fn event(&self, event: &Event) {
            if let Event::Audit(told) = event {
                let told = (told.stage.clone(), told.rows, told.under_way, told.of);
                self.0.borrow_mut().push(told);
            }
        }
    }

    #[test]
    fn an_audit_tells_what_it_did_what_it_does_and_what_is_to_come() {
        let heard = Heard::default();
        let telling = AuditProgressReporter::new(&heard, (AuditLevel::Sums, Nanos::SECOND), &[]);
        telling.stage("counting", 20_000);
        telling.stage("reading", 30_000);
        for _ in 0..ROWS_TOLD {
            telling.row();
        }
        telling.stage("waiting", 0);
        assert_eq!(telling.now(), "waiting");
        let of = |stage: &str, rows, under_way, of| (stage.to_owned(), rows, under_way, of);
        assert_eq!(
            *heard.0.borrow(),
            [
                of("counting", 0, 20_000, 20_000),
                of("reading", 20_000, 30_000, 50_000),
                of("reading", 32_768, 17_232, 50_000),
                of("waiting", 50_000, 0, 50_000),
            ]
        );
    }
}
