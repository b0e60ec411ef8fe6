//! The pages of runs in a real browser, from files, with the network off.
//!
//! Debian's `chromium` is driven over its DevTools protocol. Where there is none the tests say so
//! and do nothing, but in CI, where it must be there.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]
#![expect(clippy::print_stderr, reason = "a test that does nothing says why")]

mod chromium;
mod pages;
mod reading;
mod taking;
