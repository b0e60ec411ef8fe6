//! Searches without a mark state the reason, and their results nevertheless.

use super::*;

/// A capacity, and everything that can interfere.
struct Awkward {
    capacity: f64,
    /// From this rate on, the load generator is saturated.
    client: f64,
    /// This many probes are invalid for external reasons.
    flukes: u32,
    /// From this probe on, the target is lost.
    lost_from: u32,
    probes: u32,
}

impl Awkward {
    fn new(capacity: f64) -> Self {
        Self { capacity, client: f64::INFINITY, flukes: 0, lost_from: u32::MAX, probes: 0 }
    }
}

impl Target for Awkward {
    fn closed(&mut self) -> f64 {
        self.capacity.min(self.client)
    }

    fn probe(&mut self, at: f64, _seconds: f64) -> Shown {
        self.probes += 1;
        let reached = at.min(self.capacity);
        let mut shown = if reached < at * 0.99 {
            Shown::missed(reached, ReasonCode::RateNotSustained)
        } else {
            Shown::met(at)
        };
        if at >= self.client || self.flukes > 0 {
            self.flukes = self.flukes.saturating_sub(1);
            shown.verdict = ProbeVerdict::Invalid;
            shown.reasons = vec![ReasonCode::ClientSaturated];
        }
        if self.probes >= self.lost_from {
            shown.verdict = ProbeVerdict::TargetLost;
        }
        shown
    }
}

#[test]
fn a_load_generator_that_gives_out_first_gives_no_mark() {
    let mut target = Awkward::new(10_000.0);
    target.client = 4_000.0;
    let found = find(&search(), &mut target);
    let no_mark = found.no_mark();
    assert_eq!(no_mark.why, NoMarkReason::ClientCeiling);
    assert!(no_mark.highest_met.unwrap() >= 4_000.0 / CEILING_NEAR);
    assert_eq!(no_mark.lowest_failed, None, "the target never failed");
    assert!(no_mark.limited_by.contains(&ReasonCode::ClientSaturated));
    // Halfway below its limit is close enough: 3,000, then twice 6,000 and twice 4,242.
    let mut search = search();
    search.policy.first = Some(3_000.0);
    let found = find(&search, &mut target);
    assert_eq!(found.no_mark().why, NoMarkReason::ClientCeiling);
    assert_eq!(found.probes.len(), 5, "{}", found.story());
}

#[test]
fn closed_load_that_the_load_generator_limits_is_left_by_long_steps() {
    let mut target = Awkward::new(10_000.0);
    // At most four fifths of closed load's rate are out of the load generator's reach.
    for part in [0.8, 0.5, 0.2] {
        target.client = 4_000.0 * part;
        let closed = ProbeRecord {
            acknowledged_per_s: 4_000.0,
            ..fixture::probe(ProbePurpose::Estimate, 64.0, ProbeVerdict::Estimated)
        };
        let found = go_on(&search(), &mut target, vec![closed]);
        let no_mark = found.no_mark();
        let ceiling = NoMarkReason::ClientCeiling;
        assert_eq!(no_mark.why, ceiling, "{}", found.story());
        assert!(no_mark.highest_met.unwrap() >= target.client / CEILING_NEAR);
        assert!(found.probes.len() <= 10, "{}", found.story());
    }
}

#[test]
fn a_load_generator_that_gives_out_at_every_rate_is_not_the_target_that_missed() {
    let mut target = Awkward::new(10_000.0);
    target.client = 0.0;
    let mut search = search();
    (search.policy.first, search.policy.lowest) = (Some(1_000.0), 500.0);
    let found = find(&search, &mut target);
    let no_mark = found.no_mark();
    assert_eq!(no_mark.why, NoMarkReason::ClientCeiling);
    assert_eq!((no_mark.highest_met, no_mark.lowest_failed), (None, None));
}

