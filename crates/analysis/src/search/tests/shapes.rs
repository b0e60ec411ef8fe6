//! Targets of other shapes than a queue: a knee, a cliff, memory, gaps, stalls.

use super::*;

/// Sustains every rate up to its capacity, and that much of every higher one.
struct Plateau {
    capacity: f64,
    closed: f64,
    /// Relative noise of what is reached.
    spread: f64,
    noise: Noise,
}

impl Target for Plateau {
    fn closed(&mut self) -> f64 {
        self.closed
    }

    fn probe(&mut self, at: f64, _seconds: f64) -> Shown {
        let reached = at.min(self.capacity * (1.0 + self.spread * self.noise.normal()));
        if reached < at * 0.99 {
            Shown::missed(reached, ReasonCode::RateNotSustained)
        } else {
            Shown::met(reached)
        }
    }
}

#[test]
fn a_capacity_is_found_from_closed_load_that_reached_any_part_of_it() {
    let mut tally = Tally::default();
    for seed in 0..400 {
        let mut noise = Noise::new(seed);
        let capacity = between(&mut noise, 10.0, 1e6);
        let closed = capacity * between(&mut noise, 0.05, 1.0);
        let mut plateau = Plateau {
            capacity,
            closed,
            spread: 0.003,
            noise,
        };
        // Up to 1 % more than the capacity counts as sustained.
        let found = find(&search(), &mut plateau);
        tally.add(seed, capacity, &found);
    }
    tally.check(97, 12, 25);
}

#[test]
fn a_capacity_is_found_from_a_first_rate_that_is_far_from_it() {
    let mut tally = Tally::default();
    for seed in 0..400 {
        let mut noise = Noise::new(seed);
        let mut search = search();
        search.policy.first = Some(1_000.0);
        let capacity = between(&mut noise, 10.0, 1e6);
        let mut plateau = Plateau {
            capacity,
            closed: 0.0,
            spread: 0.003,
            noise,
        };
        let found = find(&search, &mut plateau);
        tally.add(seed, capacity, &found);
    }
    tally.check(97, 12, 25);
}

#[test]
fn no_probe_asks_for_many_times_what_was_sustained() {
    for seed in 0..100 {
        let mut noise = Noise::new(seed);
        let capacity = between(&mut noise, 10.0, 1e6);
        // As closed load of too few sessions, or behind a cold start.
        let closed = capacity * between(&mut noise, 0.001, 0.3);
        let mut plateau = Plateau {
            capacity,
            closed,
            spread: 0.003,
            noise,
        };
        let found = find(&search(), &mut plateau);
        let mut sustained = closed;
        for probe in &found.probes[1..] {
            assert!(probe.at <= 4.0 * sustained * 1.01, "{}", found.story());
            sustained = sustained.max(probe.acknowledged_per_s);
        }
        assert!(found.probes.len() <= 25, "{}", found.story());
        assert!((found.mark().confirmed / capacity - 1.0).abs() < 0.03);
    }
}

/// Collapses above its edge: reaches a part of it only.
struct Cliff {
    edge: f64,
    left: f64,
}

impl Target for Cliff {
    fn closed(&mut self) -> f64 {
        self.edge * self.left
    }

    fn probe(&mut self, at: f64, _seconds: f64) -> Shown {
        if at <= self.edge {
            Shown::met(at)
        } else {
            Shown::missed(self.edge * self.left, ReasonCode::RateNotSustained)
        }
    }
}

#[test]
fn a_cliff_is_found_although_it_shows_nothing_from_below_and_lies_from_above() {
    let mut tally = Tally::default();
    for seed in 0..200 {
        let mut noise = Noise::new(seed);
        let edge = between(&mut noise, 10.0, 1e6);
        let left = between(&mut noise, 0.1, 0.9);
        let found = find(&search(), &mut Cliff { edge, left });
        tally.add(seed, edge, &found);
    }
    // It shows nothing until it is passed, so the bracket is halved all the way.
    tally.check(97, 17, 25);
}

/// Lateness rises with a power of the rate, without any knee.
struct SoftKnee {
    mark: f64,
    power: f64,
    noise: Noise,
}

impl Target for SoftKnee {
    fn closed(&mut self) -> f64 {
        self.mark * 3.0
    }

    fn probe(&mut self, at: f64, seconds: f64) -> Shown {
        let late = (0.01 * (at / self.mark).powf(self.power)).min(1.0);
        let bound = late_of(at * seconds, late, &mut self.noise);
        let mut shown = Shown::met(at);
        if bound.upper95 > 0.01 {
            shown = Shown::missed(at, ReasonCode::ObjectiveLatency);
        }
        shown.pressure = Some((bound.upper95 / 0.01).ln());
        shown.late = Some(bound.fraction / 0.01);
        shown
    }
}

#[test]
fn a_soft_knee_is_found_where_the_bound_is_passed() {
    let mut tally = Tally::default();
    for seed in 0..100 {
        let mut noise = Noise::new(seed);
        let mark = between(&mut noise, 2_000.0, 10_000.0);
        let power = between(&mut noise, 4.0, 12.0);
        let mut knee = SoftKnee { mark, power, noise };
        let found = find(&with_p99(Nanos::from_millis(50)), &mut knee);
        tally.add(seed, mark, &found);
    }
    tally.check(97, 12, 25);
}

/// Rejects what finds all of its few servers busy, and acknowledges the rest (Erlang's B): above the
/// mark it always reaches somewhat more than the mark, so every guess is a little too high.
struct Rejecting {
    servers: u32,
    mu: f64,
}

impl Rejecting {
    fn rejected(&self, at: f64) -> f64 {
        let offered = at / self.mu;
        (1..=self.servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b))
    }
}

