//! M/D/1: one server with constant service time.
//!
//! Its waiting time has no closed form. Erlang's series (1909) alternates in sign and loses all digits after a few
//! dozen services, so only the tests use it. The code uses the sum of positive terms of G. J. Franx, "A simple solution
//! for the M/D/c waiting time distribution", Operations Research Letters 29, 2001.

use super::highest_rate;
use highwater_model::numbers::round_to_usize;

/// Maximum length of the table of queue lengths; beyond it the tail is geometric.
const MAX_LENGTHS: usize = 1_000;
/// The table may end here: below this the next value is lost to rounding.
const TAIL_END: f64 = 1e-10;

/// M/D/1: one server with constant service time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MD1 {
    /// Arrivals per second.
    pub lambda: f64,
    /// Seconds per service.
    pub service_s: f64,
}

impl MD1 {
    /// D + ρD / (2 (1 − ρ)), by Pollaczek and Khinchine.
    pub fn mean_response_s(&self) -> f64 {
        if !self.is_valid() {
            return f64::NAN;
        }
        let rho = self.load();
        if rho >= 1.0 {
            return f64::INFINITY;
        }
        self.service_s * (1.0 + rho / (2.0 * (1.0 - rho)))
    }

    /// The fraction of arrivals that wait longer than `t_s`.
    pub fn wait_exceeds(&self, t_s: f64) -> f64 {
        if !self.is_valid() || t_s.is_nan() {
            return f64::NAN;
        }
        if t_s < 0.0 || self.load() >= 1.0 {
            return 1.0;
        }
        Lengths::new(self.load()).wait_exceeds(t_s / self.service_s)
    }

    /// The highest arrival rate at which the quantile `q` of the response stays within `bound_s`; 0 if the service
    /// alone takes longer.
    pub fn rate_meeting_quantile(service_s: f64, q: f64, bound_s: f64) -> f64 {
        let exceeded = |lambda: f64| {
            let queue = Self { lambda, service_s };
            bound_s < service_s || queue.wait_exceeds(bound_s - service_s) > 1.0 - q
        };
        highest_rate(1.0 / service_s, exceeded)
    }

    pub(super) fn is_valid(&self) -> bool {
        self.lambda >= 0.0 && self.service_s > 0.0 && self.service_s.is_finite()
    }

    pub(super) fn load(&self) -> f64 {
        self.lambda * self.service_s
    }
}

/// Distribution of the number in the system at a random time.
pub(super) struct Lengths {
    rho: f64,
    /// P(at most m + 1 in the system), that is, at most m waiting.
    at_most: Vec<f64>,
    /// Ratio of successive tails at the table's end.
    decay: f64,
}

impl Lengths {
    /// By balance across the levels j and j + 1 of the chain at departures, which has the same distribution as a random
    /// time: p(j+1) P(A=0) = p(0) P(A>j) + Σ p(i) P(A>j−i+1) for i in 1..=j, with A arrivals during a service. All
    /// terms are positive, so no digits are lost.
    pub(super) fn new(rho: f64) -> Self {
        let more_than = tails_of_poisson(rho);
        let tail = |j: usize| more_than.get(j).copied().unwrap_or(0.0);
        let none = (-rho).exp();
        let mut lengths = vec![1.0 - rho];
        let mut sum = 1.0 - rho;
        let (mut at_most, mut decay) = (Vec::new(), 0.0);
        while at_most.len() < MAX_LENGTHS {
            let j = lengths.len() - 1;
            let first = (j + 2).saturating_sub(more_than.len()).max(1);
            let from_below: f64 =
                lengths.iter().enumerate().skip(first).map(|(i, p)| p * tail(j + 1 - i)).sum();
            let next = (lengths.first().map_or(0.0, |p| p * tail(j)) + from_below) / none;
            let before = 1.0 - sum;
            lengths.push(next);
            sum += next;
            at_most.push(sum.min(1.0));
            if before <= 0.0 || 1.0 - sum < TAIL_END {
                break;
            }
            decay = (1.0 - sum) / before;
        }
        Self { rho, at_most, decay }
    }

    /// P(more than m + 1 in the system).
    fn tail(&self, m: usize) -> f64 {
        let last = self.at_most.len().saturating_sub(1);
        let at = |m: usize| self.at_most.get(m).map_or(1.0, |p| 1.0 - p);
        if m <= last {
            return at(m);
        }
        let further = i32::try_from(m - last).unwrap_or(i32::MAX);
        at(last) * self.decay.powi(further)
    }

    /// P(wait > t) with t in services: for k − 1 ≤ t < k it is one minus
    /// Σ P(j arrivals in k − t) · P(at most k − 1 − j waiting) for j in 0..k.
    pub(super) fn wait_exceeds(&self, t: f64) -> f64 {
        let whole = t.floor().min(1e6);
        let mean = self.rho * (whole + 1.0 - t).clamp(0.0, 1.0);
        let behind = round_to_usize(whole);
        let mut probability = (-mean).exp();
        let (mut exceeds, mut arrivals) = (0.0, 0.0);
        let mut seen = 0.0;
        for waiting in (0..=behind).rev() {
            exceeds += probability * self.tail(waiting);
            seen += probability;
            arrivals += 1.0;
            probability *= mean / arrivals;
            if probability < 1e-18 {
                return exceeds;
            }
        }
        // More arrivals than could be served in time.
        exceeds + (1.0 - seen).max(0.0)
    }
}

/// P(A > j) for j = 0, 1, …, until it vanishes; summed from the small end.
fn tails_of_poisson(mean: f64) -> Vec<f64> {
    let mut terms = vec![(-mean).exp()];
    let mut k = 1.0;
    while let Some(last) = terms.last().filter(|p| **p > 1e-20) {
        terms.push(last * mean / k);
        k += 1.0;
    }
    let mut tails = Vec::new();
    let mut sum = 0.0;
    for term in terms.iter().rev() {
        tails.push(sum);
        sum += term;
    }
    tails.reverse();
    tails
}
