//! Who is told what a run reports while it goes on. Observers cannot slow it: they are called about once a
//! second, beside the load, and return nothing.

use std::rc::Rc;

use highwater_model::event::Event;
use highwater_model::target_telemetry::TelemetryPoint;

/// Who is told.
pub trait Observer {
    /// Called once per event. It must not wait.
    fn event(&self, event: &Event);

    /// Called about once a second with what target and host said of themselves. It is no event: it is large, and in
    /// no log, so it is made only for those who want it.
    fn telemetry(&self, _point: &dyn Fn() -> TelemetryPoint) {}
}

/// Nobody.
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _event: &Event) {}
}

/// Several observers, each told of every event.
pub struct Observers(pub Vec<Rc<dyn Observer>>);

impl Observer for Observers {
    fn event(&self, event: &Event) {
        for observer in &self.0 {
            observer.event(event);
        }
    }

    fn telemetry(&self, point: &dyn Fn() -> TelemetryPoint) {
        for observer in &self.0 {
            observer.telemetry(point);
        }
    }
}
