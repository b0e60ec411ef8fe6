//! Counters since a command began, over all its runs: they only grow, as those who scrape them expect.

use highwater_model::event::{LATENCY_BOUNDS_NS, SecondProgress, StreamProgress};
use highwater_model::plan::Unit;

/// Streams that are told apart; more than any plan has.
const STREAMS_MAX: usize = 64;

/// What was counted so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// By stream, in the order in which they were first seen.
    pub streams: Vec<StreamTotals>,
}

/// Counters of a stream, and its state in the last second.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamTotals {
    /// Its name.
    pub stream: String,
    /// What it counts in.
    pub unit: Unit,
    /// Ops that were due.
    pub offered: u64,
    /// Ops that were sent.
    pub sent: u64,
    /// Ops that were given up.
    pub dropped: u64,
    /// Ops that were acknowledged.
    pub acknowledged: u64,
    /// Rows that were acknowledged.
    pub rows_acknowledged: u64,
    /// Rows that the target said it did not store.
    pub rows_refused: u64,
    /// Ops that were rejected for lack of capacity.
    pub rejected: u64,
    /// Ops that failed otherwise.
    pub failed_otherwise: u64,
    /// Ops up to each of [`LATENCY_BOUNDS_NS`], and all of them.
    pub latency_up_to: [u64; LATENCY_BOUNDS_NS.len() + 1],
    /// Latencies of those that ended, added up, in nanoseconds.
    pub latency_sum_ns: u128,
    /// Units per second that were offered in the last second; absent in closed load.
    pub offered_per_s: Option<f64>,
}

impl Totals {
    /// Adds a second.
    pub(super) fn add(&mut self, second: &SecondProgress) {
        for stream in &second.streams {
            if let Some(totals) = self.of(stream) {
                totals.add(stream);
            }
        }
    }

    fn of(&mut self, stream: &StreamProgress) -> Option<&mut StreamTotals> {
        let mut named = self.streams.iter();
        let place = named.position(|totals| totals.stream == stream.stream);
        if place.is_none() && self.streams.len() < STREAMS_MAX {
            self.streams.push(StreamTotals::new(stream));
        }
        match place {
            Some(place) => self.streams.get_mut(place),
            None => self
                .streams
                .last_mut()
                .filter(|last| last.stream == stream.stream),
        }
    }
}

impl StreamTotals {
    fn new(stream: &StreamProgress) -> Self {
        Self {
            stream: stream.stream.clone(),
            unit: stream.unit,
            offered: 0,
            sent: 0,
            dropped: 0,
            acknowledged: 0,
            rows_acknowledged: 0,
            rows_refused: 0,
            rejected: 0,
            failed_otherwise: 0,
            latency_up_to: [0; LATENCY_BOUNDS_NS.len() + 1],
            latency_sum_ns: 0,
            offered_per_s: None,
        }
    }

    fn add(&mut self, second: &StreamProgress) {
        let counts = &second.counts;
        self.offered += counts.offered;
        self.sent += counts.sent;
        self.dropped += counts.dropped;
        self.acknowledged += counts.acknowledged;
        self.rows_acknowledged += counts.rows_acknowledged;
        self.rows_refused += counts.rows_refused;
        self.rejected += second.rejected;
        self.failed_otherwise += second.errors.saturating_sub(second.rejected);
        for (sum, more) in self.latency_up_to.iter_mut().zip(&counts.latency_up_to) {
            *sum += more;
        }
        self.latency_sum_ns += u128::from(counts.latency_sum_ns);
        self.offered_per_s = second.offered_per_s;
    }
}
