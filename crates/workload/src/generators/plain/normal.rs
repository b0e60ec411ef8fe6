//! `normal`: around a mean; clamped, and rounded down for integers.

use super::making::Make;
use crate::generators::prelude::{
    ColumnType, Draws, NUMBERS, Section, Serialize, Spec, Value, specs,
};
use highwater_model::numbers::truncate_to_i64;

/// Deviations from the mean that one value in 16,000 reaches on each side.
const REACHED: f64 = 4.0;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Normal {
    mean: f64,
    deviation: f64,
    min: f64,
    max: f64,
}

impl Make for Normal {
    const SPECS: &'static [Spec] = specs!(
        "normal", "around a mean, clamped to min and max", NUMBERS,
        ["mean": Float, "deviation": Float; "min": Float, "max": Float];
    );

    fn read(of: &Section<'_>, _: &str, kind: ColumnType) -> Option<Self> {
        // What a double can be converted to without loss of its last digit.
        let limit = match kind {
            ColumnType::Integer => f64::from(i32::MAX),
            ColumnType::Bigint => 9_007_199_254_740_992.0,
            _ => f64::MAX / 4.0,
        };
        let mean = of.float("mean", None);
        let deviation = of.float("deviation", None);
        let min = of.float("min", Some(-limit));
        let max = of.float("max", Some(limit));
        of.check_order(min < max);
        let good = deviation >= 0.0 && min >= -limit && max <= limit && mean.abs() <= limit;
        let message = format!("a number of {} is out of range", of.place);
        let hint = format!("`deviation` is at least 0, the others are within {limit:e}");
        of.check(good, message, hint);
        of.good(Self { mean, deviation, min, max })
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        self.float(draws, n).to_string()
    }

    fn integer(&self, draws: &Draws, n: u64) -> i64 {
        truncate_to_i64(self.float(draws, n).floor())
    }

    fn float(&self, draws: &Draws, n: u64) -> f64 {
        (self.mean + self.deviation * draws.normal(n)).clamp(self.min, self.max)
    }

    fn extremes(&self, kind: ColumnType) -> Vec<Value> {
        let ends = [-REACHED, REACHED].map(|deviations| {
            let end = (self.mean + self.deviation * deviations).clamp(self.min, self.max);
            match kind {
                ColumnType::Float => Value::Float(end),
                _ => Value::Integer(truncate_to_i64(end.floor())),
            }
        });
        ends.to_vec()
    }
}
