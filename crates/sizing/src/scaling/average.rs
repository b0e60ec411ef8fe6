//! The average of the models, which is what predictions are made of.
//!
//! No model is chosen. The truth is taken as a blend of the models, whose shares are not known: their
//! means come from how well each model predicts the sizes that are left out, and they are spread
//! as evenly as shares can be (a Dirichlet distribution whose concentration is the number of models,
//! which is the uniform one where the means are equal). The variance of such a blend is the
//! variance between the models divided by their number plus one, beside the variance within them.
//!
//! Predictions are those of a new measurement. Nothing is drawn at random.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statrs::distribution::{ContinuousCDF, Normal};

use super::curve::ScalingModel;
use super::posterior::{LogPrediction, ModelPosterior};
use super::shapes::shapes;
use super::sweep::{Size, Sweep};

/// Level of every interval: nine of ten new measurements fall into it.
pub const LEVEL: f64 = 0.9;
/// How many standard deviations that is to each side: the normal quantile of 0.95.
const DEVIATIONS: f64 = 1.644_853_626_951_472_2;
/// A prediction is refused beyond so many times the largest measured size: every model fits what
/// was measured, and beyond the range they part.
pub const FARTHEST: f64 = 2.0;
/// From so many sizes on, leaving one out leaves enough to tell a straight line from a bent one.
const SIZES_TO_LEAVE_ONE_OUT: usize = 3;

/// A predicted throughput, per second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prediction {
    /// Half of the new measurements are above it.
    pub expected: f64,
    /// 5 % are below it.
    pub low: f64,
    /// 5 % are above it.
    pub high: f64,
}

/// The distribution of a predicted throughput: normal in its logarithm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Forecast {
    log_mean: f64,
    log_deviation: f64,
}

/// A model within the average.
#[derive(Debug, Clone)]
pub struct Member {
    /// Mean of its share.
    pub weight: f64,
    /// Root mean square of its relative errors on the sizes left out; absent below two sizes.
    pub left_out_error: Option<f64>,
    pub(super) posterior: ModelPosterior,
}

/// All models, weighed by what a sweep says.
#[derive(Debug, Clone)]
pub struct Average {
    members: Vec<Member>,
    largest: f64,
    /// The largest size of another cluster that the growth is applied to; 0 where there is none.
    anchor: f64,
    /// Relative standard deviation of a new measurement.
    error: f64,
    /// What the error is multiplied by because no model comes as near to the points as it says.
    pub widened: f64,
    /// What deviations beyond the largest size are multiplied by, because earlier predictions of
    /// the same kind were as far off; 1 where none was.
    pub surprise: f64,
}

impl Forecast {
    /// Its middle and its interval.
    pub fn prediction(&self) -> Prediction {
        let at = |deviations: f64| (self.log_mean + deviations * self.log_deviation).exp();
        Prediction {
            expected: at(0.0),
            low: at(-DEVIATIONS),
            high: at(DEVIATIONS),
        }
    }

    /// Probability that a new measurement reaches a throughput.
    pub fn chance_of(&self, per_s: f64) -> f64 {
        Normal::standard().cdf((self.log_mean - per_s.ln()) / self.log_deviation)
    }

    /// The same of a throughput that is `factor` times as high, where the logarithm of the factor
    /// is known to `log_deviation`.
    pub fn scaled(&self, factor: f64, log_deviation: f64) -> Self {
        Self {
            log_mean: self.log_mean + factor.ln(),
            log_deviation: self.log_deviation.hypot(log_deviation),
        }
    }

    /// The part of the capacity that several needs use together, each given per second beside the
    /// forecast of what the cluster can do of it alone: parts add up where all needs compete for
    /// the same machines, and their errors are taken as independent (first order in the
    /// logarithm). `None` without a need.
    pub fn used(needs: &[(f64, Self)]) -> Option<Self> {
        let part = |(per_s, alone): &(f64, Self)| per_s / alone.log_mean.exp();
        let total: f64 = needs.iter().map(part).sum();
        let variance = needs.iter().map(|need| {
            let share = part(need) / total;
            (share * need.1.log_deviation).powi(2)
        });
        let log_deviation = variance.sum::<f64>().sqrt();
        (total > 0.0).then(|| Self {
            log_mean: total.ln(),
            log_deviation,
        })
    }

