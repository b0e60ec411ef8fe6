//! `sim:` against a second simulation of the same page, without shared code: mean, percentiles, throughput, and
//! rejections of eight clusters at five loads each.
//!
//! # Tolerances
//!
//! Each point is run eight times by both, with different seeds. The runs' figures are independent and nearly normal, so
//! the difference of both means is compared with Student's quantile, 14 degrees of freedom, for the combined variance.
//! All points and figures share an error of one percent (Bonferroni): of 240 differences, none exceeds 6.1 deviations
//! in 99 of 100 studies; this one has fixed seeds. A histogram rounds by at most 0.1%; the test allows twice that in
//! addition.

use highwater_model::plan::{Arrivals, AuditLevel};
use highwater_model::record::RunRecord;
use highwater_model::units::{Nanos, Rate};
use highwater_runner::planner::PaceInput;

use crate::independent::{Cluster, Load, Op, Seen, Service, Span, float};
use crate::support::{Job, closed, measured, number, seconds};

const REPLICATIONS: u32 = 8;
/// Student's quantile with 14 degrees of freedom that 0.01 ÷ 240 of all values exceed, on both sides.
const DEVIATIONS: f64 = 6.1;
const RESOLUTION: f64 = 0.002;
const QUERY: &str = "latest-metrics";

const FIGURES: [&str; 6] = ["mean", "p50", "p99", "p99.9", "throughput", "rejected"];

/// A cluster with its `sim:` parameters, and the compared loads: fractions of its capacity, or sessions.
struct Configuration {
    name: &'static str,
    words: String,
    cluster: Cluster,
    op: Op,
    loads: Loads,
}

#[derive(Clone, Copy)]
enum Loads {
    Parts([f64; 5]),
    Sessions([u32; 5]),
}

const PARTS: Loads = Loads::Parts([0.3, 0.5, 0.7, 0.85, 0.95]);

fn cluster(nodes: usize, cores: usize) -> Cluster {
    Cluster {
        cores,
        request_s: 0.0005,
        row_s: 0.00004,
        query_s: 0.005,
        service: Service::Exponential,
        shards: 1,
        replicas: 0,
        replica_cost: 1.0,
        rtt_s: 0.0003,
        queue: usize::MAX,
        speeds: vec![1.0; nodes],
        stalls: Vec::new(),
    }
}

/// A tenth of a second in every two.
fn stalls() -> Vec<Span> {
    let starts = (0..190).map(|number| 2.0 * f64::from(number) + 1.0);
    let span = |from_s| Span { from_s, to_s: from_s + 0.1 };
    starts.map(span).collect()
}

fn stall_words() -> String {
    stalls()
        .into_iter()
        .map(|stall| format!("{}s+100ms", stall.from_s))
        .collect::<Vec<_>>()
        .join(",")
}

fn configurations() -> Vec<Configuration> {
    undisturbed().into_iter().chain(disturbed()).collect()
}

/// Every cluster of equal nodes without rejections.
fn undisturbed() -> [Configuration; 5] {
    [
        Configuration {
            name: "queries on one core",
            words: "nodes=1&cores=1&shards=1&replicas=0&queue=inf".to_owned(),
            cluster: cluster(1, 1),
            op: Op::Query,
            loads: PARTS,
        },
        Configuration {
            name: "copies of six shards on three nodes",
            words: "nodes=3&cores=4&shards=6&replicas=1&queue=inf".to_owned(),
            cluster: Cluster { shards: 6, replicas: 1, ..cluster(3, 4) },
            op: Op::Insert(50),
            loads: PARTS,
        },
        Configuration {
            name: "constant service, rows that the shards do not divide",
            words: "nodes=2&cores=2&shards=4&replicas=0&service=constant&row=1ms&queue=inf"
                .to_owned(),
            cluster: Cluster {
                shards: 4,
                row_s: 0.001,
                service: Service::Constant,
                ..cluster(2, 2)
            },
            op: Op::Insert(22),
            loads: PARTS,
        },
        Configuration {
            name: "closed load, cheap replicas, heavy tail",
            words:
                "nodes=4&cores=2&shards=8&replicas=1&replica_cost=0.5&service=lognormal:2&queue=inf"
                    .to_owned(),
            cluster: Cluster {
                shards: 8,
                replicas: 1,
                replica_cost: 0.5,
                service: Service::Lognormal(2.0),
                ..cluster(4, 2)
            },
            op: Op::Insert(16),
            loads: Loads::Sessions([1, 2, 4, 16, 64]),
        },
        Configuration {
            name: "two rows for twelve shards",
            words: "nodes=5&cores=1&shards=12&replicas=2&queue=inf".to_owned(),
            cluster: Cluster { shards: 12, replicas: 2, ..cluster(5, 1) },
            op: Op::Insert(2),
            loads: PARTS,
        },
    ]
}

