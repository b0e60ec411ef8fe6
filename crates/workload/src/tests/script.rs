//! Workloads from SQL files: conversion of pgbench's syntax, and errors at their position.

use std::collections::BTreeSet;

use super::{owned, values};
use crate::{Arrivals, OpContext, Script, Workload, WorkloadSpec};
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
    for (text, reported) in [
        (
            "\\set a random(5, 1)",
            "`:a` is set on line 1: a random number from 5 to 1: the range is empty",
        ),
        (
            "\\set a random(1, 9, 2)",
            "`:a` cannot be set on line 1: `random` takes 2 arguments, not 3",
        ),
        ("\\set a random_zipfian(1, 9)", "`random_zipfian` takes 3 arguments, not 2"),
        ("\\set a random_zipfian(1, 9, 1.0)", "and not within 0.001 of 1"),
        ("\\set a random_zipfian(1, 9, 0)", "and not within 0.001 of 1"),
        (
            "\\set a random_gaussian(1, 9, 1.9)",
            "the parameter of `random_gaussian` is 1.9, below 2",
        ),
        (
            "\\set a random_exponential(1, 9, 0)",
            "the parameter of `random_exponential` is 0, not above 0",
        ),
        ("\\set a random_permute(1, 9, 3)", "there is no function `random_permute`"),
        ("\\set a 9223372036854775807 + 1", "the result is out of range for a whole number"),
        ("\\set a 9223372036854775807 * 2", "the result is out of range for a whole number"),
        ("\\set a 7 / (3 - 3)", "`:a` is set on line 1: division by zero"),
        (
            "\\set z random(0, 3)\n\\set a 7 / :z",
            "`:a` is set on line 2 from `:z`: division by zero",
        ),
        ("\\set a :b", "`:a` is set on line 1 from `:b`, which has no value"),
        ("\\set a :client_id", "`:a` is set on line 1 from `:client_id`, which has no value"),
        ("\\set a 1 +", "`:a` cannot be set on line 1: the expression is incomplete"),
        ("\\set a", "`:a` cannot be set on line 1: the expression is incomplete"),
        ("\\set a case when true then 1 else false end", "CASE has both numbers and truth values"),
        ("\\set 1a 2", "`1a` cannot be set"),
        ("SELECT :late;\n\\set late 1", "`:late` is set only on line 2"),
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
            "Some(0) 1:1 `:a` cannot be set on line 1: unexpected `10`",
            "Some(0) 3:8 `:b` is not set",
            "Some(0) 3:12 a string does not end",
            "Some(0) 2:1 `\\sleep` outside of a transaction",
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
    assert_eq!(found, ["`:a` is set on line 1 from `:scale`, which has no value"]);
    assert!(WorkloadSpec::from_scripts(&scripts, &owned(&[("scale", "3")])).is_ok());
}

/// The values of an op of a script without settings.
fn op_values(text: &str, index: u64) -> Vec<Value> {
    let workload = workload(&[Script { name: "q", text, weight: 1 }], &[]);
    values(&workload, index)
}

fn integers(all: &[i64]) -> Vec<Value> {
    all.iter().map(|number| Value::Integer(*number)).collect()
}

#[test]
fn a_variable_is_computed_from_earlier_ones_that_need_not_be_sent() {
    let text =
        "\\set r random(1, 1000)\n\\set aid 1 + :r * 7\n\\set end :aid + 100\nSELECT :aid, :end";
    for index in 0..100 {
        let [Value::Integer(aid), Value::Integer(end)] = op_values(text, index)[..] else {
            panic!()
        };
        assert_eq!((aid % 7, end), (1, aid + 100));
    }
    assert_ne!(op_values(text, 1), op_values(text, 2));
    assert_eq!(op_values(text, 1), op_values(text, 1));
}

#[test]
fn a_variable_can_be_set_again_and_each_statement_has_the_value_at_its_place() {
    let text =
        "\\set a 1\n\\set a :a + 1\nBEGIN;\nSELECT :a;\n\\set a :a * 10\nSELECT :a, 'ü', :a;\nEND;";
    assert_eq!(op_values(text, 0), integers(&[2, 20]));
    let workload = workload(&[script("q", text, 1)], &[]);
    assert_eq!(workload.written(0, 1, None)[0].text, "SELECT :a_2, 'ü', :a_2");
}

