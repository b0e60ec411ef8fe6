//! Least squares: the curve of a model that fits the points best, within its bounds.
//!
//! Gauss-Newton steps with Marquardt's damping (1963), kept inside the bounds. Must not decide what
//! a fit implies beyond the measured sizes. The normal equations are solved by Cholesky
//! factorization; profile likelihoods show which values of contention and crosstalk are consistent
//! with the points.

use highwater_model::numbers::len_to_f64;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::average::Average;
use super::average::ModelPosterior;
use super::curve::shapes;
use super::curve::{Curve, ScalingModel};
use super::sweep::Point;

/// Maximum number of steps of a fit; each oracle of the tests needs less than a tenth of it.
const MOST_STEPS: u32 = 500;
/// A step that changes every parameter by at most this fraction is the last one.
const CLOSE: f64 = 1e-13;
/// Damping of the first step (Marquardt 1963), and the damping beyond which no step helps.
const FIRST_DAMPING: f64 = 1e-3;
const MOST_DAMPING: f64 = 1e12;

/// Minimum number of points for an information criterion: with fewer, its small-sample correction
/// dominates.
const FEWEST_FOR_CRITERION: usize = 5;

/// The differences whose squares are minimized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Weighting {
    /// Differences in throughput: large sizes have the most weight, as in R's `usl`.
    Absolute,
    /// Differences in throughput divided by the measured throughput: all sizes have the same weight.
    Relative,
}

/// A fitted parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// Name, as in the formula of the model.
    pub name: String,
    /// Value of the parameter.
    pub value: f64,
    /// Standard error from the residuals; absent at a bound, and if there are no more points than parameters.
    pub error: Option<f64>,
    /// Whether the fit stopped at a bound of the parameter.
    pub at_bound: bool,
}

/// A curve fitted to points.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fit {
    /// The curve.
    pub curve: Curve,
    /// The differences that were minimized.
    pub weighting: Weighting,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Sum of squared differences, in the unit of the weighting.
    pub squares: f64,
    /// Degrees of freedom: number of points minus number of parameters.
    pub freedom: usize,
}

impl Fit {
    /// Akaike's criterion, corrected for few points (Hurvich and Tsai 1989), of squares with normal
    /// errors; the error's size counts as a parameter. Absent with fewer than five points, for
    /// which it is meaningless.
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

/// Fits a model to points; `None` if there are fewer sizes than parameters.
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

    /// The best of the model's shapes, each at its best scale: close enough to the minimum that the
    /// descent from there does not end in a different local minimum.
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

    /// One damped step of the parameters that are not fixed at a bound.
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

    /// Parameters that the direction of descent does not push against a bound.
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

/// Bounds of a parameter, by position: no model may predict more than a straight line.
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

/// The parameters of a shape multiplied by `scale`.
fn parameters(shape: &Curve, scale: f64) -> Vec<f64> {
    match *shape {
        Curve::Linear { per_node } => vec![scale * per_node],
        Curve::Affine { fixed, per_node } => vec![scale * fixed, scale * per_node],
        Curve::Amdahl { first, contention } => vec![scale * first, contention],
        Curve::Usl { first, contention, crosstalk } => vec![scale * first, contention, crosstalk],
        Curve::Power { first, exponent } => vec![scale * first, exponent],
    }
}

/// Derivative of the throughput at `n` with respect to each parameter.
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

/// Maximum number of parameters of a model.
pub(super) const MOST: usize = 3;

/// `JᵀJ` and `Jᵀr` of the residuals `r` and their slopes `J` by each parameter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NormalEquations {
    matrix: [[f64; MOST]; MOST],
    pull: [f64; MOST],
}

impl NormalEquations {
    /// Adds a point: its residual, and the slopes of the curve at it.
    pub(super) fn add(&mut self, residual: f64, slopes: [f64; MOST]) {
        for i in 0..MOST {
            self.pull[i] += slopes[i] * residual;
            for j in 0..MOST {
                self.matrix[i][j] += slopes[i] * slopes[j];
            }
        }
    }

    /// Direction of descent for each parameter.
    pub(super) fn pull(&self) -> &[f64; MOST] {
        &self.pull
    }

