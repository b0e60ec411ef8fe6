//! k6: its JSON summary (`--summary-export`, or the data of `handleSummary`), and its JSON lines
//! (`--out json`).
//!
//! An op is an HTTP request; for a script without requests, an iteration. The duration of a request begins at the
//! sending. The summary has percentiles but no distribution; the lines have each request.

mod lines;
mod metric;
mod summary;

pub(super) use lines::{Reader as LineReader, is_lines};
pub(super) use metric::TOOL;
pub(super) use summary::{Reader as SummaryReader, is_summary};
