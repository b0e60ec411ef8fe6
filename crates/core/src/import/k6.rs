//! k6: its JSON summary (`--summary-export`, or the data of `handleSummary`), and its JSON lines
//! (`--out json`).
//!
//! An op is an HTTP request; of a script without any, an iteration. The duration of a request begins
//! at the sending. The summary has percentiles and no distribution; the lines have each request.

mod lines;
mod summary;

use crate::model::import_record::LatencyBegin;

use super::told::Told;

pub(super) use lines::{Reader as LineReader, is_lines};
pub(super) use summary::{Reader as SummaryReader, is_summary};

const TOOL: &str = "k6";
/// The time of a request, without connecting.
const DURATION: &str = "http_req_duration";
/// Of requests that did not fail.
const EXPECTED: &str = "http_req_duration{expected_response:true}";

/// What holds of both.
fn told() -> Told {
    Told {
        begin: LatencyBegin::Sent,
        ..Told::of(TOOL)
    }
}
