//! The policy against targets whose mark is known: queues, cliffs, knees, noise, and worse.
//!
//! A target here is a function from a probe's rate and length to what a run would show, drawn by
//! seed; so hundreds of searches take a moment. Searches on the simulated cluster, with everything
//! that a run does in between, are in the runner's proofs.

use super::step::is_same;
use super::*;
use crate::exceedance::{Exceedance, exceedance};
use crate::fixture;
use crate::queueing::MMc;
use crate::synthetic::Noise;
use highwater_model::judgment::ReasonCode;
use highwater_model::numbers::round_to_u64;
use highwater_model::plan::Objective;
use highwater_model::search::{Mark, NoMark, ProbePurpose, ProbeVerdict, SearchAxis};
use highwater_model::units::Nanos;

mod concluding;
mod confirming;
mod levels;
mod limits;
mod long;
mod shapes;
mod spending;
mod verdict;

const S: u64 = 1_000_000_000;
const SEARCH_S: f64 = 60.0;
const CONFIRM_S: f64 = 300.0;

/// What one probe would show.
struct Shown {
    verdict: ProbeVerdict,
    acknowledged_per_s: f64,
    pressure: Option<f64>,
    late: Option<f64>,
    reasons: Vec<ReasonCode>,
}

impl Shown {
    fn met(at: f64) -> Self {
        Self {
            verdict: ProbeVerdict::Passed,
            acknowledged_per_s: at,
            pressure: None,
            late: None,
            reasons: Vec::new(),
        }
    }

    fn missed(acknowledged_per_s: f64, reason: ReasonCode) -> Self {
        Self {
            verdict: ProbeVerdict::Failed,
            acknowledged_per_s,
            pressure: None,
            late: None,
            reasons: vec![reason],
        }
    }
}

/// A target: what a probe at a rate, over so many seconds, would show.
trait Target {
    /// What closed load reaches.
    fn closed(&mut self) -> f64;
    fn probe(&mut self, at: f64, seconds: f64) -> Shown;
}

/// What closed load reaches, and what a probe shows.
impl<F: FnMut(f64, f64) -> Shown> Target for (f64, F) {
    fn closed(&mut self) -> f64 {
        self.0
    }

    fn probe(&mut self, at: f64, seconds: f64) -> Shown {
        (self.1)(at, seconds)
    }
}

/// A search and its end.
struct Found {
    outcome: SearchOutcome,
    probes: Vec<ProbeRecord>,
}

impl Found {
    #[track_caller]
    fn mark(&self) -> &Mark {
        match &self.outcome {
            SearchOutcome::Mark(mark) => mark,
            SearchOutcome::NoMark(no_mark) => panic!("{no_mark:?} after {}", self.story()),
        }
    }

    #[track_caller]
    fn no_mark(&self) -> &NoMark {
        match &self.outcome {
            SearchOutcome::NoMark(no_mark) => no_mark,
            SearchOutcome::Mark(mark) => panic!("{mark:?} after {}", self.story()),
        }
    }

    fn story(&self) -> String {
        let probes = self.probes.iter();
        let lines = probes.map(|p| {
            format!(
                "\n  {:?} {} {:?} {:?}",
                p.purpose, p.at, p.verdict, p.pressure
            )
        });
        lines.collect()
    }
}

fn search() -> SearchRecord {
    let mut search = fixture::search(vec![Objective::Rejected { max_ppm: 0 }]);
    search.policy.lowest = 0.01;
    search.policy.longest_ns = u64::MAX;
    search
}

fn with_p99(max: Nanos) -> SearchRecord {
    let mut search = search();
    search.objective.stated.push(Objective::Latency {
        quantile_ppm: 990_000,
        max,
    });
    search
}

/// The loop that a caller runs.
fn find(search: &SearchRecord, target: &mut dyn Target) -> Found {
    go_on(search, target, Vec::new())
}

