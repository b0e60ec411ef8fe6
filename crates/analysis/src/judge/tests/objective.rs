//! What an objective is held against: shares of what, rates of what, and what was measured at all.

use super::*;

#[test]
fn rejections_are_a_share_of_the_ops_and_the_targets_own_count_is_reported_where_no_client_heard() {
    let mut record = open_gate();
    record.plan.definition.objectives = vec![Objective::Rejected { max_ppm: 0 }];
    crate::fixture::add_telemetry(&mut record);
    let evidence = |record: &RunRecord| judge(record).objective.reasons[0].evidence.clone();
    assert!(evidence(&record).contains("by its own count"));
    record.results[0].errors.insert("rejected".to_owned(), 5);
    let said = evidence(&record);
    assert!(said.contains("5 of 10,000 ops"), "{said}");
    assert!(!said.contains("by its own count"), "{said}");
    // Another tool may not tell what it offered.
    let bounds = &mut record.plan.definition.objectives;
    *bounds = vec![Objective::Rejected { max_ppm: 500 }];
    assert_eq!(objective(&record).0, ObjectiveValue::Met);
    record.results[0].offered = 0;
    assert!(
        !objective(&record)
            .1
            .contains(&ReasonCode::ObjectiveRejected)
    );
}

#[test]
fn a_rate_must_be_sustained_as_far_as_it_was_offered_and_but_for_one_op() {
    let mut record = open_gate();
    record.results[0].offered = 9_000;
    record.streams[0].throughput.rows_per_s = 892.0;
    // What we did not offer is no failure of the target.
    assert_eq!(objective(&record), MET);
    record.streams[0].throughput.rows_per_s = 890.0;
    let missed = missed(ReasonCode::RateNotSustained);
    assert_eq!(objective(&record), missed);
    // Ten batches of a thousand rows, of which the last one may be on its way.
    let mut record = open_gate();
    record.plan.definition.streams[0].units_per_op = 1_000;
    record.results[0].offered = 10;
    record.streams[0].throughput.rows_per_s = 900.0;
    assert_eq!(objective(&record), MET);
    record.streams[0].throughput.rows_per_s = 899.0;
    assert_eq!(objective(&record), missed);
}

#[test]
fn nothing_measured_meets_no_objective() {
    let bounded = || {
        let mut record = closed();
        record.plan.definition.objectives = vec![Objective::Errors { max_ppm: 0 }];
        record
    };
    assert_eq!(objective(&bounded()), MET);
    let missed = missed(ReasonCode::RateNotSustained);
    let mut record = bounded();
    record.results[0].acknowledged = 0;
    assert_eq!(
        objective(&record).0,
        ObjectiveValue::Met,
        "answered, though due before"
    );
    record.results[0].answered.ops = 0;
    assert_eq!(objective(&record), missed, "a stream without an answer");
    let mut record = bounded();
    record.phases.truncate(1);
    assert_eq!(objective(&record), missed, "no measured phase");
}

#[test]
fn a_row_latency_counts_rows_of_all_batches() {
    let late_rows = |of_a_hundred_batches: u64| {
        let mut record = open_gate();
        record.plan.definition.streams[0].units_per_op = 100;
        record.plan.definition.objectives = vec![Objective::RowLatency {
            quantile_ppm: 990_000,
            max: Nanos::from_millis(10),
        }];
        let result = &mut record.results[0];
        result.row_latency_ns = Some(result.latency_ns.clone());
        // Each window has a hundred batches of a hundred rows.
        result.windows.over[0].fill(of_a_hundred_batches);
        objective(&record)
    };
    assert_eq!(late_rows(50), MET);
    assert_eq!(late_rows(150), missed(ReasonCode::ObjectiveLatency));
}
