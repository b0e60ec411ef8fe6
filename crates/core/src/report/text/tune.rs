//! The summary of a tuning: a table for each axis, the best cell, whether it is really better.
//!
//! It only shows what the record says.

use crate::analysis::series::SeriesSet;
use crate::analysis::tables::tables;
use crate::analysis::tuning::{points, setting_of};
use crate::model::display::{duration, percent, plain, rate};
use crate::model::record::RunRecord;
use crate::model::tune::{
    BestCell, CellRecord, CellVerdict, NoBest, NoBestReason, RunnerUp, TuneFigure, TuneOutcome,
    TuneRecord,
};

use super::table::labelled;
use super::{head, next, tail};
use crate::report::figures::table as table_text;

/// Blocks between the head and the judgements.
pub(super) fn blocks(record: &RunRecord, tune: &TuneRecord) -> Vec<Vec<String>> {
    let mut blocks = vec![vec![head::target(record), asked(record, tune)]];
    if let Some(base) = base(tune) {
        for axis in 0..tune.axes.len() {
            blocks.push(along(tune, base, axis));
        }
    }
    blocks.push(outcome(tune));
    blocks.push(cells(tune));
    blocks.push(tail::told(record));
    blocks
}

fn asked(record: &RunRecord, tune: &TuneRecord) -> String {
    let axes = tune.axes.iter();
    let axes: Vec<String> = axes
        .map(|axis| format!("{} ({} values)", axis.name, axis.values.len()))
        .collect();
    let grid: usize = tune.axes.iter().map(|axis| axis.values.len()).product();
    [
        format!("tune {} over {}", tune.stream, axes.join(" × ")),
        format!("{grid} cells"),
        format!("by {}", tune.by.name()),
        format!("seed {}", record.plan.seed),
    ]
    .join(" · ")
}

/// The cell through which the tables go.
fn base(tune: &TuneRecord) -> Option<&[usize]> {
    match tune.outcome.as_ref()? {
        TuneOutcome::Best(best) => Some(&best.at),
        TuneOutcome::NoBest(no_best) => no_best.best_so_far.as_deref(),
    }
}

/// The table along one axis through a cell, as far as it was measured.
fn along(tune: &TuneRecord, base: &[usize], axis: usize) -> Vec<String> {
    let on_line = |cell: &CellRecord| {
        let mut pairs = cell.at.iter().zip(base).enumerate();
        pairs.all(|(position, (at, base))| position == axis || at == base)
    };
    let set = SeriesSet {
        points: points(tune, on_line),
        ..SeriesSet::default()
    };
    let others = tune.axes.iter().zip(base).enumerate();
    let others = others.filter(|(position, _)| *position != axis);
    let others: Vec<String> = others
        .map(|(_, (axis, at))| format!("{} {}", axis.name, axis.values[*at]))
        .collect();
    let name = setting_of(&tune.axes[axis].name);
    let Ok(found) = tables(&set, Some(name)) else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    for table in found.iter().filter(|table| table.rows.len() > 1) {
        let text = table_text(table);
        let mut of_table = text.lines().map(str::to_owned);
        if let Some(title) = of_table.next() {
            let title = [vec![title], others.clone()].concat().join(" · ");
            lines.push(title);
        }
        lines.extend(of_table);
    }
    lines
}

fn outcome(tune: &TuneRecord) -> Vec<String> {
    match &tune.outcome {
        None => vec![labelled("best", "NONE YET: the tuning did not end")],
        Some(TuneOutcome::Best(best)) => found(tune, best),
        Some(TuneOutcome::NoBest(no_best)) => not_found(tune, no_best),
    }
}

fn found(tune: &TuneRecord, best: &BestCell) -> Vec<String> {
    let mut lines = vec![labelled(
        "best",
        &format!("{}: {}", named(tune, &best.at), figure(tune, best.figure)),
    )];
    match &best.runner_up {
        None => lines.push(labelled("runner-up", "no other cell counts")),
        Some(other) => {
            let words = format!("{}: {}", named(tune, &other.at), figure(tune, other.figure));
            lines.push(labelled("runner-up", &words));
            lines.push(labelled("better", &told(tune, other)));
        }
    }
    if best.cut_short {
        let why = "probes or time ran out before the search had settled";
        lines.push(labelled("", why));
    }
    lines
}

/// Whether the winner is really better.
fn told(tune: &TuneRecord, other: &RunnerUp) -> String {
    let [low, high] = other.gain95.map(signed);
    let times = tune.policy.confirmations;
    if other.is_told {
        format!("yes: by {low} to {high}, with 95 % confidence, each measured {times} times more")
    } else {
        format!(
            "cannot tell: {low} to {high} with 95 % confidence, each measured {times} times more"
        )
    }
}

