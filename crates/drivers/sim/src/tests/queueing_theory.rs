//! Queues with closed forms: the model must reproduce their means and percentiles.
//!
//! Tolerances are three standard errors. Latencies of a queue are correlated, so for n ops the variance of a mean is at
//! most σ²/n · (1 + 2λ/γ), where γ is the slowest rate at which the queue forgets its state (for a reversible chain:
//! the spectral gap bounds every autocovariance by Var·exp(−γt)). For M/M/c, γ is at most (√(cμ) − √λ)², which it
//! equals for c = 1 and in heavy traffic, and at most μ, which it approaches with many cores; half of the smaller is
//! used for c > 1. M/D/1 forgets faster than M/M/1. The variance σ² is that of the latency, or p(1 − p) for the
//! fraction of ops above a percentile. The seed fixes all random numbers, so the tests are deterministic.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "counts of a few million and times of a few hours are exact in a double"
)]

use std::sync::Arc;

use highwater_model::units::{Nanos, Seed};

use super::super::cluster::{Cluster, SimOp, Work};
use super::parse;
use crate::values::{Purpose, RandomKey};

const UNIT_NS: f64 = 1e6;
const ONE_QUEUE: &str = "nodes=1&shards=1&replicas=0&rtt=0&queue=inf&query=1ms";

/// Closed forms in units of the mean service time, μ = 1.
struct Theory {
    lambda: f64,
    mean: f64,
    variance: f64,
    /// Lower bound of the rate of forgetting.
    gap: f64,
    /// P(latency > t).
    tail: Box<dyn Fn(f64) -> f64>,
}

/// Latencies, in units of the service time, of queries that arrive as a Poisson process. The first twentieth, in which
/// the queue fills, is omitted.
fn latencies(parameters: &str, lambda: f64, ops: u32) -> Vec<f64> {
    let parameters = parse(&format!("{ONE_QUEUE}&{parameters}")).unwrap();
    let mut cluster = Cluster::new(Arc::new(parameters), Seed(1));
    let gaps = RandomKey::new(Seed(2), Purpose::Op);
    let mut at = 0.0;
    let mut latencies = Vec::new();
    for index in 0..ops {
        at += gaps.with(index.into()).exponential() / lambda * UNIT_NS;
        let now = Nanos(at as u64);
        let op = SimOp { position: 0, index: index.into(), work: Work::Query };
        let answer = cluster.submit(now, &op).unwrap();
        if index >= ops / 20 {
            latencies.push((answer.at - now).0 as f64 / UNIT_NS);
        }
    }
    latencies
}

fn check(parameters: &str, ops: u32, theory: &Theory) {
    let measured = latencies(parameters, theory.lambda, ops);
    let n = measured.len() as f64;
    let correlated = 1.0 + 2.0 * theory.lambda / theory.gap;
    let within = |variance: f64| 3.0 * (variance * correlated / n).sqrt();

    let mean = measured.iter().sum::<f64>() / n;
    assert!(
        (mean - theory.mean).abs() <= within(theory.variance),
        "{parameters} λ={}: mean {mean}, theory {} ± {}",
        theory.lambda,
        theory.mean,
        within(theory.variance)
    );
    for percentile in [0.5, 0.9, 0.99] {
        let at = quantile(&theory.tail, percentile);
        let expected = (theory.tail)(at);
        let above = measured.iter().filter(|latency| **latency > at).count() as f64 / n;
        let tolerance = within(expected * (1.0 - expected));
        assert!(
            (above - expected).abs() <= tolerance,
            "{parameters} λ={}: {above} are above p{percentile} = {at}, theory {expected} ± \
             {tolerance}",
            theory.lambda,
        );
    }
}

