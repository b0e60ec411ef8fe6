//! The stored data of a growth, and the end and resumption of growths.

use std::cell::Cell;

use highwater_analysis::growth::{findings, node_spread};
use highwater_driver::interrupts::Interrupter;
use highwater_experiment::{SizedTrial, check, run_side_by_side};
use highwater_model::event::{Event, Part};
use highwater_model::scale::{ScaleEach, ScaleOutcome, ScaleRecord, SizeVerdict};
use highwater_model::units::Nanos;
use highwater_report as report;
use highwater_runner::record;
use highwater_runner::request::Observer;

use super::cluster::{Growing, Shape};
use super::order;
use crate::making::{Watched, code, lacks_budget};

#[test]
fn the_record_of_a_growth_is_stored_with_that_of_each_size_below_it() {
    for each in [ScaleEach::Find, ScaleEach::Run] {
        let root = tempfile::tempdir().unwrap();
        let growing = Growing { each, ..Growing::new(Shape::Linear, &[1, 2]) };
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

/// A user who stops after this many sizes, or in the middle of the next one.
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
fn a_stopped_growth_keeps_its_sizes_and_continues_with_the_next() {
    for in_the_next in [false, true] {
        let root = tempfile::tempdir().unwrap();
        let growing = Growing::new(Shape::Linear, &[1, 2, 3]);
        let (_, watched) = Watched::by(|interrupter| Impatient {
            sizes: 2,
            in_the_next,
            interrupter,
            seen: Cell::new(0),
        });
        let stopped = growing.grow_watched(root.path(), growing.scale(), &watched);
        let stopped = stopped.unwrap();
        let known = stopped.scale().unwrap();
        assert_eq!(known.outcome, Some(ScaleOutcome::Interrupted));
        assert_eq!(code(&stopped), 130);
        let counting = known.trials.iter().filter(|trial| trial.figures.verdict.counts());
        assert_eq!(counting.count(), 2);
        let mut kept = known.trials.clone();
        kept.retain(|trial| trial.figures.verdict != SizeVerdict::Interrupted);
        assert_eq!(kept.len() + usize::from(in_the_next), known.trials.len());

        let resumed = ScaleRecord { trials: kept, ..growing.scale() };
        let whole = growing.grow(root.path(), resumed).unwrap();
        assert_eq!(order(&whole), [1, 2, 3, 1]);
        assert_eq!(code(&whole), 0, "{}", report::text(&whole));
    }
}

#[test]
fn a_size_that_does_not_answer_ends_a_growth_and_those_before_it_stay() {
    let growing = Growing { gone: Some(2), ..Growing::new(Shape::Linear, &[1, 2, 3]) };
    let record = growing.whole();
    let scale = record.scale().unwrap();
    assert_eq!(scale.outcome, Some(ScaleOutcome::TargetLost));
    assert_eq!(order(&record), [1, 2, 2]);
    assert_eq!(code(&record), 5);
    // If the target never responds, nothing is stored.
    let none = tempfile::tempdir().unwrap();
    let growing = Growing { gone: Some(1), ..Growing::new(Shape::Linear, &[1, 2]) };
    let refused = growing.grow(none.path(), growing.scale());
    assert_eq!(refused.unwrap_err().exit_code(), 5);
    assert_eq!(std::fs::read_dir(none.path()).unwrap().count(), 0);
}

#[test]
fn a_budget_without_room_for_one_size_is_refused() {
    let growing = Growing::new(Shape::Linear, &[1, 2]);
    let scale = ScaleRecord { budget_ns: Some(1), trial_cost_ns: 2, ..growing.scale() };
    assert!(lacks_budget(&check(&scale).unwrap_err()));
}

#[test]
fn a_slower_node_is_found_by_measuring_each_alone() {
    for (slowest, expected) in [(1.0, vec![]), (0.8, vec!["unequal_alone"])] {
        let root = tempfile::tempdir().unwrap();
        let growing = Growing {
            each: ScaleEach::Run,
            of_nodes: vec![1.0, slowest, 1.0],
            ..Growing::new(Shape::Linear, &[1, 2, 3])
        };
        let record = growing.grow(root.path(), growing.scale()).unwrap();
        assert_eq!(order(&record), [1, 2, 3, 1], "nodes alone are no sizes");
        let scale = record.scale().unwrap();
        let alone = &scale.alone.trials;
        let numbers = alone.iter().filter_map(|trial| trial.node);
        assert!(numbers.eq(1..=3), "{alone:?}");
        let said = findings(scale).into_iter().map(|finding| finding.code);
        assert_eq!(said.collect::<Vec<_>>(), expected);
        let spread = node_spread(scale).unwrap();
        assert!((spread.slowest.per_s - slowest * growing.one).abs() < 0.02 * growing.one);
        assert!((spread.apart - (1.0 / slowest - 1.0)).abs() < 0.03, "{spread:?}");
        let directory = root.path().join("growth");
        for trial in alone {
            assert!(record::read(&directory.join(&trial.run)).is_ok(), "{trial:?}");
        }
        // Measured sizes are not measured again.
        let mut resumed = growing.scale();
        (resumed.alone, resumed.trials) = (scale.alone.clone(), vec![scale.trials[0].clone()]);
        let whole = growing.grow(root.path(), resumed).unwrap();
        assert_eq!(whole.scale().unwrap().alone, scale.alone);
        assert_eq!(order(&whole), [1, 2, 3, 1]);
    }
}

#[test]
fn stopped_interleaved_growths_each_keep_their_sizes() {
    for (sizes, expected) in [(0, [Some(vec![1]), None]), (3, [Some(vec![1, 2]), Some(vec![1])])] {
        let root = tempfile::tempdir().unwrap();
        let growing = Growing { each: ScaleEach::Run, ..Growing::new(Shape::Linear, &[1, 2, 3]) };
        let both = [&growing, &growing].map(|growing| growing.side(root.path()));
        let (_, watched) = Watched::by(|interrupter| {
            if sizes == 0 {
                interrupter.interrupt();
            }
            Impatient { sizes, in_the_next: false, interrupter, seen: Cell::new(0) }
        });
        let Watched { observer, interrupts, .. } = &watched;
        // In a tie, the first one is next.
        let next = |trials: &[Option<&SizedTrial>]| {
            let turns = trials
                .iter()
                .enumerate()
                .filter_map(|(at, trial)| Some(((*trial)?.size.nodes, at)));
            turns.min().map(|(_, at)| at)
        };
        let records =
            run_side_by_side(both.into(), Nanos::ZERO, observer, interrupts, next).unwrap();
        let kept = records.iter().map(|record| {
            let record = record.as_ref()?;
            assert_eq!(record.scale().unwrap().outcome, Some(ScaleOutcome::Interrupted));
            Some(order(record))
        });
        assert_eq!(kept.collect::<Vec<_>>(), expected);
        let stored = std::fs::read_dir(root.path()).unwrap().count();
        assert_eq!(stored, records.iter().flatten().count());
    }
}

/// A user who holds the search of the first size after its first probe, and resumes it at once.
struct Patient {
    interrupter: Interrupter,
    has_waited: Cell<bool>,
}

impl Observer for Patient {
    fn event(&self, event: &Event) {
        match event {
            Event::Probed(_) if !self.has_waited.replace(true) => self.interrupter.hold(true),
            Event::Part(Part::Paused) => self.interrupter.hold(false),
            _ => {}
        }
    }
}

#[test]
fn a_pause_within_a_size_is_in_the_record_of_the_growth() {
    let root = tempfile::tempdir().unwrap();
    let growing = Growing::new(Shape::Linear, &[1, 2]);
    let (_, watched) =
        Watched::by(|interrupter| Patient { interrupter, has_waited: Cell::new(false) });
    let whole = growing.grow_watched(root.path(), growing.scale(), &watched);
    let whole = whole.unwrap();
    let first = &whole.scale().unwrap().trials[0].run;
    let of_size = record::read(&root.path().join("growth").join(first)).unwrap();
    let of_size = of_size.into_experiment().unwrap().interventions;
    let [of_size] = &of_size[..] else {
        panic!("the search of the size waited once");
    };
    let [of_whole] = &whole.interventions[..] else {
        panic!("{:?}", whole.interventions);
    };
    assert_eq!(of_whole.change, of_size.change);
    assert!(of_whole.time_ns >= of_size.time_ns, "since the begin of the growth");
}
