//! Clusters at typical rates of batches: ops are simulated one by one and judged by the product's rules, so that
//! few ops, heavy tails, bursts, and growing queues have the same effects as in a run.
//!
//! A cluster is sampled from a seed: 1 to 12 nodes of 1 to 4 cores, service times with a coefficient of variation of up
//! to 4, random or evenly spaced arrivals, ops that use one node or all, sometimes a slow node. The rate of its mark is
//! sampled, too: the objective's bound is the result of a simulation of many more ops at that rate. Only if nothing but
//! the capacity is the limit, and for rejections, the rate follows from the cluster.

use std::collections::VecDeque;
use std::ops::Range;

use highwater_model::judgment::ReasonCode;
use highwater_model::numbers::{len_to_f64, round_to_u32, round_to_u64, to_f64};
use highwater_model::plan::{Objective, SteadinessRule};
use highwater_model::record::Steadiness;
use highwater_model::search::{ProbeVerdict, SearchRecord};
use highwater_model::units::Nanos;

use super::harness::{Found, Shown, Target, between, find};
use super::{BUDGET, Levels};
use crate::backlog::backlog;
use crate::exceedance::exceedance;
use crate::fixture;
use crate::judge::shares::{OPS_BEYOND_PERCENTILE, SUSTAINED_SHARE};
use crate::search::ops_needed;
use crate::synthetic::Noise;
use crate::throughput::throughput;

/// Number of ops of the simulation that determines the true value.
const TRUE_OPS: f64 = 1_000_000.0;
/// With 4% more load, the percentile is higher by this factor.
const SENSITIVE: f64 = 1.06;
/// Windows per second.
const WINDOWS: f64 = 10.0;
/// Warm-up, and other time of a probe, seconds.
const WARM_UP_S: f64 = 10.0;
/// The same for `find --quick`.
pub const QUICK_BUDGET: Nanos = Nanos::from_secs(900);
const S: u64 = 1_000_000_000;
/// Rows of an op, if row latency is bounded.
const ROWS: f64 = 20.0;

/// Rates of the table, ops per second.
pub const RATES: [(f64, f64); 3] = [(20.0, 150.0), (150.0, 500.0), (500.0, 5_000.0)];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Bound {
    /// At most this fraction of the ops may be later.
    Late(f64),
    /// The same for rows.
    LateRows(f64),
    /// Ops that time out.
    Errors,
    Rejected,
    Capacity,
}

const BOUNDS: [Bound; 6] = [
    Bound::Late(0.05),
    Bound::Late(0.01),
    Bound::LateRows(0.01),
    Bound::Errors,
    Bound::Rejected,
    Bound::Capacity,
];

/// A node: when each core becomes idle, and when each waiting piece begins.
#[derive(Debug, Clone)]
struct Node {
    speed: f64,
    free: Vec<f64>,
    waiting: VecDeque<f64>,
}

struct Cluster {
    nodes: Vec<Node>,
    /// Core time of a piece, seconds.
    work_s: f64,
    /// Coefficient of variation of the work; 1 is exponential, 0 constant.
    variation: f64,
    is_poisson: bool,
    /// An op has a piece on every node; otherwise on a random one.
    goes_to_all: bool,
    /// Pieces that may wait at a node.
    room: usize,
    /// Times at which nothing begins; only for one node with one core.
    stalls: Option<Stalls>,
    noise: Noise,
}

/// A target that stalls occasionally, with exponential gaps and lengths.
struct Stalls {
    gap_s: f64,
    length_s: f64,
    /// The next or present one.
    from: f64,
    to: f64,
}

impl Stalls {
    /// When work can begin from this time on; times must not decrease.
    fn after(&mut self, at: f64, noise: &mut Noise) -> f64 {
        while self.to <= at {
            self.from = self.to + noise.exponential(1.0 / self.gap_s);
            self.to = self.from + noise.exponential(1.0 / self.length_s);
        }
        if at < self.from { at } else { self.to }
    }
}

