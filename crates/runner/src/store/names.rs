//! Names of the files in the directory of a run.

/// The file that marks a directory as a run's.
pub(super) const PLAN: &str = "plan.json";
/// The record without results.
pub(super) const DRAFT: &str = "draft.json";
/// The journal: counts of each second.
pub(super) const JOURNAL: &str = "intervals.jsonl";
/// Outcomes of rows.
pub(super) const LEDGER: &str = "ledger.jsonl";
/// Reports of a run in progress.
pub(super) const REPORTS: &str = "reports.jsonl";
/// Prefix of the names of scratch files.
pub(super) const SPILL: &str = "scratch-";
/// The record.
pub(super) const RECORD: &str = "record.json";
/// The record as a page.
pub(super) const PAGE: &str = "report.html";
/// The page of several merged shares, next to the first of them.
pub(super) const MERGED_PAGE: &str = "merged.html";
/// The directory of an experiment's trials, which are stored like any other run.
pub const PROBES: &str = "probes";
