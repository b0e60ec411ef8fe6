//! A finding about a tuning from all its configurations. `highwater-analysis` has the findings of single records.

use crate::series::setting_of;
use crate::tables::axis::{along, base};
use crate::tables::{BatchCostModel, tables};
use highwater_analysis::findings::RuleFinding;
use highwater_analysis::judge::measured_streams;
use highwater_model::display::{duration, percent, rate};
use highwater_model::numbers::round_to_u64;
use highwater_model::record::ExperimentRecord;
use highwater_model::tune::TuneRecord;

#[cfg(test)]
mod tests;

const BATCH: &str = "batch";
/// Larger batches pay if at least this fraction of the largest batch's time does not depend on its rows.
const FIXED: f64 = 0.2;

/// Even the largest batch has a high cost that does not depend on its rows: t = a + b·rows.
pub fn batch_too_small(experiment: &ExperimentRecord) -> Option<RuleFinding> {
    let tune = experiment.tune()?;
    let (line, greatest) = cost_model(tune)?;
    let (fixed_s, per_row_s) = (line.fixed_s.value, line.per_row_s.value);
    let share = |fixed: f64| fixed / (fixed_s + per_row_s * greatest);
    // Every session has a batch in flight; unless the number of sessions is an axis, the model assumes one.
    let sessions = match measured_streams(&experiment.last_run).first() {
        Some(measured) if !line.sessions_stated => f64::from(measured.stream.sessions),
        _ => 1.0,
    };
    // The lower bound allows for the scatter of the configurations.
    let part = percent(share(fixed_s));
    let times = [fixed_s, per_row_s].map(|s| duration(round_to_u64(s * sessions * 1e9)));
    let ([fixed, per_row], rows) = (times, rate(greatest));
    (share(line.fixed_s.low) >= FIXED).then(|| RuleFinding {
        code: "batch_too_small",
        sentence: format!(
            "{part} of the time of the largest batch measured, {rows} rows, does not depend on its rows"
        ),
        evidence: format!("a batch takes {fixed} and {per_row} for each row"),
        hint: "larger batches (--over batch=…), until that share is small",
    })
}

/// The model of the batches through the best configuration, and the rows of the largest one; absent if the
/// configurations do not follow one model.
fn cost_model(tune: &TuneRecord) -> Option<(BatchCostModel, f64)> {
    let axis = tune.axes.iter().position(|axis| axis.name == BATCH)?;
    let set = along(tune, base(tune)?, axis);
    let found = tables(&set, Some(setting_of(BATCH))).ok()?;
    let table = found.first()?;
    let cost_model =
        table.cost_model.as_ref().filter(|cost_model| cost_model.changes.is_empty())?;
    let greatest = table.rows.iter().filter_map(|row| row.number);
    Some((cost_model.line.clone()?, greatest.max_by(f64::total_cmp)?))
}
