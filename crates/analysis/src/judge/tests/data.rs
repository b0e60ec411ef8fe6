//! The effect of an audit on the judgment of the data, and on the exit code.

use super::*;

#[test]
fn losing_outranks_altering_outranks_duplicating() {
    let mut record = closed();
    record.audit.surplus = 5;
    record.audit.duplicated = 5;
    record.audit.found += 5;
    let duplicated = (Data::Duplicated, vec![ReasonCode::RowsSurplus]);
    assert_eq!(data(&record), duplicated);
    record.audit.altered = 2;
    assert_eq!(data(&record).0, Data::Altered);
    lose_rows(&mut record, 1);
    assert_eq!(data(&record).0, Data::Lost);
}

#[test]
fn rows_of_another_writer_are_no_duplicates_and_refused_ones_are_neither() {
    let surplus = |refused, foreign| {
        let mut record = closed();
        record.audit.surplus = refused + foreign;
        record.audit.refused_found = refused;
        record.audit.foreign = foreign;
        record.audit.found += refused + foreign;
        data(&record)
    };
    let foreign = ReasonCode::ForeignWriter;
    assert_eq!(surplus(0, 3), unverified(foreign));
    let refused = (Data::Surplus, vec![ReasonCode::RefusedFound]);
    assert_eq!(surplus(3, 0), refused);
    let both = vec![ReasonCode::RefusedFound, foreign];
    assert_eq!(surplus(2, 1), (Data::Surplus, both));
    // Another run took the tables: whatever they hold now is not this run's alone.
    let mut record = closed();
    incident(&mut record, IncidentKind::TablesLost, "taken over");
    assert_eq!(data(&record), unverified(foreign));
}

#[test]
fn no_count_exceeds_the_total_beside_it() {
    let mut record = closed();
    record.audit.missing = record.audit.acknowledged + 1;
    let judged = judge(&record).data;
    let text = format!("{:?}", judged.reasons);
    assert!(text.contains("rows are missing"), "{text}");
    assert!(!text.contains(" of "), "{text}");
}

#[test]
fn rows_of_unknown_fate_may_be_there_or_not() {
    let mut record = closed();
    record.audit.unknown = 1_000;
    assert_eq!(data(&record), CLEAN);
    record.audit.found += 600;
    record.audit.resolved.rows_found = 600;
    let resent = (Data::Clean, vec![ReasonCode::ResentUnknown]);
    assert_eq!(data(&record), resent);
    record.audit.resolved.rows_found = 0;
    assert_eq!(data(&record).1, []);
    record.audit.level = AuditLevel::Count;
    assert_eq!(data(&record).1, [ReasonCode::ResentUnknown]);
}

#[test]
fn a_counter_below_the_acknowledged_rows_is_a_contradiction() {
    let mut record = closed();
    record.audit.server_counter = Some(record.audit.acknowledged);
    assert_eq!(data(&record), CLEAN);
    record.audit.server_counter = Some(record.audit.acknowledged + 9);
    assert_eq!(data(&record), CLEAN);
    record.audit.server_counter = Some(record.audit.acknowledged - 1);
    let contradicts = vec![ReasonCode::CounterDiffers];
    assert_eq!(data(&record), (Data::Clean, contradicts.clone()));
    record.target_telemetry = Some(uptimes([Some(50.0), None, Some(2.0)]));
    assert_eq!(data(&record), CLEAN, "a restart resets it");
    record.target_telemetry = Some(uptimes([Some(50.0), Some(51.0), Some(52.0)]));
    assert_eq!(data(&record).1, contradicts);
    let lost = highwater_model::judgment::Incident::new(
        IncidentKind::TargetLost,
        "Connection refused".to_owned(),
    );
    record.incidents.push(lost);
    assert_eq!(data(&record), CLEAN, "a target that was lost may have been restarted unseen");
    record.incidents.clear();
    record.audit.level = AuditLevel::Count;
    assert_eq!(data(&record), (Data::Unverified, contradicts));
}

