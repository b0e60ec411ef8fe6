//! Queues with known results: M/M/1, M/M/4, and M/D/1 at 50, 80, and 90% load.
//!
//! Each is run twice: with the queue in the target (a node with that many cores, and always an idle session), and with
//! the queue in the load generator (a target without waiting, and as many sessions as servers). The second run proves
//! that sessions share one first-come-first-served queue, and that latency counts from the intended time.
//!
//! # Tolerances
//!
//! Response times in a queue depend on each other, so the mean of n of them varies by σ / √n with σ² the *asymptotic*
//! variance. Response times of an M/G/1 queue are the Markov chain T′ = max(T − A, 0) + S. With δ = 1/λ − E S the
//! function g(x) = x² / 2δ + x solves Poisson's equation g − Pg = x − E T: all exponential terms of Pg cancel. Hence,
//! for every M/G/1 queue,
//!
//! > σ² = 2 Cov(g(T), T) − Var T = Cov(T², T) / δ + Var T,
//!
//! with the moments of T = W + S by Takács' recurrence (L. Takács, Operations Research 10, 1962). For M/M/1 it is (1 +
//! ρ)² / (μ² (1 − ρ)⁴). D. J. Daley, "The serial correlation coefficients of waiting times in a stationary single
//! server queue", J. Austral. Math. Soc. 8, 1968, has the same for waiting times.
//!
//! M/M/c has no such form. While all servers are busy, it is an M/M/1 queue of rate cμ, and at other times there is no
//! wait; so its waits vary no more than that queue's responses, and with the services' own deviation 1/μ added (Cauchy
//! and Schwarz) σ ≤ (1 + ρ) / (cμ (1 − ρ)²) + 1/μ; cf. W. Whitt, "Planning queueing simulations", Management Science
//! 35, 1989.
//!
//! Percentiles: the fraction beyond a reported p-quantile is compared with theory. The indicator 1{T > x} with
//! probability p has the variance p (1 − p) τ / n, where τ is its integrated autocorrelation. In the heavy-traffic
//! limit, reflected Brownian motion, Poisson's equation gives τ = τ(T) (1 + p ln p / (1 − p)), which is below τ(T) = σ²
//! / Var T; that is used.
//!
//! All tolerances are four standard deviations; seeds are fixed.

use highwater_analysis as analysis;
use highwater_analysis::queueing::{MD1, MMc};
use highwater_model::histogram::LatencyHistogram;
use highwater_model::judgment::{Measurement, ObjectiveValue, ReasonCode};
use highwater_model::plan::{Arrivals, Objective};
use highwater_model::record::{ResultRecord, RunRecord};
use highwater_model::units::Nanos;

use crate::shares::begin_together;
use crate::support::{Job, measured, number, one_node, open, seconds};

const DEVIATIONS: f64 = 4.0;
const SERVICE_S: f64 = 0.001;

#[derive(Debug, Clone, Copy)]
enum Service {
    Exponential,
    Constant,
}

#[derive(Debug, Clone, Copy)]
struct Queue {
    service: Service,
    servers: u32,
    /// As a percentage of the capacity.
    per_cent: u32,
}

/// Theoretical values.
struct Theory {
    mean_s: f64,
    /// Asymptotic variance of the mean, times n.
    sigma_s: f64,
    /// Integrated autocorrelation.
    tau: f64,
}

impl Queue {
    fn rate(self) -> u32 {
        1_000 * self.servers * self.per_cent / 100
    }

    fn lambda(self) -> f64 {
        f64::from(self.rate())
    }

    fn load(self) -> f64 {
        f64::from(self.per_cent) / 100.0
    }

    fn mmc(self) -> MMc {
        MMc { lambda: self.lambda(), mu: 1.0 / SERVICE_S, c: self.servers }
    }

    fn md1(self) -> MD1 {
        MD1 { lambda: self.lambda(), service_s: SERVICE_S }
    }

    fn theory(self) -> Theory {
        let rho = self.load();
        match (self.service, self.servers) {
            (Service::Exponential, 1) => {
                let (sigma_s, tau) = asymptotics(self.lambda(), [1.0, 2.0, 6.0, 24.0]);
                let mean_s = self.mmc().mean_response_s();
                Theory { mean_s, sigma_s, tau }
            }
            (Service::Exponential, servers) => Theory {
                mean_s: self.mmc().mean_response_s(),
                sigma_s: SERVICE_S
                    * ((1.0 + rho) / (f64::from(servers) * (1.0 - rho).powi(2)) + 1.0),
                tau: ((1.0 + rho) / (1.0 - rho)).powi(2),
            },
            (Service::Constant, _) => {
                let (sigma_s, tau) = asymptotics(self.lambda(), [1.0; 4]);
                let mean_s = self.md1().mean_response_s();
                Theory { mean_s, sigma_s, tau }
            }
        }
    }

