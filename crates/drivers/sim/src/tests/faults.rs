//! Planted faults: counted exactly, found again, and independent of session and order.

use std::cell::RefCell;
use std::collections::BTreeMap;

use highwater_model::outcome::{Certainty, ErrorClass, Outcome};
use highwater_model::units::{Nanos, Seed};

use super::super::{PlantedFaults, SimTarget};
use super::{Clock, connect, counts, found, insert, ms, query, ready, target, try_connect};
use highwater_driver::TablePolicy;
use highwater_driver::contract::{BoxFuture, Target};
use highwater_model::user_error::UserErrorKind;

const BATCHES: u64 = 400;
const ROWS: u64 = 1_000;

/// Loads 400 batches of 1,000 rows, each sent once, and returns the outcomes by batch. A lost session is reopened.
fn load(target: &SimTarget, clock: &Clock, sessions: u64) -> BTreeMap<u64, Outcome> {
    let outcomes = RefCell::new(BTreeMap::new());
    let op = |session: u64| -> BoxFuture<'_, ()> {
        let outcomes = &outcomes;
        Box::pin(async move {
            let mut connection = connect(target, clock).await;
            for batch in (session..BATCHES).step_by(usize::try_from(sessions).unwrap()) {
                let rows = usize::try_from(ROWS).unwrap();
                let outcome = connection.execute(&mut insert(batch, batch * ROWS, rows)).await;
                if !outcome.session_usable {
                    connection = connect(target, clock).await;
                }
                outcomes.borrow_mut().insert(batch, outcome);
            }
        })
    };
    clock.run((0..sessions).map(op).collect());
    outcomes.into_inner()
}

fn unknown(outcomes: &BTreeMap<u64, Outcome>) -> u64 {
    let cut = |outcome: &&Outcome| {
        outcome.certainty == Certainty::Unknown
            && outcome.error.as_ref().unwrap().class == ErrorClass::Connection
    };
    outcomes.values().filter(cut).count() as u64
}

#[test]
fn a_faithful_cluster_stores_what_it_acknowledges() {
    let clock = Clock::default();
    let target = ready("", &clock);
    let outcomes = load(&target, &clock, 8);
    assert!(outcomes.values().all(|outcome| *outcome == Outcome::applied(ROWS)));
    let per_bucket: Vec<(u64, u64)> = (0..4).map(|bucket| (bucket, 100_000)).collect();
    assert_eq!(clock.block_on(counts(&target, &clock, 100_000)), per_bucket);
    assert_eq!(target.planted(), PlantedFaults::default());
}

#[test]
fn dropped_and_duplicated_rows_are_found_to_the_row() {
    let clock = Clock::default();
    let target = ready("drop=0.01&duplicate=0.002", &clock);
    let outcomes = load(&target, &clock, 8);
    assert!(outcomes.values().all(|outcome| *outcome == Outcome::applied(ROWS)));
    let planted = target.planted();
    // Binomial: 4,000 ± 63 and, of the rest, 792 ± 28; five standard deviations.
    assert!(planted.dropped_rows.abs_diff(4_000) < 315, "{planted:?}");
    assert!(planted.duplicated_rows.abs_diff(792) < 140, "{planted:?}");
    let stored = BATCHES * ROWS - planted.dropped_rows + planted.duplicated_rows;
    assert_eq!(clock.block_on(found(&target, &clock)), stored);
    let single = clock.block_on(counts(&target, &clock, 1));
    let doubled = single.iter().filter(|(_, rows)| *rows == 2).count() as u64;
    assert_eq!(doubled, planted.duplicated_rows);
    assert_eq!(single.len() as u64, BATCHES * ROWS - planted.dropped_rows);
}

#[test]
fn an_op_whose_acknowledgement_is_lost_was_applied() {
    let clock = Clock::default();
    let target = ready("lose_ack=0.05", &clock);
    let outcomes = load(&target, &clock, 8);
    let planted = target.planted();
    assert!(planted.lost_acks > 0);
    assert_eq!(planted.lost_acks, unknown(&outcomes));
    assert_eq!(planted.lost_ack_rows, planted.lost_acks * ROWS);
    assert_eq!(clock.block_on(found(&target, &clock)), BATCHES * ROWS);
}

