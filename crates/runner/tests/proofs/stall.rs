//! A stalled target must show in the latencies: latency counts from the intended time.

use highwater_model::plan::Arrivals;
use highwater_model::record::ResultRecord;
use highwater_model::units::Nanos;

use crate::support::{Job, measured, one_node, open, seconds};

const STEP_S: f64 = 20.0;
const STALL_S: f64 = 2.0;
/// Ops per second: 4,000 rows in batches of 10.
const RATE: f64 = 400.0;
const SERVICE_S: f64 = 0.01;
const SESSIONS: u32 = 16;
const TOLERANCE: f64 = 0.05;

/// The load on the sessions: without a stall, each op occupies one for its service time.
fn load() -> f64 {
    RATE * SERVICE_S / f64::from(SESSIONS)
}

/// The p99 latency in closed form.
///
/// With rate λ, service S, and c sessions, the queue drains at μ = c / S. An op intended u seconds into a stall of L
/// seconds finds λu others before it, so it begins (L − u) + λu / μ after its time, and its latency is S + L − u (1 −
/// ρ), with ρ = λ / μ. This holds until the queue is empty, at u = L / (1 − ρ). Latencies above S + x thus belong to
/// the (L − x) / (1 − ρ) seconds of arrivals at the stall's start, of T in all: they are 1% where x = L − 0.01 T (1 −
/// ρ).
fn p99_s() -> f64 {
    SERVICE_S + STALL_S - 0.01 * STEP_S * (1.0 - load())
}

/// The mean in closed form: S plus a triangle of height L and width L / (1 − ρ), spread over T.
fn mean_s() -> f64 {
    SERVICE_S + STALL_S * STALL_S / (1.0 - load()) / 2.0 / STEP_S
}

fn agrees(measured_s: f64, expected_s: f64) -> bool {
    (measured_s / expected_s - 1.0).abs() <= TOLERANCE
}

fn stalled(arrivals: Arrivals, seed: u64) -> ResultRecord {
    let target = one_node("cores=inf&service=constant&request=10ms&stall=5s+2s");
    let mut job = Job::new(&target, &[("insert", open(4_000))]);
    job.arrivals = Some(arrivals);
    job.sessions = SESSIONS;
    job.step = Nanos::from_secs(20);
    job.seed = seed;
    measured(&job.run().record, "insert").clone()
}

/// The proof and its converse: the same figure fails if it is counted from the actual start.
fn check_p99(result: &ResultRecord, case: &str) {
    let expected = p99_s();
    let latency = seconds(result.latency_ns.p99);
    assert!(agrees(latency, expected), "{case}: p99 {latency} s, expected {expected} s");
    let service = seconds(result.service_ns.p99);
    assert!(
        !agrees(service, expected),
        "{case}: counted from the start the stall would show as well, at {service} s; then this \
         test could not tell the difference"
    );
    assert!(
        agrees(service, SERVICE_S),
        "{case}: {SESSIONS} of 8,000 ops felt the stall as service, not {service} s at p99"
    );
    let door = seconds(result.session_wait_ns.p99);
    assert!(agrees(door, expected - SERVICE_S), "{case}: the delay belongs to the door: {door} s");
    let lag = result.client_lag_ns.max.unwrap();
    assert!(lag <= 1_000, "{case}: none of it is our own lag: {lag} ns");
}

#[test]
fn a_stall_affects_p99_as_in_the_closed_form_with_constant_arrivals() {
    let result = stalled(Arrivals::Constant, 1);
    assert_eq!((result.offered, result.acknowledged), (8_000, 8_000));
    check_p99(&result, "constant");
    let mean = seconds(result.latency_ns.mean);
    assert!(agrees(mean, mean_s()), "mean {mean} s, not {} s", mean_s());
}

/// With Poisson arrivals, 80 ± 9 of 8,000 ops rank above the p99. They arrive in 0.2 s, so that it varies by 0.02 s: 5%
/// of it are four standard deviations.
#[test]
fn a_stall_affects_p99_as_in_the_closed_form_with_poisson_arrivals() {
    for seed in 1..=5 {
        let result = stalled(Arrivals::Poisson, seed);
        check_p99(&result, &format!("Poisson, seed {seed}"));
    }
}
