//! The counts of the recorder, and their place.

use highwater_model::event::LATENCY_BOUNDS_NS;
use highwater_model::outcome::{ErrorClass, OpError};
use highwater_model::record::Windows;
use highwater_model::units::Rate;

use super::*;

fn recorder(row_wait: Option<RowWait>, objectives: &[Objective]) -> Recorder {
    Recorder::new(vec![row_wait], objectives, Nanos::ZERO)
}

fn ms(millis: u64) -> Nanos {
    Nanos::from_millis(millis)
}

fn ended(times: [u64; 4], outcome: &Outcome) -> FinishedOp<'_> {
    let [intended, free, started, finished] = times.map(ms);
    FinishedOp {
        key: 0,
        intended,
        closed: false,
        free,
        started,
        finished,
        phase_start: Nanos::ZERO,
        finished_in: Some((0, Nanos::ZERO)),
        rows: 10,
        retries: 0,
        outcome,
    }
}

/// The counts of the only key.
fn whole(deltas: &[WindowDelta]) -> Windows {
    let mut whole = Windows::default();
    for delta in deltas {
        delta.add_to(&mut whole);
    }
    whole
}

fn gaps(maps: &[AcknowledgementMap], end: Nanos, limit: usize) -> Vec<Gap> {
    let mut search = GapSearch::between(ms(0), end, limit);
    for map in maps {
        search.add(map);
    }
    search.finish()
}

#[test]
fn the_three_times_give_latency_service_time_door_wait_and_lag() {
    let mut recorder = recorder(None, &[]);
    recorder.record(&ended([100, 400, 405, 905], &Outcome::applied(10)));
    let stats = recorder.finish().remove(0).unwrap();
    let near = |histogram: &highwater_model::histogram::LatencyHistogram, millis: u64| {
        let seen = histogram.summary().max.unwrap();
        let want = ms(millis).0;
        assert!(seen.abs_diff(want) <= want / 500, "{seen} is not {want}");
    };
    near(&stats.latency, 805);
    near(&stats.service, 500);
    near(&stats.session_wait, 300);
    near(&stats.client_lag, 5);
}

#[test]
fn latency_belongs_to_the_second_when_due_and_throughput_to_the_second_when_finished() {
    let mut recorder = recorder(None, &[]);
    recorder.record(&ended([900, 0, 900, 2_100], &Outcome::applied(10)));
    let RecordedCounts { intervals: deltas, windows, .. } = recorder.take();
    let due = deltas.iter().find(|d| d.second == 0).unwrap();
    let done = deltas.iter().find(|d| d.second == 2).unwrap();
    assert_eq!((due.offered, due.acknowledged, due.latency.count()), (1, 0, 1));
    assert_eq!((done.offered, done.acknowledged, done.rows_acknowledged), (0, 1, 10));
    assert_eq!(whole(&windows).acknowledged[21..], [1]);
}

#[test]
fn failed_and_dropped_ops_rank_as_infinite_and_errors_stand_apart() {
    let bound = Objective::Latency { quantile_ppm: 990_000, max: Nanos::MAX, op: None };
    let mut recorder = recorder(None, &[bound]);
    let error = |class| OpError { class, code: Some("X1".into()), message: "no".into() };
    recorder.record(&ended([0, 0, 0, 10], &Outcome::refused(10, error(ErrorClass::Constraint))));
    recorder.record(&ended([0, 0, 0, 10], &Outcome::unknown(error(ErrorClass::Timeout))));
    recorder.record_dropped(0, ms(5), Nanos::ZERO, ms(6));
    recorder.record(&ended([0, 0, 0, 1_010], &Outcome::refused(10, error(ErrorClass::Rejected))));
    let RecordedCounts { intervals: deltas, windows, .. } = recorder.take();
    let windows = whole(&windows);
    let above: u64 = windows.over[0].iter().sum();
    assert_eq!((windows.ended.iter().sum::<u64>(), above), (4, 4), "above any bound");
    let infinite = deltas.iter().map(|delta| delta.latency.beyond()).sum::<u64>();
    assert_eq!(infinite, 4, "in their seconds, too");
    let refused = |second| {
        let of_second = deltas.iter().find(|delta| delta.second == second).unwrap();
        [of_second.errors, of_second.rejected, of_second.rows_refused]
    };
    assert_eq!([refused(0), refused(1)], [[2, 0, 10], [1, 1, 10]]);
    let stats = recorder.finish().remove(0).unwrap();
    assert_eq!((stats.offered, stats.sent, stats.acknowledged, stats.dropped), (4, 3, 0, 1));
    assert_eq!((stats.latency.count(), stats.latency.beyond()), (4, 4));
    assert_eq!(stats.error_latency.count(), 3);
    let constraint = &stats.errors[&ErrorClass::Constraint];
    assert_eq!((constraint.failed, constraint.partial), (1, 0));
    assert_eq!(constraint.example, "X1: no");
    assert_eq!((stats.rows.refused, stats.rows.unknown, stats.rows.acknowledged), (20, 10, 0));
}