    /// Change of each of the `free` parameters that solves the equations, with the diagonal
    /// multiplied by `1 + damping` (Marquardt 1963); `None` if the points do not identify them.
    pub(super) fn step(&self, free: &[usize], damping: f64) -> Option<Vec<f64>> {
        let pull: Vec<f64> = free.iter().map(|&i| self.pull[i]).collect();
        Some(Factors::from_matrix(&self.matrix, free, 1.0 + damping)?.solve(&pull))
    }

    /// Diagonal of the inverse of the matrix of the `free` parameters: their variances, in units
    /// of the residuals' variance.
    pub(super) fn variances(&self, free: &[usize]) -> Option<Vec<f64>> {
        let factors = Factors::from_matrix(&self.matrix, free, 1.0)?;
        let variance = |at: usize| {
            let unit = (0..free.len()).map(|i| if i == at { 1.0 } else { 0.0 });
            factors.solve(&unit.collect::<Vec<_>>())[at]
        };
        Some((0..free.len()).map(variance).collect())
    }
}

/// Lower triangle `L` of `L·Lᵀ`, of as many parameters as are free.
struct Factors(Vec<Vec<f64>>);

impl Factors {
    fn from_matrix(matrix: &[[f64; MOST]; MOST], free: &[usize], stretch: f64) -> Option<Self> {
        let mut lower: Vec<Vec<f64>> = Vec::with_capacity(free.len());
        for (row, &i) in free.iter().enumerate() {
            let mut factors = Vec::with_capacity(row + 1);
            for (column, above) in lower.iter().enumerate() {
                let rest = matrix[i][free[column]] - dot(&factors, &above[..column]);
                factors.push(rest / above[column]);
            }
            let left = matrix[i][i] * stretch - dot(&factors, &factors);
            factors.push((left > 0.0).then(|| left.sqrt())?);
            lower.push(factors);
        }
        Some(Self(lower))
    }

    fn solve(&self, right: &[f64]) -> Vec<f64> {
        let Self(lower) = self;
        let mut solved: Vec<f64> = Vec::with_capacity(right.len());
        for (row, factors) in lower.iter().enumerate() {
            solved.push((right[row] - dot(&factors[..row], &solved)) / factors[row]);
        }
        for row in (0..lower.len()).rev() {
            let below = (row + 1..lower.len()).map(|i| lower[i][row] * solved[i]);
            solved[row] = (solved[row] - below.sum::<f64>()) / lower[row][row];
        }
        solved
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Allowed excess of a sum of squares over the minimum: the square of the 0.95 quantile of the
/// normal distribution, which gives a 90% interval (Wilks 1938).
const MARGIN: f64 = 2.706;

/// The range of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// Lower bound.
    pub low: f64,
    /// Upper bound; absent if there is none.
    pub high: Option<f64>,
}

/// How well a sweep identifies the parameters of the universal scalability law.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Identifiability {
    /// Contention σ. It cannot be distinguished from 0 where `low` is 0.
    pub contention: Range,
    /// Crosstalk κ. It cannot be distinguished from 0 where `low` is 0.
    pub crosstalk: Range,
    /// Size of the peak. If `high` is absent, there may be no peak.
    pub peak_size: Range,
    /// The same as sentences, one per parameter.
    pub sentences: Vec<String>,
}

impl Average {
    /// Contention, crosstalk, and the peak as identified by the sweep; absent for a single size.
    pub fn identifiability(&self) -> Option<Identifiability> {
        let posterior = |model| {
            let mut members = self.members().iter();
            members.find(|member| member.model() == model).map(|member| &member.posterior)
        };
        let linear = posterior(ScalingModel::Linear)?;
        let amdahl = posterior(ScalingModel::Amdahl)?;
        let usl = posterior(ScalingModel::Usl)?;
        let mut contention = hull(usl, |_, contention, _| contention)?;
        let mut crosstalk = hull(usl, |_, _, crosstalk| crosstalk)?;
        let least = usl.least_chi_squared;
        if linear.least_chi_squared <= least + MARGIN {
            contention.0 = 0.0;
        }
        let may_have_none =
            amdahl.least_chi_squared.min(linear.least_chi_squared) <= least + MARGIN;
        if may_have_none {
            crosstalk.0 = 0.0;
        }
        let peak = hull(usl, |curve, _, _| curve.peak().map_or(f64::INFINITY, |peak| peak.size))?;
        let range = |(low, high): (f64, f64)| Range { low, high: Some(high) };
        let peak_size = Range { low: peak.0, high: (!may_have_none).then_some(peak.1) };
        let (contention, crosstalk) = (range(contention), range(crosstalk));
        Some(Identifiability {
            sentences: sentences(contention, crosstalk, peak_size, self.sweep().largest()),
            contention,
            crosstalk,
            peak_size,
        })
    }
}

