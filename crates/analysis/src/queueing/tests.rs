//! The formulas against textbook values, against each other, and against a plain simulation.

use super::super::synthetic::Noise;
use super::*;

impl MMc {
    /// The response time that the fraction `q` in [0, 1) does not exceed.
    fn quantile_response_s(&self, q: f64) -> f64 {
        if !self.is_valid() || !(0.0..=1.0).contains(&q) {
            return f64::NAN;
        }
        if !self.is_stable() || q >= 1.0 {
            return f64::INFINITY;
        }
        let slowest = self.mu.min(self.spare());
        let high = 2.0 * ((1.0 / (1.0 - q)).ln() + 40.0) / slowest;
        solve(0.0, high, |t| self.response_exceeds(t) <= 1.0 - q)
    }
}

impl MD1 {
    /// The response time that the fraction `q` in [0, 1) does not exceed.
    fn quantile_response_s(&self, q: f64) -> f64 {
        if !self.is_valid() || !(0.0..=1.0).contains(&q) {
            return f64::NAN;
        }
        let rho = self.load();
        if rho >= 1.0 || q >= 1.0 {
            return f64::INFINITY;
        }
        if q <= 1.0 - rho {
            return self.service_s;
        }
        let lengths = Lengths::new(rho);
        // An M/M/1 queue of the same load has longer waits: its tail is ρ e^(−(1−ρ)t/D).
        let high = ((rho / (1.0 - q)).ln() + 1.0) / (1.0 - rho);
        let wait = solve(0.0, high, |t| lengths.wait_exceeds(t) <= 1.0 - q);
        self.service_s * (1.0 + wait)
    }
}

fn near(found: f64, expect: f64, error: f64) {
    assert!((found - expect).abs() <= error, "{found} instead of {expect}");
}

fn mmc(lambda: f64, mu: f64, c: u32) -> MMc {
    MMc { lambda, mu, c }
}

fn md1(lambda: f64, service_s: f64) -> MD1 {
    MD1 { lambda, service_s }
}

#[test]
fn erlang_agrees_with_tables() {
    near(erlang_b(1, 1.0), 0.5, 1e-12);
    near(erlang_b(5, 3.0), 0.110_05, 1e-5);
    near(erlang_b(10, 5.0), 0.018_385, 1e-6);
    near(erlang_b(100, 100.0), 0.075_700, 1e-6);
    near(erlang_c(1, 0.3), 0.3, 1e-12);
    near(erlang_c(2, 1.0), 1.0 / 3.0, 1e-12);
    near(erlang_c(5, 4.0), 0.554_11, 1e-5);
    near(erlang_c(3, 3.0), 1.0, 0.0);
    near(erlang_c(3, 0.0), 0.0, 0.0);
}

#[test]
fn one_server_has_closed_forms() {
    let queue = mmc(80.0, 100.0, 1);
    near(queue.mean_response_s(), 0.05, 1e-12);
    for q in [0.0, 0.5, 0.99, 0.9999] {
        near(queue.quantile_response_s(q), -(1.0_f64 - q).ln() / 20.0, 1e-9);
    }
}

#[test]
fn several_servers_agree_with_a_textbook() {
    // Mean wait in M/M/2 is ρ² / (μ (1 − ρ²)).
    let queue = mmc(1.5, 1.0, 2);
    near(queue.mean_response_s(), 1.0 + 0.5625 / 0.4375, 1e-12);
    // If the spare rate equals μ the general formula divides by zero: P(T > t) = (1 + t/3) e^−t.
    let half = mmc(1.0, 1.0, 2);
    near(half.response_exceeds(2.0), (1.0 + 2.0 / 3.0) * (-2.0_f64).exp(), 1e-12);
    let beside = mmc(1.0 + 1e-9, 1.0, 2);
    near(beside.response_exceeds(2.0), half.response_exceeds(2.0), 1e-8);
}

#[test]
fn the_mean_is_the_integral_of_the_tail() {
    for (lambda, c) in [(0.5, 1), (0.95, 1), (2.5, 3), (15.0, 16), (1.0, 16)] {
        let queue = mmc(lambda, 1.0, c);
        let step = 0.002;
        let integral: f64 =
            (0..200_000).map(|i| step * queue.response_exceeds((f64::from(i) + 0.5) * step)).sum();
        near(integral, queue.mean_response_s(), 1e-4);
    }
}

#[test]
fn the_rate_that_meets_a_quantile_meets_it_just() {
    near(MMc::rate_meeting_quantile(1_000.0, 1, 0.99, 0.05), 1_000.0 - 100.0_f64.ln() / 0.05, 1e-9);
    for c in [1, 2, 7] {
        let lambda = MMc::rate_meeting_quantile(100.0, c, 0.99, 0.08);
        near(mmc(lambda, 100.0, c).quantile_response_s(0.99), 0.08, 1e-9);
        near(MMc::rate_meeting_quantile(100.0, c, 0.99, 0.04), 0.0, 0.0);
    }
    let lambda = MD1::rate_meeting_quantile(0.01, 0.99, 0.05);
    near(md1(lambda, 0.01).quantile_response_s(0.99), 0.05, 1e-9);
    near(MD1::rate_meeting_quantile(0.01, 0.99, 0.009), 0.0, 0.0);
}

