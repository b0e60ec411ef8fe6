//! A search: the mark, its charts, every probe.

use maud::{Markup, html};

use crate::text::search as search_text;
use highwater_model::display::{count, duration, rate};
use highwater_model::record::RunRecord;
use highwater_model::search::{Mark, SearchAxis, SearchOutcome, SearchRecord};

use super::super::page::Part;
use super::super::{chart, plots};
use super::tables::table;

/// `last_run` is a run of the search.
pub(in crate::html) fn search(last_run: &RunRecord, search: &SearchRecord) -> Part {
    let unit = match search.axis {
        SearchAxis::Rate => format!("{}/s", search.unit.name()),
        SearchAxis::Sessions => "sessions".to_owned(),
    };
    let charts = plots::search(last_run, search);
    Part {
        id: "mark",
        title: "The mark",
        body: html! {
            @match &search.outcome {
                Some(SearchOutcome::Mark(mark)) => (found(search, mark, &unit)),
                _ => @for line in search_text::outcome(search) { p class="lead" { (line) } },
            }
            p class="term" {
                "Confirmed is the highest offered rate that was shown to meet the objective: a floor. The \
                 estimate is where the objective is just met, and errs to both sides alike. A probe \
                 that was shown neither to pass nor to fail is not decided. Objective: " (search_text::objective(last_run, search)) "."
            }
            (chart::all(&charts))
            h3 { "Probes" }
            (table("Probes", &search_text::table(search), 1))
            p class="term" {
                "Each probe is a run with a record of its own below " code { "probes/" } ". What follows \
                 on this page is the last one."
            }
        },
    }
}

fn found(search: &SearchRecord, mark: &Mark, unit: &str) -> Markup {
    let bytes = mark.bytes.map(|bytes| format!(", {} bytes", count(bytes)));
    html! {
        p class="mark" {
            span class="figure" { (rate(mark.confirmed)) }
            " " (unit) " confirmed"
        }
        @if let Some(estimate) = mark.estimate {
            p class="lead" { "Estimate: " (search_text::estimate(search, estimate)) "." }
        }
        p class="lead" {
            "Confirmed " (search.policy.confirmations) " times for " (duration(mark.hold_ns)) ", with "
            (count(mark.rows)) " rows" (bytes.unwrap_or_default()) " in the tables before."
            @if let Some(failed) = mark.failed {
                " The lowest value that was shown to fail: " (rate(failed)) " " (unit) "."
            }
            @if !mark.limited_by.is_empty() {
                " It failed because of: " (search_text::codes(&mark.limited_by)) "."
            }
            @if mark.wider { " The interval is wider than requested: the search ran out of probes or time." }
        }
        @if let Some(soak) = search_text::soak(search) {
            p class="note" { "Soak: " (soak) "." }
        }
        @if !mark.passed_above.is_empty() {
            p class="note" {
                "Not monotone: also passed at "
                (mark.passed_above.iter().map(|at| rate(*at)).collect::<Vec<_>>().join(", "))
                ", above the lowest value that failed."
            }
        }
    }
}
