//! Sessions that start or end one by one: a phase without results, and then the one with the new pace.

use super::*;

fn ramped(to: u32, per_s: f64) -> Command {
    Command::Sessions { stream: "insert".to_owned(), sessions: to, ramp_per_s: Some(per_s) }
}

/// This many sessions, each doing a hundred ops a second, change at the end of the third second.
fn changed(from: u32, to: u32, per_s: f64) -> Commanded {
    let target = one_node("cores=inf&service=constant&request=10ms");
    let job = Job::new(&target, &[("insert", closed(from))]);
    job.run_commanded(&[(At::Second(3), ramped(to, per_s))])
}

/// From 3.35 s on, one more every 200 ms, so that ten have started at 5.35 s.
#[test]
fn sessions_come_one_by_one_and_the_new_phase_begins_when_all_are_there() {
    let Commanded { end, answers, .. } = changed(2, 12, 5.0);
    let record = &end.record;
    assert_eq!(
        phases(record),
        [("measure", 0, 3_350), ("measure-2-ramp", 3_350, 2_000), ("measure-2", 5_350, 4_650)]
    );
    // The two do 200 ops in the two seconds; the ten 180, 160 … 0.
    let ramp = result(record, "measure-2-ramp", "insert");
    assert_eq!((ramp.offered, ramp.acknowledged), (2 * 200 + 900, 2 * 200 + 900));
    let after = result(record, "measure-2", "insert");
    assert_eq!((after.offered, after.acknowledged), (12 * 465, 12 * 465));
    let streams: Vec<&str> = record.streams.iter().map(|of| of.phase.as_str()).collect();
    assert_eq!(streams, ["measure", "measure-2"], "the ramp is in no result");
    let after = stream(record, "measure-2");
    assert_eq!((after.sessions, after.working), (12, Some(12)));
    let done = InterventionRecord {
        by: None,
        time_ns: Nanos::from_millis(5_350).0,
        phase: "measure-2".to_owned(),
        change: Change::Pace {
            stream: "insert".to_owned(),
            unit: Unit::Rows,
            from: Pace::Closed { sessions: 2 },
            to: Pace::Closed { sessions: 12 },
            ramp_per_s: Some(5.0),
        },
    };
    assert_eq!(record.interventions, std::slice::from_ref(&done));
    assert_eq!(answers, [Ok(done)]);
    check_totals(record);
    assert_eq!(exit_code(&end), 0, "{:?}", record.judgments);
}

#[test]
fn sessions_go_one_by_one() {
    let record = changed(6, 1, 5.0).end.record;
    assert_eq!(
        phases(&record),
        [("measure", 0, 3_350), ("measure-2-ramp", 3_350, 1_000), ("measure-2", 4_350, 5_650)]
    );
    // Six, five, four, three, two of them for 200 ms each; an ending session may have begun an op at that moment.
    let offered = result(&record, "measure-2-ramp", "insert").offered;
    assert!((400..=405).contains(&offered), "{offered}");
    assert_eq!(result(&record, "measure-2", "insert").offered, 565);
    check_totals(&record);
}

#[test]
fn a_ramp_that_cannot_be_is_refused_and_changes_nothing() {
    let refused = |from: PaceInput, command: Command| {
        let target = one_node("cores=inf&service=constant&request=10ms");
        let job = Job::new(&target, &[("insert", from)]);
        let commanded = job.run_commanded(&[(At::Second(3), command)]);
        assert_eq!(phases(&commanded.end.record), [("measure", 0, 10_000)]);
        commanded.answers.into_iter().next().unwrap().unwrap_err()
    };
    assert_eq!(refused(closed(2), ramped(4, 0.0)), Refusal::NotARamp);
    assert_eq!(refused(closed(2), ramped(4, f64::NAN)), Refusal::NotARamp);
    assert_eq!(refused(open(1_000), ramped(4, 1.0)), Refusal::NotARamp);
    assert_eq!(refused(closed(2), ramped(2, 1.0)), Refusal::Unchanged);
    // From 3.35 s on, 6.65 s remain.
    let too_long = Refusal::RampTooLong { takes_s: 10.0, left_s: 6.65 };
    assert_eq!(refused(closed(2), ramped(12, 1.0)), too_long);
    assert_eq!(refused(closed(2), Command::Pause), Refusal::NoTrials);
    assert_eq!(refused(closed(2), Command::Resume), Refusal::NoTrials);
}

/// From 3.35 s on, one more session each second until there are six; the ramp stays as announced.
#[test]
fn no_pace_changes_during_a_ramp() {
    let target = one_node("cores=inf&service=constant&request=10ms&query=10ms");
    let streams = [("insert", closed(2)), ("dashboards", closed(1))];
    let job = Job::new(&target, &streams);
    let ramp = (At::Second(3), ramped(6, 1.0));
    let alone = job.run_commanded(std::slice::from_ref(&ramp)).end.record;
    let commanded = job.run_commanded(&[
        ramp,
        (At::Second(5), sessions("insert", 1)),
        (At::Second(5), ramped(9, 5.0)),
        (At::Second(5), sessions("dashboards", 3)),
        (At::Second(8), sessions("dashboards", 3)),
    ]);
    let refused = Refusal::RampGoesOn { left_s: 2.0 };
    for answer in &commanded.answers[1..4] {
        assert_eq!(answer, &Err(refused.clone()));
    }
    assert!(commanded.answers[4].is_ok(), "{:?}", commanded.answers[4]);
    let record = &commanded.end.record;
    let of_ramp = |record: &RunRecord| result(record, "measure-2-ramp", "insert").offered;
    assert_eq!(of_ramp(record), of_ramp(&alone));
    let names: Vec<&str> = phases(record).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["measure", "measure-2-ramp", "measure-2", "measure-3"]);
    check_totals(record);
}

/// Of 998 sessions that start one per second, two have started when the run is stopped at 5.25 s.
#[test]
fn a_stop_ends_a_ramp_and_opens_no_session_more() {
    let target = one_node("cores=inf&service=constant&request=10ms");
    let mut job = Job::new(&target, &[("insert", closed(2))]);
    job.step = Nanos::from_secs(2_000);
    let commands = [(At::Second(3), ramped(1_000, 1.0)), (At::Second(5), Command::Stop)];
    let record = job.run_commanded(&commands).end.record;
    let last = record.phases.iter().find(|phase| phase.name == "drain");
    let drain = last.unwrap();
    assert_eq!(drain.start_ns, Nanos::from_millis(5_250).0);
    assert!(drain.duration_ns <= Nanos::from_millis(20).0, "{drain:?}");
    let opened = record.target.hosts[0].sessions;
    assert!(opened <= 5, "{opened} sessions");
    check_totals(&record);
}
