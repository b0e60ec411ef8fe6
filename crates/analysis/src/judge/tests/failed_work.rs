//! The default bound on failures.

use highwater_model::record::HostRecord;

use super::*;

const NONE_SET: (ObjectiveValue, Vec<ReasonCode>) = (ObjectiveValue::NoneSet, vec![]);

fn errors_missed() -> (ObjectiveValue, Vec<ReasonCode>) {
    missed(ReasonCode::ObjectiveErrors)
}

/// A closed load of 1,000 batches of ten rows, of which some failed and some were acknowledged in part.
fn run(failed: u64, partial: u64, refused: u64) -> RunRecord {
    let mut record = closed();
    let result = &mut record.results[0];
    (result.offered, result.sent, result.acknowledged) = (1_000, 1_000, 1_000 - failed);
    if failed + partial > 0 {
        result.errors = [("conflict".to_owned(), failed + partial)].into();
    }
    if partial > 0 {
        result.partial = [("conflict".to_owned(), partial)].into();
    }
    let rows = &mut result.rows;
    (rows.sent, rows.refused, rows.unknown) = (10_000, refused, 0);
    rows.acknowledged = 10_000 - refused;
    record
}

fn evidence(record: &RunRecord) -> String {
    judge(record).objective.reasons[0].evidence.clone()
}

#[test]
fn more_than_one_in_a_hundred_ops_that_fail_are_missed_without_any_objective() {
    assert_eq!(objective(&run(10, 0, 100)), NONE_SET);
    assert_eq!(objective(&run(11, 0, 100)), errors_missed());
    let said = evidence(&run(505, 0, 5_050));
    assert_eq!(
        said,
        "insert: 505 of 1,000 ops (50.5%) failed: conflict; without --errors the limit is 1%"
    );
}

#[test]
fn an_op_that_was_acknowledged_in_part_counts_by_its_rows() {
    // Each op lost a row.
    assert_eq!(objective(&run(0, 100, 100)), NONE_SET);
    assert_eq!(objective(&run(0, 101, 101)), errors_missed());
    let said = evidence(&run(0, 1_000, 6_201));
    assert!(
        said.starts_with("insert: 6,201 of 10,000 rows (62.0%) were not acknowledged: conflict"),
        "{said}"
    );
    // Rows with an unknown outcome failed as well.
    let mut unknown = run(0, 0, 0);
    unknown.results[0].rows.unknown = 101;
    assert_eq!(objective(&unknown), errors_missed());
}

#[test]
fn ops_that_were_never_sent_do_not_count() {
    let mut record = run(0, 0, 0);
    record.results[0].dropped = 10_000;
    record.results[0].offered = 11_000;
    assert_eq!(objective(&record), NONE_SET);
}

#[test]
fn a_stated_bound_replaces_it_and_allowing_all_failures_states_none() {
    let stated = |objectives: Vec<Objective>| {
        let mut record = run(505, 0, 5_050);
        record.plan.definition.objectives = objectives;
        objective(&record)
    };
    let errors = |max_ppm| Objective::Errors { max_ppm };
    let rejected = |max_ppm| Objective::Rejected { max_ppm };
    assert_eq!(stated(vec![errors(1_000_000)]), NONE_SET);
    assert_eq!(stated(vec![errors(505_000)]), MET);
    assert_eq!(stated(vec![errors(504_000)]), errors_missed());
    assert_eq!(stated(vec![rejected(0)]), errors_missed(), "conflicts are no rejections");
    let floor = Objective::Throughput { min: Rate::per_second(1) };
    assert_eq!(stated(vec![floor.clone()]), errors_missed());
    assert_eq!(stated(vec![errors(1_000_000), floor]), MET);
}

#[test]
fn rejections_with_a_bound_of_their_own_are_left_to_it() {
    let mut record = run(50, 0, 500);
    record.results[0].errors = [("rejected".to_owned(), 50)].into();
    assert_eq!(objective(&record), errors_missed());
    record.plan.definition.objectives = vec![Objective::Rejected { max_ppm: 50_000 }];
    assert_eq!(objective(&record), MET);
    record.results[0].errors.insert("conflict".to_owned(), 11);
    assert_eq!(objective(&record), errors_missed());
}

#[test]
fn the_one_of_several_hosts_at_which_ops_failed_is_named() {
    let at = |failed: &[u64]| {
        let mut record = run(505, 0, 5_050);
        let hosts = failed.iter().enumerate().map(|(number, failed)| HostRecord {
            url: format!("db://bench@10.0.0.{number}:5432/bench?x=1"),
            sessions: 4,
            acknowledged: 100,
            failed: *failed,
        });
        record.target.hosts = hosts.collect();
        evidence(&record)
    };
    let named = |said: &str| said.contains(", at 10.0.0.1:5432;");
    assert!(named(&at(&[0, 505])), "{}", at(&[0, 505]));
    assert!(named(&at(&[50, 455])));
    assert!(!at(&[51, 454]).contains("10.0.0"));
    assert!(!at(&[505]).contains("10.0.0"), "there is no other one");
}

/// Steps of one stream are one count, and another stream hides nothing.
#[test]
fn a_stream_counts_over_all_its_phases_and_by_itself() {
    let mut record = open_steps();
    record.plan.definition.objectives.clear();
    assert_eq!(objective(&record), NONE_SET);
    let of_stream = |record: &RunRecord, name: &str| -> u64 {
        record.results.iter().filter(|r| r.stream == name).map(|r| r.sent).sum()
    };
    let may_fail = of_stream(&record, "dashboards") / 100;
    let failing = |record: &RunRecord, failed: u64| {
        let mut record = record.clone();
        let mut results = record.results.iter_mut();
        let first = results.find(|result| result.stream == "dashboards");
        first.unwrap().errors = [("timeout".to_owned(), failed)].into();
        objective(&record)
    };
    assert_eq!(failing(&record, may_fail), NONE_SET);
    assert_eq!(failing(&record, may_fail + 1), errors_missed());
}

/// A drift does not affect how many ops failed.
#[test]
fn a_drift_does_not_spoil_that_too_much_failed() {
    let mut record = run(11, 0, 110);
    record.streams[0].steadiness = Steadiness::NotSteady;
    record.streams[0].drift_percent = Some(-40.0);
    let judged = judge(&record);
    assert_eq!(judged.measurement.value, Measurement::Inconclusive);
    assert_eq!(exit_code(&judged, RunEnding::Complete), 1);
    record.results[0].errors.clear();
    record.results[0].rows.refused = 0;
    assert_eq!(exit_code(&judge(&record), RunEnding::Complete), 0);
}
