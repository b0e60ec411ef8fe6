//! Queues with known solutions, to test the simulator and the searches.
//!
//! Arrivals are Poisson; the queue is unbounded and served in order. Response time is waiting plus service, which
//! corresponds to latency here. L. Kleinrock, "Queueing systems" I, 1975; D. Gross et al., "Fundamentals of queueing
//! theory", 4th edition, 2008.
//!
//! Rates are per second, times in seconds. If the load reaches the capacity, times are infinite; for invalid arguments
//! (negative, not a number) they are not a number.

use super::long_run::solve;

mod deterministic;
#[cfg(test)]
mod tests;

pub use deterministic::MD1;

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
