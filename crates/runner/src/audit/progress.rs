//! Reports the progress of an audit to the run's observer, and names its stage if it ends early.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use highwater_driver::Timeline;
use highwater_model::event::{AuditProgress, AuditStage, Event, Part};
use highwater_model::plan::AuditLevel;
use highwater_model::units::Nanos;

use crate::ledger::Ledger;
use crate::request::Observer;

/// Rows read between two events.
const ROWS_PER_EVENT: u64 = 1 << 14;
/// Longest time without an event.
const REPORTED_EVERY: Nanos = Nanos::from_secs(10);

/// Reports the progress of an audit.
pub(crate) struct AuditProgressReporter<'a> {
    observer: &'a dyn Observer,
    timeline: Rc<dyn Timeline>,
    begin: Nanos,
    progress: RefCell<AuditProgress>,
}

impl<'a> AuditProgressReporter<'a> {
    /// The reporter of an audit at this level, with its estimated duration.
    pub(crate) fn new(
        observer: &'a dyn Observer,
        timeline: &Rc<dyn Timeline>,
        level: AuditLevel,
        estimate: Nanos,
        ledgers: &[Ledger],
    ) -> Self {
        let reads = ledgers.iter().map(|ledger| {
            // Rows that replace each other are counted and then read back, as `full` does for all rows.
            let twice = level == AuditLevel::Full || ledger.has_replacements();
            rows_of(ledger).saturating_mul(if twice { 2 } else { 1 })
        });
        let progress = AuditProgress {
            of: reads.fold(0, u64::saturating_add),
            estimate,
            ..AuditProgress::default()
        };
        Self {
            observer,
            timeline: Rc::clone(timeline),
            begin: timeline.now(),
            progress: RefCell::new(progress),
        }
    }

    /// Reports progress every ten seconds, because one statement may take long.
    pub(super) async fn keep_reporting(&self) -> Infallible {
        loop {
            let next = self.timeline.now().saturating_add(REPORTED_EVERY);
            self.timeline.sleep_until(next).await;
            self.report(&self.progress.borrow());
        }
    }

    fn report(&self, progress: &AuditProgress) {
        let mut progress = progress.clone();
        progress.elapsed = self.timeline.now().saturating_sub(self.begin);
        self.observer.event(&Event::Audit(progress));
    }

    /// Begins the next stage, which reads `rows` rows; the previous stage is complete.
    pub(crate) fn stage(&self, what: AuditStage, rows: u64) {
        let mut progress = self.progress.borrow_mut();
        progress.rows += std::mem::replace(&mut progress.under_way, rows);
        progress.of = progress.of.max(progress.rows + rows);
        progress.doing = what;
        self.report(&progress);
    }

    /// A separate event for a long step, for readers without a terminal.
    pub(crate) fn announce(&self, part: Part) {
        self.observer.event(&Event::Part(part));
    }

    /// Shows why the current stage waits; returns the stage, for [`Self::resume`].
    pub(crate) fn wait(&self, why: AuditStage) -> AuditStage {
        let mut progress = self.progress.borrow_mut();
        let stage = std::mem::replace(&mut progress.doing, why);
        self.report(&progress);
        stage
    }

    /// Resumes a stage that had to wait.
    pub(crate) fn resume(&self, stage: AuditStage) {
        drop(self.wait(stage));
    }

    /// Counts the rows of a table slice that was summed.
    pub(crate) fn slice(&self, rows: u64) {
        let mut progress = self.progress.borrow_mut();
        let rows = rows.min(progress.under_way);
        progress.under_way -= rows;
        progress.rows += rows;
        self.report(&progress);
    }

    /// Counts one row that was read.
    pub(crate) fn row(&self) {
        let mut progress = self.progress.borrow_mut();
        if progress.under_way > 0 {
            progress.under_way -= 1;
            progress.rows += 1;
        }
        if progress.rows.is_multiple_of(ROWS_PER_EVENT) {
            self.report(&progress);
        }
    }

    /// The current stage.
    pub(crate) fn current_stage(&self) -> String {
        self.progress.borrow().doing.to_string()
    }
}

/// Rows that an audit of a table reads.
pub(crate) fn rows_of(ledger: &Ledger) -> u64 {
    let totals = ledger.totals();
    totals.acknowledged.saturating_add(totals.unknown)
}

#[cfg(test)]
mod tests {
    use futures_util::future::select;
    use highwater_model::event::TableStep;

    use super::*;
    use highwater_driver::clock::SimulatedTimeline;

    #[derive(Default)]
    struct ReceivedEvents(RefCell<Vec<(AuditStage, u64, u64, u64)>>);

    impl Observer for ReceivedEvents {
        fn event(&self, event: &Event) {
            if let Event::Audit(progress) = event {
                let stage = progress.doing.clone();
                let figures = (stage, progress.rows, progress.under_way, progress.of);
                self.0.borrow_mut().push(figures);
            }
        }
    }

    #[test]
    fn an_audit_reports_rows_read_under_way_and_in_total() {
        let events = ReceivedEvents::default();
        let reading = || AuditStage::Table { table: "cpu".to_owned(), step: TableStep::Reading };
        let timeline: Rc<dyn Timeline> = Rc::new(SimulatedTimeline::new());
        let (level, estimate) = (AuditLevel::Sums, Nanos::SECOND);
        let reporter = AuditProgressReporter::new(&events, &timeline, level, estimate, &[]);
        reporter.stage(AuditStage::ServerCounters, 20_000);
        reporter.stage(reading(), 30_000);
        for _ in 0..ROWS_PER_EVENT {
            reporter.row();
        }
        reporter.stage(AuditStage::WaitingForStatements, 0);
        assert_eq!(reporter.current_stage(), "waiting for statements to end");
        assert_eq!(
            *events.0.borrow(),
            [
                (AuditStage::ServerCounters, 0, 20_000, 20_000),
                (reading(), 20_000, 30_000, 50_000),
                (reading(), 32_768, 17_232, 50_000),
                (AuditStage::WaitingForStatements, 50_000, 0, 50_000),
            ]
        );
    }

    #[test]
    fn an_audit_reports_every_ten_seconds_while_one_statement_is_at_work() {
        let simulated = SimulatedTimeline::new();
        let timeline: Rc<dyn Timeline> = Rc::new(simulated.clone());
        let reported = simulated.block_on(async move {
            let events = ReceivedEvents::default();
            let (level, estimate) = (AuditLevel::Sums, Nanos::SECOND);
            let reporter = AuditProgressReporter::new(&events, &timeline, level, estimate, &[]);
            let statement = timeline.sleep_until(Nanos::from_secs(45));
            let reporting = std::pin::pin!(reporter.keep_reporting());
            drop(select(statement, reporting).await);
            events.0.borrow().len()
        });
        assert_eq!(reported, Some(4));
    }
}
