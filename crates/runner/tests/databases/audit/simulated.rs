//! Faults planted by the model: found to the row, at every level that checks values.

use std::sync::Arc;

use highwater_driver::TargetUrl;
use highwater_driver_sim::SimTarget;
use highwater_model::judgment::Data;
use highwater_model::plan::AuditLevel;
use highwater_model::units::{Nanos, Seed};

use crate::support::{Job, closed, one_node};

#[test]
fn planted_faults_are_counted_to_the_row() {
    for level in [AuditLevel::Sums, AuditLevel::Full] {
        for faults in [
            "",
            "&alter=0.001",
            "&swap=0.001",
            "&offset=0.001",
            "&drop=0.0005&duplicate=0.0005&alter=0.0005&swap=0.0005&offset=0.0005",
        ] {
            let url = one_node(&format!("cores=4&service=constant&request=1ms{faults}"));
            let target =
                Arc::new(SimTarget::open(&TargetUrl::parse(&url).unwrap(), Seed(42)).unwrap());
            let mut job = Job::new(&url, &[("insert", closed(4))]);
            job.step = Nanos::from_secs(2);
            job.audit = level;
            let root = tempfile::tempdir().unwrap();
            let shared = Arc::<SimTarget>::clone(&target);
            let record = job.run_on(shared, root.path()).record;
            let (planted, audit) = (target.planted(), &record.audit);
            let context = format!("{level:?} {faults}: {planted:?} {audit:?}");
            assert_eq!(audit.altered, planted.altered_rows, "{context}");
            assert_eq!(audit.duplicated, planted.duplicated_rows, "{context}");
            assert_eq!(audit.missing, planted.dropped_rows, "{context}");
            assert!(audit.narrowed, "{context}");
            let clean = record.judgments.data.value == Data::Clean;
            assert_eq!(clean, faults.is_empty(), "{context}");
        }
    }
}