#[test]
fn closed_load_without_throughput_is_no_starting_point() {
    let closed = ProbeRecord {
        acknowledged_per_s: 0.0,
        ..fixture::probe(ProbePurpose::Estimate, 64.0, ProbeVerdict::Estimated)
    };
    // Ops that failed with an error have ended; otherwise none of the sent ops ended in time.
    for (failed_ops, why) in
        [(500, NoMarkReason::NothingAcknowledged), (0, NoMarkReason::OpsTooLong)]
    {
        let probes = vec![ProbeRecord { failed_ops, ..closed.clone() }];
        let found = go_on(&search(), &mut Awkward::new(0.0), probes);
        assert_eq!(found.no_mark().why, why);
        // With fewer sessions each time, for which the target may respond although it does not for
        // more.
        let fewer: Vec<u32> = (1..=4).map(|n| sessions_divisor(&found.probes[..n])).collect();
        assert_eq!((found.probes.len(), fewer), (4, vec![8, 64, 512, 4_096]));
    }
}

#[test]
fn a_load_generator_that_gives_out_far_above_the_mark_does_not_matter() {
    let mut target = Awkward::new(1_000.0);
    target.client = 4_000.0;
    let mut search = search();
    search.policy.first = Some(5_000.0);
    let found = find(&search, &mut target);
    assert!((970.0..=1_011.0).contains(&found.mark().confirmed));
}

#[test]
fn an_unsound_probe_is_repeated_once() {
    let mut target = Awkward::new(1_000.0);
    target.flukes = 1;
    let found = find(&search(), &mut target);
    assert_eq!(found.probes[1].verdict, ProbeVerdict::Invalid);
    assert!(is_same(found.probes[1].at, found.probes[2].at));
    assert_eq!(found.probes[2].verdict, ProbeVerdict::Passed);
    assert!((970.0..=1_011.0).contains(&found.mark().confirmed));
}

#[test]
fn a_lost_target_ends_the_search_and_the_results_are_kept() {
    let mut target = Awkward::new(1_000.0);
    target.lost_from = 3;
    let found = find(&search(), &mut target);
    let no_mark = found.no_mark();
    assert_eq!(no_mark.why, NoMarkReason::TargetLost);
    let lost = |probe: &&ProbeRecord| probe.verdict == ProbeVerdict::TargetLost;
    assert_eq!(found.probes.iter().filter(lost).count(), 2, "asked twice");
    assert!(no_mark.highest_met.unwrap() >= 985.0);
}

#[test]
fn a_search_continues_if_its_target_returns() {
    let mut probes = 0;
    let away = |at: f64, seconds: f64| {
        probes += 1;
        let mut shown = Awkward::new(1_000.0).probe(at, seconds);
        if probes == 2 {
            shown.verdict = ProbeVerdict::TargetLost;
        }
        shown
    };
    let found = find(&search(), &mut (1_000.0, away));
    assert!((970.0..=1_011.0).contains(&found.mark().confirmed));
}

#[test]
fn a_capacity_below_all_allowed_rates_is_reported() {
    let mut search = search();
    search.policy.first = Some(1_000.0);
    search.policy.lowest = 500.0;
    let found = find(&search, &mut Awkward::new(100.0));
    let no_mark = found.no_mark();
    assert_eq!(no_mark.why, NoMarkReason::BelowLowest);
    assert!(is_same(no_mark.lowest_failed.unwrap(), 500.0));
    assert_eq!(no_mark.highest_met, None);
    assert_eq!(no_mark.limited_by, [ReasonCode::RateNotSustained]);
}

#[test]
fn an_objective_that_no_rate_meets_is_reported_after_a_few_probes() {
    let never = |at: f64, _: f64| Shown {
        pressure: Some(3.0),
        ..Shown::missed(at, ReasonCode::ObjectiveLatency)
    };
    let mut search = with_p99(Nanos::from_millis(1));
    search.policy.lowest = 1.0;
    let found = find(&search, &mut (1_000.0, never));
    assert_eq!(found.no_mark().why, NoMarkReason::BelowLowest);
    assert!(found.probes.len() <= 8, "{}", found.story());
}

#[test]
fn a_bound_of_the_search_that_is_met_is_a_mark_without_an_upper_end() {
    let mut search = search();
    search.policy.highest = Some(500.0);
    let found = find(&search, &mut Awkward::new(1_000.0));
    let mark = found.mark();
    assert!(is_same(mark.confirmed, 500.0));
    assert_eq!(mark.failed, None);
    // An estimate, a probe, and the confirmations.
    assert_eq!(found.probes.len(), 5);
}