#[test]
fn row_latency_is_the_waiting_for_the_batch_and_the_latency_of_the_op() {
    let wait = RowWait { rows: 1_000, rate: Rate::per_second(1_000) };
    let objective = Objective::RowLatency { quantile_ppm: 500_000, max: ms(510) };
    let mut recorder = recorder(Some(wait), &[objective]);
    recorder.record(&ended([999, 0, 999, 1_009], &Outcome::applied(10)));
    let windows = whole(&recorder.take().windows);
    let stats = recorder.finish().remove(0).unwrap();
    let rows = stats.row_latency.unwrap().summary();
    assert_eq!(rows.count, 1_000);
    // Waits spread evenly over 0 … 999 ms, plus 10 ms; strata of 62 rows blur by half a stratum.
    assert!(rows.p50.unwrap().abs_diff(ms(509).0) < ms(35).0, "{rows:?}");
    // Exactly the rows with more than 500 rows after them wait longer than 500 ms.
    assert_eq!(windows.over[0].iter().sum::<u64>(), 499);
    assert_eq!(windows.ended.iter().sum::<u64>(), 1);
}

#[test]
fn open_load_counts_intended_and_failed_ops_per_window() {
    let refused = Outcome::unknown(OpError {
        class: ErrorClass::Connection,
        code: None,
        message: "gone".into(),
    });
    let mut recorder = recorder(None, &[]);
    recorder.record(&ended([120, 0, 120, 130], &Outcome::applied(10)));
    recorder.record(&ended([130, 0, 130, 350], &refused));
    recorder.record_dropped(0, ms(210), Nanos::ZERO, ms(211));
    // Its session sent it because it was idle: nothing was offered.
    let closed = FinishedOp { closed: true, ..ended([0, 0, 0, 10], &refused) };
    recorder.record(&closed);
    let windows = whole(&recorder.take().windows);
    assert_eq!(windows.offered, [0, 2, 1]);
    assert_eq!(windows.failed, [0, 0, 0, 1]);
    assert_eq!(recorder.take().windows, [], "what was taken is counted once");
}

/// A long run has more gaps than are held at once; the longest come from all of it.
#[test]
fn the_longest_of_many_gaps_are_found_wherever_they_are() {
    let seconds = 40;
    let maps: Vec<AcknowledgementMap> = (0..seconds)
        .map(|second| {
            let mut map = AcknowledgementMap::new(second);
            for at in (0..1_000).step_by(5) {
                // One answer is missing in the second, and one in the last but one.
                if (second, at) != (1, 500) && (second, at) != (seconds - 2, 500) {
                    map.note(ms(second * 1_000 + at));
                }
            }
            map
        })
        .collect();
    let gaps = gaps(&maps, ms(seconds * 1_000), 3);
    let starts: Vec<Nanos> = gaps.iter().map(|gap| gap.start).collect();
    assert_eq!(starts, [ms(1_496), ms((seconds - 2) * 1_000 + 496), ms(1)], "{gaps:?}");
    assert_eq!(gaps[0].length, ms(9));
    assert_eq!(gaps[2].length, ms(4));
}

#[test]
fn gaps_are_found_across_seconds_and_at_the_edges() {
    let mut maps = vec![AcknowledgementMap::new(0), AcknowledgementMap::new(2)];
    for at in (0..500).chain(700..=700) {
        maps[0].note(ms(at));
    }
    maps[1].note(ms(2_100));
    let gaps = gaps(&maps, ms(3_000), 2);
    assert_eq!(
        gaps,
        [Gap { start: ms(701), length: ms(1_399) }, Gap { start: ms(2_101), length: ms(899) }]
    );
}

