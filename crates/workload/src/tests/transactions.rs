//! Ops of several statements: the parameters of each, from both kinds of files, and every error at its position.

use super::input_errors::shown;
use super::{owned, parsed, values};
use crate::{EXAMPLE, Script, Unit, Workload, WorkloadSpec};
use highwater_model::op::{BoundOpKind, BoundStatement, PlaceholderStyle, Value};
use highwater_model::units::Seed;

const TPCB: &str = include_str!("tpcb.toml");

/// pgbench's own script (its documentation, "tpcb-like").
const SCRIPT: &str = r"\set aid random(1, 100000 * :scale)
\set bid random(1, 1 * :scale)
\set tid random(1, 10 * :scale)
\set delta random(-5000, 5000)
BEGIN;
UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;
UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;
INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);
END;
";

fn transfers(seed: u64) -> Workload {
    parsed(TPCB).instantiate(&owned(&[]), Seed(seed)).unwrap()
}

fn statements(workload: &Workload, style: PlaceholderStyle) -> Vec<BoundStatement> {
    let bound = workload.bind(&["x".to_owned()], style).unwrap();
    match &bound.ops[0].kind {
        BoundOpKind::Transaction(transaction) => {
            transaction.statements().map(|(_, statement)| statement.clone()).collect()
        }
        other => panic!("{other:?}"),
    }
}

fn from_script(text: &'static str) -> Result<WorkloadSpec, Vec<String>> {
    let script = Script { name: "transfer", text, weight: 1 };
    let read = WorkloadSpec::from_scripts(&[script], &owned(&[("scale", "3")]));
    read.map_err(|errors| {
        errors
            .iter()
            .filter(|(file, _)| file.is_some())
            .map(|(_, m)| {
                assert!(m.hint.is_some(), "{}", m.message);
                let (line, column) = m.position();
                format!("{line}:{column} {}", m.message)
            })
            .collect()
    })
}

#[test]
fn each_statement_numbers_its_own_placeholders_and_takes_its_own_values() {
    let workload = transfers(1);
    let bound = statements(&workload, PlaceholderStyle::Dollar);
    let reported: Vec<(&str, &[usize])> = bound
        .iter()
        .map(|statement| (statement.sql.as_str(), statement.values.as_slice()))
        .collect();
    // The op's values: aid, tid, two values of bids, delta.
    let expected: [(&str, &[usize]); 5] = [
        ("UPDATE accounts SET abalance = abalance + $2 WHERE aid = $1", &[0, 4]),
        ("SELECT abalance FROM accounts WHERE aid = $1", &[0]),
        ("UPDATE branches SET bbalance = bbalance + $3 WHERE bid IN ($1, $2)", &[2, 3, 4]),
        ("SELECT count(*) FROM history", &[]),
        ("INSERT INTO history (tid, aid, delta) VALUES ($2, $1, $3)", &[0, 1, 4]),
    ];
    assert_eq!(reported, expected);
    for statement in &bound {
        assert_eq!(statement.values.len(), statement.parameters.len());
    }
    let question = &statements(&workload, PlaceholderStyle::Question)[4].sql;
    assert!(question.ends_with("VALUES (?2, ?1, ?3)"), "{question}");
    // All of them use the same sample.
    let sampled = values(&workload, 7);
    let of = |statement: usize| -> Vec<Value> {
        bound[statement].values_of(&sampled).cloned().collect()
    };
    assert_eq!(of(0), [sampled[0].clone(), sampled[4].clone()]);
    assert_eq!(of(4), [sampled[0].clone(), sampled[1].clone(), sampled[4].clone()]);
}

#[test]
fn a_stream_counts_transactions_and_their_rows_are_unknown() {
    let workload = transfers(1);
    let alone = workload.stream("transfer").unwrap();
    assert_eq!(alone.unit, Unit::Transactions);
    assert_eq!(workload.rows_per_op(alone.ops[0].0), 0);
    assert!(workload.changes_unknown_rows());
    let reads = TPCB
        .replace(
            "UPDATE accounts SET abalance = abalance + :delta WHERE aid",
            "SELECT :delta, :aid",
        )
        .replace("UPDATE branches SET bbalance = bbalance + :delta WHERE bid", "SELECT :delta, 1")
        .replace("INSERT INTO history (tid, aid, delta) VALUES", "SELECT");
    let reads = parsed(&reads).instantiate(&owned(&[]), Seed(1)).unwrap();
    assert!(!reads.changes_unknown_rows());
}

/// If this fails, transactions have other parameters or another fingerprint than before: see the test of the catalog.
#[test]
fn fingerprints_and_first_ops_are_these_for_two_seeds() {
    let reported = |seed| {
        let workload = transfers(seed);
        let first: Vec<String> = (0..3)
            .map(|index| {
                let values = values(&workload, index);
                values
                    .iter()
                    .map(|value| match value {
                        Value::Integer(number) => number.to_string(),
                        other => panic!("{other:?}"),
                    })
                    .collect::<Vec<_>>()
                    .join(" ")
            })
            .collect();
        format!("{} {}", &workload.fingerprint()[..16], first.join(", "))
    };
    insta::assert_snapshot!(reported(1), @"c7c770f0e859f875 93078 5 1 2 997, 85402 7 2 1 4699, 90897 2 1 2 -1127");
    insta::assert_snapshot!(reported(2), @"2fda929176c05887 22265 7 2 2 2595, 54392 1 2 2 503, 31098 3 2 1 -670");
    let other = TPCB.replace("count(*) FROM history", "max(tid) FROM history");
    let other = parsed(&other).instantiate(&owned(&[]), Seed(1)).unwrap();
    assert_ne!(other.fingerprint(), transfers(1).fingerprint());
}

