//! Searches of whole runs on simulated clusters with known marks.
//!
//! The truth is the highest rate whose steady state meets the objective. For a bound S of the p99 of one M/M/1 node it
//! is μ − ln 100 / S; for several cores and for constant service it follows from the formulas of `analysis::queueing`;
//! without a latency bound it is the capacity of the busiest node.
//!
//! A seed determines a cluster: its kind, its cores, shards, and costs, and its mark. Some seeds run every day, all of
//! them with the long tests.
//!
//! A pass needs 95% confidence, so the mark is biased low, more so with fewer ops per probe. Probes here are long
//! enough for a bias of about one percent: n ops have the weight of n / τ independent ones, τ = ((1 + ρ) / (1 − ρ))²,
//! and the fraction of late ops e^(−(μ−λ)S) changes by the factor 100^(x ρ / (1 − ρ)) when the rate changes by the
//! fraction x.

use highwater_analysis::queueing::{MD1, MMc};
use highwater_driver::TargetUrl;
use highwater_driver_sim::{SimParameters, capacity};
use highwater_model::plan::{Arrivals, Objective};
use highwater_model::record::ExperimentRecord;
use highwater_model::search::{ProbePurpose, SearchAxis, SearchOutcome};
use highwater_model::units::Nanos;
use highwater_report as report;

use crate::hunting::{Hunt, QUERY, mark, nanos, probes, thousand, whole};
use crate::support::one_node;

/// Random numbers of a seed (SplitMix64; Steele, Lea & Flood 2014).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.uniform())
    }

    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// From 0 to one below.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        let count = f64::from(u32::try_from(count).unwrap());
        usize::try_from(whole(self.uniform() * count)).unwrap()
    }
}

/// A cluster of a seed, and its mark.
struct Case {
    hunt: Hunt,
    truth: f64,
}

/// Without noise: queues with a p99 bound, and sharded clusters without one.
fn case(seed: u64) -> Case {
    let mut dice = Dice(seed);
    let mut case = match seed % 4 {
        0 => queue(&mut dice, false),
        1 => constant(&mut dice),
        _ => sharded(&mut dice, ""),
    };
    case.hunt.job.seed = 1_000 * seed;
    case
}

/// With varying service times, stalls, a slow start, and rejections.
fn noisy_case(seed: u64) -> Case {
    let mut dice = Dice(seed.wrapping_add(1 << 32));
    let mut case =
        if seed.is_multiple_of(4) { queue(&mut dice, true) } else { noisy_shards(&mut dice) };
    case.hunt.job.seed = 1_000 * seed;
    case
}

/// M/M/c with a p99 bound.
fn queue(dice: &mut Dice, slow_start: bool) -> Case {
    let cores = dice.one_of(&[1_u32, 2, 4]);
    let capacity = dice.between(1_500.0, 3_000.0);
    let mu = capacity / f64::from(cores);
    let bound_s = 100_f64.ln() / mu * dice.between(2.5, 5.0);
    let warm = if slow_start { "&warm=1500ms:3" } else { "" };
    let service_ns = nanos(1.0 / mu).0;
    let url = one_node(&format!("cores={cores}&query={service_ns}ns&service=exp{warm}"));
    let mu = 1e9 / number(service_ns);
    let truth = MMc::rate_meeting_quantile(mu, cores, 0.99, nanos(bound_s).as_secs_f64());
    let mut hunt = Hunt::new(&url, QUERY).p99(bound_s);
    hunt.job.arrivals = Some(Arrivals::Poisson);
    // The queue of the slow start must be drained.
    hunt.job.warm_up = Nanos::from_secs(15);
    hunt.probe = Nanos::from_secs(60);
    hunt.confirm = Nanos::from_secs(240);
    Case { hunt, truth }
}

/// M/D/1 with a p99 bound.
fn constant(dice: &mut Dice) -> Case {
    let service_ns = nanos(1.0 / dice.between(1_500.0, 3_000.0)).0;
    let service_s = number(service_ns) / 1e9;
    let bound_s = service_s * dice.between(6.0, 15.0);
    let url = one_node(&format!("cores=1&query={service_ns}ns&service=constant"));
    let bound = nanos(bound_s).as_secs_f64();
    let truth = MD1::rate_meeting_quantile(service_s, 0.99, bound);
    let mut hunt = Hunt::new(&url, QUERY).p99(bound_s);
    hunt.job.arrivals = Some(Arrivals::Poisson);
    hunt.probe = Nanos::from_secs(60);
    hunt.confirm = Nanos::from_secs(240);
    Case { hunt, truth }
}

