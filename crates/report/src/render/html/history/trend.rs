//! The answers to one question over time, with the noise between its runs. Must not judge or state that something
//! changed.

use std::collections::HashMap;

use highwater_analysis::change_points::next_run_within;
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::quantity::{parse_instant, print_instant};
use highwater_model::units::Nanos;

use crate::answer::HistoryAnswer;
use crate::chart::{Axis, Chart, Label, Point, Quantity, Series, Shape, round_time_ticks, values};
use crate::history::HistoryRow;

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
pub(super) fn of(rows: &[&HistoryRow]) -> Option<Chart> {
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

/// Start of a run in seconds since 1970; absent if its record has none.
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
