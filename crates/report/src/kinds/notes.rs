//! What every record has besides its figures: labels, changes, findings, and notes. Must not judge.

use highwater_analysis::findings::{self, RuleFinding};
use highwater_analysis::growth;
use highwater_model::display::foreign;
use highwater_model::record::{ExperimentRecord, IncidentKind, RecordRef, RunRecord};
use highwater_sizing::batch_too_small;

use crate::blocks::{Block, Section};
use crate::events::intervention;
use crate::layout::{Remark, list};

/// Maximum number of items of a kind; the record has them all.
const SHOWN: usize = 5;
/// Maximum characters of an item.
const WORDS: usize = 200;

/// The labels that the user gave; absent without any.
pub(super) fn labels(record: &RunRecord) -> Option<Remark> {
    let labels = record.header.labels.iter();
    let named = list(labels.map(|(name, value)| format!("{name}={value}")), " · ");
    (!named.is_empty()).then(|| Remark::new("labels", foreign(&named, WORDS)))
}

/// Changes that the user made during the run, or the experiment.
pub(crate) fn changed(record: RecordRef<'_>) -> impl Iterator<Item = Remark> {
    let all = record.interventions().iter();
    Remark::listed("changed", first_of(all.map(intervention)))
}

/// The findings of all rules.
pub(super) fn found(record: RecordRef<'_>) -> impl Iterator<Item = Remark> {
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
pub(super) fn cluster_changes(record: &RunRecord) -> impl Iterator<Item = String> {
    let changes = record.incidents.iter().filter(|of| of.kind == IncidentKind::ClusterChanged);
    changes.map(|incident| foreign(&incident.message, WORDS))
}

/// Notes, and the incidents that neither a judgment nor [`cluster_changes`] contains.
pub(super) fn noted(record: &RunRecord) -> impl Iterator<Item = Remark> {
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

/// The notes of a record, as its details show them: of an experiment only its findings.
pub(crate) fn section(record: RecordRef<'_>) -> Section {
    let mut remarks = Vec::new();
    if record.experiment().is_none() {
        let run = record.measured_run();
        remarks.extend(labels(&run));
        // Each has its label: it is not about the one before.
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
    let of_growth = experiment.scale().map(growth::findings);
    batch_too_small(experiment)
        .into_iter()
        .chain(of_search)
        .chain(of_growth.into_iter().flatten())
        .collect()
}
