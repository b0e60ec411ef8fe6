//! The origin of figures that another tool measured: a part of the record. Must not judge them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_record::RunRecord;

/// What another tool measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedRecord {
    /// Which tool measured, and what it does not report.
    pub origin: ImportRecord,
    /// What it tells, as a run of ours would.
    #[serde(flatten)]
    pub run: RunRecord,
}

/// Another tool's output as the origin of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportRecord {
    /// Which tool measured.
    pub tool: String,
    /// Its version, where its output says so.
    pub version: Option<String>,
    /// Names of the files, without their directories, each with what it is.
    pub files: Vec<[String; 2]>,
    /// Where latency begins.
    pub begin: LatencyBegin,
    /// Who set the pace.
    pub pace: ImportedPace,
    /// What the output does not report, so that the record's figures for it are empty.
    #[serde(alias = "untold")]
    pub missing_fields: BTreeSet<MissingField>,
    /// What changes the figures: the files hold a part of what was measured, or contradict each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
}

/// Where a tool's latency begins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LatencyBegin {
    /// At the intended start: waiting counts.
    Intended,
    /// At the sending: waiting before it does not count.
    Sent,
    /// The output does not report it.
    #[serde(alias = "untold")]
    #[default]
    NotReported,
}

/// Who set the pace of what was imported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportedPace {
    /// Arrivals at random at a rate.
    Open,
    /// Each session sent its next op when the previous one was completed.
    Closed,
    /// The output does not report it.
    #[serde(alias = "untold")]
    #[default]
    NotReported,
}

/// What an output does not report.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MissingField {
    /// How many ops were intended and sent.
    Offered,
    /// How many were acknowledged: those that failed are among them.
    Acknowledged,
    /// How many failed, and why.
    Errors,
    /// How long it was measured, and so how much a second.
    Throughput,
    /// How long anything took.
    Latency,
    /// The distribution: some percentiles are there, and nothing between them.
    Distribution,
    /// What happened in which second.
    Seconds,
    /// Whether there was a time without responses.
    Availability,
    /// How many sessions sent ops.
    Sessions,
    /// The requested rate.
    Rate,
    /// When it began.
    Start,
    /// Which target it was.
    Target,
}

impl MissingField {
    /// The phrase for lists in sentences.
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Offered => "how many ops were intended and sent",
            Self::Acknowledged => "how many ops failed, which are counted as done",
            Self::Errors => "errors",
            Self::Throughput => "how long it measured, and so the throughput",
            Self::Latency => "latency",
            Self::Distribution => "the distribution between the percentiles that it prints",
            Self::Seconds => "the figures over time",
            Self::Availability => "times without responses",
            Self::Sessions => "the number of sessions",
            Self::Rate => "the requested rate",
            Self::Start => "when it began",
            Self::Target => "the target",
        }
    }
}

impl ImportRecord {
    /// The tool with its version.
    pub fn tool_and_version(&self) -> String {
        match &self.version {
            Some(version) => format!("{} {version}", self.tool),
            None => self.tool.clone(),
        }
    }

    /// Whether the output lacks this field.
    pub fn leaves_out(&self, what: MissingField) -> bool {
        self.missing_fields.contains(&what)
    }
}
