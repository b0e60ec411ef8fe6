//! The parts common to the pages of all records: facts next to its name, judgments with their reasons, the
//! audit, findings, environment and plan, and the next commands. Each is folded behind a line that summarizes
//! it.

use maud::{Markup, html};
use std::collections::BTreeMap;

use highwater_analysis::judge::MeasuredStream;
use highwater_analysis::memory::data_in_memory;
use highwater_model::display::{bytes, count, foreign};
use highwater_model::record::{
    AuditExample, AuditStatus, ExperimentRecord, Fault, InvariantRecord, MeasuredRun, Question,
    RecordRef, RunRecord, SettingOrigin,
};
use highwater_next::{again, next_command};

use super::blocks::{Part, folded, pairs, sentence, table};
use crate::answer::{Answer, plural, short_target, to_the_second};
use crate::events::intervention;
use crate::judgments;
use crate::judgments::{JudgmentWords, three, trials};
use crate::kinds::run::{phases, removed, short_hash};
use crate::kinds::{self, findings as rules, growth};
use crate::layout::{Row, first_upper, headed};

/// Parts that show one run; on the page of an experiment they name that run.
pub(super) const IS_OF_LAST_RUN: [&str; 6] =
    ["latency-of-ops", "over-time", "machines", "rows", "answers", "settings"];
/// Maximum characters of text from the target.
const NAME: usize = 60;
/// Characters of a time to the second, `2026-11-20T18:20:11`.
const TO_THE_SECOND: usize = 19;

/// The last part of an ID, which distinguishes runs: `6c109b`.
pub(super) fn short_id(id: &str) -> String {
    let last = id.rsplit(['-', '/']).next().unwrap_or(id);
    foreign(last, NAME)
}

/// The kind of a record's page, and its name among its kind.
pub(super) fn named(record: RecordRef<'_>) -> [String; 2] {
    match record.experiment().and_then(ExperimentRecord::scale) {
        Some(scale) => ["Growth".to_owned(), growth::name(scale)],
        None => [first_upper(kinds::kind(record).name()), short_id(&record.header().id)],
    }
}

/// Start, duration, target, and labels.
pub(super) fn facts(record: RecordRef<'_>, measured: &[MeasuredStream<'_>]) -> Vec<String> {
    let (header, run) = (record.header(), record.measured_run());
    let mut facts = vec![time(&header.started_at), extent(record, measured)];
    facts.push(run.workload.name.clone());
    facts.push(short_target(&run.target.version));
    let labels = header.labels.iter();
    facts.extend(labels.map(|(name, value)| foreign(&format!("{name}={value}"), NAME)));
    facts.retain(|fact| !fact.is_empty());
    facts
}

/// `2026-11-20 18:20:11 UTC`, to the second.
fn time(started_at: &str) -> String {
    match started_at.get(..TO_THE_SECOND) {
        Some(text) if started_at.ends_with('Z') => format!("{} UTC", text.replace('T', " ")),
        _ => foreign(started_at, NAME),
    }
}

fn extent(record: RecordRef<'_>, measured: &[MeasuredStream<'_>]) -> String {
    if let Some(of) = record.experiment() {
        let (number, took_ns) = trials(&of.question);
        return format!("{number} in {}", to_the_second(took_ns));
    }
    let total: u64 = phases(measured).iter().map(|(_, ns)| ns).sum();
    match total {
        0 => String::new(),
        total => format!("{} measured", to_the_second(total)),
    }
}

/// Conditions to know before reading the answer.
pub(super) fn tags(record: RecordRef<'_>, run: &MeasuredRun<'_>) -> Vec<String> {
    let mut tags = Vec::new();
    if let Some(origin) = run.origin {
        let tool = foreign(&origin.tool_and_version(), NAME);
        tags.push(format!("measured by {tool}, not by Highwater"));
    }
    if run.target.simulated {
        tags.push("simulated: a model, not a database".to_owned());
    }
    if run.target.sink {
        tags.push("a sink that stores nothing: the load generator's ceiling".to_owned());
    }
    let paces = record.interventions().iter().filter(|done| done.begins_phase());
    tags.extend(paces.map(|change| format!("changed: {}", intervention(change))));
    tags
}

