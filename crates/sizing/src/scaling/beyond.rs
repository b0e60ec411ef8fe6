//! Growth from the measured sizes to any larger one: up to twice the largest size with an interval, and beyond it as
//! the method would continue if each doubling were measured in turn.
//!
//! A plan far beyond the measured sizes therefore stays the same as long as new measurements equal their predictions.
//! Must not weight models.

use std::sync::{Arc, OnceLock};

use super::average::{Average, PooledGrowth};
use super::forecast::{Forecast, known};
use super::sweep::Sweep;

/// The range of proven predictions, as a multiple of the largest measured size: all models fit the measurements, and
/// diverge beyond this range.
const FARTHEST: f64 = 2.0;
/// The size from which no further doublings are computed, and the gain of a doubling below which none are.
const END: f64 = 1e4;
const GAIN: f64 = 1.01;

/// The source of predictions.
#[derive(Debug, Clone)]
enum Source {
    /// Several sizes, and the models fitted to them.
    Measured(Average),
    /// The pooled growth of published clusters, starting from the measured sizes.
    Assumed(PooledGrowth),
}

/// How throughput grows.
#[derive(Debug, Clone)]
pub struct Growth {
    source: Source,
    /// The growths after the next size is measured; computed once for all clones.
    next: [Arc<OnceLock<Self>>; 3],
    /// The medians at the largest measured size and at the farthest proven one, likewise.
    ends: Arc<OnceLock<[f64; 2]>>,
}

/// The assumed result of the next size, twice the largest measured one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextSize {
    /// The lower end of its 90% interval.
    Low,
    /// The expected value.
    Expected,
    /// The upper end.
    High,
}

impl Growth {
    /// Growth according to these models.
    pub fn measured(average: Average) -> Self {
        Self { source: Source::Measured(average), next: Default::default(), ends: Arc::default() }
    }

    /// Growth like that of published clusters.
    pub fn assumed(pooled: PooledGrowth) -> Self {
        Self { source: Source::Assumed(pooled), next: Default::default(), ends: Arc::default() }
    }

    /// The prediction of a new measurement at a size from 1. Beyond [`Self::farthest`] nothing is proven: the interval
    /// keeps its width there, around the median that follows if each doubling meets its expected value.
    pub fn forecast(&self, size: f64) -> Forecast {
        let farthest = self.farthest();
        if size <= farthest {
            return self.proven(size);
        }
        let width = self.proven(farthest);
        width.scaled(known(self.beyond(size, 0.0) / width.prediction().expected))
    }

    fn proven(&self, size: f64) -> Forecast {
        match &self.source {
            Source::Measured(average) => average.forecast(size),
            Source::Assumed(pooled) => pooled.forecast(size),
        }
    }

    /// The median beyond the farthest proven size, at least this value; between doublings, a line in the logarithms. It
    /// never decreases.
    fn beyond(&self, size: f64, least: f64) -> f64 {
        let grown = self.with_next(NextSize::Expected);
        let (from, to) = (grown.largest(), grown.farthest());
        let median = |size| grown.proven(size).prediction().expected;
        let [at_from, at_to] = *grown.ends.get_or_init(|| [median(from), median(to)]);
        let at_from = at_from.max(least);
        let at_to = at_to.max(at_from);
        if size <= to {
            let part = (size / from).ln() / (to / from).ln();
            return at_from * (at_to / at_from).powf(part);
        }
        if to > END || at_to < GAIN * at_from {
            return at_to;
        }
        grown.beyond(size, at_to)
    }

    /// The same after the next size was measured with this result: growth is then measured.
    pub fn with_next(&self, next: NextSize) -> &Self {
        self.next[next as usize].get_or_init(|| {
            let size = self.farthest();
            let predicted = self.proven(size).prediction();
            let per_s = match next {
                NextSize::Low => predicted.low,
                NextSize::Expected => predicted.expected,
                NextSize::High => predicted.high,
            };
            Self::measured(match &self.source {
                Source::Measured(average) => average.after(size, per_s),
                Source::Assumed(pooled) => Average::new(&pooled.sweep().with(size, per_s)),
            })
        })
    }

    /// The models, if growth was measured.
    pub const fn average(&self) -> Option<&Average> {
        match &self.source {
            Source::Measured(average) => Some(average),
            Source::Assumed(_) => None,
        }
    }

    /// The growth of published clusters, if it is assumed.
    pub const fn pooled(&self) -> Option<&PooledGrowth> {
        match &self.source {
            Source::Measured(_) => None,
            Source::Assumed(pooled) => Some(pooled),
        }
    }

    const fn sweep(&self) -> &Sweep {
        match &self.source {
            Source::Measured(average) => average.sweep(),
            Source::Assumed(pooled) => pooled.sweep(),
        }
    }

    /// Assumed relative standard deviation of a new measurement.
    pub fn error(&self) -> f64 {
        self.average().map_or_else(|| self.sweep().error(), |average| average.error)
    }

    /// The largest measured size.
    pub fn largest(&self) -> f64 {
        self.sweep().largest()
    }

    /// The largest size for which a prediction has an interval.
    pub fn farthest(&self) -> f64 {
        FARTHEST * self.largest()
    }
}
