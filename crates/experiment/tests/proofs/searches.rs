//! Searches that do not reach their mark undisturbed: stopped by the user, ended by a target that went away or lost
//! rows, or stopped before they began; and the content of their records.

use std::cell::Cell;

use highwater_driver::interrupts::Interrupter;
use highwater_model::event::{Event, Trial};
use highwater_model::record::ExperimentRecord;
use highwater_model::search::{NoMarkReason, ProbePurpose, ProbeRecord, ProbeVerdict};
use highwater_model::units::Nanos;
use highwater_report as report;
use highwater_runner::record;
use highwater_runner::request::Observer;

use crate::hunting::{Hunt, mark, no_mark, probes, thousand};
use crate::making::{Watched, code, lacks_budget};
use crate::support::one_node;

#[test]
fn the_record_of_a_search_holds_every_probe_and_each_is_a_separate_run() {
    let root = tempfile::tempdir().unwrap();
    let record = thousand().find_in(root.path(), &Watched::silent()).unwrap();
    let found = mark(&record);
    assert!((970.0..=1_011.0).contains(&found.confirmed), "{found:?}");
    assert_eq!(found.hold_ns, 12_000_000_000);
    let directory = root.path().join("search");
    let stored = record::read(&directory).unwrap();
    assert_eq!(stored.into_experiment().as_ref(), Some(&record));
    assert_eq!(record.header.id, "search");
    for probe in probes(&record) {
        let run = record::read(&directory.join(&probe.run)).unwrap();
        let run = run.into_run().expect("a run of its own");
        assert_eq!(run.target.bytes_before, probe.bytes_before);
        if probe.verdict == ProbeVerdict::Passed {
            assert!((run.streams[0].throughput.ops_per_s - probe.acknowledged_per_s).abs() < 1e-9);
        }
    }
    let last = record::read(&directory.join(&probes(&record).last().unwrap().run)).unwrap();
    assert_eq!(last.into_run(), Some(*record.last_run.clone()), "the mark's own figures");
    let text = report::text(&record);
    assert!(text.contains("\nmark "), "{text}");
    assert!(text.contains("next:          highwater run cpu"), "{text}");
}

/// When the user stops.
#[derive(Clone, Copy)]
enum Moment {
    /// The probe of this number begins.
    Probe(u32),
    /// After this many confirmations.
    Confirmed(usize),
    /// The soak begins.
    Soak,
}

/// A user who stops at a moment; keeps the probes begun until the end.
struct Impatient {
    moment: Moment,
    interrupter: Interrupter,
    begun: Cell<u32>,
    confirmed: Cell<usize>,
}

impl Observer for Impatient {
    fn event(&self, event: &Event) {
        let now = match (event, self.moment) {
            (Event::Trial { number, trial, progress }, moment) => {
                self.begun.set(*number);
                let is_last = progress.most == *number && progress.budget.is_none();
                let soaks = matches!(trial, Trial::Probe { purpose: ProbePurpose::Soak, .. });
                assert_eq!(is_last, soaks, "{progress:?}");
                match moment {
                    Moment::Probe(at) => *number == at,
                    Moment::Soak => soaks,
                    Moment::Confirmed(_) => false,
                }
            }
            (Event::Probed(probe), Moment::Confirmed(expected)) => {
                let confirms = probe.purpose == ProbePurpose::Confirm;
                self.confirmed.set(self.confirmed.get() + usize::from(confirms));
                confirms && self.confirmed.get() == expected
            }
            _ => false,
        };
        if now {
            self.interrupter.interrupt();
        }
    }
}

/// The record of a search stopped at a moment, its directory, and the number of the last probe begun.
fn stopped(hunt: &Hunt, moment: Moment) -> (ExperimentRecord, tempfile::TempDir, u32) {
    let root = tempfile::tempdir().unwrap();
    let (user, watched) = Watched::by(|interrupter| Impatient {
        moment,
        interrupter,
        begun: Cell::new(0),
        confirmed: Cell::new(0),
    });
    let record = hunt.find_in(root.path(), &watched).unwrap();
    let directory = root.path().join("search");
    let stored = record::read(&directory).unwrap();
    assert_eq!(stored.into_experiment().as_ref(), Some(&record));
    let kept = std::fs::read_dir(directory.join("probes")).unwrap().count();
    assert_eq!(kept, probes(&record).len(), "a run for each probe");
    assert_eq!(code(&record), 130);
    (record, root, user.begun.get())
}

fn soak_of(record: &ExperimentRecord) -> Option<&ProbeRecord> {
    record.search().unwrap().soak()
}

