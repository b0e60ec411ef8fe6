//! Who is told what a run reports while it goes on. Observers cannot slow it: they are called about once a
//! second, beside the load, and return nothing.

use std::rc::Rc;

use highwater_model::event::Event;

/// Who is told.
pub trait Observer {
    /// Called once per event. It must not wait.
    fn event(&self, event: &Event);
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
}
