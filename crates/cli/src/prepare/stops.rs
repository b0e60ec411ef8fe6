//! Signals of the operating system as stop requests. A process has one signal handler; each run or experiment in it has
//! its own stop requests, to which signals are forwarded. Must not stop anything.

use std::sync::{Mutex, MutexGuard, PoisonError};

use highwater_driver::interrupts::{self, Interrupter, Interrupts};
use highwater_model::user_error::UserError;

/// Further signals do not make a stop more urgent.
const URGENT: u32 = 2;

static SIGNALS: Mutex<Signals> = Mutex::new(Signals::new());

/// Interrupts (Ctrl-C) and requests to end (SIGTERM) of this process, and their receivers.
struct Signals {
    is_listening: bool,
    /// Number of signals, at most [`URGENT`].
    arrived: u32,
    /// Senders of runs and experiments that may still be running.
    interrupters: Vec<Interrupter>,
}

/// Stop requests of a run or an experiment, and the sender for other sources of them.
pub struct Stops {
    /// Sends a stop request.
    pub interrupter: Interrupter,
    /// Receives stop requests.
    pub interrupts: Interrupts,
}

/// Interrupts (Ctrl-C) and requests to end (SIGTERM) as stop requests of the run.
pub fn signals() -> Result<Interrupts, UserError> {
    Ok(stops()?.interrupts)
}

/// As [`signals`], with both ends. A request by one sender reaches no other run of this process, but a signal reaches
/// all of them, including those that begin after it.
pub fn stops() -> Result<Stops, UserError> {
    let mut signals = all();
    if !signals.is_listening {
        ctrlc::set_handler(|| all().arrive())
            .map_err(|error| UserError::usage(format!("cannot listen for interrupts: {error}")))?;
        signals.is_listening = true;
    }
    Ok(signals.open())
}

fn all() -> MutexGuard<'static, Signals> {
    SIGNALS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Signals {
    const fn new() -> Self {
        Self { is_listening: false, arrived: 0, interrupters: Vec::new() }
    }

    fn open(&mut self) -> Stops {
        let (interrupter, interrupts) = interrupts::channel();
        (0..self.arrived).for_each(|_| interrupter.interrupt());
        self.interrupters.retain(|other| !other.is_closed());
        self.interrupters.push(interrupter.clone());
        Stops { interrupter, interrupts }
    }

    fn arrive(&mut self) {
        self.arrived = (self.arrived + 1).min(URGENT);
        self.interrupters.iter().for_each(Interrupter::interrupt);
    }
}

#[cfg(test)]
mod tests {
    use highwater_driver::interrupts::StopRequest::{Stop, StopAtOnce};

    use super::*;

    #[test]
    fn a_signal_reaches_every_run_of_the_process_and_a_stop_only_its_own() {
        let mut signals = Signals::new();
        let (first, second) = (signals.open(), signals.open());
        first.interrupter.interrupt();
        assert_eq!(first.interrupts.requested(), Some(Stop));
        assert_eq!(second.interrupts.requested(), None);
        signals.arrive();
        assert_eq!(first.interrupts.requested(), Some(StopAtOnce));
        assert_eq!(second.interrupts.requested(), Some(Stop));
        let later = signals.open();
        assert_eq!(later.interrupts.requested(), Some(Stop));
    }

    #[test]
    fn what_has_ended_is_forgotten_and_signals_are_counted_up_to_the_most_urgent() {
        let mut signals = Signals::new();
        for _ in 0..10 {
            drop(signals.open());
            signals.arrive();
        }
        let last = signals.open();
        assert_eq!(last.interrupts.requested(), Some(StopAtOnce));
        assert_eq!((signals.interrupters.len(), signals.arrived), (1, URGENT));
    }
}