/// The point at which the tail falls to 1 − p, from above, by bisection.
fn quantile(tail: &dyn Fn(f64) -> f64, p: f64) -> f64 {
    // In small steps upward, because Erlang's alternating sum loses precision for large values.
    let mut high = 1.0;
    while tail(high) > 1.0 - p {
        high += 1.0;
    }
    let mut low = high - 1.0;
    while high - low > 1e-7 {
        let middle = f64::midpoint(low, high);
        if tail(middle) > 1.0 - p {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Kleinrock, Queueing Systems I (1975), section 3.5. P(T > t) = e^(−μt) (1 + C (1 −
/// e^(−μt(c−1−a))) / (c−1−a)) with a = λ/μ and C Erlang's delay formula.
fn mmc(cores: u32, load: f64) -> Theory {
    let c = f64::from(cores);
    let lambda = c * load;
    let mut blocking = 1.0;
    for servers in 1..=cores {
        blocking = lambda * blocking / (f64::from(servers) + lambda * blocking);
    }
    let delayed = blocking / (1.0 - load * (1.0 - blocking));
    let drain = c - lambda;
    let edge = (c.sqrt() - lambda.sqrt()).powi(2);
    let spread = drain - 1.0;
    Theory {
        lambda,
        mean: 1.0 + delayed / drain,
        variance: 1.0 + delayed * (2.0 - delayed) / (drain * drain),
        gap: if cores == 1 { edge } else { edge.min(1.0) / 2.0 },
        tail: Box::new(move |t| {
            let late = if spread.abs() < 1e-9 { t } else { (1.0 - (-t * spread).exp()) / spread };
            (-t).exp() * (1.0 + delayed * late)
        }),
    }
}

/// Pollaczek and Khinchine for the moments; Erlang (1909) for the waiting time: P(W ≤ t) = (1−ρ)
/// Σ_{k≤t} (λ(k−t))^k / k! · e^(−λ(k−t)).
fn md1(load: f64) -> Theory {
    let idle = 1.0 - load;
    Theory {
        lambda: load,
        mean: 1.0 + load / (2.0 * idle),
        variance: load / (3.0 * idle) + (load / (2.0 * idle)).powi(2),
        gap: (1.0 - load.sqrt()).powi(2),
        tail: Box::new(move |t| {
            let waited = t - 1.0;
            let mut below = 0.0;
            let mut k = 0.0;
            let mut factorial = 1.0;
            while k <= waited {
                let x = load * (k - waited);
                below += x.powf(k) / factorial * (-x).exp();
                k += 1.0;
                factorial *= k;
            }
            1.0 - idle * below
        }),
    }
}

#[test]
fn one_core_with_exponential_service_is_m_m_1() {
    for (load, ops) in [(0.5, 1_000_000), (0.8, 1_000_000), (0.9, 4_000_000)] {
        let theory = mmc(1, load);
        // The general form must agree with the well-known one: exponential with rate μ − λ.
        let median = quantile(&theory.tail, 0.5);
        assert!((median - 2_f64.ln() / (1.0 - load)).abs() < 1e-6);
        check("cores=1&service=exp", ops, &theory);
    }
}

#[test]
fn several_cores_with_exponential_service_are_m_m_c() {
    for (load, ops) in [(0.5, 1_000_000), (0.8, 1_000_000), (0.9, 2_000_000)] {
        check("cores=4&service=exp", ops, &mmc(4, load));
    }
}

#[test]
fn one_core_with_constant_service_is_m_d_1() {
    for (load, ops) in [(0.5, 1_000_000), (0.8, 1_000_000), (0.9, 2_000_000)] {
        check("cores=1&service=constant", ops, &md1(load));
    }
}

#[test]
fn infinitely_many_cores_never_make_anyone_wait() {
    // M/G/∞: latencies are independent samples of the service distribution, at any load.
    let theory = Theory {
        lambda: 50.0,
        mean: 1.0,
        variance: 1.0,
        gap: f64::INFINITY,
        tail: Box::new(|t| (-t).exp()),
    };
    check("cores=inf&service=exp", 400_000, &theory);
}

#[test]
fn lognormal_service_keeps_its_mean_and_its_spread() {
    // M/G/1 by Pollaczek and Khinchine: W = λ (1 + cv²) / (2 (1 − ρ)). Standard error after Whitt (1989): relative
    // variance 2 (1 + cv²) / ((1 − ρ)² n), here 26 / n, so 0.5% of W; the tolerance is six of them, because that form
    // is for heavy traffic and lighter tails.
    let (load, cv) = (0.5, 1.5_f64);
    let measured = latencies("cores=1&service=lognormal:1.5", load, 1_000_000);
    let mean = measured.iter().sum::<f64>() / measured.len() as f64;
    let waiting = load * (1.0 + cv * cv) / (2.0 * (1.0 - load));
    assert!((mean - 1.0 - waiting).abs() <= 0.03 * waiting, "{mean} {waiting}");
}
