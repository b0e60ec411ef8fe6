//! The kinds of results, one file each: the question that it answers, the figure that answers it, and everything
//! below.
//!
//! A kind makes a [`Report`]; it does not know the output formats. This module has the parts common to all records:
//! labels, changes, findings, and notes; and a record as one line of a list, with its answer as a figure. Must not read
//! a file or judge.

pub(crate) mod comparison;
pub(crate) mod group;
pub(crate) mod growth;
pub(crate) mod growth_comparison;
mod import;
pub(crate) mod run;
pub(crate) mod search;
pub(crate) mod size;
pub(crate) mod tuning;

use std::collections::BTreeMap;

use highwater_analysis::findings::{self, RuleFinding};
use highwater_analysis::growth::findings as growth_findings;
use highwater_analysis::judge::{MeasuredStream, measured_streams};
use highwater_model::control::Change;
use highwater_model::display::{count, foreign, paces, with_unit};
use highwater_model::judgment::Judgments;
use highwater_model::plan::Unit;
use highwater_model::record::{
    ExperimentRecord, IncidentKind, MeasuredRun, Question, RecordRef, RunRecord,
};
use highwater_sizing::batch_too_small;

use crate::answer::{Answer, HistoryAnswer, HistoryKind, short_target};
use crate::blocks::{Block, Report, Section};
use crate::events::intervention;
use crate::layout::{Remark, list};
use crate::{judgments, plots};

/// Maximum characters of a load in a list.
const LOAD: usize = 80;

