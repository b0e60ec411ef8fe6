//! Receivers of a running run's events. They cannot slow it: they are called about once a second, off the load path,
//! and return nothing.

use std::rc::Rc;

use highwater_model::event::Event;
use highwater_model::target_telemetry::TelemetryPoint;

/// Receives events.
pub trait Observer {
    /// Called once per event. It must not wait.
    fn event(&self, event: &Event);

    /// Called about once a second with telemetry of target and host. It is not an event, because it is large and not
    /// logged; it is built only for observers that call `point`.
    fn telemetry(&self, _point: &dyn Fn() -> TelemetryPoint) {}
}

/// Ignores all events.
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _event: &Event) {}
}

/// Several observers; each receives every event.
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
