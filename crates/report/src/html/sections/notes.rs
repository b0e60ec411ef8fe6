//! Findings, notes, and the next commands.

use maud::{Markup, html};

use crate::answer::{Answer, plural};
use crate::events::intervention;
use crate::findings::findings as rules;
use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::foreign;
use highwater_model::record::RecordRef;
use highwater_next::{again, next_command};

use super::super::kept::sentence;
use super::super::page::Part;

/// Maximum characters of a finding.
const WORDS: usize = 600;

pub(in crate::html) fn findings(record: RecordRef<'_>) -> Part {
    let findings = rules(record);
    let run = record.measured_run();
    let incidents = record.incidents().iter().map(|incident| &incident.message);
    let notes = run.notes.iter().map(|note| &note.message);
    let changes: Vec<String> = record.interventions().iter().map(intervention).collect();
    let notes: Vec<&String> = incidents.chain(notes).chain(&changes).collect();
    Part {
        id: "findings",
        title: "Findings",
        abstract_line: match (findings.as_slice(), notes.len()) {
            ([first], _) => foreign(&first.sentence, WORDS),
            ([first, others @ ..], _) => {
                let first = foreign(&first.sentence, WORDS);
                format!("{first}; and {} more", others.len())
            }
            ([], 0) => "none".to_owned(),
            ([], some) => plural(some, "note"),
        },
        body: html! {
            @if findings.is_empty() && notes.is_empty() {
                p { "None: no rule found evidence." }
            }
            @for finding in &findings {
                article class="finding" {
                    h3 { (sentence(&foreign(&finding.sentence, WORDS))) }
                    p { (sentence(&foreign(&finding.evidence, WORDS))) }
                    p class="hint" { "Try: " (sentence(finding.hint)) }
                }
            }
            @if !notes.is_empty() {
                ul class="noted" {
                    @for note in &notes {
                        li { (sentence(&foreign(note, WORDS))) }
                    }
                }
            }
        },
    }
}

/// The command that repeats the run, and the next command.
pub(in crate::html) fn repeat(
    record: RecordRef<'_>,
    measured: &[MeasuredStream<'_>],
    answer: &Answer,
) -> Part {
    // A run of another tool can only be repeated by that tool.
    let is_imported = matches!(record, RecordRef::Imported(_));
    let is_ours = !is_imported && !record.header().is_of_others;
    let again = is_ours.then(|| ("The same again:", again(record)));
    let next = next_command(record, measured, &record.header().id);
    let commands = again.into_iter().chain(next.map(|next| ("Next:", next)));
    Part {
        id: "repeat",
        title: "Cite and repeat",
        abstract_line: "the answer as a sentence, the command that repeats it, and the next one"
            .to_owned(),
        body: html! {
            (cited(record, answer))
            @for (label, command) in commands {
                p { (label) }
                pre tabindex="0" { code { (command) } }
            }
            @if is_ours {
                p class="term" {
                    "The same seed gives the same rows and the same ops. Passwords are in no record; \
                     give them in the environment."
                }
            }
        },
    }
}

/// A citation of the answer with target, record, and seed; empty for an answer that must not be quoted.
fn cited(record: RecordRef<'_>, answer: &Answer) -> Markup {
    let run = record.measured_run();
    let target = foreign(&run.target.urls.join(" "), WORDS);
    html! {
        @if let Some(caveat) = answer.caveat {
            p class="note" { "No sentence to quote: " (caveat) "." }
        } @else {
            p class="sentence" {
                (answer.sentence()) " Target " (target) "; record " (record.header().id) "; seed "
                (run.plan.seed) "."
            }
        }
    }
}
