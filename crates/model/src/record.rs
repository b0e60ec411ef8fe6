//! The stored record of a run, an experiment, or another tool's output: `record.json`.
//!
//! A common header (format version, ID, and who measured when and where) and a part specific to its kind; the JSON
//! Schema is generated from here. Readers take only the part that they need. Must not hold figures of an experiment's
//! runs: each is a record below the experiment's directory; only the last run is kept whole.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::group::GroupRecord;
use super::judgment::Judgments;
use super::scale::ScaleRecord;
use super::search::SearchRecord;
use super::tune::TuneRecord;
use super::units::is_default;

pub use super::audit_record::{
    AuditExample, AuditRecord, AuditStatus, Expectation, ExpectedBucket, Fault, FoundBucket,
    InvariantRecord, ResolvedBatches,
};
pub use super::control::{Change, InterventionRecord};
pub use super::judgment::{Incident, IncidentKind, RunEnding};
pub use super::run_record::{
    AnsweredRecord, AvailabilityRecord, CeilingBound, ClientRecord, CpuQuota, DiskRecord,
    EstimateRecord, FailureRecord, Histograms, HostRecord, IntervalRecord, MemoryRecord,
    OWN_SETTING, PhaseRecord, PlanRecord, RecoveryRecord, ResultRecord, RowCounts, RunNote,
    RunRecord, STALL_NS, SchedulingClass, StallKind, StallRecord, Steadiness, StreamRecord,
    TABLE_SETTING, TableRecord, TableStart, TargetRecord, TelemetrySample, ThroughputRecord,
    WINDOW_NS, Windows, WorkloadRecord,
};

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

impl Question {
    /// Whether it has an outcome; while the experiment runs, and after it was killed, it has none.
    pub const fn is_ended(&self) -> bool {
        match self {
            Self::Search(of) => of.outcome.is_some(),
            Self::Tune(of) => of.outcome.is_some(),
            Self::Group(of) => of.outcome.is_some(),
            Self::Scale(of) => of.outcome.is_some(),
        }
    }
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

/// Version of the record format.
pub const RECORD_SCHEMA: &str = "highwater-record/2";

/// The beginning of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// [`RECORD_SCHEMA`].
    pub schema: String,
    /// Name of the directory of the run or the experiment.
    pub id: String,
    /// Who measured, or read what another tool measured.
    pub highwater: ProgramRecord,
    /// Wall clock at the start of the first phase, RFC 3339, UTC.
    pub started_at: String,
    /// Machine and system.
    pub environment: BTreeMap<String, String>,
    /// What the user noted with `--label`.
    pub labels: BTreeMap<String, String>,
    /// The command that made it.
    pub command: CommandRecord,
    /// Others than its user can have written what was read. Nothing of it is proposed as a command.
    #[serde(skip)]
    pub is_of_others: bool,
    /// The working directory's file of settings, where it decided anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_file: Option<String>,
}

/// The command that made a record, by its settings. Repeated, it measures the same.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRecord {
    /// `run`, `load`, `find`, `tune`, or `scale`; empty for what another tool measured.
    pub name: String,
    /// The values that decided, by long flag, `workload`, or `target`. What is only about output is left out, and so
    /// are passwords.
    pub settings: BTreeMap<String, Vec<SettingRecord>>,
}

/// A value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingRecord {
    /// As it was given; absent for a switch, which is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Where it is from.
    pub origin: SettingOrigin,
}

/// Where the value of a setting is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingOrigin {
    /// Built in.
    Default,
    /// A file of settings.
    File,
    /// The environment.
    Environment,
    /// The tuning that `--tuned` names.
    Tuned,
    /// The command line.
    CommandLine,
    /// Highwater, by observation: the nodes of a cluster, the begin of existing rows.
    Derived,
    /// The experiment, for one of its trials, in place of the other values.
    Trial,
}

impl CommandRecord {
    /// The values of a setting that the run had: those of its trial, else all.
    pub fn in_force(&self, name: &str) -> impl Iterator<Item = &SettingRecord> {
        let all = self.settings.get(name).map_or(&[][..], Vec::as_slice);
        let is_of_trial = |setting: &SettingRecord| setting.origin == SettingOrigin::Trial;
        let has_own = all.iter().any(is_of_trial);
        all.iter().filter(move |setting| !has_own || is_of_trial(setting))
    }

    /// This command in one of its trials, whose settings are `trial`'s.
    #[must_use]
    pub fn in_trial(&self, trial: Self) -> Self {
        let mut command = self.clone();
        for (name, own) in trial.settings {
            let values = || own.iter().map(|setting| &setting.value);
            if !self.in_force(&name).map(|setting| &setting.value).eq(values()) {
                let origin = SettingOrigin::Trial;
                let all = command.settings.entry(name).or_default();
                all.retain(|setting| setting.origin != origin);
                all.extend(own.into_iter().map(|setting| SettingRecord { origin, ..setting }));
            }
        }
        command
    }
}

/// The program that measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProgramRecord {
    /// Its version.
    pub version: String,
}
