//! The stored record of a run, an experiment, or another tool's output: `record.json`.
//!
//! A common header and a part specific to its kind; the JSON Schema is generated from here. Readers take only the part
//! that they need.

use std::ops::Deref;

use schemars::JsonSchema;
use serde::Serialize;

pub use super::audit_record::{
    AuditExample, AuditRecord, AuditStatus, Expectation, ExpectedBucket, Fault, FoundBucket,
    InvariantRecord, Resolved,
};
pub use super::control::{Change, InterventionRecord};
pub use super::experiment_record::{ExperimentRecord, Question};
pub use super::header::{Header, ProgramRecord, RECORD_SCHEMA};
pub use super::import_record::{ImportRecord, ImportedRecord};
pub use super::incident::{Ended, Incident, IncidentKind};
pub use super::result_record::{
    AnsweredRecord, FailureRecord, Histograms, ResultRecord, RowCounts, Steadiness, StreamRecord,
    ThroughputRecord, WINDOW_NS, Windows,
};
pub use super::run_record::{
    AvailabilityRecord, CeilingBound, ClientRecord, CpuQuota, DiskRecord, EstimateRecord,
    HostRecord, IntervalRecord, MemoryRecord, OWN_SETTING, PhaseRecord, PlanRecord, RecoveryRecord,
    RunNote, RunRecord, STALL_NS, SchedulingClass, StallKind, StallRecord, TABLE_SETTING,
    TableRecord, TableStart, TargetRecord, TelemetrySample, WorkloadRecord,
};

use super::judgment::Judgments;

/// A stored record.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// One run, or the shares of one put together.
    Run(Box<RunRecord>),
    /// Several runs that answer a question.
    Experiment(Box<ExperimentRecord>),
    /// What another tool measured.
    Imported(Box<ImportedRecord>),
}

/// A read-only record; its JSON is that of the record.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RecordRef<'a> {
    /// See [`Record::Run`].
    Run(&'a RunRecord),
    /// See [`Record::Experiment`].
    Experiment(&'a ExperimentRecord),
    /// See [`Record::Imported`].
    Imported(&'a ImportedRecord),
}

impl<'a> RecordRef<'a> {
    /// The header of the record.
    pub fn header(self) -> &'a Header {
        let run = self.measured_run().run;
        self.experiment().map_or(&run.header, |of| &of.header)
    }

    /// The judgments.
    pub fn judgments(self) -> &'a Judgments {
        let run = self.measured_run().run;
        self.experiment().map_or(&run.judgments, |of| &of.judgments)
    }

    /// Incidents that cut it short.
    pub fn incidents(self) -> &'a [Incident] {
        let run = self.measured_run().run;
        self.experiment().map_or(&run.incidents, |of| &of.incidents)
    }

    /// The user's interventions during the run.
    pub fn interventions(self) -> &'a [InterventionRecord] {
        let run = self.measured_run().run;
        self.experiment().map_or(&run.interventions, |of| &of.interventions)
    }

    /// The experiment, if it is one.
    pub fn experiment(self) -> Option<&'a ExperimentRecord> {
        match self {
            Self::Experiment(experiment) => Some(experiment),
            Self::Run(_) | Self::Imported(_) => None,
        }
    }

    /// The run; for an experiment, the last one.
    pub fn measured_run(self) -> MeasuredRun<'a> {
        match self {
            Self::Run(run) => run.into(),
            Self::Experiment(experiment) => (&*experiment.last_run).into(),
            Self::Imported(imported) => {
                MeasuredRun { run: &imported.run, origin: Some(&imported.origin) }
            }
        }
    }
}

impl Record {
    /// The run, if Highwater measured it.
    pub fn run(&self) -> Option<&RunRecord> {
        match self {
            Self::Run(run) => Some(run),
            Self::Experiment(_) | Self::Imported(_) => None,
        }
    }

    /// The same, by value.
    pub fn into_run(self) -> Option<RunRecord> {
        match self {
            Self::Run(run) => Some(*run),
            Self::Experiment(_) | Self::Imported(_) => None,
        }
    }

    /// The experiment, if it is one, by value.
    pub fn into_experiment(self) -> Option<ExperimentRecord> {
        match self {
            Self::Experiment(experiment) => Some(*experiment),
            Self::Run(_) | Self::Imported(_) => None,
        }
    }

    /// The header of the record.
    pub fn header(&self) -> &Header {
        RecordRef::from(self).header()
    }

    /// The same, mutable.
    pub fn header_mut(&mut self) -> &mut Header {
        match self {
            Self::Run(run) => &mut run.header,
            Self::Experiment(experiment) => &mut experiment.header,
            Self::Imported(imported) => &mut imported.run.header,
        }
    }
}

impl<'a> From<&'a Record> for RecordRef<'a> {
    fn from(record: &'a Record) -> Self {
        match record {
            Record::Run(run) => Self::Run(run),
            Record::Experiment(experiment) => Self::Experiment(experiment),
            Record::Imported(imported) => Self::Imported(imported),
        }
    }
}

impl<'a> From<&'a RunRecord> for RecordRef<'a> {
    fn from(run: &'a RunRecord) -> Self {
        Self::Run(run)
    }
}

impl<'a> From<&'a ExperimentRecord> for RecordRef<'a> {
    fn from(experiment: &'a ExperimentRecord) -> Self {
        Self::Experiment(experiment)
    }
}

impl<'a> From<&'a ImportedRecord> for RecordRef<'a> {
    fn from(imported: &'a ImportedRecord) -> Self {
        Self::Imported(imported)
    }
}

/// The figures of a run, whichever tool measured it.
#[derive(Debug, Clone, Copy)]
pub struct MeasuredRun<'a> {
    /// The figures.
    pub run: &'a RunRecord,
    /// The origin, if another tool measured them: some figures are then empty.
    pub origin: Option<&'a ImportRecord>,
}

impl<'a> From<&'a RunRecord> for MeasuredRun<'a> {
    fn from(run: &'a RunRecord) -> Self {
        Self { run, origin: None }
    }
}

impl Deref for MeasuredRun<'_> {
    type Target = RunRecord;

    fn deref(&self) -> &RunRecord {
        self.run
    }
}
