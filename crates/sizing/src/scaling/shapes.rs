//! The shapes that each model can take, spread evenly over what a sweep can show.
//!
//! A shape is a curve without its scale. Shapes are laid out by the efficiency that is left at the
//! largest measured size, because that is what a sweep sees; so before anything is measured, no
//! model is favored by the way in which its parameters are written.

use super::curve::{Curve, ScalingModel};

/// Shapes of a model with one shape parameter. Efficiencies are then less than a hundredth apart,
/// a third of the least error of a measurement; a finer grid changes no result.
const STEPS: u32 = 128;
/// Crosstalks per contention for each efficiency of the model with two shape parameters.
const RATIOS: u32 = 24;
/// Range of κ/σ, evenly spread over its logarithm. At the lower end crosstalk equals contention at
/// 1,000 nodes, beyond any cluster that is sized here; at the upper end from the first node on.
/// Published fits lie between (κ/σ of 0.004 to 1 in the oracles of the tests).
const RATIO_RANGE: (f64, f64) = (1e-3, 1.0);

/// Shapes of a model over measured sizes from `smallest` to `largest`; each is as likely as the next.
/// From a single size nothing is learnt about shape, so there is only the straight line.
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
                // Only this model can fall, so only here an efficiency may be below the flat one.
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

/// The middles of `steps` equal parts of 0 to 1.
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

    /// Contention σ, with κ = ratio·σ, that leaves this efficiency; `None` where σ would leave 0 to 1.
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
