//! The average of the models, from which predictions are made.
//!
//! No single model is selected. Amdahl's law, the USL, and the power law are averaged, weighted by
//! how well each predicts sizes that are left out. The straight lines are shown as well, but beyond
//! the measured sizes they predict too much if growth is sublinear. Smaller sizes have less weight,
//! because the curve bends at the largest ones. No randomness is used. If no growth was measured,
//! that of published clusters is assumed.

use highwater_model::numbers::len_to_f64;

use super::curve::{Curve, ScalingModel, shapes};
use super::forecast::{DEVIATIONS, Forecast, LEAST_SIDE, NEAR_LINEAR, Sides};
use super::sweep::{Size, Sweep};

/// From this number of sizes on, the sizes that remain after leaving one out distinguish a straight
/// line from a curve.
const SIZES_TO_LEAVE_ONE_OUT: usize = 3;

/// A model of the average.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its weight in the prediction; 0 for one that is only shown.
    pub weight: f64,
    /// Root mean square of its relative errors on the sizes left out; absent with fewer than two
    /// sizes.
    pub left_out_error: Option<f64>,
    pub(super) posterior: ModelPosterior,
}

/// All models, weighted by a sweep.
#[derive(Debug, Clone)]
pub struct Average {
    members: Vec<Member>,
    /// The measurements, and the models weighted by them.
    sweep: Sweep,
    models: Vec<ScalingModel>,
    /// Relative standard deviation of a new measurement.
    pub(super) error: f64,
    /// The factor for the error if no model fits the points within it.
    pub widened: f64,
}

impl Average {
    /// Weights all models by a sweep.
    pub fn new(sweep: &Sweep) -> Self {
        Self::among(&ScalingModel::ALL, sweep)
    }

    /// A single model, at the user's request: the median is that model's.
    pub fn by(model: ScalingModel, sweep: &Sweep) -> Self {
        Self::among(&[model], sweep)
    }

    fn among(models: &[ScalingModel], sweep: &Sweep) -> Self {
        let discounted = sweep.discounted();
        let widened = excess(&posteriors(models, &discounted), sweep.sizes().len());
        let discounted = discounted.widened(widened);
        Self {
            members: weighed(posteriors(models, &discounted), discounted.sizes()),
            sweep: sweep.clone(),
            models: models.to_vec(),
            error: discounted.error(),
            widened,
        }
    }

    /// The measurements.
    pub(super) const fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Its models, including those that are only shown.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The exponent of the size with which throughput is predicted to grow from the largest
    /// measured size to a larger one: from 0 (constant or falling) to 1 (linear).
    pub fn growth_to(&self, size: f64) -> f64 {
        self.power_to(size).clamp(0.0, 1.0)
    }

    /// The same, but below 0 if throughput is predicted to fall.
    fn power_to(&self, size: f64) -> f64 {
        let largest = self.sweep.largest();
        let grown = self.mean(|posterior| posterior.predict(size).mean)
            - self.mean(|posterior| posterior.predict(largest).mean);
        grown / (size / largest).ln()
    }

    /// Whether growth to a larger size is predicted to be near-linear.
    pub fn is_near_linear_to(&self, size: f64) -> bool {
        self.growth_to(size) >= NEAR_LINEAR
    }

    /// The prediction of a new measurement at a size from 1. Beyond the largest size, the interval is the one
    /// calibrated on published series. A measured size is predicted by its own measurement, with the noise of a run.
    /// Between two measured sizes, the prediction is the line through both in the logarithms, plus the curvature of the
    /// models above it.
    pub fn forecast(&self, size: f64) -> Forecast {
        let side = LEAST_SIDE.max(DEVIATIONS * self.error);
        let largest = self.sweep.largest();
        if size > largest {
            let log_mean = self.mean(|posterior| posterior.predict(size).mean);
            return Sides::new(self.power_to(size)).at(log_mean, (size / largest).ln(), side);
        }
        let nearest = self.sweep.around(size);
        let line = |log: &dyn Fn(&Size) -> f64| -> f64 {
            nearest.iter().map(|(part, of)| part * log(of)).sum()
        };
        let bend =
            |curve: &Curve| curve.per_s(size).ln() - line(&|of: &Size| curve.per_s(of.size).ln());
        let middle = self.mean(|posterior| posterior.moments(bend).0);
        let spread = self.mean(|posterior| {
            let (mean, variance) = posterior.moments(bend);
            (mean - middle).powi(2) + variance
        });
        let log_mean = line(&|of: &Size| of.per_s.ln()) + middle;
        Forecast::even(log_mean, side.hypot(DEVIATIONS * spread.sqrt()))
    }

