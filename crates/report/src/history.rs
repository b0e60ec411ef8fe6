//! A record as one line of a list: its kind and subject, and its answer as a figure. Must not read a file or judge.

use std::collections::BTreeMap;

use highwater_model::judgment::Judgments;
use highwater_model::plan::Unit;
use highwater_model::record::RecordRef;

use crate::answer::{HistoryAnswer, HistoryKind, short_target};
use crate::kinds;

/// A stored run or experiment in a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HistoryRow {
    /// Name of its directory.
    pub id: String,
    /// Wall-clock time of the start, RFC 3339, UTC.
    pub started_at: String,
    /// Kind of the record.
    pub kind: HistoryKind,
    /// Name of its workload.
    pub workload: String,
    /// URLs of the target; for an experiment, those of its last run.
    pub targets: Vec<String>,
    /// Name and version of the target, in short.
    pub target: String,
    /// Equal if the plans differ only in the seed, and for experiments also in the paces that they vary.
    pub definition: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its answer; absent if it has none.
    pub answer: Option<HistoryAnswer>,
    /// Its judgments; absent if it did not end.
    pub judgments: Option<Judgments>,
    /// Its progress; absent if it is not in progress.
    pub progress: Option<HistoryProgress>,
    /// Whether it can be shown up to its last state although it has no record.
    pub has_draft: bool,
}

/// Progress of a running run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryProgress {
    /// For an experiment: number of the current trial, from 1.
    pub trial: Option<u32>,
    /// Name of the phase; empty before the first.
    pub phase: String,
    /// Seconds since the start of the first phase.
    pub second: u64,
    /// Planned seconds of all phases, if nothing ends them earlier.
    pub of_s: u64,
}

impl HistoryRow {
    /// The line of a record.
    pub fn of(record: RecordRef<'_>) -> Self {
        let header = record.header();
        let run = record.measured_run();
        Self {
            id: header.id.clone(),
            started_at: header.started_at.clone(),
            kind: kinds::kind(record),
            workload: run.plan.definition.workload.name.clone(),
            targets: run.target.urls.clone(),
            target: short_target(&run.target.version),
            definition: definition(record),
            labels: header.labels.clone(),
            answer: kinds::value(record),
            judgments: Some(record.judgments().clone()),
            progress: None,
            has_draft: false,
        }
    }

    /// Whether both answer the same question: the same kind, workload, target, and unit.
    pub fn is_same_question(&self, other: &Self) -> bool {
        self.question() == other.question()
    }

    /// The properties that runs must share for their answers to be comparable.
    pub(crate) fn question(&self) -> [&str; 4] {
        let (workload, target) = (self.workload.as_str(), self.target.as_str());
        [self.kind.name(), workload, target, self.unit_name()]
    }

    /// The unit of its answer; empty without an answer.
    pub fn unit_name(&self) -> &'static str {
        match self.answer {
            None => "",
            Some(answer) => answer.unit.map_or("sessions", Unit::name),
        }
    }

    /// Whether there is something to open: a record, a running run, or the remains of one.
    pub fn has_page(&self) -> bool {
        self.judgments.is_some() || self.progress.is_some() || self.has_draft
    }

    /// A directory without a record.
    pub fn without_record(id: String) -> Self {
        Self { id, ..Self::default() }
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