/// Maximum characters of text from the target.
const REASON: usize = 600;

/// The questions of the judgments, in their order.
const QUESTIONS: [&str; 3] = [
    "Do the figures describe the target, rather than the load generator or random variation?",
    "Was everything that was acknowledged found afterwards, as it was sent?",
    "Was the objective met that was set before the run?",
];

pub(super) fn judgments(record: RecordRef<'_>) -> Part {
    let all = three(record.judgments());
    let reasons: usize = all.iter().map(|of| of.reasons.len()).sum();
    let values = all.map(|of| format!("{} {}", of.name.to_lowercase(), of.value));
    let reasons = match reasons {
        0 => String::new(),
        some => format!(": {}", plural(some, "reason")),
    };
    Part {
        id: "judgments",
        title: "Judgments",
        abstract_line: format!("{}{reasons}", values.join(", ")),
        body: html! {
            @for (of, question) in all.into_iter().zip(QUESTIONS) { (one(of, question)) }
        },
    }
}

fn one(of: JudgmentWords<'_>, question: &str) -> Markup {
    html! {
        h3 { (of.name) ": " (of.value) }
        p class="term" { (question) }
        @for reason in of.reasons {
            div class="reason" {
                p {
                    (sentence(&foreign(&reason.sentence(), REASON))) " "
                    span class="code" { "[" (reason.code.name()) "]" }
                }
                @if let Some(hint) = &reason.hint { p class="hint" { (sentence(hint)) } }
            }
        }
    }
}

/// Maximum characters of a value.
const VALUE: usize = 200;
/// Maximum number of examples.
const EXAMPLES: usize = 20;

pub(super) fn audited(record: &RunRecord) -> Markup {
    let audit = &record.audit;
    let figures = [
        ("acknowledged, load and warm-up included", Some(audit.acknowledged)),
        ("found", Some(audit.found)),
        ("missing", Some(audit.missing)),
        ("surplus", Some(audit.surplus)),
        ("duplicated", Some(audit.duplicated)),
        ("refused, but found", Some(audit.refused_found)),
        ("written by others", Some(audit.foreign)),
        ("altered", Some(audit.altered)),
        ("with an unknown outcome when the load ended", Some(audit.unknown)),
        ("rows read back and compared", Some(audit.read_back)),
        ("the target's own count of rows inserted", audit.server_counter),
    ];
    let done = audit.status == AuditStatus::Done;
    let shown = figures
        .into_iter()
        .filter(|_| done)
        .filter_map(|(name, figure)| Some((name, count(figure?))));
    let took = done.then(|| ("duration of the audit", to_the_second(audit.duration_ns)));
    html! {
        h3 { "Audit" }
        p class="lead" { (judgments::audited(record)) "." }
        @if done { (pairs(shown.chain(took))) }
        @if let Some(error) = &audit.error { p class="note" { (foreign(error, VALUE)) } }
        @if !audit.examples.is_empty() {
            h3 { "What is wrong" }
            (table("What is wrong, by example", &example_rows(&audit.examples), 2))
        }
        @if !audit.invariants.is_empty() {
            h3 { "Invariants" }
            (table("Invariants of the workload", &invariant_rows(&audit.invariants), 1))
        }
        @if !audit.copies_differ.is_empty() {
            ul {
                @for line in &audit.copies_differ { li { (foreign(line, VALUE)) } }
            }
        }
        p class="term" {
            "After the load, when the target is idle, Highwater queries what it holds and compares that with \
             what was acknowledged: rows and checksums of the columns per key bucket, and some rows \
             value by value."
        }
    }
}

