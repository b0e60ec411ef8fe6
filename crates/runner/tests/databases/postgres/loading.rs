//! Runs that end well: every insert mode, and all queries together with an insert stream.

use highwater_model::judgment::Data;
use highwater_model::units::Nanos;
use highwater_report as report;

use super::server::{Database, try_run};
use crate::support::{Job, closed, measured, open};

/// Every acknowledged row exists, and the server's counter agrees.
#[test]
fn rows_of_every_insert_mode_are_all_found() {
    let Some(database) = Database::new("modes") else {
        return;
    };
    for mode in ["copy", "values", "unnest", "prepared"] {
        let mut job = Job::new(&database.url(), &[("insert", closed(2))]);
        job.settings = vec![("batch", "500".to_owned())];
        job.step = Nanos::from_secs(1);
        let record = try_run(&job, database.target(Some(mode)), true).unwrap().record;
        let text = report::text(&record);
        let insert = measured(&record, "insert");
        assert_eq!(record.target.settings["insert"], mode, "{text}");
        assert!(insert.acknowledged > 0, "{mode}\n{text}");
        assert!(insert.errors.is_empty(), "{mode}\n{text}");
        assert_eq!(insert.acknowledged * 500, insert.rows.acknowledged);
        assert!(insert.service_ns.p50.unwrap() > 0, "{mode}\n{text}");
        let (audit, rows) = (&record.audit, insert.rows.acknowledged);
        assert_eq!((audit.acknowledged, audit.unknown), (rows, 0), "{mode}");
        assert_eq!(audit.found, rows, "{mode}\n{text}");
        assert_eq!(audit.server_counter, Some(rows), "{mode}\n{text}");
        assert_eq!(record.judgments.data.value, Data::Clean, "{mode}\n{text}");
        assert_eq!(database.number("SELECT count(*) FROM cpu"), rows, "{mode}");
    }
}

/// The server reports its transactions, which match the load; nothing failed.
#[test]
fn telemetry_of_the_server_fits_the_load() {
    let Some(database) = Database::new("told") else {
        return;
    };
    let mut job = Job::new(&database.url(), &[("insert", closed(2))]);
    job.settings = vec![("batch", "100".to_owned())];
    job.step = Nanos::from_secs(4);
    let record = database.run(&job).record;
    let telemetry = record.target_telemetry.as_ref().unwrap();
    let names: Vec<&str> = telemetry.sources.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["target", "host"], "{telemetry:?}");
    let is_late = |failure: &String| failure.starts_with("no answer within");
    let mut failures = telemetry.sources.iter().filter_map(|source| source.failure.as_ref());
    assert!(failures.all(is_late), "{telemetry:?}");
    let series = |name: &str| telemetry.series.iter().find(|series| series.name == name);
    for name in ["rows_inserted", "active", "lock_waits", "checkpoints", "cpu_busy"] {
        assert!(series(name).is_some(), "{name}: {telemetry:?}");
    }
    // Backends report their work with a delay of up to a second, so the end may be missing.
    let counted: f64 = series("rows_inserted").unwrap().values.iter().flatten().sum();
    let rows = measured(&record, "insert").rows.acknowledged;
    let rows = f64::from(u32::try_from(rows).unwrap());
    // After a slow response, it was not polled for a while.
    let polled = &telemetry.sources[0];
    let least =
        if polled.failed == 0 && 9 * polled.longest_ns < Nanos::SECOND.0 { 0.3 } else { 0.0 };
    assert!(counted > least * rows && counted < 1.1 * rows, "{counted} of {rows}");
    assert!(record.target.disk_bytes_per_row.unwrap() > 10.0);
}

#[test]
fn all_six_queries_are_answered_beside_an_insert_stream() {
    let Some(database) = Database::new("queries") else {
        return;
    };
    let streams = [("insert", open(2_000)), ("dashboards", open(60))];
    let mut job = Job::new(&database.url(), &streams);
    job.settings = vec![
        ("hosts", "400".to_owned()),
        ("rows", "40000".to_owned()),
        ("batch", "500".to_owned()),
    ];
    job.step = Nanos::from_secs(5);
    let record = database.run(&job).record;
    let text = report::text(&record);
    for op in [
        "latest-metrics",
        "service",
        "recent-snapshot",
        "high-cpu-hosts",
        "max-user",
        "moving-average",
    ] {
        let result = measured(&record, op);
        let answered = result.acknowledged;
        assert!(answered > 0, "{op}\n{text}");
        assert_eq!(answered, result.offered, "{op}\n{text}");
        assert!(result.errors.is_empty(), "{op}\n{text}");
        // Each of them returns rows for any parameters, because 40,000 rows exist before.
        let rows = result.response_rows;
        match op {
            "high-cpu-hosts" => assert_eq!(rows, 5 * answered, "{text}"),
            "moving-average" => assert!(rows > 5 * answered, "{text}"),
            _ => assert_eq!(rows, answered, "{op}\n{text}"),
        }
    }
    let loaded = record.results.iter().find(|r| r.phase == "load").unwrap();
    assert_eq!(loaded.rows.acknowledged, 40_000);
    let insert = measured(&record, "insert");
    assert_eq!(insert.rows.acknowledged, 10_000, "{text}");
    assert_eq!(record.audit.found, 50_000, "{text}");
    assert_eq!(record.audit.server_counter, Some(50_000), "{text}");
    assert_eq!(record.judgments.data.value, Data::Clean, "{text}");
}
