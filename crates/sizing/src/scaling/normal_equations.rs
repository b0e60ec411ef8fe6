//! Normal equations of a least-squares fit of a few parameters, and their solution by Cholesky's
//! factors. Models and bounds are not known here.
//!
//! A matrix library would double what the default build compiles for systems of at most three.

/// Most parameters of a model.
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

    /// Direction of descent by each parameter, as far as the points pull it.
    pub(super) fn pull(&self) -> &[f64; MOST] {
        &self.pull
    }

    /// Change of each of the `free` parameters that solves the equations, whose diagonal is made
    /// `1 + damping` times as large (Marquardt 1963); `None` where the points do not tell them apart.
    pub(super) fn step(&self, free: &[usize], damping: f64) -> Option<Vec<f64>> {
        let pull: Vec<f64> = free.iter().map(|&i| self.pull[i]).collect();
        Some(Factors::of(&self.matrix, free, 1.0 + damping)?.solve(&pull))
    }

    /// Diagonal of the inverse of the matrix of the `free` parameters: their variances, in units
    /// of the residuals' variance.
    pub(super) fn variances(&self, free: &[usize]) -> Option<Vec<f64>> {
        let factors = Factors::of(&self.matrix, free, 1.0)?;
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
    fn of(matrix: &[[f64; MOST]; MOST], free: &[usize], stretch: f64) -> Option<Self> {
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
    fn parameters_that_are_held_leave_the_system() {
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
