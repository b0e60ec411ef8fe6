//! How a search is judged as a whole, depending on its end: its record's judgments and exit code.

use super::*;
use crate::fixture::{MS, gate_op, incident, judged, lose_rows, open_gate, open_gate_of};
use crate::{RunEnding, exit_code};
use highwater_model::judgment::{Data, Measurement, ObjectiveValue};
use highwater_model::record::{ExperimentRecord, IncidentKind, RunRecord};
use highwater_model::search::Estimate;

/// The record of a search that ended in this way after this last probe.
fn concluded(last: RunRecord, outcome: Option<SearchOutcome>) -> ExperimentRecord {
    let search = SearchRecord { outcome, floor: Some(1_000.0), ..search() };
    conclude(last, search, "find".to_owned())
}

fn unmarked(last: RunRecord, why: NoMarkReason) -> ExperimentRecord {
    let no_mark = NoMark {
        why,
        highest_met: None,
        estimate: None,
        lowest_failed: None,
        limited_by: Vec::new(),
    };
    concluded(last, Some(SearchOutcome::NoMark(no_mark)))
}

fn marked(last: RunRecord, confirmed: f64, probes: Vec<ProbeRecord>) -> ExperimentRecord {
    let mark = fixture::mark(confirmed, confirmed * 1.02);
    let search = SearchRecord {
        outcome: Some(SearchOutcome::Mark(mark)),
        floor: Some(1_000.0),
        probes,
        ..search()
    };
    conclude(last, search, "find".to_owned())
}

fn measurement(record: &ExperimentRecord) -> (Measurement, Vec<ReasonCode>) {
    let judged = &record.judgments.measurement;
    (judged.value, judged.codes())
}

fn objective(record: &ExperimentRecord) -> (ObjectiveValue, Vec<ReasonCode>) {
    let judged = &record.judgments.objective;
    (judged.value, judged.codes())
}

fn code(record: &ExperimentRecord) -> u8 {
    exit_code(&record.judgments, RunEnding::from_incidents(&record.incidents))
}

#[test]
fn a_search_without_a_mark_states_which_side_was_saturated() {
    for (why, value, reason) in [
        (NoMarkReason::ClientCeiling, Measurement::Invalid, ReasonCode::ClientSaturated),
        (NoMarkReason::TooFewOps, Measurement::Inconclusive, ReasonCode::TooFewSamples),
        (NoMarkReason::BudgetSpent, Measurement::Inconclusive, ReasonCode::TooShort),
        (
            NoMarkReason::NothingAcknowledged,
            Measurement::Inconclusive,
            ReasonCode::NothingAcknowledged,
        ),
    ] {
        let record = unmarked(open_gate(), why);
        assert_eq!(measurement(&record), (value, vec![reason]));
        assert_eq!(code(&record), 3, "{why:?}");
    }
    let record = unmarked(open_gate(), NoMarkReason::BelowLowest);
    let missed = (ObjectiveValue::Missed, vec![ReasonCode::RateNotSustained]);
    assert_eq!((objective(&record), code(&record)), (missed, 1));
    let record = concluded(open_gate(), None);
    let unfinished = (Measurement::Inconclusive, vec![ReasonCode::Interrupted]);
    assert_eq!((measurement(&record), code(&record)), (unfinished, 3));
}

#[test]
fn the_end_of_a_search_ends_its_record_and_is_noted_once() {
    for (why, kind, reason, exit) in [
        (NoMarkReason::TargetLost, IncidentKind::TargetLost, ReasonCode::TargetLost, 5),
        (NoMarkReason::Interrupted, IncidentKind::Interrupted, ReasonCode::Interrupted, 130),
    ] {
        let mut ended = open_gate();
        incident(&mut ended, kind, "after 6 s");
        // The last probe with a record may be a valid one.
        for last in [open_gate(), judged(ended)] {
            let record = unmarked(last, why);
            let noted = record.incidents.iter().filter(|noted| noted.kind == kind);
            assert_eq!(noted.count(), 1);
            let expected = (Measurement::Invalid, vec![reason]);
            assert_eq!((measurement(&record), code(&record)), (expected, exit));
        }
    }
    let mut lost = open_gate();
    lose_rows(&mut lost, 1);
    let record = unmarked(judged(lost), NoMarkReason::WrongData);
    let data = record.judgments.data.value;
    assert_eq!((data, code(&record)), (Data::Lost, 4));
}

#[test]
fn a_search_without_a_mark_does_not_miss_the_objective_of_its_last_probe() {
    // Like an estimate: the latency of closed load is not judged.
    let mut last = open_gate();
    last.results[0].backlog = true;
    let last = judged(last);
    assert_eq!(last.judgments.objective.value, ObjectiveValue::Missed);
    for why in [
        NoMarkReason::Interrupted,
        NoMarkReason::TargetLost,
        NoMarkReason::BudgetSpent,
        NoMarkReason::ClientCeiling,
    ] {
        let undecided = (ObjectiveValue::NotDecided, vec![]);
        assert_eq!(objective(&unmarked(last.clone(), why)), undecided, "{why:?}");
    }
    let undecided = (ObjectiveValue::NotDecided, vec![]);
    assert_eq!(objective(&concluded(last.clone(), None)), undecided);
    let missed = objective(&unmarked(last, NoMarkReason::BelowLowest)).0;
    assert_eq!(missed, ObjectiveValue::Missed, "every value was");
}

