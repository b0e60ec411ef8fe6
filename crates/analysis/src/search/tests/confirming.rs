//! Results that several probes show only together.

use super::*;

/// Sustains 1,000; above 990 a confirmation has this fraction of late ops relative to the allowed
/// one, with that margin.
fn close(its_late: f64, its_margin: f64) -> impl Target {
    let probe = move |at: f64, seconds: f64| {
        let shown = |shown: Shown, late: f64, margin: f64| Shown {
            pressure: Some((late + margin).ln()),
            late: Some(late),
            ..shown
        };
        if at > 1_000.0 {
            return shown(Shown::missed(at, ReasonCode::ObjectiveLatency), 50.0, 1.0);
        }
        if at <= 990.0 || seconds <= SEARCH_S {
            return shown(Shown::met(at), 0.05, 0.01);
        }
        let mut close = Shown::missed(at, ReasonCode::ObjectiveLatency);
        close.verdict = ProbeVerdict::NotDecided;
        shown(close, its_late, its_margin)
    };
    (1_000.0, probe)
}

#[test]
fn confirmations_that_each_show_too_little_confirm_if_they_show_it_together() {
    let confirmed = |late, margin| {
        let found = find(&with_p99(Nanos::SECOND), &mut close(late, margin));
        found.mark().confirmed
    };
    // A fraction of 0.6 with a margin of 0.75 is based on 4.1 bursts, so three are based on 12.3, which are shown to be
    // fewer than 19.9: a fraction of 0.97. With a margin of 1 it is based on 2.7 bursts, and three on 8.1, which are
    // fewer than 14.6: 1.08.
    assert!(confirmed(0.6, 0.75) > 990.0);
    assert!(confirmed(0.6, 1.0) <= 990.0);
    // If each is above the allowed fraction, so are all together.
    assert!(confirmed(1.01, 0.01) <= 990.0);
}

#[test]
fn a_short_probe_passes_if_confirmations_would_show_the_rest() {
    let search = with_p99(Nanos::SECOND);
    let found = find(&search, &mut close(0.6, 0.6));
    let passed = |late: f64, margin: f64| {
        let probe = ProbeRecord {
            verdict: ProbeVerdict::NotDecided,
            pressure: Some((late + margin).ln()),
            late: Some(late),
            ..found.probes[1].clone()
        };
        assert_eq!(probe.purpose, ProbePurpose::Search);
        ProbeHistory::new(&search, &[probe]).low().is_some()
    };
    // Three confirmations take fifteen times as long, so the margin shrinks to a quarter.
    assert!(passed(0.8, 0.7));
    assert!(!passed(0.8, 0.9));
    assert!(!passed(1.01, 0.01));
}

/// Sustains 1,000 for the length of a probe, and 800 for that of a confirmation, which earlier results
/// do not predict.
fn holds_less_for_longer() -> impl Target {
    let probe = |at: f64, seconds: f64| {
        let holds = if seconds > SEARCH_S { 800.0 } else { 1_000.0 };
        if at > holds { Shown::missed(at, ReasonCode::ObjectiveRejected) } else { Shown::met(at) }
    };
    (1_000.0, probe)
}

#[test]
fn candidates_that_fail_one_after_the_other_are_left_by_growing_steps() {
    let found = find(&search(), &mut holds_less_for_longer());
    let confirmed = found.mark().confirmed;
    assert!((760.0..=800.0).contains(&confirmed), "{confirmed}");
    // Three candidates as predicted, one a step lower, and one another two steps lower.
    let failed = found.probes.iter().filter(|probe| {
        probe.purpose == ProbePurpose::Confirm && probe.verdict == ProbeVerdict::Failed
    });
    assert_eq!(failed.count(), 5, "{}", found.story());
}

#[test]
fn a_mark_was_held_for_the_length_of_its_shortest_confirmation() {
    let search = search();
    let mut found = find(&search, &mut close(0.0, 0.0));
    let confirms = |probe: &&mut ProbeRecord| probe.purpose == ProbePurpose::Confirm;
    for (more, probe) in (0..).zip(found.probes.iter_mut().filter(confirms)) {
        probe.measured_ns += (more + 1) % 3 * S;
    }
    let Step::End(SearchOutcome::Mark(mark)) = next(&search, &found.probes) else {
        panic!("{}", found.story());
    };
    assert_eq!(mark.hold_ns, nanos(CONFIRM_S));
}

#[test]
fn an_overloaded_probe_does_not_show_where_latencies_exceed_their_bound() {
    let search = with_p99(Nanos::SECOND);
    let found = find(&search, &mut close(0.6, 0.1));
    let probe = |at: f64, late: f64, reasons: &[ReasonCode]| ProbeRecord {
        at,
        pressure: Some((late * 1.1).ln()),
        late: Some(late),
        reasons: reasons.to_vec(),
        ..found.probes[1].clone()
    };
    let crossing = |probes: &[ProbeRecord]| {
        let crossing = super::super::crossing::crossing(probes.iter(), &search);
        crossing.unwrap().estimate().value
    };
    let line = [probe(800.0, 0.25, &[]), probe(900.0, 0.5, &[]), probe(1_000.0, 1.0, &[])];
    let overloaded = probe(1_100.0, 7.0, &[ReasonCode::RateNotSustained]);
    let [a, b, c] = line.clone();
    assert!(is_same(crossing(&[a, b, c, overloaded]), crossing(&line)));
}
