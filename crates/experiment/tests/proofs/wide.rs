//! Marks of a wide range of generated clusters: 1 to 12 nodes, four service distributions, replicas, and five kinds of
//! objective, with random arrivals.
//!
//! There is no formula for the percentiles of such clusters. Their truth comes from the second simulation, which shares
//! no code with `sim:`. It computes a percentile, or the fraction of rejections, at a rate drawn from the seed; that
//! value becomes the bound of the objective, so the mark is that rate. With half a million ops, its error is below one
//! percent.
//!
//! The seeds change with the version, so that no code can be tuned to them.

use highwater_analysis::synthetic::seeds_of_version;
use highwater_driver::TargetUrl;
use highwater_driver_sim::{SimParameters, capacity};
use highwater_model::plan::{Arrivals, Objective};
use highwater_model::search::SearchOutcome;
use highwater_model::units::Nanos;
use highwater_report as report;

use crate::hunting::{Hunt, nanos, whole};
use crate::independent::{Cluster, Load, Op, Seen, Service, Span, float};
use crate::marks::Dice;

/// Ops of the second simulation.
const OPS: f64 = 500_000.0;
/// Ops of a search's probe and of a confirmation.
const PROBE_OPS: f64 = 40_000.0;
const CONFIRM_OPS: f64 = 120_000.0;
/// Fraction of ops, or rows, that may exceed the bound.
const KINDS: [Kind; 5] = [
    Kind::Percentile(0.95),
    Kind::Percentile(0.99),
    Kind::RowPercentile(0.99),
    Kind::Rejected,
    Kind::Capacity,
];

#[derive(Debug, Clone, Copy)]
enum Kind {
    Percentile(f64),
    RowPercentile(f64),
    Rejected,
    Capacity,
}

/// A cluster generated from a seed.
#[derive(Debug)]
struct Drawn {
    kind: Kind,
    cluster: Cluster,
    rows: usize,
    url: String,
    /// Ops per second.
    capacity: f64,
}

impl Drawn {
    fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let kind = KINDS[usize::try_from(seed % 5).unwrap()];
        let nodes = dice.one_of(&[1_usize, 2, 3, 5, 8, 12]);
        let replicas = dice.one_of(&[0_usize, 1]).min(nodes - 1);
        let shards = nodes * dice.one_of(&[1_usize, 2]);
        let cores = dice.one_of(&[1_usize, 2, 4]);
        let rows = dice.one_of(&[5_usize, 20, 50]);
        let row_us = whole(dice.between(100.0, 800.0));
        let (service, law) = dice.one_of(&[
            (Service::Exponential, "exp"),
            (Service::Constant, "constant"),
            (Service::Lognormal(0.7), "lognormal:0.7"),
            (Service::Lognormal(2.0), "lognormal:2"),
        ]);
        let queue = match kind {
            Kind::Rejected => 16 * cores,
            _ => 1_000_000,
        };
        let url = format!(
            "sim:?nodes={nodes}&cores={cores}&shards={shards}&replicas={replicas}&row={row_us}us\
             &service={law}&queue={queue}"
        );
        let parameters = SimParameters::parse(&TargetUrl::parse(&url).unwrap().parameters).unwrap();
        let capacity = capacity(&parameters, u64::try_from(rows).unwrap(), true);
        let cluster = Cluster {
            cores,
            request_s: 0.0005,
            row_s: float(usize::try_from(row_us).unwrap()) / 1e6,
            query_s: 0.0,
            service,
            shards,
            replicas,
            replica_cost: 1.0,
            rtt_s: 0.0003,
            queue,
            speeds: vec![1.0; nodes],
            stalls: Vec::new(),
        };
        Self { kind, cluster, rows, url, capacity }
    }

    fn simulated(&self, per_s: f64, seed: u64) -> Seen {
        let span = Span { from_s: 0.1 * OPS / per_s, to_s: 1.1 * OPS / per_s };
        let op = Op::Insert(self.rows);
        self.cluster.simulate(op, Load::Poisson(per_s), span, seed)
    }

    /// The mark in ops per second, and its objective.
    fn truth(&self, seed: u64) -> (f64, Objective) {
        let part = 0.5 + 0.35 * Dice(seed ^ 0x5eed).uniform();
        let per_s = part * self.capacity;
        match self.kind {
            Kind::Percentile(part) => {
                let latencies = self.simulated(per_s, seed).latencies_s;
                let bound = Objective::Latency {
                    quantile_ppm: ppm(part),
                    max: nanos(quantile(latencies, part)),
                    op: None,
                };
                (per_s, bound)
            }
            Kind::RowPercentile(part) => {
                let mut dice = Dice(seed ^ 0x0a0a);
                let latencies = self.simulated(per_s, seed).latencies_s;
                // One row of each batch, which this many of its other rows follow.
                let rows = latencies.into_iter().map(|latency| {
                    let behind = float(dice.below(self.rows));
                    latency + behind / (per_s * float(self.rows))
                });
                let bound = Objective::RowLatency {
                    quantile_ppm: ppm(part),
                    max: nanos(quantile(rows.collect(), part)),
                };
                (per_s, bound)
            }
            Kind::Rejected => self.rejecting(seed),
            Kind::Capacity => (self.capacity, Objective::Rejected { max_ppm: 0 }),
        }
    }

    /// The highest of these rates at which less than 0.8% are rejected: 99% must be acknowledged in any case.
    fn rejecting(&self, seed: u64) -> (f64, Objective) {
        for percent in (10..100).rev().step_by(2) {
            let per_s = self.capacity * f64::from(percent) / 100.0;
            let seen = self.simulated(per_s, seed);
            let offered = seen.rejected + seen.latencies_s.len();
            let share = float(seen.rejected) / float(offered);
            if share < 0.008 {
                let max_ppm = ppm(share);
                return (per_s, Objective::Rejected { max_ppm });
            }
        }
        panic!("{self:?} rejects at any rate");
    }

    fn hunt(&self, objective: Objective, seed: u64) -> Hunt {
        let mut hunt = Hunt::new(&self.url, "insert");
        hunt.job.settings = vec![("batch", self.rows.to_string())];
        hunt.job.arrivals = Some(Arrivals::Poisson);
        hunt.job.sessions = 4_000;
        hunt.job.seed = seed % 1_000_000;
        hunt.job.warm_up = Nanos::from_secs(10);
        let length = |ops: f64| nanos((ops / self.capacity).clamp(10.0, 3_600.0));
        hunt.probe = length(PROBE_OPS);
        hunt.confirm = length(CONFIRM_OPS);
        hunt.objectives = match objective {
            Objective::Rejected { .. } => vec![objective],
            _ => vec![Objective::Rejected { max_ppm: 0 }, objective],
        };
        hunt
    }
}