    fn deviations_from(&self, per_s: f64) -> f64 {
        (per_s.ln() - self.log_mean) / self.log_deviation
    }
}

impl Prediction {
    /// Half the width of the interval, as a part of the expected throughput.
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.expected
    }

    /// Interval score (Gneiting and Raftery 2007): the width, and 2/(1 − level) times what the
    /// truth is outside by. Less is better.
    pub fn score(&self, truth: f64) -> f64 {
        let outside = (self.low - truth).max(truth - self.high).max(0.0);
        self.high - self.low + 2.0 / (1.0 - LEVEL) * outside
    }
}

impl Average {
    /// Weighs all models by a sweep.
    pub fn new(sweep: &Sweep) -> Self {
        Self::among(&ScalingModel::ALL, sweep)
    }

    /// One model alone, for who believes in it: no spread between models widens its intervals.
    pub fn by(model: ScalingModel, sweep: &Sweep) -> Self {
        Self::among(&[model], sweep)
    }

    fn among(models: &[ScalingModel], sweep: &Sweep) -> Self {
        let mut average = Self::without_backtest(models, sweep);
        average.surprise = surprise(models, sweep);
        average
    }

    fn without_backtest(models: &[ScalingModel], sweep: &Sweep) -> Self {
        let widened = excess(&beliefs(models, sweep), sweep.sizes().len());
        let sweep = sweep.widened(widened);
        Self {
            members: weighed(beliefs(models, &sweep), sweep.sizes()),
            largest: sweep.largest(),
            anchor: 0.0,
            error: sweep.error(),
            widened,
            surprise: 1.0,
        }
    }

    /// The same growth at the scale of another cluster, measured at the sizes of `own`.
    pub fn anchored(&self, own: &Sweep) -> Self {
        let anchored = |member: &Member| {
            Some(Member {
                posterior: member.posterior.anchored(own.sizes())?,
                ..member.clone()
            })
        };
        Self {
            members: self.members.iter().filter_map(anchored).collect(),
            error: self.error.max(own.error()),
            anchor: own.largest(),
            ..self.clone()
        }
    }

    /// Its models.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Relative standard deviation that a new measurement is taken to have.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The largest size that the growth was measured at.
    pub fn largest(&self) -> f64 {
        self.largest
    }

    /// The largest size that is predicted without being asked to extrapolate: at least one that was
    /// measured, whatever the growth's own range.
    pub fn farthest(&self) -> f64 {
        self.anchor.max(FARTHEST * self.largest)
    }

    /// What a new measurement at a size from 1 would show.
    pub fn forecast(&self, size: f64) -> Forecast {
        let parts: Vec<(f64, LogPrediction)> = self
            .members
            .iter()
            .map(|member| (member.weight, member.posterior.predict(size)))
            .collect();
        let sum = |of: &dyn Fn(&LogPrediction) -> f64| -> f64 {
            parts.iter().map(|(weight, part)| weight * of(part)).sum()
        };
        let log_mean = sum(&|part| part.mean);
        let between = sum(&|part| (part.mean - log_mean).powi(2)) / (MODELS + 1.0);
        // All models err together where the same measurements mislead them: deviations add up.
        let within = sum(&|part| part.variance.sqrt()).powi(2);
        let deviation = (between + within + self.error * self.error).sqrt();
        let beyond = size > self.largest;
        Forecast {
            log_mean,
            log_deviation: deviation * if beyond { self.surprise } else { 1.0 },
        }
    }

    /// What a single model predicts by itself, with the same error.
    pub fn forecast_by(&self, model: ScalingModel, size: f64) -> Option<Forecast> {
        let member = self.members.iter().find(|member| member.model() == model)?;
        let part = member.posterior.predict(size);
        Some(Forecast {
            log_mean: part.mean,
            log_deviation: (part.variance + self.error * self.error).sqrt(),
        })
    }
}

