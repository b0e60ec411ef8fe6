//! The four counts, the scope of the audit, and its findings.

use maud::{Markup, html};

use crate::answer::to_the_second;
use crate::layout::{Row, headed};
use crate::text::{counts as counted, judged as judgment_text};
use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::{count, foreign};
use highwater_model::record::{
    AuditExample, AuditStatus, Fault, InvariantRecord, RecordRef, RunRecord,
};

use super::super::page::Part;
use super::tables::{pairs, table};

/// Maximum characters of a value.
const WORDS: usize = 200;
/// Maximum number of examples.
const EXAMPLES: usize = 20;

/// Definitions of the four counts, in their order.
const COUNTS: [(&str, &str); 4] = [
    ("offered", "Scheduled by the plan in the measured time."),
    ("sent", "Sent to the target."),
    ("acknowledged", "Reported as done by the target."),
    ("found", "Found in the target by the audit."),
];

/// The audit covers the rows of all phases together; the other counts cover the measured phases.
fn elsewhere(name: &str) -> &'static str {
    if name == "found" {
        "Counted with all rows, below."
    } else {
        "Counted for the measured time, above."
    }
}

/// Offered, sent, acknowledged, found; then the audit.
pub(in crate::html) fn rows(record: RecordRef<'_>, measured: &[MeasuredStream<'_>]) -> Part {
    let run = record.measured_run();
    let rows = counted::rows(&run, measured);
    let others = counted::other_counts(measured);
    let drift = counted::drift(measured);
    let audit = &run.audit;
    let abstract_line = if audit.status == AuditStatus::Done {
        format!(
            "{} rows acknowledged, {} found: {}",
            count(audit.acknowledged),
            count(audit.found),
            judgment_text::data(run.judgments.data.value).0
        )
    } else {
        judgment_text::audited(&run)
    };
    Part {
        id: "rows",
        title: "Rows and audit",
        abstract_line,
        body: html! {
            @if rows.is_empty() { p { "Nothing was measured." } }
            @for row in &rows { (four(row)) }
            @if let Some(others) = others { p class="others" { (others) } }
            @if let Some(drift) = drift { p class="others" { "drift " (drift) } }
            @if rows.iter().any(|row| row.remark.contains("95% CI")) {
                p class="term" {
                    "95% CI: the 95% confidence interval of the throughput, from this run alone. It \
                     does not contain what differs from run to run."
                }
            }
            (audited(&run))
        },
    }
}

fn four(row: &Row) -> Markup {
    html! {
        div class="counts" {
            p class="of" {
                (row.cells.first().map_or("", String::as_str))
                @if !row.remark.is_empty() { span class="rate" { (row.remark) } }
            }
            dl {
                @for ((name, meaning), figure) in COUNTS.iter().zip(row.cells.iter().skip(1)) {
                    @if figure.is_empty() {
                        div class="elsewhere" {
                            dt { (name) }
                            dd class="meaning" { (elsewhere(name)) }
                        }
                    } @else {
                        div {
                            dt { (name) }
                            dd class="figure" { (figure) }
                            dd class="meaning" { (meaning) }
                        }
                    }
                }
            }
        }
    }
}

fn audited(record: &RunRecord) -> Markup {
    let audit = &record.audit;
    let figures = [
        ("acknowledged, load and warm-up included", Some(audit.acknowledged)),
        ("found", Some(audit.found)),
        ("missing", Some(audit.missing)),
        ("surplus", Some(audit.surplus)),
        ("duplicated", Some(audit.duplicated)),
        ("refused, and there", Some(audit.refused_found)),
        ("of another writer", Some(audit.foreign)),
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
    let took = done.then(|| ("it took", to_the_second(audit.duration_ns)));
    html! {
        h3 { "Audit" }
        p class="lead" { (judgment_text::audited(record)) "." }
        @if done { (pairs(shown.chain(took))) }
        @if let Some(error) = &audit.error { p class="note" { (foreign(error, WORDS)) } }
        @if !audit.examples.is_empty() {
            h3 { "What is wrong" }
            (table("What is wrong, by example", &examples(&audit.examples), 2))
        }
        @if !audit.invariants.is_empty() {
            h3 { "Invariants" }
            (table("Invariants of the workload", &invariants(&audit.invariants), 1))
        }
        @if !audit.copies_differ.is_empty() {
            ul {
                @for line in &audit.copies_differ { li { (foreign(line, WORDS)) } }
            }
        }
        p class="term" {
            "After the load, when the target is idle, Highwater queries what it holds and compares that with \
             what was acknowledged: rows and checksums of the columns per key bucket, and some rows \
             value by value."
        }
    }
}

fn invariants(invariants: &[InvariantRecord]) -> Vec<Row> {
    let rows = invariants.iter().map(|invariant| {
        let found = invariant.found.as_deref().unwrap_or("not one value");
        let holds = if invariant.holds { "yes" } else { "no" };
        let cells = [&invariant.name, &invariant.expected, &foreign(found, WORDS), holds];
        Row::new(cells.map(|cell: &str| cell.to_owned()))
    });
    headed("invariant | must be | is | holds", rows)
}

fn examples(examples: &[AuditExample]) -> Vec<Row> {
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
            |value: &Option<String>| foreign(value.as_deref().unwrap_or_default(), WORDS);
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
