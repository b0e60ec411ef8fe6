//! The cluster's rules, each in the smallest model that shows it; times calculated by hand.

use std::sync::Arc;

use highwater_model::outcome::{Certainty, ErrorClass, Outcome};
use highwater_model::units::{Nanos, Seed};

use super::super::capacity;
use super::super::cluster::{Cluster, SimOp, Work};
use super::{Clock, connect, insert, ms, parse, ready, workload};
use highwater_driver::contract::BoxFuture;

const CONSTANT: &str = "service=constant&rtt=0&replicas=0&query=10ms";

fn cluster(query: &str) -> Cluster {
    let parameters = parse(&format!("{CONSTANT}&{query}")).unwrap();
    let mut cluster = Cluster::new(Arc::new(parameters), Seed(3));
    cluster.create_table(&workload(), 0);
    cluster
}

/// Sends a query at this millisecond; returns when the response arrives, and the outcome.
fn query_at(cluster: &mut Cluster, millis: u64) -> (Nanos, Outcome) {
    submit_at(cluster, millis, Work::Query)
}

fn insert_at(cluster: &mut Cluster, millis: u64, rows: u64) -> (Nanos, Outcome) {
    let work = Work::Insert { table: 0, first_row: 0, rows };
    submit_at(cluster, millis, work)
}

fn submit_at(cluster: &mut Cluster, millis: u64, work: Work) -> (Nanos, Outcome) {
    let op = SimOp { position: 0, index: millis, work };
    let answer = cluster.submit(ms(millis), &op).unwrap();
    (answer.at, answer.outcome)
}

fn is_rejected((_, outcome): &(Nanos, Outcome)) -> bool {
    outcome.certainty == Certainty::NotApplied
        && outcome.error.as_ref().unwrap().class == ErrorClass::Rejected
        && outcome.session_usable
}

#[test]
fn work_waits_for_a_core_in_order_of_arrival() {
    let mut two = cluster("nodes=1&cores=2&shards=1");
    let ends: Vec<Nanos> = [0, 1, 2, 3, 25].map(|at| query_at(&mut two, at).0).to_vec();
    assert_eq!(ends, [ms(10), ms(11), ms(20), ms(21), ms(35)]);
}

#[test]
fn the_round_trip_is_added_to_a_response() {
    let mut far = cluster("nodes=1&cores=1&shards=1&rtt=3ms");
    assert_eq!(query_at(&mut far, 0), (ms(13), Outcome::answered(1, 128)));
    // The core was idle again before the response arrived.
    assert_eq!(query_at(&mut far, 11).0, ms(24));
}

#[test]
fn a_piece_that_finds_the_queue_full_is_rejected() {
    let mut one = cluster("nodes=1&cores=1&shards=1&queue=2&rtt=1ms");
    let answers: Vec<_> = (0..5).map(|_| query_at(&mut one, 0)).collect();
    assert_eq!(answers[2].0, ms(31));
    assert!(!is_rejected(&answers[2]));
    assert!(is_rejected(&answers[3]) && is_rejected(&answers[4]));
    // A round trip, and a tenth of its work.
    assert_eq!(answers[3].0, ms(2));
    assert_eq!(one.planted().rejected_ops, 2);
    // At 10 ms a waiting query starts, so one more is accepted, which ends at 40 ms.
    assert!(is_rejected(&query_at(&mut one, 9)));
    assert_eq!(query_at(&mut one, 10).0, ms(41));
    assert!(is_rejected(&query_at(&mut one, 10)));
}

#[test]
fn without_a_queue_only_idle_cores_take_work() {
    let mut none = cluster("nodes=1&cores=2&shards=1&queue=0");
    assert!(!is_rejected(&query_at(&mut none, 0)));
    assert!(!is_rejected(&query_at(&mut none, 0)));
    assert!(is_rejected(&query_at(&mut none, 0)));
    assert!(!is_rejected(&query_at(&mut none, 10)));
}

#[test]
fn an_insert_is_rejected_completely_and_costs_nothing() {
    // Two shards on two nodes; a single row loads one node until its queue is full.
    let mut two = cluster("nodes=2&cores=1&shards=2&queue=1&request=10ms&row=0");
    let mut singles = 0;
    while !is_rejected(&insert_at(&mut two, singles, 1)) {
        singles += 1;
    }
    let busy_until = two.busy_until();
    let stored = two.table("readings").unwrap().stored;
    let refused = insert_at(&mut two, 5, 2);
    assert!(is_rejected(&refused));
    assert_eq!(refused.1.rows_refused, 2);
    assert_eq!(two.busy_until(), busy_until);
    assert_eq!(two.table("readings").unwrap().stored, stored);
    // Only its sender waits, until it is received and read: a tenth of its work after the round trip.
    let waited = refused.0.saturating_sub(ms(5));
    assert!(waited >= ms(1) && waited < Nanos::from_micros(1_100), "{waited:?}");
}