/// Has too few ops for a percentile if `is` holds for a probe's rate and length.
fn too_little(capacity: f64, is: impl Fn(f64, f64) -> bool) -> impl Target {
    let probe = move |at: f64, seconds: f64| {
        let mut shown = Awkward::new(capacity).probe(at, seconds);
        if is(at, seconds) && shown.verdict == ProbeVerdict::Passed {
            shown.verdict = ProbeVerdict::TooFewOps;
            shown.reasons = vec![ReasonCode::ObjectiveLatency];
        }
        shown
    };
    (capacity, probe)
}

/// Has so few ops that probes below some rate have too few for a percentile.
fn slow(capacity: f64) -> impl Target {
    too_little(capacity, |at, _| at < 100.0)
}

#[test]
fn probes_too_short_for_the_percentile_are_reported_as_such() {
    let found = find(&with_p99(Nanos::SECOND), &mut slow(5.0));
    assert_eq!(found.no_mark().why, NoMarkReason::TooFewOps);
    assert!(found.probes.len() <= 12, "{}", found.story());
}

/// A percentile is judged only from a thousand ops on.
fn counting(capacity: f64) -> impl Target {
    too_little(capacity, |at, seconds| at * seconds < 1_000.0)
}

/// A search for which a probe needs a thousand ops.
fn with_thousand_ops(longest_s: f64) -> SearchRecord {
    let mut search = with_p99(Nanos::SECOND);
    search.policy.units_needed = ops_needed(&search.objective.stated).unwrap().ops;
    search.policy.longest_ns = nanos(longest_s);
    search
}

#[test]
fn probes_are_longer_if_ops_are_rare() {
    let found = find(&with_thousand_ops(1_000.0), &mut counting(5.0));
    assert!((4.85..=5.06).contains(&found.mark().confirmed));
    assert!(found.mark().hold_ns >= nanos(CONFIRM_S));
    for probe in &found.probes[1..] {
        let ops = probe.at * Nanos(probe.measured_ns).as_secs_f64();
        assert!(ops >= 1_000.0, "{ops} ops{}", found.story());
    }
    // With many ops, probes have the configured length.
    let found = find(&with_thousand_ops(1_000.0), &mut counting(5_000.0));
    let search = |probe: &&ProbeRecord| probe.purpose == ProbePurpose::Search;
    let mut lengths = found.probes.iter().filter(search).map(|p| p.measured_ns);
    assert!(lengths.all(|length| length == nanos(SEARCH_S)));
    assert_eq!(found.mark().hold_ns, nanos(CONFIRM_S));
}

#[test]
fn if_the_longest_probe_is_too_short_nothing_is_confirmed_in_vain() {
    let found = find(&with_thousand_ops(120.0), &mut counting(2.0));
    assert_eq!(found.no_mark().why, NoMarkReason::TooFewOps);
    let confirms = |probe: &ProbeRecord| probe.purpose == ProbePurpose::Confirm;
    assert!(!found.probes.iter().any(confirms), "{}", found.story());
}

/// A search with batches of 1,000 rows and this budget; the percentile determines the length of its
/// probes.
fn of_batches(budget_s: u64) -> SearchRecord {
    let mut search = with_p99(Nanos::SECOND);
    let policy = &mut search.policy;
    policy.units_needed = ops_needed(&search.objective.stated).unwrap().ops * 1_000.0;
    (policy.probe_ns, policy.confirmation_ns) = (10 * S, 30 * S);
    (policy.budget_ns, policy.longest_ns) = (Some(budget_s * S), budget_s * S / 8 - 10 * S);
    policy.lowest = 10.0 * 1_000.0 / 10.0;
    search
}

/// Sustains this rate; a percentile is judged from a thousand batches on.
fn of_large_ops(capacity: f64) -> impl Target {
    too_little(capacity, |at, seconds| at * seconds < 1_000_000.0)
}

#[test]
fn the_first_probe_is_never_above_the_rate_of_closed_load() {
    // At none of these rates do a thousand batches fit an eighth of the budget.
    for closed in [9_400.0, 30_000.0, 300.0] {
        let found = find(&of_batches(300), &mut of_large_ops(closed));
        let first = &found.probes[1];
        assert!(first.at <= closed, "{}", found.story());
        assert!(first.at >= closed * 0.75, "{}", found.story());
    }
}

