//! The run's time: the only module of the program that reads a clock.
//!
//! Two timelines share one contract and one heap of deadlines, so the same worker runs on either. The real one waits on
//! an operating-system timer (finer than the executor's millisecond timers); the simulated one jumps to the next
//! deadline when nothing else can run.

mod heap;
mod real;
mod simulated;

pub use real::ClockReadings;
pub use real::{RealClock, RealTimeline, wall_clock};
pub use simulated::SimulatedTimeline;