/// The report of a record.
pub(crate) fn report(
    record: RecordRef<'_>,
    run: &MeasuredRun<'_>,
    measured: &[MeasuredStream<'_>],
) -> Report {
    let mut report = match record.experiment() {
        None => run::report(record, run, measured),
        Some(experiment) => of_question(run, &experiment.question),
    };
    if record.experiment().is_some() {
        report.facts.extend(changed(record));
    }
    report.answer.judgments = judgments::lines(record, measured);
    report
}

/// The report of an experiment, without judgments.
fn of_question(run: &MeasuredRun<'_>, question: &Question) -> Report {
    match question {
        Question::Search(search) => search::report(run, search),
        Question::Tune(tune) => tuning::report(run, tune),
        Question::Group(group) => group::report(run, group),
        Question::Scale(scale) => growth::report(run, scale),
    }
}

/// The target in words; of a growth, that of all sizes.
pub(crate) fn of_target(record: RecordRef<'_>, run: &MeasuredRun<'_>) -> String {
    match record.experiment().map(|of| &of.question) {
        Some(Question::Scale(scale)) => growth::of_targets(run, scale),
        _ => run::of_target(run),
    }
}

/// The answer of a run that may still be in progress.
pub(crate) fn run_answer(record: &RunRecord, measured: &[MeasuredStream<'_>]) -> Answer {
    let judgments = judgments::lines(record.into(), measured);
    Answer { judgments, ..run::answer(&record.into(), measured) }
}

/// The sections about the last run of an experiment.
pub(crate) fn last_run(run: &MeasuredRun<'_>, measured: &[MeasuredStream<'_>]) -> Vec<Section> {
    run::sections(run, measured, plots::over_time(run))
}

/// The kind of a record.
pub(crate) fn kind(record: RecordRef<'_>) -> HistoryKind {
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

/// The figure of the answer as a number, for a list of records.
pub(crate) fn value(record: RecordRef<'_>) -> Option<HistoryAnswer> {
    match record.experiment().map(|of| &of.question) {
        None => run::value(&record.measured_run()),
        Some(Question::Search(search)) => search::value(search),
        Some(Question::Tune(tune)) => tuning::value(tune),
        Some(Question::Scale(scale)) => growth::value(scale),
        Some(Question::Group(_)) => None,
    }
}

/// Maximum number of items of a kind; the record has them all.
const SHOWN: usize = 5;
/// Maximum characters of an item.
const WORDS: usize = 200;

/// The labels that the user gave; absent without any.
fn labels(record: &RunRecord) -> Option<Remark> {
    let labels = record.header.labels.iter();
    let named = list(labels.map(|(name, value)| format!("{name}={value}")), " · ");
    (!named.is_empty()).then(|| Remark::new("labels", foreign(&named, WORDS)))
}

/// Changes that the user made during the run, or the experiment.
pub(crate) fn changed(record: RecordRef<'_>) -> impl Iterator<Item = Remark> {
    // What a planned action did is said with its effect.
    let all = record.interventions().iter();
    let all = all.filter(|done| !matches!(done.change, Change::Fault { .. }));
    let all: Vec<_> = all.collect();
    Remark::listed("changed", first_of(all.into_iter().map(intervention)))
}

/// The findings of all rules.
fn found(record: RecordRef<'_>) -> impl Iterator<Item = Remark> {
    let all = findings(record).into_iter();
    let all = all.map(|of| foreign(&format!("{}: {}", of.sentence, of.evidence), WORDS));
    Remark::listed("finding", all.collect::<Vec<_>>())
}

/// The first findings of all rules, each with advice.
fn advised(record: RecordRef<'_>) -> Vec<Remark> {
    let hints = findings(record).into_iter().map(|of| Remark::new("", format!("try: {}", of.hint)));
    let found = found(record).map(|of| Remark::new("finding", of.sentence));
    found.zip(hints).take(SHOWN).flat_map(|(of, hint)| [of, hint]).collect()
}

/// What changed in the target during the run: nodes that left, copies on no node, restarts.
fn cluster_changes(record: &RunRecord) -> impl Iterator<Item = String> {
    let changes = record.incidents.iter().filter(|of| of.kind == IncidentKind::ClusterChanged);
    changes.map(|incident| foreign(&incident.message, WORDS))
}

/// Notes, and the incidents that neither a judgment nor [`cluster_changes`] contains.
fn noted(record: &RunRecord) -> impl Iterator<Item = Remark> {
    let is_noted =
        |kind: IncidentKind| kind.reason().is_none() && kind != IncidentKind::ClusterChanged;
    let incidents = record.incidents.iter().filter(|incident| is_noted(incident.kind));
    let incidents = incidents.map(|incident| incident.message.clone());
    let notes = record.notes.iter().map(|note| note.message.clone());
    Remark::listed("note", first_of(incidents.chain(notes).collect::<Vec<_>>().into_iter()))
}

/// The first items, and the number of the others.
fn first_of(all: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = all.len().saturating_sub(SHOWN);
    let rest = (more > 0).then(|| format!("and {more} more in the record"));
    all.take(SHOWN).map(|text| foreign(&text, WORDS)).chain(rest).collect()
}

/// The notes of a record, as shown in its details; for an experiment only its findings.
pub(crate) fn section(record: RecordRef<'_>) -> Section {
    let mut remarks = Vec::new();
    if record.experiment().is_none() {
        let run = record.measured_run();
        remarks.extend(labels(&run));
        remarks.extend(run::faults(&run).into_iter().map(|text| Remark::new("fault", text)));
        // Each has its label, because it is independent of the previous one.
        remarks.extend(changed(record).map(|of| Remark::new("changed", of.sentence)));
        remarks.extend(cluster_changes(&run).map(|text| Remark::new("cluster", text)));
        remarks.extend(noted(&run).map(|of| Remark::new("note", of.sentence)));
    }
    remarks.extend(advised(record));
    let blocks = vec![Block::Remarks(remarks)];
    Section { id: "notes", title: "Notes", lead: String::new(), blocks }
}

/// Findings about an experiment as a whole, and about its last run.
pub(crate) fn findings(record: RecordRef<'_>) -> Vec<RuleFinding> {
    let experiment = record.experiment();
    let of_experiment = experiment.map(of_experiment).unwrap_or_default();
    let of_run = findings::findings(&record.measured_run());
    [of_experiment, of_run].concat()
}

fn of_experiment(experiment: &ExperimentRecord) -> Vec<RuleFinding> {
    let search = experiment.search();
    let of_search = search.and_then(findings::more_sessions_less);
    let of_growth = experiment.scale().map(growth_findings);
    batch_too_small(experiment)
        .into_iter()
        .chain(of_search)
        .chain(of_growth.into_iter().flatten())
        .collect()
}

/// The text that replaces a missing figure in a list: why there is none, with the best estimate; empty if there is a
/// figure, or if nothing is known.
fn instead_of_value(record: RecordRef<'_>) -> String {
    let run = &record.measured_run();
    match record.experiment().map(|of| &of.question) {
        Some(Question::Search(search)) => search::without_mark(search),
        Some(Question::Tune(tune)) => tuning::without_best(tune),
        Some(Question::Group(group)) => {
            let Answer { figure, unit, .. } = group::report(run, group).answer;
            with_unit(&figure, &unit)
        }
        Some(Question::Scale(_)) | None => String::new(),
    }
}

/// The load of a record, in a few words: paces and batches of a run, or the setting that an
/// experiment varied.
fn load_in_short(record: RecordRef<'_>) -> String {
    let run = record.measured_run();
    let streams = &run.plan.definition.streams;
    let mut words = match record.experiment().map(|of| &of.question) {
        None => streams.iter().map(paces).collect(),
        Some(Question::Search(search)) => vec![format!("highest {}", search::varied(search.axis))],
        Some(Question::Tune(tune)) => {
            vec![list(tune.axes.iter().map(|axis| axis.name.as_str()), ", ")]
        }
        Some(Question::Group(group)) => {
            vec![list(group.variants.iter().map(|variant| variant.name.as_str()), ", ")]
        }
        Some(Question::Scale(scale)) => vec![growth::sizes_in_words(scale)],
    };
    let batches = streams.iter().filter(|of| of.unit == Unit::Rows && of.units_per_op > 1);
    words.extend(batches.map(|of| format!("batch {}", count(of.units_per_op))));
    words.dedup();
    foreign(&list(words.into_iter().filter(|word| !word.is_empty()), ", "), LOAD)
}

/// The highest p99 of an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct P99 {
    /// Nanoseconds.
    pub ns: u64,
    /// Whether it is a lower bound.
    pub is_at_least: bool,
}

impl P99 {
    fn new(ns: Option<u64>, is_at_least: bool) -> Option<Self> {
        Some(Self { ns: ns?, is_at_least })
    }
}

/// The highest p99 of an op for a record's figure; absent if there are several figures, or none.
fn p99(record: RecordRef<'_>) -> Option<P99> {
    match record.experiment().map(|of| &of.question) {
        None => {
            let run = record.measured_run();
            let measured = measured_streams(&run);
            let ns = measured.iter().filter_map(|of| of.greatest(|result| result.latency_ns.p99));
            P99::new(ns.max(), measured.iter().any(MeasuredStream::p99_at_least))
        }
        Some(Question::Search(search)) => search::p99(search),
        Some(Question::Scale(scale)) => growth::p99(scale),
        Some(Question::Tune(tune)) => tuning::p99(tune),
        Some(Question::Group(_)) => None,
    }
}

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
    /// Its load, in short: paces and batches, or the varied setting.
    pub load: String,
    /// The stated objectives as bounds; empty if there are none.
    pub objectives: String,
    /// The highest p99 of an op: for a search at its mark, for a growth at its largest
    /// size.
    pub p99: Option<P99>,
    /// `Yes:` or `No:` if a run answers that; else empty.
    pub lead: &'static str,
    /// Its answer; absent if it has none.
    pub answer: Option<HistoryAnswer>,
    /// The text that replaces a missing answer; may be empty.
    pub instead: String,
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
    pub fn from_record(record: RecordRef<'_>) -> Self {
        let header = record.header();
        let run = record.measured_run();
        Self {
            id: header.id.clone(),
            started_at: header.started_at.clone(),
            kind: kind(record),
            workload: run.plan.definition.workload.name.clone(),
            targets: run.target.urls.clone(),
            target: short_target(&run.target.version),
            definition: definition(record),
            labels: header.labels.clone(),
            load: load_in_short(record),
            objectives: judgments::objectives(&run),
            p99: p99(record),
            lead: if record.experiment().is_none() { run::yes_or_no(&run) } else { "" },
            answer: value(record),
            instead: instead_of_value(record),
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

    /// A run without an outcome, from the record with which it began.
    pub fn from_draft(id: String, draft: RecordRef<'_>) -> Self {
        Self {
            id,
            p99: None,
            lead: "",
            answer: None,
            instead: "ended without a record".to_owned(),
            judgments: None,
            has_draft: true,
            ..Self::from_record(draft)
        }
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