#[test]
fn merging_two_threads_adds_everything() {
    let (mut left, mut right) = (recorder(None, &[]), recorder(None, &[]));
    left.record(&ended([0, 0, 0, 10], &Outcome::applied(10)));
    right.record(&ended([0, 0, 0, 150], &Outcome::applied(10)));
    let mut sum = *left.finish().remove(0).unwrap();
    sum.merge(&right.finish().remove(0).unwrap());
    assert_eq!((sum.sent, sum.rows.acknowledged, sum.latency.count()), (2, 20, 2));
}

#[test]
fn rows_of_a_batch_that_never_ended_rank_as_infinite() {
    let wait = RowWait { rows: 10, rate: Rate::per_second(1_000) };
    let mut recorder = recorder(Some(wait), &[]);
    let timeout = OpError { class: ErrorClass::Timeout, code: None, message: "no answer".into() };
    recorder.record(&ended([0, 0, 0, 10], &Outcome::applied(10)));
    recorder.record(&ended([0, 0, 0, 10], &Outcome::unknown(timeout)));
    recorder.record_dropped(0, ms(5), Nanos::ZERO, ms(6));
    let rows = recorder.finish().remove(0).unwrap().row_latency.unwrap();
    assert_eq!((rows.count(), rows.beyond()), (30, 20));
}

/// Of ten rows of a batch the target stored seven, and it is not known of one whether it did.
fn partial() -> Outcome {
    let mut outcome = Outcome::by_row(10, |row| match row {
        2 | 5 => Certainty::NotApplied,
        6 => Certainty::Unknown,
        _ => Certainty::Applied,
    });
    outcome.error =
        Some(OpError { class: ErrorClass::Rejected, code: None, message: "queue full".into() });
    outcome
}

#[test]
fn an_op_that_was_acknowledged_in_part_counts_by_its_rows() {
    let wait = RowWait { rows: 10, rate: Rate::per_second(1_000) };
    let bounds = [
        Objective::Latency { quantile_ppm: 990_000, max: ms(500), op: None },
        Objective::RowLatency { quantile_ppm: 990_000, max: ms(500) },
    ];
    let mut recorder = recorder(Some(wait), &bounds);
    let (whole_op, partial) = (Outcome::applied(10), partial());
    recorder.record(&ended([0, 0, 0, 10], &whole_op));
    recorder.record(&ended([0, 0, 0, 310], &partial));
    let RecordedCounts { intervals, acknowledgements, windows } = recorder.take();
    let second = &intervals[0];
    assert_eq!([second.acknowledged, second.errors, second.partial], [2, 1, 1]);
    assert_eq!([second.rows_acknowledged, second.rows_refused], [17, 2]);
    assert_eq!(gaps(&acknowledgements, ms(400), 1)[0].length, ms(299));
    let windows = whole(&windows);
    assert_eq!(windows.acknowledged, [1, 0, 0, 1]);
    assert_eq!(windows.failed, [0; 0], "it waits for nothing any more");
    let over: Vec<u64> = windows.over.iter().map(|of| of.iter().sum()).collect();
    assert_eq!(over, [0, 3], "three rows are later than anything");

    let stats = recorder.finish().remove(0).unwrap();
    assert_eq!((stats.acknowledged, stats.answered.rows), (2, 17));
    let rows = stats.rows;
    assert_eq!([rows.acknowledged, rows.refused, rows.unknown], [17, 2, 1]);
    let rejected = &stats.errors[&ErrorClass::Rejected];
    assert_eq!((rejected.failed, rejected.partial), (1, 1));
    assert_eq!((stats.latency.count(), stats.latency.beyond()), (2, 0));
    assert_eq!(stats.error_latency.count(), 0, "its latency is an op's");
    let rows = stats.row_latency.unwrap();
    assert_eq!((rows.count(), rows.beyond()), (20, 3));
}

#[test]
fn of_an_op_of_which_nothing_was_acknowledged_nothing_counts() {
    let mut recorder = recorder(None, &[]);
    let mut none = Outcome::by_row(10, |row| match row {
        0 => Certainty::Unknown,
        _ => Certainty::NotApplied,
    });
    none.error = partial().error;
    recorder.record(&ended([0, 0, 0, 10], &none));
    let stats = recorder.finish().remove(0).unwrap();
    assert_eq!((stats.acknowledged, stats.latency.beyond()), (0, 1));
    let rejected = &stats.errors[&ErrorClass::Rejected];
    assert_eq!((rejected.failed, rejected.partial), (1, 0));
    assert_eq!((stats.rows.refused, stats.rows.unknown), (9, 1));
}

