//! Scaling models with their parameters: throughput at a size, the peak.
//!
//! Plain formulas; nothing here is fitted or judged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model of how throughput grows with size (nodes, sessions, shards).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ScalingModel {
    /// X = a·n
    Linear,
    /// X = a + b·n
    Affine,
    /// X = γ·n / (1 + σ(n − 1)); Amdahl 1967
    Amdahl,
    /// X = γ·n / (1 + σ(n − 1) + κ·n(n − 1)); Gunther 1993, the universal scalability law
    Usl,
    /// X = γ·n^p
    Power,
}

impl ScalingModel {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Linear, Self::Affine, Self::Amdahl, Self::Usl, Self::Power];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Affine => "affine",
            Self::Amdahl => "Amdahl",
            Self::Usl => "USL",
            Self::Power => "power",
        }
    }

    /// What it says about the cluster, one sentence.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Linear => "Every node adds the same, and the first one too.",
            Self::Affine => {
                "Every node after the first adds the same, but less than the first one gave: a \
                 cost arises once, on becoming a cluster."
            }
            Self::Amdahl => {
                "A share σ of the work cannot be spread over nodes, so the throughput approaches a \
                 ceiling of γ/σ."
            }
            Self::Usl => {
                "As Amdahl, and each pair of nodes costs κ for keeping in step, so beyond a peak \
                 more nodes give less."
            }
            Self::Power => {
                "Each doubling of the size multiplies the throughput by the same factor, 2^p."
            }
        }
    }

    /// Number of its parameters.
    pub const fn parameters(self) -> usize {
        match self {
            Self::Linear => 1,
            Self::Affine | Self::Amdahl | Self::Power => 2,
            Self::Usl => 3,
        }
    }
}

/// A model with its parameters. Throughputs are per second, in the unit of the points.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum Curve {
    /// X = a·n
    Linear {
        /// a, per second and node; above 0.
        per_node: f64,
    },
    /// X = a + b·n
    Affine {
        /// a, per second; from 0.
        fixed: f64,
        /// b, per second and node; from 0.
        per_node: f64,
    },
    /// X = γ·n / (1 + σ(n − 1))
    Amdahl {
        /// γ, per second: the throughput at size 1; above 0.
        first: f64,
        /// σ, contention: the share of the work that is done one after the other; 0 to 1.
        contention: f64,
    },
    /// X = γ·n / (1 + σ(n − 1) + κ·n(n − 1))
    Usl {
        /// γ, per second: the throughput at size 1; above 0.
        first: f64,
        /// σ, contention; 0 to 1.
        contention: f64,
        /// κ, crosstalk: the cost of keeping a pair in step; from 0.
        crosstalk: f64,
    },
    /// X = γ·n^p
    Power {
        /// γ, per second: the throughput at size 1; above 0.
        first: f64,
        /// p; 0 to 1.
        exponent: f64,
    },
}

/// The size at which throughput is greatest, and that throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// Size, from 1.
    pub size: f64,
    /// Throughput there, per second.
    pub per_s: f64,
}

impl Curve {
    /// Throughput per second at a size from 1.
    pub fn per_s(&self, size: f64) -> f64 {
        match *self {
            Self::Linear { per_node } => per_node * size,
            Self::Affine { fixed, per_node } => fixed + per_node * size,
            Self::Amdahl { first, contention } => first * size / (1.0 + contention * (size - 1.0)),
            Self::Usl { first, contention, crosstalk } => {
                first * size / (1.0 + (contention + crosstalk * size) * (size - 1.0))
            }
            Self::Power { first, exponent } => first * size.powf(exponent),
        }
    }

    /// The peak, for a curve that has one: N* = √((1 − σ)/κ), Gunther 2007, and never below 1.
    pub fn peak(&self) -> Option<Peak> {
        match *self {
            Self::Usl { contention, crosstalk, .. } if crosstalk > 0.0 => {
                let size = ((1.0 - contention) / crosstalk).sqrt().max(1.0);
                Some(Peak { size, per_s: self.per_s(size) })
            }
            _ => None,
        }
    }
}
