//! Whether an objective can no longer be met by what the rest of a phase can be expected to bring.
//!
//! Two things must hold: what was seen so far shows with 95% confidence that a percentile is missed, and even if every op to
//! come were good, the whole phase would miss it. The second is why a bad second of many stops nothing, and why
//! looking again every second calls nothing hopeless by chance. Closed load has no planned number of ops, and a target
//! that stalls first answers few of them: there it is said from half of the phase on, and the rest may be as fast as
//! the fastest second so far.

use std::collections::BTreeMap;

use crate::exceedance::exceedance;
use highwater_model::numbers::to_f64;
use highwater_model::plan::Objective;
use highwater_model::units::Nanos;

use super::shares::latency_objectives;

/// The shortest part of a phase that can be judged.
const LEAST: Nanos = Nanos::from_secs(5);
/// The rest of a phase may have so many times the ops that the part before it lets expect: Poisson arrivals may be
/// more.
const MORE_TO_COME: f64 = 1.5;

/// What is known of an op of a stream in the phase that is running.
#[derive(Debug, Clone, Default)]
pub struct OpSoFar {
    /// Name of the stream.
    pub stream: String,
    /// Name of the op.
    pub op: String,
    /// Rows of an op that counts rows, else 1.
    pub units_per_op: u64,
    /// Whether its sessions send the next op when the one before has ended.
    pub is_closed: bool,
    /// Ended or dropped ops per 100 ms, as latency objectives count them.
    pub ended: Vec<u64>,
    /// Of these, the ones above each bound, or their rows.
    pub over: Vec<Vec<u64>>,
    /// Ops that were due, by the second of the run.
    pub offered: BTreeMap<u64, u64>,
    /// Ops that failed or were dropped.
    pub failed: u64,
    /// Ops that were rejected for lack of capacity.
    pub rejected: u64,
}

/// An objective that can no longer be met.
#[derive(Debug, Clone, PartialEq)]
pub struct Hopeless {
    /// Which.
    pub objective: Objective,
    /// The stream and op that miss it.
    pub place: [String; 2],
    /// The part of the ops that missed it so far.
    pub missed: f64,
    /// The part that may.
    pub allowed: f64,
}

/// The first objective that can no longer be met in a phase of this length, of which so much is over. About a least
/// throughput and the CPU nothing is said: what is to come may make up for anything.
pub fn hopeless(
    objectives: &[Objective],
    so_far: &[OpSoFar],
    elapsed: Nanos,
    length: Nanos,
) -> Option<Hopeless> {
    if elapsed < LEAST || elapsed >= length {
        return None;
    }
    let rest = length.saturating_sub(elapsed).as_secs_f64() / elapsed.as_secs_f64();
    let mut decided = so_far
        .iter()
        .filter(|of| !of.is_closed || rest <= 1.0)
        .map(|of| (of, 1.0 + rest * of.more_to_come(elapsed)));
    decided.find_map(|(of, whole)| {
        late(objectives, of, whole).or_else(|| failed(objectives, of, whole))
    })
}

impl OpSoFar {
    /// How many times the ops of the part before the rest may have in the same time.
    fn more_to_come(&self, elapsed: Nanos) -> f64 {
        let fastest = self.offered.values().copied().max().unwrap_or(0);
        if !self.is_closed || fastest == 0 {
            return MORE_TO_COME;
        }
        let of_the_fastest = to_f64(fastest) * elapsed.as_secs_f64();
        MORE_TO_COME.max(of_the_fastest / to_f64(self.all_offered()))
    }

    fn all_offered(&self) -> u64 {
        self.offered.values().sum()
    }
}

/// A percentile that can no longer be met: more ops are late than may be of all that the phase will have.
fn late(objectives: &[Objective], of: &OpSoFar, whole: f64) -> Option<Hopeless> {
    let bounds = objectives.iter().filter(|bound| bound.bounds_latency());
    let mut stated = latency_objectives(objectives).zip(bounds).enumerate();
    stated.find_map(|(index, (bound, objective))| {
        let over = of.over.get(index)?;
        let scale = if bound.of_rows { of.units_per_op.max(1) } else { 1 };
        let ended: Vec<u64> = of.ended.iter().map(|n| n.saturating_mul(scale)).collect();
        let (seen, late) = (ended.iter().sum::<u64>(), over.iter().sum::<u64>());
        let can_no_longer = to_f64(late) > bound.allowed() * to_f64(seen) * whole;
        if !bound.is_about(&of.stream, &of.op) || seen == 0 || !can_no_longer {
            return None;
        }
        let missed = exceedance(&ended, over);
        (missed.lower95 > bound.allowed()).then(|| Hopeless {
            objective: objective.clone(),
            place: [of.stream.clone(), of.op.clone()],
            missed: missed.fraction,
            allowed: bound.allowed(),
        })
    })
}

