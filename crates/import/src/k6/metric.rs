//! k6's own names: the tool, and the metrics of a request.
//!
//! Must not read a format.

use crate::imported_run::ImportedRun;
use highwater_model::import_record::LatencyBegin;

pub(crate) const TOOL: &str = "k6";
/// The time of a request, without connecting.
pub(super) const DURATION: &str = "http_req_duration";
/// The time of requests that did not fail.
pub(super) const EXPECTED: &str = "http_req_duration{expected_response:true}";

/// A run with the properties of both formats.
pub(super) fn empty_run() -> ImportedRun {
    ImportedRun { begin: LatencyBegin::Sent, ..ImportedRun::new(TOOL) }
}
