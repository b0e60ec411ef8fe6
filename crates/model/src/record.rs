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
    EstimateRecord, FailureRecord, Histograms, HostRecord, IntervalRecord, MeetingRecord,
    MemoryRecord, OWN_SETTING, PhaseRecord, PlanRecord, RecoveryRecord, ResultRecord, RowCounts,
    RunNote, RunRecord, STALL_NS, SchedulingClass, StallKind, StallRecord, Steadiness,
    StreamRecord, TABLE_SETTING, TableRecord, TableStart, TargetRecord, TelemetrySample,
    ThroughputRecord, WINDOW_NS, Windows, WorkloadRecord,
};

/// A stored record.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// One run, or the merged shares of one.
    Run(Box<RunRecord>),
    /// An experiment: several runs that answer one question.
    Experiment(Box<ExperimentRecord>),
    /// A result of another tool, imported.
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

    /// Incidents that cut it short or left part of it incomplete.
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

/// An experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExperimentRecord {
    /// The header that all records have.
    #[serde(flatten)]
    pub header: Header,
    /// The judgments of the experiment as a whole.
    pub judgments: Judgments,
    /// Events that cut the experiment short or left part of it incomplete; the judgments take them into account.
    pub incidents: Vec<Incident>,
    /// The user's interventions during the experiment: pauses between trials, including those of its nested
    /// experiments. Times count from the start of the experiment or, if it was
    /// resumed, from the resumption.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interventions: Vec<InterventionRecord>,
    /// The question with the trials that were made and the answer.
    pub question: Question,
    /// Time that its runs spent filling tables, in nanoseconds.
    #[serde(default, skip_serializing_if = "is_default")]
    pub loaded_ns: u64,
    /// The last run of the experiment. For a search that found a mark, this is the last confirmation or the soak.
    pub last_run: Box<RunRecord>,
}

/// The question that an experiment answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Which highest value meets an objective.
    Search(SearchRecord),
    /// Which settings are best.
    Tune(TuneRecord),
    /// Whether variants differ.
    Group(GroupRecord),
    /// How throughput scales with the number of nodes.
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

/// A result of another tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedRecord {
    /// The tool and the fields that its output lacks.
    pub origin: ImportRecord,
    /// The tool's figures, in the form of a run.
    #[serde(flatten)]
    pub run: RunRecord,
}

/// Another tool's output as the origin of a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportRecord {
    /// Name of the tool.
    pub tool: String,
    /// Version of the tool; absent if its output does not state it.
    pub version: Option<String>,
    /// Imported files: the name without its directory, and what the file contains.
    pub files: Vec<[String; 2]>,
    /// The point in time from which the tool measures latency.
    pub begin: LatencyBegin,
    /// The load model that set the pace.
    pub pace: ImportedPace,
    /// Fields that the output does not report. The record's figures for them are empty.
    #[serde(alias = "untold")]
    pub missing_fields: BTreeSet<MissingField>,
    /// Problems that affect the figures: files that cover only part of the measurement or contradict each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
}

/// The point in time from which a tool measures latency.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LatencyBegin {
    /// The intended start; waiting before the op is sent counts.
    Intended,
    /// The moment of sending; waiting before it does not count.
    Sent,
    /// Not reported by the output.
    #[serde(alias = "untold")]
    #[default]
    NotReported,
}

/// The load model of an imported result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportedPace {
    /// Open load: random arrivals at a given rate.
    Open,
    /// Closed load: each session sends its next op when the previous one completes.
    Closed,
    /// Not reported by the output.
    #[serde(alias = "untold")]
    #[default]
    NotReported,
}

/// A field that another tool's output does not report.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MissingField {
    /// Number of ops intended and sent.
    Offered,
    /// Number of ops acknowledged; the reported count includes failed ops.
    Acknowledged,
    /// Number and causes of failed ops.
    Errors,
    /// Duration of the measurement, and therefore throughput.
    Throughput,
    /// Latency.
    Latency,
    /// Latency distribution; only some percentiles are reported.
    Distribution,
    /// Figures per second.
    Seconds,
    /// Times without responses.
    Availability,
    /// Number of sessions.
    Sessions,
    /// Requested rate.
    Rate,
    /// Start time.
    Start,
    /// The target.
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

/// The header of a record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Header {
    /// Version of the record format, [`RECORD_SCHEMA`].
    pub schema: String,
    /// Name of the directory of the run or experiment.
    pub id: String,
    /// The version of Highwater that measured or imported.
    pub highwater: ProgramRecord,
    /// Wall-clock time at the start of the first phase, RFC 3339, UTC.
    pub started_at: String,
    /// The machine and its operating system.
    pub environment: BTreeMap<String, String>,
    /// Labels given with `--label`.
    pub labels: BTreeMap<String, String>,
    /// The command that created the record.
    pub command: CommandRecord,
    /// Whether people other than its user may have written the input. Nothing from such input is suggested as a
    /// command.
    #[serde(skip)]
    pub is_of_others: bool,
    /// The settings file in the working directory; absent if it set nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings_file: Option<String>,
}

impl Header {
    /// The URLs of a run's targets. A file in the directory of this record is a database that was made for it: of that,
    /// only the scheme, which makes another one.
    pub fn targets(&self, run: &RunRecord) -> Vec<String> {
        let urls = run.target.urls.iter().map(|url| match url.split_once(':') {
            Some((scheme, rest)) if !self.id.is_empty() && rest.contains(&self.id) => {
                format!("{scheme}:")
            }
            _ => url.clone(),
        });
        urls.collect()
    }
}

/// The command that created a record, as its settings. Running it again makes the same measurement.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRecord {
    /// `run`, `load`, `find`, `tune`, or `scale`; empty for imported results.
    pub name: String,
    /// The effective values, by long flag name, `workload`, or `target`. Settings that affect only output are omitted,
    /// and so are passwords.
    pub settings: BTreeMap<String, Vec<SettingRecord>>,
}

/// A value of a setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingRecord {
    /// The value as given; absent for a switch that is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The origin of the value.
    pub origin: SettingOrigin,
}

/// The origin of a setting's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingOrigin {
    /// Built-in default.
    Default,
    /// A settings file.
    File,
    /// An environment variable.
    Environment,
    /// The tuning that `--tuned` names.
    Tuned,
    /// The command line.
    CommandLine,
    /// Highwater, from what it observed: the nodes of a cluster, or the first index of existing rows.
    Derived,
    /// The experiment, for one of its trials; replaces the other values.
    Trial,
}

impl CommandRecord {
    /// The values of a setting that applied to the run: those of its trial if any, otherwise all.
    pub fn in_force(&self, name: &str) -> impl Iterator<Item = &SettingRecord> {
        let all = self.settings.get(name).map_or(&[][..], Vec::as_slice);
        let is_of_trial = |setting: &SettingRecord| setting.origin == SettingOrigin::Trial;
        let has_own = all.iter().any(is_of_trial);
        all.iter().filter(move |setting| !has_own || is_of_trial(setting))
    }

    /// This command as it ran in one of its trials, with the settings of `trial`.
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
