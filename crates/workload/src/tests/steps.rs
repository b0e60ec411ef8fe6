//! Transactions whose steps depend on computed values: branches, pauses, and their end.

use proptest::prelude::*;

use super::input_errors::shown;
use super::{owned, parsed, values};
use crate::{Script, Workload, WorkloadSpec};
use highwater_model::op::{BoundOpKind, PlaceholderStyle, Value};
use highwater_model::transaction::NextStep;
use highwater_model::units::Seed;

fn of_script(text: &str, settings: &[(&str, &str)]) -> Workload {
    let script = Script { name: "q", text, weight: 1 };
    let spec = WorkloadSpec::from_scripts(&[script], &owned(settings)).unwrap();
    spec.instantiate(&owned(settings), Seed(1)).unwrap()
}

/// The steps of an op: statements with the values of their parameters, pauses, and the end.
fn taken(workload: &Workload, index: u64) -> String {
    taken_with(workload, index, &[])
}

/// The same where each answer has one row of these columns; an error in the place of the rest.
fn taken_with(workload: &Workload, index: u64, row: &[(&str, &str)]) -> String {
    let bound = workload.bind(&["x".to_owned()], PlaceholderStyle::Dollar).unwrap();
    let BoundOpKind::Transaction(transaction) = &bound.ops[0].kind else { panic!() };
    let values = values(workload, index);
    let mut walk = transaction.walk(&values);
    let mut steps = Vec::new();
    loop {
        let step = match walk.step() {
            Ok(step) => step,
            Err(why) => return steps.join("; ") + "; " + &why,
        };
        steps.push(match step {
            NextStep::Statement(_, statement, answer) => {
                let values = statement.values_of(walk.values());
                let values: String = values.map(|value| format!(" {value:?}")).collect();
                if let Some(answer) = answer {
                    let names: Vec<String> =
                        row.iter().map(|(name, _)| (*name).to_owned()).collect();
                    let columns = answer.places(&names).unwrap().into_iter();
                    let columns = columns.map(|(at, to)| (to, Value::Text(row[at].1.into())));
                    if let Err(why) = walk.answer(columns.collect()) {
                        steps.push(statement.sql.clone());
                        return steps.join("; ") + "; " + &why;
                    }
                }
                format!("{}{values}", statement.sql)
            }
            NextStep::Pause(time) => format!("{} us", time.0 / 1_000),
            NextStep::End { rolls_back } => {
                steps.push(if rolls_back { "rollback" } else { "commit" }.to_owned());
                return steps.join("; ");
            }
        });
    }
}

/// The errors of a script with their places.
fn refused(text: &str) -> Vec<String> {
    let script = Script { name: "q", text, weight: 1 };
    let found = WorkloadSpec::from_scripts(&[script], &owned(&[])).unwrap_err();
    let shown = found.iter().map(|(_, error)| {
        assert!(error.hint.is_some(), "{}", error.message);
        let (line, column) = error.position();
        format!("{line}:{column} {}", error.message)
    });
    shown.collect()
}

#[test]
fn an_op_takes_the_first_branch_whose_condition_is_true() {
    let text = "\\set n random(0, 3)\nBEGIN;\n\\if :n = 0\nA;\n\\elif :n = 1\nB :n;\nC;\n\\else\nD;\n\
                \\if :n = 2\nE;\n\\endif\n\\endif\nF;\nEND;";
    let workload = of_script(text, &[]);
    let mut found: Vec<String> = (0..100).map(|index| taken(&workload, index)).collect();
    found.sort();
    found.dedup();
    assert_eq!(
        found,
        ["A; F; commit", "B $1 Integer(1); C; F; commit", "D; E; F; commit", "D; F; commit"]
    );
}

