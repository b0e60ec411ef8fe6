//! Whole runs on the simulated target.

use crate::support::{Job, closed, measured, open};
use highwater_model::judgment::{Data, Measurement};
use highwater_report as report;

#[test]
fn closed_load_on_the_simulated_target_is_sound_and_clean() {
    let end =
        Job::new("sim:?service=constant&request=1ms&row=0&rtt=0", &[("insert", closed(4))]).run();
    let record = &end.record;
    println!("{}", report::text(record));
    let result = measured(record, "insert");
    assert_eq!(result.offered, result.acknowledged);
    assert_eq!(record.audit.acknowledged, record.audit.found);
    assert_eq!(record.judgments.measurement.value, Measurement::Valid);
    assert_eq!(record.judgments.data.value, Data::Clean);
}

#[test]
fn open_load_offers_exactly_the_planned_ops() {
    let end = Job::new("sim:", &[("insert", open(1_000)), ("dashboards", open(50))]).run();
    println!("{}", report::text(&end.record));
    let insert = measured(&end.record, "insert");
    assert_eq!(
        (insert.offered, insert.acknowledged, insert.rows.acknowledged),
        (1_000, 1_000, 10_000)
    );
}

#[test]
fn closed_load_on_the_embedded_database_is_found_again() {
    let mut job = Job::new("sqlite:", &[("insert", closed(4))]);
    job.settings = vec![("batch", "1000".to_owned())];
    job.step = highwater_model::units::Nanos::from_secs(2);
    let end = job.run();
    println!("{}", report::text(&end.record));
    assert!(measured(&end.record, "insert").acknowledged > 0);
    assert_eq!(end.record.audit.acknowledged, end.record.audit.found);
    assert_eq!(end.record.judgments.data.value, Data::Clean);
    assert!(end.record.clients[0].embedded_cpu_seconds > 0.0);
}
