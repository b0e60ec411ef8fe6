//! How often the claims of a search hold: that a confirmed value is a floor just below the true mark,
//! and that the interval of an estimate contains it, on targets with a known mark. For tests and for
//! the table in `docs/concepts/accuracy.md`; not part of the program.

pub mod cluster;
pub mod harness;
pub mod queue;

use std::ops::Range;

use highwater_model::judgment::ReasonCode;
use highwater_model::numbers::round_to_u32;
use highwater_model::plan::Objective;
use highwater_model::search::SearchOutcome;
use highwater_model::units::Nanos;

use crate::search::mark_tolerance;
use crate::synthetic::Noise;
use harness::{Found, Shown, between, find, search};
use queue::{Queue, Shape, late_of};

/// The default of `find`.
const BUDGET: Nanos = Nanos::from_secs(3_600);

/// What limits a target, which determines the objective of the search.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A queue of 1 to 48 servers, by a percentile.
    Queue,
    /// Service times with a heavy tail, by a percentile.
    HeavyTail,
    /// Stalls at any rate, in addition to a queue, by a percentile.
    Stalls,
    /// Its capacity, without a further objective.
    Capacity,
    /// Ops that fail more often at higher load, by a fraction of 1%.
    Errors,
    /// A short queue, by a fraction of rejections.
    Rejections,
}

impl Kind {
    /// All of them, with the fractions of late ops that their percentiles allow.
    pub const ALL: [(Self, &'static [f64]); 6] = [
        (Self::Queue, &[0.01, 0.05]),
        (Self::HeavyTail, &[0.01, 0.05]),
        (Self::Stalls, &[0.01, 0.05]),
        (Self::Capacity, &[0.01]),
        (Self::Errors, &[0.01]),
        (Self::Rejections, &[0.01]),
    ];
}

/// Confirmed values and intervals of many searches, compared with the true marks.
#[derive(Debug, Default)]
pub struct Levels {
    /// Number of searches.
    pub searches: u32,
    /// Confirmed between 3% below the true mark and 2% above.
    pub near: u32,
    /// Confirmed above that.
    pub too_high: u32,
    /// Without a mark.
    pub without: u32,
    /// Searches whose budget had enough ops for an announced error, and the marks of these within
    /// it.
    pub promised: u32,
    /// See the previous field.
    pub as_announced: u32,
    /// With an estimate.
    pub estimated: u32,
    /// Number of intervals that contain the true mark.
    pub held: u32,
    /// Number of intervals that lie above the true mark.
    pub interval_above: u32,
    /// Confirmed values divided by the true marks, and half-widths of the intervals divided by
    /// their lower ends.
    confirmed: Vec<f64>,
    half_widths: Vec<f64>,
    /// Probes of each search.
    pub probes: Vec<u32>,
}

impl Levels {
    /// `truth` is in units per second, like the ops of these targets.
    fn add(&mut self, truth: f64, found: &Found) {
        self.searches += 1;
        let announced = mark_tolerance(truth, BUDGET);
        self.promised += u32::from(announced.is_some());
        self.probes.push(u32::try_from(found.probes.len()).unwrap_or(u32::MAX));
        let SearchOutcome::Mark(mark) = &found.outcome else {
            self.without += 1;
            return;
        };
        let error = mark.confirmed / truth - 1.0;
        self.as_announced +=
            u32::from(announced.is_some_and(|of| (-of.below..=of.above).contains(&error)));
        self.near += u32::from((-0.03..=0.02).contains(&error));
        self.too_high += u32::from(error > 0.02);
        self.confirmed.push(error);
        if let Some(found) = mark.estimate {
            self.estimated += 1;
            self.held += u32::from((found.low90..=found.high90).contains(&truth));
            self.interval_above += u32::from(truth < found.low90);
            let half = (found.high90 / found.low90 - 1.0) / 2.0;
            self.half_widths.push(half);
        }
    }

    /// Adds those of other targets.
    pub fn merge(&mut self, other: &Self) {
        self.searches += other.searches;
        self.near += other.near;
        self.too_high += other.too_high;
        self.without += other.without;
        self.promised += other.promised;
        self.as_announced += other.as_announced;
        self.estimated += other.estimated;
        self.held += other.held;
        self.interval_above += other.interval_above;
        self.confirmed.extend(&other.confirmed);
        self.half_widths.extend(&other.half_widths);
        self.probes.extend(&other.probes);
    }

    /// This number of searches as a fraction of all.
    pub fn part(&self, count: u32) -> f64 {
        f64::from(count) / f64::from(self.searches.max(1))
    }

    /// Fraction of the estimates whose interval contains the true mark.
    pub fn held_part(&self) -> f64 {
        f64::from(self.held) / f64::from(self.estimated.max(1))
    }

    /// Fraction of confirmed values within 5% of the true mark.
    pub fn within_5(&self) -> usize {
        self.confirmed.iter().filter(|error| error.abs() <= 0.05).count()
    }

