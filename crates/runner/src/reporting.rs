//! Keeps what a run or an experiment reports in its directory, besides telling its observer. It must not change it.

use std::cell::RefCell;
use std::rc::Rc;

use highwater_model::event::Event;
use highwater_model::target_telemetry::TelemetryPoint;

use crate::clock::wall_clock;
use crate::observer::{Observer, Observers};
use crate::store::{ReportFile, Reported, RunDirectory};

/// Writes down what it is told.
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

/// Tells an observer and those who look at a directory from elsewhere, until it is dropped.
pub fn kept_in(directory: &RunDirectory, observer: Rc<dyn Observer>) -> Rc<dyn Observer> {
    let kept = Kept(RefCell::new(directory.reports()));
    Rc::new(Observers(vec![observer, Rc::new(kept)]))
}
