//! How far a new measurement may fall from a prediction beyond the measured sizes.
//!
//! The constants are those that hold on published series, each counted once whatever its number of sizes, and each
//! source left out in turn: `docs/concepts/accuracy.md` has the figures. No prediction is made here.

use super::forecast::Forecast;

/// Nine of ten repeated runs of a size that is known fall within this of it, in the logarithm.
pub(super) const LEAST_SIDE: f64 = 0.06;

/// Growth up to which a bend may still come as for every other cluster.
const BENDING: f64 = 0.76;
/// Growth from which it was near-linear so far: what was exactly linear is predicted to go on
/// with 0.87 to 0.92, what grew with an exponent of 0.9 with 0.80 to 0.83.
pub(super) const NEAR_LINEAR: f64 = 0.80;
/// Sides of near-linear growth: there is less room above it.
const LINEAR: Sides = Sides { below: 0.30, above: 0.24 };
/// Sides where nothing grows any more, and what they are longer by half way between that and linear growth, where a
/// bend is as likely to come as to turn out to have been noise. A bend goes further than what comes back of it.
const FLAT: Sides = Sides { below: 0.10, above: 0.35 };
const BEND: Sides = Sides { below: 0.50, above: 0.15 };

/// Sides of a 90% interval in the logarithm, for each unit of the logarithm of the size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sides {
    pub(super) below: f64,
    pub(super) above: f64,
}

impl Sides {
    /// Where throughput is predicted to grow with this power of the size, 1 being linear: growth between none and
    /// full may still bend, so both sides are widest half way. A fall by a power below 0 seldom lasts, so the upper
    /// side reaches as far as if there were none.
    pub(super) fn of(power: f64) -> Self {
        let growth = power.clamp(0.0, 1.0);
        let bent = growth.min(BENDING);
        let bend = 4.0 * bent * (1.0 - bent);
        let part = ((growth - BENDING) / (NEAR_LINEAR - BENDING)).clamp(0.0, 1.0);
        let side = |of: fn(Self) -> f64| {
            let side = of(FLAT) + bend * of(BEND);
            side + part * (of(LINEAR) - side)
        };
        let fall = (-power).max(0.0);
        Self { below: side(|of| of.below), above: side(|of| of.above) + fall }
    }

    /// At `steps` (logarithm of the size over the nearest measured one) from what is measured,
    /// where a new measurement falls within `side` of the truth.
    pub(super) fn at(self, log_middle: f64, steps: f64, side: f64) -> Forecast {
        let reach = |of: f64| side.hypot(of * steps);
        Forecast::new(log_middle, reach(self.below), reach(self.above))
    }
}
