//! Least squares: the curve of a model that comes nearest to the points, within its bounds.
//!
//! Gauss-Newton steps with Marquardt's damping (1963), kept inside the bounds. What a fit can and
//! cannot tell beyond the measured sizes is not decided here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use highwater_model::numbers::len_to_f64;

use super::curve::{Curve, ScalingModel};
use super::normal_equations::{MOST, NormalEquations};
use super::shapes::shapes;
use super::sweep::Point;

/// Most steps of a fit; each oracle of the tests needs less than a tenth of them.
const MOST_STEPS: u32 = 500;
/// A step that changes no parameter by more than this part of it is the last.
const CLOSE: f64 = 1e-13;
/// Damping of the first step (Marquardt 1963), and beyond which no step helps any more.
const FIRST_DAMPING: f64 = 1e-3;
const MOST_DAMPING: f64 = 1e12;

/// Fewest points for which a criterion of information is computed: with fewer, its correction for
/// few points outweighs what they say.
const FEWEST_FOR_CRITERION: usize = 5;

/// Which differences are squared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weighting {
    /// Of throughputs: large sizes count most. R's `usl` does this.
    Absolute,
    /// Of throughputs, each divided by the measured one: every size counts the same.
    Relative,
}

/// A fitted parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// As in the model's formula.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// Its standard error, from the residuals; absent at a bound and without spare points.
    pub error: Option<f64>,
    /// Whether the fit would have gone beyond the bound at which it stands.
    pub at_bound: bool,
}

/// A curve fitted to points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// The curve.
    pub curve: Curve,
    /// What was minimized.
    pub weighting: Weighting,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Sum of the squared differences, in the unit of the weighting.
    pub squares: f64,
    /// Points beyond the number of parameters.
    pub freedom: usize,
}

impl Fit {
    /// Akaike's criterion, corrected for few points (Hurvich and Tsai 1989), of squares with
    /// normal errors; the error's size counts as a parameter. Below five points it says nothing
    /// and is absent.
    pub fn aicc(&self) -> Option<f64> {
        let points = self.parameters.len() + self.freedom;
        let free = self.parameters.len() + 1;
        if points < FEWEST_FOR_CRITERION || points < free + 2 {
            return None;
        }
        let (n, k) = (len_to_f64(points), len_to_f64(free));
        let fit = n * (self.squares / n).max(f64::MIN_POSITIVE).ln();
        Some(fit + 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0))
    }
}

/// Fits a model to points; `None` where there are fewer sizes than parameters.
pub fn fit(model: ScalingModel, points: &[Point], weighting: Weighting) -> Option<Fit> {
    let mut sizes: Vec<f64> = points.iter().map(|point| point.size).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let freedom = points.len().checked_sub(model.parameters())?;
    if sizes.len() < model.parameters() {
        return None;
    }
    let problem = Problem { model, points, weighting };
    let start = problem.start(*sizes.first()?, *sizes.last()?)?;
    let best = problem.descend(start);
    Some(Fit {
        curve: curve(model, &best),
        weighting,
        parameters: problem.parameters(&best, freedom),
        squares: problem.squares(&best),
        freedom,
    })
}

struct Problem<'a> {
    model: ScalingModel,
    points: &'a [Point],
    weighting: Weighting,
}

