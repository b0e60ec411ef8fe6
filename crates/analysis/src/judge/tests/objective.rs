//! The basis of an objective: which fractions, which rates, and which measurements.

use super::*;

#[test]
fn rejections_are_a_fraction_of_the_ops_and_the_targets_count_is_reported_if_no_client_saw_them() {
    let mut record = open_gate();
    record.plan.definition.objectives = vec![Objective::Rejected { max_ppm: 0 }];
    crate::fixture::add_telemetry(&mut record);
    let evidence = |record: &RunRecord| judge(record).objective.reasons[0].evidence.clone();
    assert!(evidence(&record).contains("by its own count"));
    record.results[0].errors.insert("rejected".to_owned(), 5);
    let said = evidence(&record);
    assert!(said.contains("5 of 10,000 ops"), "{said}");
    assert!(!said.contains("by its own count"), "{said}");
    // Another tool may not report what it offered.
    let bounds = &mut record.plan.definition.objectives;
    *bounds = vec![Objective::Rejected { max_ppm: 500 }];
    assert_eq!(objective(&record).0, ObjectiveValue::Met);
    record.results[0].offered = 0;
    let codes = objective(&record).1;
    assert!(!codes.contains(&ReasonCode::ObjectiveRejected));
}

#[test]
fn the_offered_rate_must_be_sustained_except_for_one_op() {
    let mut record = open_gate();
    record.results[0].offered = 9_000;
    record.streams[0].throughput.rows_per_s = 892.0;
    // Ops that were not offered are not the target's failure.
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
fn planned_ops_follow_from_weights_and_not_from_draws() {
    let mut record = open_steps();
    for stream in &mut record.streams {
        let weights = [("last-point", 3), ("by-host", 2)];
        stream.weights = weights.map(|(op, weight)| (op.to_owned(), weight)).into();
    }
    for result in &mut record.results {
        result.offered /= if result.op == "by-host" { 2 } else { 1 };
    }
    let measured = measured_streams(&record);
    let queries = measured.iter().find(|of| of.stream.stream == "dashboards").unwrap();
    let all = queries.stream.planned_rate.unwrap();
    let planned: Vec<f64> =
        queries.results.iter().filter_map(|result| queries.planned_rate_of(result)).collect();
    assert_eq!(planned, [all * 0.6, all * 0.4]);
}

#[test]
fn without_measurements_no_objective_is_met() {
    let bounded = || {
        let mut record = closed();
        record.plan.definition.objectives = vec![Objective::Errors { max_ppm: 0 }];
        record
    };
    assert_eq!(objective(&bounded()), MET);
    let missed = missed(ReasonCode::RateNotSustained);
    let mut record = bounded();
    record.results[0].acknowledged = 0;
    let found = objective(&record).0;
    assert_eq!(found, ObjectiveValue::Met, "answered, though due before");
    record.results[0].answered.ops = 0;
    assert_eq!(objective(&record), missed, "a stream without an answer");
    let mut record = bounded();
    record.phases.truncate(1);
    assert_eq!(objective(&record), missed, "no measured phase");
    incident(&mut record, IncidentKind::Interrupted, "in the warm-up");
    let undecided = (ObjectiveValue::NotDecided, vec![ReasonCode::RateNotSustained]);
    assert_eq!(objective(&record), undecided, "nothing was tried");
}

#[test]
fn a_row_latency_counts_rows_of_all_batches() {
    let late_rows = |of_a_hundred_batches: u64| {
        let mut record = open_gate();
        record.plan.definition.streams[0].units_per_op = 100;
        record.plan.definition.objectives =
            vec![Objective::RowLatency { quantile_ppm: 990_000, max: Nanos::from_millis(10) }];
        let result = &mut record.results[0];
        result.row_latency_ns = Some(result.latency_ns.clone());
        // Each window has a hundred batches of a hundred rows.
        result.windows.over[0].fill(of_a_hundred_batches);
        objective(&record)
    };
    assert_eq!(late_rows(50), MET);
    assert_eq!(late_rows(150), missed(ReasonCode::ObjectiveLatency));
}

#[test]
fn too_few_ops_leave_a_percentile_and_its_objective_undecided_and_name_the_length_that_decides() {
    let gate = |n| {
        let mut op = gate_op();
        op.latencies = vec![(4 * MS, n)];
        open_gate_of(&op)
    };
    let few = gate(999);
    assert_eq!(measurement(&few), inconclusive(ReasonCode::TooFewSamples));
    let undecided = (ObjectiveValue::NotDecided, vec![ReasonCode::ObjectiveLatency]);
    assert_eq!(objective(&few), undecided);
    assert_eq!(exit_code(&judge(&few), RunEnding::Complete), 3);
    // 1,000 ops and five standard deviations more of them take 1.16 times the phase's ten seconds.
    let reason = judge(&few).objective.reasons.remove(0);
    assert_eq!(reason.hint.as_deref(), Some("measure longer (-d)"), "the rate is not too high");
    let said = reason.sentence();
    let expected = "p99 cannot be judged: 999 ops measured, 1,000 needed; about 20 s would decide";
    assert!(said.contains(expected), "{said}");
    // Other missed objectives stay missed.
    let mut failing = few;
    let bounds = &mut failing.plan.definition.objectives;
    bounds.push(Objective::Errors { max_ppm: 0 });
    failing.results[0].errors.insert("sql".to_owned(), 1);
    assert_eq!(objective(&failing).0, ObjectiveValue::Missed);
    let enough = gate(1_000);
    assert_eq!(measurement(&enough), VALID);
    assert_eq!(objective(&enough), MET);
}

/// 1,000 ops are needed, of which ten may be late.
#[test]
fn a_percentile_that_no_further_op_can_save_is_missed_however_few_ops_there_were() {
    let late_at_once = |late: usize| {
        let mut op = gate_op();
        op.latencies = vec![(4 * MS, 200)];
        let mut record = open_gate_of(&op);
        let windows = &mut record.results[0].windows;
        windows.over[0].fill(0);
        windows.over[0][20..20 + late / 2].fill(2);
        record
    };
    let [saved, lost] = [10, 12].map(late_at_once);
    let undecided = (ObjectiveValue::NotDecided, vec![ReasonCode::ObjectiveLatency]);
    assert_eq!(objective(&saved), undecided);
    assert_eq!(objective(&lost), missed(ReasonCode::ObjectiveLatency));
    assert_eq!(measurement(&lost).0, Measurement::Valid);
    assert_eq!(exit_code(&judge(&lost), RunEnding::Complete), 1);
}

#[test]
fn too_few_batches_leave_a_percentile_of_rows_undecided_beside_one_that_is_met() {
    let mut op = gate_op();
    op.latencies = vec![(4 * MS, 500)];
    let mut record = open_gate_of(&op);
    record.plan.definition.streams[0].units_per_op = 100;
    let result = &mut record.results[0];
    result.row_latency_ns = Some(result.latency_ns.clone());
    record.plan.definition.objectives = [500_000, 990_000]
        .map(|quantile_ppm| Objective::RowLatency { quantile_ppm, max: Nanos::SECOND })
        .to_vec();
    let zeros = vec![0; record.results[0].windows.ended.len()];
    record.results[0].windows.over = vec![zeros; 2];
    let judged = judge(&record).objective;
    assert_eq!(judged.value, ObjectiveValue::NotDecided, "{judged:?}");
    let said = &judged.reasons[0].evidence;
    assert!(said.contains("p99 of rows cannot be judged") && !said.contains("p50"), "{said}");
}

#[test]
fn a_plain_miss_needs_no_thousand_ops() {
    let mut op = gate_op();
    op.latencies = vec![(40 * MS, 200)];
    let record = open_gate_of(&op);
    assert_eq!(measurement(&record), VALID);
    assert_eq!(objective(&record).0, ObjectiveValue::Missed);
}

#[test]
fn a_percentile_passes_only_with_confidence() {
    let slow = |n| {
        let mut op = gate_op();
        op.latencies = vec![(4 * MS, 10_000 - n), (30 * MS, n)];
        judge(&open_gate_of(&op)).objective
    };
    assert_eq!(slow(80).value, ObjectiveValue::Met);
    let close = slow(97);
    assert_eq!(close.value, ObjectiveValue::Missed);
    let said = &close.reasons[0].evidence;
    assert!(said.contains("not shown with 95"), "{said}");
    let above = slow(200);
    assert_eq!(above.value, ObjectiveValue::Missed);
    let said = &above.reasons[0].evidence;
    assert!(!said.contains("not shown with 95"), "{said}");
}

#[test]
fn ops_that_are_slow_together_widen_the_bound() {
    let mut record = open_gate();
    let over = &mut record.results[0].windows.over[0];
    over.fill(0);
    over[50] = 80;
    let judged = judge(&record).objective;
    assert_eq!(judged.value, ObjectiveValue::Missed, "{judged:?}");
}

#[test]
fn a_row_latency_objective_does_not_pass_without_row_latencies() {
    let mut record = closed();
    record.plan.definition.objectives =
        vec![Objective::RowLatency { quantile_ppm: 990_000, max: Nanos::SECOND }];
    assert_eq!(objective(&record), missed(ReasonCode::ObjectiveLatency));
}

#[test]
fn errors_and_rejections_are_bounded_exactly() {
    let failing = |class: &str, n, objective| {
        let mut record = open_gate();
        record.results[0].errors.insert(class.to_owned(), n);
        record.plan.definition.objectives = vec![objective];
        self::objective(&record).1
    };
    let errors = Objective::Errors { max_ppm: 1_000 };
    assert_eq!(failing("timeout", 10, errors.clone()), vec![]);
    let found = failing("timeout", 11, errors);
    assert_eq!(found, vec![ReasonCode::ObjectiveErrors]);
    let rejected = Objective::Rejected { max_ppm: 1_000 };
    assert_eq!(failing("timeout", 11, rejected.clone()), vec![]);
    let found = failing("rejected", 11, rejected);
    assert_eq!(found, vec![ReasonCode::ObjectiveRejected]);
}

#[test]
fn dropped_ops_count_as_errors() {
    let mut record = open_gate();
    record.plan.definition.objectives = vec![Objective::Errors { max_ppm: 1_000 }];
    record.results[0].dropped = 11;
    assert_eq!(objective(&record), missed(ReasonCode::ObjectiveErrors));
}

#[test]
fn a_throughput_floor_applies_to_streams_with_the_first_ones_unit() {
    let floor = |rows| {
        let mut record = open_steps();
        let min = Rate::per_second(rows);
        record.plan.definition.objectives = vec![Objective::Throughput { min }];
        objective(&record)
    };
    assert_eq!(floor(50_000), MET);
    assert_eq!(floor(50_001), missed(ReasonCode::RateNotSustained));
}

#[test]
fn an_open_rate_must_be_sustained_whatever_the_objective() {
    let reached = |rows_per_s| {
        let mut record = open_gate();
        record.streams[0].throughput.rows_per_s = rows_per_s;
        objective(&record)
    };
    assert_eq!(reached(990.0), MET);
    assert_eq!(reached(989.0), missed(ReasonCode::RateNotSustained));
}

#[test]
fn an_allowed_loss_of_rows_excuses_no_missing_rate_and_a_time_to_recover_does() {
    let with = |objective_of: Objective| {
        let mut record = open_gate();
        record.plan.definition.objectives = vec![objective_of];
        record.streams[0].throughput.rows_per_s = 500.0;
        objective(&record)
    };
    assert_eq!(with(Objective::Lost { max: 3 }), missed(ReasonCode::RateNotSustained));
    assert_eq!(with(Objective::Recovery { max: Nanos::from_secs(30) }), MET);
    assert_eq!(with(Objective::During { min_ppm: 500_000 }), MET);
}

#[test]
fn ops_in_flight_at_the_end_are_no_shortfall_without_an_earlier_phase() {
    let reached = |start_ns| {
        let mut record = open_gate();
        record.phases[1].start_ns = start_ns;
        record.results[0].service_ns.mean = Some(S);
        record.streams[0].throughput.rows_per_s = 910.0;
        objective(&record).0
    };
    assert_eq!(reached(0), ObjectiveValue::Met);
    assert_eq!(reached(2 * S), ObjectiveValue::Missed);
}

#[test]
fn a_backlog_misses_any_objective_and_none_without_one() {
    let mut record = open_gate();
    record.results[0].backlog = true;
    assert_eq!(objective(&record), missed(ReasonCode::Backlog));
    record.plan.definition.objectives.clear();
    assert_eq!(objective(&record), (ObjectiveValue::NoneSet, vec![]));
}

#[test]
fn the_cpu_of_every_node_is_bounded_and_must_be_known() {
    let busy = |nodes: &[f64]| {
        let mut record = closed();
        let series = |(number, share): (usize, &f64)| TelemetrySeries {
            source: "target".to_owned(),
            name: names::CPU_BUSY.to_owned(),
            unit: "share".to_owned(),
            node: Some(format!("n{number}")),
            kind: SeriesKind::Level,
            values: vec![Some(*share); 100],
        };
        let telemetry = TargetTelemetry {
            interval_ns: 1_000_000_000,
            times_ns: (0..100).map(|second| second * 1_000_000_000).collect(),
            series: nodes.iter().enumerate().map(series).collect(),
            ..TargetTelemetry::default()
        };
        record.target_telemetry = Some(telemetry);
        // The load generator's delays are not part of it.
        record.clients[0].machine_cpu_fraction = Some(1.0);
        record.plan.definition.objectives = vec![Objective::Cpu { max_ppm: 800_000 }];
        objective(&record)
    };
    let missed = missed(ReasonCode::ObjectiveCpu);
    assert_eq!(busy(&[0.8]), MET);
    assert_eq!(busy(&[0.3, 0.81, 0.1]), missed);
    assert_eq!(busy(&[]), missed);
}
