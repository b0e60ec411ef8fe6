//! The policy against targets with a known mark: queues, cliffs, knees, noise, and worse.
//!
//! Searches on the simulated cluster, with whole runs, are in the experiment's proofs.

use super::step::is_same;
use super::*;
use crate::fixture;
use crate::synthetic::Noise;
use highwater_model::judgment::ReasonCode;
use highwater_model::numbers::{round_to_u64, truncate_to_u64};
use highwater_model::plan::Objective;
use highwater_model::search::{Mark, NoMark, ProbePurpose, ProbeVerdict, SearchAxis};
use highwater_model::units::Nanos;

mod concluding;
mod confirming;
mod estimating;
mod levels;
mod limits;
mod long;
mod shapes;
mod spending;
mod verdict;

use super::accuracy::harness::{Found, Shown, Target, between, find, go_on, search};
use super::accuracy::queue::{Queue, Shape, late_of};

const S: u64 = 1_000_000_000;
const SEARCH_S: f64 = 60.0;
const CONFIRM_S: f64 = 300.0;

impl Shown {
    /// A failure with this acknowledged rate.
    fn missed(acknowledged_per_s: f64, reason: ReasonCode) -> Self {
        Self {
            verdict: ProbeVerdict::Failed,
            reasons: vec![reason],
            ..Self::met(acknowledged_per_s)
        }
    }
}

impl Found {
    /// The mark; there must be one.
    #[track_caller]
    fn mark(&self) -> &Mark {
        match &self.outcome {
            SearchOutcome::Mark(mark) => mark,
            SearchOutcome::NoMark(no_mark) => panic!("{no_mark:?} after {}", self.story()),
        }
    }

    /// Why there is no mark; there must be none.
    #[track_caller]
    fn no_mark(&self) -> &NoMark {
        match &self.outcome {
            SearchOutcome::NoMark(no_mark) => no_mark,
            SearchOutcome::Mark(mark) => panic!("{mark:?} after {}", self.story()),
        }
    }

    /// A line for each probe.
    fn story(&self) -> String {
        let lines = self.probes.iter().map(|p| {
            let (purpose, at, verdict, pressure) = (&p.purpose, &p.at, &p.verdict, &p.pressure);
            format!("\n  {purpose:?} {at} {verdict:?} {pressure:?}")
        });
        lines.collect()
    }
}

impl Queue {
    /// M/M/c with a bound on the 99th percentile.
    fn markov(mu: f64, servers: u32, bound_s: f64, noise: Noise) -> Self {
        Self {
            shape: Shape::Markov { mu, servers, bound_s },
            capacity: mu * f64::from(servers),
            allowed: 0.01,
            noise,
        }
    }
}

fn with_p99(max: Nanos) -> SearchRecord {
    let mut search = search();
    search.objective.stated.push(Objective::Latency { quantile_ppm: 990_000, max, op: None });
    search
}

fn nanos(seconds: f64) -> u64 {
    truncate_to_u64(seconds * 1e9)
}

/// The results of searches with many seeds.
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

    /// Checks that at least this percentage is within 3% and none is more than 5% above, and the
    /// median and worst number of probes.
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

/// Checks that a mark was confirmed as often as the policy requires, at exactly this value, over the longer
/// time; once more if one contradicted the others.
fn is_confirmed(found: &Found) -> bool {
    let SearchOutcome::Mark(mark) = &found.outcome else {
        return true;
    };
    let confirmed = found.probes.iter().filter(|probe| {
        let held = matches!(probe.verdict, ProbeVerdict::Passed | ProbeVerdict::NotDecided);
        let confirms = probe.purpose == ProbePurpose::Confirm && held;
        confirms && is_same(probe.at, mark.confirmed) && probe.measured_ns == nanos(CONFIRM_S)
    });
    confirmed.count() >= 3 && mark.hold_ns == nanos(CONFIRM_S)
}

#[test]
fn the_mark_of_a_queue_is_found() {
    let mut tally = Tally::default();
    for seed in 0..400 {
        let mut noise = Noise::new(seed);
        let servers =
            [1, 1, 2, 4, 8][usize::try_from(round_to_u64(noise.uniform() * 4.0)).unwrap()];
        let mu = between(&mut noise, 5_000.0, 50_000.0) / f64::from(servers);
        // From 2.5 to 12 times the p99 of an idle server: marks from 60% of the capacity on.
        let bound_s = 100_f64.ln() / mu * between(&mut noise, 2.5, 12.0);
        let mut queue = Queue::markov(mu, servers, bound_s, noise);
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
        let mut queue = Queue::markov(mu, 1, bound_s, noise);
        let found = find(&with_p99(Nanos(nanos(bound_s))), &mut queue);
        tally.add(seed, queue.truth(), &found);
    }
    tally.check(97, 12, 25);
}
