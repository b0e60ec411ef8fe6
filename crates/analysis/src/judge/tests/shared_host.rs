//! Other programs that take CPU of the target's host.

use super::*;
use crate::fixture::{add_series, growth};
use highwater_model::scale::{ScalePurpose, SizeVerdict};
use highwater_model::target_telemetry::sources;

/// Parts of the host's CPU: busy, and those of the target and of the load generator, if they are known.
fn host(busy: f64, server: Option<f64>, client: Option<f64>) -> impl FnOnce(&mut RunRecord) {
    move |record| {
        let parts = [
            (names::CPU_BUSY, Some(busy)),
            (names::CPU_OF_SERVER, server),
            (names::CPU_OF_LOAD_GENERATOR, client),
        ];
        for (name, part) in parts {
            let Some(part) = part else { continue };
            add_series(record, (name, None, SeriesKind::Level), |_| part);
            let telemetry = record.target_telemetry.as_mut().unwrap();
            sources::HOST.clone_into(&mut telemetry.series.last_mut().unwrap().source);
        }
    }
}

fn noted() -> (Measurement, Vec<ReasonCode>) {
    (Measurement::Valid, vec![ReasonCode::SharedHost])
}

#[test]
fn a_host_whose_cpu_other_programs_took_is_noted_and_the_measurement_stays_valid() {
    assert_eq!(spoilt(host(1.0, Some(0.2), Some(0.07))), noted());
    assert_eq!(spoilt(host(0.55, Some(0.2), Some(0.1))), noted(), "a quarter");
    assert_eq!(spoilt(host(0.53, Some(0.2), Some(0.1))), VALID);
    assert_eq!(spoilt(host(1.0, Some(0.6), Some(0.38))), VALID);
    let unknown = "without the target's processes, they are among the others";
    assert_eq!(spoilt(host(1.0, None, Some(0.07))), VALID, "{unknown}");
    let simulated = spoilt(|record| {
        record.target.simulated = true;
        host(1.0, Some(0.0), Some(0.07))(record);
    });
    assert_eq!(simulated, VALID);
}

#[test]
fn its_sentence_says_who_took_how_much() {
    let mut record = closed();
    host(1.0, Some(0.2), Some(0.07))(&mut record);
    let sentence = "other programs took 73% of the CPU of the target's host, the target 20%, and the load generator \
                    7%: the figures are those of a shared host (noted from 25% on)";
    assert_eq!(judge(&record).measurement.reasons[0].sentence(), sentence);
}

/// A plain run that drifted ends with 0, on whatever host.
#[test]
fn the_note_changes_no_exit_code() {
    let mut record = closed();
    let stream = &mut record.streams[0];
    (stream.steadiness, stream.drift_percent) = (Steadiness::NotSteady, Some(-30.0));
    host(1.0, Some(0.2), Some(0.07))(&mut record);
    let judged = judge(&record);
    assert_eq!(judged.measurement.codes(), [ReasonCode::NotSteady, ReasonCode::SharedHost]);
    assert_eq!(exit_code(&judged, RunEnding::Complete), 0);
}

/// One size of several was measured beside other programs.
#[test]
fn the_whole_of_several_runs_keeps_the_note_of_one() {
    let mut shared = closed();
    host(1.0, Some(0.2), Some(0.07))(&mut shared);
    let mut scale = growth::growth(&[1, 2]);
    for (nodes, run) in [(1, &closed()), (2, &shared)] {
        let mut figures = growth::of_verdict(SizeVerdict::Counts, 1_000.0, None);
        figures.judgments = Some(judge(run));
        growth::add(&mut scale, nodes, ScalePurpose::Grow, figures);
    }
    let whole = crate::growth::conclude(closed(), scale, "growth".to_owned());
    assert!(whole.judgments.measurement.codes().contains(&ReasonCode::SharedHost));
}
