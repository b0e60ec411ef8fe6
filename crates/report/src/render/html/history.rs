//! The list of stored runs that `highwater serve` shows: filtered, with the answers of one kind over time and the noise
//! between its runs.
//!
//! Must not read a directory, decide what a request may do, or state that something changed.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use maud::{Markup, html};

use highwater_analysis::change_points::next_run_within;
use highwater_model::display::{ABSENT, rate};
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::quantity::{parse_instant, print_instant};
use highwater_model::units::Nanos;

use super::{brand, served};
use crate::answer::{HistoryAnswer, HistoryKind};
use crate::chart::{
    self, Axis, Chart, Label, Point, Quantity, Series, Shape, round_time_ticks, values,
};
use crate::judgments::three;
use crate::kinds::{HistoryProgress, HistoryRow};
use crate::layout::{first_upper, latency, list, or_absent};
use crate::render::html;

/// Columns in addition to the answer and its judgments.
const COLUMNS: [&str; 4] = ["p99, objective", "load", "run", "target"];
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
    let trend = trend_chart(&listed);
    let body = html! {
        (above)
        (filters(filter))
        @if listed.is_empty() {
            p { (if rows.is_empty() { "No run is stored here." } else { "No stored run matches the filter." }) }
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

/// Why a request was not fulfilled, with the way back.
pub fn error_page(why: &str) -> String {
    served_page(
        "Not possible",
        &html! { p role="alert" { (first_upper(why)) "." } p { a href="/" { "All runs" } } },
    )
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
    let has_labels = rows.iter().any(|row| !row.labels.is_empty());
    let is_running = rows.iter().any(|row| row.progress.is_some());
    html! {
        form method="get" action="/compare" {
            div class="table" tabindex="0" role="region" aria-label="Stored runs" {
                table id="runs" class="cards" data-running=[is_running.then_some("")] {
                    thead { tr {
                        th { "started (UTC)" }
                        th class="figure" { "answer" }
                        th { "measurement, data, objective" }
                        @for name in COLUMNS { th { (name) } }
                        @if has_labels { th { "labels" } }
                        @if may_delete { td {} }
                    } }
                    tbody { @for row in rows { (line(row, has_labels, may_delete)) } }
                }
            }
            p class="term" { button type="submit" { "Compare selected runs" } " The oldest is the baseline." }
        }
    }
}

fn line(row: &HistoryRow, has_labels: bool, may_delete: bool) -> Markup {
    let p99 = or_absent(row.p99, |p99| latency(p99.ns, p99.is_at_least));
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
                    @if !row.lead.is_empty() { (row.lead) " " }
                    b { (rate(answer.value)) } " " (answer.unit_beside())
                } @else if !row.instead.is_empty() && row.progress.is_none() {
                    (row.instead)
                } @else { (ABSENT) }
            }
            td class="judged" data-label="measurement, data, objective" {
                @for of in row.judgments.iter().filter(|_| row.progress.is_none()).flat_map(three) { (html::verdict(of.tone, of.name, of.value)) }
            }
            td data-label=(COLUMNS[0]) { (p99) @if !row.objectives.is_empty() { small { (row.objectives) } } }
            td data-label=(COLUMNS[1]) { (row.load) }
            td data-label=(COLUMNS[2]) { (row.kind.name()) " " (row.workload) }
            td data-label=(COLUMNS[3]) { (row.target) }
            @if has_labels { td class="remark" { (list(labels(row), ", ")) } }
            @if may_delete {
                td {
                    @if row.kind != HistoryKind::WithoutRecord && !row.has_draft && row.progress.is_none() {
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
        phase => {
            let second = progress.second.min(progress.of_s);
            format!("running{trial}: {phase}, {second} of {} s", progress.of_s)
        }
    }
}

/// The time in its ID, which is that of the command; for a renamed directory, the time of its first
/// run.
fn begun(row: &HistoryRow) -> String {
    if row.started_at.is_empty() {
        return row.id.clone();
    }
    let of_id = row.id.split_at_checked(19).map(|(time, _)| time.split_at(10));
    let of_id = of_id.map(|(day, time)| format!("{day}{}", time.replace('-', ":")));
    let of_id = of_id.filter(|time| parse_instant(&format!("{time}Z")).is_ok());
    let second = of_id.or_else(|| Some(row.started_at.get(..19)?.to_owned()));
    second.map_or_else(|| row.id.clone(), |second| second.replace('T', " "))
}

/// Names that distinguish these runs for a reader: the start time of each, and other differences.
pub fn names_apart(rows: &[HistoryRow]) -> Vec<String> {
    const TIME: usize = 1;
    const ID: usize = 5;
    let day_and_time = |row: &HistoryRow| match begun(row).split_once(' ') {
        Some((day, time)) => [day.to_owned(), time.to_owned()],
        None => [String::new(), row.id.clone()],
    };
    let parts = |row: &HistoryRow| {
        let [day, time] = day_and_time(row);
        let what = format!("{} {}", row.kind.name(), row.workload);
        let id = row.id.rsplit('-').next().unwrap_or(&row.id).to_owned();
        [day, time, what, row.target.clone(), list(labels(row), ", "), id]
    };
    let all: Vec<_> = rows.iter().map(parts).collect();
    let differs = |part: usize| all.iter().any(|of| of[part] != all[0][part]);
    let is_shown = |part: usize| match part {
        TIME => true,
        // The end of an ID means nothing to a reader, but is unique.
        ID => !(0..ID).any(differs),
        _ => differs(part),
    };
    let shown: Vec<usize> = (0..=ID).filter(|part| is_shown(*part)).collect();
    let name = |of: &[String; ID + 1]| {
        let parts = shown.iter().map(|part| of[*part].as_str());
        list(parts.filter(|part| !part.is_empty()), " ")
    };
    all.iter().map(name).collect()
}

/// Minimum answers of one definition for a chart over time.
const ANSWERS_MIN: usize = 3;
/// Maximum number of earlier runs that determine the band of a run.
const EARLIER_MAX: usize = 20;
/// Fraction of the time axis that is left free at either end.
const ROOM: f64 = 0.04;
/// Number of time labels.
const TICKS: f64 = 5.0;
/// Seconds from which times are labeled with days alone.
const DAYS: f64 = 4.0 * 86_400.0;

/// The answers to the newest question with enough answers of one definition. Runs with another target or plan are not
/// drawn with them.
fn trend_chart(rows: &[&HistoryRow]) -> Option<Chart> {
    let answered = || rows.iter().filter(|row| row.answer.is_some());
    let key = |row: &HistoryRow| (row.question().map(str::to_owned), row.definition.clone());
    let mut counts: HashMap<_, usize> = HashMap::new();
    for row in answered() {
        *counts.entry(key(row)).or_default() += 1;
    }
    let newest = answered().find(|row| counts.get(&key(row)) >= Some(&ANSWERS_MIN))?;
    let answer = newest.answer?;
    let same = answered()
        .filter(|row| row.is_same_question(newest) && row.definition == newest.definition);
    let mut answers: Vec<(f64, HistoryAnswer)> =
        same.filter_map(|row| Some((started_s(row)?, row.answer?))).collect();
    answers.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let [(first, _), .., (last, _)] = answers[..] else {
        return None;
    };
    let series = series(&answers);
    Some(Chart {
        id: "trend".to_owned(),
        title: format!(
            "{} {} on {}, over time",
            newest.kind.name(),
            newest.workload,
            newest.target
        ),
        about: format!(
            "The answers of the {} runs in this list that were planned as the newest of them, on the same target. Band: \
             where each would lie with a probability of 95% if nothing had changed, by the spread of up to \
             {EARLIER_MAX} runs before it. Compare runs before you conclude anything from it.",
            answers.len()
        ),
        x: time_axis(first, last),
        y: Axis::from_zero(answer.unit_beside(), Quantity::Number, values(&series)),
        series,
        ..Chart::default()
    })
}

/// The answers, and the band from the run on that has enough earlier ones.
fn series(answers: &[(f64, HistoryAnswer)]) -> Vec<Series> {
    let figures: Vec<f64> = answers.iter().map(|(_, answer)| answer.value).collect();
    let bands = answers.iter().enumerate().filter_map(|(number, (x, _))| {
        let earlier = &figures[number.saturating_sub(EARLIER_MAX)..number];
        let [low, high] = next_run_within(earlier)?;
        Some(Point::band(*x, low, high))
    });
    let measured = answers.iter().map(|(x, answer)| Point::new(*x, Some(answer.value)));
    let mut series = vec![
        Series::new("noise of the runs before", Shape::Band, 0, bands.collect()),
        Series::new("answer", Shape::Dot, 0, measured.collect()),
    ];
    series.retain(|series| !series.points.is_empty());
    series
}

/// Start time of a run in seconds since 1970; absent if its record has none.
fn started_s(row: &HistoryRow) -> Option<f64> {
    let started = parse_instant(&row.started_at).ok()?;
    Some(to_f64(started.0) / 1e9)
}

/// An axis between two times, in seconds since 1970, labeled with dates.
fn time_axis(first: f64, last: f64) -> Axis {
    let length = (last - first).max(60.0);
    let room = length * ROOM;
    let mut axis =
        Axis::between("begun (UTC)", Quantity::Number, first - room, first + length + room);
    let digits = if length < DAYS { 5..16 } else { 0..10 };
    let labels = round_time_ticks(&axis, TICKS).into_iter().map(|at| {
        let instant = print_instant(Nanos::from_secs(round_to_u64(at)));
        let name = instant.get(digits.clone()).unwrap_or_default();
        Label { at, name: name.replace('T', " ") }
    });
    axis.labels = labels.collect();
    axis
}
