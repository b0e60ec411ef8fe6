//! The same request gives the same record, and the same record the same bytes.

use std::collections::BTreeMap;

use highwater_model::json;
use highwater_model::plan::Arrivals;
use highwater_model::record::RunRecord;
use highwater_report as report;
use highwater_runner::{record, store};

use crate::support::{Job, closed, one_node, open};

fn busy() -> Job {
    let target = one_node("cores=2&service=exp&request=2ms&query=3ms&drop=0.001&lose_ack=0.001");
    let streams = [("insert", open(5_000)), ("dashboards", closed(3))];
    let mut job = Job::new(&target, &streams);
    job.arrivals = Some(Arrivals::Poisson);
    job
}

/// Without the machine's additions.
fn blank(mut record: RunRecord) -> RunRecord {
    record.header.started_at.clear();
    record.clients.clear();
    record.telemetry.clear();
    record.header.environment = BTreeMap::new();
    record
}

#[test]
fn the_same_request_gives_the_same_record() {
    let (first, second) = (busy().run().record, busy().run().record);
    assert!(!first.intervals.is_empty());
    assert_eq!(json::print(&blank(first.clone())), json::print(&blank(second)));
    let mut other = busy();
    other.seed += 1;
    assert_ne!(
        json::print(&blank(first)),
        json::print(&blank(other.run().record)),
        "another seed is another run"
    );
}

#[test]
fn a_stored_record_gives_the_same_bytes_in_every_format() {
    let root = tempfile::tempdir().unwrap();
    let record = busy().run_in(root.path()).record;
    let directory = root.path().join("test");
    let stored = std::fs::read_to_string(directory.join("record.json")).unwrap();
    assert_eq!(stored, json::print(&record));
    for back in [json::parse(&stored).unwrap(), record::read(&directory).unwrap()] {
        let back = back.into_run().unwrap();
        assert_eq!(back, record);
        assert_eq!(json::print(&back), stored);
        assert_eq!(report::text(&back), report::text(&record));
        assert_eq!(report::csv((&back).into()), report::csv((&record).into()));
        assert_eq!(report::results_csv(&back), report::results_csv(&record));
    }
}

#[test]
fn the_page_of_a_record_is_rendered_by_the_caller_and_absent_without_one() {
    let root = tempfile::tempdir().unwrap();
    let record = busy().run_in(root.path()).record;
    let page = root.path().join("test").join("report.html");
    assert!(!page.exists());
    let directory = store::reopen(&root.path().join("test")).unwrap();
    let directory = directory.with_page(|record| format!("<p>{}", record.header().id));
    directory.write_record(&record).unwrap();
    assert_eq!(std::fs::read_to_string(&page).unwrap(), format!("<p>{}", record.header.id));
    let trial = directory.create_trial("01-search", &record.plan.definition).unwrap();
    trial.write_record(&record).unwrap();
    assert!(trial.path().join("report.html").exists());
    std::fs::remove_file(&page).unwrap();
    std::fs::create_dir(&page).unwrap();
    let error = directory.write_record(&record).unwrap_err();
    assert!(error.to_string().contains("report.html"), "{error}");
}