#[test]
fn an_op_whose_connection_fails_was_not_applied() {
    let clock = Clock::default();
    let target = ready("fail=0.05", &clock);
    let outcomes = load(&target, &clock, 8);
    let planted = target.planted();
    assert!(planted.failed_ops > 0);
    assert_eq!(planted.failed_ops, unknown(&outcomes));
    let stored = (BATCHES - planted.failed_ops) * ROWS;
    assert_eq!(clock.block_on(found(&target, &clock)), stored);
}

#[test]
fn a_retry_samples_new_numbers_and_stores_again() {
    let clock = Clock::default();
    let target = ready("lose_ack=0.5", &clock);
    let mut tries = 0;
    clock.block_on(async {
        for batch in 0..20 {
            loop {
                let mut session = connect(&target, &clock).await;
                tries += 1;
                if session.execute(&mut insert(batch, batch * 10, 10)).await.is_success() {
                    break;
                }
            }
        }
    });
    assert_eq!(target.planted().lost_acks, tries - 20);
    assert!(tries > 20);
    assert_eq!(clock.block_on(found(&target, &clock)), tries * 10);
}

/// The time and outcome of each of 200 ops that arrive every 2 ms, with one session per op.
fn answers(
    seed: u64,
    order: impl Fn(u64) -> u64,
) -> (BTreeMap<u64, (Nanos, Outcome)>, PlantedFaults) {
    let clock = Clock::default();
    let target = target("drop=0.01&lose_ack=0.1&fail=0.1&query=8ms&cores=2", seed);
    clock.block_on(async {
        let mut admin = super::administer(&target, &clock).await;
        admin.create_tables(&super::workload(), &TablePolicy::new("f", Seed(1))).await.unwrap();
    });
    let answers = RefCell::new(BTreeMap::new());
    let op = |task: u64| -> BoxFuture<'_, ()> {
        let (target, clock, answers) = (&target, &clock, &answers);
        let op = order(task);
        Box::pin(async move {
            let mut session = connect(target, clock).await;
            clock.timeline().sleep_until(ms(10 + 2 * op)).await;
            let mut request =
                if op.is_multiple_of(3) { query(op) } else { insert(op, op * 100, 100) };
            let outcome = session.execute(&mut request).await;
            let answered = clock.timeline().now();
            answers.borrow_mut().insert(op, (answered, outcome));
        })
    };
    clock.run((0..200).map(op).collect());
    let planted = target.planted();
    (answers.into_inner(), planted)
}

#[test]
fn responses_depend_on_seed_and_ops_but_not_on_the_session() {
    let in_order = answers(1, |task| task);
    assert_eq!(in_order, answers(1, |task| 199 - task));
    assert_eq!(in_order, answers(1, |task| task * 37 % 200));
    assert_ne!(in_order, answers(2, |task| task));
    let (_, planted) = in_order;
    assert!(planted.lost_acks > 0 && planted.failed_ops > 0 && planted.dropped_rows > 0);
}

#[test]
fn lost_rows_and_acknowledgements_do_not_depend_on_concurrency() {
    let planted = |sessions| {
        let clock = Clock::default();
        let target = ready("drop=0.01&duplicate=0.01&lose_ack=0.05", &clock);
        let lost = load(&target, &clock, sessions);
        let lost: Vec<u64> = lost
            .iter()
            .filter_map(|(batch, outcome)| (!outcome.is_success()).then_some(*batch))
            .collect();
        let rows = clock.block_on(counts(&target, &clock, 1));
        (target.planted(), lost, rows)
    };
    assert_eq!(planted(1), planted(13));
}

#[test]
fn a_dead_target_refuses_connections_and_administration() {
    let clock = Clock::default();
    let target = ready("die=50ms", &clock);
    clock.block_on(async {
        let mut session = connect(&target, &clock).await;
        let mut admin = super::administer(&target, &clock).await;
        clock.timeline().sleep_until(ms(60)).await;
        let outcome = session.execute(&mut insert(0, 0, 10)).await;
        assert_eq!(outcome.certainty, Certainty::Unknown);
        let refused = try_connect(&target, &clock).await.err().unwrap();
        assert_eq!(refused.kind, UserErrorKind::Unreachable);
        let refused = target.administer(clock.timeline()).await.err().unwrap();
        assert_eq!(refused.kind, UserErrorKind::Unreachable);
        let refused = admin.facts().await.unwrap_err();
        assert_eq!(refused.kind, UserErrorKind::Unreachable);
    });
}