#[test]
fn a_stall_prolongs_running_work_and_delays_pending_work() {
    let stalls = "nodes=1&shards=1&stall=5ms+20ms,38ms+1s";
    let mut two = cluster(&format!("{stalls}&cores=2"));
    // Five of its ten milliseconds are done when the stall begins.
    assert_eq!(query_at(&mut two, 0).0, ms(30));
    // A core is idle, but starts only when the stall ends.
    assert_eq!(query_at(&mut two, 6).0, ms(35));
    // Starts at 30 ms on the first core; 8 ms are done when the second stall begins.
    assert_eq!(query_at(&mut two, 7).0, ms(1_040));

    let mut full = cluster(&format!("{stalls}&cores=4&queue=1"));
    assert!(!is_rejected(&query_at(&mut full, 6)));
    assert!(is_rejected(&query_at(&mut full, 6)), "an idle core starts nothing in a stall");
    assert!(!is_rejected(&query_at(&mut full, 25)));

    let mut endless = cluster(&format!("{stalls}&cores=inf&queue=1"));
    assert_eq!(query_at(&mut endless, 6).0, ms(35));
    assert!(is_rejected(&query_at(&mut endless, 6)));
}

#[test]
fn work_that_ends_as_a_stall_begins_is_not_prolonged() {
    let mut one = cluster("nodes=1&cores=1&shards=1&stall=10ms+5ms");
    assert_eq!(query_at(&mut one, 0).0, ms(10));
    assert_eq!(query_at(&mut one, 10).0, ms(25));
}

#[test]
fn replicas_work_on_other_nodes_at_their_own_cost() {
    let mut copies =
        cluster("nodes=2&cores=1&shards=1&replicas=1&replica_cost=3&request=1ms&row=100us");
    // Primary 2 ms, replica 6 ms; the op is done when both are.
    assert_eq!(insert_at(&mut copies, 0, 10).0, ms(6));
    assert_eq!(insert_at(&mut copies, 0, 10).0, ms(12));
    assert_eq!(copies.table("readings").unwrap().stored, 20);
}

#[test]
fn rows_are_dealt_evenly_to_the_shards() {
    // 10 rows on 4 shards: two pieces of 3 rows, two of 2; all shards on one node of 4 cores.
    let mut four = cluster("nodes=1&cores=4&shards=4&request=0&row=1ms");
    assert_eq!(insert_at(&mut four, 0, 10).0, ms(3));
    // 2 rows make two pieces only.
    let mut two = cluster("nodes=1&cores=2&shards=4&request=5ms&row=0");
    assert_eq!(insert_at(&mut two, 0, 2).0, ms(5));
    // No rows still make one request.
    assert_eq!(insert_at(&mut two, 10, 0).0, ms(15));
}

#[test]
fn a_hot_shard_also_gets_its_part_of_the_rows() {
    // Of 20 rows, 10 go to shard 0, the others to all four: 13 and 2 or 3 of 1 ms, one node each.
    let mut four = cluster("nodes=4&cores=1&shards=4&request=0&row=1ms&hot_shard=0.5");
    let ends = (0..20).map(|op| insert_at(&mut four, 1_000 * op, 20).0.0 - 1_000_000_000 * op);
    let ends: Vec<u64> = ends.map(|ns| ns / 1_000_000).collect();
    assert!(ends.iter().all(|ms| (12..=13).contains(ms)), "{ends:?}");
    let capacity = |query: &str| {
        let parameters = parse(&format!("{CONSTANT}&request=0&row=1ms&{query}")).unwrap();
        capacity(&parameters, 20, true) * 20.0
    };
    // Amdahl's law: 4 / (1 + 0.5 × 3) nodes of 1,000 rows per second.
    let hot = capacity("nodes=4&cores=1&shards=4&hot_shard=0.5");
    assert!((hot - 1_600.0).abs() < 1e-6, "{hot}");
    let none_left = capacity("nodes=4&cores=1&shards=4&hot_shard=1");
    assert!((none_left - 1_000.0).abs() < 1e-6, "{none_left}");
    // A few hot rows are a separate piece if shard 0 gets no other row.
    let mut alone = cluster("nodes=4&cores=1&shards=4&request=0&row=1ms&hot_shard=1");
    assert_eq!(insert_at(&mut alone, 0, 2).0, ms(2));
    assert_eq!(insert_at(&mut alone, 0, 2).0, ms(4));
}

