//! Names of the files in the directory of a run.

/// The file that makes a directory a run's.
pub(super) const PLAN: &str = "plan.json";
/// The record without results.
pub(super) const DRAFT: &str = "draft.json";
/// What came in, once a second.
pub(super) const JOURNAL: &str = "intervals.jsonl";
/// Outcomes of rows.
pub(super) const LEDGER: &str = "ledger.jsonl";
/// What is reported while it goes on.
pub(super) const REPORTS: &str = "reports.jsonl";
/// How names of scratch files begin.
pub(super) const SPILL: &str = "scratch-";
/// The record.
pub(super) const RECORD: &str = "record.json";
/// The record as a page.
pub(super) const PAGE: &str = "report.html";
/// The same of several shares put together, beside the first of them.
pub(super) const MERGED_PAGE: &str = "merged.html";
/// The directory of an experiment's trials, each of which is kept like any other run.
pub const PROBES: &str = "probes";
