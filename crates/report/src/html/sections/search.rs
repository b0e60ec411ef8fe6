//! A search: its outcome, its second chart, and every probe.

use maud::{Markup, html};

use crate::answer::plural;
use crate::layout::list;
use crate::text::search as search_text;
use highwater_analysis::search::times_confirmed;
use highwater_model::display::{count, rate};
use highwater_model::record::RunRecord;
use highwater_model::search::{Mark, ProbeVerdict, SearchOutcome, SearchRecord};

use super::super::chart::{self, Chart};
use super::super::page::Part;
use super::tables::table;

/// `last_run` is a run of the search; `charts` are the ones that are not above the folds.
pub(in crate::html) fn search(
    last_run: &RunRecord,
    search: &SearchRecord,
    charts: &[Chart],
) -> Part {
    let unit = search_text::unit(search);
    Part {
        id: "probes",
        title: "Probes",
        abstract_line: abstract_line(search, &unit),
        body: html! {
            @match &search.outcome {
                Some(SearchOutcome::Mark(mark)) => (found(search, mark, &unit)),
                _ => @for line in search_text::outcome(search) { p class="lead" { (line) } },
            }
            (table("Probes", &search_text::table(search), 1))
            p class="term" {
                "Objective: " (search_text::objective(last_run, search)) ". Confirmed is the highest value \
                 that was shown to meet it: a floor. The estimate is where it is just met, and errs to \
                 both sides alike. A probe that was shown neither to pass nor to fail is not decided."
            }
            (chart::all(charts))
            p class="term" {
                "Each probe is a run with a record and a page of its own below " code { "probes/" } "."
            }
        },
    }
}

/// `11 probes: 126,900 rows/s confirmed 3 of 3 times for 30 s; 4 failed`.
fn abstract_line(search: &SearchRecord, unit: &str) -> String {
    let number = |verdict: ProbeVerdict| {
        search.probes.iter().filter(|probe| probe.verdict == verdict).count()
    };
    let confirmed = match &search.outcome {
        Some(SearchOutcome::Mark(mark)) => {
            let times = times_confirmed(search, mark);
            format!(": {} {unit} confirmed {times}", rate(mark.confirmed))
        }
        _ => format!(": {} passed", number(ProbeVerdict::Passed)),
    };
    let failed = number(ProbeVerdict::Failed);
    format!("{}{confirmed}; {failed} failed", plural(search.probes.len(), "probe"))
}

fn found(search: &SearchRecord, mark: &Mark, unit: &str) -> Markup {
    let bytes = mark.bytes.map(|bytes| format!(", {} bytes", count(bytes)));
    html! {
        @if let Some(estimate) = mark.estimate {
            p class="lead" { "Estimate: " (search_text::estimate(search, estimate)) "." }
        }
        p class="lead" {
            "Confirmed " (times_confirmed(search, mark)) ", with "
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
                (list(mark.passed_above.iter().map(|at| rate(*at)), ", "))
                ", above the lowest value that failed."
            }
        }
    }
}