/// The result of an op: seconds from its intended time; `None` if it was rejected.
type Latency = Option<f64>;

impl Cluster {
    fn draw(noise: &mut Noise, capacity: f64, bound: Bound) -> Self {
        let of = |noise: &mut Noise, choices: &[f64]| {
            choices[index(noise.uniform() * len_to_f64(choices.len()))]
        };
        let nodes = of(noise, &[1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0]);
        let cores = of(noise, &[1.0, 2.0, 4.0]);
        let goes_to_all = nodes > 1.0 && noise.uniform() < 0.4;
        let slow = if nodes > 1.0 && noise.uniform() < 0.3 { 0.5 } else { 1.0 };
        let variation = of(noise, &[0.0, 0.5, 1.0, 1.0, 2.5, 4.0]);
        let part = if goes_to_all { 1.0 } else { 1.0 / nodes };
        let node = |n: usize| Node {
            speed: if n == 0 { slow } else { 1.0 },
            free: vec![0.0; index(cores)],
            waiting: VecDeque::new(),
        };
        Self {
            nodes: (0..index(nodes)).map(node).collect(),
            // The slowest node decides.
            work_s: cores * slow / (capacity * part),
            variation,
            // Constant work at an even pace never waits below the capacity, and has no other mark.
            is_poisson: noise.uniform() < 0.7 || variation == 0.0,
            goes_to_all,
            room: if bound == Bound::Rejected {
                4 * index(cores) + index(noise.uniform() * 20.0)
            } else {
                usize::MAX
            },
            stalls: None,
            noise: Noise::new(noise.bits()),
        }
    }

    /// Ops intended within these seconds at a rate, each with its time and its result, starting with an empty
    /// cluster.
    fn run(&mut self, per_s: f64, from_s: f64, to_s: f64, mut each: impl FnMut(f64, Latency)) {
        for node in &mut self.nodes {
            node.free.fill(from_s);
            node.waiting.clear();
        }
        if let Some(stalls) = &mut self.stalls {
            (stalls.from, stalls.to) = (from_s, from_s);
        }
        let mut at = from_s;
        while at < to_s {
            let latency = self.op(at);
            each(at, latency);
            at += if self.is_poisson { self.noise.exponential(per_s) } else { 1.0 / per_s };
        }
    }

    fn op(&mut self, at: f64) -> Latency {
        let one = index(self.noise.uniform() * len_to_f64(self.nodes.len()));
        let pieces = if self.goes_to_all { 0..self.nodes.len() } else { one..one + 1 };
        if self.room < usize::MAX {
            for node in &mut self.nodes[pieces.clone()] {
                while node.waiting.front().is_some_and(|begin| *begin <= at) {
                    node.waiting.pop_front();
                }
            }
            if self.nodes[pieces.clone()].iter().any(|node| node.waiting.len() >= self.room) {
                return None;
            }
        }
        let mut done = at;
        for position in pieces {
            let work = self.work();
            let node = &mut self.nodes[position];
            let Some(core) = node.free.iter_mut().reduce(|a, b| if *b < *a { b } else { a }) else {
                continue;
            };
            let mut begin = core.max(at);
            if let Some(stalls) = &mut self.stalls {
                begin = stalls.after(begin, &mut self.noise);
            }
            *core = begin + work / node.speed;
            done = done.max(*core);
            if begin > at && self.room < usize::MAX {
                node.waiting.push_back(begin);
            }
        }
        Some(done - at)
    }

    fn work(&mut self) -> f64 {
        let of_log = (1.0 + self.variation * self.variation).ln();
        let factor = match self.variation {
            0.0 => 1.0,
            1.0 => self.noise.exponential(1.0),
            _ => (of_log.sqrt() * self.noise.normal() - of_log / 2.0).exp(),
        };
        factor * self.work_s
    }
}

