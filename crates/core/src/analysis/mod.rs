//! What a record means: statistics and judgements, as pure functions.

pub mod judge;

pub use judge::{Ended, exit_code, judge};
