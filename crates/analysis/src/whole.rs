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
        let mut judgments = self.judgments;
        let reasons = [
            &mut judgments.measurement.reasons,
            &mut judgments.data.reasons,
            &mut judgments.objective.reasons,
        ];
        for hint in reasons.into_iter().flatten().filter_map(|reason| reason.hint.as_mut()) {
            *hint = with_flags_of(&question, hint);
        }
        ExperimentRecord {
            header: Header {
                id,
                started_at: first.unwrap_or_else(|| last.header.started_at.clone()),
                ..last.header.clone()
            },
            judgments,
            incidents: self.incidents,
            question,
            interventions: Vec::new(),
            loaded_ns: 0,
            last_run: Box::new(last),
        }
    }
}

/// A hint of a trial with the flags of the command that made the trial: a search and a tuning set the length of their
/// runs with `--probe`, and a search sets their rates itself, up to `--max`.
fn with_flags_of(question: &Question, hint: &str) -> String {
    let [length, rate] = match question {
        // Their runs are as long and as fast as those of `run`.
        Question::Group(_) => return hint.to_owned(),
        Question::Scale(_) => ["(-d", "--rate"],
        Question::Tune(_) => ["(--probe", "--rate"],
        Question::Search(_) => ["(--probe", "--max"],
    };
    hint.replace("(-d", length).replace("--rate", rate)
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
        Data::LostAllowed => 4,
        Data::Surplus => 5,
        Data::Altered => 6,
        Data::Duplicated => 7,
        Data::Lost => 8,
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

#[cfg(test)]
mod tests {
    use highwater_model::plan::PhaseKind;
    use highwater_model::scale::ScaleRecord;
    use highwater_model::search::{ProbePurpose, ProbeVerdict, SearchRecord};
    use highwater_model::tune::TuneRecord;

    use super::*;
    use crate::fixture;
    use crate::search::conclude;

    #[track_caller]
    fn check(question: &Question, hint: &str, expected: &str) {
        assert_eq!(with_flags_of(question, hint), expected);
    }

    #[test]
    fn a_hint_of_a_trial_names_flags_of_the_command_that_made_it() {
        let search = Question::Search(SearchRecord::default());
        let tune = Question::Tune(TuneRecord::default());
        let scale = Question::Scale(ScaleRecord::default());
        let longer = "measure longer (-d)";
        check(&search, longer, "measure longer (--probe)");
        check(&tune, longer, "measure longer (--probe)");
        check(&scale, longer, longer);
        let slower = "lower --rate, or split the load with --share";
        check(&search, slower, "lower --max, or split the load with --share");
        check(&tune, slower, slower);
        check(&search, "(-d, --timeout)", "(--probe, --timeout)");
    }

    #[test]
    fn the_record_of_a_search_has_its_own_hints() {
        let mut last = fixture::closed();
        let phases = last.phases.iter_mut().filter(|phase| phase.kind == PhaseKind::Measure);
        phases.for_each(|phase| phase.duration_ns = 1_000_000_000);
        last.judgments = crate::judge(&last);
        let of = |judgments: &Judgments| judgments.measurement.reasons[0].hint.clone().unwrap();
        assert_eq!(of(&last.judgments), "measure longer (-d)");
        let mark = highwater_model::search::SearchOutcome::Mark(fixture::mark(100.0, 110.0));
        let search = SearchRecord { outcome: Some(mark), ..fixture::search(Vec::new()) };
        let record = conclude(last, search, "a".to_owned());
        assert_eq!(of(&record.judgments), "measure longer (--probe)");
    }

    /// The last probe may have had the host for itself.
    #[test]
    fn a_search_names_its_probes_on_a_shared_host() {
        let mut search = fixture::search(Vec::new());
        search.outcome =
            Some(highwater_model::search::SearchOutcome::Mark(fixture::mark(100.0, 110.0)));
        search.probes = vec![fixture::probe(ProbePurpose::Search, 100.0, ProbeVerdict::Passed); 3];
        let notes = |search: &SearchRecord| {
            let record = conclude(fixture::open_gate(), search.clone(), "a".to_owned());
            let reasons = record.judgments.measurement.reasons.into_iter();
            let notes = reasons.filter(|reason| reason.code == ReasonCode::SharedHost);
            notes.map(|reason| reason.evidence).collect::<Vec<_>>()
        };
        assert_eq!(notes(&search), [""; 0]);
        search.probes[1].reasons = vec![ReasonCode::SharedHost];
        assert!(notes(&search)[0].contains("in 1 of 3 probes"), "{:?}", notes(&search));
    }
}
