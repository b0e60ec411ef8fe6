//! Compares the rows that earlier runs acknowledged with the tables that this run continued.
//!
//! The registry has the number of rows that must be there. If those runs' ledgers are in the same store, they also have
//! the keys and contents. Must not contain the comparison itself.
//!
//! Those runs are followed backward in this run's store: the previous writer ended where this run begins. Where the
//! chain breaks, the ledgers of the earlier rows are elsewhere.

use std::cmp::Reverse;
use std::ops::Range;
use std::path::{Path, PathBuf};

use highwater_driver::Admin;
use highwater_model::audit_record::{EarlierAudit, EarlierRunRecord};
use highwater_model::display::duration;
use highwater_model::event::Part;
use highwater_model::op::BoundWorkload;
use highwater_model::quantity::parse_instant;
use highwater_model::record::{AuditRecord, AuditStatus};
use highwater_model::units::Nanos;

use super::Run;
use super::auditing::stop_at_once;
use crate::audit::{self, AuditInput, AuditOutcome, AuditProgressReporter, audit_unless};
use crate::executor;
use crate::ledger::Ledger;
use crate::ledger::stored::{Spans, StoredLedger, restore};
use crate::store::{self, LedgerHead, PROBES};
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
        let runs = find(place, &self.ledger_head(), bound.tables.len());
        let Some(oldest) = runs.last() else {
            return;
        };
        let mut found = EarlierAudit { from_row: oldest.rows.start, ..EarlierAudit::default() };
        let level = audited.record.level;
        let ns_per_row = self.request.target.capabilities().audit_ns_per_row;
        let rows: u64 = runs.iter().map(acknowledged).sum();
        let estimate = Nanos(rows.saturating_mul(ns_per_row));
        let most = if is_probe(place) { COMPARED_MAX_OF_PROBE } else { COMPARED_MAX };
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
            met: None,
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

/// Maximum number of a store's directories to search.
const DIRECTORIES_MAX: usize = 20_000;
/// Maximum number of runs to follow back.
const RUNS_MAX: usize = 1_000;

/// An earlier run that wrote to the tables.
#[derive(Debug)]
pub(crate) struct EarlierRun {
    /// Name of its directory.
    pub(crate) id: String,
    /// Rows that it may have written.
    pub(crate) rows: Range<u64>,
    pub(crate) ledger: StoredLedger,
}

/// The runs before `head`, latest first; each ends where its predecessor in the list begins.
pub(crate) fn find(directory: &Path, head: &LedgerHead, tables: usize) -> Vec<EarlierRun> {
    let mut candidates = candidates(directory, head);
    candidates.sort_by_key(|(_, of_run)| Reverse(started(of_run)));
    let mut runs = Vec::new();
    let mut end = head.first_row;
    for (path, of_run) in candidates {
        if end == 0 || runs.len() == RUNS_MAX {
            break;
        }
        let Some(ledger) = ledger(&path, tables) else {
            break;
        };
        let last = ledger.tables.iter().map(Spans::end).max().unwrap_or(0);
        if last == 0 {
            // It wrote nothing.
            continue;
        }
        // The next run determined how far a killed run came.
        let follows = match ledger.next_row {
            Some(next) => next == end,
            None => last <= end,
        };
        if !follows || of_run.first_row >= end {
            break;
        }
        let rows = of_run.first_row..end;
        end = of_run.first_row;
        let id = path.file_name().unwrap_or_default().to_string_lossy();
        runs.push(EarlierRun { id: id.into_owned(), rows, ledger });
    }
    runs
}

/// Earlier runs of the same rows on the same target.
fn candidates(directory: &Path, head: &LedgerHead) -> Vec<(PathBuf, LedgerHead)> {
    let root = store_of(directory);
    let runs = below(&root);
    let all: Vec<PathBuf> = runs
        .iter()
        .flat_map(|run| below(&run.join(PROBES)))
        .chain(runs.iter().cloned())
        .take(DIRECTORIES_MAX)
        .collect();
    let heads = all.into_iter().filter_map(|path| {
        let of_run = store::read_head(&path)?;
        let same = of_run.identity == head.identity && of_run.urls == head.urls;
        (same && started(&of_run) < started(head)).then_some((path, of_run))
    });
    heads.collect()
}

/// Start time of a run; `None` sorts first. The text does not sort correctly, because trailing zeros are omitted: `.5Z`
/// sorts after `.51Z`.
fn started(head: &LedgerHead) -> Option<Nanos> {
    parse_instant(&head.started_at).ok()
}

/// Whether a run belongs to a search or a tuning.
fn is_probe(directory: &Path) -> bool {
    let parent = directory.parent().and_then(Path::file_name);
    parent.is_some_and(|name| name == PROBES)
}

/// The store that holds a run; for a probe, the store of its search.
fn store_of(directory: &Path) -> PathBuf {
    let levels = if is_probe(directory) { 3 } else { 1 };
    let store = directory.ancestors().nth(levels);
    store.unwrap_or(directory).to_owned()
}

fn below(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .take(DIRECTORIES_MAX)
        .collect()
}

fn ledger(run: &Path, tables: usize) -> Option<StoredLedger> {
    let lines = store::read_ledger(run).ok().flatten()?;
    let stored = StoredLedger::from_lines(&lines, tables);
    (!stored.overflowed).then_some(stored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::LedgerLine;

    /// The run that began at this second of a minute, with its rows from `first_row`.
    fn head(first_row: u64, second: &str) -> LedgerHead {
        LedgerHead {
            identity: "cpu".to_owned(),
            urls: vec!["sqlite:bench.db".to_owned()],
            first_row,
            started_at: format!("2026-11-27T10:00:{second}Z"),
        }
    }

    #[test]
    fn runs_are_followed_back_by_when_they_began_and_not_by_the_text_of_it() {
        let store = tempfile::tempdir().unwrap();
        // As text, `00.5Z` sorts after `00.51Z`.
        for (name, first_row, second) in [("a", 0, "00.5"), ("b", 100, "00.51"), ("c", 200, "01")] {
            let run = store.path().join(name);
            std::fs::create_dir(&run).unwrap();
            let of_run = LedgerLine { run: Some(head(first_row, second)), ..LedgerLine::default() };
            let rows = LedgerLine {
                acknowledged: vec![[first_row, 100]],
                ended: true,
                next_row: Some(first_row + 100),
                ..LedgerLine::default()
            };
            let lines = [of_run, rows].map(|line| serde_json::to_string(&line).unwrap() + "\n");
            std::fs::write(run.join("ledger.jsonl"), lines.concat()).unwrap();
        }
        let found = find(&store.path().join("d"), &head(300, "02"), 1);
        let found: Vec<_> = found.iter().map(|run| (&*run.id, run.rows.clone())).collect();
        assert_eq!(found, [("c", 200..300), ("b", 100..200), ("a", 0..100)]);
        // A run that began later is not earlier, whatever its rows.
        assert!(find(&store.path().join("d"), &head(300, "00.7"), 1).is_empty());
    }
}
