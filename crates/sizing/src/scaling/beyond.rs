//! Growth from the measured sizes to any larger one: with an interval up to twice the largest, and beyond as the method
//! itself would continue if each doubling in turn were measured.
//!
//! A plan far beyond what was measured thus stays where it is as long as measurements equal what was expected of them.
//! Must not weigh models.

use std::sync::{Arc, OnceLock};

use super::average::{Average, PooledGrowth};
use super::forecast::{Forecast, known};
use super::sweep::Sweep;

/// How far predictions are proven, as a multiple of the largest measured size: every model fits what was measured, and
/// beyond this range they part.
const FARTHEST: f64 = 2.0;
/// The size from which there are no further doublings, and the gain of a doubling below which there are none.
const END: f64 = 1e4;
const GAIN: f64 = 1.01;

/// Where predictions come from.
#[derive(Debug, Clone)]
enum Source {
    /// Several sizes, and the models fitted to them.
    Measured(Average),
    /// The pooled growth of published clusters, from the sizes that there are.
    Assumed(PooledGrowth),
}

/// How throughput grows.
#[derive(Debug, Clone)]
pub struct Growth {
    source: Source,
    /// The growths once the next size was measured; computed once for all clones.
    next: [Arc<OnceLock<Self>>; 3],
}

/// What the next size, twice the largest measured one, turns out to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextSize {
    /// The lower end of its 90% interval.
    Low,
    /// What is expected.
    Expected,
    /// The upper end.
    High,
}

impl Growth {
    /// As these models say.
    pub fn measured(average: Average) -> Self {
        Self { source: Source::Measured(average), next: Default::default() }
    }

    /// As published clusters grew.
    pub fn assumed(pooled: PooledGrowth) -> Self {
        Self { source: Source::Assumed(pooled), next: Default::default() }
    }

    /// What a new measurement at a size from 1 would show. Beyond [`Self::farthest`] it is as wide as there, around the
    /// middle that follows if each doubling has what is then expected of it: nothing is proven.
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

    /// The middle beyond the farthest proven size, and at least this much: between doublings a line in the logarithms. It
    /// never falls.
    fn beyond(&self, size: f64, least: f64) -> f64 {
        let grown = self.with_next(NextSize::Expected);
        let (from, to) = (grown.largest(), grown.farthest());
        let at_from = grown.proven(from).prediction().expected.max(least);
        let at_to = grown.proven(to).prediction().expected.max(at_from);
        if size <= to {
            let part = (size / from).ln() / (to / from).ln();
            return at_from * (at_to / at_from).powf(part);
        }
        if to > END || at_to < GAIN * at_from {
            return at_to;
        }
        grown.beyond(size, at_to)
    }

    /// The same once the next size was measured, and has this.
    pub fn with_next(&self, next: NextSize) -> &Self {
        self.next[next as usize].get_or_init(|| {
            let size = self.farthest();
            let predicted = self.proven(size).prediction();
            let per_s = match next {
                NextSize::Low => predicted.low,
                NextSize::Expected => predicted.expected,
                NextSize::High => predicted.high,
            };
            match &self.source {
                Source::Measured(average) => Self::measured(average.after(size, per_s)),
                Source::Assumed(pooled) => Self::assumed(pooled.after(size, per_s)),
            }
        })
    }

    /// The models, where growth was measured.
    pub const fn average(&self) -> Option<&Average> {
        match &self.source {
            Source::Measured(average) => Some(average),
            Source::Assumed(_) => None,
        }
    }

    /// The growth of published clusters, where it is assumed.
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

    /// Relative standard deviation that a new measurement is taken to have.
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