/// A short queue, a slow node, stalls.
fn disturbed() -> [Configuration; 3] {
    [
        Configuration {
            name: "three may wait",
            words: "nodes=2&cores=2&shards=4&replicas=0&queue=3".to_owned(),
            cluster: Cluster {
                shards: 4,
                queue: 3,
                ..cluster(2, 2)
            },
            op: Op::Insert(40),
            loads: Loads::Parts([0.3, 0.5, 0.7, 0.95, 1.1]),
        },
        Configuration {
            name: "a node of half the speed",
            words: "nodes=3&cores=2&slow_node=2:0.5&service=lognormal:0.7&shards=3&replicas=0&queue=inf".to_owned(),
            cluster: Cluster {
                shards: 3,
                speeds: vec![1.0, 0.5, 1.0],
                service: Service::Lognormal(0.7),
                ..cluster(3, 2)
            },
            op: Op::Query,
            loads: PARTS,
        },
        Configuration {
            name: "stalls",
            words: format!("nodes=1&cores=2&shards=1&replicas=0&queue=inf&stall={}", stall_words()),
            cluster: Cluster {
                stalls: stalls(),
                ..cluster(1, 2)
            },
            op: Op::Query,
            loads: PARTS,
        },
    ]
}

impl Configuration {
    fn rows(&self) -> usize {
        match self.op {
            Op::Insert(rows) => rows,
            Op::Query => 1,
        }
    }

    /// Ops per second of the busiest node, according to the page.
    fn capacity(&self) -> f64 {
        let cluster = &self.cluster;
        let nodes = cluster.speeds.len();
        let mut busy_s = vec![0.0; nodes];
        match self.op {
            Op::Query => busy_s.fill(cluster.query_s / float(nodes)),
            Op::Insert(rows) => {
                let (rows, shards) = (float(rows), float(cluster.shards));
                let pieces = rows.min(shards);
                let piece_s = pieces / shards * cluster.request_s + rows / shards * cluster.row_s;
                for shard in 0..cluster.shards {
                    for copy in 0..=cluster.replicas {
                        let cost = if copy == 0 { 1.0 } else { cluster.replica_cost };
                        busy_s[(shard + copy) % nodes] += piece_s * cost;
                    }
                }
            }
        }
        let busiest = busy_s.iter().zip(&cluster.speeds).map(|(busy, speed)| busy / speed);
        let stalled = if cluster.stalls.is_empty() { 1.0 } else { 0.95 };
        stalled * float(cluster.cores) / busiest.fold(0.0, f64::max)
    }

    /// The loads, each with the duration of about this many ops.
    fn points(&self, ops: f64) -> Vec<(Load, f64)> {
        let capacity = self.capacity();
        match self.loads {
            Loads::Parts(parts) => parts
                .iter()
                .map(|part| {
                    let rate = (part * capacity).round();
                    (Load::Poisson(rate), ops / rate)
                })
                .collect(),
            Loads::Sessions(sessions) => sessions
                .iter()
                .map(|sessions| {
                    let sessions = usize::try_from(*sessions).unwrap();
                    let rate = capacity.min(float(sessions) * 150.0);
                    (Load::Closed(sessions), ops / rate)
                })
                .collect(),
        }
    }

    /// Each figure of each run.
    fn of_ours(&self, load: Load, span: Span) -> Vec<[f64; 6]> {
        let stream = match self.op {
            Op::Insert(_) => "insert",
            Op::Query => QUERY,
        };
        let pace = match load {
            Load::Poisson(per_s) => {
                PaceInput::Open(Rate { micro_per_s: micros(per_s * float(self.rows())) })
            }
            Load::Closed(sessions) => closed(u32::try_from(sessions).unwrap()),
        };
        let target = format!("sim:?{}", self.words);
        let mut job = Job::new(&target, &[(stream, pace)]);
        job.settings = vec![("batch", self.rows().to_string())];
        job.arrivals = matches!(load, Load::Poisson(_)).then_some(Arrivals::Poisson);
        job.sessions = 2_000;
        job.warm_up = nanos(span.from_s);
        job.step = nanos(span.to_s - span.from_s);
        job.audit = AuditLevel::Off;
        let runs = (1..=REPLICATIONS).map(|seed| {
            job.seed = u64::from(seed);
            figures_of_ours(&job.run().record, stream)
        });
        runs.collect()
    }

    fn of_theirs(&self, load: Load, span: Span) -> Vec<[f64; 6]> {
        let runs = (1..=REPLICATIONS).map(|seed| {
            let seed = 1_000 + u64::from(seed);
            let seen = self.cluster.simulate(self.op, load, span, seed);
            figures_of_theirs(seen, span)
        });
        runs.collect()
    }

