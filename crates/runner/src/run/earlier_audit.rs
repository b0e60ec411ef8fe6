//! Compares the rows that earlier runs acknowledged with the tables that this run continued.
//!
//! The registry has the number of rows that must be there. If those runs' ledgers are in the same store, they also have
//! the keys and contents. Must not contain the comparison itself.

use std::ops::Range;

use highwater_driver::Admin;
use highwater_model::audit_record::{EarlierAudit, EarlierRunRecord};
use highwater_model::display::duration;
use highwater_model::event::Part;
use highwater_model::op::BoundWorkload;
use highwater_model::record::{AuditRecord, AuditStatus};
use highwater_model::units::Nanos;

use super::auditing::stop_at_once;
use super::state::Run;
use crate::audit::{self, AuditInput, AuditOutcome, AuditProgressReporter, audit_unless};
use crate::earlier::{self, EarlierRun};
use crate::executor;
use crate::ledger::Ledger;
use crate::ledger::spans::Spans;
use crate::ledger::stored::restore;
use crate::table_setup::rows_in;

/// Rows of earlier runs are compared if the estimate does not exceed this time.
const COMPARED_MAX: Nanos = Nanos::from_secs(60);
/// The same for a probe, because earlier probes have compared them as well.
const COMPARED_MAX_OF_PROBE: Nanos = Nanos::from_secs(5);

impl Run {
    /// Adds the outcome of earlier runs' rows to a finished audit.
    pub(super) async fn audit_earlier(
        &mut self,
        bound: &BoundWorkload,
        audited: &mut AuditOutcome,
        admin: &mut Box<dyn Admin>,
    ) {
        let workload = &self.request.workload;
        let replaces = (0..bound.tables.len()).any(|at| workload.replacing_column(at).is_some());
        let is_done = audited.record.status == AuditStatus::Done && audited.idle;
        if self.tables.first_row == 0 || !is_done || replaces {
            return;
        }
        let place = self.request.directory.path();
        let runs = earlier::find(place, &self.ledger_head(), bound.tables.len());
        let Some(oldest) = runs.last() else {
            return;
        };
        let mut found = EarlierAudit { from_row: oldest.rows.start, ..EarlierAudit::default() };
        let level = audited.record.level;
        let ns_per_row = self.request.target.capabilities().audit_ns_per_row;
        let rows: u64 = runs.iter().map(acknowledged).sum();
        let estimate = Nanos(rows.saturating_mul(ns_per_row));
        let most = if earlier::is_probe(place) { COMPARED_MAX_OF_PROBE } else { COMPARED_MAX };
        if estimate > most {
            let takes = duration(estimate.0);
            let why = format!("comparing them takes about {takes}: `highwater audit RUN` does it");
            found.error = Some(why);
            audited.record.earlier = Some(found);
            return;
        }
        self.begin(Part::Audit { level, estimate });
        let of_all = self.compare(bound, &runs, &audited.record, admin).await;
        found.error.clone_from(&of_all.record.error);
        if found.error.is_none() {
            found.acknowledged = of_all.record.acknowledged;
            found.runs = self.by_run(bound, &runs, &of_all.record, admin).await;
            add(&mut audited.record, &of_all.record);
            self.raise_rows_due(audited, &of_all, found.from_row);
        }
        audited.record.duration_ns += of_all.record.duration_ns;
        audited.record.earlier = Some(found);
    }

    /// Attributes missing rows to runs; without missing rows, returns only the runs.
    async fn by_run(
        &mut self,
        bound: &BoundWorkload,
        runs: &[EarlierRun],
        of_all: &AuditRecord,
        admin: &mut Box<dyn Admin>,
    ) -> Vec<EarlierRunRecord> {
        let mut records = Vec::new();
        for run in runs.iter().rev() {
            let mut record = EarlierRunRecord {
                run: run.id.clone(),
                acknowledged: acknowledged(run),
                missing: 0,
            };
            if of_all.missing > 0 {
                let one = std::slice::from_ref(run);
                record.missing = self.compare(bound, one, of_all, admin).await.record.missing;
            }
            records.push(record);
        }
        records
    }

