//! Backends whose client disconnected but that may still process requests left in their sockets. Must not query the
//! server.
//!
//! A server lists such a backend as idle until it reads the bytes, so "nothing is running" does not imply that nothing
//! more will be written.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of backends kept; beyond that, the lowest ids are dropped.
const BACKENDS_MAX: usize = 65_536;

/// Ids of one server's backends, as the server lists them, from the end of Highwater's connection until they are gone.
#[derive(Debug, Default)]
pub struct LingeringBackends(Mutex<BTreeSet<i64>>);

impl LingeringBackends {
    /// Adds the backend of a connection that has ended.
    pub fn add(&self, backend: i64) {
        let mut listed = self.listed();
        listed.insert(backend);
        if listed.len() > BACKENDS_MAX {
            listed.pop_first();
        }
    }

    /// These backends are gone, or their ids belong to new connections.
    pub fn forget(&self, backends: &[i64]) {
        self.listed().retain(|backend| !backends.contains(backend));
    }

    /// All backends that were not forgotten.
    pub fn list(&self) -> Vec<i64> {
        self.listed().iter().copied().collect()
    }

    fn listed(&self) -> MutexGuard<'_, BTreeSet<i64>> {
        // A set of numbers stays consistent whatever happened to the thread that held the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request in flight; runs a function if it is abandoned before it has ended.
pub struct UnderWay<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> UnderWay<F> {
    /// The request begins.
    pub fn new(abandoned: F) -> Self {
        Self(Some(abandoned))
    }

    /// The request was answered.
    pub fn ended(mut self) {
        self.0 = None;
    }
}

impl<F: FnOnce()> Drop for UnderWay<F> {
    fn drop(&mut self) {
        if let Some(abandoned) = self.0.take() {
            abandoned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backends_are_listed_until_they_are_forgotten_and_bounded() {
        let lingering = LingeringBackends::default();
        lingering.add(7);
        lingering.add(8);
        lingering.forget(&[7]);
        assert_eq!(lingering.list(), [8]);
        for backend in 0..70_000 {
            lingering.add(backend);
        }
        assert_eq!(lingering.list().len(), BACKENDS_MAX);
    }
}