/// As in pgbench: NULL and zero are false, other numbers are true, and what is not reached is not computed.
#[test]
fn conditions_are_true_as_in_pgbench() {
    for (text, expected) in [
        ("\\if true\nA;\n\\endif", "A; commit"),
        ("\\if null\nA;\n\\else\nB;\n\\endif", "B; commit"),
        ("\\if 0\nA;\n\\else\nB;\n\\endif", "B; commit"),
        ("\\if 0.5\nA;\n\\endif\nB;", "A; B; commit"),
        ("\\if :yes\nA;\n\\endif", "A; commit"),
        ("\\if true\nA;\n\\elif 1 / 0 = 1\nB;\n\\endif", "A; commit"),
        ("\\if false\n\\if 1 / 0 = 1\nA;\n\\endif\n\\endif\nB;", "B; commit"),
        // A command ends the statement before it, as in pgbench.
        ("A\n\\if false\nB;\n\\endif", "A; commit"),
        ("\\IF false\nB;\n\\ENDIF\nA;", "A; commit"),
    ] {
        let settings: &[_] = if text.contains(":yes") { &[("yes", "true")] } else { &[] };
        let workload = of_script(&format!("BEGIN;\n{text}\nEND;"), settings);
        assert_eq!(taken(&workload, 0), expected, "{text}");
    }
}

#[test]
fn a_variable_that_a_branch_sets_keeps_its_value_in_the_others() {
    let text = "\\set n random(0, 2)\n\\set a 1\n\\if :n = 0\n\\set a :a + 1\n\\elif :n = 1\n\
                \\set a 1 / (:n - 1)\n\\set a 9\n\\endif\nBEGIN;\nS :n :a;\nEND;";
    let text = &text.replace("\\set a 1 / (:n - 1)\n", "\\set b 6 / :n\n");
    let workload = of_script(text, &[]);
    let mut found: Vec<String> = (0..100).map(|index| taken(&workload, index)).collect();
    found.sort();
    found.dedup();
    let expected = [(0, 2), (1, 9), (2, 1)];
    let expected = expected.map(|(n, a)| format!("S $1 $2 Integer({n}) Integer({a}); commit"));
    assert_eq!(found, expected);
}

#[test]
fn a_transaction_ends_as_its_branch_says() {
    for (text, expected) in [
        ("A;\nROLLBACK;", ["A; rollback"; 2]),
        ("A;\nabort work;", ["A; rollback"; 2]),
        ("A;\n\\if :c\nCOMMIT;\n\\else\nROLLBACK;\n\\endif", ["A; commit", "A; rollback"]),
        ("\\if :c\nROLLBACK;\n\\else\nA;\nEND;\n\\endif", ["rollback", "A; commit"]),
        (
            "\\if :c\nA;\nROLLBACK;\n\\elif :c\nB;\nEND;\n\\else\nROLLBACK;\n\\endif",
            ["A; rollback", "rollback"],
        ),
        (
            "\\if :c\n\\if true\nROLLBACK;\n\\else\nEND;\n\\endif\n\\else\nROLLBACK;\n\\endif",
            ["rollback", "rollback"],
        ),
    ] {
        // A transaction has a statement, even if only other branches run it.
        let text = if text.contains("A;") { text.to_owned() } else { format!("S;\n{text}") };
        let found = [("c", "true"), ("c", "false")].map(|setting| {
            let settings: &[_] = if text.contains(":c") { &[setting] } else { &[] };
            taken(&of_script(&format!("BEGIN;\n{text}"), settings), 0)
        });
        assert_eq!(found.map(|steps| steps.replace("S; ", "")), expected, "{text}");
    }
}

#[test]
fn a_pause_has_the_length_and_unit_that_the_script_says() {
    for (text, expected) in [
        ("\\sleep 5 ms", "A; 5000 us; commit"),
        ("\\sleep 7 us", "A; 7 us; commit"),
        ("\\sleep 2 s", "A; 2000000 us; commit"),
        ("\\sleep 1", "A; 1000000 us; commit"),
        ("\\sleep :t MS", "A; 30000 us; commit"),
        ("\\if false\n\\sleep 1\n\\endif", "A; commit"),
    ] {
        let settings: &[_] = if text.contains(":t") { &[("t", "30")] } else { &[] };
        let workload = of_script(&format!("BEGIN;\nA\n{text}\nEND;"), settings);
        assert_eq!(taken(&workload, 0), expected, "{text}");
    }
}

