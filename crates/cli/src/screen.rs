//! Draws the progress a few times per second on a separate thread, so that a slow terminal delays only itself.
//!
//! Must not make the lines (`report` does) or write to the terminal (`terminal` does).

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use highwater_driver::clock::RealClock;
use highwater_model::units::Nanos;
use highwater_report::Live;

use crate::terminal;

/// Interval of drawings.
const PAUSE: Duration = Duration::from_millis(250);

/// Draws until it is dropped, which clears the block from the terminal.
#[derive(Debug)]
pub struct Screen {
    shared: Arc<Shared>,
    clock: RealClock,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    over: Condvar,
}

#[derive(Debug, Default)]
struct State {
    live: Live,
    is_over: bool,
}

impl Screen {
    /// Starts drawing; absent if stderr is not a suitable terminal.
    pub fn on_terminal() -> Option<Self> {
        terminal::size()?;
        let shared = Arc::new(Shared::default());
        let clock = RealClock::start();
        let shared_with_thread = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("screen".to_owned());
        let thread = thread.spawn(move || draw(&shared_with_thread, clock)).ok()?;
        Some(Self { shared, clock, thread: Some(thread) })
    }

    /// Changes the state; the next drawing shows it.
    pub fn note(&self, change: impl FnOnce(&mut Live, Nanos)) {
        change(&mut self.shared.lock().live, self.clock.now());
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.over.notify_all();
        if let Some(thread) = self.thread.take() {
            // After a panic, the thread no longer draws, which is enough here.
            let _ = thread.join();
        }
        terminal::block(&[]);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn draw(shared: &Shared, clock: RealClock) {
    let mut state = shared.lock();
    while !state.is_over {
        let live = state.live.clone();
        // A state change must not wait for the terminal.
        drop(state);
        if let Some((columns, rows)) = terminal::size() {
            terminal::block(&live.lines(clock.now(), columns, rows));
        }
        let wait = shared.over.wait_timeout_while(shared.lock(), PAUSE, |state| !state.is_over);
        state = wait.unwrap_or_else(PoisonError::into_inner).0;
    }
}
