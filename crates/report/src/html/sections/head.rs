//! Workload and target, and the four counts.

use maud::{Markup, html};

use crate::limit;
use crate::text::{counts as counted, group, head as head_text, scale, tail, tune};
use highwater_analysis::judge::MeasuredStream;
use highwater_analysis::limit::of_search;
use highwater_model::display::foreign;
use highwater_model::record::{ExperimentRecord, Question, RecordRef};

use super::super::page::Part;

/// Characters of a target's own words.
const WORDS: usize = 200;

/// What the four counts mean, in their order.
const COUNTS: [(&str, &str); 4] = [
    ("offered", "Scheduled by the plan in the measured time."),
    ("sent", "What really went to the target."),
    ("acknowledged", "What the target said that it did."),
    ("found", "What the audit found in the target afterwards."),
];

/// What was asked of whom: of a growth of all its sizes, whichever was the last.
pub(in crate::html) fn title(record: RecordRef<'_>) -> String {
    let run = &record.measured_run();
    let of_growth = record.experiment().and_then(ExperimentRecord::scale);
    let urls = of_growth.map_or(&run.target.urls, |scale| &scale.targets);
    head_text::title(run, urls)
}

pub(in crate::html) fn head(record: RecordRef<'_>, measured: &[MeasuredStream<'_>]) -> Markup {
    let (header, run) = (record.header(), &record.measured_run());
    let lines = head_text::lines(run, measured);
    let question = record.experiment().and_then(|of| match &of.question {
        Question::Tune(of_tuning) => Some(tune::question(run, of_tuning)),
        Question::Group(of_group) => Some(group::question(run, of_group)),
        Question::Scale(of_growth) => Some(scale::question(run, of_growth)),
        Question::Search(_) => None,
    });
    let (target, plan) = (lines.first(), question.as_ref().or(lines.get(1)));
    // The line of a target is its name and, behind three spaces, what it is.
    let traits = target
        .and_then(|line| line.split_once("   "))
        .map(|(_, traits)| traits);
    html! {
        p class="brand" { "Highwater" }
        h1 { (title(record)) }
        @if let Some(traits) = traits { p class="traits" { (traits) } }
        @if let Some(plan) = plan { p class="plan" { (plan) } }
        p class="plan" {
            @if !header.started_at.is_empty() { (header.started_at) " · " }
            (header.id) " · Highwater " (header.highwater.version)
            @for (name, value) in &header.labels {
                " · " (foreign(name, WORDS)) "=" (foreign(value, WORDS))
            }
        }
        @if let Some((label, sentence)) = limited(record) {
            p class="limit" { b { (label) } " " (sentence) }
        }
        @for change in tail::changes(run) {
            p class="plan" { "Changed " (change) }
        }
        @if let Some(origin) = run.origin {
            p class="banner" {
                "Measured by " (foreign(&origin.tool_and_version(), WORDS))
                ", not by Highwater: what it does not report is not on this page."
            }
        }
        @if run.target.simulated {
            p class="banner" { "Simulated: a model of a database, not a database." }
        }
        @if run.target.sink {
            p class="banner" {
                "A sink that stores nothing: these figures are the load generator's ceiling."
            }
        }
    }
}

/// What kept a run, or the mark of a search, from being higher.
fn limited(record: RecordRef<'_>) -> Option<(&'static str, String)> {
    let run = record.measured_run();
    let limit = match record.experiment().map(|of| &of.question) {
        None => run.limit.as_ref(),
        Some(Question::Search(search)) => of_search(search),
        Some(Question::Tune(_) | Question::Group(_) | Question::Scale(_)) => None,
    };
    limit.map(limit::line)
}

/// The audit knows the rows of all phases together, the pace those of measured ones.
fn elsewhere(name: &str) -> &'static str {
    if name == "found" {
        "Counted with all rows, below."
    } else {
        "Counted for the measured time, above."
    }
}

/// Offered, sent, acknowledged, found; and the throughput.
pub(in crate::html) fn counts(record: RecordRef<'_>, measured: &[MeasuredStream<'_>]) -> Part {
    let rows = counted::rows(&record.measured_run(), measured);
    let others = counted::other_counts(measured);
    let drift = counted::drift(measured);
    Part {
        id: "counts",
        title: "Four counts",
        body: html! {
            @if rows.is_empty() { p { "Nothing was measured." } }
            @if record.experiment().is_some() {
                p class="term" { "Of the last of many runs; what they show together follows." }
            }
            @for row in &rows {
                div class="counts" {
                    p class="of" {
                        (row.cells.first().map_or("", String::as_str))
                        @if !row.remark.is_empty() {
                            span class="rate" { (row.remark) }
                        }
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
            @if let Some(others) = others { p class="others" { (others) } }
            @if let Some(drift) = drift { p class="others" { "drift " (drift) } }
            @if rows.iter().any(|row| row.remark.contains('[')) {
                p class="term" {
                    "In brackets: the 95 % confidence interval of the throughput. If the same run were \
                     repeated many times, 95 of 100 such intervals would hold its true value; it \
                     knows nothing of what differs from run to run."
                }
            }
        },
    }
}
