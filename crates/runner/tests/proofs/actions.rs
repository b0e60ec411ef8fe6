//! Planned actions on the simulated cluster, whose effects are known: how deep the load fell, when it had recovered,
//! which rows were lost; and that nothing of this is reported where nothing happened.

use std::fmt::Write as _;

use highwater_analysis::availability::{Dip, fault_effects};
use highwater_driver::target_url::TargetUrl;
use highwater_driver_sim::SimTarget;
use highwater_model::judgment::Data;
use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::plan::Arrivals;
use highwater_model::record::AuditStatus;
use highwater_model::units::{Nanos, Seed};
use highwater_workload::random::Draws;

use crate::support::{Job, exit_code, open};

/// The true effect of an action, in seconds from it.
#[derive(Debug)]
struct Truth {
    /// Until the offered rate is served again; absent if it never is.
    again: Option<f64>,
    /// Until the queue is empty: at the earliest, and at the latest.
    empty: [f64; 2],
    /// The lowest fraction of the offered rate that is served.
    lowest: f64,
    /// Ops per second, and those that all nodes serve.
    rate: f64,
    capacity: f64,
}

/// Draws below a bound, one after the other.
fn draws(seed: u64) -> impl FnMut(u64) -> u64 {
    let draws = Draws::new(Seed(seed), &["actions"]);
    let mut next = 0;
    move |below| {
        next += 1;
        draws.below(next, below)
    }
}

fn job(seed: u64, parameters: &str, op: &'static str, per_s: u64) -> Job {
    let target = format!("sim:?cores=1&rtt=0&row=0&queue=inf&{parameters}");
    let mut job = Job::new(&target, &[(op, open(per_s))]);
    job.seed = seed;
    job.sessions = 512;
    job.arrivals = Some(Arrivals::Constant);
    job.step = Nanos::from_secs(45);
    job
}

/// Inserts into all nodes, which wait for one that is away.
fn outage(seed: u64) -> (Job, Truth) {
    let mut draw = draws(seed);
    let (nodes, rate) = (2 + draw(4), 30 + draw(150));
    // 1.4 to 4 times the rate.
    let capacity = rate * (14 + draw(27)) / 10;
    let (node, at, length, start) =
        (1 + draw(nodes), 4_000 + draw(5_000), 1_400 + draw(3_600), 200 + draw(800));
    let kind = seed % 6;
    let mut lowest = 0.0;
    let copies = if matches!(kind, 1 | 2) { 1 } else { 2 };
    let mut parameters = format!(
        "nodes={nodes}&shards={nodes}&replicas={}&service=constant&request={}ns&start={start}ms",
        copies - 1,
        1_000_000_000 / (copies * capacity)
    );
    let [lasts, ops, served] = [to_f64(length) / 1e3, to_f64(rate), to_f64(capacity)];
    let emptied = lasts * served / (served - ops);
    let kill_and_start =
        format!("kill node {node} at {at}ms, start it at {}ms", at + length - start);
    let (faults, again, empty) = match kind {
        // The others do without it after a failover.
        0 => {
            write!(parameters, "&failover={length}ms&lag=400ms").unwrap();
            let late = format!("kill node {node} at {at}ms, start it at {}ms", at + 12_000);
            (late, Some(lasts), emptied)
        }
        // No other has its rows, so that ops fail until it is back.
        1 => {
            parameters.push_str("&failover=300ms");
            (kill_and_start, Some(lasts), lasts)
        }
        2 => (format!("kill node {node} at {at}ms"), None, lasts),
        3 => (format!("pause node {node} for {length}ms at {at}ms"), Some(lasts), emptied),
        // Its node serves a part of the rate.
        4 => {
            lowest = to_f64(30 + draw(35)) / 100.0;
            let part = lowest * ops / served;
            let what = format!("throttle cpu of node {node} to {part:.4} for {length}ms at {at}ms");
            (what, Some(lasts), lasts + lasts * (1.0 - lowest) * ops / (served - ops))
        }
        // Back before the others do without it.
        _ => {
            parameters.push_str("&failover=30s");
            (kill_and_start, Some(lasts), emptied)
        }
    };
    // Ten rows an op.
    let job = Job { faults, ..job(seed, &parameters, "insert", 10 * rate) };
    (job, Truth { again, empty: [empty; 2], lowest, rate: ops, capacity: served })
}

