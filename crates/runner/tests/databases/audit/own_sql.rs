//! Workload files with errors in their own SQL: the error is named, and a healthy database is not blamed. If rows are
//! really missing or altered, correct SQL is trusted, whatever their number.

use std::path::Path;

use highwater_analysis::{RunEnding, exit_code};
use highwater_model::audit_record::SqlPart;
use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::plan::AuditLevel;
use highwater_model::record::RunRecord;
use highwater_model::user_error::UserErrorKind;

use super::database::{Database, on, on_both};
use super::plans::job;
use super::tampered::{Faults, tampered};
use crate::support::{data_reasons, try_run_on};

const METERS: &str = include_str!("meters.toml");

/// Runs a file on a database that is changed this way between load and audit.
fn record(
    text: &str,
    database: &Database,
    level: AuditLevel,
    root: &Path,
    mut faults: Faults,
    tamper: &'static str,
) -> RunRecord {
    let mut job = job(level);
    job.text = Some(Box::leak(text.to_owned().into_boxed_str()));
    let other = database.clone();
    faults.tamper = Some(Box::new(move |_| {
        if !tamper.is_empty() {
            other.execute(tamper);
        }
    }));
    let target = tampered(database.open(None, None), faults);
    job.run_on(target, root).record
}

/// The file with these replacements.
fn changed(changes: &[(&str, &str)]) -> String {
    let mut text = METERS.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replace(from, to);
    }
    text
}

/// The file with these value expressions for columns, on both databases.
fn with_values(values: &str) -> String {
    let sections = format!(
        "[tables.meters.values.sqlite]\n{values}\n[tables.meters.values.postgresql]\n{values}\n\
         [tables.meters.key]"
    );
    changed(&[("[tables.meters.key]", &sections)])
}

/// The part, the column, and the expression that the evidence must name.
struct Named {
    part: SqlPart,
    column: Option<&'static str>,
    expression: &'static str,
    evidence: &'static str,
}

fn key(expression: &'static str, evidence: &'static str) -> Named {
    Named { part: SqlPart::Key, column: None, expression, evidence }
}

fn assert_named(record: &RunRecord, named: &Named) {
    let (audit, judged) = (&record.audit, &record.judgments);
    let context = format!("{audit:#?}\n{:?}", judged.data);
    let [wrong] = audit.wrong_sql.as_slice() else {
        panic!("{context}");
    };
    assert_eq!((wrong.part, wrong.table.as_str()), (named.part, "meters"));
    assert_eq!(wrong.column.as_deref(), named.column, "{context}");
    assert_eq!(wrong.expression, named.expression, "{context}");
    assert!(wrong.evidence.contains(named.evidence), "{context}");
    assert_eq!(judged.data.value, Data::Unverified, "{context}");
    assert_eq!(data_reasons(record), [ReasonCode::AuditSqlWrong]);
    assert_eq!(exit_code(judged, RunEnding::from_incidents(&record.incidents)), 2);
    let accused = (audit.missing, audit.surplus, audit.altered);
    assert_eq!(accused, (0, 0, 0), "{context}");
    assert!(audit.examples.is_empty(), "{context}");
}

fn assert_wrong(text: &str, database: &Database, root: &Path, named: &Named) {
    let record = record(text, database, AuditLevel::Sums, root, Faults::default(), "");
    assert_named(&record, named);
}

#[test]
fn a_key_that_gives_another_number_is_named_at_each_level() {
    on_both(|database, root| {
        let text = changed(&[
            ("sqlite = \"id\"", "sqlite = \"id / 2\""),
            ("postgresql = \"id\"", "postgresql = \"id / 2\""),
        ]);
        for level in [AuditLevel::Count, AuditLevel::Sums, AuditLevel::Full] {
            let record = record(&text, database, level, root, Faults::default(), "");
            assert_named(&record, &key("id / 2", "its key comes out as"));
        }
    });
}

#[test]
fn a_key_that_is_null_or_negative_is_named() {
    on_both(|database, root| {
        for expression in ["NULLIF(id, id)", "-1 - id"] {
            let one = format!("sqlite = \"{expression}\"");
            let other = format!("postgresql = \"{expression}\"");
            let text = changed(&[("sqlite = \"id\"", &one), ("postgresql = \"id\"", &other)]);
            assert_wrong(&text, database, root, &key(expression, "its key comes out as"));
        }
    });
}

#[test]
fn a_key_that_the_target_refuses_is_named_with_its_words() {
    on(Database::postgres(), |database, root| {
        let text = changed(&[("postgresql = \"id\"", "postgresql = \"CAST(city AS bigint)\"")]);
        let named = key("CAST(city AS bigint)", "invalid input syntax");
        assert_wrong(&text, database, root, &named);
    });
}

#[test]
fn a_wrong_key_is_found_even_if_rows_are_lost() {
    on_both(|database, root| {
        let text = changed(&[
            ("sqlite = \"id\"", "sqlite = \"id + 1\""),
            ("postgresql = \"id\"", "postgresql = \"id + 1\""),
        ]);
        let tamper = "DELETE FROM meters WHERE id % 3 = 0;";
        let record = record(&text, database, AuditLevel::Sums, root, Faults::default(), tamper);
        assert_named(&record, &key("id + 1", "its key comes out as"));
    });
}

