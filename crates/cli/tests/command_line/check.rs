//! `check` of targets and of workload files.

use super::*;

#[test]
fn check_describes_a_target() {
    let output = call(&["check", "sim:"]);
    assert_eq!(stderr(&output), "");
    assert_eq!(output.status.code(), Some(0));
    assert_snapshot!(stdout(&output), @"
    result    nothing found that would stop a run or falsify its figures
    target    OK · simulated cluster · sim:
    rights    OK · not restricted
    inserts   OK · bulk
    sessions  OK · 16 by default, all to one URL
    disk      not reported by the target
    note      3 nodes × 4 cores · 6 shards · 1 replica
    settings  28 reported by the target; -v prints them
    ");
    let all = stdout(&call(&["check", "sim:", "-v"]));
    assert!(all.contains("\ncapacity.rows_per_s.batch_1000 "), "{all}");
    let default = call(&["check"]);
    assert_eq!(stderr(&default), "");
    assert!(stdout(&default).contains("SQLite"));
}

#[test]
fn a_target_that_cannot_be_used_has_its_own_exit_code() {
    let output = call(&["check", "sqlite:no/such/directory/bench.db"]);
    assert_eq!(output.status.code(), Some(5), "{}", stderr(&output));
    let wrong = call(&["check", "sim:", "--insert", "magic"]);
    assert_eq!(wrong.status.code(), Some(2), "{}", stderr(&wrong));
}

#[test]
fn check_reads_an_sql_file_as_a_run_does() {
    let text = "\\set id random(1, :n)\nSELECT 1 FROM t WHERE id = :id;\n";
    let directory = TempDir::new().unwrap();
    std::fs::write(directory.path().join("mine.sql"), text).unwrap();
    let output = highwater(&directory).args(["check", "mine.sql"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    let said = "error: `:id` is set on line 1 from `:n`, which has no value\n  --> mine.sql:1:1";
    assert!(error.starts_with(said), "{error}");
    std::fs::write(directory.path().join("mine.sql"), text.replace(":n", "9")).unwrap();
    let output = highwater(&directory).args(["check", "mine.sql"]).output().unwrap();
    assert!(stdout(&output).contains("op mine"), "{output:?}");
}

#[test]
fn check_reads_a_workload_file_and_shows_every_mistake_at_its_place() {
    let directory = TempDir::new().unwrap();
    let cpu = highwater_workload::builtin("cpu").unwrap().text;
    std::fs::write(directory.path().join("mine.toml"), cpu).unwrap();
    let output = highwater(&directory).args(["check", "mine.toml"]).output().unwrap();
    assert_eq!(stderr(&output), "");
    assert!(stdout(&output).starts_with("workload "));
    std::fs::write(directory.path().join("wrong.toml"), "name = 1\nverison = 1\n").unwrap();
    let output = highwater(&directory).args(["check", "wrong.toml"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_snapshot!(stderr(&output), @r#"
    error: the workload file has no `format`
      --> wrong.toml:1:1
       |
     1 | name = 1
       | ^

    hint: add format = 1

    error: the workload file has no `version`
      --> wrong.toml:1:1
       |
     1 | name = 1
       | ^

    hint: add version = 1

    error: the workload file has no `summary`
      --> wrong.toml:1:1
       |
     1 | name = 1
       | ^

    hint: add summary = "…"

    error: the workload file has no ops
      --> wrong.toml:1:1
       |
     1 | name = 1
       | ^

    hint: add [ops.NAME] with `insert`, `sql` or `transaction`

    error: `name` of the workload file must be text in quotes, not this integer
      --> wrong.toml:1:8
       |
     1 | name = 1
       |        ^

    hint: write "…", in quotes

    error: unknown key `verison` in the workload file
      --> wrong.toml:2:1
       |
     2 | verison = 1
       | ^^^^^^^

    hint: did you mean `version`?
    "#);
    let missing = highwater(&directory).args(["check", "none.toml"]).output().unwrap();
    assert_snapshot!(stderr(&missing), @"error: cannot read none.toml: No such file or directory (os error 2)");
}