#[test]
fn lines_about_branches_and_pauses_are_refused_at_their_place() {
    let within = |text: &str| format!("BEGIN;\n{text}\nEND;");
    for (text, expected) in [
        (within("\\if true\nA;"), "2:1 `\\if` without `\\endif`"),
        (within("A;\n\\endif"), "3:1 there is no `\\if` before this"),
        (within("A;\n\\elif true"), "3:1 there is no `\\if` before this"),
        (within("\\if true\nA;\n\\else\n\\else\n\\endif"), "5:1 this follows `\\else`"),
        (
            within("\\if\nA;\n\\endif"),
            "the condition cannot be computed on line 2: the expression is incomplete",
        ),
        (
            within("\\if :commit\nA;\n\\endif"),
            "2:1 the condition is computed on line 2 from `:commit`, which has no value",
        ),
        (
            within("\\set z 0\n\\if 1 / :z = 1\nA;\n\\endif"),
            "3:1 the condition is computed on line 3 from `:z`: division by zero",
        ),
        (within("A;\n\\sleep ten ms"), "3:1 no pause has the length `ten ms`"),
        (within("A;\n\\sleep 1 hour"), "3:1 no pause has the length `1 hour`"),
        ("\\sleep 1\nBEGIN;\nA;\nEND;".to_owned(), "1:1 `\\sleep` outside of a transaction"),
        ("BEGIN;\nA;\nEND;\n\\sleep 1".to_owned(), "4:1 `\\sleep` outside of a transaction"),
        (
            "\\if true\nBEGIN;\n\\endif\nA;\nEND;".to_owned(),
            "2:1 the transaction begins in a branch",
        ),
        (
            "\\if true\nA;\n\\endif".to_owned(),
            "2:1 a statement in a branch, outside of a transaction",
        ),
        (
            "BEGIN;\nA;\n\\if true\nEND;\n\\endif".to_owned(),
            "4:1 the transaction ends here, but not in every branch",
        ),
        (
            "BEGIN;\nA;\n\\if true\nROLLBACK;\n\\endif\nEND;".to_owned(),
            "4:1 the transaction ends here, but not in every branch",
        ),
        ("BEGIN;\nA;\nROLLBACK;\nB;".to_owned(), "4:1 this follows the end of the transaction"),
        (
            "BEGIN;\nA;\n\\if true\nEND;\n\\else\nEND;\n\\endif\nROLLBACK;".to_owned(),
            "8:1 this follows the end of the transaction",
        ),
    ] {
        let found = refused(&text);
        assert!(found[0].ends_with(expected), "{text}: {found:?}");
        assert_eq!(found.len(), 1, "{text}: {found:?}");
    }
}

/// One answer: `a` is 7, `b` a text, `n` null.
const ROW: [(&str, &str); 3] = [("a", "7"), ("b", "x y"), ("n", "null")];

