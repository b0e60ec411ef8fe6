//! Targets with other shapes than a queue: a knee, a cliff, memory, gaps, stalls.

use super::*;

/// Sustains every rate up to its capacity, with some noise, and reaches the capacity at every higher
/// one.
fn plateau(capacity: f64, closed: f64, mut noise: Noise) -> impl Target {
    let probe = move |at: f64, _: f64| {
        let reached = at.min(capacity * (1.0 + 0.003 * noise.normal()));
        if reached < at * 0.99 {
            Shown::missed(reached, ReasonCode::RateNotSustained)
        } else {
            Shown::met(reached)
        }
    };
    (closed, probe)
}

#[test]
fn a_capacity_is_found_from_closed_load_that_reached_any_part_of_it() {
    let mut tally = Tally::default();
    for seed in 0..400 {
        let mut noise = Noise::new(seed);
        let capacity = between(&mut noise, 10.0, 1e6);
        let closed = capacity * between(&mut noise, 0.05, 1.0);
        // Up to 1% more than the capacity counts as sustained.
        let found = find(&search(), &mut plateau(capacity, closed, noise));
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
        let found = find(&search, &mut plateau(capacity, 0.0, noise));
        tally.add(seed, capacity, &found);
    }
    tally.check(97, 12, 25);
}

#[test]
fn no_probe_is_at_many_times_the_sustained_rate() {
    for seed in 0..100 {
        let mut noise = Noise::new(seed);
        let capacity = between(&mut noise, 10.0, 1e6);
        // Like closed load with too few sessions, or after a cold start.
        let closed = capacity * between(&mut noise, 0.001, 0.3);
        let found = find(&search(), &mut plateau(capacity, closed, noise));
        let mut sustained = closed;
        for probe in &found.probes[1..] {
            assert!(probe.at <= 4.0 * sustained * 1.01, "{}", found.story());
            sustained = sustained.max(probe.acknowledged_per_s);
        }
        assert!(found.probes.len() <= 25, "{}", found.story());
        assert!((found.mark().confirmed / capacity - 1.0).abs() < 0.03);
    }
}

#[test]
fn a_cliff_is_found_although_it_shows_nothing_from_below_and_lies_from_above() {
    let mut tally = Tally::default();
    for seed in 0..200 {
        let mut noise = Noise::new(seed);
        let edge = between(&mut noise, 10.0, 1e6);
        let left = between(&mut noise, 0.1, 0.9);
        // Collapses above its edge, and then reaches only a part of it.
        let cliff = |at: f64, _: f64| {
            if at <= edge {
                Shown::met(at)
            } else {
                Shown::missed(edge * left, ReasonCode::RateNotSustained)
            }
        };
        let found = find(&search(), &mut (edge * left, cliff));
        tally.add(seed, edge, &found);
    }
    // The edge is not noticeable below it, so the bracket is halved all the way.
    tally.check(97, 17, 25);
}

#[test]
fn a_soft_knee_is_found_where_the_bound_is_exceeded() {
    let mut tally = Tally::default();
    for seed in 0..100 {
        let mut noise = Noise::new(seed);
        let mark = between(&mut noise, 2_000.0, 10_000.0);
        let power = between(&mut noise, 4.0, 12.0);
        // Lateness rises with a power of the rate, without any knee.
        let knee = |at: f64, seconds: f64| {
            let late = (0.01 * (at / mark).powf(power)).min(1.0);
            let bound = late_of(at * seconds, late, &mut noise);
            let mut shown = Shown::met(at);
            if bound.upper95 > 0.01 {
                shown = Shown::missed(at, ReasonCode::ObjectiveLatency);
            }
            shown.pressure = Some((bound.upper95 / 0.01).ln());
            shown.late = Some(bound.fraction / 0.01);
            shown
        };
        let found = find(&with_p99(Nanos::from_millis(50)), &mut (mark * 3.0, knee));
        tally.add(seed, mark, &found);
    }
    tally.check(97, 12, 25);
}

#[test]
fn a_target_that_rejects_far_below_its_capacity_is_reached_in_growing_steps() {
    for servers in [2, 4, 16, 64] {
        // Rejects ops that find all of its few servers busy, and acknowledges the rest (Erlang's
        // B): above the mark it always reaches somewhat more than the mark, so every guess is
        // slightly too high.
        let mu = 250.0;
        let rejected = |at: f64| {
            let offered = at / mu;
            (1..=servers).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b))
        };
        let rejecting = |at: f64, _: f64| {
            let share = rejected(at);
            if share > 0.01 {
                Shown::missed(at * (1.0 - share), ReasonCode::RateNotSustained)
            } else {
                Shown::met(at * (1.0 - share))
            }
        };
        let found = find(&search(), &mut (f64::from(servers) * mu, rejecting));
        let mark = found.mark();
        assert!(rejected(mark.confirmed) <= 0.01);
        assert!(rejected(mark.confirmed * 1.03) > 0.01, "{mark:?}");
        assert!(found.probes.len() <= 20, "{servers}{}", found.story());
    }
}