#[test]
fn a_search_that_has_time_left_goes_lower_than_its_usual_probes_allow() {
    // An eighth of half an hour is enough for 5,400 rows/s and more. A quarter of the time after an estimate is enough
    // for one probe of 2,720 and its confirmations, and for nothing else.
    let found = find(&of_batches(1_800), &mut of_large_ops(3_400.0));
    let mark = found.mark();
    assert!((2_700.0..=3_434.0).contains(&mark.confirmed), "{}", found.story());
    let spent: u64 = found.probes.iter().map(|p| p.took_ns + p.settled_ns).sum();
    assert!(spent <= 1_800 * S, "{}", found.story());
}

#[test]
fn if_no_time_is_enough_the_search_ends_when_a_rate_failed_above_one_that_passed() {
    let found = find(&of_batches(300), &mut of_large_ops(9_400.0));
    let no_mark = found.no_mark();
    assert_eq!(no_mark.why, NoMarkReason::TooFewOps, "{}", found.story());
    assert_eq!(no_mark.highest_met, None, "too few ops show nothing: {}", found.story());
    assert_eq!(found.probes.last().unwrap().verdict, ProbeVerdict::Failed, "{}", found.story());
    let spent: u64 = found.probes.iter().map(|p| p.took_ns + p.settled_ns).sum();
    assert!(spent <= 200 * S, "{}", found.story());
}

/// Searches over sessions, starting at one.
fn by_sessions(search: &mut SearchRecord) {
    (search.axis, search.policy.axis) = (SearchAxis::Sessions, SearchAxis::Sessions);
    (search.policy.first, search.policy.lowest) = (Some(1.0), 1.0);
}

#[test]
fn few_sessions_are_probed_longer_when_their_rate_is_known() {
    let mut search = with_thousand_ops(3_000.0);
    by_sessions(&mut search);
    let found = find(&search, &mut counting(15.0));
    assert!(is_same(found.mark().confirmed, 15.0), "{}", found.story());
    let enough = |p: &&ProbeRecord| p.acknowledged_per_s * Nanos(p.measured_ns).as_secs_f64();
    let few = found.probes.iter().filter(|p| enough(p) < 1_000.0).count();
    assert!(few <= 1, "only the first was blind{}", found.story());
}

#[test]
fn a_percentile_needs_the_ops_of_its_judgment_and_those_that_chance_may_omit() {
    let latency = |quantile_ppm| Objective::Latency { quantile_ppm, max: Nanos::SECOND, op: None };
    // The n for which ten ops are beyond the percentile, plus five times its root.
    for (ppm, ops) in [(500_000, 43.0), (990_000, 1_159.0), (999_000, 10_500.0)] {
        let needed = ops_needed(&[latency(ppm), Objective::Errors { max_ppm: 0 }]).unwrap();
        assert_eq!((needed.quantile_ppm, needed.ops), (ppm, ops));
    }
    assert_eq!(ops_needed(&[Objective::Rejected { max_ppm: 0 }]), None);
    let both = [latency(990_000), latency(500_000)];
    assert_eq!(ops_needed(&both).unwrap().quantile_ppm, 990_000);
}

#[test]
fn a_failed_confirmation_is_repeated_only_for_a_latency() {
    let at_the_second = |reason| {
        let mut confirmations = 0;
        let late = |shown: Shown, share: f64| Shown {
            pressure: Some(share.ln()),
            late: Some(share * 0.9),
            ..shown
        };
        // Sustains every rate up to 1,000, except for this reason in its second confirmation.
        let stumbling = |at: f64, seconds: f64| {
            confirmations += u32::from(seconds > SEARCH_S);
            if at > 1_000.0 {
                late(Shown::missed(at, ReasonCode::ObjectiveLatency), 50.0)
            } else if confirmations == 2 && seconds > SEARCH_S {
                late(Shown::missed(at, reason), 3.0)
            } else {
                late(Shown::met(at), 0.05)
            }
        };
        let found = find(&with_p99(Nanos::SECOND), &mut (1_000.0, stumbling));
        let confirms = |p: &&ProbeRecord| p.purpose == ProbePurpose::Confirm;
        let missed = found.probes.iter().filter(confirms).nth(1).unwrap().at;
        (missed, found)
    };
    let (missed, found) = at_the_second(ReasonCode::ObjectiveLatency);
    assert!(is_same(found.mark().confirmed, missed), "{}", found.story());
    for reason in [
        ReasonCode::ObjectiveRejected,
        ReasonCode::ObjectiveErrors,
        ReasonCode::RateNotSustained,
        ReasonCode::Backlog,
    ] {
        let (missed, found) = at_the_second(reason);
        assert!(found.mark().confirmed < missed, "{}", found.story());
    }
}

