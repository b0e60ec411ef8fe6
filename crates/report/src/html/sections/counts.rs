//! The four counts, and what the audit compared.

use maud::html;

use crate::layout::Row;
use crate::text::{counts as counted, judged as judgment_text};
use highwater_analysis::judge::MeasuredStream;
use highwater_model::display::count;
use highwater_model::record::{AuditStatus, RecordRef};

use super::super::page::Part;
use super::audit;

/// What the four counts mean, in their order.
const COUNTS: [(&str, &str); 4] = [
    ("offered", "Scheduled by the plan in the measured time."),
    ("sent", "Sent to the target."),
    ("acknowledged", "Reported as done by the target."),
    ("found", "Found in the target by the audit."),
];

/// The audit knows the rows of all phases together, the pace those of measured ones.
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
            @if rows.iter().any(|row| row.remark.contains('[')) {
                p class="term" {
                    "In brackets: the 95% confidence interval of the throughput, from this run alone. It \
                     does not contain what differs from run to run."
                }
            }
            (audit::audit(&run))
        },
    }
}

fn four(row: &Row) -> maud::Markup {
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
