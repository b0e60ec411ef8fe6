//! A command to each share of a plan: together they have the changed pace.

use super::*;
use crate::shares::begin_together;

/// The shares of a plan that all get the same command.
fn shares(of: u32, paces: PaceInput, commands: &[(At, Command)]) -> Vec<RunRecord> {
    let root = tempfile::tempdir().unwrap();
    let target = one_node("cores=inf&service=constant&request=5ms");
    let mut job = Job::new(&target, &[("insert", paces)]);
    job.sessions = 64;
    let target = job.open_target(root.path());
    let share = |index| {
        let part = job.share_of(index, of);
        part.run_commanded_on(Arc::clone(&target), root.path(), commands).end.record
    };
    (1..=of).map(share).collect()
}

#[test]
fn shares_take_their_parts_of_a_changed_pace() {
    let faster = [(At::Second(4), rate("insert", 2_000.0))];
    let [whole] = &shares(1, open(1_000), &faster)[..] else {
        panic!("one share");
    };
    let mut parts = shares(3, open(1_000), &faster);
    begin_together(&mut parts);
    let merged = analysis::merge(&parts).unwrap();
    for phase in ["measure", "measure-2"] {
        let [merged, whole] = [&merged, whole].map(|record| result(record, phase, "insert"));
        assert_eq!(merged.offered, whole.offered, "{phase}");
        assert_eq!(merged.latency_ns, whole.latency_ns, "{phase}");
    }
    let planned = |record: &RunRecord| -> Vec<_> {
        record.streams.iter().map(|s| (s.phase.clone(), s.planned_rate, s.sessions)).collect()
    };
    assert_eq!(planned(&merged), planned(whole));
    assert_eq!(merged.interventions, whole.interventions);
    assert_eq!(merged.judgments, whole.judgments);
    // A share with another load does not belong to the same plan.
    parts[1] = shares(3, open(1_000), &[]).swap_remove(1);
    begin_together(&mut parts);
    assert!(analysis::merge(&parts).is_err());
    let more = [(At::Second(4), sessions("insert", 10))];
    let records = shares(3, closed(3), &more);
    let opened: Vec<u32> = records.iter().map(|r| stream(r, "measure-2").sessions).collect();
    assert_eq!(opened, [4, 3, 3]);
    let few = [(At::Second(4), sessions("insert", 2))];
    let refused = shares(3, closed(3), &few);
    assert!(refused.iter().all(|record| record.interventions.is_empty()));
}

/// Two hundred ops a second per session: 400 of each of the two in the ramp, and 360, 320 … 0 of the ten that start.
#[test]
fn shares_ramp_together() {
    let ramped =
        Command::Sessions { stream: "insert".to_owned(), sessions: 12, ramp_per_s: Some(5.0) };
    let records = shares(2, closed(2), &[(At::Second(3), ramped)]);
    let of_ramp = |record: &RunRecord| result(record, "measure-2-ramp", "insert").offered;
    assert_eq!(records.iter().map(of_ramp).sum::<u64>(), 800 + 1_800);
    for record in &records {
        assert_eq!(stream(record, "measure-2").sessions, 6);
        assert_eq!(result(record, "measure-2", "insert").offered, 6 * 930);
    }
}