    /// The differences, and the number of figures.
    fn differences(&self, ops: f64, points: &[usize]) -> (Vec<String>, usize) {
        let mut differences = Vec::new();
        let all = self.points(ops);
        for (load, length_s) in points.iter().map(|point| all[*point]) {
            let warm_up = (length_s / 10.0).ceil();
            let span = Span { from_s: warm_up, to_s: warm_up + length_s.ceil() };
            let (ours, theirs) = (self.of_ours(load, span), self.of_theirs(load, span));
            for (at, figure) in FIGURES.iter().enumerate() {
                let of = |runs: &[[f64; 6]]| runs.iter().map(|run| run[at]).collect::<Vec<_>>();
                if let Some(difference) = difference(&of(&ours), &of(&theirs)) {
                    let place = format!("{}, {load:?}, {figure}", self.name);
                    differences.push(format!("{place}: {difference}"));
                }
            }
        }
        (differences, points.len() * FIGURES.len())
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive, and far below 2^63"
)]
fn micros(value: f64) -> u64 {
    (value * 1e6).round() as u64
}

fn nanos(length_s: f64) -> Nanos {
    Nanos(micros(length_s) * 1_000)
}

fn figures_of_ours(record: &RunRecord, op: &str) -> [f64; 6] {
    let result = measured(record, op);
    let latency = &result.latency_ns;
    let rejected = result.errors.get("rejected").copied().unwrap_or_default();
    // Rejected ops never ended.
    let known = |name: &str, value| {
        let is_bound = latency.at_least.iter().any(|other| other == name);
        if is_bound { f64::INFINITY } else { seconds(value) }
    };
    [
        latency.mean.map_or(f64::INFINITY, |mean| seconds(Some(mean))),
        known("p50", latency.p50),
        known("p99", latency.p99),
        known("p999", latency.p999),
        result.throughput.ops_per_s,
        number(rejected) / number(result.offered),
    ]
}

fn figures_of_theirs(seen: Seen, span: Span) -> [f64; 6] {
    let mut latencies = seen.latencies_s;
    latencies.sort_by(f64::total_cmp);
    let offered = latencies.len() + seen.rejected;
    latencies.resize(offered, f64::INFINITY);
    let percentile = |thousandths: usize| {
        let rank = (offered * thousandths).div_ceil(1_000);
        latencies[rank - 1]
    };
    [
        latencies.iter().sum::<f64>() / float(offered),
        percentile(500),
        percentile(990),
        percentile(999),
        float(seen.acknowledged) / (span.to_s - span.from_s),
        float(seen.rejected) / float(offered),
    ]
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / float(values.len());
    let squares = values.iter().map(|value| (value - mean).powi(2));
    (mean, squares.sum::<f64>() / float(values.len() - 1))
}

/// The difference between both, if it is significant.
fn difference(ours: &[f64], theirs: &[f64]) -> Option<String> {
    let endless = [ours, theirs].map(|runs| runs.iter().filter(|of| of.is_infinite()).count());
    if endless != [0, 0] {
        // If some runs reject as many ops as a percentile leaves, the outcome is random.
        let [by_us, by_them] = endless;
        let differs =
            (by_us == ours.len() && by_them == 0) || (by_them == theirs.len() && by_us == 0);
        return differs
            .then(|| format!("infinite in {by_us} runs by sim:, {by_them} by the other"));
    }
    let ((our, our_variance), (their, their_variance)) =
        (mean_and_variance(ours), mean_and_variance(theirs));
    let deviation = ((our_variance + their_variance) / float(ours.len())).sqrt();
    let allowed = DEVIATIONS * deviation + RESOLUTION * their.abs();
    ((our - their).abs() > allowed)
        .then(|| format!("{our:.6} by sim:, {their:.6} by the other, {allowed:.6} allowed"))
}

/// Compares all of them at these loads, with about this many ops per run.
#[expect(clippy::print_stdout, reason = "the long test prints its figures")]
fn compare(configurations: &[Configuration], ops: f64, points: &[usize]) -> Vec<String> {
    let mut all = Vec::new();
    for configuration in configurations {
        let (differences, figures) = configuration.differences(ops, points);
        let agreeing = figures - differences.len();
        println!("{}: {agreeing} of {figures} agree", configuration.name);
        all.extend(differences);
    }
    all
}

#[test]
fn a_second_simulation_of_the_same_page_agrees() {
    let all = configurations();
    let differences = compare(&all, 3_000.0, &[2]);
    assert!(differences.is_empty(), "{differences:#?}");
}

type Planted = fn(&mut [Configuration]);

#[test]
fn an_error_in_one_of_both_simulations_is_seen() {
    let errors: [Planted; 4] = [
        |all| all[0].cluster.query_s *= 1.1,
        |all| all[1].cluster.replicas = 0,
        |all| all[5].cluster.queue = 4,
        |all| all[7].cluster.stalls.truncate(1),
    ];
    for (at, plant) in [0, 1, 5, 7].into_iter().zip(errors) {
        let mut all = configurations();
        plant(&mut all);
        let (differences, _) = all[at].differences(4_000.0, &[1]);
        assert!(!differences.is_empty(), "{}", all[at].name);
    }
}

#[test]
#[ignore = "ten minutes; five loads of eight clusters"]
fn long_a_second_simulation_agrees_at_five_loads_of_eight_clusters() {
    let all = configurations();
    let differences = compare(&all, 100_000.0, &[0, 1, 2, 3, 4]);
    assert!(differences.is_empty(), "{differences:#?}");
}
