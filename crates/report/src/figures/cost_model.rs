//! The cost model of a batch in sentences: fixed and per-row time, their intervals, and where it fails. Must not fit
//! anything.

use super::rows::{said, seconds};
use crate::layout::Remark;
use highwater_model::display;
use highwater_sizing::tables::{BatchCostModel, CostModel, Estimate, SURPRISE, Table};

pub(super) fn lines(batches: &CostModel, table: &Table) -> Vec<Remark> {
    let line = batches.line.iter();
    let line = line.flat_map(|line| fit(line, batches, table));
    let changes = batches.changes.iter().map(|change| {
        let (axis, at, unit) = (&table.axis.header, &change.value, &table.unit);
        let [axis, at, unit] = [axis, at, unit].map(|text| said(text));
        let [made, expected] = [change.throughput, change.expected].map(display::rate);
        let [off, least] = [change.deviations.abs(), SURPRISE].map(display::plain);
        Remark::new(
            "regime",
            format!(
                "changes at {axis} {at}: {made} {unit}, where the rows before it make {expected} ({off} standard \
                 deviations; {least} is a change)"
            ),
        )
    });
    line.chain(changes).collect()
}

fn fit(line: &BatchCostModel, batches: &CostModel, table: &Table) -> Vec<Remark> {
    let what = if batches.of_batches { "batch" } else { "load" };
    let sessions = match (batches.of_batches, line.sessions_stated) {
        (false, _) => String::new(),
        (true, true) => format!(", {} sessions", display::plain(line.sessions)),
        (true, false) => ", sessions not stated and taken as one".to_owned(),
    };
    let [fixed, per_row] = [&line.fixed_s, &line.per_row_s].map(estimate);
    let time = format!("time of a {what} = {fixed} + {per_row} per row{sessions}");
    let unit = said(&table.unit);
    let [most, half] = [line.asymptote, line.half_size].map(|of| of.map(display::rate));
    let tends = match (most, half) {
        (Some(most), Some(half)) => {
            format!("tends to {most} {unit}, half of it at {half} rows")
        }
        (Some(most), None) => {
            format!("tends to {most} {unit}; its fixed cost cannot be identified")
        }
        (None, _) => "one more row costs nothing: the model does not hold here".to_owned(),
    };
    let fitted = format!(
        "{} values, least squares of relative errors, 95% confidence by Student's t; at worst {} off",
        batches.fitted,
        display::percent(line.worst),
    );
    [("cost model", time), ("", tends), ("", fitted)]
        .map(|(label, sentence)| Remark::new(label, sentence))
        .into()
}

/// `84.7 ms (95% CI 82.8 ms to 86.5 ms)`.
fn estimate(estimate: &Estimate) -> String {
    let signed = |value: f64| {
        let text = seconds(value.abs());
        if value < 0.0 { format!("-{text}") } else { text }
    };
    let [value, low, high] = [estimate.value, estimate.low, estimate.high].map(signed);
    format!("{value} (95% CI {low} to {high})")
}