/// Inserts into a sharded, replicated cluster, with its sustained rate as the mark.
fn sharded(dice: &mut Dice, more: &str) -> Case {
    let nodes = dice.one_of(&[1_u32, 2, 3, 5, 8]);
    let replicas = dice.one_of(&[0, 1]).min(nodes - 1);
    let shards = nodes * dice.one_of(&[1_u32, 2, 3]);
    let cores = dice.one_of(&[1_u32, 2, 4, 8]);
    // Few rows with much work each: ops matter here, and rows make the test slow.
    let rows = dice.one_of(&[5_u64, 25, 50]);
    let row_us = whole(dice.between(100.0, 800.0));
    let queue = if more.is_empty() { "&queue=inf" } else { "" };
    let url = format!(
        "sim:?nodes={nodes}&cores={cores}&shards={shards}&replicas={replicas}&row={row_us}us{queue}{more}"
    );
    let parameters = SimParameters::parse(&TargetUrl::parse(&url).unwrap().parameters).unwrap();
    let truth = capacity(&parameters, rows, true) * number(rows);
    let mut hunt = Hunt::new(&url, "insert");
    hunt.job.settings = vec![("batch", rows.to_string())];
    // At its limit, a queue of n ops deviates by about √n.
    let ops_per_s = truth / number(rows);
    hunt.probe = nanos((20_000.0 / ops_per_s).clamp(10.0, 900.0));
    hunt.confirm = nanos((40_000.0 / ops_per_s).clamp(10.0, 900.0));
    Case { hunt, truth }
}

/// The same with all disturbances: stalls reduce the capacity.
fn noisy_shards(dice: &mut Dice) -> Case {
    // Of every five seconds, 50 to 100 ms are lost.
    let lost_ms = whole(dice.between(50.0, 100.0));
    let stalls: Vec<String> = (0..190).map(|n| format!("{}s+{lost_ms}ms", 3 + 5 * n)).collect();
    let cv = dice.between(0.3, 1.5);
    let more =
        format!("&queue=2000&warm=1500ms:3&service=lognormal:{cv:.2}&stall={}", stalls.join(","));
    let mut case = sharded(dice, &more);
    case.truth *= 1.0 - number(lost_ms) / 5_000.0;
    case.hunt.objectives = vec![Objective::Rejected { max_ppm: 10_000 }];
    case
}

fn number(n: u64) -> f64 {
    f64::from(u32::try_from(n).unwrap())
}

/// Searches for the marks of all seeds. At least `near` of a hundred must be within 3%, none more than 5% too high,
/// with at most 12 probes in the median and 25 at most.
#[expect(clippy::print_stdout, reason = "the long tests print their figures")]
fn check(seeds: impl Iterator<Item = u64>, of: impl Fn(u64) -> Case, near: usize) {
    let mut errors: Vec<(u64, f64, usize)> = Vec::new();
    let mut said = String::new();
    for seed in seeds {
        let case = of(seed);
        let record = case.hunt.find();
        let search = record.search().unwrap();
        let error = match search.outcome.as_ref().unwrap() {
            SearchOutcome::Mark(mark) => mark.confirmed / case.truth - 1.0,
            SearchOutcome::NoMark(_) => -1.0,
        };
        println!("seed {seed}: {error:+.4} in {} probes", search.probes.len());
        if error.abs() > 0.03 {
            said += &format!("\nseed {seed}: truth {}\n{}", case.truth, report::text(&record));
        }
        errors.push((seed, error, search.probes.len()));
    }
    let within = errors.iter().filter(|(_, e, _)| e.abs() <= 0.03).count();
    let too_high: Vec<u64> =
        errors.iter().filter(|(_, error, _)| *error > 0.05).map(|(seed, _, _)| *seed).collect();
    let mut probes: Vec<usize> = errors.iter().map(|(_, _, probes)| *probes).collect();
    probes.sort_unstable();
    let n = errors.len();
    let sum = format!(
        "{within} of {n} within 3%, median {} probes, worst {}, too high {too_high:?}",
        probes[n / 2],
        probes[n - 1]
    );
    println!("{sum}");
    assert!(within * 100 >= near * n, "{sum}{said}");
    assert!(too_high.is_empty(), "{sum}{said}");
    assert!(probes[n / 2] <= 12, "{sum}");
    assert!(probes[n - 1] <= 25, "{sum}");
}

#[test]
fn the_mark_of_a_few_clusters_is_near_the_truth() {
    check([2, 5].into_iter(), case, 100);
}

#[test]
fn the_mark_of_a_few_noisy_clusters_is_near_the_truth() {
    check(1..2, noisy_case, 100);
}

#[test]
#[ignore = "a quarter of an hour; a hundred clusters"]
fn long_marks_of_a_hundred_clusters_are_near_the_truth() {
    check(0..100, case, 97);
}

#[test]
#[ignore = "a quarter of an hour; a hundred clusters with stalls, a slow start and rejections"]
fn long_marks_of_a_hundred_noisy_clusters_are_near_the_truth() {
    check(0..100, noisy_case, 95);
}

#[test]
fn a_bound_on_the_targets_cpu_is_a_separate_limit() {
    // A thousand evenly spaced queries a second are its core's capacity, so a fraction of its time is that of the rate.
    let mut hunt = thousand();
    hunt.objectives.push(Objective::Cpu { max_ppm: 605_000 });
    let record = hunt.find();
    let found = mark(&record);
    assert!(
        (0.97..=1.01).contains(&(found.confirmed / 605.0)),
        "{found:?}\n{}",
        report::text(&record)
    );
}

