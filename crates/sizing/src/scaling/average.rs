//! The average of the models, which is what predictions are made of.
//!
//! No model is chosen. Amdahl's law, the USL and the power law are averaged by how well each
//! predicts the sizes that are left out; the straight lines are shown beside them, but what they
//! promise beyond the measured sizes is too much wherever growth bends. A size counts less the
//! smaller it is, because a bend shows at the largest ones. Nothing is drawn at random.

use super::curve::ScalingModel;
use super::forecast::{DEVIATIONS, Forecast};
use super::posterior::{LogPrediction, ModelPosterior};
use super::reach::{LEAST_SIDE, NEAR_LINEAR, Sides};
use super::shapes::shapes;
use super::sweep::{Size, Sweep};
use highwater_model::numbers::len_to_f64;

/// From so many sizes on, leaving one out leaves enough to tell a straight line from a bent one.
const SIZES_TO_LEAVE_ONE_OUT: usize = 3;

/// A model within the average.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its share of the prediction; 0 for one that is only shown.
    pub weight: f64,
    /// Root mean square of its relative errors on the sizes left out; absent below two sizes.
    pub left_out_error: Option<f64>,
    pub(super) posterior: ModelPosterior,
}

/// All models, weighed by what a sweep says.
#[derive(Debug, Clone)]
pub struct Average {
    members: Vec<Member>,
    /// The largest size that the growth was measured at.
    pub(super) largest: f64,
    /// Relative standard deviation of a new measurement.
    pub(super) error: f64,
    /// What the error is multiplied by because no model comes as near to the points as it says.
    pub widened: f64,
}

impl Average {
    /// Weighs all models by a sweep.
    pub fn new(sweep: &Sweep) -> Self {
        Self::among(&ScalingModel::ALL, sweep)
    }

    /// One model alone, for who believes in it: the middle is that model's.
    pub fn by(model: ScalingModel, sweep: &Sweep) -> Self {
        Self::among(&[model], sweep)
    }

    fn among(models: &[ScalingModel], sweep: &Sweep) -> Self {
        let discounted = sweep.discounted();
        let widened = excess(&posteriors(models, &discounted), sweep.sizes().len());
        let discounted = discounted.widened(widened);
        Self {
            members: weighed(posteriors(models, &discounted), discounted.sizes()),
            largest: sweep.largest(),
            error: discounted.error(),
            widened,
        }
    }

    /// Its models, those that are only shown included.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The power of the size with which throughput is predicted to grow from the largest measured
    /// size to a larger one: 0 (it stays or falls) to 1 (linear).
    pub fn growth_to(&self, size: f64) -> f64 {
        self.power_to(size).clamp(0.0, 1.0)
    }

    /// The same, below 0 where it is predicted to fall.
    fn power_to(&self, size: f64) -> f64 {
        let steps = (size / self.largest).ln();
        let grown = self.mean(|posterior| posterior.predict(size).mean)
            - self.mean(|posterior| posterior.predict(self.largest).mean);
        grown / steps
    }

    /// Whether growth was near-linear so far, as far as it bears on a larger size.
    pub fn is_near_linear_to(&self, size: f64) -> bool {
        self.growth_to(size) >= NEAR_LINEAR
    }

    /// What a new measurement at a size from 1 would show. Beyond the largest size the interval
    /// is the one that held on published series; up to there it is what the models leave open,
    /// and at least the noise of a run.
    pub fn forecast(&self, size: f64) -> Forecast {
        let log_mean = self.mean(|posterior| posterior.predict(size).mean);
        let side = LEAST_SIDE.max(DEVIATIONS * self.error);
        if size > self.largest {
            let steps = (size / self.largest).ln();
            return Sides::of(self.power_to(size)).at(log_mean, steps, side);
        }
        let between = self.mean(|posterior| (posterior.predict(size).mean - log_mean).powi(2));
        // All models err together where the same measurements mislead them: deviations add up.
        let within = self.mean(|posterior| posterior.predict(size).variance.sqrt());
        let deviation = between.sqrt().hypot(within);
        Forecast::even(log_mean, side.max(DEVIATIONS * deviation))
    }

    /// What a single model predicts by itself, with the same error.
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
    /// Which model it is.
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

/// Whether a model counts: a bent one, or any where there is no bent one beside it.
fn counts(posterior: &ModelPosterior, all: &[ModelPosterior]) -> bool {
    let bends = |posterior: &ModelPosterior| {
        !matches!(posterior.model, ScalingModel::Linear | ScalingModel::Affine)
    };
    bends(posterior) || !all.iter().any(bends)
}

/// Birge's ratio (1932) of the best model, at least 1: where even that model misses the points by more
/// than their error explains, the error was stated too small. A model with as many parameters as
/// there are sizes is granted one degree of freedom, because its bounds leave it some.
fn excess(posteriors: &[ModelPosterior], sizes: usize) -> f64 {
    let ratio = |posterior: &ModelPosterior| {
        let freedom = sizes.saturating_sub(posterior.model.parameters()).max(1);
        (posterior.least_chi_squared / len_to_f64(freedom)).sqrt()
    };
    let least = posteriors.iter().filter(|one| counts(one, posteriors)).map(ratio).reduce(f64::min);
    let least = least.filter(|least| least.is_finite());
    least.map_or(1.0, |least| least.max(1.0))
}

/// Weights by leaving one out (Geisser and Eddy 1979; Yao and others 2018, "pseudo-BMA"). From two
/// sizes nothing can be left out; there a model counts by how near it comes to them.
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
