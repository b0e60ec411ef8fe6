//! Queues with known solutions, to test the simulator and the searches.
//!
//! Arrivals are Poisson; the queue is unbounded and served in order. Response time is waiting plus service, which
//! corresponds to latency here. L. Kleinrock, "Queueing systems" I, 1975; D. Gross et al., "Fundamentals of queueing
//! theory", 4th edition, 2008.
//!
//! Rates are per second, times in seconds. If the load reaches the capacity, times are infinite; for invalid arguments
//! (negative, not a number) they are not a number.
//!
//! M/D/1: one server with constant service time.
//!
//! Its waiting time has no closed form. Erlang's series (1909) alternates in sign and loses all digits after a few
//! dozen services, so only the tests use it. The code uses the sum of positive terms of G. J. Franx, "A simple solution
//! for the M/D/c waiting time distribution", Operations Research Letters 29, 2001.

#[cfg(test)]
mod tests;

use highwater_model::numbers::round_to_usize;

use super::throughput::solve;

/// Erlang's B: the fraction of calls lost by `servers` servers under `load` erlangs.
///
/// A. K. Erlang 1917; by the recurrence B(k) = a B(k−1) / (k + a B(k−1)) from B(0) = 1.
pub fn erlang_b(servers: u32, load: f64) -> f64 {
    (1..=servers).fold(1.0, |lost, k| load * lost / (f64::from(k) + load * lost))
}

/// Erlang's C: the fraction of arrivals that must wait; 1 if the load reaches the capacity.
///
/// C = c B / (c − a (1 − B)).
pub fn erlang_c(servers: u32, load: f64) -> f64 {
    let c = f64::from(servers);
    if load >= c {
        return 1.0;
    }
    let lost = erlang_b(servers, load);
    c * lost / (c - load * (1.0 - lost))
}

/// M/M/c: exponential service by `c` servers with one queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MMc {
    /// Arrivals per second.
    pub lambda: f64,
    /// Services per second of one server.
    pub mu: f64,
    /// Number of servers, at least 1.
    pub c: u32,
}

impl MMc {
    /// Probability of waiting × mean wait of those who wait, plus the service: C / (cμ − λ) + 1 / μ.
    pub fn mean_response_s(&self) -> f64 {
        if !self.is_valid() {
            return f64::NAN;
        }
        if !self.is_stable() {
            return f64::INFINITY;
        }
        self.waits() / self.spare() + 1.0 / self.mu
    }

    /// The fraction of responses that take longer than `t_s`.
    ///
    /// The wait is 0 with probability 1 − C and otherwise exponential with rate θ = cμ − λ, hence P(T > t) = e^(−μt) (1
    /// + C μ (1 − e^(−(θ−μ)t)) / (θ − μ)).
    pub fn response_exceeds(&self, t_s: f64) -> f64 {
        if !self.is_valid() || t_s.is_nan() {
            return f64::NAN;
        }
        if t_s <= 0.0 || !self.is_stable() {
            return 1.0;
        }
        let difference = self.spare() - self.mu;
        // (1 − e^(−dt)) / d tends to t as d tends to 0, which is the case for M/M/2 at half load.
        let ratio = if (difference * t_s).abs() < 1e-12 {
            t_s * (-self.mu * t_s).exp()
        } else if difference > 0.0 {
            -(-difference * t_s).exp_m1() / difference * (-self.mu * t_s).exp()
        } else {
            // The same multiplied by e^(−μt), because e^(−dt) alone overflows for long times.
            (difference * t_s).exp_m1() / difference * (-self.spare() * t_s).exp()
        };
        ((-self.mu * t_s).exp() + self.waits() * self.mu * ratio).min(1.0)
    }

    /// The highest arrival rate at which the quantile `q` of the response stays within `bound_s`, with `c` servers of
    /// rate `mu`; 0 if even an idle system is too slow.
    ///
    /// For one server in closed form: μ − ln(1 / (1 − q)) / bound.
    pub fn rate_meeting_quantile(mu: f64, c: u32, q: f64, bound_s: f64) -> f64 {
        if c == 1 {
            return (mu + (1.0 - q).ln() / bound_s).max(0.0);
        }
        let exceeded = |lambda: f64| {
            let queue = Self { lambda, mu, c };
            queue.response_exceeds(bound_s) > 1.0 - q
        };
        highest_rate(mu * f64::from(c), exceeded)
    }

    fn is_valid(&self) -> bool {
        self.lambda >= 0.0 && self.mu > 0.0 && self.mu.is_finite() && self.c >= 1
    }

    fn is_stable(&self) -> bool {
        self.spare() > 0.0
    }

    fn spare(&self) -> f64 {
        f64::from(self.c) * self.mu - self.lambda
    }

    fn waits(&self) -> f64 {
        erlang_c(self.c, self.lambda / self.mu)
    }
}

/// The rate below `capacity` from which on a bound is exceeded; 0 if it always is.
fn highest_rate(capacity: f64, exceeded: impl Fn(f64) -> bool) -> f64 {
    if capacity.is_nan() || capacity <= 0.0 || exceeded(0.0) {
        return 0.0;
    }
    solve(0.0, capacity, exceeded)
}

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

    fn is_valid(&self) -> bool {
        self.lambda >= 0.0 && self.service_s > 0.0 && self.service_s.is_finite()
    }

    fn load(&self) -> f64 {
        self.lambda * self.service_s
    }
}

/// Distribution of the number in the system at a random time.
struct Lengths {
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
    fn new(rho: f64) -> Self {
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
    fn wait_exceeds(&self, t: f64) -> f64 {
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
