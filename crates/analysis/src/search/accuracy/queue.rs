//! Targets whose ops wait in a queue, with a bound that a fraction of them may exceed. The results of
//! probes are sampled as the product's rules would judge them.

use highwater_model::judgment::ReasonCode;
use highwater_model::numbers::round_to_u64;

use super::harness::{Shown, Target};
use crate::exceedance::{Exceedance, exceedance};
use crate::queueing::MMc;
use crate::synthetic::Noise;

/// The fraction of late ops at a fraction of the capacity.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// M/M/c with a bound on an op's time.
    Markov {
        /// Ops per second of one server.
        mu: f64,
        /// Number of servers.
        servers: u32,
        /// Seconds.
        bound_s: f64,
    },
    /// Service times with a heavy tail: in M/G/1, the time in queue has ρ / (1 − ρ) times the tail of
    /// a residual service time (subexponential; Embrechts & Veraverbeke, Insurance: Mathematics and
    /// Economics 1, 1982), of which this fraction exceeds the bound.
    HeavyTail {
        /// The fraction of residual service times that exceeds the bound.
        rest: f64,
    },
    /// M/M/1 with occasional stalls: this fraction of ops is late at any rate.
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
    /// The model of late ops.
    pub shape: Shape,
    /// Capacity in ops per second.
    pub capacity: f64,
    /// Fraction of the ops that may be late.
    pub allowed: f64,
    /// The random variation.
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

    /// The highest rate at which the fraction of late ops is allowed.
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

    /// Late ops come in bursts: the effective sample size of n ops is n / τ, with τ = ((1 + ρ) / (1
    /// − ρ))² as for M/M/1 (see the runner's proofs of queues).
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

/// This number of independent ops, of which this fraction is late.
pub fn late_of(ops: f64, late: f64, noise: &mut Noise) -> Exceedance {
    const OPS_OF_A_WINDOW: f64 = 20.0;
    let windows = round_to_u64(ops / OPS_OF_A_WINDOW).clamp(10, 200);
    let in_window = ops / f64::from(u32::try_from(windows).unwrap_or(u32::MAX));
    let total = round_to_u64(in_window).max(1);
    let draw = |_| noise.poisson(in_window * late).min(total);
    let over: Vec<u64> = (0..windows).map(draw).collect();
    exceedance(&vec![total; over.len()], &over)
}