#[test]
fn too_few_ops_name_the_length_and_the_budget_that_would_decide() {
    let hint_of = |highest_met: Option<f64>, low90: Option<f64>, closed_per_s: f64| {
        let estimate =
            low90.map(|low90| Estimate { value: 2.0 * low90, low90, high90: 3.0 * low90 });
        let mut search = SearchRecord {
            outcome: Some(SearchOutcome::NoMark(NoMark {
                why: NoMarkReason::TooFewOps,
                highest_met,
                estimate,
                lowest_failed: Some(20_000.0),
                limited_by: Vec::new(),
            })),
            ..search()
        };
        let closed = fixture::probe(ProbePurpose::Search, 64.0, ProbeVerdict::Failed);
        search.probes = vec![ProbeRecord { acknowledged_per_s: closed_per_s, ..closed }];
        search.policy.units_needed = 1_159_000.0;
        search.policy.budget_ns = Some(600 * S);
        let record = conclude(open_gate(), search, "find".to_owned());
        record.judgments.measurement.reasons[0].hint.clone().unwrap_or_default()
    };
    let hint = |highest_met, low90| hint_of(highest_met, low90, 40_000.0);
    // 1,159 batches of 1,000 rows: 154.1 s at this rate, and ten more around each of four probes are eleven minutes.
    let passed = hint(Some(7_520.0), Some(3_000.0));
    for words in ["at 7,520 rows/s", "2 min 40 s", "--budget 20m,"] {
        assert!(passed.contains(words), "{words}: {passed}");
    }
    // If nothing passed, the failed rate would only fail again.
    let failed = hint(None, Some(3_000.0));
    for words in ["at 3,000 rows/s", "6 min 30 s", "--budget 30m,"] {
        assert!(failed.contains(words), "{words}: {failed}");
    }
    // An idle target that misses its objective misses it at any rate.
    let idle = hint_of(None, Some(3_000.0), 1_100_000.0);
    assert!(idle.contains("idles at 20,000 rows/s") && idle.contains("wider bound"), "{idle}");
    assert_eq!(
        hint_of(Some(7_520.0), None, 1_100_000.0),
        passed,
        "one that passed is no such target"
    );
}

#[test]
fn the_confirmations_of_a_mark_are_stated_as_its_probes_show_them() {
    use ProbeVerdict::{Failed, NotDecided, Passed};
    let said = |verdicts: &[ProbeVerdict]| {
        let probes = verdicts.iter().map(|verdict| ProbeRecord {
            pressure: Some(0.1),
            late: Some(if *verdict == Failed { 2.0 } else { 0.9 }),
            ..fixture::probe(ProbePurpose::Confirm, 1_000.0, *verdict)
        });
        let mark = Mark { confirmations: None, ..fixture::mark(1_000.0, 1_020.0) };
        let search = SearchRecord { probes: probes.collect(), ..search() };
        times_confirmed(&search, &mark)
    };
    let check = |verdicts: &[ProbeVerdict], expected: &str| assert_eq!(said(verdicts), expected);
    check(&[Passed, Passed, Passed], "3 of 3 times for 5 min");
    check(
        &[NotDecided, Passed, Passed],
        "2 of 3 times for 5 min; the ops of all 3 together meet it",
    );
    check(&[Passed, Failed, Passed, Passed], "3 of 4 times for 5 min");
    let three = "2 of 4 times for 5 min; the ops of 3 of them together meet it";
    check(&[Passed, Failed, Passed, NotDecided], three);
}

#[test]
fn a_mark_is_met_by_all_its_confirmations_together_and_must_reach_the_floor() {
    let mut last = open_gate();
    last.results[0].backlog = true;
    let last = judged(last);
    let alone = last.judgments.objective.value;
    assert_eq!(alone, ObjectiveValue::Missed, "by itself");
    let met = (ObjectiveValue::Met, vec![]);
    assert_eq!(objective(&marked(last.clone(), 1_000.0, vec![])), met);
    let record = marked(last, 999.0, vec![]);
    let missed = (ObjectiveValue::Missed, vec![ReasonCode::RateNotSustained]);
    assert_eq!((objective(&record), code(&record)), (missed, 1));
}

#[test]
fn a_mark_that_was_not_shown_to_hold_for_long_is_missed_with_the_reasons_of_the_soak() {
    let mut op = gate_op();
    op.latencies = vec![(4 * MS, 9_903), (30 * MS, 97)];
    let last = judged(open_gate_of(&op));
    let soak = |verdict| fixture::probe(ProbePurpose::Soak, 1_000.0, verdict);
    let of = |verdict| objective(&marked(last.clone(), 1_000.0, vec![soak(verdict)]));
    let reasons = vec![ReasonCode::RateNotSustained, ReasonCode::ObjectiveLatency];
    for verdict in [ProbeVerdict::Failed, ProbeVerdict::NotDecided] {
        assert_eq!(of(verdict), (ObjectiveValue::Missed, reasons.clone()));
    }
    for verdict in [ProbeVerdict::Passed, ProbeVerdict::Invalid] {
        assert_eq!(of(verdict), (ObjectiveValue::Met, vec![]), "{verdict:?}");
    }
}