/// Queries, of which the nodes that are left serve a part of the rate, and while they rebuild copies another one.
fn overload(seed: u64) -> (Job, Truth) {
    let mut draw = draws(seed);
    let (nodes, rate, length) = (2_u64, 100 + draw(150), 2 + draw(3));
    let capacity = rate * (120 + draw(15)) / 100;
    let [rate, capacity, length, nodes_up] = [rate, capacity, length, nodes - 1].map(to_f64);
    let left = capacity * nodes_up / to_f64(nodes) / rate;
    let rebuild = to_f64(2 * draw(2));
    let left_in_rebuild = to_f64(40 + draw(25)) / 100.0;
    let mut parameters = format!(
        "nodes={nodes}&service=constant&query={}ns&start=0&failover=0",
        nodes * 1_000_000_000 / round_to_u64(capacity)
    );
    let lowest = if rebuild > 0.0 {
        let share = 1.0 - left_in_rebuild * rate / capacity;
        write!(parameters, "&rebuild={rebuild}s:{share:.4}").unwrap();
        left.min(left_in_rebuild)
    } else {
        left
    };
    let waiting = rate * (length * (1.0 - left) + rebuild * (1.0 - left_in_rebuild));
    let faults = format!("kill node 1 at 5s, start it at {}s", 5.0 + length);
    let per_s = round_to_u64(rate);
    let job = Job { faults, ..job(seed, &parameters, "latest-metrics", per_s) };
    let again = length + rebuild;
    // What waits at the node that was left is not served by the other one, and its further queries are random.
    let empty = [again + waiting / (capacity - rate), f64::INFINITY];
    (job, Truth { again: Some(again), empty, lowest, rate, capacity })
}

impl Truth {
    fn check(&self, dip: &Dip, case: &str) {
        let case = format!("{case}: {self:?}, {dip:?}");
        // 300 ms and two arrivals.
        let off = 0.3 + 2.0 / self.rate;
        let seconds = |ns: Option<u64>| ns.map(|ns| Nanos(ns).as_secs_f64());
        assert!((dip.lowest - self.lowest).abs() <= 0.03, "{case}");
        let Some(again) = self.again else {
            assert_eq!((dip.rate_again_ns, dip.recovered_ns), (None, None), "{case}");
            return;
        };
        let seen = seconds(dip.rate_again_ns).unwrap_or_else(|| panic!("{case}"));
        assert!((seen - again).abs() <= off, "{case}");
        // Caught up means that no more wait than the ops of 100 ms and two.
        let near = (0.1 * self.rate + 2.0) / (self.capacity - self.rate);
        let seen = seconds(dip.recovered_ns).unwrap_or_else(|| panic!("{case}"));
        let [least, most] = self.empty;
        assert!((least - near - off..=most + off).contains(&seen), "{case}");
    }
}

#[test]
fn the_figures_of_a_fault_are_its_truth() {
    let mut lost = 0;
    for seed in 0..100 {
        let (job, truth) = if seed % 4 == 3 { overload(seed) } else { outage(seed) };
        let case = format!("{seed}: {} on {}", job.faults, job.target);
        let root = tempfile::tempdir().unwrap();
        let url = TargetUrl::parse(&job.target).unwrap();
        let target = std::sync::Arc::new(SimTarget::open(&url, Seed(seed)).unwrap());
        let end = job.run_on(target.clone(), root.path());
        let effects = fault_effects(&end.record);
        let dip = effects[0].dip.unwrap_or_else(|| panic!("{case}: {effects:?}"));
        truth.check(&dip, &case);
        assert!(effects.iter().all(|effect| effect.failed.is_none()), "{case}: {effects:?}");
        assert!(effects.iter().skip(1).all(|effect| effect.dip.is_none()), "{case}: {effects:?}");
        // All rows that a kill lost, and no others.
        let planted = target.planted().lost_rows;
        lost += planted;
        if end.record.audit.status == AuditStatus::Done {
            assert_eq!(end.record.audit.missing, planted, "{case}");
        }
        if planted > 0 {
            assert_eq!(end.record.judgments.data.value, Data::Lost, "{case}");
            assert_eq!(exit_code(&end), 4, "{case}");
        }
    }
    assert!(lost > 0);
}

/// A pause of a nanosecond, which nothing can notice.
#[test]
fn the_noise_of_an_undisturbed_run_is_never_a_fault() {
    for seed in 0..100 {
        let mut draw = draws(seed);
        let (nodes, rate, busy) = (1 + draw(4), 20 + draw(200), 20 + draw(40));
        let parameters = format!(
            "nodes={nodes}&replicas=0&service=exp&query={}ns",
            nodes * busy * 10_000_000 / rate
        );
        let mut job = job(seed, &parameters, "latest-metrics", rate);
        job.step = Nanos::from_secs(25);
        job.arrivals = (seed % 2 == 0).then_some(Arrivals::Poisson);
        job.faults = format!("pause node 1 for 1ns at {}s", 2 + draw(15));
        let end = job.run();
        let effects = fault_effects(&end.record);
        assert_eq!(effects.len(), 1, "{seed}");
        assert!(effects[0].dip.is_none() && effects[0].failed.is_none(), "{seed}: {effects:?}");
    }
}
