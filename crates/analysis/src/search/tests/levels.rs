//! How often what a search states holds: that a confirmed value is a floor just below the truth, and
//! that the interval of an estimate holds the truth. How much too wide it is, is not checked.
//!
//! Targets are queues of 1 to 48 servers behind a bound of the 95th or 99th percentile. Their seed
//! changes with the version, so that nothing is tuned to them.

use super::*;

/// Least part of confirmed values from 3 % below the truth to 2 % above.
const NEAR_LEAST: f64 = 0.90;
const TOO_HIGH_MOST: f64 = 0.02;

/// M/M/c behind a bound that a fraction of the ops may exceed.
struct Served {
    mu: f64,
    servers: u32,
    bound_s: f64,
    allowed: f64,
    noise: Noise,
}

impl Served {
    fn capacity(&self) -> f64 {
        self.mu * f64::from(self.servers)
    }

    fn truth(&self) -> f64 {
        MMc::rate_meeting_quantile(self.mu, self.servers, 1.0 - self.allowed, self.bound_s)
    }
}

impl Target for Served {
    fn closed(&mut self) -> f64 {
        self.capacity() * (1.0 + 0.004 * self.noise.normal())
    }

    fn probe(&mut self, at: f64, seconds: f64) -> Shown {
        let reached = at.min(self.capacity());
        let load = (at / self.capacity()).min(0.999);
        let queue = MMc {
            lambda: at.min(self.capacity() * 0.999),
            mu: self.mu,
            c: self.servers,
        };
        let tau = ((1.0 + load) / (1.0 - load)).powi(2);
        let late = queue.response_exceeds(self.bound_s);
        let bound = late_of(at * seconds / tau, late, &mut self.noise);
        let sustained = reached >= 0.99 * at;
        let verdict = if !sustained || bound.lower95 > self.allowed {
            ProbeVerdict::Failed
        } else if bound.upper95 <= self.allowed {
            ProbeVerdict::Passed
        } else {
            ProbeVerdict::NotDecided
        };
        let mut reasons = Vec::new();
        if verdict != ProbeVerdict::Passed {
            reasons.push(ReasonCode::ObjectiveLatency);
        }
        if !sustained {
            reasons.push(ReasonCode::RateNotSustained);
        }
        Shown {
            verdict,
            acknowledged_per_s: reached,
            pressure: Some((bound.upper95 / self.allowed).ln()),
            late: Some(bound.fraction / self.allowed),
            reasons,
        }
    }
}

/// How values and intervals of many searches lie to the truth.
#[derive(Debug, Default)]
struct Levels {
    searches: u32,
    near: u32,
    too_high: u32,
    without: u32,
    estimated: u32,
    held: u32,
    below: u32,
}

impl Levels {
    fn add(&mut self, truth: f64, found: &Found) {
        self.searches += 1;
        let SearchOutcome::Mark(mark) = &found.outcome else {
            self.without += 1;
            return;
        };
        let error = mark.confirmed / truth - 1.0;
        self.near += u32::from((-0.03..=0.02).contains(&error));
        self.too_high += u32::from(error > 0.02);
        if let Some(found) = mark.estimate {
            self.estimated += 1;
            self.held += u32::from((found.low90..=found.high90).contains(&truth));
            self.below += u32::from(truth < found.low90);
        }
    }

    fn part(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.searches)
    }
}

/// A seed of this version, so that each has cases of its own.
fn of_version(number: u64) -> Noise {
    let version = env!("CARGO_PKG_VERSION").bytes();
    let hash = version.fold(0_u64, |hash, byte| hash * 131 + u64::from(byte));
    Noise::new(hash * 1_000_003 + number)
}

fn queues(seeds: std::ops::Range<u64>, allowed: f64) -> Levels {
    let mut levels = Levels::default();
    for seed in seeds {
        let mut noise = of_version(seed);
        let servers = [1, 2, 4, 8, 24, 48][usize::try_from(seed % 6).unwrap()];
        let mu = between(&mut noise, 5_000.0, 50_000.0) / f64::from(servers);
        let bound_s = -allowed.ln() / mu * between(&mut noise, 1.5, 8.0);
        let mut target = Served {
            mu,
            servers,
            bound_s,
            allowed,
            noise,
        };
        let mut search = search();
        search.objective.stated.push(Objective::Latency {
            quantile_ppm: 1_000_000 - u32::try_from(round_to_u64(allowed * 1e6)).unwrap(),
            max: Nanos(nanos(bound_s)),
        });
        let found = find(&search, &mut target);
        levels.add(target.truth(), &found);
    }
    println!("{allowed}: {levels:?}");
    levels
}

fn check(levels: &Levels) {
    assert!(levels.part(levels.near) >= NEAR_LEAST, "{levels:?}");
    assert!(levels.part(levels.too_high) <= TOO_HIGH_MOST, "{levels:?}");
    assert_eq!(levels.without, 0, "{levels:?}");
}

#[test]
fn a_confirmed_value_is_a_floor_just_below_the_truth() {
    check(&queues(0..60, 0.01));
    check(&queues(0..60, 0.05));
}

#[test]
#[ignore = "a minute; a thousand searches"]
fn long_levels_of_marks_hold() {
    for allowed in [0.01, 0.05] {
        let levels = queues(0..500, allowed);
        check(&levels);
        let held = f64::from(levels.held) / f64::from(levels.estimated);
        assert!(held >= 0.86, "{levels:?}");
    }
}