/// More ops failed than may of all that the phase will have. The whole phase is judged by its count of failures, not by
/// an estimate, so that nothing but the ops to come is uncertain.
fn failed(objectives: &[Objective], of: &OpSoFar, whole: f64) -> Option<Hopeless> {
    objectives.iter().find_map(|objective| {
        let (failed, max_ppm) = match objective {
            Objective::Errors { max_ppm } => (of.failed, *max_ppm),
            Objective::Rejected { max_ppm } => (of.rejected, *max_ppm),
            _ => return None,
        };
        let allowed = f64::from(max_ppm) / 1e6;
        let offered = to_f64(of.all_offered().max(of.failed));
        (to_f64(failed) > allowed * offered * whole).then(|| Hopeless {
            objective: objective.clone(),
            place: [of.stream.clone(), of.op.clone()],
            missed: to_f64(failed) / offered,
            allowed,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Nanos = Nanos::from_secs(60);

    fn p99(op: Option<&str>) -> Objective {
        Objective::Latency {
            quantile_ppm: 990_000,
            max: Nanos::from_millis(50),
            op: op.map(str::to_owned),
        }
    }

    /// A hundred ops a second for so long, of which this part of each second is late.
    fn so_far(seconds: usize, late: impl Fn(usize) -> u64) -> OpSoFar {
        let windows = 0..seconds * 10;
        OpSoFar {
            stream: "writes".to_owned(),
            op: "insert".to_owned(),
            units_per_op: 1,
            is_closed: false,
            ended: windows.clone().map(|_| 10).collect(),
            over: vec![windows.map(|window| late(window / 10)).collect()],
            offered: (0..seconds as u64).map(|second| (second, 100)).collect(),
            ..OpSoFar::default()
        }
    }

    fn seconds(seconds: usize) -> Nanos {
        Nanos::from_secs(seconds as u64)
    }

    #[track_caller]
    fn check(objective: &Objective, of: &OpSoFar, after_s: usize, expected: bool) {
        let objectives = std::slice::from_ref(objective);
        let found = hopeless(objectives, std::slice::from_ref(of), seconds(after_s), MINUTE);
        assert_eq!(found.is_some(), expected, "{found:?}");
    }

    #[test]
    fn one_bad_second_stops_nothing_and_bad_ones_without_end_stop_soon() {
        // A second of sixty is 1.7%, but of a phase that may have half as many ops more it is not 1% so far.
        let one_bad = |second: usize| if second == 3 { 5 } else { 0 };
        check(&p99(None), &so_far(6, one_bad), 6, false);
        check(&p99(None), &so_far(30, one_bad), 30, false);
        let all_bad = |_| 10;
        check(&p99(None), &so_far(4, all_bad), 4, false);
        check(&p99(None), &so_far(6, all_bad), 6, true);
    }

    #[test]
    fn what_can_still_be_met_is_not_hopeless_however_bad_it_looks() {
        // 6.7% late after six seconds of sixty: if nothing more were late, 0.7% would be.
        let some = |second: usize| if second.is_multiple_of(5) { 2 } else { 0 };
        check(&p99(None), &so_far(6, some), 6, false);
        // After 55 of 60, nothing that is to come makes up for it.
        check(&p99(None), &so_far(55, some), 55, true);
    }

    #[test]
    fn an_objective_of_another_op_stops_nothing() {
        check(&p99(Some("insert")), &so_far(6, |_| 10), 6, true);
        check(&p99(Some("writes")), &so_far(6, |_| 10), 6, true);
        check(&p99(Some("dashboards")), &so_far(6, |_| 10), 6, false);
    }

    #[test]
    fn failures_count_against_all_ops_to_come() {
        let mut of = so_far(6, |_| 0);
        of.failed = 1;
        check(&Objective::Errors { max_ppm: 0 }, &of, 6, true);
        check(&Objective::Errors { max_ppm: 1_000 }, &of, 6, false);
        check(&Objective::Rejected { max_ppm: 0 }, &of, 6, false);
        of.failed = 300;
        check(&Objective::Errors { max_ppm: 10_000 }, &of, 6, true);
    }

    /// Sessions that waited for a target that stood still for so long, an op a second, and then do 1,000 a second.
    fn stalled_first(still: u64, seconds: u64) -> OpSoFar {
        let ops = |second| if second < still { 1 } else { 1_000 };
        OpSoFar {
            is_closed: true,
            offered: (0..seconds).map(|second| (second, ops(second))).collect(),
            failed: still,
            ..so_far(0, |_| 0)
        }
    }

    #[test]
    fn closed_load_that_stalled_first_may_still_make_up_for_it() {
        let all_bad = |seconds| OpSoFar { is_closed: true, ..so_far(seconds, |_| 10) };
        // Before half of the phase is over, the rest may have any number of ops.
        check(&p99(None), &all_bad(29), 29, false);
        check(&p99(None), &all_bad(30), 30, true);
        // A second at full speed shows what the rest may be: 30 failures of 30,000 are 0.1%.
        let errors = Objective::Errors { max_ppm: 10_000 };
        check(&errors, &stalled_first(30, 31), 31, false);
        check(&errors, &stalled_first(31, 31), 31, true);
    }

    #[test]
    fn a_phase_that_is_over_is_judged_and_not_stopped() {
        check(&p99(None), &so_far(60, |_| 10), 60, false);
    }
}