fn ppm(part: f64) -> u32 {
    u32::try_from(whole((part * 1e6).round())).unwrap()
}

fn quantile(mut values: Vec<f64>, part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let rank = usize::try_from(whole((float(values.len()) * part).ceil())).unwrap();
    values[rank.clamp(1, values.len()) - 1]
}

/// The errors of the marks.
#[derive(Debug, Default)]
struct Tally {
    searches: u32,
    near: u32,
    too_high: u32,
    estimated: u32,
    held: u32,
    story: String,
}

impl Tally {
    #[expect(clippy::print_stdout, reason = "the long tests print their figures")]
    fn add(&mut self, seed: u64) {
        let drawn = Drawn::new(seed);
        let (truth, objective) = drawn.truth(seed);
        let record = drawn.hunt(objective, seed).find();
        let truth = truth * float(drawn.rows);
        let search = record.search().unwrap();
        self.searches += 1;
        let SearchOutcome::Mark(mark) = search.outcome.as_ref().unwrap() else {
            println!("{seed}: {:?}, no mark", drawn.kind);
            self.story += &format!("\n{drawn:?}, truth {truth}\n{}", report::text(&record));
            return;
        };
        let error = mark.confirmed / truth - 1.0;
        let is_near = (-0.03..=0.02).contains(&error);
        self.near += u32::from(is_near);
        self.too_high += u32::from(error > 0.02);
        let holds = mark.estimate.map(|found| (found.low90..=found.high90).contains(&truth));
        self.estimated += u32::from(holds.is_some());
        self.held += u32::from(holds == Some(true));
        println!(
            "{seed}: {:?}, confirmed {:+.2}%, estimate holds {holds:?}, {} probes",
            drawn.kind,
            100.0 * error,
            search.probes.len()
        );
        if !is_near {
            self.story += &format!("\n{drawn:?}, truth {truth}\n{}", report::text(&record));
        }
    }
}

fn tally(seeds: impl Iterator<Item = u64>) -> Tally {
    let mut tally = Tally::default();
    seeds.for_each(|seed| tally.add(seed));
    tally
}

#[test]
fn the_mark_of_a_cluster_without_a_formula_is_near_the_second_simulations() {
    let found = tally(std::iter::once(3));
    assert_eq!(found.near, 1, "{}", found.story);
}

/// 90% of fifty are 45; three standard deviations less are 38. The same for 90% intervals of the estimates.
#[test]
#[ignore = "half an hour; fifty clusters"]
fn long_marks_of_clusters_without_a_formula_are_near_the_second_simulations() {
    let found = tally(seeds_of_version(50));
    println!(
        "{} of {} near, {} too high, {} of {} estimates hold",
        found.near, found.searches, found.too_high, found.held, found.estimated
    );
    assert!(found.near >= 45, "{}", found.story);
    assert!(found.too_high <= 1, "{}", found.story);
    assert!(found.held >= 38.min(found.estimated), "{}", found.story);
}
