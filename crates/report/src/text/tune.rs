//! The summary of a tuning: a table for each axis, the best configuration, and its lead.
//!
//! Must show only what the record contains.

use highwater_model::display::{duration, percent, percent_signed, plain, rate};
use highwater_model::record::{MeasuredRun, RunRecord};
use highwater_model::tune::{
    BestConfiguration, NoBest, NoBestReason, RunnerUp, TrialRecord, TrialVerdict, TuneFigure,
    TuneOutcome, TuneRecord,
};
use highwater_sizing::axis_line::{along, base};
use highwater_sizing::series::setting_of;
use highwater_sizing::tables::{Table, tables};

use super::head;
use super::search::codes;
use crate::figures::table_of_tuning as table_text;
use crate::layout::{Remark, list, remark_lines};

/// Blocks between the head and the judgments.
pub(super) fn blocks(record: &MeasuredRun<'_>, tune: &TuneRecord) -> Vec<Vec<String>> {
    let mut blocks = vec![vec![head::target(record), question(record, tune)]];
    if let Some(base) = base(tune) {
        for axis in 0..tune.axes.len() {
            blocks.push(lines_along(tune, base, axis));
        }
    }
    blocks.push(remark_lines(&outcome(tune)));
    blocks.push(remark_lines(&measured(tune)));
    blocks
}

/// The axes, and the figure that configurations are compared by.
pub(crate) fn question(record: &RunRecord, tune: &TuneRecord) -> String {
    let axes = tune.axes.iter().map(|axis| format!("{} ({} values)", axis.name, axis.values.len()));
    let (stream, axes) = (&tune.stream, list(axes, " × "));
    let (grid, by, seed) = (grid(tune), tune.by.name(), record.plan.seed);
    format!("tune {stream} over {axes} · {grid} configurations · by {by} · seed {seed}")
}

/// The tables along one axis through a configuration, as far as they were measured.
pub(crate) fn tables_along(tune: &TuneRecord, base: &[usize], axis: usize) -> Vec<Table> {
    let set = along(tune, base, axis);
    let name = setting_of(&tune.axes[axis].name);
    let found = tables(&set, Some(name)).unwrap_or_default();
    found.into_iter().filter(|table| table.rows.len() > 1).collect()
}

/// `sessions 8`: the values of a configuration on all axes but one.
pub(crate) fn others(tune: &TuneRecord, base: &[usize], axis: usize) -> Vec<String> {
    let others = values(tune, base).enumerate().filter(|(position, _)| *position != axis);
    others.map(|(_, value)| value).collect()
}

fn values(tune: &TuneRecord, at: &[usize]) -> impl Iterator<Item = String> {
    tune.axes.iter().zip(at).map(|(axis, at)| format!("{} {}", axis.name, axis.values[*at]))
}

fn lines_along(tune: &TuneRecord, base: &[usize], axis: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for table in tables_along(tune, base, axis) {
        let text = table_text(&table);
        let mut of_table = text.lines().map(str::to_owned);
        if let Some(title) = of_table.next() {
            let others = others(tune, base, axis);
            lines.push(list([title].into_iter().chain(others), " · "));
        }
        lines.extend(of_table);
    }
    lines
}

/// The best configuration, the runner-up, and whether one is better; or why there is no best one.
pub(crate) fn outcome(tune: &TuneRecord) -> Vec<Remark> {
    match &tune.outcome {
        None => vec![Remark::new("best", "NONE YET: the tuning did not end")],
        Some(TuneOutcome::Best(best)) => found(tune, best),
        Some(TuneOutcome::NoBest(no_best)) => not_found(tune, no_best),
    }
}

fn found(tune: &TuneRecord, best: &BestConfiguration) -> Vec<Remark> {
    let configuration =
        |at: &[usize], value| format!("{}: {}", named(tune, at), figure(tune, value));
    let mut lines = vec![Remark::new("best", configuration(&best.at, best.figure))];
    match &best.runner_up {
        None => lines.push(Remark::new("runner-up", "no other configuration is valid")),
        Some(other) => {
            lines.push(Remark::new("runner-up", configuration(&other.at, other.figure)));
            lines.push(Remark::new("better", comparison(tune, best, other)));
        }
    }
    if best.cut_short {
        let why = "the search ran out of probes or time before it had settled";
        lines.push(Remark::new("", why));
    }
    lines
}

/// Whether the best configuration stands out, in a few words.
pub(crate) const fn standing(best: &BestConfiguration) -> &'static str {
    match &best.runner_up {
        None => "no other configuration is valid",
        Some(other) if other.is_significant => "better than every other value",
        Some(other) if other.is_tied => "tied with the next one",
        Some(_) => "not shown to be better than the next one",
    }
}

