//! k6's own names: the tool, and the metrics of a request.
//!
//! What must not be here: reading one of its formats.

use crate::imported_run::ImportedRun;
use highwater_model::import_record::LatencyBegin;

pub(crate) const TOOL: &str = "k6";
/// The time of a request, without connecting.
pub(super) const DURATION: &str = "http_req_duration";
/// Of requests that did not fail.
pub(super) const EXPECTED: &str = "http_req_duration{expected_response:true}";

/// A run with what holds for both formats.
pub(super) fn empty_run() -> ImportedRun {
    ImportedRun { begin: LatencyBegin::Sent, ..ImportedRun::new(TOOL) }
}