    fn exceeds(self, t_s: f64) -> f64 {
        match self.service {
            Service::Exponential => self.mmc().response_exceeds(t_s),
            Service::Constant => self.md1().wait_exceeds(t_s - SERVICE_S),
        }
    }
}

/// σ and τ of the responses of an M/G/1 queue with these service moments, in units of [`SERVICE_S`] and its powers.
fn asymptotics(lambda: f64, moments: [f64; 4]) -> (f64, f64) {
    let rho = lambda * SERVICE_S;
    let [s1, s2, s3, s4] = moments;
    let factor = rho / (1.0 - rho);
    let w1 = factor * s2 / 2.0;
    let w2 = factor * (s2 * w1 + s3 / 3.0);
    let w3 = factor * (1.5 * s2 * w2 + s3 * w1 + s4 / 4.0);
    let t1 = w1 + s1;
    let t2 = w2 + 2.0 * w1 * s1 + s2;
    let t3 = w3 + 3.0 * w2 * s1 + 3.0 * w1 * s2 + s3;
    let variance = t2 - t1 * t1;
    let sigma2 = (t3 - t2 * t1) / (1.0 / rho - s1) + variance;
    (sigma2.sqrt() * SERVICE_S, sigma2 / variance)
}

#[derive(Debug, Clone, Copy)]
enum Where {
    Target,
    Door,
}

fn job(queue: Queue, at: Where, ops: u32) -> Job {
    let service = match queue.service {
        Service::Exponential => "exp",
        Service::Constant => "constant",
    };
    let cores = match at {
        Where::Target => queue.servers.to_string(),
        Where::Door => "inf".to_owned(),
    };
    let target = one_node(&format!("query=1ms&service={service}&cores={cores}"));
    let rate = u64::from(queue.rate());
    let mut job = Job::new(&target, &[("latest-metrics", open(rate))]);
    job.arrivals = Some(Arrivals::Poisson);
    job.sessions = match at {
        Where::Target => 512,
        Where::Door => queue.servers,
    };
    // Ten times the relaxation time of the slowest queue, 1 / (μ (1 − √ρ)²) at 90%.
    job.warm_up = Nanos::from_secs(4);
    job.step = Nanos::from_secs(u64::from(ops) / rate);
    job
}

fn check(queue: Queue, at: Where, ops: u32) {
    let record = job(queue, at, ops).run().record;
    check_result(queue, at, measured(&record, "latest-metrics"));
}

fn check_result(queue: Queue, at: Where, result: &ResultRecord) {
    let case = format!("{queue:?} at the {at:?}");
    // Ops still queued at the end of the phase are dropped; they are too few to matter.
    assert!(result.dropped * 500 < result.offered, "{case}: {} dropped", result.dropped);
    assert_eq!(result.offered, result.acknowledged + result.dropped, "{case}");
    assert!(result.client_lag_ns.max.unwrap() <= 1_000, "{case}: our own lag");
    let door = result.session_wait_ns.max.unwrap();
    match at {
        Where::Target => assert!(door <= 1_000, "{case}: a session was always free: {door} ns"),
        Where::Door => {
            let service = seconds(result.service_ns.mean);
            assert!(
                (service / SERVICE_S - 1.0).abs() < 0.05,
                "{case}: nobody waits in the target: {service} s"
            );
        }
    }
    let theory = queue.theory();
    let n = number(result.acknowledged);
    let answered = LatencyHistogram::decode(&result.histograms.latency).unwrap();
    let latency = answered.summary();
    let mean = seconds(latency.mean);
    let tolerance = DEVIATIONS * theory.sigma_s / n.sqrt();
    assert!(
        (mean - theory.mean_s).abs() <= tolerance,
        "{case}: mean {mean} s, theory {} ± {tolerance} s from {n} ops",
        theory.mean_s
    );
    for (p, value) in [(0.5, latency.p50), (0.1, latency.p90), (0.01, latency.p99)] {
        let value = seconds(value);
        let tolerance = DEVIATIONS * (p * (1.0 - p) * theory.tau / n).sqrt() + 0.01 * p;
        // With constant service, all ops without a wait have the same response time.
        let atom = queue.exceeds(SERVICE_S * 0.999) - queue.exceeds(SERVICE_S * 1.001);
        if atom > 0.02 && p + tolerance >= queue.exceeds(SERVICE_S * 1.001) {
            continue;
        }
        let beyond = queue.exceeds(value);
        assert!(
            (beyond - p).abs() <= tolerance,
            "{case}: beyond {value} s should be {p} ± {tolerance} of {n} ops, not {beyond}"
        );
    }
}

