//! The same request gives the same record, and the same record the same bytes.

use std::collections::BTreeMap;

use highwater_model::plan::Arrivals;
use highwater_model::record::RunRecord;
use highwater_report as report;
use highwater_runner::record;

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
    assert_eq!(report::json(&blank(first.clone())), report::json(&blank(second)));
    let mut other = busy();
    other.seed += 1;
    assert_ne!(
        report::json(&blank(first)),
        report::json(&blank(other.run().record)),
        "another seed is another run"
    );
}

#[test]
fn a_stored_record_gives_the_same_bytes_in_every_format() {
    let root = tempfile::tempdir().unwrap();
    let record = busy().run_in(root.path()).record;
    let directory = root.path().join("test");
    let stored = std::fs::read_to_string(directory.join("record.json")).unwrap();
    assert_eq!(stored, report::json(&record));
    for back in [report::parse(&stored).unwrap(), record::read(&directory).unwrap()] {
        let back = back.into_run().unwrap();
        assert_eq!(back, record);
        assert_eq!(report::json(&back), stored);
        assert_eq!(report::text(&back), report::text(&record));
        assert_eq!(report::csv(&back), report::csv(&record));
        assert_eq!(report::results_csv(&back), report::results_csv(&record));
    }
}
