//! Targets whose ops wait in a queue, behind a bound that a fraction of them may exceed: what a probe
//! of them shows is drawn as the product's rules would judge it.

use highwater_model::judgment::ReasonCode;
use highwater_model::numbers::round_to_u64;

use super::harness::{Shown, Target};
use crate::exceedance::{Exceedance, exceedance};
use crate::queueing::MMc;
use crate::synthetic::Noise;

/// How many ops are late at a part of the capacity.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// M/M/c behind a bound of an op's time.
    Markov {
        /// Ops per second of one server.
        mu: f64,
        /// How many of them.
        servers: u32,
        /// Seconds.
        bound_s: f64,
    },
    /// Service times with a heavy tail: of M/G/1 the time in queue has the tail ρ / (1 − ρ) times that
    /// of what is left of a service (subexponential; Embrechts & Veraverbeke, Insurance: Mathematics
    /// and Economics 1, 1982), which the bound cuts off at this.
    HeavyTail {
        /// The fraction of what is left of services that exceeds the bound.
        rest: f64,
    },
    /// M/M/1 that stands still now and then: this fraction of ops is late whatever the rate.
    Stalling {
        /// Ops per second.
        mu: f64,
        /// Seconds.
        bound_s: f64,
        /// A fraction of the ops.
        always: f64,
    },
}

/// Such a target.
pub struct Queue {
    /// How many ops are late.
    pub shape: Shape,
    /// Ops per second that it can work off.
    pub capacity: f64,
    /// Fraction of the ops that may be late.
    pub allowed: f64,
    /// What chance does.
    pub noise: Noise,
}

impl Queue {
    /// The fraction of late ops at a rate.
    pub fn late(&self, at: f64) -> f64 {
        let load = (at / self.capacity).min(0.999);
        let exceeds = |mu, c, bound_s| {
            let lambda = load * self.capacity;
            MMc { lambda, mu, c }.response_exceeds(bound_s)
        };
        match self.shape {
            Shape::Markov { mu, servers, bound_s } => exceeds(mu, servers, bound_s),
            Shape::HeavyTail { rest } => (rest * load / (1.0 - load)).min(1.0),
            Shape::Stalling { mu, bound_s, always } => {
                always + (1.0 - always) * exceeds(mu, 1, bound_s)
            }
        }
    }

    /// The highest rate at which no more are late than may be.
    pub fn truth(&self) -> f64 {
        let (mut low, mut high) = (0.0, self.capacity);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.late(middle) <= self.allowed {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }
}

impl Target for Queue {
    fn closed(&mut self) -> f64 {
        self.capacity * (1.0 + 0.004 * self.noise.normal())
    }

    /// Late ops come in bursts: of n ops so many as n / τ are worth counting, τ = ((1 + ρ) / (1 −
    /// ρ))² as for M/M/1 (see the runner's proofs of queues).
    fn probe(&mut self, at: f64, seconds: f64) -> Shown {
        let reached = at.min(self.capacity);
        let load = (at / self.capacity).min(0.999);
        let tau = ((1.0 + load) / (1.0 - load)).powi(2);
        let late = self.late(at);
        let bound = late_of(at * seconds / tau, late, &mut self.noise);
        let shown = Shown::of_share(&bound, self.allowed, ReasonCode::ObjectiveLatency);
        shown.reaching(reached, at)
    }
}

/// This number of independent ops, of which this share is late.
pub fn late_of(ops: f64, late: f64, noise: &mut Noise) -> Exceedance {
    const OPS_OF_A_WINDOW: f64 = 20.0;
    let windows = round_to_u64(ops / OPS_OF_A_WINDOW).clamp(10, 200);
    let in_window = ops / f64::from(u32::try_from(windows).unwrap_or(u32::MAX));
    let total = round_to_u64(in_window).max(1);
    let draw = |_| noise.poisson(in_window * late).min(total);
    let over: Vec<u64> = (0..windows).map(draw).collect();
    exceedance(&vec![total; over.len()], &over)
}