fn index(of: f64) -> usize {
    usize::try_from(round_to_u64(of.floor())).unwrap_or(usize::MAX)
}

/// A cluster with an objective.
struct Bounded {
    cluster: Cluster,
    bound: Bound,
    /// Seconds; the bound of a latency, or the timeout of an op.
    limit_s: f64,
    /// Fraction of the ops, or rows, that may exceed it or fail.
    allowed: f64,
    /// Ops per second.
    capacity: f64,
}

/// Counts of a probe by windows.
#[derive(Default)]
struct Counts {
    due: Vec<u64>,
    acknowledged: Vec<u64>,
    failed: Vec<u64>,
    over: Vec<u64>,
    latency_s: f64,
}

impl Bounded {
    /// The cluster and its mark, ops per second.
    fn draw(seed: u64, rates: (f64, f64)) -> (f64, Self) {
        let mut noise = Noise::new(seed);
        let bound = BOUNDS[index(noise.uniform() * len_to_f64(BOUNDS.len()))];
        let capacity = between(&mut noise, rates.0, rates.1);
        let cluster = Cluster::draw(&mut noise, capacity, bound);
        let allowed = match bound {
            Bound::Late(allowed) | Bound::LateRows(allowed) => allowed,
            // 99% must be acknowledged in any case.
            _ => 0.008,
        };
        let mut target = Self { cluster, bound, limit_s: f64::INFINITY, allowed, capacity };
        let load = 0.5 + 0.42 * noise.uniform();
        let truth = match bound {
            Bound::Capacity => capacity,
            Bound::Rejected => target.rejecting(),
            _ => target.sensitive(load),
        };
        (truth, target)
    }

    /// A rate that becomes the mark: at this load, or at a higher one if latencies are nearly those of an idle cluster,
    /// so that a percentile hardly depends on the rate.
    fn sensitive(&mut self, load: f64) -> f64 {
        let mut load = load;
        for _ in 0..4 {
            let [here, beyond] =
                [1.0, 1.04].map(|times| self.latency_of((load * times).min(0.99) * self.capacity));
            self.limit_s = here;
            if beyond > here * SENSITIVE {
                break;
            }
            load = 1.0 - (1.0 - load) / 1.6;
        }
        load * self.capacity
    }

    /// The bound for which this rate is the mark.
    fn latency_of(&mut self, per_s: f64) -> f64 {
        let seconds = TRUE_OPS / per_s;
        let gap = 1.0 / (per_s * ROWS);
        let mut latencies = Vec::new();
        let mut dice = Noise::new(self.cluster.noise.bits());
        let rows = matches!(self.bound, Bound::LateRows(_));
        self.cluster.run(per_s, -0.05 * seconds, seconds, |at, latency| {
            if let Some(latency) = latency.filter(|_| at >= 0.0) {
                // One row per batch; the rows after it arrive while it waits for the batch to fill.
                let waited = if rows { (dice.uniform() * ROWS).floor() * gap } else { 0.0 };
                latencies.push(latency + waited);
            }
        });
        let rank = index(len_to_f64(latencies.len()) * (1.0 - self.allowed));
        *latencies.select_nth_unstable_by(rank, f64::total_cmp).1
    }

