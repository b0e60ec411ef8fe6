//! Judgments of what another tool measured: none, with what is missing for one.

use highwater_model::import_record::{ImportRecord, ImportedPace, LatencyBegin, MissingField};
use highwater_model::judgment::{Data, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode};

use super::reasons::judgment;

/// Whose own part in the figures is not known, is not judged.
pub fn judge(origin: &ImportRecord) -> Judgments {
    let mut reasons = vec![not_judged(origin)];
    reasons.extend(waiting(origin));
    let audited = Reason {
        code: ReasonCode::NotAudited,
        message: "acknowledged rows were not looked for".to_owned(),
        evidence: format!("{} reads nothing back", origin.tool),
        hint: None,
    };
    Judgments {
        measurement: judgment(Measurement::Inconclusive, reasons),
        data: judgment(Data::NotChecked, vec![audited]),
        objective: judgment(ObjectiveValue::NoneSet, Vec::new()),
    }
}

fn not_judged(origin: &ImportRecord) -> Reason {
    let mut missing = vec!["its own lag and CPU"];
    missing.extend(origin.missing_fields.iter().map(|what| what.phrase()));
    Reason {
        code: ReasonCode::Imported,
        message: "another tool measured, and its part in the figures is not known".to_owned(),
        evidence: format!(
            "{} does not report: {}",
            origin.tool_and_version(),
            missing.join(", ")
        ),
        hint: Some("`highwater run` asks the same and measures the load generator too".to_owned()),
    }
}

/// A reason where latency may leave out waiting.
fn waiting(origin: &ImportRecord) -> Option<Reason> {
    let evidence = match (origin.begin, origin.pace) {
        _ if origin.leaves_out(MissingField::Latency) => return None,
        (LatencyBegin::Intended, _) => return None,
        (LatencyBegin::Sent, ImportedPace::Closed) => {
            "closed load: what waited while a session was busy was never asked"
        }
        (LatencyBegin::Sent, _) => "it begins at the sending: a service time",
        (LatencyBegin::NotReported, _) => "where it begins is not reported",
    };
    Some(Reason {
        code: ReasonCode::WaitingNotCounted,
        message: "latency is not from the intended start".to_owned(),
        evidence: evidence.to_owned(),
        hint: None,
    })
}
