//! The pacer determines the next op and its intended time.
//!
//! Work and arrivals are split into [`LANES`] lanes. Lane l has the ops l, l + 64, l + 128 …; a share takes whole
//! lanes, so any number of load generators sends the same ops at the same times. Pure: reads no clock, and never waits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use highwater_model::plan::{Arrivals, LANES, Pace};
use highwater_model::units::{Nanos, Rate, Seed};
use highwater_workload::random::Draws;

/// The pacer's inputs from its stream.
#[derive(Debug, Clone)]
pub struct PacerPlan<'a> {
    /// When ops are sent.
    pub pace: Pace,
    /// How open arrivals are distributed.
    pub arrivals: Arrivals,
    /// Units of the rate per op: a batch is intended when its last row has arrived.
    pub units_per_op: u64,
    /// The plan's seed.
    pub seed: Seed,
    /// Name of the stream.
    pub stream: &'a str,
    /// Number of the phase; each phase has its own arrivals.
    pub phase: usize,
    /// Total ops of all lanes in this phase, if limited.
    pub limit_ops: Option<u64>,
}

/// The next op of a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// Position of its lane among this share's lanes.
    pub lane: usize,
    /// Intended time, from the start of the phase; `None`: as soon as a session is idle.
    pub offset: Option<Nanos>,
}

/// The arrivals of one stream in one phase, for the lanes of one share.
#[derive(Debug, Clone)]
pub struct Pacer {
    lanes: Vec<u32>,
    limit_ops: Option<u64>,
    order: Order,
}

#[derive(Debug, Clone)]
enum Order {
    /// Lane by lane, round by round; with times if the pace is open and constant.
    Rounds { round: u64, position: usize, gap: Option<Gap> },
    /// Each lane has its own exponential gaps; the union is a Poisson process.
    Poisson {
        due: BinaryHeap<Reverse<(Nanos, usize)>>,
        rounds: Vec<u64>,
        draws: Vec<Draws>,
        gap_mean_ns: f64,
    },
}

/// Exact times of evenly spread arrivals.
#[derive(Debug, Clone, Copy)]
struct Gap {
    units_per_op: u64,
    rate: Rate,
}

impl Gap {
    /// Op j (from 0) is intended when its last unit has arrived; unit i arrives at i / rate.
    fn due(self, op: u64) -> Nanos {
        let unit =
            u128::from(op) * u128::from(self.units_per_op) + u128::from(self.units_per_op - 1);
        time_of(unit, self.rate)
    }
}

