//! Tables with many columns, and objects with many attributes: each of them is written and audited.

use std::fmt::Write as _;

use highwater_model::judgment::Data;
use highwater_testing::{mariadb, postgres};

use crate::called::{Place, expect_undisturbed, record};

/// A workload with a key and this number of columns with the constant 7.
fn wide(columns: usize) -> String {
    let mut made = "{ name = \"id\", type = \"bigint\", generator = \"sequence\" }".to_owned();
    let mut declared = String::new();
    for number in 1..=columns {
        let seven = "type = \"integer\", generator = \"uniform\", min = 7, max = 7";
        write!(made, ", {{ name = \"s{number}\", {seven} }}").unwrap();
        write!(declared, ", s{number} INTEGER").unwrap();
    }
    file(&made, &format!("id BIGINT{declared}"), "id")
}

/// A workload with rows about a thing with this number of attributes, which are part of an object.
fn attributed(attributes: usize) -> String {
    let mut made = String::new();
    let mut names = String::new();
    for number in 0..attributes {
        let generator = "generator = \"choice\", values = [\"a\", \"b\"]";
        write!(made, "{{ name = \"a{number}\", {generator} }}, ").unwrap();
        write!(names, "\"a{number}\", ").unwrap();
    }
    let columns = format!(
        "{{ name = \"id\", type = \"bigint\", generator = \"sequence\" }}, \
         {{ name = \"tags\", type = \"object\", generator = \"object\", attributes = [{names}] }}"
    );
    let text = file(&columns, "id BIGINT, tags JSON", "id");
    text.replace("[tables.t]", "[tables.t]\nentity = \"thing\"")
        + &format!("[entities.thing]\ncount = 1\nattributes = [{made}]\n")
}

fn file(columns: &str, declared: &str, key: &str) -> String {
    format!(
        "format = 1\nname = \"wide\"\nversion = 1\nsummary = \"many columns\"\n\
         [tables.t]\ncolumns = [{columns}]\n\
         create = {{ any = \"CREATE TABLE t ({declared})\" }}\nkey = {{ any = \"{key}\" }}\n\
         [ops.insert]\ninsert = \"t\"\nbatch = 100\n\
         [streams.insert]\nunit = \"rows\"\narrivals = \"constant\"\nops = {{ insert = 1 }}\n"
    )
}

/// Fills the table with this insert mode, and finds each value of its rows.
fn expect_clean(text: &str, url: &str, insert: &str) {
    let place = Place::new();
    place.file("wide.toml", text);
    // One session: ten batches are so few that a second one may find none left.
    let words = "--rows 1000 -c 1 --warm-up 0s --drop --json";
    let called = place.typed(&format!("run -f wide.toml {url} {words} {insert}"));
    // A second is too short to judge the measurement.
    assert!(matches!(called.code, Some(0 | 3)), "{insert}: {called:?}");
    let run = record(&called);
    expect_undisturbed(&run);
    assert_eq!(run.judgments.data.value, Data::Clean, "{insert}: {called:?}");
    assert_eq!(run.audit.acknowledged, 1_000, "{insert}");
}

#[test]
fn every_column_of_a_wide_table_in_a_file_is_written_and_audited() {
    let place = Place::new();
    place.file("wide.toml", &wide(1_600));
    let words = "--rows 300 -c 1 --warm-up 0s --json";
    let called = place.typed(&format!("run -f wide.toml sqlite:wide.db {words}"));
    assert_eq!(record(&called).judgments.data.value, Data::Clean, "{called:?}");
    let sevens = "SELECT count(*) FROM t WHERE s1 = 7 AND s1000 = 7 AND s1001 = 7 AND s1600 = 7";
    assert_eq!(place.query("wide.db", sevens), "300");
    // The audit covers the last one, too.
    place.database("wide.db", "UPDATE t SET s1600 = 8 WHERE id = 17");
    let again = place.typed("audit");
    assert_eq!(again.code, Some(4), "{again:?}");
}

#[test]
fn postgresql_stores_and_returns_its_maximum_number_of_columns() {
    if postgres::skipped() {
        return;
    }
    let server = postgres::Postgres::start();
    let url = server.url(postgres::SUPERUSER, "postgres");
    for insert in ["copy", "values", "unnest", "prepared"] {
        expect_clean(&wide(1_000), &url, &format!("--insert {insert}"));
        let sevens = "SELECT count(*) FROM t WHERE s1 = 7 AND s1000 = 7";
        assert_eq!(server.sql("postgres", sevens).trim(), "1000", "{insert}");
    }
    // The key is one of its 1,600 columns.
    expect_clean(&wide(1_599), &url, "");
    expect_clean(&attributed(60), &url, "");
}

#[test]
fn mariadb_stores_and_returns_the_maximum_number_of_columns_of_a_table() {
    if mariadb::skipped() {
        return;
    }
    let server = mariadb::MariaDb::start();
    let url = server.url(mariadb::SUPERUSER);
    for insert in ["values", "prepared"] {
        expect_clean(&wide(1_000), &url, &format!("--insert {insert}"));
        let sevens = "SELECT count(*) FROM t WHERE s1 = 7 AND s1000 = 7";
        assert_eq!(server.sql(sevens).trim(), "1000", "{insert}");
    }
    expect_clean(&attributed(60), &url, "");
}

#[test]
fn a_script_beyond_the_bound_is_refused_and_not_cut() {
    let place = Place::with_books();
    let most = format!("SELECT count(*) FROM book /* {} */", "x".repeat(1 << 20));
    place.file("long.sql", &most);
    let called = place.typed("run -f long.sql sqlite:own.db -c 1 -d 1s");
    assert_eq!(called.code, Some(2), "{called:?}");
    called.reports("larger than 1 MiB");
}
