//! The record of an experiment: its definition with the trials and the outcome, and its judgments.
//!
//! Each trial is a run or an experiment with a separate record, below the experiment's directory. Must not hold figures
//! of runs; the last run is kept whole.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::control::InterventionRecord;
use super::group::GroupRecord;
use super::header::Header;
use super::incident::Incident;
use super::judgment::Judgments;
use super::run_record::RunRecord;
use super::scale::ScaleRecord;
use super::search::SearchRecord;
use super::tune::TuneRecord;
use super::units::is_default;

/// One experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentRecord {
    /// What all records begin with.
    #[serde(flatten)]
    pub header: Header,
    /// What to make of the whole.
    pub judgments: Judgments,
    /// What cut it short; judgments read it.
    pub incidents: Vec<Incident>,
    /// What its user did to it while it went on: pauses between two trials, those of its nested experiments included.
    /// Their times count from its begin, and behind a resumption from that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interventions: Vec<InterventionRecord>,
    /// What it is to answer, what was tried, and the answer.
    pub question: Question,
    /// Of the time of its runs, what filling tables took, nanoseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loaded_ns: u64,
    /// The last run of it: of a search that found a mark the last confirmation or the soak.
    pub last_run: Box<RunRecord>,
}

/// What an experiment is to answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// The highest value that meets an objective.
    Search(SearchRecord),
    /// The best setting.
    Tune(TuneRecord),
    /// Whether variants differ.
    Group(GroupRecord),
    /// How a target grows with its nodes.
    Scale(ScaleRecord),
}

impl ExperimentRecord {
    /// The search; absent for another kind of experiment.
    pub fn search(&self) -> Option<&SearchRecord> {
        match &self.question {
            Question::Search(search) => Some(search),
            Question::Tune(_) | Question::Group(_) | Question::Scale(_) => None,
        }
    }

    /// The tuning; absent for another kind of experiment.
    pub fn tune(&self) -> Option<&TuneRecord> {
        match &self.question {
            Question::Tune(tune) => Some(tune),
            Question::Search(_) | Question::Group(_) | Question::Scale(_) => None,
        }
    }

    /// The group of runs; absent for another kind of experiment.
    pub fn group(&self) -> Option<&GroupRecord> {
        match &self.question {
            Question::Group(group) => Some(group),
            Question::Search(_) | Question::Tune(_) | Question::Scale(_) => None,
        }
    }

    /// The growth; absent for another kind of experiment.
    pub fn scale(&self) -> Option<&ScaleRecord> {
        match &self.question {
            Question::Scale(scale) => Some(scale),
            Question::Search(_) | Question::Tune(_) | Question::Group(_) => None,
        }
    }
}
