//! What a sweep says about the shapes of one model: how likely each is, and at which scale.
//!
//! The measured rates scatter around the truth by a known relative error, normally in the
//! logarithm; every scale was as likely as any other before. Then the scale of each shape follows
//! in closed form, and a sum over the shapes of the grid replaces every integral. Nothing is
//! drawn at random. How models are weighed against each other is not decided here.

use super::curve::{Curve, ScalingModel};
use super::sweep::Size;

/// A model as a sweep leaves it.
#[derive(Debug, Clone)]
pub(super) struct ModelPosterior {
    pub(super) model: ScalingModel,
    shapes: Vec<WeightedCurve>,
    /// Variance of the logarithm of the scale, the same for every shape.
    scale_variance: f64,
    /// Least sum of squared deviations in units of the error.
    pub(super) least_chi_squared: f64,
}

/// A shape.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeightedCurve {
    pub(super) shape: Curve,
    /// Probability within its model.
    probability: f64,
    /// Mean of the logarithm of the scale.
    log_scale: f64,
    /// Sum of squared deviations from the measured sizes, in units of the error.
    pub(super) chi_squared: f64,
}

/// A prediction of the logarithm of a throughput.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogPrediction {
    pub(super) mean: f64,
    pub(super) variance: f64,
}

/// How a model does on sizes that were left out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LeftOut {
    /// Sum of the logarithms of the densities that it gave to them.
    pub(super) log_density: f64,
    /// Sum of its squared relative errors.
    pub(super) squares: f64,
}

/// Deviations of one shape from the sizes, as weighted sums.
#[derive(Clone, Copy, Default)]
struct Sums {
    weight: f64,
    first: f64,
    second: f64,
}

impl Sums {
    fn add(&mut self, deviation: f64, weight: f64) {
        self.weight += weight;
        self.first += weight * deviation;
        self.second += weight * deviation * deviation;
    }

    fn mean(&self) -> f64 {
        self.first / self.weight
    }

    /// Sum of squares around the mean; rounding can take it just below 0.
    fn chi_squared(&self) -> f64 {
        (self.second - self.first * self.mean()).max(0.0)
    }
}

fn deviation(shape: &Curve, size: &Size) -> f64 {
    size.per_s.ln() - shape.per_s(size.size).ln()
}

fn weight(size: &Size) -> f64 {
    1.0 / (size.error * size.error)
}

fn sums(shape: &Curve, sizes: &[Size]) -> Sums {
    let mut sums = Sums::default();
    for size in sizes {
        sums.add(deviation(shape, size), weight(size));
    }
    sums
}

impl ModelPosterior {
    /// What `sizes` say about `shapes`, which are as likely as each other before. `None` without
    /// shapes or sizes.
    pub(super) fn new(model: ScalingModel, shapes: &[Curve], sizes: &[Size]) -> Option<Self> {
        let sums: Vec<Sums> = shapes.iter().map(|shape| sums(shape, sizes)).collect();
        let scale_variance = 1.0 / sums.first()?.weight;
        if !scale_variance.is_finite() {
            return None;
        }
        let believed = |(shape, sums): (&Curve, &Sums)| WeightedCurve {
            shape: *shape,
            probability: 1.0,
            log_scale: sums.mean(),
            chi_squared: sums.chi_squared(),
        };
        let mut posterior = Self {
            model,
            shapes: shapes.iter().zip(&sums).map(believed).collect(),
            scale_variance,
            least_chi_squared: 0.0,
        };
        posterior.normalize();
        Some(posterior)
    }

    /// Probabilities from the sums of squares: each shape was as likely as the next.
    fn normalize(&mut self) {
        let least = self.shapes.iter().map(|shape| shape.chi_squared);
        self.least_chi_squared = least.fold(f64::INFINITY, f64::min);
        for shape in &mut self.shapes {
            shape.probability = (0.5 * (self.least_chi_squared - shape.chi_squared)).exp();
        }
        let total: f64 = self.shapes.iter().map(|shape| shape.probability).sum();
        for shape in &mut self.shapes {
            shape.probability /= total;
        }
    }

    /// Shapes whose sum of squares is above the least by at most `margin`.
    pub(super) fn within(&self, margin: f64) -> impl Iterator<Item = &WeightedCurve> {
        let most = self.least_chi_squared + margin;
        self.shapes.iter().filter(move |shape| shape.chi_squared <= most)
    }

    /// The throughput at a size, as it is and not as it would be measured.
    pub(super) fn predict(&self, size: f64) -> LogPrediction {
        let log = |shape: &WeightedCurve| shape.log_scale + shape.shape.per_s(size).ln();
        let mean: f64 = self.sum(log);
        let spread = self.sum(|shape| (log(shape) - mean).powi(2));
        LogPrediction { mean, variance: spread + self.scale_variance }
    }

    fn sum(&self, of: impl Fn(&WeightedCurve) -> f64) -> f64 {
        self.shapes.iter().map(|shape| shape.probability * of(shape)).sum()
    }

    /// Leaves each of the sizes out in turn and predicts it from the others.
    pub(super) fn leave_one_out(&self, sizes: &[Size]) -> LeftOut {
        let mut total = LeftOut::default();
        if sizes.len() < 2 {
            return total;
        }
        let all: Vec<Sums> = self.shapes.iter().map(|shape| sums(&shape.shape, sizes)).collect();
        for size in sizes {
            let one = self.leave_out(&all, size);
            total.log_density += one.log_density;
            total.squares += one.squares;
        }
        total
    }

    fn leave_out(&self, all: &[Sums], size: &Size) -> LeftOut {
        let without = self.shapes.iter().zip(all).map(|(shape, all)| {
            let deviation = deviation(&shape.shape, size);
            let mut rest = *all;
            rest.add(deviation, -weight(size));
            let residual = deviation - rest.mean();
            (rest, residual)
        });
        let without: Vec<(Sums, f64)> = without.collect();
        let least =
            without.iter().map(|(rest, _)| rest.chi_squared()).fold(f64::INFINITY, f64::min);
        let (mut total, mut density, mut mean) = (0.0, 0.0, 0.0);
        for (rest, residual) in &without {
            let probability = (0.5 * (least - rest.chi_squared())).exp();
            let variance = size.error * size.error + 1.0 / rest.weight;
            total += probability;
            mean += probability * residual;
            density +=
                probability * (-0.5 * residual * residual / variance).exp() / variance.sqrt();
        }
        // A density so small that it is 0 in floating point is as good as excluded.
        LeftOut {
            log_density: (density / total).max(f64::MIN_POSITIVE).ln(),
            squares: (mean / total).powi(2),
        }
    }
}
