//! The long run after a mark: it runs once, and is not part of the search.

use super::*;

const SOAK: u64 = 1_800 * S;

/// A capacity of 1,000 that holds only for a while, and the result of every longer probe.
fn tires(holds_s: f64, then: ProbeVerdict) -> impl Target {
    let probe = move |at: f64, seconds: f64| {
        if at > 1_000.0 {
            return Shown::missed(1_000.0, ReasonCode::RateNotSustained);
        }
        let mut shown = Shown::met(at);
        if seconds > holds_s {
            shown.verdict = then;
        }
        shown
    };
    (1_000.0, probe)
}

fn steady() -> impl Target {
    tires(f64::INFINITY, ProbeVerdict::Passed)
}

fn soaked(then: ProbeVerdict) -> (SearchRecord, Found) {
    let mut search = search();
    search.policy.soak_ns = Some(SOAK);
    let found = find(&search, &mut tires(CONFIRM_S, then));
    (search, found)
}

fn soaks(found: &Found) -> Vec<&ProbeRecord> {
    found.probes.iter().filter(|probe| probe.purpose == ProbePurpose::Soak).collect()
}

#[test]
fn a_mark_is_followed_by_one_long_run_at_its_confirmed_value() {
    for then in [
        ProbeVerdict::Passed,
        ProbeVerdict::Failed,
        ProbeVerdict::Invalid,
        ProbeVerdict::TargetLost,
        ProbeVerdict::Interrupted,
    ] {
        let (_, found) = soaked(then);
        let without = find(&search(), &mut steady());
        assert_eq!(found.outcome, without.outcome, "{then:?}");
        let [soak] = soaks(&found)[..] else {
            panic!("{}", found.story());
        };
        assert_eq!(found.probes.len(), without.probes.len() + 1);
        assert_eq!(soak.number as usize, found.probes.len());
        assert_eq!((soak.at, soak.measured_ns), (found.mark().confirmed, SOAK));
    }
}

#[test]
fn wrong_data_of_the_long_run_leave_no_mark() {
    let (_, found) = soaked(ProbeVerdict::WrongData);
    assert_eq!(found.no_mark().why, NoMarkReason::WrongData);
}

#[test]
fn a_search_without_a_mark_or_that_was_stopped_has_no_long_run() {
    let whole = find(&search(), &mut steady());
    let mut search = search();
    search.policy.soak_ns = Some(SOAK);
    search.policy.budget_ns = Some(100 * S);
    let found = find(&search, &mut steady());
    assert_eq!(found.no_mark().why, NoMarkReason::BudgetSpent);
    assert_eq!(soaks(&found).len(), 0);

    // Stopped while a value above the confirmed one was probed: the mark is kept, and nothing follows.
    search.policy.budget_ns = None;
    let mut probes = whole.probes;
    assert!(matches!(next(&search, &probes), Step::Soak { .. }));
    let last = probes.last().unwrap();
    probes.push(ProbeRecord {
        number: last.number + 1,
        at: last.at * 1.01,
        verdict: ProbeVerdict::Interrupted,
        ..last.clone()
    });
    assert_eq!(next(&search, &probes), Step::End(whole.outcome));
}

#[test]
fn the_long_run_is_not_part_of_the_budget() {
    let mut search = search();
    let mut target = steady();
    let without = find(&search, &mut target);
    let took = without.probes.iter().map(|probe| probe.took_ns).sum();
    search.policy.budget_ns = Some(took);
    search.policy.soak_ns = Some(SOAK);
    // As many probes remain as a search reserves for a second candidate.
    let probes = u32::try_from(without.probes.len()).unwrap();
    search.policy.probes_max = probes + search.policy.confirmations;
    let found = find(&search, &mut target);
    assert_eq!(found.outcome, without.outcome);
    assert_eq!(soaks(&found).len(), 1);
}

#[test]
fn results_of_the_long_run_raise_no_mark() {
    for seed in 0..40 {
        let queue = || Queue::markov(5_000.0, 1, 0.004, Noise::new(seed));
        let mut search = with_p99(Nanos::from_millis(4));
        let without = find(&search, &mut queue());
        search.policy.soak_ns = Some(SOAK);
        let found = find(&search, &mut queue());
        assert_eq!(found.outcome, without.outcome, "seed {seed}");
        let expected = without.probes.len() + 1;
        assert_eq!(found.probes.len(), expected, "{}", found.story());
    }
}