impl Member {
    /// Which model it is.
    pub fn model(&self) -> ScalingModel {
        self.posterior.model
    }
}

#[expect(clippy::cast_precision_loss, reason = "five")]
const MODELS: f64 = ScalingModel::ALL.len() as f64;

fn beliefs(models: &[ScalingModel], sweep: &Sweep) -> Vec<ModelPosterior> {
    let (smallest, largest) = (sweep.smallest(), sweep.largest());
    let posterior = |model: &ScalingModel| {
        ModelPosterior::new(*model, &shapes(*model, smallest, largest), sweep.sizes())
    };
    models.iter().filter_map(posterior).collect()
}

/// Birge's ratio (1932) of the best model, at least 1: where even that model misses the points by more
/// than their error explains, the error was stated too small. A model with as many parameters as
/// there are sizes is granted one degree of freedom, because its bounds leave it some.
#[expect(clippy::cast_precision_loss, reason = "sizes are few")]
fn excess(beliefs: &[ModelPosterior], sizes: usize) -> f64 {
    let ratio = |posterior: &ModelPosterior| {
        let freedom = sizes.saturating_sub(posterior.model.parameters()).max(1) as f64;
        (posterior.least_chi_squared / freedom).sqrt()
    };
    let least = beliefs.iter().map(ratio).fold(f64::INFINITY, f64::min);
    if least.is_finite() {
        least.max(1.0)
    } else {
        1.0
    }
}

/// Weights by leaving one out (Geisser and Eddy 1979; Yao and others 2018, "pseudo-BMA"). From two
/// sizes nothing can be left out; there a model counts by how near it comes to them.
#[expect(clippy::cast_precision_loss, reason = "sizes are few")]
fn weighed(beliefs: Vec<ModelPosterior>, sizes: &[Size]) -> Vec<Member> {
    let logarithms: Vec<(f64, Option<f64>)> = beliefs
        .iter()
        .map(|posterior| {
            let left_out = posterior.leave_one_out(sizes);
            let error = (sizes.len() > 1).then(|| (left_out.squares / sizes.len() as f64).sqrt());
            if sizes.len() < SIZES_TO_LEAVE_ONE_OUT {
                (-0.5 * posterior.least_chi_squared, error)
            } else {
                (left_out.log_density, error)
            }
        })
        .collect();
    let greatest = logarithms.iter().map(|(log, _)| *log);
    let greatest = greatest.fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logarithms
        .iter()
        .map(|(log, _)| (log - greatest).exp())
        .sum();
    let members = beliefs.into_iter().zip(logarithms);
    members
        .map(|(posterior, (log, left_out_error))| Member {
            weight: (log - greatest).exp() / total,
            left_out_error,
            posterior,
        })
        .collect()
}

/// How far off this very sweep's earlier predictions were: every prefix of at least three sizes
/// predicts the larger ones as far as is allowed (leave-future-out, Bürkner and others 2020). The
/// root mean square of the deviations, at least 1.
#[expect(clippy::cast_precision_loss, reason = "sizes are few")]
fn surprise(models: &[ScalingModel], sweep: &Sweep) -> f64 {
    let mut deviations = Vec::new();
    for known in SIZES_TO_LEAVE_ONE_OUT..sweep.sizes().len() {
        let average = Average::without_backtest(models, &sweep.prefix(known));
        let later = &sweep.sizes()[known..];
        let near = later
            .iter()
            .take_while(|size| size.size <= average.farthest());
        deviations.extend(near.map(|size| average.forecast(size.size).deviations_from(size.per_s)));
    }
    if deviations.is_empty() {
        return 1.0;
    }
    let squares: f64 = deviations
        .iter()
        .map(|deviation| deviation * deviation)
        .sum();
    (squares / deviations.len() as f64).sqrt().max(1.0)
}