#[test]
fn a_stopped_search_keeps_its_results() {
    let (record, _root, begun) = stopped(&thousand(), Moment::Probe(4));
    assert_eq!(begun, 4, "nothing was begun after it");
    let known = no_mark(&record);
    assert_eq!(known.why, NoMarkReason::Interrupted);
    assert!(known.highest_met.is_some());
    assert_eq!(probes(&record).last().unwrap().verdict, ProbeVerdict::Interrupted);
}

/// The search of a small cluster, and ten minutes at its mark.
fn with_soak() -> Hunt {
    let mut hunt = thousand();
    hunt.soak = Some(Nanos::from_secs(600));
    hunt
}

#[test]
fn no_soak_follows_a_search_that_was_stopped() {
    let (record, _root, begun) = stopped(&with_soak(), Moment::Probe(4));
    assert_eq!(begun, 4);
    assert_eq!(no_mark(&record).why, NoMarkReason::Interrupted);
    assert!(soak_of(&record).is_none());
}

#[test]
fn a_stopped_soak_leaves_the_mark_as_confirmed() {
    let (record, _root, begun) = stopped(&with_soak(), Moment::Soak);
    let whole = thousand().find();
    assert_eq!(mark(&record), mark(&whole));
    assert_eq!(begun as usize, probes(&whole).len() + 1);
    let soak = soak_of(&record).unwrap();
    assert_eq!(soak.verdict, ProbeVerdict::Interrupted);
    assert!(soak.measured_ns < Nanos::from_secs(600).0);
    let text = report::text(&record);
    assert!(text.contains("\nsoak ") && text.contains(": interrupted"), "{text}");
}

#[test]
fn a_search_stopped_before_its_soak_reports_the_missing_soak() {
    let whole = thousand().find();
    let confirms = |probe: &&ProbeRecord| probe.purpose == ProbePurpose::Confirm;
    let confirmations = probes(&whole).iter().filter(confirms).count();
    let (record, _root, begun) = stopped(&with_soak(), Moment::Confirmed(confirmations));
    assert_eq!(begun as usize, probes(&whole).len(), "it was not begun");
    assert_eq!(mark(&record), mark(&whole));
    assert!(soak_of(&record).is_none());
    let text = report::text(&record);
    assert!(text.contains("NOT MADE: 10 min at"), "{text}");
}

#[test]
fn a_target_lost_in_mid_search_ends_it_with_the_results_so_far() {
    let mut hunt = thousand();
    hunt.later = Some((3, one_node("cores=1&query=1ms&die=0s")));
    let record = hunt.find();
    let known = no_mark(&record);
    assert_eq!(known.why, NoMarkReason::TargetLost);
    assert!(known.highest_met.is_some());
    assert_eq!(probes(&record).len(), 4, "asked twice");
    assert_eq!(code(&record), 5);
}

#[test]
fn a_budget_without_room_for_a_probe_is_refused_and_nothing_is_left() {
    let mut hunt = thousand();
    hunt.budget = Some(Nanos::from_secs(5));
    let root = tempfile::tempdir().unwrap();
    let refused = hunt.find_in(root.path(), &Watched::silent());
    let refused = refused.unwrap_err();
    assert!(lacks_budget(&refused), "{refused}");
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[test]
fn rows_that_are_lost_leave_no_mark() {
    let mut hunt = Hunt::new("sim:?drop=0.001", "insert");
    hunt.job.settings = vec![("batch", "100".to_owned())];
    let record = hunt.find();
    assert_eq!(no_mark(&record).why, NoMarkReason::WrongData);
    assert_eq!(probes(&record).len(), 1);
}

/// With an op that takes `query`, on four cores for 64 sessions and probes of 15 seconds.
fn of_ops_that_take(query: &str) -> ExperimentRecord {
    let url = one_node(&format!("cores=4&query={query}&service=constant&queue=inf"));
    let mut hunt = Hunt::new(&url, crate::hunting::QUERY).p99(0.5);
    hunt.job.timeout = Nanos::from_secs(3_600);
    hunt.find()
}

#[test]
fn ops_that_take_longer_than_a_probe_leave_no_mark_and_are_the_reason() {
    // First no op of the closed load finishes; then some do, but they take longer than the measurement.
    for query in ["40s", "17s"] {
        let record = of_ops_that_take(query);
        let why = no_mark(&record).why;
        assert_eq!(why, NoMarkReason::OpsTooLong, "{}", report::text(&record));
        assert_eq!(code(&record), 3);
    }
    let text = report::text(&of_ops_that_take("40s"));
    assert!(text.contains("an op takes longer than a probe"), "{text}");
    assert!(text.contains("--probe"), "{text}");
}