    /// Audits the rows of these runs; each ends where its predecessor in the list begins.
    async fn compare(
        &mut self,
        bound: &BoundWorkload,
        runs: &[EarlierRun],
        own: &AuditRecord,
        admin: &mut Box<dyn Admin>,
    ) -> AuditOutcome {
        let rows = rows_of(runs);
        let plan = &self.request.plan;
        let mut ledgers = executor::ledgers(plan, bound, &self.request.directory);
        for run in runs {
            self.restore(run, &mut ledgers);
        }
        let level = own.level;
        let target = self.request.target.as_ref();
        let ns_per_row = target.capabilities().audit_ns_per_row;
        let estimate = audit::estimate(level, &ledgers, ns_per_row);
        let observer = self.observer.as_ref();
        let input = AuditInput {
            level,
            limit: plan.audit.limit.saturating_sub(Nanos(own.duration_ns)),
            plan,
            bound: &rows_in(bound, rows),
            whole: bound,
            tables: &self.tables,
            workload: &self.request.workload,
            changed: &[],
            invariants: &[],
            directory: &self.request.directory,
            stored: true,
            progress: AuditProgressReporter::new(
                observer,
                &self.timeline,
                level,
                estimate,
                &ledgers,
            ),
        };
        let (interrupts, controls) = (&mut self.interrupts, &mut self.controls);
        let stopped = stop_at_once(interrupts, controls, self.timeline.as_ref(), observer);
        audit_unless(stopped, &input, &mut ledgers, admin, target, &self.timeline).await
    }

    fn restore(&self, run: &EarlierRun, ledgers: &mut [Ledger]) {
        let workload = &self.request.workload;
        for (table, (ledger, spans)) in ledgers.iter_mut().zip(&run.ledger.tables).enumerate() {
            let make = |first, rows| workload.row_batch(table, first, rows);
            // The rows that a killed run had in flight have no span.
            let open = if run.ledger.ended { 0..0 } else { run.rows.clone() };
            restore(ledger, spans, open, &make);
        }
    }

    /// Rows that a killed run had acknowledged must exist, whatever was counted when this run began: every later audit
    /// expects them.
    fn raise_rows_due(&self, audited: &mut AuditOutcome, of_all: &AuditOutcome, from_row: u64) {
        let (Some(due), Some(of_all)) = (&mut audited.rows, &of_all.rows) else {
            return;
        };
        if from_row > 0 {
            return;
        }
        let before = self.tables.rows_before();
        for ((due, before), earlier) in due.iter_mut().zip(before).zip(of_all) {
            *due += earlier.saturating_sub(before);
        }
    }
}

/// All rows that these runs may have written.
fn rows_of(runs: &[EarlierRun]) -> Range<u64> {
    let start = runs.iter().map(|run| run.rows.start).min().unwrap_or(0);
    let end = runs.iter().map(|run| run.rows.end).max().unwrap_or(0);
    start..end
}

fn acknowledged(run: &EarlierRun) -> u64 {
    run.ledger.tables.iter().map(Spans::acknowledged).sum()
}

/// Adds the outcome of earlier rows; it includes rows already counted as missing or foreign.
fn add(record: &mut AuditRecord, earlier: &AuditRecord) {
    let missing = earlier.missing.saturating_sub(record.missing_before);
    record.missing += missing;
    record.missing_before += missing;
    let counted = earlier.surplus.min(record.foreign);
    record.foreign = record.foreign - counted + earlier.foreign;
    record.surplus += earlier.surplus - counted;
    record.duplicated += earlier.duplicated;
    record.refused_found += earlier.refused_found;
    record.altered += earlier.altered;
    record.buckets += earlier.buckets;
    record.read_back += earlier.read_back;
    record.narrowed &= earlier.narrowed;
    record.examples.splice(0..0, earlier.examples.clone());
    record.examples.truncate(highwater_analysis::sums::EXAMPLES_MAX);
}
