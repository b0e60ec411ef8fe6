//! The pages of runs in a real browser, from files, with the network off.
//!
//! Debian's `chromium` is driven over its DevTools protocol. Where there is none the tests say so
//! and do nothing, but in CI, where it must be there.

mod chromium;
mod pages;
mod reading;