impl Target for Rejecting {
    fn closed(&mut self) -> f64 {
        f64::from(self.servers) * self.mu
    }

    fn probe(&mut self, at: f64, _seconds: f64) -> Shown {
        let rejected = self.rejected(at);
        if rejected > 0.01 {
            Shown::missed(at * (1.0 - rejected), ReasonCode::RateNotSustained)
        } else {
            Shown::met(at * (1.0 - rejected))
        }
    }
}

#[test]
fn a_target_that_rejects_long_before_its_capacity_is_no_creeping_way_down() {
    for servers in [2, 4, 16, 64] {
        let mut target = Rejecting { servers, mu: 250.0 };
        let found = find(&search(), &mut target);
        let mark = found.mark();
        assert!(target.rejected(mark.confirmed) <= 0.01);
        assert!(target.rejected(mark.confirmed * 1.03) > 0.01, "{mark:?}");
        assert!(found.probes.len() <= 20, "{servers}{}", found.story());
    }
}

/// After an overload it takes a while at a part of its capacity.
struct Memory {
    capacity: f64,
    bad_probes_left: u32,
}

impl Target for Memory {
    fn closed(&mut self) -> f64 {
        self.capacity
    }

    fn probe(&mut self, at: f64, _seconds: f64) -> Shown {
        let ill = self.bad_probes_left > 0;
        self.bad_probes_left = self.bad_probes_left.saturating_sub(1);
        let capacity = self.capacity * if ill { 0.6 } else { 1.0 };
        if at > capacity * 1.01 {
            self.bad_probes_left = 2;
            return Shown::missed(capacity, ReasonCode::RateNotSustained);
        }
        Shown::met(at)
    }
}

#[test]
fn a_target_that_remembers_an_overload_is_never_given_more_than_it_sustains() {
    for seed in 0..100 {
        let mut noise = Noise::new(seed);
        let capacity = between(&mut noise, 10.0, 1e6);
        let mut target = Memory {
            capacity,
            bad_probes_left: 0,
        };
        let found = find(&search(), &mut target);
        let mark = found.mark();
        assert!(mark.confirmed <= capacity * 1.011, "{mark:?}");
        assert!(
            mark.confirmed >= capacity * 0.5,
            "{mark:?}{}",
            found.story()
        );
        assert!(found.probes.len() <= 25);
    }
}

/// Fails in a gap, and sustains rates above it again.
struct Gap {
    gap: [f64; 2],
    capacity: f64,
}

impl Target for Gap {
    fn closed(&mut self) -> f64 {
        self.capacity
    }

    fn probe(&mut self, at: f64, _seconds: f64) -> Shown {
        if at > self.capacity || (self.gap[0] < at && at < self.gap[1]) {
            Shown::missed(at * 0.9, ReasonCode::RateNotSustained)
        } else {
            Shown::met(at)
        }
    }
}

#[test]
fn rates_that_pass_above_one_that_failed_are_shown_and_do_not_count() {
    let gap = || Gap {
        gap: [600.0, 800.0],
        capacity: 1_000.0,
    };
    let mut target = gap();
    let target_of = |at| gap().probe(at, SEARCH_S);
    let mut search = search();
    search.policy.first = Some(700.0);
    let found = find(&search, &mut target);
    let mark = found.mark();
    assert!((582.0..=600.0).contains(&mark.confirmed), "{mark:?}");
    assert!(mark.passed_above.is_empty(), "nothing above was tried");

    // The same, but a rate above the gap passed before the gap was seen.
    let probe = |number, at| {
        let shown = target_of(at);
        ProbeRecord {
            number,
            at,
            verdict: shown.verdict,
            reasons: shown.reasons,
            acknowledged_per_s: shown.acknowledged_per_s,
            ..found.probes[0].clone()
        }
    };
    let seen = vec![probe(1, 900.0), probe(2, 700.0), probe(3, 700.0)];
    let found = go_on(&search, &mut target, seen);
    let mark = found.mark();
    assert!((582.0..=600.0).contains(&mark.confirmed), "{mark:?}");
    assert!(mark.failed.unwrap() <= 700.0, "{mark:?}");
    assert_eq!(mark.passed_above, [900.0]);
}

/// A queue whose probes are hit by stalls that have nothing to do with the rate.
struct Stalling {
    queue: Queue,
    probability: f64,
}

impl Target for Stalling {
    fn closed(&mut self) -> f64 {
        self.queue.closed()
    }

    fn probe(&mut self, at: f64, seconds: f64) -> Shown {
        let mut shown = self.queue.probe(at, seconds);
        if self.queue.noise.uniform() < self.probability {
            shown.verdict = ProbeVerdict::Failed;
            shown.pressure = Some(4.5_f64.ln());
            shown.late = Some(4.0);
            shown.reasons = vec![ReasonCode::ObjectiveLatency];
        }
        shown
    }
}

#[test]
fn a_stall_now_and_then_does_not_hide_the_mark() {
    let mut tally = Tally::default();
    for seed in 0..300 {
        let mut noise = Noise::new(seed);
        let mu = between(&mut noise, 4_000.0, 20_000.0);
        let bound_s = 100_f64.ln() / mu * between(&mut noise, 2.5, 12.0);
        let queue = Queue {
            mu,
            servers: 1,
            bound_s,
            noise,
        };
        let truth = queue.truth();
        let mut target = Stalling {
            queue,
            probability: 0.04,
        };
        let found = find(&with_p99(Nanos(nanos(bound_s))), &mut target);
        tally.add(seed, truth, &found);
    }
    tally.check(97, 12, 25);
}
