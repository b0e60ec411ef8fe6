//! The run's time: the only place of the program that reads a clock.
//!
//! Two timelines behind one contract: the real one waits on a timer of the operating system
//! (finer than the executor's millisecond timers), the simulated one jumps to the next deadline
//! when nothing can move before it. Both share one heap of deadlines, so the same worker runs on
//! either.

mod heap;
mod real;
mod simulated;

pub(crate) use real::ClockReadings;
pub use real::{RealClock, RealTimeline, wall_clock};
pub use simulated::SimulatedTimeline;