fn invariant_rows(invariants: &[InvariantRecord]) -> Vec<Row> {
    let rows = invariants.iter().map(|invariant| {
        let found = invariant.found.as_deref().unwrap_or("not one value");
        let holds = if invariant.holds { "yes" } else { "no" };
        let cells = [&invariant.name, &invariant.expected, &foreign(found, VALUE), holds];
        Row::new(cells.map(|cell: &str| cell.to_owned()))
    });
    headed("invariant | must be | is | holds", rows)
}

fn example_rows(examples: &[AuditExample]) -> Vec<Row> {
    let head = "fault | where | acknowledged | unknown | found | column | sent | stored";
    let rows = examples.iter().take(EXAMPLES).map(|example| {
        let fault = match example.fault {
            Fault::Missing => "missing",
            Fault::Surplus => "surplus",
            Fault::Duplicated => "duplicated",
            Fault::Altered => "altered",
        };
        let keys = match (&example.table, example.first_key, example.last_key) {
            (table, first, last) if first == last => format!("{table}, key {first}"),
            (table, first, last) => format!("{table}, keys {first} to {last}"),
        };
        let optional =
            |value: &Option<String>| foreign(value.as_deref().unwrap_or_default(), VALUE);
        Row::new([
            fault.to_owned(),
            keys,
            count(example.acknowledged),
            count(example.unknown),
            count(example.found),
            optional(&example.column),
            optional(&example.expected),
            optional(&example.stored),
        ])
    });
    headed(head, rows)
}

pub(super) fn findings(record: RecordRef<'_>) -> Part {
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
            ([first], _) => foreign(&first.sentence, REASON),
            ([first, others @ ..], _) => {
                let first = foreign(&first.sentence, REASON);
                format!("{first}; and {} more", others.len())
            }
            ([], 0) => "none".to_owned(),
            ([], some) => plural(some, "note"),
        },
        body: html! {
            @if findings.is_empty() && notes.is_empty() {
                p { "None." }
            }
            @for finding in &findings {
                article class="finding" {
                    h3 { (sentence(&foreign(&finding.sentence, REASON))) }
                    p { (sentence(&foreign(&finding.evidence, REASON))) }
                    p class="hint" { "Try: " (sentence(finding.hint)) }
                }
            }
            @if !notes.is_empty() {
                ul class="noted" {
                    @for note in &notes {
                        li { (sentence(&foreign(note, REASON))) }
                    }
                }
            }
        },
    }
}

/// The settings that files or the environment gave, which the command does not repeat.
fn set_elsewhere(record: RecordRef<'_>) -> Option<String> {
    let mut all = Vec::new();
    for (name, settings) in &record.header().command.settings {
        for setting in settings {
            let origin = match setting.origin {
                SettingOrigin::File => "file",
                SettingOrigin::Environment => "environment",
                _ => continue,
            };
            let value = setting.value.as_deref().unwrap_or("on");
            all.push(format!("{name} {value} ({origin})"));
        }
    }
    (!all.is_empty()).then(|| all.join(", "))
}