#[test]
fn a_second_counts_service_times_lag_and_failures_by_class() {
    let mut recorder = recorder(None, &[]);
    // Late by 5 ms, served in 500 ms; then one that is rejected.
    recorder.record(&ended([100, 400, 405, 905], &Outcome::applied(10)));
    let rejected = OpError { class: ErrorClass::Rejected, code: None, message: String::new() };
    recorder.record(&ended([100, 400, 400, 906], &Outcome::refused(10, rejected)));
    let second = &recorder.take().intervals[0];
    let within = |up_to: Vec<u64>, bound_ns: u64| {
        let place = LATENCY_BOUNDS_NS.iter().position(|of| *of == bound_ns);
        up_to[place.unwrap()]
    };
    assert_eq!(within(second.service.up_to(), 250_000_000), 0);
    assert_eq!(within(second.service.up_to(), 500_000_000), 1);
    assert_eq!(second.service.up_to().last(), Some(&1), "of acknowledged ops alone");
    assert_eq!(second.service.sum_ns, ms(500).0);
    assert_eq!(within(second.lag.up_to(), 100_000), 1);
    assert_eq!(within(second.lag.up_to(), 5_000_000), 2);
    assert_eq!(second.failed[ErrorClass::Rejected as usize], 1);
    assert_eq!(second.failed.iter().sum::<u64>(), second.errors);
    assert!(BoundedTimes::default().up_to().is_empty(), "nothing is no zero");
}

#[test]
fn additions_to_any_order_of_seconds_and_keys_never_mix() {
    let mut intervals = Intervals::default();
    let sent = [(0, 0), (1, 1), (2, 0), (0, 0), (3, 1), (1, 1), (1, 0), (2, 0)];
    for (second, key) in sent {
        intervals.at(Nanos::from_secs(second), key).offered += 1;
    }
    let seen: Vec<_> =
        intervals.take().iter().map(|delta| (delta.second, delta.key, delta.offered)).collect();
    let want = [(0, 0, 2), (1, 1, 2), (2, 0, 2), (3, 1, 1), (1, 0, 1)];
    assert_eq!(seen, want);
    intervals.at(Nanos::ZERO, 0).offered += 1;
    assert_eq!(intervals.take()[0].offered, 1);
}

fn error(class: ErrorClass, code: &str, message: &str) -> OpError {
    OpError { class, code: Some(code.to_owned()), message: message.to_owned() }
}

#[test]
fn messages_that_differ_in_numbers_are_one_and_their_number_is_bounded() {
    let mut failures = Failures::default();
    for key in 0..30 {
        let message = format!("Duplicate entry '{key}' for key 'PRIMARY'");
        failures.note(&error(ErrorClass::Constraint, "1062", &message), 7);
    }
    failures.note(&error(ErrorClass::Conflict, "1213", "Deadlock found"), 9);
    let records = failures.records();
    let found: Vec<_> = records.iter().map(|one| (one.count, one.code.as_deref())).collect();
    assert_eq!(found, [(30, Some("1062")), (1, Some("1213"))]);
    assert_eq!(records[0].message, "Duplicate entry '0' for key 'PRIMARY'");
    let last_seen: Vec<u64> = failures.seen().iter().map(|(_, second)| *second).collect();
    assert_eq!(last_seen, [7, 9]);
    // A journal keeps them second by second.
    let mut again = Failures::of_second(3, &records);
    again.merge(&Failures::of_second(8, &records));
    let by_class = again.by_class();
    assert_eq!((by_class[&ErrorClass::Constraint], by_class[&ErrorClass::Conflict]), (60, 2));
    assert!(again.seen().iter().all(|(_, second)| *second == 8), "{again:?}");
    for letter in "abcdefghijklmnopqrstuvwxyz".chars() {
        let message = format!("word {letter}");
        failures.note(&error(ErrorClass::Data, "22000", &message), 1);
    }
    let mut twice = failures.clone();
    twice.merge(&failures);
    for (failures, times) in [(failures, 1), (twice, 2)] {
        let records = failures.records();
        assert_eq!(records.len(), MESSAGES_MAX + 1);
        let all: u64 = records.iter().map(|one| one.count).sum();
        assert_eq!(all, 57 * times, "none is left out");
        assert!(records.iter().any(|one| one.message == OTHERS));
    }
}
