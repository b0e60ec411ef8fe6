//! Commands that cannot be executed: each is refused with a reason, and changes nothing.

use super::*;

#[track_caller]
fn refused(job: &Job, at: At, command: Command, expected: &Refusal) {
    let Commanded { end, answers, .. } = job.run_commanded(&[(at, command)]);
    assert_eq!(answers, [Err(expected.clone())]);
    let record = &end.record;
    assert!(record.interventions.is_empty());
    assert!(record.phases.iter().all(|phase| !phase.name.contains("-2")));
    assert_eq!(end.ended, RunEnding::Complete);
}

#[test]
fn impossible_commands_are_rejected_with_a_reason() {
    let at = At::Second(1);
    let target = one_node("cores=inf&service=constant&request=5ms&query=5ms");
    let streams = [("insert", open(1_000)), ("dashboards", closed(2))];
    let job = Job::new(&target, &streams);
    let streams = vec!["insert".to_owned(), "dashboards".to_owned()];
    refused(&job, at, rate("upsert", 1.0), &Refusal::UnknownStream { streams });
    refused(&job, at, rate("insert", 1_000.0), &Refusal::Unchanged);
    refused(&job, at, sessions("dashboards", 2), &Refusal::Unchanged);
    refused(&job, at, rate("insert", 0.0), &Refusal::NotARate);
    // A load generator supports a billion rows a second, and a hundred million of these: batches of ten.
    let most_per_s = 1e8;
    refused(&job, at, rate("insert", 1.1e8), &Refusal::RateTooHigh { most_per_s });
    refused(&job, at, rate("dashboards", 5.0), &Refusal::StaysClosed);
    refused(&job, at, sessions("dashboards", 0), &Refusal::TooFewSessions { least: 1 });
    let most = 65_536;
    refused(&job, at, sessions("dashboards", most + 1), &Refusal::TooManySessions { most });
    refused(&job, at, note(" "), &Refusal::EmptyNote);
    refused(&job, at, note(&"x".repeat(1_001)), &Refusal::NoteTooLong { most: 1_000 });
    refused(&job, At::Audit, rate("insert", 5.0), &Refusal::PacesOver);
}

#[test]
fn a_pace_changes_only_where_phases_with_a_pace_are_counted_by_time() {
    let mut by_rows = steady();
    by_rows.stop.rows = Some(5_000);
    refused(&by_rows, At::Second(1), rate("insert", 5.0), &Refusal::EndsByRows);
    let mut filled = steady();
    filled.settings.push(("rows", "5000".to_owned()));
    refused(&filled, At::Load, rate("insert", 5.0), &Refusal::BeforePaces);
    // The last op gets its response two seconds after the last phase.
    let target = one_node("cores=inf&service=constant&request=2s");
    let draining = Job::new(&target, &[("insert", open(100))]);
    refused(&draining, At::Second(10), rate("insert", 5.0), &Refusal::PacesOver);
}

/// Whatever is queued, no sender waits.
#[test]
fn a_full_queue_refuses_and_a_stop_still_comes_through() {
    let mut commands = vec![(At::Second(4), note("again")); WAITING_MAX + 3];
    commands.push((At::Second(4), Command::Stop));
    let Commanded { end, answers, controller, .. } = steady().run_commanded(&commands);
    let full = answers.iter().filter(|answer| **answer == Err(Refusal::QueueFull));
    assert_eq!(full.count(), 3);
    assert_eq!(end.record.interventions.len(), WAITING_MAX + 1);
    assert_eq!(phases(&end.record), [("measure", 0, 4_250)]);
    assert_eq!(end.ended, RunEnding::Interrupted);
    let late = controller.send(note("late")).unwrap_err();
    assert_eq!(late, Refusal::RunOver);
}
