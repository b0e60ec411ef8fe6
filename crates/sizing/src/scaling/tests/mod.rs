//! Proofs of the models, their fits and their predictions.

mod coverage;
mod fits;
mod predictions;

use super::Fit;

impl Fit {
    /// Standard error of the residuals, in the unit of the weighting; absent without spare points.
    fn residual_error(&self) -> Option<f64> {
        (self.freedom > 0)
            .then(|| (self.squares / highwater_model::numbers::len_to_f64(self.freedom)).sqrt())
    }
}
