//! The record of an experiment of any kind: its combined judgments, and its last run. Must not interpret outcomes.

use highwater_model::judgment::{
    Data, Judgment, Judgments, Measurement, ObjectiveValue, Reason, ReasonCode,
};
use highwater_model::record::{
    ExperimentRecord, Header, Incident, IncidentKind, Question, RunRecord,
};

/// The combined judgments of an experiment, starting with those of its last run.
pub(crate) struct Whole {
    pub(crate) judgments: Judgments,
    pub(crate) incidents: Vec<Incident>,
}

impl Whole {
    pub(crate) fn from_run(last: &RunRecord) -> Self {
        Self { judgments: last.judgments.clone(), incidents: last.incidents.clone() }
    }

    /// An incident that ended the experiment also ended its record.
    pub(crate) fn ended(&mut self, kind: IncidentKind, message: &str) {
        if self.incidents.iter().all(|incident| incident.kind != kind) {
            self.incidents.push(Incident::new(kind, message));
        }
    }

    /// The record; `first` is the start of the first run.
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
            interventions: Vec::new(),
            loaded_ns: 0,
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

/// The judgments of a record of a run that is still in progress: it was not stopped, and nothing is decided.
pub fn running(judged: &mut Judgments) {
    let message = "it has not ended: these are its figures so far";
    judged.measurement = unknown(ReasonCode::Running, message, "", None);
    judged.data.reasons.clear();
    undecided(&mut judged.objective);
}

/// An experiment without an outcome does not adopt the objective's judgment from its last run, met or missed: an
/// estimate judges nothing, and another value may meet what this one missed. The reasons why it could not be judged are
/// kept.
pub(crate) fn undecided(objective: &mut Judgment<ObjectiveValue>) {
    match objective.value {
        ObjectiveValue::Met | ObjectiveValue::Missed => {
            objective.value = ObjectiveValue::NotDecided;
            objective.reasons.clear();
        }
        ObjectiveValue::NotDecided | ObjectiveValue::NoneSet => {}
    }
}

/// Why an experiment is not complete: a code, a sentence, and a hint.
type Incomplete = (ReasonCode, &'static str, &'static str);

pub(crate) const TARGET_LOST: Incomplete =
    (ReasonCode::TargetLost, "the target went away", "continue with --resume when it is back");

pub(crate) const fn budget_spent(message: &'static str) -> Incomplete {
    let hint = "continue with --resume and a larger --budget";
    (ReasonCode::TooShort, message, hint)
}

pub(crate) const fn not_ended(message: &'static str) -> Incomplete {
    (ReasonCode::Interrupted, message, "continue with --resume")
}

/// The gravest of each judgment over all trials, the first among equals; without trials, the last run's.
pub(crate) fn gravest<'a>(
    of_last: &Judgments,
    trials: impl Iterator<Item = &'a Judgments> + Clone,
) -> Judgments {
    let mut gravest = trials.clone().next().unwrap_or(of_last).clone();
    for judged in trials {
        if by_measurement(judged) > by_measurement(&gravest) {
            gravest.measurement = judged.measurement.clone();
        }
        if by_data(judged) > by_data(&gravest) {
            gravest.data = judged.data.clone();
        }
        if by_objective(judged) > by_objective(&gravest) {
            gravest.objective = judged.objective.clone();
        }
    }
    gravest
}

/// A note that other programs used the host must not be lost among trials without it.
fn by_measurement(judged: &Judgments) -> u8 {
    let mut reasons = judged.measurement.reasons.iter();
    match judged.measurement.value {
        Measurement::Valid => u8::from(reasons.any(|of| of.code == ReasonCode::SharedHost)),
        Measurement::Inconclusive => 2,
        Measurement::Invalid => 3,
    }
}

/// A user error outranks unverified data, as in exit codes.
fn by_data(judged: &Judgments) -> u8 {
    let mut reasons = judged.data.reasons.iter();
    match judged.data.value {
        Data::NotChecked => 0,
        Data::Clean => 1,
        Data::Unverified if reasons.any(|r| r.code == ReasonCode::AuditSqlWrong) => 3,
        Data::Unverified => 2,
        Data::Surplus => 4,
        Data::Altered => 5,
        Data::Duplicated => 6,
        Data::Lost => 7,
    }
}

const fn by_objective(judged: &Judgments) -> u8 {
    match judged.objective.value {
        ObjectiveValue::NoneSet => 0,
        ObjectiveValue::Met => 1,
        ObjectiveValue::NotDecided => 2,
        ObjectiveValue::Missed => 3,
    }
}