#[test]
fn the_script_of_pgbench_is_one_transaction() {
    let spec = from_script(SCRIPT).unwrap();
    let workload = spec.instantiate(&owned(&[("scale", "3")]), Seed(1)).unwrap();
    let bound = statements(&workload, PlaceholderStyle::Dollar);
    let sql: Vec<&str> = bound.iter().map(|bound| bound.sql.as_str()).collect();
    assert_eq!(
        sql,
        [
            "UPDATE pgbench_accounts SET abalance = abalance + $2 WHERE aid = $1",
            "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
            "UPDATE pgbench_tellers SET tbalance = tbalance + $2 WHERE tid = $1",
            "UPDATE pgbench_branches SET bbalance = bbalance + $2 WHERE bid = $1",
            "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
             VALUES ($3, $2, $1, $4, CURRENT_TIMESTAMP)",
        ]
    );
    let mut ends = [(i64::MAX, i64::MIN); 4];
    for index in 0..3_000 {
        for (end, value) in ends.iter_mut().zip(values(&workload, index)) {
            let Value::Integer(number) = value else { panic!() };
            *end = (end.0.min(number), end.1.max(number));
        }
    }
    let [aid, bid, tid, delta] = ends;
    assert!(aid.0 >= 1 && aid.1 <= 300_000 && aid.1 > 250_000, "{aid:?}");
    assert_eq!((bid, tid), ((1, 3), (1, 30)));
    assert!(delta.0 >= -5_000 && delta.0 < -4_900, "{delta:?}");
    assert!(delta.1 <= 5_000 && delta.1 > 4_900, "{delta:?}");
}

#[test]
fn a_script_without_a_whole_transaction_is_refused_at_its_place() {
    for (text, expected) in [
        ("SELECT 1;\nSELECT 2;", &["1:9 more than one statement"][..]),
        ("BEGIN;\nSELECT 1;\nSELECT 2;", &["3:1 the transaction does not end"]),
        ("SELECT 1;\nEND;", &["1:9 more than one statement"]),
        ("END;\nSELECT 1;\nEND;", &["1:1 there is no transaction here to end"]),
        (
            "BEGIN;\nSELECT 1;\nCOMMIT;\nBEGIN;\nSELECT 2;\nEND;",
            &["4:1 this follows the end of the transaction"],
        ),
        (
            "BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT 1;\nEND;",
            &["1:1 BEGIN says which kind of transaction"],
        ),
        ("BEGIN;\nEND;", &["1:1 there is no statement in the file"]),
        (
            "BEGIN;\nSELECT :a;\nSELECT 'x;\nEND;",
            &["2:8 `:a` is not set", "3:1 a string does not end"],
        ),
    ] {
        assert_eq!(from_script(text).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn a_comment_may_follow_the_last_semicolon_of_a_script() {
    let spec = from_script("\\set a 1\nSELECT :a, :scale; -- done\n").unwrap();
    let workload = spec.instantiate(&owned(&[("scale", "3")]), Seed(1)).unwrap();
    assert_eq!(values(&workload, 0), [Value::Integer(1), Value::Integer(3)]);
}

#[test]
fn errors_in_a_transaction_are_found_at_their_places() {
    let wrong = TPCB
        .replace("WHERE bid IN (:bids)\"", "WHERE bid IN (:bid)\"")
        .replace("\"SELECT count(*) FROM history\"", "\"COMMIT\", \"SELECT 1; SELECT 2\"");
    let text = format!(
        "{wrong}\n[ops.one.transaction]\nany = \"SELECT 1\"\n[ops.none.transaction]\nany = []\n\
         [ops.both]\nsql = {{ any = \"SELECT 1\" }}\ntransaction = {{ any = [\"SELECT 1\"] }}\n"
    );
    insta::assert_snapshot!(shown(&text), @r#"
    19:7 «[» parameter `:bids` is not used in `transaction` of op `transfer` for `any`
        every dialect must use the same parameters
    22:69 «:bid» unknown parameter `:bid` in `transaction` of op `transfer` for `any`
        did you mean `bids`?
    23:5 «"COMMIT"» `transaction` of op `transfer` for `any` begins or ends a transaction itself
        leave it out: the list is what stands between BEGIN and COMMIT
    23:24 «;» more than one statement in `transaction` of op `transfer` for `any`
        each statement is a text of its own in the list
    33:7 «"SELECT 1"» `any` of `transaction` of op `one` must be a list, not this string
        write [first, second]
    35:7 «[]» `transaction` of op `none` for `any` has 0 statements
        it has 1 to 1000
    36:1 «[ops.both]» op `both` must have either `insert`, `sql` or `transaction`
        insert = "table" and batch = 1000, or [ops.NAME.sql] with a statement for each dialect, or [ops.NAME.transaction] with a list of them
    "#);
}

/// The example has a transaction as a comment, because not every target supports transactions.
#[test]
fn the_transaction_of_the_example_has_no_errors() {
    let uncommented: String = EXAMPLE
        .lines()
        .map(|line| match line.strip_prefix('#') {
            Some(code) if !code.starts_with(' ') && !code.is_empty() => code,
            _ => line,
        })
        .flat_map(|line| [line, "\n"])
        .collect();
    assert!(uncommented.contains("\n[ops.book.transaction]\n"));
    assert_eq!(shown(&uncommented), "");
}
