//! Scaling models with their parameters: throughput at a size, the peak, and the shapes that each model can take.
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
    /// Linear: X = a·n
    Linear,
    /// Linear with a fixed part: X = a + b·n
    Affine,
    /// Amdahl's law (1967): X = γ·n / (1 + σ(n − 1))
    Amdahl,
    /// Universal scalability law (Gunther 1993): X = γ·n / (1 + σ(n − 1) + κ·n(n − 1))
    Usl,
    /// Power law: X = γ·n^p
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

    /// Its meaning for the cluster, in one sentence.
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
    /// Linear: X = a·n
    Linear {
        /// a: throughput per second and node; above 0.
        per_node: f64,
    },
    /// Linear with a fixed part: X = a + b·n
    Affine {
        /// a: fixed throughput per second; at least 0.
        fixed: f64,
        /// b: throughput per second and node; at least 0.
        per_node: f64,
    },
    /// Amdahl's law: X = γ·n / (1 + σ(n − 1))
    Amdahl {
        /// γ: throughput per second at size 1; above 0.
        first: f64,
        /// σ, contention: the fraction of the work that is serialized; 0 to 1.
        contention: f64,
    },
    /// Universal scalability law: X = γ·n / (1 + σ(n − 1) + κ·n(n − 1))
    Usl {
        /// γ: throughput per second at size 1; above 0.
        first: f64,
        /// σ, contention; 0 to 1.
        contention: f64,
        /// κ, crosstalk: the cost of keeping a pair consistent; at least 0.
        crosstalk: f64,
    },
    /// Power law: X = γ·n^p
    Power {
        /// γ: throughput per second at size 1; above 0.
        first: f64,
        /// p, the exponent; 0 to 1.
        exponent: f64,
    },
}

/// The size with the highest throughput.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Peak {
    /// The size; at least 1.
    pub size: f64,
    /// Throughput at this size, per second.
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

/// Shapes of a model with one shape parameter. Adjacent efficiencies then differ by less than a
/// hundredth, a third of the smallest error of a measurement; a finer grid does not change results.
const STEPS: u32 = 128;
/// Crosstalks per contention for each efficiency of the model with two shape parameters.
const RATIOS: u32 = 24;
/// Range of κ/σ, evenly spread over its logarithm. At the lower end, crosstalk equals contention at
/// 1,000 nodes, beyond any cluster that is sized here; at the upper end, from the first node on.
/// Published fits lie between (κ/σ of 0.004 to 1 in the oracles of the tests).
const RATIO_RANGE: (f64, f64) = (1e-3, 1.0);

/// Shapes of a model over measured sizes from `smallest` to `largest`; all have equal prior
/// probability. A single size contains no information about the shape, so there is only the straight
/// line.
pub(super) fn shapes(model: ScalingModel, smallest: f64, largest: f64) -> Vec<Curve> {
    if model == ScalingModel::Linear {
        return vec![Curve::Linear { per_node: 1.0 }];
    }
    if largest <= smallest {
        return Vec::new();
    }
    let over = Span { smallest, largest };
    match model {
        ScalingModel::Linear => Vec::new(),
        ScalingModel::Affine => efficiencies(over.flat()).map(|e| over.affine(e)).collect(),
        ScalingModel::Power => efficiencies(over.flat()).map(|e| over.power(e)).collect(),
        ScalingModel::Amdahl => {
            efficiencies(over.flat()).filter_map(|e| over.contended(e, 0.0)).collect()
        }
        ScalingModel::Usl => ratios()
            .flat_map(|ratio| {
                // Only this model can fall, so only here the efficiency may be below that of
                // constant throughput.
                efficiencies(0.0).filter_map(move |e| over.contended(e, ratio))
            })
            .collect(),
    }
}

fn ratios() -> impl Iterator<Item = f64> {
    let (low, high) = (RATIO_RANGE.0.ln(), RATIO_RANGE.1.ln());
    middles(RATIOS).map(move |part| (low + (high - low) * part).exp())
}

/// Efficiencies from `from` to 1.
fn efficiencies(from: f64) -> impl Iterator<Item = f64> {
    middles(STEPS).map(move |part| from + (1.0 - from) * part)
}

/// The midpoints of `steps` equal parts of the range 0 to 1.
fn middles(steps: u32) -> impl Iterator<Item = f64> {
    (0..steps).map(move |step| (f64::from(step) + 0.5) / f64::from(steps))
}

#[derive(Clone, Copy)]
struct Span {
    smallest: f64,
    largest: f64,
}

impl Span {
    /// Efficiency at the largest size, relative to the smallest, of a cluster that does not grow.
    fn flat(self) -> f64 {
        self.smallest / self.largest
    }

    fn affine(self, efficiency: f64) -> Curve {
        let growth = efficiency / self.flat();
        Curve::Affine {
            fixed: (self.largest - growth * self.smallest) / (growth - 1.0),
            per_node: 1.0,
        }
    }

    fn power(self, efficiency: f64) -> Curve {
        Curve::Power {
            first: 1.0,
            exponent: 1.0 + efficiency.ln() / (self.largest / self.smallest).ln(),
        }
    }

    /// Contention σ, with κ = ratio·σ, that results in this efficiency; `None` if σ would be outside 0
    /// to 1.
    fn contended(self, efficiency: f64, ratio: f64) -> Option<Curve> {
        let loss = |size: f64| (1.0 + ratio * size) * (size - 1.0);
        let contention =
            (1.0 - efficiency) / (efficiency * loss(self.largest) - loss(self.smallest));
        if !(0.0..=1.0).contains(&contention) {
            return None;
        }
        Some(if ratio > 0.0 {
            Curve::Usl { first: 1.0, contention, crosstalk: ratio * contention }
        } else {
            Curve::Amdahl { first: 1.0, contention }
        })
    }
}
