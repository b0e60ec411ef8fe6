//! Stores the reports of a run or an experiment in its directory, in addition to its observer. Must not change them.

use std::cell::RefCell;
use std::rc::Rc;

use highwater_model::event::Event;
use highwater_model::target_telemetry::TelemetryPoint;

use crate::observer::{Observer, Observers};
use crate::store::{ReportFile, Reported, RunDirectory};
use highwater_driver::clock::wall_clock;

/// Writes events to a file.
struct Kept(RefCell<ReportFile>);

impl Kept {
    fn append(&self, reported: &Reported) {
        self.0.borrow_mut().append(wall_clock(), reported);
    }
}

impl Observer for Kept {
    fn event(&self, event: &Event) {
        self.append(&Reported::Event(Box::new(event.clone())));
    }

    fn telemetry(&self, point: &dyn Fn() -> TelemetryPoint) {
        self.append(&Reported::Telemetry(point()));
    }
}

/// Forwards events to an observer, and stores them for other processes until it is dropped.
pub fn kept_in(directory: &RunDirectory, observer: Rc<dyn Observer>) -> Rc<dyn Observer> {
    let kept = Kept(RefCell::new(directory.reports()));
    Rc::new(Observers(vec![observer, Rc::new(kept)]))
}