#[test]
fn an_expression_for_a_value_that_is_wrong_is_named() {
    on_both(|database, root| {
        for (column, expression) in [("n", "n + 1"), ("ok", "CASE WHEN ok THEN 2 ELSE 3 END")] {
            let named = Named {
                part: SqlPart::Value,
                column: Some(column),
                expression,
                evidence: "holds what was sent",
            };
            let text = with_values(&format!("{column} = \"{expression}\""));
            assert_wrong(&text, database, root, &named);
        }
    });
}

#[test]
fn an_expression_for_a_value_of_another_type_is_named() {
    // Texts that are stored as their lengths, which do not identify them.
    on_both(|database, root| {
        let text = with_values("note = \"length(note)\"");
        let named = Named {
            part: SqlPart::Value,
            column: Some("note"),
            expression: "length(note)",
            evidence: "11 comes out in place of",
        };
        assert_wrong(&text, database, root, &named);
    });
}

#[test]
fn an_expression_for_a_value_that_the_target_refuses_is_named() {
    on(Database::postgres(), |database, root| {
        let named = Named {
            part: SqlPart::Value,
            column: Some("note"),
            expression: "CAST(note AS bigint)",
            evidence: "invalid input syntax",
        };
        let text = with_values("note = \"CAST(note AS bigint)\"");
        // SQLite converts such a text to 0.
        assert_wrong(&text, database, root, &named);
    });
}

/// The canary before the load names the column.
fn assert_named_before_the_load(text: &str, database: &Database, root: &Path, parts: [&str; 2]) {
    let mut job = job(AuditLevel::Sums);
    job.text = Some(Box::leak(text.to_owned().into_boxed_str()));
    let Err(error) = try_run_on(&job, database.open(None, None), root) else {
        panic!("it ran");
    };
    assert_eq!(error.kind, UserErrorKind::Usage, "{error}");
    for part in parts {
        assert!(error.message.contains(part), "{part}: {error}");
    }
}

#[test]
fn a_column_of_another_type_than_the_workloads_is_named() {
    let root = tempfile::tempdir().unwrap();
    let sqlite = Database::sqlite(root.path());
    let text = changed(&[(", n INTEGER, x REAL", ", n TEXT, x REAL")]);
    let named = ["column `n` is integer", "gives back the text '"];
    assert_named_before_the_load(&text, &sqlite, root.path(), named);
}

#[test]
fn a_checksum_that_the_target_makes_otherwise_is_named() {
    on_both(|database, root| {
        let faults = Faults { other_sums_of: Some(3), ..Faults::default() };
        let record = record(METERS, database, AuditLevel::Sums, root, faults, "");
        let named = Named {
            part: SqlPart::Type,
            column: Some("ok"),
            expression: "boolean",
            evidence: "its checksum comes out as",
        };
        assert_named(&record, &named);
    });
}

/// The file with a condition for looking up rows.
fn with_locate(condition: &str) -> String {
    let section = format!(
        "[tables.meters.locate]\nsqlite = \"{condition}\"\npostgresql = \"{condition}\"\n\
         [tables.meters.key]"
    );
    changed(&[("[tables.meters.key]", &section)])
}

#[test]
fn an_index_that_does_not_find_rows_is_named() {
    on_both(|database, root| {
        for condition in ["id > :first AND id < :last", "city || :first = note || :last"] {
            let named = Named {
                part: SqlPart::Locate,
                column: None,
                expression: condition,
                evidence: "it does not find row",
            };
            assert_wrong(&with_locate(condition), database, root, &named);
        }
    });
}

#[test]
fn right_expressions_accuse_a_database_that_is_at_fault() {
    let locate = with_locate("id >= :first AND id <= :last");
    let values = with_values("n = \"n\"");
    let faults = [
        ("DELETE FROM meters WHERE id % 2 = 0;", Data::Lost),
        ("DELETE FROM meters WHERE id < 790;", Data::Lost),
        ("DELETE FROM meters;", Data::Lost),
        ("UPDATE meters SET id = id + 1;", Data::Lost),
        ("UPDATE meters SET n = n + 1;", Data::Altered),
        ("UPDATE meters SET n = NULL;", Data::Altered),
        ("UPDATE meters SET note = city;", Data::Altered),
        ("UPDATE meters SET x = x + 0.0000000000001;", Data::Altered),
        ("UPDATE meters SET ok = NOT ok;", Data::Altered),
        ("UPDATE meters SET note = note || ' ' WHERE id < 100;", Data::Altered),
        ("INSERT INTO meters SELECT * FROM meters;", Data::Duplicated),
        (
            "INSERT INTO meters SELECT id + 100000, n, x, ok, at, city, note, tags FROM meters;",
            Data::Unverified,
        ),
    ];
    on_both(|database, root| {
        for (tamper, expected) in faults {
            for text in [&locate, &values] {
                let faults = Faults::default();
                let record = record(text, database, AuditLevel::Sums, root, faults, tamper);
                let context = format!("{tamper}: {:#?}", record.audit);
                assert!(record.audit.wrong_sql.is_empty(), "{context}");
                assert_eq!(record.judgments.data.value, expected, "{context}");
            }
        }
    });
}
