//! Throughput of each op at each size, and its increase over the first size.
//!
//! The same arithmetic applies to measured and to published sizes. Must not predict.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// What one op makes at a size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct OpRate {
    /// Per second, in the unit of all ops together.
    pub per_s: f64,
    /// Throughput more than at the first size, as a fraction of that; absent at the first size, and where the op made
    /// nothing there.
    pub gain: Option<f64>,
}

/// The rates of each op by name; sizes in the order given.
pub fn by_op<'a>(
    sizes: impl IntoIterator<Item = &'a BTreeMap<String, f64>>,
) -> Vec<BTreeMap<String, OpRate>> {
    let mut first: Option<&BTreeMap<String, f64>> = None;
    let mut rates = Vec::new();
    for size in sizes {
        let rate = |op: &String, per_s: f64| OpRate {
            per_s,
            gain: first
                .and_then(|first| first.get(op))
                .filter(|base| **base > 0.0)
                .map(|base| per_s / base - 1.0),
        };
        rates.push(size.iter().map(|(op, per_s)| (op.clone(), rate(op, *per_s))).collect());
        first = first.or(Some(size));
    }
    rates
}