/// Whether the winner is really better.
fn comparison(tune: &TuneRecord, best: &BestConfiguration, other: &RunnerUp) -> String {
    let [low, high] = other.gain95.map(percent_signed);
    let times = tune.policy.confirmations;
    let basis = format!("with 95% confidence, each measured {times} times more");
    if other.is_significant {
        return format!("yes: by {low} to {high}, {basis}");
    }
    let what = if other.is_tied { "a tie" } else { "inconclusive" };
    let smaller = if has_smaller_values(tune, best, other) {
        "; of two that are tied the smaller one is named"
    } else {
        ""
    };
    format!("{what}: {low} to {high} {basis}{smaller}")
}

/// Whether the best one is named for its smaller values: the confirming round measured a little less of it.
fn has_smaller_values(tune: &TuneRecord, best: &BestConfiguration, other: &RunnerUp) -> bool {
    let gain =
        if tune.by.is_gain() { best.figure - other.figure } else { other.figure - best.figure };
    other.is_tied && gain < 0.0
}

/// Why a tuning has no best configuration.
pub(crate) const fn no_best_reason(why: NoBestReason) -> &'static str {
    match why {
        NoBestReason::NoneCounts => "no configuration is valid",
        NoBestReason::BudgetSpent => "the search ran out of probes or time",
        NoBestReason::TargetLost => "lost the connection to the target",
        NoBestReason::WrongData => "acknowledged data not found",
        NoBestReason::Interrupted => "you stopped the tuning",
    }
}

fn not_found(tune: &TuneRecord, no_best: &NoBest) -> Vec<Remark> {
    let why = no_best_reason(no_best.why);
    let mut lines = vec![Remark::new("best", format!("NONE: {why}"))];
    if let Some(at) = &no_best.best_so_far {
        let words = format!("{}, not confirmed", named(tune, at));
        lines.push(Remark::new("so far", words));
    }
    lines
}

/// `batch 4000 · sessions 8`.
pub(crate) fn named(tune: &TuneRecord, at: &[usize]) -> String {
    list(values(tune, at), " · ")
}

/// The compared figure of configurations, with its unit.
pub(crate) fn figure(tune: &TuneRecord, value: f64) -> String {
    match tune.by {
        TuneFigure::Throughput => format!("{} {}/s", rate(value), tune.unit.name()),
        TuneFigure::ServerCpuPerRow => format!("{} µs of CPU per row", plain(value * 1e6)),
        TuneFigure::DiskBytesPerRow => format!("{} bytes per row", plain(value)),
    }
}

/// The title of the compared figure.
pub(crate) const fn by(figure: TuneFigure) -> &'static str {
    match figure {
        TuneFigure::Throughput => "Throughput",
        TuneFigure::ServerCpuPerRow => "CPU time per row",
        TuneFigure::DiskBytesPerRow => "Bytes per row",
    }
}

/// Number of configurations.
pub(crate) fn grid(tune: &TuneRecord) -> usize {
    tune.axes.iter().map(|axis| axis.values.len()).product()
}

/// Positions of measured configurations, in the order of the grid.
pub(crate) fn different(tune: &TuneRecord) -> Vec<&[usize]> {
    let mut different: Vec<&[usize]> = tune.trials.iter().map(|trial| &trial.at[..]).collect();
    different.sort_unstable();
    different.dedup();
    different
}

/// Number of measured configurations, and the ones that did not count.
pub(crate) fn measured(tune: &TuneRecord) -> Vec<Remark> {
    let (grid, different) = (grid(tune), different(tune));
    let took: u64 = tune.trials.iter().map(|trial| trial.took_ns).sum();
    let share =
        percent(highwater_model::display::ratio(different.len() as u64, grid.max(1) as u64));
    let mut lines = vec![Remark::new(
        "measured",
        format!(
            "{} of {grid} configurations, {share}, in {} probes and {}",
            different.len(),
            tune.trials.len(),
            duration(took)
        ),
    )];
    for trial in &tune.trials {
        if let Some(what) = fault(trial) {
            lines.push(Remark::new("", format!("{}: {what}", named(tune, &trial.at))));
        }
    }
    lines
}

/// Why a configuration does not count; absent if it does.
pub(crate) fn fault(trial: &TrialRecord) -> Option<String> {
    let what = match trial.verdict {
        TrialVerdict::Counts => return None,
        TrialVerdict::Missed => "missed its objective",
        TrialVerdict::Invalid => "INVALID",
        TrialVerdict::NotMeasured => "not measured",
        TrialVerdict::TargetLost => "TARGET LOST",
        TrialVerdict::WrongData => "WRONG DATA",
        TrialVerdict::Interrupted => "interrupted",
    };
    let words = format!("{what} · {}", codes(&trial.reasons));
    Some(words.trim_matches([' ', '·']).to_owned())
}

/// The result of a measured configuration in a few words.
pub fn trial_line(trial: &TrialRecord, unit: &str) -> String {
    let reached = format!("{} {unit}/s", rate(trial.throughput_per_s));
    if trial.verdict == TrialVerdict::Counts {
        return reached;
    }
    format!("does not count · {reached} · {}", codes(&trial.reasons))
}