#[test]
fn rejections_are_a_limit_of_their_own() {
    // One piece runs and none may wait, so a closed load of 64 sessions is mostly rejected.
    let url = "sim:?nodes=1&shards=1&replicas=0&rtt=0&cores=4&query=4ms&queue=0";
    let mut hunt = Hunt::new(url, QUERY);
    hunt.job.arrivals = Some(Arrivals::Poisson);
    hunt.objectives = vec![Objective::Rejected { max_ppm: 50_000 }];
    hunt.probe = Nanos::from_secs(30);
    hunt.confirm = Nanos::from_secs(60);
    let record = hunt.find();
    // If sessions retried at once, the estimate would see a million rejections.
    let estimate = &record.search().unwrap().probes[0];
    assert_eq!(estimate.purpose, ProbePurpose::Estimate);
    assert!(estimate.failed_ops < 10_000, "{estimate:?}");
    let found = mark(&record);
    // Erlang's B is 5% at 1.525 erlangs of 4 servers; but 99% must be acknowledged, which holds up to 0.869 erlangs.
    let truth = 0.869 / 0.004;
    assert!(
        (found.confirmed / truth - 1.0).abs() < 0.06,
        "{found:?}, truth {truth}\n{}",
        report::text(&record)
    );
}

#[test]
fn sessions_can_be_searched_too() {
    let mut hunt = thousand().p99(0.020_5);
    hunt.axis = SearchAxis::Sessions;
    hunt.first = Some(1.0);
    hunt.job.target = one_node("cores=1&query=1ms&service=constant");
    let record = hunt.find();
    let found = mark(&record);
    // With n sessions at one constant server, each waits n × 1 ms.
    assert!((found.confirmed - 20.0).abs() < 1e-9, "{found:?}");
    assert!((found.failed.unwrap() - 21.0).abs() < 1e-9, "{found:?}");
}

/// One of several nodes that is half as fast, or has more shards, is saturated before the others: the ops that it
/// cannot handle are far less than the 1% of all ops that need not be acknowledged, and its queue grows.
fn hot_node(url: &str, stream: &'static str, seed: u64) -> ExperimentRecord {
    let mut hunt = Hunt::new(url, stream);
    if stream == "insert" {
        hunt.job.settings = vec![("batch", "1".to_owned())];
    }
    hunt.job.arrivals = Some(Arrivals::Poisson);
    hunt.job.sessions = 6_000;
    hunt.job.seed = 1_000 * seed;
    hunt.job.warm_up = Nanos::from_secs(10);
    hunt.probe = Nanos::from_secs(60);
    hunt.confirm = Nanos::from_secs(300);
    hunt.find()
}

#[track_caller]
fn near(record: &ExperimentRecord, truth: f64) {
    let found = mark(record);
    let error = found.confirmed / truth - 1.0;
    assert!((-0.06..=0.02).contains(&error), "{error} of {truth}\n{}", report::text(record));
    let low = found.estimate.unwrap().low90;
    assert!(low <= truth * 1.01, "{found:?}\n{}", report::text(record));
}

#[test]
fn one_node_of_seven_that_does_not_keep_up_bounds_the_mark_of_all() {
    // Two of twelve shards on a node that takes 2 × 4,712 µs for an op: 6 × 106.1 a second.
    let url = "sim:?nodes=7&cores=1&shards=12&replicas=0&request=4689us&row=23us&rtt=100us&queue=inf&slow_node=4:0.5";
    for seed in 1..=4 {
        near(&hot_node(url, "insert", seed), 636.7);
    }
}

#[test]
fn one_node_of_twenty_that_does_not_keep_up_bounds_the_mark_of_all() {
    let url = "sim:?nodes=20&cores=1&shards=20&replicas=0&query=20ms&queue=inf&slow_node=3:0.5";
    near(&hot_node(url, QUERY, 1), 500.0);
}

/// Each of 512 sessions waits for all others, which takes longer than an op may: closed load answers nothing at first.
#[test]
fn closed_load_that_times_out_is_tried_with_fewer_sessions() {
    let mut hunt = thousand();
    hunt.job.target = one_node("cores=1&query=10ms&service=constant");
    hunt.job.timeout = Nanos::from_millis(500);
    hunt.closed_sessions = 512;
    hunt.objectives.push(Objective::Errors { max_ppm: 10_000 });
    let record = hunt.find();
    let found = mark(&record);
    assert!((0.9..=1.03).contains(&(found.confirmed / 100.0)), "{}", report::text(&record));
    let estimates: Vec<f64> = probes(&record)
        .iter()
        .filter(|probe| probe.purpose == ProbePurpose::Estimate)
        .map(|probe| probe.at)
        .collect();
    assert_eq!(estimates, [512.0, 64.0, 8.0][..estimates.len()]);
    assert!(estimates.len() > 1, "{}", report::text(&record));
}