    /// The same after a further size was measured.
    pub(super) fn after(&self, size: f64, per_s: f64) -> Self {
        Self::among(&self.models, &self.sweep.with(size, per_s))
    }

    /// The prediction of a single model, with the same error.
    pub fn forecast_by(&self, model: ScalingModel, size: f64) -> Option<Forecast> {
        let member = self.members.iter().find(|member| member.model() == model)?;
        let LogPrediction { mean, variance } = member.posterior.predict(size);
        let deviation = (variance + self.error * self.error).sqrt();
        Some(Forecast::even(mean, DEVIATIONS * deviation))
    }

    fn mean(&self, of: impl Fn(&ModelPosterior) -> f64) -> f64 {
        self.members
            .iter()
            .filter(|member| member.weight > 0.0)
            .map(|member| member.weight * of(&member.posterior))
            .sum()
    }
}

impl Member {
    /// The model.
    pub fn model(&self) -> ScalingModel {
        self.posterior.model
    }
}

fn posteriors(models: &[ScalingModel], sweep: &Sweep) -> Vec<ModelPosterior> {
    let (smallest, largest) = (sweep.smallest(), sweep.largest());
    let posterior = |model: &ScalingModel| {
        ModelPosterior::new(*model, &shapes(*model, smallest, largest), sweep.sizes())
    };
    models.iter().filter_map(posterior).collect()
}

/// Whether a model counts: a curved one, or any if there is no curved one.
fn counts(posterior: &ModelPosterior, all: &[ModelPosterior]) -> bool {
    let bends = |posterior: &ModelPosterior| {
        !matches!(posterior.model, ScalingModel::Linear | ScalingModel::Affine)
    };
    bends(posterior) || !all.iter().any(bends)
}

/// Birge's ratio (1932) of the best model, at least 1: if even that model misses the points by more
/// than their error explains, the stated error was too small. A model with as many parameters as sizes
/// is given one degree of freedom, because its bounds restrict it.
fn excess(posteriors: &[ModelPosterior], sizes: usize) -> f64 {
    let ratio = |posterior: &ModelPosterior| {
        let freedom = sizes.saturating_sub(posterior.model.parameters()).max(1);
        (posterior.least_chi_squared / len_to_f64(freedom)).sqrt()
    };
    let least = posteriors.iter().filter(|one| counts(one, posteriors)).map(ratio).reduce(f64::min);
    let least = least.filter(|least| least.is_finite());
    least.map_or(1.0, |least| least.max(1.0))
}

/// Weights by leaving one out (Geisser and Eddy 1979; Yao and others 2018, "pseudo-BMA"). With two
/// sizes nothing can be left out, so a model is weighted by its distance from them.
fn weighed(posteriors: Vec<ModelPosterior>, sizes: &[Size]) -> Vec<Member> {
    let logarithms: Vec<(f64, Option<f64>)> = posteriors
        .iter()
        .map(|posterior| {
            let left_out = posterior.leave_one_out(sizes);
            let mean = left_out.squares / len_to_f64(sizes.len());
            let error = (sizes.len() > 1).then(|| mean.sqrt());
            let log = if !counts(posterior, &posteriors) {
                f64::NEG_INFINITY
            } else if sizes.len() < SIZES_TO_LEAVE_ONE_OUT {
                -0.5 * posterior.least_chi_squared
            } else {
                left_out.log_density
            };
            (log, error)
        })
        .collect();
    let greatest = logarithms.iter().map(|(log, _)| *log).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logarithms.iter().map(|(log, _)| (log - greatest).exp()).sum();
    posteriors
        .into_iter()
        .zip(logarithms)
        .map(|(posterior, (log, left_out_error))| Member {
            weight: (log - greatest).exp() / total,
            left_out_error,
            posterior,
        })
        .collect()
}

/// A model after fitting to a sweep.
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

