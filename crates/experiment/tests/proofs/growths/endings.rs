//! What is stored of a growth, and how growths end and go on.

use std::cell::Cell;
use std::rc::Rc;

use highwater_driver::TargetError;
use highwater_experiment::check;
use highwater_model::event::Event;
use highwater_model::scale::{ScaleEach, ScaleOutcome, ScaleRecord, SizeVerdict};
use highwater_report as report;
use highwater_runner::interrupts::{self, Interrupter};
use highwater_runner::observer::Observer;
use highwater_runner::record;
use highwater_runner::run::RunError;

use super::cluster::{Growing, Shape};
use super::{code, order};

#[test]
fn the_record_of_a_growth_is_stored_with_that_of_each_size_below_it() {
    for each in [ScaleEach::Find, ScaleEach::Run] {
        let root = tempfile::tempdir().unwrap();
        let growing = Growing {
            each,
            ..Growing::new(Shape::Linear, &[1, 2])
        };
        let record = growing.grow(root.path(), growing.scale()).unwrap();
        let directory = root.path().join("growth");
        let stored = record::read(&directory).unwrap().into_experiment();
        assert_eq!(stored.as_ref(), Some(&record));
        assert_eq!(order(&record), [1, 2, 1]);
        for trial in &record.scale().unwrap().trials {
            let own = record::read(&directory.join(&trial.run)).unwrap();
            match each {
                ScaleEach::Find => assert!(own.into_experiment().unwrap().search().is_some()),
                ScaleEach::Run | ScaleEach::Tune => assert!(own.into_run().is_some()),
            }
            assert!(directory.join(&trial.run).join("report.html").exists());
        }
        assert_eq!(code(&record), 0, "{}", report::text(&record));
    }
}

/// A user who stops when so many sizes were measured, or in the middle of the next one.
struct Impatient {
    sizes: u32,
    in_the_next: bool,
    interrupter: Interrupter,
    seen: Cell<u32>,
}

impl Observer for Impatient {
    fn event(&self, event: &Event) {
        match event {
            Event::Sized { .. } => self.seen.set(self.seen.get() + 1),
            Event::Probed(_) if self.in_the_next => {}
            _ => return,
        }
        let is_probe = matches!(event, Event::Probed(_));
        if self.seen.get() == self.sizes && is_probe == self.in_the_next {
            self.interrupter.interrupt();
        }
    }
}

#[test]
fn a_growth_that_is_stopped_keeps_what_it_has_and_goes_on_where_it_was() {
    for in_the_next in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let growing = Growing::new(Shape::Linear, &[1, 2, 3]);
        let (interrupter, interrupts) = interrupts::channel();
        let user = Rc::new(Impatient {
            sizes: 2,
            in_the_next,
            interrupter,
            seen: Cell::new(0),
        }) as Rc<dyn Observer>;
        let scale = growing.scale();
        let stopped = growing.grow_watched(root.path(), scale, &user, &interrupts);
        let stopped = stopped.unwrap();
        let known = stopped.scale().unwrap();
        assert_eq!(known.outcome, Some(ScaleOutcome::Interrupted));
        assert_eq!(code(&stopped), 130);
        let counting = known
            .trials
            .iter()
            .filter(|trial| trial.figures.verdict.counts());
        assert_eq!(counting.count(), 2);
        let mut kept = known.trials.clone();
        kept.retain(|trial| trial.figures.verdict != SizeVerdict::Interrupted);
        assert_eq!(kept.len() + usize::from(in_the_next), known.trials.len());

        let resumed = ScaleRecord {
            trials: kept,
            ..growing.scale()
        };
        let whole = growing.grow(root.path(), resumed).unwrap();
        assert_eq!(order(&whole), [1, 2, 3, 1]);
        assert_eq!(code(&whole), 0, "{}", report::text(&whole));
    }
}

#[test]
fn a_size_that_does_not_answer_ends_a_growth_and_those_before_it_stay() {
    let growing = Growing {
        gone: Some(2),
        ..Growing::new(Shape::Linear, &[1, 2, 3])
    };
    let record = growing.whole();
    let scale = record.scale().unwrap();
    assert_eq!(scale.outcome, Some(ScaleOutcome::TargetLost));
    assert_eq!(order(&record), [1, 2, 2]);
    assert_eq!(code(&record), 5);
    // Where nothing answers from the beginning, nothing is left.
    let none = tempfile::tempdir().unwrap();
    let growing = Growing {
        gone: Some(1),
        ..Growing::new(Shape::Linear, &[1, 2])
    };
    let refused = growing.grow(none.path(), growing.scale());
    assert!(matches!(refused, Err(RunError::Target(TargetError { .. }))));
    assert_eq!(std::fs::read_dir(none.path()).unwrap().count(), 0);
}

#[test]
fn a_budget_without_room_for_one_size_is_refused() {
    let growing = Growing::new(Shape::Linear, &[1, 2]);
    let scale = ScaleRecord {
        budget_ns: Some(1),
        trial_cost_ns: 2,
        ..growing.scale()
    };
    assert!(matches!(check(&scale), Err(RunError::Budget { .. })));
}
