//! Transfers between accounts, as in pgbench's tpcb-like script: the tables contain exactly what was acknowledged.

use std::collections::BTreeMap;

use highwater_model::record::RunRecord;
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::called::{Place, record, split};

/// Larger deltas are rejected by the history table, in the last statement.
const TABLES: &str = "
    CREATE TABLE accounts (aid INTEGER PRIMARY KEY, abalance BIGINT NOT NULL);
    CREATE TABLE tellers (tid INTEGER PRIMARY KEY, tbalance BIGINT NOT NULL);
    CREATE TABLE branches (bid INTEGER PRIMARY KEY, bbalance BIGINT NOT NULL);
    CREATE TABLE history (tid INTEGER, bid INTEGER, aid INTEGER,
        delta BIGINT CHECK (delta BETWEEN -4000 AND 4000));
    INSERT INTO accounts WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
        WHERE i < 1000) SELECT i, 0 FROM n;
    INSERT INTO tellers SELECT aid, 0 FROM accounts WHERE aid <= 10;
    INSERT INTO branches VALUES (1, 0);";

const TRANSFER: &str = "\\set aid random(1, 1000 * :scale)
\\set bid random(1, 1 * :scale)
\\set tid random(1, 10 * :scale)
\\set delta random(-5000, 5000)
BEGIN;
UPDATE accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM accounts WHERE aid = :aid;
UPDATE tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO history (tid, bid, aid, delta) VALUES (:tid, :bid, :aid, :delta);
END;
";

/// The history, and the four sums, which must be equal.
const SUMS: &str = "(SELECT count(*) FROM history) || ' '
    || (SELECT sum(delta) FROM history) || ' ' || (SELECT sum(abalance) FROM accounts) || ' '
    || (SELECT sum(tbalance) FROM tellers) || ' ' || (SELECT sum(bbalance) FROM branches)";

/// Acknowledged ops, failed ops by class, and rows of the responses.
fn counted(record: &RunRecord) -> (u64, BTreeMap<String, u64>, u64) {
    let mut counted = (0, BTreeMap::new(), 0);
    for result in &record.results {
        counted.0 += result.acknowledged;
        counted.2 += result.response_rows;
        for (class, count) in &result.errors {
            *counted.1.entry(class.clone()).or_insert(0) += count;
        }
    }
    counted
}

/// Runs the transfers, and compares the tables with the acknowledged ops.
fn expect_sums_that_agree(place: &Place, target: &str, sums: impl Fn() -> String) -> RunRecord {
    place.file("transfer.sql", TRANSFER);
    let words = ["run", "-f", "transfer.sql", "--set", "scale=1", target];
    let rest = split("-c 6 -d 3s --warm-up 0s --audit off --retries 20 --json");
    let called = place.call(&[&words[..], &rest].concat());
    let record = record(&called);
    let (acknowledged, errors, answered) = counted(&record);
    let sums = sums();
    let numbers: Vec<i64> = sums.split(' ').map(|n| n.parse().unwrap()).collect();
    let [history, deltas @ ..] = numbers.as_slice() else {
        panic!("{sums}");
    };
    assert!(acknowledged > 100, "{called:?}");
    assert_eq!(u64::try_from(*history).unwrap(), acknowledged, "{errors:?}");
    assert!(deltas.iter().all(|sum| *sum == deltas[0]), "{sums}");
    // One in five is rejected by the last statement; its updates are rolled back, and it counts as this error.
    assert_eq!(errors.keys().collect::<Vec<_>>(), ["constraint"]);
    let all = acknowledged + errors["constraint"];
    assert!(errors["constraint"] * 10 > all, "{errors:?} of {all}");
    assert!(errors["constraint"] * 10 < all * 3, "{errors:?} of {all}");
    // The select of the rejected ones got a response, too.
    assert!(answered >= acknowledged, "{answered}");
    record
}

#[test]
fn transfers_on_sqlite_add_up() {
    let place = Place::new();
    place.database("bank.db", TABLES);
    expect_sums_that_agree(&place, "sqlite:bank.db", || place.query("bank.db", SUMS));
}

#[test]
fn transfers_on_postgresql_add_up_and_are_retried_on_conflicts() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    server.sql("postgres", TABLES);
    let place = Place::new();
    // Serializable transactions on one branch: most of them collide (40001), and succeed with retries.
    let url = format!(
        "{}?options=-cdefault_transaction_isolation%3Dserializable",
        server.url(SUPERUSER, "postgres")
    );
    let sums = || server.sql("postgres", &format!("SELECT {SUMS}"));
    let record = expect_sums_that_agree(&place, &url, sums);
    let retries: u64 = record.results.iter().map(|result| result.retries).sum();
    assert!(retries > 0, "{retries}");
}

/// Three in four pay and are kept; of the others, a payment is rolled back as ordered.
const PAYMENT: &str = "\\set aid random(1, 1000)
\\set delta random(1, 4000)
\\set n random(1, 4)
BEGIN;
INSERT INTO history (aid, delta) VALUES (:aid, :delta);
\\if :n = 1
ROLLBACK;
\\else
UPDATE accounts SET abalance = abalance + :delta WHERE aid = :aid;
COMMIT;
\\endif
";

