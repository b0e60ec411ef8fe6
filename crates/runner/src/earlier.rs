//! Finds the ledgers of the runs that filled the tables before this one.
//!
//! It follows them backward in this run's store: the previous writer ended where this run begins. Where the chain
//! breaks, the ledgers of the earlier rows are elsewhere. Must not query or compare.

use std::cmp::Reverse;
use std::ops::Range;
use std::path::{Path, PathBuf};

use highwater_model::quantity::parse_instant;
use highwater_model::units::Nanos;

use crate::ledger::spans::Spans;
use crate::ledger::stored::StoredLedger;
use crate::store::{self, LedgerHead, PROBES};

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
pub(crate) fn is_probe(directory: &Path) -> bool {
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
    let stored = StoredLedger::of(&lines, tables);
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