/// The same behind probes that were made before.
fn go_on(search: &SearchRecord, target: &mut dyn Target, mut probes: Vec<ProbeRecord>) -> Found {
    // A policy that never ends must fail, not hang.
    for number in u32::try_from(probes.len()).unwrap() + 1..=100 {
        let (purpose, at) = match next(search, &probes) {
            Step::End(outcome) => return Found { outcome, probes },
            Step::Estimate => (ProbePurpose::Estimate, None),
            Step::Probe { at } => (ProbePurpose::Search, Some(at)),
            Step::Confirm { at } => (ProbePurpose::Confirm, Some(at)),
            Step::Soak { at } => (ProbePurpose::Soak, Some(at)),
        };
        let measured_ns = measured_ns(search, &probes, purpose, at);
        let shown = if let Some(at) = at {
            target.probe(at, Nanos(measured_ns).as_secs_f64())
        } else {
            let mut shown = Shown::met(target.closed());
            shown.verdict = ProbeVerdict::Estimated;
            shown
        };
        probes.push(ProbeRecord {
            number,
            reasons: shown.reasons,
            acknowledged_per_s: shown.acknowledged_per_s,
            pressure: shown.pressure,
            late: shown.late,
            rows_before: 100,
            bytes_before: Some(4_096),
            measured_ns,
            took_ns: measured_ns + 10 * S,
            ..fixture::probe(purpose, at.unwrap_or(64.0), shown.verdict)
        });
    }
    panic!("the search does not end");
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a few minutes"
)]
fn nanos(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// A queue with exponential service, and a bound of its 99th percentile.
struct Queue {
    mu: f64,
    servers: u32,
    bound_s: f64,
    noise: Noise,
}

impl Queue {
    fn capacity(&self) -> f64 {
        self.mu * f64::from(self.servers)
    }

    fn truth(&self) -> f64 {
        MMc::rate_meeting_quantile(self.mu, self.servers, 0.99, self.bound_s)
    }
}

impl Target for Queue {
    fn closed(&mut self) -> f64 {
        self.capacity() * (1.0 + 0.004 * self.noise.normal())
    }

    /// Late ops come in bursts: of n ops so many as n / τ are worth counting, τ = ((1 + ρ) / (1 −
    /// ρ))² as for M/M/1 (see the runner's proofs of queues).
    fn probe(&mut self, at: f64, seconds: f64) -> Shown {
        let reached = at.min(self.capacity());
        let load = (at / self.capacity()).min(0.999);
        let queue = MMc {
            lambda: at,
            mu: self.mu,
            c: self.servers,
        };
        let late = queue.response_exceeds(self.bound_s);
        let tau = ((1.0 + load) / (1.0 - load)).powi(2);
        let bound = late_of(at * seconds / tau, late, &mut self.noise);
        let verdict = if bound.upper95 <= 0.01 {
            ProbeVerdict::Passed
        } else if bound.fraction > 0.01 {
            ProbeVerdict::Failed
        } else {
            ProbeVerdict::NotDecided
        };
        let mut reasons = Vec::new();
        if verdict != ProbeVerdict::Passed {
            reasons.push(ReasonCode::ObjectiveLatency);
        }
        if reached < 0.99 * at {
            reasons.push(ReasonCode::RateNotSustained);
        }
        Shown {
            verdict: if reached < 0.99 * at {
                ProbeVerdict::Failed
            } else {
                verdict
            },
            acknowledged_per_s: reached,
            pressure: Some((bound.upper95 / 0.01).ln()),
            late: Some(bound.fraction / 0.01),
            reasons,
        }
    }
}

/// So many independent ops, of which this share is late.
fn late_of(ops: f64, late: f64, noise: &mut Noise) -> Exceedance {
    const OPS_OF_A_WINDOW: f64 = 20.0;
    let windows = round_to_u64(ops / OPS_OF_A_WINDOW).clamp(10, 200);
    let in_window = ops / f64::from(u32::try_from(windows).unwrap());
    let total = round_to_u64(in_window).max(1);
    let draw = |_| noise.poisson(in_window * late).min(total);
    let over: Vec<u64> = (0..windows).map(draw).collect();
    exceedance(&vec![total; over.len()], &over)
}

/// How searches of many seeds came out.
#[derive(Default)]
struct Tally {
    near: usize,
    too_high: Vec<u64>,
    far: Vec<String>,
    probes: Vec<usize>,
}

impl Tally {
    fn add(&mut self, seed: u64, truth: f64, found: &Found) {
        assert!(is_confirmed(found), "seed {seed}: {}", found.story());
        self.probes.push(found.probes.len());
        let error = match &found.outcome {
            SearchOutcome::Mark(mark) => mark.confirmed / truth - 1.0,
            SearchOutcome::NoMark(_) => -1.0,
        };
        if error.abs() <= 0.03 {
            self.near += 1;
        } else {
            let story = found.story();
            let far = format!("seed {seed}: {error:+.4} of {truth}{story}");
            self.far.push(far);
        }
        if error > 0.05 {
            self.too_high.push(seed);
        }
    }

    /// At least so many in a hundred within 3 %, none above by more than 5 %; median and worst
    /// number of probes.
    #[track_caller]
    fn check(mut self, per_cent: usize, median: usize, worst: usize) {
        self.probes.sort_unstable();
        let n = self.probes.len();
        let said = format!(
            "{} of {n} near, median {}, worst {}, too high {:?}; {}",
            self.near,
            self.probes[n / 2],
            self.probes[n - 1],
            self.too_high,
            self.far.first().map_or("", String::as_str)
        );
        assert!(self.near * 100 >= per_cent * n, "{said}");
        assert!(self.too_high.is_empty(), "{said}");
        assert!(self.probes[n / 2] <= median, "{said}");
        assert!(self.probes[n - 1] <= worst, "{said}");
        println!("{said}");
    }
}

/// A mark was confirmed as often as the policy asks, at that very value, over the longer time.
fn is_confirmed(found: &Found) -> bool {
    let SearchOutcome::Mark(mark) = &found.outcome else {
        return true;
    };
    let confirmed = found.probes.iter().filter(|probe| {
        let held = matches!(
            probe.verdict,
            ProbeVerdict::Passed | ProbeVerdict::NotDecided
        );
        let confirms = probe.purpose == ProbePurpose::Confirm && held;
        confirms && is_same(probe.at, mark.confirmed) && probe.measured_ns == nanos(CONFIRM_S)
    });
    confirmed.count() == 3 && mark.hold_ns == nanos(CONFIRM_S)
}

/// Uniform in the logarithm.
fn between(noise: &mut Noise, low: f64, high: f64) -> f64 {
    low * (high / low).powf(noise.uniform())
}

#[test]
fn the_mark_of_a_queue_is_found() {
    let mut tally = Tally::default();
    for seed in 0..400 {
        let mut noise = Noise::new(seed);
        let servers =
            [1, 1, 2, 4, 8][usize::try_from(round_to_u64(noise.uniform() * 4.0)).unwrap()];
        let mu = between(&mut noise, 5_000.0, 50_000.0) / f64::from(servers);
        // From 2.5 to 12 times the p99 of an idle server: marks from 60 % of the capacity on.
        let bound_s = 100_f64.ln() / mu * between(&mut noise, 2.5, 12.0);
        let mut queue = Queue {
            mu,
            servers,
            bound_s,
            noise,
        };
        let bound = Nanos(nanos(bound_s));
        let truth = queue.truth();
        let found = find(&with_p99(bound), &mut queue);
        tally.add(seed, truth, &found);
    }
    tally.check(97, 12, 25);
}

#[test]
fn the_mark_of_a_slow_queue_is_found_although_a_short_probe_shows_little() {
    let mut tally = Tally::default();
    for seed in 0..400 {
        let mut noise = Noise::new(seed);
        let mu = between(&mut noise, 1_500.0, 3_000.0);
        let bound_s = 100_f64.ln() / mu * between(&mut noise, 2.5, 5.0);
        let mut queue = Queue {
            mu,
            servers: 1,
            bound_s,
            noise,
        };
        let found = find(&with_p99(Nanos(nanos(bound_s))), &mut queue);
        tally.add(seed, queue.truth(), &found);
    }
    tally.check(97, 12, 25);
}
