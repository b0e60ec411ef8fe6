//! The law of amounts in sentences: how it was fitted, how well it is known, where it breaks.

use super::rows::seconds;
use super::{LONGEST, Remark};
use crate::analysis::tables::{BatchCostModel, Estimate, Law, SURPRISE, Table};
use crate::model::display::{self, foreign};

pub(super) fn lines(law: &Law, table: &Table) -> Vec<Remark> {
    let mut lines = Vec::new();
    if let Some(line) = &law.line {
        lines.extend(fit(line, law, table));
    }
    for change in &law.changes {
        let said = format!(
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
        lines.push(("regime", said));
    }
    lines
}

fn fit(line: &BatchCostModel, law: &Law, table: &Table) -> Vec<Remark> {
    let what = if law.of_batches { "batch" } else { "load" };
    let sessions = match (law.of_batches, line.sessions_stated) {
        (false, _) => String::new(),
        (true, true) => format!(", {} sessions", display::plain(line.sessions)),
        (true, false) => ", sessions not stated and taken as one".to_owned(),
    };
    let mut lines = vec![(
        "law",
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
            "tends to {} {}; no fixed cost can be told from it",
            display::rate(asymptote),
            foreign(&table.unit, LONGEST),
        ),
        (None, _) => "a row more costs nothing: the law does not hold here".to_owned(),
    };
    lines.push(("", tends));
    let fitted = format!(
        "{} values, least squares of relative errors, 95 % confidence by Student's t; at worst {} off",
        law.fitted,
        display::percent(line.worst),
    );
    lines.push(("", fitted));
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