#[test]
fn a_confirmed_mark_is_kept_if_the_search_ends_while_raising_it() {
    let mut raised = 0;
    for seed in 0..40 {
        let mut queue = Queue::markov(5_000.0, 1, 0.004, Noise::new(seed));
        let search = with_p99(Nanos::from_millis(4));
        let found = find(&search, &mut queue);
        for n in 1..found.probes.len() {
            let mut probes = found.probes[..n].to_vec();
            let mut stopped = found.probes[n].clone();
            stopped.verdict = ProbeVerdict::Interrupted;
            probes.push(stopped);
            if let Step::End(SearchOutcome::Mark(mark)) = next(&search, &probes) {
                raised += 1;
                let held = probes.iter().filter(|p| {
                    let confirms = p.purpose == ProbePurpose::Confirm;
                    confirms && is_same(p.at, mark.confirmed)
                });
                assert!(held.count() >= 3, "{mark:?}");
                assert!(mark.confirmed <= found.mark().confirmed);
                // Values above may be undecided.
                let Some(failed) = mark.failed else { continue };
                let met = |p: &ProbeRecord| {
                    matches!(p.verdict, ProbeVerdict::Passed | ProbeVerdict::Interrupted)
                };
                let failed = probes.iter().any(|p| is_same(p.at, failed) && !met(p));
                assert!(failed, "{mark:?}");
            }
        }
    }
    assert!(raised > 0, "no search of these raised its mark");
}

#[test]
fn a_first_rate_with_too_few_ops_leads_upward() {
    let mut search = with_p99(Nanos::SECOND);
    search.policy.first = Some(1.0);
    let found = find(&search, &mut slow(5_000.0));
    assert!((4_850.0..=5_055.0).contains(&found.mark().confirmed));
}

#[test]
fn a_stop_by_the_user_or_wrong_data_end_a_search_at_once() {
    for (verdict, why) in [
        (ProbeVerdict::Interrupted, NoMarkReason::Interrupted),
        (ProbeVerdict::WrongData, NoMarkReason::WrongData),
    ] {
        let stops = |at: f64, _: f64| Shown { verdict, ..Shown::met(at) };
        let found = find(&search(), &mut (1_000.0, stops));
        assert_eq!(found.no_mark().why, why);
        assert_eq!(found.probes.len(), 2);
    }
}

#[test]
fn sessions_are_whole_and_double_until_they_fail() {
    let crowd = |at: f64, _: f64| {
        assert!(is_same(at, at.round()), "{at} sessions");
        let late = (at - 37.0) / 37.0;
        let mut shown = if at <= 37.0 {
            Shown::met(at * 100.0)
        } else {
            Shown::missed(3_700.0, ReasonCode::ObjectiveLatency)
        };
        shown.pressure = Some(late.min(4.6));
        shown
    };
    let mut search = with_p99(Nanos::from_millis(10));
    by_sessions(&mut search);
    let found = find(&search, &mut (0.0, crowd));
    let mark = found.mark();
    assert!(is_same(mark.confirmed, 37.0), "{}", found.story());
    assert!(is_same(mark.failed.unwrap(), 38.0));
    assert!(found.probes.len() <= 14, "{}", found.story());
}

#[test]
fn the_same_probes_always_lead_to_the_same_step() {
    let found = find(&search(), &mut Awkward::new(1_000.0));
    for n in 0..found.probes.len() {
        let step = || next(&search(), &found.probes[..n]);
        assert_eq!(step(), step());
    }
    let end = Step::End(found.outcome.clone());
    assert_eq!(next(&search(), &found.probes), end);
}
