//! A record as one line of a list: what it was of, and its answer as a figure. Must not read a file, nor judge.

use std::collections::BTreeMap;

use highwater_analysis::judge::measured_streams;
use highwater_model::judgment::Judgments;
use highwater_model::plan::Unit;
use highwater_model::record::{Question, RecordRef};
use highwater_model::search::{SearchAxis, SearchOutcome};
use highwater_model::tune::TuneOutcome;

use crate::answer::main_stream;

/// A stored run or experiment in a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistoryRow {
    /// Name of its directory.
    pub id: String,
    /// Wall clock at its begin, RFC 3339, UTC.
    pub started_at: String,
    /// What it is.
    pub kind: HistoryKind,
    /// Name of its workload.
    pub workload: String,
    /// Where its target was; of an experiment that of its last run.
    pub targets: Vec<String>,
    /// What the target was.
    pub target: String,
    /// Equal where runs differ in nothing that was planned but the seed; of experiments also but for the paces, which
    /// they search for.
    pub definition: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its answer; absent where it has none.
    pub answer: Option<HistoryAnswer>,
    /// What to make of it; absent where it did not end.
    pub judgments: Option<Judgments>,
    /// How far it is; absent where it does not go on.
    pub progress: Option<HistoryProgress>,
    /// Without a record it can be shown nevertheless, as far as it came.
    pub has_draft: bool,
}

/// How far a run is that goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryProgress {
    /// Of an experiment: which of its trials runs, from 1.
    pub trial: Option<u32>,
    /// Name of the phase; empty before the first.
    pub phase: String,
    /// Since the start of the first phase.
    pub second: u64,
    /// How long the phases take, if nothing ends them earlier.
    pub of_s: u64,
}

/// What a record is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HistoryKind {
    /// One run.
    Run,
    /// A search for the mark.
    Search,
    /// A tuning.
    Tuning,
    /// Runs of variants.
    Group,
    /// A growth.
    Growth,
    /// What another tool measured.
    Imported,
    /// A run that goes on, or ended without a record.
    #[default]
    WithoutRecord,
}

/// A figure that answers a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistoryAnswer {
    /// Units per second, unless it is a number of sessions.
    pub value: f64,
    /// Where that lies with confidence; absent where it is not known.
    pub interval: Option<[f64; 2]>,
    /// What it counts; absent of sessions.
    pub unit: Option<Unit>,
}

impl HistoryAnswer {
    /// What stands beside the figure.
    pub(crate) fn unit_beside(self) -> String {
        let unit = self.unit;
        unit.map_or("sessions".to_owned(), |unit| format!("{}/s", unit.name()))
    }
}

impl HistoryKind {
    /// In a list.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Search => "find",
            Self::Tuning => "tune",
            Self::Group => "group",
            Self::Growth => "scale",
            Self::Imported => "imported",
            Self::WithoutRecord => "no record yet",
        }
    }
}

impl HistoryRow {
    /// The line of a record.
    pub fn of(record: RecordRef<'_>) -> Self {
        let header = record.header();
        let run = record.measured_run();
        Self {
            id: header.id.clone(),
            started_at: header.started_at.clone(),
            kind: kind(record),
            workload: run.plan.definition.workload.name.clone(),
            targets: run.target.urls.clone(),
            target: run.target.version.clone(),
            definition: definition(record),
            labels: header.labels.clone(),
            answer: answer(record),
            judgments: Some(record.judgments().clone()),
            progress: None,
            has_draft: false,
        }
    }

    /// Whether another one has an answer to the same question: of the same kind, workload and target, in the same unit.
    pub fn is_same_question(&self, other: &Self) -> bool {
        self.question() == other.question()
    }

    /// What runs have in common whose answers may be held against each other.
    pub(crate) fn question(&self) -> [&str; 4] {
        let (workload, target) = (self.workload.as_str(), self.target.as_str());
        [self.kind.name(), workload, target, self.unit_name()]
    }

    /// What its answer counts; empty without one.
    pub fn unit_name(&self) -> &'static str {
        match self.answer {
            None => "",
            Some(answer) => answer.unit.map_or("sessions", Unit::name),
        }
    }

    /// Whether there is something to open: a record, a run that goes on, or what one left.
    pub fn has_page(&self) -> bool {
        self.judgments.is_some() || self.progress.is_some() || self.has_draft
    }

    /// A directory without a record.
    pub fn without_record(id: String) -> Self {
        Self { id, ..Self::default() }
    }
}

fn kind(record: RecordRef<'_>) -> HistoryKind {
    match record {
        RecordRef::Run(_) => HistoryKind::Run,
        RecordRef::Imported(_) => HistoryKind::Imported,
        RecordRef::Experiment(of) => match of.question {
            Question::Search(_) => HistoryKind::Search,
            Question::Tune(_) => HistoryKind::Tuning,
            Question::Group(_) => HistoryKind::Group,
            Question::Scale(_) => HistoryKind::Growth,
        },
    }
}

fn definition(record: RecordRef<'_>) -> String {
    let mut plan = record.measured_run().plan.definition.clone();
    if record.experiment().is_some() {
        plan.phases.clear();
        for stream in &mut plan.streams {
            stream.paces.clear();
            stream.sessions = 0;
        }
    }
    plan.unseeded_hash()
}

fn answer(record: RecordRef<'_>) -> Option<HistoryAnswer> {
    let (value, interval, unit) = match record.experiment().map(|of| &of.question) {
        None => {
            let run = record.measured_run();
            let measured = measured_streams(&run);
            let main = main_stream(&measured)?;
            let stream = main.stream;
            let unit = Some(stream.unit);
            (main.units_per_s(), stream.throughput.ci95, unit)
        }
        Some(Question::Search(search)) => {
            let SearchOutcome::Mark(mark) = search.outcome.as_ref()? else {
                return None;
            };
            let interval = mark.estimate.map(|of| [of.low90, of.high90]);
            let unit = (search.policy.axis == SearchAxis::Rate).then_some(search.unit);
            (mark.confirmed, interval, unit)
        }
        Some(Question::Tune(tune)) => {
            let TuneOutcome::Best(best) = tune.outcome.as_ref()? else {
                return None;
            };
            let last = tune.trials.iter().rfind(|trial| trial.at == best.at)?;
            (last.throughput_per_s, None, Some(tune.unit))
        }
        Some(Question::Scale(scale)) => {
            let counted = scale.trials.iter().max_by_key(|trial| trial.size.nodes)?;
            let figures = &counted.figures;
            (figures.per_s, figures.interval, Some(scale.unit))
        }
        Some(Question::Group(_)) => return None,
    };
    Some(HistoryAnswer { value, interval, unit })
}