#[test]
fn columns_of_an_answer_are_variables_of_later_steps() {
    let text = |value: &str| format!("{:?}", Value::Text(value.into()));
    let (seven, words) = (text("7"), text("x y"));
    for (text, expected) in [
        ("SELECT a \\gset\nS :a;", format!("SELECT a; S $1 {seven}; commit")),
        ("SELECT a, b\n\\gset\nS :b :a;", format!("SELECT a, b; S $1 $2 {words} {seven}; commit")),
        ("SELECT a; \\gset\nS :a;", format!("SELECT a; S $1 {seven}; commit")),
        ("SELECT a \\gset p_\nS :p_a;", format!("SELECT a; S $1 {seven}; commit")),
        ("SELECT a \\aset\nS :a;", format!("SELECT a; S $1 {seven}; commit")),
        // The value before the answer, and after it.
        (
            "\\set a 1\nT :a;\nSELECT a \\gset\nS :a;",
            format!("T $1 Integer(1); SELECT a; S $1 {seven}; commit"),
        ),
        (
            "SELECT a \\gset\nS :a;\n\\set a 2\nT :a;",
            format!("SELECT a; S $1 {seven}; T $1 Integer(2); commit"),
        ),
        // What a condition names is no column.
        (
            "\\set a 1\nSELECT b FROM t WHERE a = 1 \\gset\nS :a :b;",
            format!("SELECT b FROM t WHERE a = 1; S $1 $2 Integer(1) {words}; commit"),
        ),
        (
            "\\set a 1\nSELECT a + 1 AS b, f(a) \\gset\nS :a :b;",
            format!("SELECT a + 1 AS b, f(a); S $1 $2 Integer(1) {words}; commit"),
        ),
        (
            "\\set b 1\nUPDATE t SET b = 2 RETURNING a \\gset\nS :a;",
            format!("UPDATE t SET b = 2 RETURNING a; S $1 {seven}; commit"),
        ),
        // The answer whose statement names the column.
        (
            "SELECT a \\gset\nSELECT b \\gset\nS :a :b;",
            format!("SELECT a; SELECT b; S $1 $2 {seven} {words}; commit"),
        ),
        ("SELECT * \\gset\nS :a;", format!("SELECT *; S $1 {seven}; commit")),
        // Expressions, conditions, and pauses that follow from it.
        (
            "SELECT a \\gset\n\\set c :a * 2 + 1\nS :c;",
            "SELECT a; S $1 Integer(15); commit".to_owned(),
        ),
        (
            "SELECT a \\gset\n\\set c :a / 2.0\nS :c;",
            "SELECT a; S $1 Float(3.5); commit".to_owned(),
        ),
        ("SELECT a \\gset\n\\if :a > 6\nS;\n\\else\nT;\n\\endif", "SELECT a; S; commit".to_owned()),
        ("SELECT n \\gset\n\\if :n\nS;\n\\else\nT;\n\\endif", "SELECT n; T; commit".to_owned()),
        ("SELECT a \\gset\n\\sleep :a ms", "SELECT a; 7000 us; commit".to_owned()),
        // A branch that is not taken gets no answer: what was set before stays.
        (
            "\\set a 1\n\\if false\nSELECT a \\gset\n\\endif\n\\set c :a + 1\nS :a :c;",
            "S $1 $2 Integer(1) Integer(2); commit".to_owned(),
        ),
        ("\\if false\nSELECT a \\gset\n\\endif\nS :a;", "S $1 Null; commit".to_owned()),
        (
            "SELECT a \\gset\n\\if :a = 7\nROLLBACK;\n\\else\nEND;\n\\endif",
            "SELECT a; rollback".to_owned(),
        ),
        (
            "SELECT b \\gset\n\\set c :b + 1\nS :c;",
            "SELECT b; `:c` cannot be computed: `x y` is neither a number nor a truth value"
                .to_owned(),
        ),
        (
            "SELECT 'a \\gset', a \\gset\nS :a;",
            format!("SELECT 'a \\gset', a; S $1 {seven}; commit"),
        ),
    ] {
        let ends = if text.contains("ROLLBACK") { "" } else { "END;" };
        let workload = of_script(&format!("BEGIN;\n{text}\n{ends}"), &[]);
        assert_eq!(taken_with(&workload, 0, &ROW), expected, "{text}");
    }
}

#[test]
fn what_follows_from_an_answer_is_random_by_seed_and_index_alone() {
    let text = "\\set r random(1, 1000000)\nBEGIN;\nSELECT a \\gset\n\\set s random(1, 1000000) + 0 * :a\n\
                S :r :s;\nEND;";
    let workload = of_script(text, &[]);
    let found: Vec<String> = (0..50).map(|index| taken_with(&workload, index, &ROW)).collect();
    let again: Vec<String> = (0..50).map(|index| taken_with(&workload, index, &ROW)).collect();
    assert_eq!(found, again);
    let mut values: Vec<&str> = found.iter().flat_map(|op| op.split("Integer").skip(1)).collect();
    values.sort_unstable();
    values.dedup();
    // Of 100 numbers of a million, two are equal with a probability of 0.5 %; the seed is fixed.
    assert_eq!(values.len(), 100);
}