#[test]
fn ops_pass_a_load_generator_one_after_the_other() {
    let mut slow = cluster("nodes=1&cores=1&shards=1&client=1000");
    assert_eq!(slow.sent(ms(0), 20), ms(20));
    assert_eq!(slow.sent(ms(5), 10), ms(30));
    assert_eq!(slow.sent(ms(100), 0), ms(101), "a query counts as a row");
    assert_eq!(cluster("nodes=1&shards=1").sent(ms(7), 20), ms(7));
}

#[test]
fn inserts_hold_a_lock_one_after_the_other() {
    let of = |words: &str| cluster(&format!("nodes=1&cores=1&shards=1{words}"));
    let op = |work| SimOp { position: 0, index: 0, work };
    let insert = op(Work::Insert { table: 0, first_row: 0, rows: 20 });
    let mut locked = of("&lock=10ms");
    for expected in [10, 20, 30] {
        assert_eq!(locked.unlocked(ms(0), &insert), ms(expected));
    }
    assert_eq!(locked.waiting_for_lock(ms(5)), Some(2));
    assert_eq!(locked.waiting_for_lock(ms(15)), Some(1));
    assert_eq!(locked.unlocked(ms(100), &insert), ms(110));
    assert_eq!(locked.unlocked(ms(100), &op(Work::Query)), ms(100));
    let mut free = of("");
    assert_eq!(free.unlocked(ms(7), &insert), ms(7));
    assert_eq!(free.waiting_for_lock(ms(7)), None);
    let parameters = parse("cores=inf&lock=10ms").unwrap();
    assert!((capacity(&parameters, 20, true) - 100.0).abs() < 1e-9);
    assert!(capacity(&parameters, 20, false).is_infinite());
}

#[test]
fn a_slow_node_takes_longer() {
    let mut slow = cluster("nodes=1&cores=1&shards=1&slow_node=1:0.5");
    assert_eq!(query_at(&mut slow, 0).0, ms(20));
}

#[test]
fn warming_up_is_slower_by_a_factor_that_falls_to_one() {
    let mut cold = cluster("nodes=1&cores=1&shards=1&warm=10s:3");
    assert_eq!(query_at(&mut cold, 0).0, ms(30));
    assert_eq!(query_at(&mut cold, 5_000).0, ms(5_020));
    assert_eq!(query_at(&mut cold, 10_000).0, ms(10_010));
}

#[test]
fn a_free_model_still_takes_time() {
    let mut free = cluster("nodes=1&cores=1&shards=1&query=0");
    assert_eq!(query_at(&mut free, 7).0, ms(7) + Nanos::from_micros(1));
}

#[test]
fn ops_in_flight_when_the_target_dies_are_unknown() {
    let mut dying = cluster("nodes=1&cores=1&shards=1&request=10ms&row=0&die=25ms&rtt=1ms");
    assert_eq!(insert_at(&mut dying, 0, 1).1, Outcome::applied(1));
    // Ends at 20 ms, and the response arrives in time.
    assert_eq!(insert_at(&mut dying, 5, 1).1, Outcome::applied(1));
    let (at, outcome) = insert_at(&mut dying, 6, 1);
    assert_eq!((at, outcome.certainty), (ms(25), Certainty::Unknown));
    let (at, outcome) = insert_at(&mut dying, 30, 1);
    assert_eq!((at, outcome.certainty), (ms(31), Certainty::Unknown));
    assert!(!outcome.session_usable);
    assert_eq!(dying.table("readings").unwrap().stored, 2);
}

#[test]
fn a_closed_load_of_many_sessions_reaches_the_capacity() {
    for query in ["", "service=lognormal:2", "slow_node=1:0.5", "nodes=5&shards=7&replicas=2"] {
        let query = format!("{query}&queue=inf");
        let (sessions, ops) = (64_u64, 80_u64);
        let clock = Clock::default();
        let target = ready(&query, &clock);
        let op = |session: u64| -> BoxFuture<'_, ()> {
            let (target, clock) = (&target, &clock);
            Box::pin(async move {
                let mut connection = connect(target, clock).await;
                for round in 0..ops {
                    let number = round * sessions + session;
                    let mut op = insert(number, number * 1_000, 1_000);
                    assert_eq!(connection.execute(&mut op).await, Outcome::applied(1_000));
                }
            })
        };
        clock.run((0..sessions).map(op).collect());
        let rate =
            f64::from(u32::try_from(sessions * ops).unwrap()) / clock.0.now.get().as_secs_f64();
        let truth = capacity(target.parameters(), 1_000, true);
        // The busiest node idles only at the start and the end, for about one op of 64 each.
        assert!((0.9..=1.02).contains(&(rate / truth)), "{query}: {rate} ops/s of {truth}");
    }
}