/// Runs the payments, and compares the tables with the ops that were acknowledged and not rolled back.
fn expect_payments_that_agree(place: &Place, target: &str, sums: impl Fn() -> String) {
    place.file("payment.sql", PAYMENT);
    let rest = split("-c 4 -d 2s --warm-up 0s --audit off --errors 0.1% --json");
    let called = place.call(&[&["run", "-f", "payment.sql", target][..], &rest].concat());
    let record = record(&called);
    let (acknowledged, errors, _) = counted(&record);
    let rolled_back: u64 = record.results.iter().map(|result| result.rolled_back).sum();
    assert!(errors.is_empty() && acknowledged > 50, "{called:?}");
    // Four standard deviations of one in four of fifty.
    assert!(rolled_back > 0 && rolled_back < acknowledged / 2, "{rolled_back}");
    let sums = sums();
    let numbers: Vec<i64> = sums.split(' ').map(|n| n.parse().unwrap()).collect();
    assert_eq!(u64::try_from(numbers[0]).unwrap(), acknowledged - rolled_back);
    assert_eq!(numbers[1], numbers[2]);
    let text = place.typed("show").stdout;
    assert!(text.contains("transactions rolled back as ordered"), "{text}");
}

#[test]
fn payments_that_are_rolled_back_as_ordered_are_complete_on_sqlite() {
    let place = Place::new();
    place.database("bank.db", TABLES);
    expect_payments_that_agree(&place, "sqlite:bank.db", || place.query("bank.db", SUMS));
}

#[test]
fn payments_that_are_rolled_back_as_ordered_are_complete_on_postgresql() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    server.sql("postgres", TABLES);
    let sums = || server.sql("postgres", &format!("SELECT {SUMS}"));
    expect_payments_that_agree(&Place::new(), &server.url(SUPERUSER, "postgres"), sums);
}

/// The client reads a balance and writes the new one: an update is lost if a payment overlaps another.
const READ_AND_WRITE: &str = "\\set aid random(1, 3)
\\set delta random(1, 4000)
BEGIN;
SELECT abalance FROM accounts WHERE aid = :aid \\gset
\\set new :abalance + :delta
\\sleep 2 ms
UPDATE accounts SET abalance = :new WHERE aid = :aid;
INSERT INTO history (aid, delta) VALUES (:aid, :delta);
END;
";

/// Runs payments that depend on what they read; the number of retries.
fn expect_no_lost_update(place: &Place, target: &str, sums: impl Fn() -> String) -> u64 {
    place.file("pay.sql", READ_AND_WRITE);
    let rest = split("-c 4 -d 2s --warm-up 0s --audit off --errors 0.1% --retries 100 --json");
    let called = place.call(&[&["run", "-f", "pay.sql", target][..], &rest].concat());
    let record = record(&called);
    let (acknowledged, errors, answered) = counted(&record);
    assert!(errors.is_empty() && acknowledged > 50, "{called:?}");
    assert_eq!(answered, acknowledged);
    let sums = sums();
    let numbers: Vec<i64> = sums.split(' ').map(|n| n.parse().unwrap()).collect();
    assert_eq!(u64::try_from(numbers[0]).unwrap(), acknowledged);
    assert_eq!(numbers[1], numbers[2], "a payment was lost, doubled, or half applied");
    record.results.iter().map(|result| result.retries).sum()
}

#[test]
fn payments_that_depend_on_an_answer_add_up_on_sqlite() {
    let place = Place::new();
    place.database("bank.db", TABLES);
    expect_no_lost_update(&place, "sqlite:bank.db", || place.query("bank.db", SUMS));
}

#[test]
fn payments_that_depend_on_an_answer_are_retried_as_a_whole_on_postgresql() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    server.sql("postgres", TABLES);
    let url = format!(
        "{}?options=-cdefault_transaction_isolation%3Dserializable",
        server.url(SUPERUSER, "postgres")
    );
    let sums = || server.sql("postgres", &format!("SELECT {SUMS}"));
    assert!(expect_no_lost_update(&Place::new(), &url, sums) > 0);
}

#[test]
fn an_answer_that_a_target_cannot_give_is_refused_before_the_load() {
    let place = Place::new();
    place.file("pay.sql", READ_AND_WRITE);
    let called = place.typed("run -f pay.sql sim: --audit off");
    assert_eq!(called.code, Some(2), "{called:?}");
    assert!(called.stderr.contains("op `pay` uses the answers to its statements"), "{called:?}");
}

#[test]
fn statements_without_a_transaction_and_targets_without_any_are_refused() {
    let place = Place::new();
    place.file("two.sql", "SELECT 1;\nSELECT 2;\n");
    let called = place.call(&["run", "-f", "two.sql", "sqlite:bank.db"]);
    assert_eq!(called.code, Some(2), "{called:?}");
    for part in ["more than one statement", "two.sql:1:9", "wrap them in BEGIN; … END;"] {
        assert!(called.stderr.contains(part), "{part}: {}", called.stderr);
    }
    place.file("transfer.sql", TRANSFER);
    let called = place.typed("run -f transfer.sql --set scale=1 null:crate");
    assert_eq!(called.code, Some(2), "{called:?}");
    let message = "op `transfer` is a transaction of several statements, and the target has no \
                   transactions";
    assert!(called.stderr.contains(message), "{}", called.stderr);
    assert!(place.runs().is_empty());
}

#[test]
fn a_transaction_is_one_op_to_a_model() {
    let place = Place::new();
    place.file("transfer.sql", TRANSFER);
    let load = "-c 2 -d 2s --audit off --json";
    let called = place.typed(&format!("run -f transfer.sql --set scale=1 sim: {load}"));
    let record = record(&called);
    let (acknowledged, errors, _) = counted(&record);
    assert!(acknowledged > 0 && errors.is_empty(), "{called:?}");
}
