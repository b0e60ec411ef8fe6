//! The budget of a search, and its use.

use super::*;

#[test]
fn a_budget_that_runs_out_leaves_a_wider_interval_or_a_note() {
    let mut wide = 0;
    for minutes in 1..40 {
        let mut search = with_p99(Nanos::from_millis(4));
        search.policy.budget_ns = Some(minutes * 60 * S);
        let mut queue = Queue::markov(5_000.0, 1, 0.004, Noise::new(minutes));
        let found = find(&search, &mut queue);
        let spent: u64 = found.probes.iter().map(|p| p.took_ns + p.settled_ns).sum();
        assert!(spent <= minutes * 60 * S, "{spent}{}", found.story());
        match &found.outcome {
            SearchOutcome::Mark(mark) => wide += u32::from(mark.wider),
            SearchOutcome::NoMark(no_mark) => {
                assert_eq!(no_mark.why, NoMarkReason::BudgetSpent, "{}", found.story());
            }
        }
    }
    assert!(wide > 0, "some budgets suffice for a wider interval");
}

/// A probe that measured for a minute, and took this much longer.
fn made(purpose: ProbePurpose, longer_s: u64, settled_s: u64) -> ProbeRecord {
    let mut target = Queue::markov(5_000.0, 1, 0.004, Noise::new(1));
    let found = find(&search(), &mut target);
    ProbeRecord {
        purpose,
        measured_ns: 60 * S,
        took_ns: (60 + longer_s) * S,
        settled_ns: settled_s * S,
        ..found.probes[1].clone()
    }
}

#[test]
fn the_rest_of_a_budget_is_reported_by_measured_and_not_planned_lengths() {
    let least = |probes: &[ProbeRecord], (searches, confirmations): (u32, u32)| {
        let fits = |seconds: u64| {
            let mut search = search();
            search.policy.budget_ns = Some(seconds * S);
            ProbeHistory::new(&search, probes).allows(searches, confirmations, None)
        };
        (0..2_000).find(|seconds| fits(*seconds)).unwrap()
    };
    // As planned: a minute and ten seconds, five minutes and ten seconds.
    assert_eq!(least(&[], (1, 0)), 70);
    assert_eq!(least(&[], (1, 3)), 70 + 3 * 310);
    // Filling tables took two minutes before each, and the target was left idle for one more.
    let slow = [made(ProbePurpose::Search, 120, 60)];
    assert_eq!(least(&slow, (1, 0)), 240 + 240);
    let found = least(&slow, (0, 1));
    assert_eq!(found, 240 + 310, "no confirmation has said so yet");
    let both = [slow[0].clone(), made(ProbePurpose::Confirm, 100, 0)];
    assert_eq!(least(&both, (0, 1)), 240 + 160 + 400);
    // A probe that lost its target does not predict the next one.
    let mut lost = made(ProbePurpose::Search, 0, 0);
    (lost.measured_ns, lost.took_ns) = (0, 5 * S);
    assert_eq!(least(&[slow[0].clone(), lost], (1, 0)), 240 + 5 + 240);
}

#[test]
fn an_estimate_is_short_however_long_probes_are() {
    let length = |probe_s: u64| {
        let mut search = search();
        search.policy.probe_ns = probe_s * S;
        measured_ns(&search, &[], ProbePurpose::Estimate, None)
    };
    assert_eq!((length(5), length(600)), (5 * S, 15 * S));
}
