//! The pages of runs in a real browser, from files, with the network off.
//!
//! Debian's `chromium` is driven over its DevTools protocol. If it is not installed, the tests are skipped; CI requires
//! it. A long test also drives Firefox.

#![expect(clippy::unwrap_used, reason = "functions that only tests call")]

mod answering;
mod chromium;
mod firefox;
mod history;
mod page;
mod pages;
mod reading;
mod recorded;
mod taking;
mod watching;