#[test]
fn overload_is_infinite_and_nonsense_is_not_a_number() {
    for lambda in [1.0, 2.0, f64::INFINITY] {
        assert!(mmc(lambda, 0.5, 2).mean_response_s().is_infinite());
        assert!(mmc(lambda, 0.5, 2).quantile_response_s(0.5).is_infinite());
        assert!(md1(lambda, 1.0).mean_response_s().is_infinite());
        assert!(md1(lambda, 1.0).quantile_response_s(0.5).is_infinite());
    }
    for bad in [-1.0, f64::NAN] {
        assert!(mmc(bad, 1.0, 1).mean_response_s().is_nan());
        assert!(mmc(0.5, 1.0, 1).quantile_response_s(bad).is_nan());
        assert!(mmc(0.5, bad, 1).response_exceeds(1.0).is_nan());
        assert!(md1(bad, 1.0).wait_exceeds(1.0).is_nan());
        assert!(md1(0.5, bad).quantile_response_s(0.5).is_nan());
    }
    assert!(mmc(0.5, 1.0, 0).mean_response_s().is_nan());
}

/// Erlang's alternating series for P(W ≤ t), accurate for short times only.
fn erlang_series(rho: f64, t: f64) -> f64 {
    let (mut sum, mut k, mut factorial) = (0.0, 0.0_f64, 1.0);
    while k <= t {
        let x = rho * (k - t);
        sum += x.powf(k) / factorial * (-x).exp();
        k += 1.0;
        factorial *= k;
    }
    (1.0 - rho) * sum
}

#[test]
fn constant_service_agrees_with_erlangs_series() {
    for rho in [0.1, 0.5, 0.8, 0.95] {
        let queue = md1(rho, 1.0);
        for t in [0.0, 0.3, 0.999, 1.0, 1.5, 2.0, 3.7, 6.25, 9.0] {
            near(queue.wait_exceeds(t), 1.0 - erlang_series(rho, t), 1e-9);
        }
    }
}

#[test]
fn constant_service_waits_half_as_long_in_the_mean() {
    for rho in [0.2, 0.7, 0.95] {
        let queue = md1(rho * 4.0, 0.25);
        near(queue.mean_response_s(), 0.25 * (1.0 + rho / (2.0 * (1.0 - rho))), 1e-12);
        let step = 0.005;
        let integral: f64 =
            (0..20_000).map(|i| step * queue.wait_exceeds((f64::from(i) + 0.5) * step)).sum();
        near(integral, queue.mean_response_s() - 0.25, 2e-3);
    }
}

#[test]
fn near_saturation_the_tail_decays_as_it_must() {
    // The wait's tail decays with θ, the root of e^θ = 1 + θ / ρ (in services).
    let rho: f64 = 0.99;
    let theta = solve(1e-6, 1.0, |theta| theta.exp_m1() * rho >= theta);
    let queue = md1(rho, 1.0);
    let (near_q, far_q) = (queue.quantile_response_s(0.9), queue.quantile_response_s(0.9999));
    near((far_q - near_q) * theta, 1_000.0_f64.ln(), 1e-3);
}

/// Response times of a queue served in order, by simulating every arrival.
fn simulate(c: u32, lambda: f64, mut service: impl FnMut(&mut Noise) -> f64) -> Vec<f64> {
    let mut noise = Noise::new(7);
    let mut free = vec![0.0_f64; usize::try_from(c).unwrap()];
    let mut now = 0.0;
    let mut responses = Vec::new();
    for _ in 0..400_000 {
        now += noise.exponential(lambda);
        let server = free.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
        *server = server.max(now) + service(&mut noise);
        responses.push(*server - now);
    }
    responses.sort_by(f64::total_cmp);
    responses
}

fn agree(responses: &[f64], mean: f64, quantile: impl Fn(f64) -> f64) {
    let found = responses.iter().sum::<f64>() / 400_000.0;
    near(found / mean, 1.0, 0.03);
    for (q, rank) in [(0.5, 200_000), (0.9, 360_000), (0.99, 396_000)] {
        near(responses[rank] / quantile(q), 1.0, 0.06);
    }
}

#[test]
fn formulas_agree_with_a_simulation() {
    for (lambda, c) in [(0.7, 1), (3.2, 4)] {
        let queue = mmc(lambda, 1.0, c);
        let responses = simulate(c, lambda, |noise| noise.exponential(1.0));
        agree(&responses, queue.mean_response_s(), |q| queue.quantile_response_s(q));
    }
    let queue = md1(0.8, 1.0);
    let responses = simulate(1, 0.8, |_| 1.0);
    agree(&responses, queue.mean_response_s(), |q| queue.quantile_response_s(q));
}
