//! The measurement of another tool: its method, as far as it is reported. Must not invent a figure that is not in
//! its output.

use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::foreign;
use highwater_model::display::paces;
use highwater_model::record::RunRecord;
use highwater_model::record::{ImportRecord, ImportedPace, LatencyBegin, MissingField};

use super::run::load::{batches, measured_time};
use crate::layout::list;

/// Maximum characters of a name.
const WORDS: usize = 80;

/// The tool that measured, and its method as far as it is reported.
pub(super) fn load(
    record: &RunRecord,
    origin: &ImportRecord,
    measured: &[MeasuredStream<'_>],
) -> String {
    let tool = foreign(&origin.tool_and_version(), WORDS);
    let mut parts = vec![format!("imported from {tool}")];
    let streams = &record.plan.definition.streams;
    parts.extend(streams.iter().map(|stream| {
        let kind = match origin.pace {
            ImportedPace::Open => "open (Poisson)",
            ImportedPace::Closed => "closed",
            ImportedPace::NotReported => "pace not reported",
        };
        let pace = match stream.paces.first() {
            Some(_) => format!(", {}", paces(stream)),
            None => String::new(),
        };
        format!("{kind}{pace}{}", batches(stream))
    }));
    if !origin.leaves_out(MissingField::Throughput) {
        parts.push(measured_time(measured));
    }
    let files = origin.files.iter().map(|[name, _]| foreign(name, WORDS));
    parts.push(list(files, ", "));
    parts.join(" · ")
}

/// The start of the tool's latency, in a few words and as a sentence.
pub(super) const fn begin(begin: LatencyBegin) -> (&'static str, &'static str) {
    match begin {
        LatencyBegin::Intended => (
            "from the intended start",
            "Latency begins at the intended start, so that waiting for a session counts.",
        ),
        LatencyBegin::Sent => {
            ("service time", "Latency begins at the sending: what waited before is not in it.")
        }
        LatencyBegin::NotReported => (
            "where latency begins is not reported",
            "The tool does not report where its latency begins.",
        ),
    }
}
