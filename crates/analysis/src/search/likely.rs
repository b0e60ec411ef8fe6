//! The expected duration of a search, given its probes so far. Must not decide what follows.

use highwater_model::numbers::ceil_to_u64;
use highwater_model::search::{ProbePurpose, ProbeVerdict, SearchRecord};

use super::PROBES_OF_NINE_IN_TEN;

/// The bracket of the mark, given the probes so far: the highest value that passed, and the lowest that failed.
pub fn bracket(search: &SearchRecord) -> [Option<f64>; 2] {
    let of = |verdict: ProbeVerdict| {
        let probes = search.probes.iter().filter(|probe| probe.purpose.judges());
        probes.filter(move |probe| probe.verdict == verdict).map(|probe| probe.at)
    };
    let failed = of(ProbeVerdict::Failed).reduce(f64::min);
    let below = |at: &f64| failed.is_none_or(|failed| *at < failed);
    let passed = of(ProbeVerdict::Passed).filter(below).reduce(f64::max);
    [passed, failed]
}

/// Expected numbers of remaining probes and remaining confirmations. The first is that of a typical search until the
/// bracket shows how many more bisections are needed.
pub fn probes_to_come(search: &SearchRecord) -> [u32; 2] {
    let (policy, done) = (&search.policy, number(search.probes.len()));
    let bracket = bracket(search);
    // Those of a candidate that failed do not count for the next one.
    let is_of_candidate = |at: f64| bracket[0].is_none_or(|passed| at.total_cmp(&passed).is_eq());
    let confirmed = search
        .probes
        .iter()
        .filter(|probe| probe.purpose == ProbePurpose::Confirm && is_of_candidate(probe.at));
    let confirmations = policy.confirmations.saturating_sub(number(confirmed.count()));
    let usual = u32::midpoint(*PROBES_OF_NINE_IN_TEN.start(), *PROBES_OF_NINE_IN_TEN.end());
    let halvings = |apart: f64| {
        let of_width = apart.ln() / policy.width.ln_1p();
        u32::try_from(ceil_to_u64(of_width.log2().max(0.0))).unwrap_or(usual)
    };
    let searching = if let [Some(passed), Some(failed)] = bracket {
        halvings(failed / passed)
    } else {
        // The value at which the verdict changes is a factor of two away, which is then halved.
        let typical = usual.saturating_sub(policy.confirmations).saturating_sub(done);
        typical.max(halvings(2.0) + 1)
    };
    // The next one comes in any case, and no more than the policy allows.
    let most = policy.probes_max.saturating_sub(done).max(1);
    let confirmations = confirmations.min(most);
    let searching = searching.min(most - confirmations);
    [searching.max(u32::from(confirmations == 0)), confirmations]
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_search_is_typical_until_its_bracket_shows_how_many_halvings_remain() {
        let probe = |purpose, at, verdict| fixture::probe(purpose, at, verdict);
        let searched = |at, verdict| probe(ProbePurpose::Search, at, verdict);
        let mut search = fixture::search(Vec::new());
        search.policy.width = 0.02;
        // A typical search has 12 probes, 3 of which confirm.
        assert_eq!(probes_to_come(&search), [9, 3]);
        search.probes.push(searched(1_000.0, ProbeVerdict::Passed));
        assert_eq!(probes_to_come(&search), [8, 3]);
        search.probes.push(searched(1_100.0, ProbeVerdict::Failed));
        // ln(1.1) / ln(1.02) is 4.8, which three halvings reduce to less than one.
        assert_eq!(
            (bracket(&search), probes_to_come(&search)),
            ([Some(1_000.0), Some(1_100.0)], [3, 3])
        );
        search.probes.push(probe(ProbePurpose::Confirm, 1_000.0, ProbeVerdict::Passed));
        search.probes.push(searched(1_019.0, ProbeVerdict::Failed));
        assert_eq!(probes_to_come(&search), [0, 2]);
        // A lower candidate is confirmed as often as the first.
        let mut again = search.clone();
        again.probes.push(probe(ProbePurpose::Confirm, 1_000.0, ProbeVerdict::Failed));
        again.probes.push(searched(980.0, ProbeVerdict::Passed));
        assert_eq!(probes_to_come(&again), [1, 3]);
        // A rate that only falls is not nearer to its end.
        let mut falling = search.clone();
        falling.probes =
            (1..12).map(|n| searched(1_000.0 / f64::from(n), ProbeVerdict::Failed)).collect();
        assert_eq!(probes_to_come(&falling), [7, 3]);
        // No more than the policy allows, and always the next one.
        search.policy.probes_max = 5;
        assert_eq!(probes_to_come(&search), [0, 1]);
        search.probes.extend(
            (0..9).map(|_| probe(ProbePurpose::Confirm, 1_000.0, ProbeVerdict::NotDecided)),
        );
        assert_eq!(probes_to_come(&search), [1, 0]);
    }
}
