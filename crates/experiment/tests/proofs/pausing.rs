//! A search that its user pauses between two probes: the record shows it, and the result is unchanged.

use std::cell::Cell;
use std::rc::Rc;

use highwater_driver::interrupts::Interrupter;
use highwater_model::control::{Change, InterventionRecord};
use highwater_model::event::{Event, Part};
use highwater_model::record::ExperimentRecord;
use highwater_model::units::Nanos;
use highwater_runner::request::Observer;

use crate::hunting::{Hunt, thousand};
use crate::making::Watched;

/// Requests a pause when probe 3 begins, and ends it as soon as the search waits: by resuming, or by a stop.
struct Patient {
    interrupter: Interrupter,
    stops: bool,
    probes_before: Cell<u32>,
    begun: Cell<u32>,
}

impl Observer for Patient {
    fn event(&self, event: &Event) {
        match event {
            Event::Trial { number, .. } => {
                self.begun.set(*number);
                if *number == 3 {
                    self.interrupter.hold(true);
                }
            }
            Event::Part(Part::Paused) => {
                self.probes_before.set(self.begun.get());
                if self.stops {
                    self.interrupter.interrupt();
                } else {
                    self.interrupter.hold(false);
                }
            }
            _ => {}
        }
    }
}

fn hunt() -> Hunt {
    let mut hunt = thousand();
    hunt.budget = Some(Nanos::from_secs(3_600));
    hunt
}

fn paused(stops: bool) -> (ExperimentRecord, Rc<Patient>) {
    let root = tempfile::tempdir().unwrap();
    let (user, watched) = Watched::by(|interrupter| Patient {
        interrupter,
        stops,
        probes_before: Cell::new(0),
        begun: Cell::new(0),
    });
    let record = hunt().find_in(root.path(), &watched).unwrap();
    (record, user)
}

#[test]
fn a_paused_search_finds_the_same_and_records_the_wait() {
    let (record, user) = paused(false);
    assert_eq!(user.probes_before.get(), 3, "the probe that runs is finished first");
    let [pause] = &record.interventions[..] else {
        panic!("{:?}", record.interventions);
    };
    assert!(matches!(pause.change, Change::Pause { .. }), "{pause:?}");
    assert!(pause.phase.starts_with("04-"), "before probe 4: {pause:?}");
    let whole = hunt().find();
    assert!(whole.interventions.is_empty());
    assert_eq!(record.search().unwrap().outcome, whole.search().unwrap().outcome);
    let took = |of: &ExperimentRecord| -> Vec<u64> {
        let probes = &of.search().unwrap().probes;
        probes.iter().map(|probe| probe.took_ns + probe.settled_ns).collect()
    };
    assert_eq!(took(&record), took(&whole), "the budget did not run meanwhile");
    assert_eq!(record.search().unwrap().definition_hash, whole.search().unwrap().definition_hash);
}

#[test]
fn a_stop_ends_a_pause_and_the_search() {
    let (record, user) = paused(true);
    assert_eq!(user.begun.get(), 3, "nothing was begun after it");
    assert_eq!(record.search().unwrap().probes.len(), 3);
    assert!(!record.search().unwrap().has_mark());
}

#[test]
fn a_resumed_search_still_records_its_earlier_wait() {
    let before = InterventionRecord {
        by: None,
        time_ns: 5,
        phase: "02-search".to_owned(),
        change: Change::Pause { lasted_ns: 7 },
    };
    let mut resumed = hunt();
    resumed.pauses = vec![before.clone()];
    assert_eq!(resumed.find().interventions, [before]);
}
