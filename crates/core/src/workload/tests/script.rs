//! Workloads from SQL files: what pgbench's words become, and what is wrong at its place.

use std::collections::BTreeSet;

use super::owned;
use crate::model::op::{BoundOpKind, OpBody, PlaceholderStyle, Value};
use crate::model::units::Seed;
use crate::workload::{OpContext, Script, Workload, WorkloadSpec};

fn script(name: &'static str, text: &'static str, weight: u32) -> Script<'static> {
    Script { name, text, weight }
}

fn workload(scripts: &[Script<'_>], settings: &[(&str, &str)]) -> Workload {
    let spec = WorkloadSpec::from_scripts(scripts, &owned(settings)).unwrap();
    spec.instantiate(&owned(settings), Seed(1)).unwrap()
}

fn sql(workload: &Workload, op: usize) -> String {
    let bound = workload
        .bind(&["x".to_owned()], PlaceholderStyle::Dollar)
        .unwrap();
    match &bound.ops[op].kind {
        BoundOpKind::Query { sql, .. } => sql.clone(),
        other => panic!("{other:?}"),
    }
}

fn values(workload: &Workload, index: u64) -> Vec<Value> {
    let stream = &workload.streams()[0];
    match workload.op(stream, index, &OpContext::default()).body {
        OpBody::Query(values) => values,
        OpBody::Insert(_) => panic!(),
    }
}

#[test]
fn a_statement_of_pgbench_becomes_a_query_with_random_parameters() {
    let text = "-- as pgbench has it\n\\set aid random(1, 100000 * :scale)\n\
                SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
    let workload = workload(&[script("select-only", text, 1)], &[("scale", "3")]);
    assert_eq!(workload.name(), "select-only");
    let sql = sql(&workload, 0);
    assert!(
        sql.ends_with("FROM pgbench_accounts WHERE aid = $1"),
        "{sql}"
    );
    let aids: BTreeSet<i64> = (0..1_000)
        .map(|index| match values(&workload, index)[..] {
            [Value::Integer(aid)] => aid,
            ref other => panic!("{other:?}"),
        })
        .collect();
    assert!(aids.len() > 990);
    assert!(aids.iter().all(|aid| (1..=300_000).contains(aid)));
    assert!(aids.iter().any(|aid| *aid > 250_000));
}

#[test]
fn several_files_are_a_mix_by_their_weights() {
    let scripts = [
        script("a", "SELECT 1", 3),
        script("b", "SELECT 2", 1),
        script("b", "SELECT 3", 4),
    ];
    let workload = workload(&scripts, &[]);
    assert_eq!(workload.name(), "files");
    let weights: Vec<(&str, u32)> = workload.streams()[0]
        .ops
        .iter()
        .map(|(op, weight)| (workload.op_name(*op), *weight))
        .collect();
    assert_eq!(weights, [("a", 3), ("b", 1), ("b-2", 4)]);
}

#[test]
fn what_no_file_sets_is_given_from_outside() {
    let text = "SELECT * FROM t WHERE id > :least AND name = :name AND x::int = 1";
    let workload = workload(
        &[script("q", text, 1)],
        &[("least", "5"), ("name", "who-else")],
    );
    let expected = [Value::Integer(5), Value::Text("who-else".into())];
    assert_eq!(values(&workload, 9), expected);
}

#[test]
fn random_shapes_have_the_ends_and_the_middle_that_pgbench_says() {
    let text = "\\set z random_zipfian(1, 100, 1.5)\n\\set g random_gaussian(1, 100, 2.5)\n\
                \\set e random_exponential(1, 100, 4.0)\n\\set c 2 * 3 - 1\nSELECT :z, :g, :e, :c";
    let workload = workload(&[script("q", text, 1)], &[]);
    let mut sums = [0_i64; 4];
    for index in 0..20_000 {
        for (sum, value) in sums.iter_mut().zip(values(&workload, index)) {
            let Value::Integer(number) = value else {
                panic!()
            };
            assert!((1..=100).contains(&number));
            *sum += number;
        }
    }
    let means = sums.map(|sum| sum / 20_000);
    // Σ k^-0.5 / Σ k^-1.5 = 7.7; the middle; 100 · (1/4 − 1/(e⁴ − 1)) + ½ = 23.6; and 5.
    assert_eq!(means, [7, 50, 23, 5]);
}

#[test]
fn mistakes_are_shown_at_their_places_in_the_file() {
    let text = "\\set a random(1 10)\n\\sleep 1 s\nSELECT :b; SELECT 'x";
    let found = WorkloadSpec::from_scripts(&[script("q", text, 1)], &owned(&[("c", "1")]));
    let found: Vec<String> = found
        .unwrap_err()
        .iter()
        .map(|(file, m)| format!("{file:?} {}:{} {}", m.line, m.column, m.message))
        .collect();
    assert_eq!(
        found,
        [
            "Some(0) 1:1 `random` has not two or three arguments",
            "Some(0) 2:1 unknown command `\\sleep`",
            "Some(0) 3:8 `:b` is not set",
            "Some(0) 3:12 a string does not end",
            "Some(0) 3:10 more than one statement",
            "None 0:0 no file has a parameter `:c`",
        ]
    );
}
