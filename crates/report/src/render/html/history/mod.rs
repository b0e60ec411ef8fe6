//! The list of stored runs that `highwater serve` shows: filtered, with the answers of one kind over time.
//!
//! Must not read a directory or decide what a request may do.

#[cfg(test)]
mod tests;
mod trend;

use maud::{Markup, html};

use highwater_model::display::{ABSENT, rate};

use super::page::{self, brand, served};
use crate::answer::HistoryKind;
use crate::chart;
use crate::history::{HistoryProgress, HistoryRow};
use crate::judgments::three;
use crate::layout::list;

/// Maximum lines of a list; the filter finds older ones.
const ROWS_MAX: usize = 500;

/// Filter of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// Part of the workload's name.
    pub workload: String,
    /// Part of a URL or a version of the target.
    pub target: String,
    /// Part of `key=value` of a label.
    pub label: String,
}

impl HistoryFilter {
    /// Whether a row is listed.
    pub fn takes(&self, row: &HistoryRow) -> bool {
        let mut labels = labels(row);
        let mut targets = row.targets.iter().chain([&row.target]);
        row.workload.contains(&self.workload)
            && targets.any(|target| target.contains(&self.target))
            && (self.label.is_empty() || labels.any(|label| label.contains(&self.label)))
    }
}

fn labels(row: &HistoryRow) -> impl Iterator<Item = String> {
    row.labels.iter().map(|(key, value)| format!("{key}={value}"))
}

/// The page; rows are newest first. `may_delete` allows removing runs from it; `above` is printed before the list.
pub fn history_page(
    rows: &[HistoryRow],
    filter: &HistoryFilter,
    may_delete: bool,
    above: &Markup,
) -> String {
    let listed: Vec<&HistoryRow> = rows.iter().filter(|row| filter.takes(row)).collect();
    let trend = trend::of(&listed);
    let body = html! {
        (above)
        (filters(filter))
        @if listed.is_empty() {
            p { "No run is stored here, or none that the filter takes." }
        } @else {
            (table(&listed[..listed.len().min(ROWS_MAX)], may_delete))
        }
        @if listed.len() > ROWS_MAX {
            p class="term" { "The newest " (ROWS_MAX) " of " (listed.len()) "; filter to see older ones." }
        }
        @if let Some(chart) = trend { section id="over-time" { (chart::hero(&[chart], false)) } }
    };
    served_page("Runs", &body)
}

/// Asks for confirmation before a run is removed.
pub fn deletion_page(row: &HistoryRow) -> String {
    let body = html! {
        p { "Remove " b { (row.id) } " with everything that is in its directory? It cannot be brought back." }
        form method="post" action="/delete" {
            input type="hidden" name="id" value=(row.id);
            button type="submit" { "Remove it" }
            " " a href="/" { "Keep it" }
        }
    };
    served_page("Remove a run", &body)
}

/// A page of the served store, from its heading on.
pub fn served_page(title: &str, content: &Markup) -> String {
    let body = html! {
        header {
            a class="home" href="/" { (brand()) }
            h1 class="where" { (title) }
            div class="acts" {}
        }
        main { (content) }
    };
    served(title, &html! {}, &body)
}

fn filters(filter: &HistoryFilter) -> Markup {
    let field = |name: &str, value: &str| {
        html! { label { (name) " " input name=(name) value=(value) size="14"; } }
    };
    html! {
        form id="controls" class="filters" method="get" action="/" {
            (field("workload", &filter.workload))
            (field("target", &filter.target))
            (field("label", &filter.label))
            button type="submit" { "Filter" }
        }
    }
}

fn table(rows: &[&HistoryRow], may_delete: bool) -> Markup {
    html! {
        form method="get" action="/compare" {
            div class="table" tabindex="0" role="region" aria-label="Stored runs" {
                table id="runs" class="cards" {
                    thead { tr {
                        th { "started (UTC)" }
                        th class="figure" { "answer" }
                        th { "measurement, data, objective" }
                        @for name in ["kind", "workload", "target", "labels"] { th { (name) } }
                        @if may_delete { td {} }
                    } }
                    tbody { @for row in rows { (line(row, may_delete)) } }
                }
            }
            p class="term" { button type="submit" { "Compare the chosen" } " The oldest is the baseline." }
        }
    }
}

fn line(row: &HistoryRow, may_delete: bool) -> Markup {
    html! {
        tr {
            th {
                @if row.judgments.is_some() {
                    input type="checkbox" name="run" value=(row.id) aria-label=(format!("compare {}", row.id));
                    " "
                }
                @if row.has_page() {
                    a href=(format!("/run/{}", row.id)) { (begun(row)) }
                } @else { (begun(row)) }
            }
            td class="figure answers" data-label="answer" {
                @if let Some(progress) = &row.progress {
                    b { (going_on(progress)) }
                } @else if let Some(answer) = row.answer {
                    b { (rate(answer.value)) } " " (answer.unit_beside())
                } @else { (ABSENT) }
            }
            td class="judged" data-label="measurement, data, objective" {
                @for of in row.judgments.iter().flat_map(three) { (page::verdict(of.tone, of.name, of.value)) }
            }
            td data-label="kind" { (row.kind.name()) }
            td data-label="workload" { (row.workload) }
            td data-label="target" { (row.target) }
            td class="remark" { (list(labels(row), ", ")) }
            @if may_delete {
                td {
                    @if row.kind != HistoryKind::WithoutRecord && row.progress.is_none() {
                        a href=(format!("/delete/{}", row.id)) { "Remove" }
                    }
                }
            }
        }
    }
}

fn going_on(progress: &HistoryProgress) -> String {
    let trial = progress.trial.map(|trial| format!(" trial {trial}")).unwrap_or_default();
    match progress.phase.as_str() {
        "" => format!("running{trial}"),
        phase => format!("running{trial}: {phase}, {} of {} s", progress.second, progress.of_s),
    }
}

fn begun(row: &HistoryRow) -> String {
    if row.started_at.is_empty() {
        return row.id.clone();
    }
    let second = row.started_at.get(..19).unwrap_or(&row.started_at);
    second.replace('T', " ")
}
