//! The effect of a drift on a measurement, and on the exit code.

use super::*;

/// A drift with its interval, as the plan's rule calls it.
fn drifts(percent: f64, half: f64) -> impl Fn(&mut RunRecord) {
    move |record| {
        let ci95 = (percent - half, percent + half);
        let drift = crate::throughput::Drift { percent, ci95 };
        let stream = &mut record.streams[0];
        stream.steadiness = drift.steadiness(record.plan.definition.steadiness);
        stream.drift_percent = Some(percent);
        stream.drift_ci95 = Some(ci95.into());
        stream.thirds_per_s = Some([421_000.0, 380_000.0]);
    }
}

fn noted() -> (Measurement, Vec<ReasonCode>) {
    (Measurement::Valid, vec![ReasonCode::SteadinessNotShown])
}

#[test]
fn a_drift_is_inconclusive_a_possible_one_is_noted_and_one_within_the_bound_is_steady() {
    assert_eq!(spoilt(drifts(-9.0, 0.9)), VALID);
    assert_eq!(spoilt(drifts(9.0, 2.0)), noted());
    assert_eq!(spoilt(drifts(-30.0, 25.0)), noted());
    let not_steady = inconclusive(ReasonCode::NotSteady);
    assert_eq!(spoilt(drifts(-12.0, 1.9)), not_steady);
    assert_eq!(spoilt(drifts(31.0, 6.0)), not_steady);
    let untested = spoilt(|record| {
        record.streams[0].steadiness = Steadiness::NotTested;
        record.streams[0].drift_ci95 = None;
    });
    assert_eq!(untested, noted());
}

#[test]
fn the_bound_is_the_plans() {
    let within = |within_ppm: u32| {
        spoilt(|record| {
            record.plan.definition.steadiness.within_ppm = within_ppm;
            drifts(-12.0, 1.9)(record);
        })
    };
    assert_eq!(within(200_000), VALID);
    assert_eq!(within(120_000), noted());
    assert_eq!(within(50_000), inconclusive(ReasonCode::NotSteady));
}

#[test]
fn the_words_hold_the_drift_both_thirds_and_how_long_a_run_would_show_it() {
    let words = |change: &dyn Fn(&mut RunRecord)| {
        let mut record = closed();
        change(&mut record);
        let reason = judge(&record).measurement.reasons.remove(0);
        reason.evidence
    };
    let thirds = "insert: throughput fell from 421,000 rows/s in the first third to 380,000 in the last of the \
                  measured phase";
    let drifted = format!(
        "{thirds}; a straight line through all of it changes by -12.0% (95% CI -13.9% to -10.1%)"
    );
    assert_eq!(words(&drifts(-12.0, 1.9)), drifted);
    // A line that falls by more than the mean would end below nothing.
    assert_eq!(words(&drifts(-139.3, 10.0)), thirds);
    assert_eq!(words(&drifts(-95.0, 10.0)), thirds, "its interval does");
    // (1.8 · 15 / 10)² times the 10 s of the phase.
    let unknown = "insert: too short to tell whether throughput was stable within 10%: it changed \
                   from 421,000 rows/s in the first third to 380,000 in the last; about 80 s would tell";
    assert_eq!(words(&drifts(2.0, 15.0)), unknown);
    // An interval of six times the bound: more than a hundred times the 10 s.
    let far = "insert: too short to tell whether throughput was stable within 10%";
    assert_eq!(words(&drifts(0.0, 58.8)), far);
}

#[test]
fn required_steadiness_must_be_shown() {
    let required = |percent: f64, half: f64| {
        spoilt(|record| {
            record.plan.definition.steadiness.required = true;
            drifts(percent, half)(record);
        })
    };
    assert_eq!(required(-9.0, 0.9), VALID);
    let missing = inconclusive(ReasonCode::SteadinessRequired);
    assert_eq!(required(9.0, 2.0), missing);
    assert_eq!(required(-12.0, 1.9), missing);
}

#[test]
fn drift_fails_only_runs_with_a_requirement() {
    let code = |change: &dyn Fn(&mut RunRecord)| {
        let mut record = closed();
        drifts(-30.0, 5.0)(&mut record);
        change(&mut record);
        exit_code(&judge(&record), RunEnding::Complete)
    };
    assert_eq!(code(&|_| {}), 0);
    let required = |record: &mut RunRecord| record.plan.definition.steadiness.required = true;
    assert_eq!(code(&required), 3);
    let gate = |record: &mut RunRecord| {
        record.plan.definition.objectives = vec![Objective::Errors { max_ppm: 10_000 }];
    };
    assert_eq!(code(&gate), 3);
    // A note spoils no gate.
    let noted = |record: &mut RunRecord| {
        gate(record);
        drifts(2.0, 15.0)(record);
    };
    assert_eq!(code(&noted), 0);
    let saturated = |record: &mut RunRecord| record.clients[0].cpu_fraction = 1.0;
    assert_eq!(code(&saturated), 3);
}

#[test]
fn of_an_earlier_record_a_small_drift_that_was_found_is_within_the_bound() {
    let earlier = |percent: f64| {
        spoilt(|record| {
            record.streams[0].steadiness = Steadiness::NotSteady;
            record.streams[0].drift_percent = Some(percent);
            record.streams[0].drift_ci95 = None;
        })
    };
    assert_eq!(earlier(-11.0), inconclusive(ReasonCode::NotSteady));
    assert_eq!(earlier(9.0), VALID);
}