#[test]
fn answers_that_no_step_can_use_are_refused_at_their_place() {
    for (text, expected) in [
        ("BEGIN;\n\\gset\nS;\nEND;", "2:1 `\\gset` follows no statement"),
        ("BEGIN;\nS \\gset\n\\gset x_\nEND;", "3:1 `\\gset` follows no statement"),
        ("BEGIN;\nS :a;\nT AS a \\gset\nEND;", "2:3 `:a` is not set"),
        ("BEGIN;\nS \\; T \\gset\nEND;", "2:3 `\\;` sends several statements as one request"),
        ("SELECT 1 AS a \\gset", "1:15 an answer is used outside of a transaction"),
    ] {
        let found = refused(text);
        assert!(found[0].ends_with(expected), "{text}: {found:?}");
    }
}

#[test]
fn a_workload_file_names_the_columns_of_an_answer() {
    let file = FILE
        .replace("{ name = \"pause\"", "{ name = \"stock\", type = \"text\", generator = \"answer\" },\n    \
            { name = \"is_empty\", type = \"boolean\", generator = \"expression\", value = \":stock < 8\" },\n    { name = \"pause\"")
        .replace("\"A :n (:ids)\"", "{ sql = \"A :n (:ids)\", answer = { stock = \"a\" }, rows = \"any\" }")
        .replace("rollback = true, when = \"is_one\"", "rollback = true, when = \"is_empty\"");
    let workload = parsed(&file).instantiate(&owned(&[]), Seed(1)).unwrap();
    for index in 0..20 {
        let found = taken_with(&workload, index, &ROW);
        assert!(found.starts_with("A $1 ($2, $3)") && found.ends_with("rollback"), "{found}");
    }
    let early = file.replace("rollback = true, when = \"is_empty\"", "rollback = true").replace(
        "    { sql = \"A",
        "    { pause_us = \"pause\", when = \"is_empty\" },\n    { sql = \"A",
    );
    insta::assert_snapshot!(shown(&early), @r#"
    18:5 «{ pause_us = "pause", wh» `:is_empty` is not known before this step of `transaction` of op `op` for `any`
        use it after the step with its answer
    "#);
    let twice = file.replace(
        "\"is_one\" },\n    { pause_us",
        "\"is_one\", answer = { stock = \"b\", n = \"c\" } },\n    { pause_us",
    );
    insta::assert_snapshot!(shown(&twice), @r#"
    19:70 «"c"» parameter `n` is not one of an answer
        give it generator = "answer"
    "#);
    let twice = twice.replace(", n = \"c\"", "");
    insta::assert_snapshot!(shown(&twice), @r#"
    18:5 «{ sql = "A :n (:ids)", a» `:stock` is in the answers of 2 steps of `transaction` of op `op` for `any`
        name it in `answer` of one step
    "#);
}

proptest! {
    /// Whatever the conditions are, an op takes the steps that an interpreter of the lines takes.
    #[test]
    fn nested_branches_are_those_of_an_interpreter(
        lines in proptest::collection::vec(0_u8..6, 1..40),
        truths in proptest::collection::vec(any::<bool>(), 40),
    ) {
        let mut text = "BEGIN;\nS0;\n".to_owned();
        let mut expected = "S0; ".to_owned();
        // Per open `\if`: whether its current branch runs, whether one has run, and whether this is `\else`.
        let mut open: Vec<(bool, bool, bool)> = Vec::new();
        for (number, line) in lines.iter().enumerate() {
            let runs_around = |open: &[(bool, bool, bool)]| open.iter().all(|(runs, ..)| *runs);
            let truth = truths[number];
            let last = open.last().copied();
            match (line, last) {
                (0, _) if open.len() < 5 => {
                    text.push_str(&format!("\\if {truth}\n"));
                    let runs = runs_around(&open) && truth;
                    open.push((runs, runs, false));
                }
                (1, Some((_, has_run, false))) => {
                    text.push_str(&format!("\\elif {truth}\n"));
                    open.pop();
                    let runs = runs_around(&open) && !has_run && truth;
                    open.push((runs, has_run || runs, false));
                }
                (2, Some((_, has_run, false))) => {
                    text.push_str("\\else\n");
                    open.pop();
                    let runs = runs_around(&open) && !has_run;
                    open.push((runs, true, true));
                }
                (3, Some(_)) => {
                    text.push_str("\\endif\n");
                    open.pop();
                }
                _ => {
                    text.push_str(&format!("S{};\n", number + 1));
                    if runs_around(&open) {
                        expected.push_str(&format!("S{}; ", number + 1));
                    }
                }
            }
        }
        text.push_str(&"\\endif\n".repeat(open.len()));
        text.push_str("END;");
        prop_assert_eq!(taken(&of_script(&text, &[]), 0), expected + "commit", "{}", text);
    }
}

const FILE: &str = r#"
format = 1
name = "steps"
version = 1
summary = "x"
source = "x"
[ops.op]
parameters = [
    { name = "n", type = "bigint", generator = "uniform", min = 0, max = 1 },
    { name = "ids", type = "bigint", count = 2, generator = "uniform", min = 5, max = 5 },
    { name = "is_one", type = "boolean", generator = "expression", value = ":n = 1" },
    { name = "pause", type = "bigint", generator = "constant", value = 20 },
]
[ops.op.transaction]
any = [
    "A :n (:ids)",
    { sql = "B (:ids)", when = "is_one" },
    { pause_us = "pause" },
    { rollback = true, when = "is_one" },
]
[streams.op]
unit = "transactions"
arrivals = "poisson"
ops = { op = 1 }
"#;

#[test]
fn a_workload_file_has_the_same_steps() {
    let workload = parsed(FILE).instantiate(&owned(&[]), Seed(1)).unwrap();
    let mut found: Vec<String> = (0..50).map(|index| taken(&workload, index)).collect();
    found.sort();
    found.dedup();
    let ids = "Integer(5) Integer(5)";
    assert_eq!(
        found,
        [
            format!("A $1 ($2, $3) Integer(0) {ids}; 20 us; commit"),
            format!("A $1 ($2, $3) Integer(1) {ids}; B ($1, $2) {ids}; 20 us; rollback"),
        ]
    );
    // A step is part of what a run is: another condition is another workload.
    let other = FILE.replace("{ sql = \"B (:ids)\", when = \"is_one\" }", "\"B (:ids)\"");
    let other = parsed(&other).instantiate(&owned(&[]), Seed(1)).unwrap();
    assert_ne!(other.fingerprint(), workload.fingerprint());
}

#[test]
fn wrong_steps_of_a_file_are_reported_at_their_places() {
    let wrong = FILE
        .replace("{ sql = \"B (:ids)\", when = \"is_one\" }", "{ sql = \"B\", when = \"n\" }, {}")
        .replace("{ pause_us = \"pause\" }", "{ pause_us = \"ids\", sql = \"C\" }, { slp = 1 }")
        .replace(
            "{ rollback = true, when",
            "{ rollback = true }, \"D\", { sql = \"ROLLBACK\", when",
        );
    insta::assert_snapshot!(shown(&wrong), @r#"
    17:25 «"n"» `when` names `n`, which is not one `boolean`
        give the parameter that type, and `count` 1
    17:32 «{}» a step of `transaction` of op `op` for `any` does nothing, or more than one thing
        a step is a text, or a table with `sql` and perhaps `answer`, `pause_us` or `rollback`, and perhaps `when`
    18:5 «{ pause_us = "ids", sql » a step of `transaction` of op `op` for `any` does nothing, or more than one thing
        a step is a text, or a table with `sql` and perhaps `answer`, `pause_us` or `rollback`, and perhaps `when`
    18:38 «{ slp = 1 }» a step of `transaction` of op `op` for `any` does nothing, or more than one thing
        a step is a text, or a table with `sql` and perhaps `answer`, `pause_us` or `rollback`, and perhaps `when`
    19:26 «"D"» `transaction` of op `op` for `any` has a step after its ROLLBACK
        the ROLLBACK is the last step, perhaps with `when`: else the transaction commits
    19:39 «"ROLLBACK"» `transaction` of op `op` for `any` begins or ends a transaction itself
        write { rollback = true } as the last step
    "#);
}