impl Problem<'_> {
    fn weight(&self, point: &Point) -> f64 {
        match self.weighting {
            Weighting::Absolute => 1.0,
            Weighting::Relative => 1.0 / point.per_s,
        }
    }

    fn residual(&self, curve: &Curve, point: &Point) -> f64 {
        self.weight(point) * (point.per_s - curve.per_s(point.size))
    }

    fn squares(&self, parameters: &[f64]) -> f64 {
        let curve = curve(self.model, parameters);
        let square = |point| self.residual(&curve, point).powi(2);
        self.points.iter().map(square).sum()
    }

    fn equations(&self, parameters: &[f64]) -> NormalEquations {
        let curve = curve(self.model, parameters);
        let mut equations = NormalEquations::default();
        for point in self.points {
            let slopes = derivatives(self.model, parameters, point.size);
            let weighted = slopes.map(|slope| self.weight(point) * slope);
            equations.add(self.residual(&curve, point), weighted);
        }
        equations
    }

    /// The best of the model's shapes, each at its best scale: near enough to the least sum that
    /// the descent from there does not end in another valley.
    fn start(&self, smallest: f64, largest: f64) -> Option<Vec<f64>> {
        let scaled = |shape: &Curve| {
            let (mut with_points, mut with_itself) = (0.0, 0.0);
            for point in self.points {
                let weight = self.weight(point);
                let (measured, shaped) = (weight * point.per_s, weight * shape.per_s(point.size));
                with_points += measured * shaped;
                with_itself += shaped * shaped;
            }
            parameters(shape, with_points / with_itself)
        };
        shapes(self.model, smallest, largest)
            .iter()
            .map(scaled)
            .min_by(|a, b| self.squares(a).total_cmp(&self.squares(b)))
    }

    fn descend(&self, start: Vec<f64>) -> Vec<f64> {
        let (mut now, mut damping) = (start, FIRST_DAMPING);
        for _ in 0..MOST_STEPS {
            let Some(next) = self.step(&now, damping) else {
                break;
            };
            if self.squares(&next) <= self.squares(&now) {
                let close = |(a, b): (&f64, &f64)| (a - b).abs() <= CLOSE * a.abs();
                let last = now.iter().zip(next.iter()).all(close);
                now = next;
                damping /= 10.0;
                if last {
                    break;
                }
            } else {
                damping *= 10.0;
                if damping > MOST_DAMPING {
                    break;
                }
            }
        }
        now
    }

    /// One damped step of the parameters that are not held by a bound.
    fn step(&self, now: &[f64], damping: f64) -> Option<Vec<f64>> {
        let equations = self.equations(now);
        let free = self.free(now, equations.pull());
        let mut next = now.to_vec();
        for (change, &parameter) in equations.step(&free, damping)?.iter().zip(&free) {
            let (low, high) = bounds(self.model, parameter);
            next[parameter] = (now[parameter] + change).clamp(low, high);
        }
        Some(next)
    }

    /// Parameters that the pull (the descent's direction) does not press against a bound.
    fn free(&self, now: &[f64], pull: &[f64; MOST]) -> Vec<usize> {
        let held = |i: usize| {
            let (low, high) = bounds(self.model, i);
            (now[i] <= low && pull[i] <= 0.0) || (now[i] >= high && pull[i] >= 0.0)
        };
        (0..now.len()).filter(|&i| !held(i)).collect()
    }

    fn parameters(&self, best: &[f64], freedom: usize) -> Vec<Parameter> {
        let equations = self.equations(best);
        let free = self.free(best, equations.pull());
        let variances = equations.variances(&free);
        let variance = (freedom > 0).then(|| self.squares(best) / len_to_f64(freedom));
        let error = |i: usize| {
            let at = free.iter().position(|&parameter| parameter == i)?;
            Some((variance? * variances.as_ref()?[at]).sqrt())
        };
        let parameter = |(i, name): (usize, &&str)| Parameter {
            name: (*name).to_owned(),
            value: best[i],
            error: error(i),
            at_bound: !free.contains(&i),
        };
        names(self.model).iter().enumerate().map(parameter).collect()
    }
}

fn names(model: ScalingModel) -> &'static [&'static str] {
    match model {
        ScalingModel::Linear => &["a"],
        ScalingModel::Affine => &["a", "b"],
        ScalingModel::Amdahl => &["gamma", "sigma"],
        ScalingModel::Usl => &["gamma", "sigma", "kappa"],
        ScalingModel::Power => &["gamma", "p"],
    }
}

/// Bounds of a parameter, by its place: no model may promise more than a straight line does.
fn bounds(model: ScalingModel, parameter: usize) -> (f64, f64) {
    match (model, parameter) {
        (ScalingModel::Amdahl | ScalingModel::Usl | ScalingModel::Power, 1) => (0.0, 1.0),
        _ => (0.0, f64::MAX),
    }
}

fn curve(model: ScalingModel, parameters: &[f64]) -> Curve {
    let at = |i: usize| parameters[i];
    match model {
        ScalingModel::Linear => Curve::Linear { per_node: at(0) },
        ScalingModel::Affine => Curve::Affine { fixed: at(0), per_node: at(1) },
        ScalingModel::Amdahl => Curve::Amdahl { first: at(0), contention: at(1) },
        ScalingModel::Usl => Curve::Usl { first: at(0), contention: at(1), crosstalk: at(2) },
        ScalingModel::Power => Curve::Power { first: at(0), exponent: at(1) },
    }
}

/// The parameters of a shape that is made `scale` times as high.
fn parameters(shape: &Curve, scale: f64) -> Vec<f64> {
    match *shape {
        Curve::Linear { per_node } => vec![scale * per_node],
        Curve::Affine { fixed, per_node } => vec![scale * fixed, scale * per_node],
        Curve::Amdahl { first, contention } => vec![scale * first, contention],
        Curve::Usl { first, contention, crosstalk } => vec![scale * first, contention, crosstalk],
        Curve::Power { first, exponent } => vec![scale * first, exponent],
    }
}

/// Change of the throughput at `n` with each parameter.
fn derivatives(model: ScalingModel, parameters: &[f64], n: f64) -> [f64; MOST] {
    match (model, parameters) {
        (ScalingModel::Linear, _) => [n, 0.0, 0.0],
        (ScalingModel::Affine, _) => [1.0, n, 0.0],
        (ScalingModel::Power, &[first, exponent]) => {
            let power = n.powf(exponent);
            [power, first * power * n.ln(), 0.0]
        }
        (ScalingModel::Amdahl | ScalingModel::Usl, &[first, contention, ref rest @ ..]) => {
            let crosstalk = rest.first().copied().unwrap_or(0.0);
            let losses = 1.0 + (contention + crosstalk * n) * (n - 1.0);
            let by_contention = -first * n * (n - 1.0) / (losses * losses);
            [n / losses, by_contention, by_contention * n]
        }
        _ => [0.0; MOST],
    }
}