/// How long this many units take at a rate.
pub(crate) fn time_of(units: u128, rate: Rate) -> Nanos {
    // rate is in millionths per second: seconds = units × 10⁶ / micro, ns = × 10⁹.
    let nanos = units * 1_000_000_000_000_000 / u128::from(rate.micro_per_s.max(1));
    Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl Pacer {
    /// The pacer of a share's lanes.
    pub fn new(plan: &PacerPlan<'_>, lanes: &[u32]) -> Self {
        let rounds = |gap| Order::Rounds { round: 0, position: 0, gap };
        let order = match (plan.pace, plan.arrivals) {
            (Pace::Closed { .. }, _) => rounds(None),
            (Pace::Open { rate }, Arrivals::Constant) => {
                rounds(Some(Gap { units_per_op: plan.units_per_op, rate }))
            }
            (Pace::Open { rate }, Arrivals::Poisson) => poisson(plan, rate, lanes),
        };
        Self { lanes: lanes.to_vec(), limit_ops: plan.limit_ops, order }
    }

    /// The next op, or `None` when the phase's limit is used up.
    pub fn peek(&mut self) -> Option<Arrival> {
        let limit = self.limit_ops.unwrap_or(u64::MAX);
        match &mut self.order {
            Order::Rounds { round, position, gap } => {
                if *position == self.lanes.len() {
                    *round += 1;
                    *position = 0;
                }
                // Lanes ascend, so the first one beyond the limit ends the phase for this round, and the next round
                // lies beyond it altogether.
                let op = *round * u64::from(LANES) + u64::from(*self.lanes.get(*position)?);
                (op < limit)
                    .then(|| Arrival { lane: *position, offset: gap.map(|gap| gap.due(op)) })
            }
            Order::Poisson { due, rounds, .. } => loop {
                let Reverse((offset, lane)) = *due.peek()?;
                let op = rounds[lane] * u64::from(LANES) + u64::from(self.lanes[lane]);
                if op < limit {
                    return Some(Arrival { lane, offset: Some(offset) });
                }
                due.pop();
            },
        }
    }

    /// Moves past the op that [`Pacer::peek`] returns.
    pub fn advance(&mut self) {
        match &mut self.order {
            Order::Rounds { position, .. } => *position += 1,
            Order::Poisson { due, rounds, draws, gap_mean_ns } => {
                let Some(Reverse((offset, lane))) = due.pop() else {
                    return;
                };
                rounds[lane] += 1;
                let next =
                    offset.saturating_add(exponential(&draws[lane], rounds[lane], *gap_mean_ns));
                due.push(Reverse((next, lane)));
            }
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "the mean of a random gap")]
fn poisson(plan: &PacerPlan<'_>, rate: Rate, lanes: &[u32]) -> Order {
    let gap_mean_ns = f64::from(LANES) * plan.units_per_op as f64 * 1e9 / rate.as_f64();
    let phase = plan.phase.to_string();
    let draws: Vec<Draws> = lanes
        .iter()
        .map(|lane| Draws::new(plan.seed, &["arrivals", plan.stream, &phase, &lane.to_string()]))
        .collect();
    let due = draws
        .iter()
        .enumerate()
        .map(|(lane, draws)| Reverse((exponential(draws, 0, gap_mean_ns), lane)))
        .collect();
    Order::Poisson { due, rounds: vec![0; lanes.len()], draws, gap_mean_ns }
}

/// The n-th exponential gap of a lane.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "finite, not negative")]
fn exponential(draws: &Draws, n: u64, mean_ns: f64) -> Nanos {
    // 1 - u lies in (0, 1], whose logarithm is finite.
    Nanos((-(1.0 - draws.unit(n)).ln() * mean_ns).round() as u64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plan(pace: Pace, arrivals: Arrivals, limit_ops: Option<u64>) -> PacerPlan<'static> {
        PacerPlan {
            pace,
            arrivals,
            units_per_op: 10,
            seed: Seed(7),
            stream: "s",
            phase: 1,
            limit_ops,
        }
    }

    fn open(rate: u64) -> Pace {
        Pace::Open { rate: Rate::per_second(rate) }
    }

    fn lanes_of(index: u32, of: u32) -> Vec<u32> {
        (0..LANES).filter(|lane| lane % of == index).collect()
    }

    /// All (lane number, offset) until `end`.
    fn arrivals(plan: &PacerPlan<'_>, lanes: &[u32], end: Nanos) -> Vec<(Option<Nanos>, u32)> {
        let mut pacer = Pacer::new(plan, lanes);
        let mut all = Vec::new();
        while let Some(arrival) = pacer.peek().filter(|a| a.offset.is_none_or(|o| o < end)) {
            all.push((arrival.offset, lanes[arrival.lane]));
            pacer.advance();
        }
        all
    }

    #[test]
    fn a_constant_batch_is_due_when_its_last_row_has_arrived() {
        let all =
            arrivals(&plan(open(1000), Arrivals::Constant, None), &lanes_of(0, 1), Nanos::SECOND);
        assert_eq!(all.len(), 100);
        assert_eq!(all[0], (Some(Nanos::from_millis(9)), 0));
        assert_eq!(all[99], (Some(Nanos::from_millis(999)), 35));
    }

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "statistics of a test")]
    fn poisson_arrivals_have_the_planned_rate_and_exponential_gaps() {
        let end = Nanos::from_secs(2_000);
        let all = arrivals(&plan(open(1000), Arrivals::Poisson, None), &lanes_of(0, 1), end);
        // 200,000 expected, standard deviation 447: five of them.
        assert!((197_764..=202_236).contains(&all.len()), "{}", all.len());
        let gaps: Vec<f64> =
            all.windows(2).map(|w| (w[1].0.unwrap() - w[0].0.unwrap()).as_secs_f64()).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        let cv = variance.sqrt() / mean;
        assert!((cv - 1.0).abs() < 0.02, "coefficient of variation {cv}");
        let beyond_mean = gaps.iter().filter(|gap| **gap > mean).count() as f64 / gaps.len() as f64;
        assert!((beyond_mean - (-1.0_f64).exp()).abs() < 0.01, "{beyond_mean}");
    }

    /// Counts of ten seconds at 50 per second: mean and variance are both 500. Over n seeds the mean varies by √(500 /
    /// n), the sample variance by 500 √(2 / n); bounds are four of each.
    #[test]
    #[expect(clippy::cast_precision_loss, reason = "statistics of a test")]
    fn over_many_seeds_poisson_counts_have_mean_and_variance_of_the_rate() {
        const SEEDS: u32 = 2_000;
        let (end, lanes) = (Nanos::from_secs(10), lanes_of(0, 1));
        let counts: Vec<f64> = (0..SEEDS)
            .map(|seed| {
                let plan = PacerPlan {
                    units_per_op: 1,
                    seed: Seed(u64::from(seed)),
                    ..plan(open(50), Arrivals::Poisson, None)
                };
                arrivals(&plan, &lanes, end).len() as f64
            })
            .collect();
        let n = f64::from(SEEDS);
        let mean = counts.iter().sum::<f64>() / n;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (n - 1.0);
        assert!((mean - 500.0).abs() < 4.0 * (500.0 / n).sqrt(), "mean {mean}");
        assert!((variance - 500.0).abs() < 4.0 * 500.0 * (2.0 / n).sqrt(), "variance {variance}");
    }

    #[test]
    fn a_limit_counts_the_ops_of_all_lanes() {
        for (pace, arrival) in [
            (Pace::Closed { sessions: 3 }, Arrivals::Constant),
            (open(1_000_000), Arrivals::Constant),
            (open(1_000_000), Arrivals::Poisson),
        ] {
            let plan = plan(pace, arrival, Some(130));
            let total: usize =
                (0..5).map(|i| arrivals(&plan, &lanes_of(i, 5), Nanos::MAX).len()).sum();
            assert_eq!(total, 130);
        }
    }

    proptest! {
        #[test]
        fn shares_together_send_the_ops_of_the_whole(of in 1_u32..=64, rate in 1_u64..5_000, poisson: bool) {
            let kind = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
            let plan = plan(open(rate), kind, None);
            let end = Nanos::from_secs(3);
            let whole = arrivals(&plan, &lanes_of(0, 1), end);
            let mut parts: Vec<_> = (0..of).flat_map(|i| arrivals(&plan, &lanes_of(i, of), end)).collect();
            let mut sorted = whole.clone();
            sorted.sort();
            parts.sort();
            prop_assert_eq!(parts, sorted);
        }
    }
}
