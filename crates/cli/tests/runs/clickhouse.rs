//! Audits of a server that stores rows in parts: lost, duplicated, and modified rows are counted.

use highwater_model::judgment::Data;
use highwater_model::record::RunRecord;
use highwater_testing::clickhouse::{ClickHouse, SUPERUSER, skipped};

use crate::called::{Place, record};

/// Ten batches of a hundred rows a second, for two seconds.
const LOAD: &str = "-d 2s --batch 100 --rate 1k --warm-up 0s --drop --json";
/// The row of a host at the first tick.
const FIRST: &str = "ts = 1451606400000 AND hostname = ";

/// The audit of the newest run.
fn audit(place: &Place) -> (Option<i32>, RunRecord) {
    let called = place.call(&["audit", "--json"]);
    (called.code, record(&called))
}

/// Changes rows, and waits for completion.
fn change(server: &ClickHouse, statement: &str) {
    server.sql(statement);
    while server.sql("SELECT count() FROM system.mutations WHERE NOT is_done") != "0" {
        crate::called::before_the_next_look();
    }
}

#[test]
fn rows_that_are_deleted_doubled_and_altered_after_a_run_are_counted_exactly() {
    if skipped() {
        return;
    }
    let server = ClickHouse::start();
    let url = server.url(SUPERUSER);
    let place = Place::new();
    let called = place.typed(&format!("run cpu {url} --set hosts=20 {LOAD}"));
    // Two seconds are too short to judge the measurement.
    assert!(matches!(called.code, Some(0 | 3)), "{}", called.stderr);
    let run = record(&called);
    assert_eq!(run.judgments.data.value, Data::Clean);
    assert!(run.audit.acknowledged > 1_000, "{:?}", run.audit);
    assert_eq!(run.audit.found, run.audit.acknowledged);
    let (code, same) = audit(&place);
    assert!(matches!(code, Some(0 | 3)), "{code:?}");
    assert_eq!(same.judgments.data.value, Data::Clean);

    change(&server, &format!("ALTER TABLE cpu DELETE WHERE {FIRST} 'host_3'"));
    let (code, lost) = audit(&place);
    assert_eq!((code, lost.judgments.data.value), (Some(4), Data::Lost));
    assert_eq!((lost.audit.missing, lost.audit.duplicated), (1, 0));

    server.sql(&format!("INSERT INTO cpu SELECT * FROM cpu WHERE {FIRST} 'host_4'"));
    for (column, value, host) in [("usage_user", "usage_user + 1", 5), ("region", "'x'", 6)] {
        let altered =
            format!("ALTER TABLE cpu UPDATE {column} = {value} WHERE {FIRST} 'host_{host}'");
        change(&server, &altered);
    }
    let (code, found) = audit(&place);
    assert_eq!(code, Some(4));
    let counts = (found.audit.missing, found.audit.duplicated, found.audit.altered);
    assert_eq!(counts, (1, 1, 2));
}

/// Partitions, and types that `cpu` does not have.
#[test]
fn rows_of_partitions_that_are_deleted_doubled_and_altered_are_counted_exactly() {
    if skipped() {
        return;
    }
    let server = ClickHouse::start();
    let url = server.url(SUPERUSER);
    let place = Place::new();
    // A batch covers a hundred hours, so it usually has rows of two weeks.
    let called = place.typed(&format!("run sensors {url} --set interval=1h {LOAD}"));
    assert!(matches!(called.code, Some(0 | 3)), "{}", called.stderr);
    let run = record(&called);
    assert_eq!(run.judgments.data.value, Data::Clean);
    assert!(run.audit.acknowledged > 1_000, "{:?}", run.audit);
    let weeks = "SELECT uniqExact(partition) FROM system.parts WHERE active AND table = 'sensors'";
    let weeks: u64 = server.sql(weeks).parse().unwrap();
    assert_eq!(weeks, run.audit.acknowledged.div_ceil(24 * 7));

    let hour = |hour: i64| format!("ts = {}", 1_514_764_800_000 + hour * 3_600_000);
    change(&server, &format!("ALTER TABLE sensors DELETE WHERE {}", hour(200)));
    server.sql(&format!("INSERT INTO sensors SELECT * FROM sensors WHERE {}", hour(400)));
    for (at, altered) in
        ["uuid = 'x'", "v1 = v1 + 1", "v3 = v3 + 0.1", "v5 = 1 - v5"].iter().enumerate()
    {
        let row = hour(600 + 100 * i64::try_from(at).unwrap());
        change(&server, &format!("ALTER TABLE sensors UPDATE {altered} WHERE {row}"));
    }
    let (code, found) = audit(&place);
    assert_eq!(code, Some(4));
    let found = found.audit;
    assert_eq!((found.missing, found.duplicated, found.altered), (1, 1, 4));
}

/// A table's own limits are in the record of a run that found the table.
#[test]
fn settings_of_an_existing_table_are_known_like_those_of_the_server() {
    if skipped() {
        return;
    }
    let server = ClickHouse::start();
    let place = Place::new();
    let run = |more: &str| {
        let url = server.url(SUPERUSER);
        place.typed(&format!("run cpu {url} --set hosts=20 {more} --audit count --rows 2k --json"))
    };
    let made = record(&run("--with parts_to_delay_insert=7"));
    assert_eq!(made.target.setting("parts_to_delay_insert"), Some("7"));
    let found = record(&run(""));
    let settings = &found.target.settings;
    assert_eq!(settings.get("with.parts_to_delay_insert"), None);
    assert_ne!(settings.get("parts_to_delay_insert").map(String::as_str), Some("7"));
    assert_eq!(found.target.setting("parts_to_delay_insert"), Some("7"));
}