#[test]
fn a_target_that_remembers_an_overload_is_never_given_more_than_it_sustains() {
    for seed in 0..100 {
        let mut noise = Noise::new(seed);
        let capacity = between(&mut noise, 10.0, 1e6);
        // After an overload it runs for a while at a part of its capacity.
        let mut bad_probes_left = 0_u32;
        let memory = |at: f64, _: f64| {
            let ill = bad_probes_left > 0;
            bad_probes_left = bad_probes_left.saturating_sub(1);
            let capacity = capacity * if ill { 0.6 } else { 1.0 };
            if at > capacity * 1.01 {
                bad_probes_left = 2;
                return Shown::missed(capacity, ReasonCode::RateNotSustained);
            }
            Shown::met(at)
        };
        let found = find(&search(), &mut (capacity, memory));
        let mark = found.mark();
        assert!(mark.confirmed <= capacity * 1.011, "{mark:?}");
        let story = found.story();
        assert!(mark.confirmed >= capacity * 0.5, "{mark:?}{story}");
        assert!(found.probes.len() <= 25);
    }
}

/// Fails in a gap, and sustains rates above it again.
fn gap(at: f64, _: f64) -> Shown {
    if at > 1_000.0 || (600.0 < at && at < 800.0) {
        Shown::missed(at * 0.9, ReasonCode::RateNotSustained)
    } else {
        Shown::met(at)
    }
}

#[test]
fn rates_that_pass_above_one_that_failed_are_shown_and_do_not_count() {
    let mut target = (1_000.0, gap);
    let mut search = search();
    search.policy.first = Some(700.0);
    let found = find(&search, &mut target);
    let mark = found.mark();
    assert!((582.0..=600.0).contains(&mark.confirmed), "{mark:?}");
    assert!(mark.passed_above.is_empty(), "nothing above was tried");

    // The same, but a rate above the gap passed before the gap was seen.
    let probe = |number, at| {
        let shown = gap(at, SEARCH_S);
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

#[test]
fn a_stall_now_and_then_does_not_hide_the_mark() {
    let mut tally = Tally::default();
    for seed in 0..300 {
        let mut noise = Noise::new(seed);
        let mu = between(&mut noise, 4_000.0, 20_000.0);
        let bound_s = 100_f64.ln() / mu * between(&mut noise, 2.5, 12.0);
        let mut queue = Queue::markov(mu, 1, bound_s, noise);
        let truth = queue.truth();
        // Some probes are affected by stalls that are unrelated to the rate.
        let stalling = (queue.closed(), |at: f64, seconds: f64| {
            let mut shown = queue.probe(at, seconds);
            if queue.noise.uniform() < 0.04 {
                shown.verdict = ProbeVerdict::Failed;
                shown.pressure = Some(4.5_f64.ln());
                shown.late = Some(4.0);
                shown.reasons = vec![ReasonCode::ObjectiveLatency];
            }
            shown
        });
        let found = find(&with_p99(Nanos(nanos(bound_s))), &mut { stalling });
        tally.add(seed, truth, &found);
    }
    tally.check(97, 12, 25);
}

/// One of seven nodes is saturated at 637, and the others far above it: a probe above that acknowledges nearly
/// everything.
fn slow_node() -> impl Target {
    let probe = |at: f64, _: f64| {
        let reached = at - (at - 637.0).max(0.0) / 7.0;
        if at > 637.0 {
            Shown::missed(reached, ReasonCode::RateNotSustained)
        } else {
            Shown::met(at)
        }
    };
    (1_194.0, probe)
}

#[test]
fn guesses_that_fail_one_just_below_the_other_are_left_for_the_middle() {
    let found = find(&search(), &mut slow_node());
    assert!((618.0..=637.0).contains(&found.mark().confirmed), "{}", found.story());
    assert!(found.probes.len() <= 17, "{} probes{}", found.probes.len(), found.story());
}

/// The same, but a confirmation shows what a short probe beyond the limit does not.
#[test]
fn a_candidate_that_fails_at_last_leaves_probes_for_the_next() {
    for holds in [600.0, 620.0, 637.0, 650.0] {
        let probe = move |at: f64, seconds: f64| {
            let holds = if seconds > SEARCH_S { holds } else { holds * 1.03 };
            let reached = at - (at - holds).max(0.0) / 7.0;
            if at > holds { Shown::missed(reached, ReasonCode::Backlog) } else { Shown::met(at) }
        };
        for probes_max in 14..25 {
            let mut search = search();
            search.policy.probes_max = probes_max;
            let found = find(&search, &mut (1_194.0, probe));
            assert!(found.probes.len() <= probes_max as usize);
            assert!(found.mark().confirmed <= holds, "{probes_max}{}", found.story());
        }
    }
}