/// Performance of a model on sizes that were left out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LeftOut {
    /// Sum of the logarithms of its densities at them.
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

    /// Sum of squares around the mean; rounding can make it slightly negative.
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
    /// The posterior of `shapes`, which have equal prior probabilities, given `sizes`. `None`
    /// without shapes or sizes.
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

    /// Probabilities from the sums of squares, with equal prior probabilities.
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

    /// The true throughput at a size, without the noise of a measurement.
    pub(super) fn predict(&self, size: f64) -> LogPrediction {
        let log = |shape: &WeightedCurve| shape.log_scale + shape.shape.per_s(size).ln();
        let mean: f64 = self.sum(log);
        let spread = self.sum(|shape| (log(shape) - mean).powi(2));
        LogPrediction { mean, variance: spread + self.scale_variance }
    }

    /// Mean and variance of the part that does not depend on the scale.
    fn moments(&self, of: impl Fn(&Curve) -> f64) -> (f64, f64) {
        let mean = self.sum(|shape| of(&shape.shape));
        (mean, self.sum(|shape| (of(&shape.shape) - mean).powi(2)))
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
        // A density that underflows to 0 effectively excludes the model.
        LeftOut {
            log_density: (density / total).max(f64::MIN_POSITIVE).ln(),
            squares: (mean / total).powi(2),
        }
    }
}

/// The nodes that hold a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Placement {
    /// Some of them.
    #[default]
    Divided,
    /// All of them.
    Everywhere,
    /// The single machine whose CPUs are counted instead of nodes.
    OneMachine,
}

impl Placement {
    /// From the word for it in files of figures.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "divided" => Some(Self::Divided),
            "everywhere" => Some(Self::Everywhere),
            _ => None,
        }
    }

    /// Assumed exponent of throughput over nodes: the median of published series by nodes or
    /// shards, over steps of at most a doubling.
    pub const fn exponent(self) -> f64 {
        match self {
            Self::Divided => 0.80,
            // The median of three sources; one fell, and one grew linearly at first.
            Self::Everywhere => 0.45,
            // The median of 80 steps of at most a doubling, in 12 series by CPUs of three sources.
            Self::OneMachine => 0.64,
        }
    }

    /// Deviations of other systems from that, at their lower and their upper end.
    const fn spread(self) -> Sides {
        match self {
            Self::Divided => Sides { below: 0.42, above: 0.30 },
            Self::Everywhere => Sides { below: 0.90, above: 0.55 },
            // Nine of ten of these steps grew with an exponent of -0.05 to 1.10.
            Self::OneMachine => Sides { below: 0.69, above: 0.46 },
        }
    }
}

/// Throughput at measured sizes, and the pooled growth beyond them.
#[derive(Debug, Clone)]
pub struct PooledGrowth {
    /// Logarithms of sizes and throughputs, ascending; at least one.
    points: Vec<(f64, f64)>,
    /// The measurements.
    sweep: Sweep,
    placement: Placement,
    spread: Sides,
}

impl PooledGrowth {
    /// Made from at least one size.
    pub fn new(sweep: &Sweep, placement: Placement) -> Self {
        let sizes = sweep.sizes().iter();
        Self {
            points: sizes.map(|size| (size.size.ln(), size.per_s.ln())).collect(),
            sweep: sweep.clone(),
            placement,
            spread: placement.spread(),
        }
    }

    /// For a decision: the interval contains no growth at all, which the sizes do not exclude, and is at least as wide
    /// as that of any measured growth. More sizes then never make an answer less firm.
    pub fn cautious(mut self) -> Self {
        let Sides { below, above } = self.spread.at_least(Sides::WIDEST);
        self.spread = Sides { below: below.max(self.exponent()), above };
        self
    }

    /// The measurements.
    pub(super) const fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// The assumed exponent of throughput over nodes.
    pub const fn exponent(&self) -> f64 {
        self.placement.exponent()
    }

    /// The prediction of a new measurement at a size from 1: between measured sizes by a line in
    /// the logarithms, outside them by the pooled exponent.
    pub fn forecast(&self, size: f64) -> Forecast {
        let log_size = size.ln();
        let side = LEAST_SIDE.max(DEVIATIONS * self.sweep.error());
        let after = self.points.partition_point(|point| point.0 < log_size);
        let (nearest, steps) = match (self.points[..after].last(), self.points.get(after)) {
            (Some(below), Some(above)) => {
                let part = (log_size - below.0) / (above.0 - below.0);
                return Forecast::even(below.1 + part * (above.1 - below.1), side);
            }
            (Some(end), None) | (None, Some(end)) => (end, log_size - end.0),
            (None, None) => (&(0.0, 0.0), 0.0),
        };
        let middle = nearest.1 + self.exponent() * steps;
        let spread = self.spread;
        if steps < 0.0 {
            // A smaller exponent means more throughput at smaller sizes.
            let swapped = Sides { below: spread.above, above: spread.below };
            return swapped.at(middle, steps, side);
        }
        spread.at(middle, steps, side)
    }
}