const QUEUES: [(Service, u32); 3] =
    [(Service::Exponential, 1), (Service::Exponential, 4), (Service::Constant, 1)];

/// More ops for stronger correlation.
fn check_all(at: Where, times: u32) {
    for (service, servers) in QUEUES {
        for (per_cent, ops) in [(50, 80_000), (80, 160_000), (90, 360_000)] {
            let queue = Queue { service, servers, per_cent };
            check(queue, at, ops * times);
        }
    }
}

#[test]
fn the_general_form_of_the_variance_is_the_known_one_for_exponential_service() {
    for rho in [0.5, 0.8, 0.9] {
        let (sigma, tau) = asymptotics(rho / SERVICE_S, [1.0, 2.0, 6.0, 24.0]);
        let known = SERVICE_S * (1.0 + rho) / (1.0_f64 - rho).powi(2);
        assert!((sigma / known - 1.0).abs() < 1e-9, "{sigma} {known}");
        let known = ((1.0 + rho) / (1.0 - rho)).powi(2);
        assert!((tau / known - 1.0).abs() < 1e-9, "{tau} {known}");
    }
}

#[test]
fn a_queue_responds_according_to_theory() {
    check_all(Where::Target, 1);
}

#[test]
fn sessions_at_the_door_are_the_servers_of_one_queue_first_come_first_served() {
    check_all(Where::Door, 1);
}

/// n load generators with c sessions together are n queues with c / n sessions each, and not one with c.
#[test]
fn the_sessions_of_several_shares_are_as_many_queues() {
    let whole = Queue { service: Service::Exponential, servers: 4, per_cent: 80 };
    for of in [1, 2, 4] {
        let job = job(whole, Where::Door, 160_000);
        let mut shares: Vec<RunRecord> =
            (1..=of).map(|index| job.share_of(index, of).run().record).collect();
        begin_together(&mut shares);
        let merged = analysis::merge(&shares).unwrap();
        let each = Queue { servers: whole.servers / of, ..whole };
        check_result(each, Where::Door, measured(&merged, "latest-metrics"));
    }
}

#[test]
#[ignore = "minutes; tolerances a fourth of those above"]
fn long_a_queue_responds_according_to_theory() {
    check_all(Where::Target, 16);
}

#[test]
#[ignore = "minutes; tolerances a fourth of those above"]
fn long_sessions_at_the_door_are_the_servers_of_one_queue() {
    check_all(Where::Door, 16);
}

/// One of twenty nodes is half as fast, and full at 500 ops a second: of 600 all others answer theirs, and hardly 1% of
/// the ops more wait from minute to minute.
#[test]
fn a_queue_that_grows_at_one_node_of_many_is_a_reason() {
    let url = "sim:?nodes=20&cores=1&shards=20&replicas=0&query=20ms&queue=inf&slow_node=3:0.5";
    let run_at = |per_s: u64, objectives: Vec<Objective>| {
        let mut job = Job::new(url, &[("latest-metrics", open(per_s))]);
        job.arrivals = Some(Arrivals::Poisson);
        job.sessions = 20_000;
        job.step = Nanos::from_secs(300);
        job.objectives = objectives;
        job.run().record.judgments
    };
    let grown = run_at(600, vec![]);
    assert_eq!(grown.measurement.value, Measurement::Inconclusive);
    let reason = &grown.measurement.reasons[0];
    assert_eq!(reason.code, ReasonCode::BacklogGrew);
    assert!(reason.evidence.contains("; at node 3, its queue grew by "), "{reason:?}");
    assert_eq!(grown.objective.value, ObjectiveValue::NoneSet);
    // With an objective it is missed, however wide its bound, and the measurement shows that.
    let wide = Objective::Latency { quantile_ppm: 500_000, max: Nanos::from_secs(60), op: None };
    let missed = run_at(600, vec![wide.clone()]);
    assert_eq!(missed.measurement.value, Measurement::Valid, "{:?}", missed.measurement);
    assert_eq!(missed.objective.codes(), [ReasonCode::Backlog]);
    let kept_up = run_at(480, vec![wide]);
    assert_eq!(kept_up.objective.value, ObjectiveValue::Met, "{:?}", kept_up.objective);
}
