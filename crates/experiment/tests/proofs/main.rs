//! The guarantees of searches, tunings, growths, and groups, proved with complete ones against a simulated cluster
//! whose behavior is known in closed form. A single program, so that it is linked once.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

#[path = "../../../runner/tests/independent/mod.rs"]
mod independent;
#[path = "../../../runner/tests/support/mod.rs"]
mod support;

mod groups;
mod growths;
mod hunting;
mod making;
mod marks;
mod pausing;
mod searches;
mod tunings;
mod wide;
