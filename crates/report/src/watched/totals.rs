//! Counters since a command began, over all its runs: they never decrease, as scrapers expect.

use highwater_model::event::{LATENCY_BOUNDS_NS, SecondProgress, StreamProgress};
use highwater_model::outcome::ErrorClass;
use highwater_model::plan::Unit;

/// Maximum number of streams that are counted separately; more than any plan has.
const STREAMS_MAX: usize = 64;

/// The counters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// By stream, in the order in which they were first seen.
    pub streams: Vec<StreamTotals>,
    /// Rows that audits found, of all runs that are over.
    pub rows_found: u64,
}

/// Counters of a stream, and its state in the last second.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StreamTotals {
    /// Its name.
    pub stream: String,
    /// The unit that it counts.
    pub unit: Unit,
    /// Ops that were intended.
    pub offered: u64,
    /// Ops that were sent.
    pub sent: u64,
    /// Ops that were dropped.
    pub dropped: u64,
    /// Ops that were acknowledged.
    pub acknowledged: u64,
    /// Rows that were acknowledged.
    pub rows_acknowledged: u64,
    /// Rows that the target reported as not stored.
    pub rows_refused: u64,
    /// Ops that failed, in the order of [`ErrorClass::ALL`].
    pub failed: [u64; ErrorClass::ALL.len()],
    /// Ops that failed without a class.
    pub failed_otherwise: u64,
    /// Latencies of the intended ops.
    pub latency: TimesTotal,
    /// Service times of the acknowledged ops.
    pub service: TimesTotal,
    /// Client lag of the completed ops.
    pub lag: TimesTotal,
    /// Units per second offered in the last second; absent in closed load.
    pub offered_per_s: Option<f64>,
}

/// Times in a histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TimesTotal {
    /// Ops up to each of [`LATENCY_BOUNDS_NS`], and all ops.
    pub up_to: [u64; LATENCY_BOUNDS_NS.len() + 1],
    /// Sum of the finite times, in nanoseconds.
    pub sum_ns: u128,
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
        let is_same = |totals: &StreamTotals| totals.stream == stream.stream;
        if !self.streams.iter().any(is_same) && self.streams.len() < STREAMS_MAX {
            self.streams.push(StreamTotals {
                stream: stream.stream.clone(),
                unit: stream.unit,
                ..StreamTotals::default()
            });
        }
        self.streams.iter_mut().find(|totals| is_same(totals))
    }
}

impl StreamTotals {
    fn add(&mut self, second: &StreamProgress) {
        let counts = &second.counts;
        self.offered += counts.offered;
        self.sent += counts.sent;
        self.dropped += counts.dropped;
        self.acknowledged += counts.acknowledged;
        self.rows_acknowledged += counts.rows_acknowledged;
        self.rows_refused += counts.rows_refused;
        for (sum, class) in self.failed.iter_mut().zip(ErrorClass::ALL) {
            *sum += counts.failed.get(&class).copied().unwrap_or(0);
        }
        let of_a_class = counts.failed.values().sum();
        self.failed_otherwise += second.errors.saturating_sub(of_a_class);
        self.latency.add(&counts.latency_up_to, counts.latency_sum_ns);
        self.service.add(&counts.service_up_to, counts.service_sum_ns);
        self.lag.add(&counts.lag_up_to, counts.lag_sum_ns);
        self.offered_per_s = second.offered_per_s;
    }
}

impl TimesTotal {
    fn add(&mut self, up_to: &[u64], sum_ns: u64) {
        for (sum, more) in self.up_to.iter_mut().zip(up_to) {
            *sum += more;
        }
        self.sum_ns += u128::from(sum_ns);
    }
}
