//! Tables like those of public projects, made again small, become workload files that run unedited: rows are written, and
//! every one is found with its values.

use std::fs;
use std::path::{Path, PathBuf};

use highwater_model::judgment::Data;
use highwater_testing::mariadb::{self, MariaDb};
use highwater_testing::postgres::{Postgres, SUPERUSER, skipped};

use crate::called::{Place, record};

/// The schemas for a server: names, and statements that create and fill their tables.
fn schemas(server: &str) -> Vec<(String, String)> {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/schemas").join(server);
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    files.iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
}

/// Sketches a table, loads as many rows as it has, and returns the name of the copy.
fn loaded(place: &Place, url: &str, table: &str) -> String {
    let called = place.call(&["workloads", "from", url, "--table", table]);
    assert_eq!(called.code, Some(0), "{table}: {called:?}");
    let text = called.stdout;
    assert!(!text.contains("--audit off"), "{table}: {text}");
    place.file("like.toml", &text);
    let called = place.typed(&format!("load -f like.toml {url} --set batch=300 --rows 600 --json"));
    let record = record(&called);
    assert_eq!(record.judgments.data.value, Data::Clean, "{table}: {called:?}\n{text}");
    assert_eq!(record.audit.acknowledged, 600, "{table}: {called:?}");
    let mut notes = record.notes.iter();
    assert_eq!(notes.find(|note| note.code == "columns_not_compared"), None, "{table}");
    let (_, name) = text.split_once("[[tables.").unwrap();
    name.split('.').next().unwrap().to_owned()
}

#[test]
#[ignore = "long: a load of each of 20 tables"]
fn long_schemas_of_public_projects_run_on_postgresql_without_an_edit() {
    if skipped() {
        return;
    }
    let server = Postgres::start();
    let place = Place::new();
    for (name, statements) in schemas("postgresql") {
        server.sql("postgres", &format!("CREATE DATABASE {name}"));
        server.sql(&name, &statements);
        let url = server.url(SUPERUSER, &name);
        let tables = "SELECT concat(nullif(nspname, 'public') || '.', relname) FROM pg_class
                      JOIN pg_namespace AS n ON n.oid = relnamespace WHERE relkind IN ('r', 'p')
                      AND NOT relispartition AND nspname !~ '^pg_|^information'";
        for table in server.sql(&name, tables).lines() {
            let copy = loaded(&place, &url, table);
            let original = table.replace('.', "\".\"");
            let widths = format!(
                "SELECT (SELECT avg(pg_column_size(t.*)) FROM {copy} t) /
                 (SELECT avg(pg_column_size(t.*)) FROM \"{original}\" t)"
            );
            let ratio: f64 = server.sql(&name, &widths).trim().parse().unwrap();
            assert!((0.9..1.1).contains(&ratio), "{name} {table}: {ratio}");
        }
    }
}

#[test]
#[ignore = "long: a load of each of 15 tables"]
fn long_schemas_of_public_projects_run_on_mariadb_without_an_edit() {
    if mariadb::skipped() {
        return;
    }
    let server = MariaDb::start();
    let place = Place::new();
    let url = server.url(mariadb::SUPERUSER);
    for (name, statements) in schemas("mariadb") {
        server.sql(&statements);
        let tables =
            "SELECT table_name FROM information_schema.tables WHERE table_schema = database()";
        for table in server.sql(tables).lines() {
            loaded(&place, &url, table);
        }
        server.sql(&format!("DROP DATABASE {0}; CREATE DATABASE {0} -- {name}", mariadb::DATABASE));
    }
}