/// A server that was polled once a second.
fn uptimes(values: [Option<f64>; 3]) -> TargetTelemetry {
    TargetTelemetry {
        times_ns: (0..3).map(|second| second * 1_000_000_000).collect(),
        series: vec![TelemetrySeries {
            source: "server".to_owned(),
            name: names::UPTIME.to_owned(),
            unit: "s".to_owned(),
            node: None,
            kind: SeriesKind::Level,
            values: values.to_vec(),
        }],
        ..TargetTelemetry::default()
    }
}

#[test]
fn copies_that_differ_are_not_clean() {
    let mut record = closed();
    record.audit.copies_differ = vec!["cpu shard 0: 100, 99 rows".to_owned()];
    assert_eq!(data(&record), unverified(ReasonCode::CopiesDiffer));
}

#[test]
fn buckets_that_were_not_narrowed_say_so() {
    let mut record = closed();
    record.audit.altered = 2;
    record.audit.narrowed = false;
    let expected = vec![ReasonCode::RowsAltered, ReasonCode::NotNarrowed];
    assert_eq!(data(&record), (Data::Altered, expected));
    let said = |record: &RunRecord| judge(record).data.reasons[1].sentence();
    assert!(!said(&record).contains("merged"), "{}", said(&record));
    // Shares that were merged had no target to ask.
    record.clients.push(record.clients[0].clone());
    assert!(said(&record).contains("merged without the target"));
}

#[test]
fn an_audit_that_was_not_done_verifies_nothing() {
    let status = |status: AuditStatus| {
        let mut record = closed();
        record.audit.status = status;
        data(&record)
    };
    for (not_done, code) in [
        (AuditStatus::Timeout, ReasonCode::AuditTimeout),
        (AuditStatus::Failed, ReasonCode::AuditFailed),
        (AuditStatus::Partial, ReasonCode::OneShare),
        (AuditStatus::OneShare, ReasonCode::OneShare),
        (AuditStatus::NoInvariant, ReasonCode::NoInvariant),
    ] {
        assert_eq!(status(not_done), unverified(code));
    }
    let not_checked = |reasons| (Data::NotChecked, reasons);
    assert_eq!(status(AuditStatus::Off), not_checked(vec![]));
    assert_eq!(status(AuditStatus::NothingWritten), not_checked(vec![]));
    let noted = vec![ReasonCode::StoresNothing];
    assert_eq!(status(AuditStatus::StoresNothing), not_checked(noted));
}

#[test]
fn a_wrong_expression_of_the_audit_is_named_and_no_loss() {
    for status in [AuditStatus::Failed, AuditStatus::Partial, AuditStatus::Done] {
        let mut record = closed();
        record.audit.status = status;
        record.audit.wrong_sql.push(wrong_key());
        let found = data(&record);
        assert_eq!(found, unverified(ReasonCode::AuditSqlWrong), "{status:?}");
        let said = "`key` of table `cpu`: 0 came out for row 7; it is `a + b`";
        assert_eq!(judge(&record).data.reasons[0].evidence, said);
    }
    // Rows lost from another table are lost.
    let mut record = closed();
    record.audit.wrong_sql.push(wrong_key());
    lose_rows(&mut record, 1);
    let expected = vec![ReasonCode::RowsLost, ReasonCode::AuditSqlWrong];
    assert_eq!(data(&record), (Data::Lost, expected));
}

#[test]
fn an_audit_among_running_statements_proves_no_cleanness() {
    let mut record = closed();
    incident(&mut record, IncidentKind::NotIdle, "3 statements after 30 s");
    assert_eq!(data(&record), unverified(ReasonCode::NotIdle));
}

#[test]
fn no_level_means_no_audit_whatever_its_status() {
    let mut record = closed();
    record.audit.level = AuditLevel::Off;
    record.audit.status = AuditStatus::Failed;
    assert_eq!(data(&record).0, Data::NotChecked);
}

#[test]
fn many_places_are_one_reason() {
    let mut record = open_steps();
    for result in &mut record.results {
        result.client_lag_ns.p99 = Some(S);
    }
    record.plan.definition.share = Share::WHOLE;
    let judged = judge(&record).measurement;
    assert_eq!(judged.reasons.len(), 1);
    let said = &judged.reasons[0].evidence;
    assert!(said.ends_with("; and 3 more"), "{said}");
}
