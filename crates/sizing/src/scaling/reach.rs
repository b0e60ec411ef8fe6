//! How far a new measurement may fall from a prediction beyond the measured sizes.
//!
//! The constants are those that hold on published series, each left out in turn:
//! `docs/concepts/accuracy.md` has the figures. No prediction is made here.

use super::forecast::Forecast;

/// Nine of ten repeated runs of a size that is known fall within this of it, in the logarithm.
pub(super) const LEAST_SIDE: f64 = 0.06;

/// Growth up to which a bend may still come as for every other cluster.
const BENDING: f64 = 0.76;
/// Growth from which it was near-linear so far: what was exactly linear is predicted to go on
/// with 0.87 to 0.92, what grew with an exponent of 0.9 with 0.80 to 0.83.
pub(super) const NEAR_LINEAR: f64 = 0.80;
/// Sides of near-linear growth.
const LINEAR: Sides = Sides { below: 0.30, above: 0.23 };
/// Least side below, where nothing grows any more; and what a bend to come adds at most.
const FLAT: f64 = 0.10;
const BEND: f64 = 0.50;
/// Side above, unless growth is near-linear: then there is less room above it.
const ABOVE: f64 = 0.30;

/// Sides of a 90% interval in the logarithm, for each unit of the logarithm of the size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sides {
    pub(super) below: f64,
    pub(super) above: f64,
}

impl Sides {
    /// Where throughput is predicted to grow with this power of the size, 0 (none) to 1 (linear):
    /// growth between none and full may still bend, so the lower side is widest half way.
    pub(super) fn of(growth: f64) -> Self {
        let bent = growth.min(BENDING);
        let below = FLAT + BEND * 4.0 * bent * (1.0 - bent);
        let part = ((growth - BENDING) / (NEAR_LINEAR - BENDING)).clamp(0.0, 1.0);
        Self {
            below: below + part * (LINEAR.below - below),
            above: ABOVE + part * (LINEAR.above - ABOVE),
        }
    }

    /// At `steps` (logarithm of the size over the nearest measured one) from what is measured,
    /// where a new measurement falls within `side` of the truth.
    pub(super) fn at(self, log_middle: f64, steps: f64, side: f64) -> Forecast {
        let reach = |of: f64| side.hypot(of * steps);
        Forecast::new(log_middle, reach(self.below), reach(self.above))
    }
}
