//! The reports of a run as read from its files by another process: complete and in order.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use highwater_model::event::Event;
use highwater_model::target_telemetry::TelemetryPoint;
use highwater_model::units::Nanos;
use highwater_runner::record::ReportsSoFar;
use highwater_runner::request::Observer;
use highwater_runner::store::JournalReport;

use crate::support::{Job, one_node, open};

/// An observer that reads the files of its run after each event, as another process would.
#[derive(Default)]
struct Reader {
    observed: RefCell<Vec<JournalReport>>,
    read: RefCell<Vec<JournalReport>>,
    file: RefCell<Option<ReportsSoFar>>,
}

impl Reader {
    fn take(&self, of: JournalReport) {
        self.observed.borrow_mut().push(of);
        self.look();
    }

    fn look(&self) {
        if let Some(file) = self.file.borrow_mut().as_mut() {
            let read = file.read().into_iter();
            self.read.borrow_mut().extend(read.map(|(_, of)| of));
        }
    }
}

impl Observer for Reader {
    fn event(&self, event: &Event) {
        if let Event::Begun { directory, .. } = event {
            *self.file.borrow_mut() = Some(ReportsSoFar::new(Path::new(directory)));
        }
        self.take(JournalReport::Event(Box::new(event.clone())));
    }

    fn telemetry(&self, point: &dyn Fn() -> TelemetryPoint) {
        self.take(JournalReport::Telemetry(point()));
    }
}

fn job() -> Job {
    let mut job =
        Job::new(&one_node("cores=2&service=constant&request=5ms"), &[("insert", open(1_000))]);
    job.warm_up = Nanos::from_secs(2);
    job
}

#[test]
fn the_files_of_a_run_contain_all_reports_to_its_observer() {
    let reader = Rc::new(Reader::default());
    job().run_watched(Rc::clone(&reader) as Rc<dyn Observer>);
    // The file has been removed by now, but its last lines are still read.
    reader.look();
    let (observed, read) = (reader.observed.take(), reader.read.take());
    let is_second = |of: &&JournalReport| matches!(of, JournalReport::Event(event) if matches!(**event, Event::Second(_)));
    assert_eq!(observed.iter().filter(is_second).count(), 12);
    let is_telemetry = |of: &&JournalReport| matches!(of, JournalReport::Telemetry(_));
    assert!(observed.iter().filter(is_telemetry).count() > 5);
    let first = read.iter().zip(&observed).find(|(a, b)| a != b);
    assert_eq!((first, read.len()), (None, observed.len()));
}

/// A run's reports do not remain; a later reader sees its start and its end, once.
#[test]
fn of_a_run_that_has_ended_its_begin_and_its_end_are_seen() {
    let root = tempfile::tempdir().unwrap();
    let record = job().run_in(root.path()).record;
    let directory = root.path().join("test");
    assert!(!directory.join("reports.jsonl").exists());
    let mut reports = ReportsSoFar::new(&directory);
    let read: Vec<JournalReport> = reports.read().into_iter().map(|(_, of)| of).collect();
    let [JournalReport::Event(begun), JournalReport::Event(ended)] = &read[..] else {
        panic!("{read:?}");
    };
    let Event::Begun { workload, .. } = &**begun else {
        panic!("{begun:?}");
    };
    let Event::Ended { judgments, .. } = &**ended else {
        panic!("{ended:?}");
    };
    assert_eq!((workload.as_str(), judgments), ("cpu", &record.judgments));
    assert_eq!(reports.read(), []);
}