/// Minimum and maximum over the curves whose sum of squares is within that excess.
fn hull(usl: &ModelPosterior, value: impl Fn(&Curve, f64, f64) -> f64) -> Option<(f64, f64)> {
    usl.within(MARGIN)
        .filter_map(|shape| match shape.shape {
            Curve::Usl { contention, crosstalk, .. } => {
                Some(value(&shape.shape, contention, crosstalk))
            }
            _ => None,
        })
        .fold(None, |hull, value| match hull {
            None => Some((value, value)),
            Some((low, high)) => Some((f64::min(low, value), f64::max(high, value))),
        })
}

fn sentences(contention: Range, crosstalk: Range, peak: Range, largest: f64) -> Vec<String> {
    let upper = |range: Range| small(range.high.unwrap_or(f64::INFINITY));
    let mut sentences = Vec::new();
    sentences.push(if contention.low > 0.0 {
        let low = small(contention.low);
        format!("σ (contention) lies between {low} and {}.", upper(contention))
    } else {
        let high = upper(contention);
        format!("σ (contention) cannot be identified from this range: 0 to {high} fit it.")
    });
    match peak.high {
        Some(high) => {
            let (low, upper) = (small(crosstalk.low), upper(crosstalk));
            sentences.push(format!("κ (crosstalk) lies between {low} and {upper}."));
            let side = if high <= largest {
                "within"
            } else {
                "around or beyond"
            };
            sentences.push(format!(
                "The peak lies between {:.1} and {high:.1}, {side} the known sizes.",
                peak.low
            ));
        }
        None => sentences.push(format!(
            "κ (crosstalk) cannot be identified from this range: 0 to {} fit it. A peak, if there is \
             one, lies at {:.0} or beyond.",
            upper(crosstalk),
            peak.low.ceil()
        )),
    }
    sentences
}

/// Rounded to two significant digits, however small.
fn small(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    #[expect(clippy::cast_possible_truncation, reason = "a logarithm")]
    let decimals = 1 - value.log10().floor() as i32;
    format!("{value:.*}", usize::try_from(decimals.max(0)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A system whose solution is known by hand: 4x + 2y = 8, 2x + 5y + z = 15, y + 3z = 11.
    fn known() -> NormalEquations {
        NormalEquations {
            matrix: [[4.0, 2.0, 0.0], [2.0, 5.0, 1.0], [0.0, 1.0, 3.0]],
            pull: [8.0, 15.0, 11.0],
        }
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} for {expected}");
        }
    }

    #[test]
    fn a_system_is_solved() {
        close(&known().step(&[0, 1, 2], 0.0).unwrap(), &[1.0, 2.0, 3.0]);
    }

    #[test]
    fn fixed_parameters_leave_the_system() {
        // 4x = 8 and 3z = 11: without y, the two do not meet.
        close(&known().step(&[0, 2], 0.0).unwrap(), &[2.0, 11.0 / 3.0]);
        close(&known().variances(&[0, 2]).unwrap(), &[0.25, 1.0 / 3.0]);
    }

    #[test]
    fn variances_are_the_inverse_s_diagonal() {
        // Cofactors over the determinant, which is 4·14 − 2·6 = 44.
        let expected = [14.0 / 44.0, 12.0 / 44.0, 16.0 / 44.0];
        close(&known().variances(&[0, 1, 2]).unwrap(), &expected);
    }

    #[test]
    fn parameters_that_no_point_tells_apart_have_no_solution() {
        let mut equations = NormalEquations::default();
        equations.add(1.0, [1.0, 2.0, 0.0]);
        equations.add(2.0, [2.0, 4.0, 0.0]);
        assert_eq!(equations.step(&[0, 1], 0.0), None);
        assert_eq!(equations.variances(&[0, 1]), None);
        assert!(equations.step(&[0, 1], 1e-3).is_some(), "damping separates them");
    }
}
