//! The record of an experiment, whatever its question: what is made of it as a whole, and its last run.
//!
//! What must not be here: what a question's outcome means.

use highwater_model::judgment::{Judgment, Judgments, Measurement, Reason, ReasonCode};
use highwater_model::record::{
    ExperimentRecord, Header, Incident, IncidentKind, Question, RunRecord,
};

/// What is made of an experiment, beginning with what is made of its last run.
pub(crate) struct Whole {
    pub(crate) judgments: Judgments,
    pub(crate) incidents: Vec<Incident>,
}

impl Whole {
    pub(crate) fn of(last: &RunRecord) -> Self {
        Self {
            judgments: last.judgments.clone(),
            incidents: last.incidents.clone(),
        }
    }

    /// What ended an experiment ends its record too.
    pub(crate) fn ended(&mut self, kind: IncidentKind, message: &str) {
        if self.incidents.iter().all(|incident| incident.kind != kind) {
            self.incidents.push(Incident::new(kind, message));
        }
    }

    /// The record; `first` is the begin of the first run.
    pub(crate) fn record(
        self,
        last: RunRecord,
        id: String,
        first: Option<String>,
        question: Question,
    ) -> ExperimentRecord {
        ExperimentRecord {
            header: Header {
                id,
                started_at: first.unwrap_or_else(|| last.header.started_at.clone()),
                ..last.header.clone()
            },
            judgments: self.judgments,
            incidents: self.incidents,
            question,
            last_run: Box::new(last),
        }
    }
}

/// An experiment that shows nothing for certain.
pub(crate) fn unknown(
    code: ReasonCode,
    message: &str,
    figures: &str,
    hint: Option<&str>,
) -> Judgment<Measurement> {
    Judgment {
        value: Measurement::Inconclusive,
        reasons: vec![Reason {
            hint: hint.map(str::to_owned),
            ..Reason::with_figures(code, message, figures)
        }],
    }
}