/// The command that repeats the run, and the next command.
pub(super) fn repeat(
    record: RecordRef<'_>,
    measured: &[MeasuredStream<'_>],
    answer: &Answer,
) -> Part {
    // A run of another tool can only be repeated with that tool.
    let is_imported = matches!(record, RecordRef::Imported(_));
    let is_ours = !is_imported && !record.header().is_of_others;
    let again = is_ours.then(|| ("Repeat it:", again(record)));
    let next = next_command(record, measured, &record.header().id);
    let commands = again.into_iter().chain(next.map(|next| ("Next:", next)));
    Part {
        id: "repeat",
        title: "Cite and repeat",
        abstract_line: "a sentence to quote, the command that repeats this, and the next one"
            .to_owned(),
        body: html! {
            (cited(record, answer))
            @for (label, command) in commands {
                p { (label) }
                pre tabindex="0" { code { (command) } }
            }
            @if let Some(elsewhere) = is_ours.then(|| set_elsewhere(record)).flatten() {
                p { "Set outside of the command line: " (elsewhere) "." }
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

/// A citation of an answer without a record, and the command that repeats it.
pub(super) fn repeat_command(command: &str, answer: &Answer) -> Part {
    Part {
        id: "repeat",
        title: "Cite and repeat",
        abstract_line: "a sentence to quote, and the command that repeats this".to_owned(),
        body: html! {
            p class="sentence" { (answer.sentence()) }
            p { "Repeat it:" }
            pre tabindex="0" { code { (command) } }
        },
    }
}

/// A citation of the answer with target, record, and seed; empty for an answer that must not be quoted.
fn cited(record: RecordRef<'_>, answer: &Answer) -> Markup {
    let run = record.measured_run();
    // The last run of a growth has the target of one size.
    let targets = match record.experiment().map(|of| &of.question) {
        Some(Question::Scale(scale)) => &scale.targets,
        _ => &run.target.urls,
    };
    let target = foreign(&targets.join(" "), REASON);
    html! {
        @if let Some(caveat) = answer.caveat {
            p class="note" { (first_upper(caveat)) "." }
        } @else {
            p class="sentence" {
                (answer.sentence()) " Target " (target) "; record " (record.header().id) "; seed "
                (run.plan.seed) "."
            }
        }
    }
}

/// Maximum characters of a value from the target.
const SETTING: usize = 400;

pub(super) fn settings(record: &RunRecord) -> Part {
    let plan = serde_json::to_string_pretty(&record.plan.definition).unwrap_or_default();
    let size = |n: Option<u64>| n.map_or_else(|| "not reported".to_owned(), bytes);
    let target = &record.target;
    let urls = foreign(&target.urls.join(" "), SETTING) + removed(record);
    Part {
        id: "settings",
        title: "Environment and plan",
        abstract_line: format!("{urls}, plan {}", short_hash(&record.plan.hash)),
        body: html! {
            (folded("Load generator", &map(&record.header.environment)))
            (folded("Target", &html! {
                (pairs([
                    ("addresses", urls),
                    ("traits", foreign(&target.traits.join(", "), SETTING)),
                    ("driver", target.driver.clone()),
                    ("version", foreign(&target.version, SETTING)),
                    ("tables before the measured phases", size(target.bytes_before)),
                    ("tables after the last phase", size(target.bytes_after)),
                    ("in memory", data_in_memory(record).map_or_else(|| "not reported".to_owned(), |data| data.words())),
                ].into_iter()))
                (hosts(record))
                @if !target.settings.is_empty() { h4 { "Settings" } (map(&target.settings)) }
            }))
            (folded("Workload", &html! {
                (pairs([
                    ("name", record.workload.name.clone()),
                    ("version", record.workload.version.to_string()),
                    ("fingerprint", record.workload.fingerprint.clone()),
                ].into_iter()))
                (map(&record.workload.parameters))
            }))
            (folded("Plan", &html! {
                p class="term" {
                    "Fingerprint of the plan: " code { (record.plan.hash) } ". It leaves out the target, \
                     so that two targets can be shown to have had the same plan."
                }
                pre tabindex="0" { code { (plan) } }
            }))
        },
    }
}

fn hosts(record: &RunRecord) -> Markup {
    let rows = record.target.hosts.iter().map(|host| {
        let (sessions, acknowledged) = (count(host.sessions), count(host.acknowledged));
        Row::new([foreign(&host.url, SETTING), sessions, acknowledged])
    });
    let rows = headed("host | sessions | acknowledged ops", rows);
    html! { @if rows.len() > 1 { (table("Hosts", &rows, 1)) } }
}

fn map(values: &BTreeMap<String, String>) -> Markup {
    let shown = values.iter();
    pairs(shown.map(|(name, value)| (name.as_str(), foreign(value, SETTING))))
}
