//! The free fraction of a cluster's capacity. Must not know its purpose.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::scaling::Prediction;
/// Free capacity, as a part; below 0 where the needs are not carried.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Headroom {
    /// Middle.
    pub expected: f64,
    /// 5% are below.
    pub low: f64,
    /// 5% are above.
    pub high: f64,
}

impl From<Prediction> for Headroom {
    fn from(used: Prediction) -> Self {
        Self { expected: 1.0 - used.expected, low: 1.0 - used.high, high: 1.0 - used.low }
    }
}