fn signed(share: f64) -> String {
    format!("{:+.1} %", share * 100.0)
}

fn not_found(tune: &TuneRecord, no_best: &NoBest) -> Vec<String> {
    let why = match no_best.why {
        NoBestReason::NoneCounts => "no cell counts",
        NoBestReason::BudgetSpent => "probes or time ran out",
        NoBestReason::TargetLost => "the target went away",
        NoBestReason::WrongData => "acknowledged data were not found as acknowledged",
        NoBestReason::Interrupted => "the tuning was stopped",
    };
    let mut lines = vec![labelled("best", &format!("NONE: {why}"))];
    if let Some(at) = &no_best.best_so_far {
        let words = format!("{}, not confirmed", named(tune, at));
        lines.push(labelled("so far", &words));
    }
    lines
}

/// `batch 4000 · sessions 8`.
fn named(tune: &TuneRecord, at: &[usize]) -> String {
    let axes = tune.axes.iter().zip(at);
    let words: Vec<String> = axes
        .map(|(axis, at)| format!("{} {}", axis.name, axis.values[*at]))
        .collect();
    words.join(" · ")
}

fn figure(tune: &TuneRecord, value: f64) -> String {
    match tune.by {
        TuneFigure::Throughput => format!("{} {}/s", rate(value), tune.unit.name()),
        TuneFigure::ServerCpuPerRow => format!("{} µs of CPU per row", plain(value * 1e6)),
        TuneFigure::DiskBytesPerRow => format!("{} bytes per row", plain(value)),
    }
}

/// How much was measured, and what did not count.
fn cells(tune: &TuneRecord) -> Vec<String> {
    let grid: usize = tune.axes.iter().map(|axis| axis.values.len()).product();
    let mut different: Vec<&[usize]> = tune.cells.iter().map(|cell| &cell.at[..]).collect();
    different.sort_unstable();
    different.dedup();
    let took: u64 = tune.cells.iter().map(|cell| cell.took_ns).sum();
    let share = percent(crate::model::display::ratio(
        different.len() as u64,
        grid.max(1) as u64,
    ));
    let mut lines = vec![labelled(
        "measured",
        &format!(
            "{} of {grid} cells, {share}, in {} probes and {}",
            different.len(),
            tune.cells.len(),
            duration(took)
        ),
    )];
    for cell in &tune.cells {
        let what = match cell.verdict {
            CellVerdict::Counts => continue,
            CellVerdict::Missed => "missed its objective",
            CellVerdict::Unsound => "UNSOUND",
            CellVerdict::NotMeasured => "not measured",
            CellVerdict::TargetLost => "TARGET LOST",
            CellVerdict::WrongData => "WRONG DATA",
            CellVerdict::Interrupted => "interrupted",
        };
        let codes: Vec<&str> = cell.reasons.iter().map(|code| code.name()).collect();
        let words = format!("{}: {what} · {}", named(tune, &cell.at), codes.join(", "));
        lines.push(labelled("", words.trim_matches([' ', '·'])));
    }
    lines
}

/// What a measured cell showed, in a few words.
pub fn cell_line(cell: &CellRecord, unit: &str) -> String {
    let reached = format!("{} {unit}/s", rate(cell.throughput_per_s));
    if cell.verdict == CellVerdict::Counts {
        return reached;
    }
    let codes: Vec<&str> = cell.reasons.iter().map(|code| code.name()).collect();
    format!("does not count · {reached} · {}", codes.join(", "))
}

/// What to do after a tuning.
pub(super) fn command(record: &RunRecord, tune: &TuneRecord, directory: &str) -> String {
    let begin = |command: &str| next::base(command, record, &["set", "sessions"]);
    let directory = next::quoted(directory);
    match &tune.outcome {
        Some(TuneOutcome::Best(_)) => format!("{} --tuned {directory}", begin("find")),
        Some(TuneOutcome::NoBest(no_best))
            if !matches!(
                no_best.why,
                NoBestReason::Interrupted | NoBestReason::BudgetSpent | NoBestReason::TargetLost
            ) =>
        {
            next::check(record)
        }
        _ => {
            let over = tune.axes.iter();
            let over = over.map(|axis| {
                format!(
                    " --over {}",
                    next::quoted(&format!("{}={}", axis.name, axis.values.join(",")))
                )
            });
            let over: String = over.collect();
            format!(
                "{}{over} --by {} --resume {directory}",
                begin("tune"),
                tune.by.name()
            )
        }
    }
}
