//! The cost model of a batch in sentences: fixed and per-row time, their intervals, and where it
//! fails. It must not fit anything.

use super::remark::{LONGEST, Remark};
use super::rows::seconds;
use highwater_model::display::{self, foreign};
use highwater_sizing::tables::{BatchCostModel, CostModel, Estimate, SURPRISE, Table};

pub(super) fn lines(batches: &CostModel, table: &Table) -> Vec<Remark> {
    let mut lines = Vec::new();
    if let Some(line) = &batches.line {
        lines.extend(fit(line, batches, table));
    }
    for change in &batches.changes {
        let sentence = format!(
            "changes at {} {}: {} {}, where the rows before it make {} ({} standard deviations; {} \
             is a change)",
            foreign(&table.axis.header, LONGEST),
            foreign(&change.value, LONGEST),
            display::rate(change.throughput),
            foreign(&table.unit, LONGEST),
            display::rate(change.expected),
            display::plain(change.deviations.abs()),
            display::plain(SURPRISE),
        );
        lines.push(Remark::new("regime", sentence));
    }
    lines
}

fn fit(line: &BatchCostModel, batches: &CostModel, table: &Table) -> Vec<Remark> {
    let what = if batches.of_batches { "batch" } else { "load" };
    let sessions = match (batches.of_batches, line.sessions_stated) {
        (false, _) => String::new(),
        (true, true) => format!(", {} sessions", display::plain(line.sessions)),
        (true, false) => ", sessions not stated and taken as one".to_owned(),
    };
    let mut lines = vec![Remark::new(
        "cost model",
        format!(
            "time of a {what} = {} + {} per row{sessions}",
            estimate(&line.fixed_s),
            estimate(&line.per_row_s),
        ),
    )];
    let tends = match (line.asymptote, line.half_size) {
        (Some(asymptote), Some(half)) => format!(
            "tends to {} {}, half of it at {} rows",
            display::rate(asymptote),
            foreign(&table.unit, LONGEST),
            display::rate(half),
        ),
        (Some(asymptote), None) => format!(
            "tends to {} {}; its fixed cost cannot be identified",
            display::rate(asymptote),
            foreign(&table.unit, LONGEST),
        ),
        (None, _) => "one more row costs nothing: the model does not hold here".to_owned(),
    };
    lines.push(Remark::new("", tends));
    let fitted = format!(
        "{} values, least squares of relative errors, 95 % confidence by Student's t; at worst {} off",
        batches.fitted,
        display::percent(line.worst),
    );
    lines.push(Remark::new("", fitted));
    lines
}

/// `84.7 ms [81.3 … 88.0]`, in one unit where both ends have it.
fn estimate(estimate: &Estimate) -> String {
    let signed = |value: f64| {
        let text = seconds(value.abs());
        if value < 0.0 {
            format!("-{text}")
        } else {
            text
        }
    };
    format!(
        "{} [{} … {}]",
        signed(estimate.value),
        signed(estimate.low),
        signed(estimate.high)
    )
}