    /// The rate at which exactly the allowed number of ops is rejected.
    fn rejecting(&mut self) -> f64 {
        let (mut low, mut high) = (0.0, 1.2 * self.capacity);
        for step in 0..11 {
            let middle = f64::midpoint(low, high);
            let seconds = TRUE_OPS / if step < 6 { 10.0 } else { 2.0 } / middle;
            let (mut rejected, mut all) = (0_u64, 0_u64);
            self.cluster.run(middle, -0.05 * seconds, seconds, |at, latency| {
                rejected += u64::from(at >= 0.0 && latency.is_none());
                all += u64::from(at >= 0.0);
            });
            if to_f64(rejected) <= self.allowed * to_f64(all) {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    fn objective(&self) -> Vec<Objective> {
        let quantile_ppm = 1_000_000 - round_to_u32(self.allowed * 1e6);
        let max = Nanos(round_to_u64(self.limit_s.min(1e6) * 1e9));
        let max_ppm = round_to_u32(self.allowed * 1e6);
        let none_rejected = Objective::Rejected { max_ppm: 0 };
        match self.bound {
            Bound::Late(_) => {
                vec![none_rejected, Objective::Latency { quantile_ppm, max, op: None }]
            }
            Bound::LateRows(_) => vec![none_rejected, Objective::RowLatency { quantile_ppm, max }],
            Bound::Errors => vec![none_rejected, Objective::Errors { max_ppm }],
            Bound::Rejected => vec![Objective::Rejected { max_ppm }],
            Bound::Capacity => vec![none_rejected],
        }
    }

    /// As `find` plans it by default.
    fn search(&self) -> SearchRecord {
        let mut search = fixture::search(self.objective());
        let needed = ops_needed(&search.objective.stated).map_or(0.0, |needed| needed.ops);
        let policy = &mut search.policy;
        policy.lowest = 10.0 / 60.0;
        policy.budget_ns = Some(BUDGET.0);
        policy.units_needed = needed;
        policy.longest_ns = BUDGET.0 / 8 - policy.around_ns;
        search
    }

    fn count(&mut self, per_s: f64, seconds: f64) -> Counts {
        let windows = index(seconds * WINDOWS);
        let mut counts = Counts {
            due: vec![0; windows],
            acknowledged: vec![0; windows],
            failed: vec![0; windows],
            over: vec![0; windows],
            latency_s: 0.0,
        };
        let window = |at: f64| (at >= 0.0).then(|| index(at * WINDOWS)).filter(|n| *n < windows);
        let gap = 1.0 / (per_s * ROWS);
        let (bound, limit) = (self.bound, self.limit_s);
        let (mut sum, mut acknowledged) = (0.0, 0_u64);
        self.cluster.run(per_s, -WARM_UP_S, seconds, |at, latency| {
            let failed = latency.is_none_or(|latency| bound == Bound::Errors && latency > limit);
            let took = latency.map_or(0.0, |latency| if failed { limit } else { latency });
            let over = match bound {
                Bound::LateRows(_) => {
                    let late = ((limit - took) / gap).max(-1.0).floor() + 1.0;
                    round_to_u64((ROWS - late).max(0.0))
                }
                Bound::Late(_) => u64::from(took > limit),
                _ => u64::from(failed),
            };
            if let Some(due) = window(at) {
                counts.due[due] += 1;
                counts.over[due] += over;
            }
            if let Some(ended) = window(at + took) {
                let ended_ops = if failed { &mut counts.failed } else { &mut counts.acknowledged };
                ended_ops[ended] += 1;
                if !failed {
                    sum += took;
                    acknowledged += 1;
                }
            }
        });
        counts.latency_s = sum / to_f64(acknowledged.max(1));
        counts
    }

    /// Judges counts in the way in which a run is judged and a probe's verdict is derived from its
    /// record.
    fn judged(&self, counts: &Counts, seconds: f64) -> Shown {
        let [due, acknowledged] =
            [&counts.due, &counts.acknowledged].map(|n| n.iter().sum::<u64>());
        let (due, acknowledged) = (to_f64(due), to_f64(acknowledged));
        let mut reasons = Vec::new();
        let ended: Vec<u64> =
            counts.acknowledged.iter().zip(&counts.failed).map(|(a, b)| a + b).collect();
        let backlog = backlog(&counts.due, &ended);
        let excused = backlog.filter(|backlog| !backlog.is_shown);
        let excused = excused.map_or(0.0, |backlog| backlog.grown.clamp(0.0, 0.03 * due));
        if acknowledged + excused < (due * SUSTAINED_SHARE).min(due - 1.0) {
            reasons.push(ReasonCode::RateNotSustained);
        }
        let mean_out = acknowledged / seconds * counts.latency_s;
        if backlog.is_some_and(|backlog| backlog.growth(mean_out).is_some()) {
            reasons.push(ReasonCode::Backlog);
        }
        let drift = throughput(&counts.acknowledged, Nanos::from_millis(100)).drift;
        let is_not_steady = drift.is_some_and(|drift| {
            drift.steadiness(SteadinessRule::default()) == Steadiness::NotSteady
        });
        let reached = acknowledged / seconds;
        let code = match self.bound {
            Bound::Late(_) | Bound::LateRows(_) => ReasonCode::ObjectiveLatency,
            Bound::Errors => ReasonCode::ObjectiveErrors,
            Bound::Rejected => ReasonCode::ObjectiveRejected,
            Bound::Capacity => {
                let mut shown = Shown::met(reached);
                shown.fail_if(!reasons.is_empty() || is_not_steady, reasons);
                return shown;
            }
        };
        let scale = if matches!(self.bound, Bound::LateRows(_)) { round_to_u64(ROWS) } else { 1 };
        let totals: Vec<u64> = counts.due.iter().map(|n| n * scale).collect();
        let bound = exceedance(&totals, &counts.over);
        let mut shown = Shown::of_share(&bound, self.allowed, code);
        let has_enough = due * self.allowed >= to_f64(OPS_BEYOND_PERCENTILE);
        if !has_enough && shown.verdict != ProbeVerdict::Failed {
            shown.verdict = ProbeVerdict::TooFewOps;
            shown.reasons = vec![code];
        }
        shown.acknowledged_per_s = reached;
        shown.fail_if(!reasons.is_empty() || is_not_steady, reasons);
        shown
    }
}

impl Target for Bounded {
    /// The rate of enough sessions to keep the slowest node always busy.
    fn closed(&mut self) -> f64 {
        self.capacity * (1.0 + 0.01 * self.cluster.noise.normal())
    }

    fn probe(&mut self, at: f64, seconds: f64) -> Shown {
        let counts = self.count(at, seconds);
        self.judged(&counts, seconds)
    }
}

/// A search like that of `find --quick`, at up to 100 ops per second, on a target that stalls for a tenth of a
/// second about every five seconds, so that a percentile differs from probe to probe; with its mark.
pub fn stalling(seed: u64) -> (f64, Found) {
    let mut noise = Noise::new(seed);
    let mut cluster = Cluster::draw(&mut noise, 100.0, Bound::Late(0.01));
    cluster.nodes.truncate(1);
    cluster.nodes[0] = Node { speed: 1.0, free: vec![0.0], waiting: VecDeque::new() };
    (cluster.work_s, cluster.variation, cluster.is_poisson) = (0.01, 0.5, true);
    cluster.stalls = Some(Stalls { gap_s: 5.0, length_s: 0.1, from: 0.0, to: 0.0 });
    let (bound, allowed, capacity) = (Bound::Late(0.01), 0.01, 100.0);
    let mut target = Bounded { cluster, bound, limit_s: f64::INFINITY, allowed, capacity };
    let truth = 0.6 * capacity;
    target.limit_s = target.latency_of(truth);
    let mut search = target.search();
    let policy = &mut search.policy;
    (policy.probe_ns, policy.confirmation_ns, policy.width) = (15 * S, 30 * S, 0.05);
    policy.budget_ns = Some(QUICK_BUDGET.0);
    policy.longest_ns = QUICK_BUDGET.0 / 8 - policy.around_ns;
    (truth, find(&search, &mut target))
}

/// Searches clusters from seeds with a capacity in a range, ops per second.
pub fn levels(rates: (f64, f64), seeds: Range<u64>) -> Levels {
    let mut levels = Levels::default();
    for seed in seeds {
        let (truth, mut target) = Bounded::draw(seed, rates);
        let search = target.search();
        levels.add(truth, &find(&search, &mut target));
    }
    levels
}