    /// Distance of the median confirmed value above the true mark, as a fraction of it.
    pub fn median_confirmed(&self) -> f64 {
        median(&self.confirmed)
    }

    /// Half of the median interval's width, as a fraction.
    pub fn median_half_width(&self) -> f64 {
        median(&self.half_widths)
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Searches the marks of targets from seeds. `allowed` is the fraction of late ops.
pub fn levels(kind: Kind, allowed: f64, seeds: Range<u64>) -> Levels {
    let mut levels = Levels::default();
    for seed in seeds {
        let (truth, found) = one(kind, allowed, seed);
        levels.add(truth, &found);
    }
    levels
}

/// The true mark, and the result of a search.
fn one(kind: Kind, allowed: f64, seed: u64) -> (f64, Found) {
    let mut noise = Noise::new(seed);
    let servers: u32 = 1 << (seed % 6);
    let capacity = between(&mut noise, 5_000.0, 50_000.0);
    let mu = capacity / f64::from(servers);
    let bound_s = -allowed.ln() / mu * between(&mut noise, 1.5, 8.0);
    let load = 0.5 + 0.45 * noise.uniform();
    let shape = match kind {
        Kind::Queue => Shape::Markov { mu, servers, bound_s },
        Kind::HeavyTail => Shape::HeavyTail { rest: allowed * (1.0 - load) / load },
        Kind::Stalls => Shape::Stalling {
            mu: capacity,
            bound_s: bound_s * mu / capacity,
            always: allowed * 0.5 * noise.uniform(),
        },
        Kind::Capacity => return by_capacity(capacity, noise),
        Kind::Errors => return by_errors(capacity, load, noise),
        Kind::Rejections => return by_rejections(capacity, load, noise),
    };
    let mut queue = Queue { shape, capacity, allowed, noise };
    let mut search = search();
    search.objective.stated.push(Objective::Latency {
        quantile_ppm: 1_000_000 - round_to_u32(allowed * 1e6),
        max: Nanos::from_millis(5),
        op: None,
    });
    let found = find(&search, &mut queue);
    (queue.truth(), found)
}

/// The rates that probes reach vary by 0.3%.
fn by_capacity(capacity: f64, mut noise: Noise) -> (f64, Found) {
    let closed = capacity * (1.0 + 0.004 * noise.normal());
    let probe = |at: f64, _: f64| {
        let reached = at.min(capacity * (1.0 + 0.003 * noise.normal()));
        Shown::met(reached).reaching(reached, at)
    };
    (capacity, find(&search(), &mut (closed, probe)))
}

/// One of a hundred ops fails at this load, and e times as many at 3% of the capacity more.
fn by_errors(capacity: f64, load: f64, noise: Noise) -> (f64, Found) {
    const ALLOWED: f64 = 0.01;
    let truth = load * capacity;
    let failing = |at: f64| (ALLOWED * ((at - truth) / capacity / 0.03).exp()).min(1.0);
    let found = by_failures(capacity, ALLOWED, failing, noise);
    (truth, found)
}

/// M/M/1 with space for K ops, which rejects a fraction of (1 − ρ) ρᴷ / (1 − ρᴷ⁺¹) (L. Kleinrock,
/// "Queueing Systems" 1, 3.6): at this load exactly the allowed fraction, a few thousandths.
fn by_rejections(capacity: f64, load: f64, noise: Noise) -> (f64, Found) {
    let load = 0.5 + 0.7 * (load - 0.5);
    let room = (4.0 / (1.0 - load)).ceil();
    let rejected = |at: f64| {
        let load = at / capacity;
        if (load - 1.0).abs() < 1e-9 {
            1.0 / (room + 1.0)
        } else {
            (1.0 - load) * load.powf(room) / (1.0 - load.powf(room + 1.0))
        }
    };
    let truth = load * capacity;
    // The allowed fraction is a whole number of millionths, so the true mark has that rounding
    // error.
    let found = by_failures(capacity, rejected(truth), rejected, noise);
    (truth, found)
}

/// Searches by a fraction of failures, which is given as a function of the rate. Failures come in
/// bursts, like late ops.
fn by_failures(
    capacity: f64,
    allowed: f64,
    failing: impl Fn(f64) -> f64,
    mut noise: Noise,
) -> Found {
    let probe = |at: f64, seconds: f64| {
        let load = (at / capacity).min(0.999);
        let tau = ((1.0 + load) / (1.0 - load)).powi(2);
        let bound = late_of(at * seconds / tau, failing(at), &mut noise);
        let shown = Shown::of_share(&bound, allowed, ReasonCode::ObjectiveErrors);
        shown.reaching(at.min(capacity) * (1.0 - bound.fraction), at)
    };
    let mut search = search();
    let max_ppm = round_to_u32(allowed * 1e6);
    search.objective.stated.push(Objective::Errors { max_ppm });
    find(&search, &mut (capacity, probe))
}
