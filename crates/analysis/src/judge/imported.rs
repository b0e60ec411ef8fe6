//! Judgments of what another tool measured: none, with what is missing for one.

use highwater_model::judgment::{Data, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode};
use highwater_model::record::{ImportRecord, ImportedPace, LatencyBegin, MissingField};

use super::reasons::{judgment, reason};

/// Whose own part in the figures is not known, is not judged.
pub fn judge(origin: &ImportRecord) -> Judgments {
    let reads = [format!("{} reads nothing back", origin.tool)];
    let message = "acknowledged rows were not looked for";
    let audited = reason(ReasonCode::NotAudited, message, &reads, "");
    // What changes the figures comes first: a summary has room for few reasons.
    let reasons = [partial(origin), not_judged(origin), waiting(origin)];
    let reasons = reasons.into_iter().flatten();
    Judgments {
        measurement: judgment(Measurement::Inconclusive, reasons.collect()),
        data: judgment(Data::NotChecked, audited.into_iter().collect()),
        objective: judgment(ObjectiveValue::NoneSet, Vec::new()),
    }
}

fn partial(origin: &ImportRecord) -> Option<Reason> {
    let message = "the files hold a part of what was measured, or contradict each other";
    let hint = "import all files of the run, and of one run only";
    reason(ReasonCode::ImportPartial, message, &origin.caveats, hint)
}

fn not_judged(origin: &ImportRecord) -> Option<Reason> {
    let mut missing = vec!["its own lag and CPU"];
    missing.extend(origin.missing_fields.iter().map(|what| what.phrase()));
    let (tool, missing) = (origin.tool_and_version(), missing.join(", "));
    let places = [format!("{tool} does not report: {missing}")];
    let message = "another tool measured, and its part in the figures is not known";
    let hint = "`highwater run` runs the same ops and measures the load generator too";
    reason(ReasonCode::Imported, message, &places, hint)
}

/// A reason where latency may leave out waiting.
fn waiting(origin: &ImportRecord) -> Option<Reason> {
    let evidence = match (origin.begin, origin.pace) {
        _ if origin.leaves_out(MissingField::Latency) => return None,
        (LatencyBegin::Intended, _) => return None,
        (LatencyBegin::Sent, ImportedPace::Closed) => {
            "closed load: ops that waited while a session was busy were never sent"
        }
        (LatencyBegin::Sent, _) => "it begins at the sending: a service time",
        (LatencyBegin::NotReported, _) => "where it begins is not reported",
    };
    let message = "latency is not from the intended start";
    let places = [evidence.to_owned()];
    reason(ReasonCode::WaitingNotCounted, message, &places, "")
}
