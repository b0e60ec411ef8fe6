//! Workloads from SQL files: conversion of pgbench's syntax, and errors at their position.

use std::collections::BTreeSet;

use super::{owned, values};
use crate::{Arrivals, Script, Workload, WorkloadSpec};
use highwater_model::op::{BoundOpKind, PlaceholderStyle, Value};
use highwater_model::units::Seed;

fn script(name: &'static str, text: &'static str, weight: u32) -> Script<'static> {
    Script { name, text, weight }
}

fn workload(scripts: &[Script<'_>], settings: &[(&str, &str)]) -> Workload {
    let spec = WorkloadSpec::from_scripts(scripts, &owned(settings)).unwrap();
    spec.instantiate(&owned(settings), Seed(1)).unwrap()
}

fn sql(workload: &Workload, op: usize) -> String {
    let bound = workload.bind(&["x".to_owned()], PlaceholderStyle::Dollar).unwrap();
    match &bound.ops[op].kind {
        BoundOpKind::Query { sql, .. } => sql.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_statement_of_pgbench_becomes_a_query_with_random_parameters() {
    let text = "-- as pgbench has it\n\\set aid random(1, 100000 * :scale)\n\
                SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
    let workload = workload(&[script("select-only", text, 1)], &[("scale", "3")]);
    assert_eq!(workload.name(), "select-only");
    let sql = sql(&workload, 0);
    assert!(sql.ends_with("FROM pgbench_accounts WHERE aid = $1"), "{sql}");
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
    let scripts =
        [script("a", "SELECT 1", 3), script("b", "SELECT 2", 1), script("b", "SELECT 3", 4)];
    let workload = workload(&scripts, &[]);
    assert_eq!(workload.name(), "files");
    let weights: Vec<(&str, u32)> = workload.streams()[0]
        .ops
        .iter()
        .map(|(op, weight)| (workload.op_name(*op), *weight))
        .collect();
    assert_eq!(weights, [("a", 3), ("b", 1), ("b-2", 4)]);
    assert_eq!(workload.streams()[0].arrivals, Arrivals::Poisson);
}

#[test]
fn ops_have_the_names_of_their_files_in_letters_that_a_name_may_have() {
    // The stream of a mix is named `files`.
    let names = ["files", "1st query", "a.b"];
    let scripts = names.map(|name| script(name, "SELECT 1", 1));
    let workload = workload(&scripts, &[]);
    let found: Vec<&str> =
        workload.streams()[0].ops.iter().map(|(op, _)| workload.op_name(*op)).collect();
    assert_eq!(found, ["files-2", "f1st-query", "a-b"]);
}

#[test]
fn variables_that_no_file_sets_are_given_from_outside() {
    let text = "SELECT * FROM t WHERE id > :least AND name = :name AND x::int = 1";
    let workload = workload(&[script("q", text, 1)], &[("least", "5"), ("name", "who-else")]);
    let expected = [Value::Integer(5), Value::Text("who-else".into())];
    assert_eq!(values(&workload, 9), expected);
}

#[test]
fn random_shapes_have_the_ends_and_the_middle_that_pgbench_documents() {
    let text = "\\set z random_zipfian(1, 100, 1.5)\n\\set g random_gaussian(1, 100, 2.5)\n\
                \\set e random_exponential(1, 100, 4.0)\n\\set c 2 * 3 - 1\nSELECT :z, :g, :e, :c";
    let workload = workload(&[script("q", text, 1)], &[]);
    let mut sums = [0_i64; 4];
    for index in 0..20_000 {
        for (sum, value) in sums.iter_mut().zip(values(&workload, index)) {
            let Value::Integer(number) = value else { panic!() };
            assert!((1..=100).contains(&number));
            *sum += number;
        }
    }
    let means = sums.map(|sum| sum / 20_000);
    // Σ k^-0.5 / Σ k^-1.5 = 7.7; the middle; 100 · (1/4 − 1/(e⁴ − 1)) + ½ = 23.6; and 5.
    assert_eq!(means, [7, 50, 23, 5]);
}

/// The values of a parameter with this expression in the first ops; `:scale` is 3.
fn sampled(expression: &str, ops: u64) -> Vec<i64> {
    let text = format!("\\set x {expression}\nSELECT :x");
    let scale = [("scale", "3")];
    let settings = if text.contains(":scale") { &scale[..] } else { &[] };
    let (name, weight) = ("q", 1);
    let text = &text;
    let workload = workload(&[Script { name, text, weight }], settings);
    let values = (0..ops).map(|index| match values(&workload, index)[..] {
        [Value::Integer(value)] => value,
        ref other => panic!("{other:?}"),
    });
    values.collect()
}

#[test]
fn both_ends_of_a_range_are_drawn_and_nothing_beyond() {
    for (expression, first, last) in [
        ("random(1, 4)", 1, 4),
        ("random(-5, -2)", -5, -2),
        ("random(-:scale, :scale - 1)", -3, 2),
        ("random(- 2 * :scale + 1, 2 + 3 * 2)", -5, 8),
        ("random_zipfian(1, 4, 1.5)", 1, 4),
        ("random_gaussian(1, 4, 2.0)", 1, 4),
        ("random_exponential(1, 4, 1.0)", 1, 4),
        ("2 * :scale - 10", -4, -4),
    ] {
        let values = sampled(expression, 2_000);
        let found = (values.iter().min(), values.iter().max());
        assert_eq!(found, (Some(&first), Some(&last)), "{expression}");
    }
}

/// Per pgbench's documentation: the range is 2 · parameter deviations wide.
#[test]
#[expect(clippy::cast_precision_loss, reason = "numbers up to 100")]
fn the_parameter_of_a_gaussian_determines_its_width() {
    for (parameter, deviation) in [("4.0", 12.5), ("5.0", 10.0), ("10.0", 5.0)] {
        let values = sampled(&format!("random_gaussian(1, 100, {parameter})"), 20_000);
        let mean = values.iter().sum::<i64>() as f64 / 20_000.0;
        let square = |value: &i64| (*value as f64 - mean).powi(2);
        let found = (values.iter().map(square).sum::<f64>() / 20_000.0).sqrt();
        // Each limit is at least four standard deviations of its statistic.
        assert!((mean - 50.5).abs() < 0.36, "{parameter}: {mean}");
        assert!((found / deviation - 1.0).abs() < 0.025, "{parameter}: {found}");
    }
}

#[test]
fn a_variable_that_is_set_but_unused_is_no_parameter() {
    let text = "\\set a 1\n\\set b random(1, 9)\nSELECT :a";
    let workload = workload(&[script("q", text, 1)], &[]);
    assert_eq!(values(&workload, 0), [Value::Integer(1)]);
}

#[test]
fn variables_that_cannot_be_set_are_reported_with_the_reason() {
    let no_expression = "is not an expression that scripts may have";
    for (text, reported) in [
        ("\\set a random(5, 1)", "`random` ends before it begins: 5 to 1"),
        ("\\set a random(1, 9, 2)", no_expression),
        ("\\set a random_zipfian(1, 9)", no_expression),
        ("\\set a random_zipfian(1, 9, 1.0)", no_expression),
        ("\\set a random_zipfian(1, 9, 0)", no_expression),
        ("\\set a random_gaussian(1, 9, 1.9)", no_expression),
        ("\\set a random_exponential(1, 9, 0)", no_expression),
        ("\\set a random_exponential(1, 9, 70)", no_expression),
        ("\\set a random_permute(1, 9, 3)", no_expression),
        ("\\set a 9223372036854775807 + 1", "the number is too great"),
        ("\\set a 9223372036854775807 * 2", "the number is too great"),
        ("\\set a 1.5", "`1.5` is no whole number"),
        ("\\set a 7 / 2", "`7 / 2` is no whole number"),
        ("\\set a :b", "`:b` has no value"),
        ("\\set a 1\n\\set a 2", "`a` cannot be set"),
        ("\\set 1a 2", "`1a` cannot be set"),
        ("SELECT '${a}',", "`${` cannot stand in a statement"),
    ] {
        let text = &format!("{text}\nSELECT 1");
        let (name, weight) = ("q", 1);
        let found = WorkloadSpec::from_scripts(&[Script { name, text, weight }], &owned(&[]));
        let found = found.unwrap_err();
        assert_eq!(found[0].0, Some(0), "{text}");
        assert!(found[0].1.message.ends_with(reported), "{text}: {}", found[0].1);
    }
}

#[test]
fn errors_are_shown_at_their_places_in_the_file() {
    let text = "\\set a random(1 10)\n\\sleep 1 s\nSELECT :b; SELECT 'x";
    let found = WorkloadSpec::from_scripts(&[script("q", text, 1)], &owned(&[("c", "1")]));
    let found: Vec<String> = found
        .unwrap_err()
        .iter()
        .map(|(file, error)| {
            let (line, column) = error.position();
            format!("{file:?} {line}:{column} {}", error.message)
        })
        .collect();
    assert_eq!(
        found,
        [
            "Some(0) 1:1 `random` takes two or three arguments",
            "Some(0) 2:1 unknown command `\\sleep`",
            "Some(0) 3:8 `:b` is not set",
            "Some(0) 3:12 a string does not end",
            "Some(0) 3:10 more than one statement",
            "None 0:0 no file has a parameter `:c`",
        ]
    );
}

/// pgbench's script without its scale: three expressions need it, and six statements use what they would have set.
#[test]
fn one_missing_value_causes_one_error() {
    let text = "\\set a random(1, 10 * :scale)\n\\set b random(1, :scale)\nSELECT :a, :b";
    let scripts = [Script { name: "q", text, weight: 1 }, Script { name: "r", text, weight: 1 }];
    let found = WorkloadSpec::from_scripts(&scripts, &owned(&[])).unwrap_err();
    let found: Vec<String> = found.iter().map(|(_, error)| error.message.clone()).collect();
    assert_eq!(found, ["`:scale` has no value"]);
    assert!(WorkloadSpec::from_scripts(&scripts, &owned(&[("scale", "3")])).is_ok());
}