#[test]
fn the_random_numbers_of_one_expression_are_independent() {
    let differ = (0..100).filter(|index| {
        let values = op_values("\\set a random(1, 1000) - random(1, 1000)\nSELECT :a", *index);
        values != integers(&[0])
    });
    assert!(differ.count() > 90);
}

#[test]
fn seeds_are_variables_and_the_seed_of_hashes_can_be_given() {
    let text = "\\set h hash(5)\n\\set g hash(5, :default_seed)\nSELECT :h, :g, :random_seed";
    let found = op_values(text, 3);
    assert_eq!(found[0], found[1]);
    let given = workload(&[script("q", text, 1)], &[("default_seed", "7")]);
    let given = values(&given, 3);
    assert_eq!(given[0], given[1]);
    assert!(given[0] != found[0] && given[2] == found[2]);
}

#[test]
fn a_command_continues_behind_a_backslash_and_a_byte_order_mark_is_no_text() {
    let text = "\u{feff}\\set a 1 + \\\n  2 \\\r\n  + 4\nSELECT :a";
    assert_eq!(op_values(text, 0), integers(&[7]));
}

#[test]
fn an_expression_is_bounded_in_length_and_depth() {
    let nested = |n: usize| format!("\\set a {}1{}\nSELECT :a", "(".repeat(n), ")".repeat(n));
    assert_eq!(op_values(&nested(199), 0), integers(&[1]));
    let sum = |n: usize| format!("\\set a 1{}\nSELECT :a", " + 1".repeat(n));
    assert_eq!(op_values(&sum(200), 0), integers(&[201]));
    let long = format!("\\set a 1{}\nSELECT :a", " ".repeat(3_990) + "+ 1234567890");
    for (text, reported) in [
        (nested(200), "the expression is more than 200 operators deep"),
        (nested(3_000), "an expression of 6001 bytes, more than 4000"),
        (sum(201), "the expression is more than 200 operators deep"),
        (long, "an expression of 4003 bytes, more than 4000"),
    ] {
        let script = Script { name: "q", text: &text, weight: 1 };
        let found = WorkloadSpec::from_scripts(&[script], &owned(&[])).unwrap_err();
        assert!(found[0].1.message.ends_with(reported), "{}", found[0].1.message);
    }
}

/// One in ten thousand ops fails: too rare for the ops that are tried first.
#[test]
fn an_op_whose_value_cannot_be_computed_is_not_sent() {
    let text = "\\set z random(1, 10000)\n\\set a 7 / (:z - 1234)\nSELECT :a";
    let workload = workload(&[script("q", text, 1)], &[]);
    let stream = &workload.streams()[0];
    let mut op = workload.op(stream, 0, &OpContext::default());
    let context = OpContext::default();
    let failures: Vec<String> = (0..50_000)
        .filter_map(|index| workload.fill_op(stream, index, &context, &mut op).err())
        .collect();
    assert!((1..20).contains(&failures.len()), "{}", failures.len());
    assert_eq!(failures[0], "`:a` cannot be computed: division by zero");
}

#[test]
fn commands_that_an_op_cannot_have_are_refused_with_the_reason() {
    let program = "runs a program on the load generator";
    for (text, line, reported) in [
        ("\\shell ls\nSELECT 1", 1, program),
        ("\\setshell x ls\nSELECT 1", 1, program),
        ("SELECT 1\n\\Sleep 1 s", 2, "`\\sleep` outside of a transaction"),
        ("BEGIN;\n\\startpipeline\nSELECT 1;\nEND;", 2, "`\\startpipeline` is not supported"),
        ("SELECT 1\n\\nonsense", 2, "unknown command `\\nonsense`"),
    ] {
        let found = WorkloadSpec::from_scripts(&[script("q", text, 1)], &owned(&[])).unwrap_err();
        assert!(found[0].1.message.contains(reported), "{text}: {}", found[0].1);
        assert_eq!(found[0].1.position().0, line, "{text}");
    }
    assert_eq!(op_values("\\set a 1\nSELECT '\\gset', :a", 0), integers(&[1]));
}

#[test]
fn savepoints_divide_a_transaction() {
    let text = "BEGIN;\nSAVEPOINT s;\nDELETE FROM t;\nROLLBACK TO s;\nRELEASE s;\nSELECT 1;\nEND;";
    let workload = workload(&[script("q", text, 1)], &[]);
    let bound = workload.bind(&["x".to_owned()], PlaceholderStyle::Dollar).unwrap();
    let BoundOpKind::Transaction(statements) = &bound.ops[0].kind else { panic!() };
    let texts: Vec<&str> =
        statements.statements().map(|(_, statement)| statement.sql.as_str()).collect();
    assert_eq!(texts, ["SAVEPOINT s", "DELETE FROM t", "ROLLBACK TO s", "RELEASE s", "SELECT 1"]);
}

/// Of pgbench's documentation: its three built-in scripts and its examples, each of which runs, or says why not.
#[test]
fn every_script_of_pgbench_s_documentation_runs_or_is_refused_with_the_reason() {
    let sets = "\\set aid random(1, 100000 * :scale)\n\\set bid random(1, 1 * :scale)\n\
                \\set tid random(1, 10 * :scale)\n\\set delta random(-5000, 5000)\n";
    let update = "UPDATE pgbench_accounts SET abalance = abalance + :delta WHERE aid = :aid";
    let select = "SELECT abalance FROM pgbench_accounts WHERE aid = :aid;\n";
    let history = "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) \
                   VALUES (:tid, :bid, :aid, :delta, CURRENT_TIMESTAMP);\n";
    let tellers = "UPDATE pgbench_tellers SET tbalance = tbalance + :delta WHERE tid = :tid;\n\
                   UPDATE pgbench_branches SET bbalance = bbalance + :delta WHERE bid = :bid;\n";
    let returning = format!("{update}\n  RETURNING abalance \\gset\n");
    for (text, refused) in [
        (format!("{sets}BEGIN;\n{update};\n{select}{tellers}{history}END;"), None),
        (format!("{sets}BEGIN;\n{update};\n{select}{history}END;"), None),
        (format!("\\set aid random(1, 100000 * :scale)\n{select}"), None),
        (
            "\\set ntellers 10 * :scale\n\\set aid (1021 * random(1, 100000 * :scale)) % \\\n           \
             (100000 * :scale) + 1\n\\set divx CASE WHEN :scale <> 0 THEN 6/:scale ELSE NULL END\n\
             SELECT :ntellers, :aid, :divx"
                .to_owned(),
            None,
        ),
        (
            "\\set size 1000000 * :scale\n\\set r random_zipfian(1, :size, 1.07)\n\
             \\set k 1 + permute(:r, :size)\n\\set k1 1 + permute(:r, :size, :default_seed + 321)\n\
             SELECT :k, :k1"
                .to_owned(),
            None,
        ),
        (format!("{sets}BEGIN;\n{returning}SELECT :abalance;\n\\sleep 10 ms\nEND;"), None),
        // As it is in the documentation.
        (
            format!("{sets}{returning}SELECT 1 \\;\nSELECT 2 AS two, 3 AS three \\gset p_\n"),
            Some("`\\;` sends several statements as one request"),
        ),
        (
            format!("{sets}{returning}SELECT 2 AS two, 3 AS three \\gset p_\n"),
            Some("more than one statement"),
        ),
        (
            "SELECT 1 AS one \\;\nSELECT 2 AS two, :scale AS three \\aset".to_owned(),
            Some("`\\;` sends several statements as one request"),
        ),
        (
            "\\setshell x command literal_argument :scale ::literal\nSELECT :x".to_owned(),
            Some("runs a program on the load generator"),
        ),
        (
            "\\shell command literal_argument :scale ::literal\nSELECT 1".to_owned(),
            Some("runs a program on the load generator"),
        ),
        (
            "\\startpipeline\nSELECT :scale;\n\\endpipeline".to_owned(),
            Some("`\\startpipeline` is not supported"),
        ),
    ] {
        let script = Script { name: "q", text: &text, weight: 1 };
        let read = WorkloadSpec::from_scripts(&[script], &owned(&[("scale", "3")]));
        match (read, refused) {
            (Ok(spec), None) => {
                spec.instantiate(&owned(&[("scale", "3")]), Seed(1)).unwrap();
            }
            (Err(errors), Some(reason)) => {
                let messages: Vec<&str> =
                    errors.iter().map(|(_, error)| error.message.as_str()).collect();
                assert!(messages.iter().any(|found| found.contains(reason)), "{text}: {messages:?}");
            }
            (read, refused) => panic!("{text}: {refused:?} {read:?}"),
        }
    }
}
