//! Coverage of the intervals of a throughput and of its drift, on processes with known mean and
//! drift. For tests and for the table in `docs/concepts/accuracy.md`; not part of the program.

use std::ops::Range;

use highwater_model::numbers::{len_to_f64, to_f64, truncate_to_u64};
use highwater_model::plan::SteadinessRule;
use highwater_model::record::{Steadiness, WINDOW_NS};
use highwater_model::units::Nanos;

use super::throughput;
use crate::synthetic::{Noise, counts};

/// Mean stall and mean gap between stalls, seconds.
pub const STALLS: [[f64; 2]; 9] = [
    [0.1, 0.4],
    [0.1, 6.0],
    [0.5, 0.4],
    [0.5, 2.0],
    [0.5, 6.0],
    [1.0, 3.0],
    [2.0, 0.4],
    [2.0, 2.0],
    [2.0, 6.0],
];
/// The same for stalls and gaps with lognormal times.
pub const UNEVEN_STALLS: [[f64; 2]; 3] = [[0.5, 2.0], [1.0, 3.0], [2.0, 6.0]];
/// Number of windows in a minute.
const MINUTE: usize = 600;

/// Generates the counts per window.
type Draw = Box<dyn Fn(&mut Noise) -> Vec<u64>>;

/// A process whose mean and drift are known.
pub struct Process {
    /// Its description.
    pub name: String,
    /// The true mean per window.
    pub mean: f64,
    /// The true drift, percent of it.
    pub drift: f64,
    draw: Draw,
}

/// Results for the series of one process.
#[derive(Debug)]
pub struct Level {
    /// Percent of the series that have an interval of the mean.
    pub known: f64,
    /// Percent of those whose interval misses the true mean.
    pub misses: f64,
    /// Percent of those whose interval lies below it.
    pub too_low: f64,
    /// Percent of the series that have an interval of the drift.
    pub tested: f64,
    /// Percent of those whose interval misses the true drift.
    pub drift_misses: f64,
    /// Percent of all series judged as steady.
    pub steady: f64,
    /// Percent of all series judged as not steady.
    pub not_steady: f64,
}

impl Process {
    /// Without drift.
    pub fn new(name: String, mean: f64, draw: impl Fn(&mut Noise) -> Vec<u64> + 'static) -> Self {
        Self { name, mean, drift: 0.0, draw: Box::new(draw) }
    }

    /// A target that stalls repeatedly for a minute; stalls and gaps are exponential with these
    /// means, seconds.
    pub fn stalling(stall: f64, gap: f64) -> Self {
        let mean = 100.0 * gap / (gap + stall);
        let name = format!("stalls of {stall} s after {gap} s");
        Self::new(name, mean, move |noise| noise.stalls(stall, gap, MINUTE))
    }

    /// The same with lognormal times: some stalls and gaps are much longer than all others.
    pub fn stalling_unevenly(stall: f64, gap: f64) -> Self {
        let mean = 100.0 * gap / (gap + stall);
        let name = format!("stalls of {stall} s after {gap} s, both lognormal");
        Self::new(name, mean, move |noise| noise.lognormal_stalls(stall, gap, MINUTE))
    }

    /// Counts that are correlated with their predecessors.
    pub fn autoregression(phi: f64, windows: usize) -> Self {
        let name = format!("each like the one before, φ = {phi}, {} s", windows / 10);
        Self::new(name, 1_000.0, move |noise| {
            counts(&noise.autoregression(phi, windows), 1_000.0, 50.0)
        })
    }

    /// Independent counts.
    pub fn poisson(mean: f64, windows: usize) -> Self {
        let name = format!("Poisson, {mean} in a window, {} s", windows / 10);
        Self::new(name, mean, move |noise| (0..windows).map(|_| noise.poisson(mean)).collect())
    }

    /// Half of the variance is independent noise, which hides the slow half from short lags.
    pub fn hidden(phi: f64, windows: usize) -> Self {
        let name = format!("noise over φ = {phi}, {} s", windows / 10);
        Self::new(name, 1_000.0, move |noise| {
            let slow = noise.autoregression(phi, windows);
            let both: Vec<f64> = slow.iter().map(|value| value + noise.normal()).collect();
            counts(&both, 1_000.0, 30.0)
        })
    }

    /// The same plus a linear drift of this percentage.
    #[must_use]
    pub fn drifting(self, percent: f64) -> Self {
        let draw = self.draw;
        Self {
            name: format!("{}, drift {percent}%", self.name),
            drift: percent,
            draw: Box::new(move |noise| {
                let series = draw(noise);
                let length = len_to_f64(series.len());
                let mut place = 0.5;
                let moved = series.into_iter().map(|count| {
                    let line = 1.0 + percent / 100.0 * (place / length - 0.5);
                    place += 1.0;
                    truncate_to_u64(to_f64(count) * line + 0.5)
                });
                moved.collect()
            }),
            ..self
        }
    }

    /// Generates series from seeds, and compares their intervals with the true values.
    pub fn level(&self, seeds: Range<u64>) -> Level {
        let all = to_f64(seeds.end - seeds.start);
        let [mut known, mut misses, mut too_low] = [0.0; 3];
        let [mut tested, mut drift_misses] = [0.0; 2];
        let [mut steady, mut not_steady] = [0.0; 2];
        let outside =
            |truth: f64, (low, high): (f64, f64)| f64::from(u8::from(truth < low || truth > high));
        let window = Nanos(WINDOW_NS);
        for seed in seeds {
            let found = throughput(&(self.draw)(&mut Noise::new(seed)), window);
            if let Some(interval) = found.ci95 {
                known += 1.0;
                let truth = self.mean / window.as_secs_f64();
                misses += outside(truth, interval);
                too_low += f64::from(u8::from(interval.1 < truth));
            }
            if let Some(found) = found.drift {
                tested += 1.0;
                drift_misses += outside(self.drift, found.ci95);
                match found.steadiness(SteadinessRule::default()) {
                    Steadiness::Steady => steady += 1.0,
                    Steadiness::NotSteady => not_steady += 1.0,
                    Steadiness::NotShown | Steadiness::NotTested => {}
                }
            }
        }
        Level {
            known: 100.0 * known / all,
            misses: 100.0 * misses / known,
            too_low: 100.0 * too_low / known,
            tested: 100.0 * tested / all,
            drift_misses: 100.0 * drift_misses / tested,
            steady: 100.0 * steady / all,
            not_steady: 100.0 * not_steady / all,
        }
    }
}

/// The processes of the table: runs of a minute.
pub fn documented() -> Vec<Process> {
    let mut all = vec![
        Process::poisson(5.0, MINUTE),
        Process::autoregression(0.0, MINUTE),
        Process::autoregression(0.6, MINUTE),
        Process::autoregression(0.9, MINUTE),
        Process::hidden(0.9, MINUTE),
    ];
    all.extend(STALLS.map(|[stall, gap]| Process::stalling(stall, gap)));
    all.extend(UNEVEN_STALLS.map(|[stall, gap]| Process::stalling_unevenly(stall, gap)));
    all
}

/// Drifts of the table.
pub fn documented_drifts() -> Vec<Process> {
    let steady = |percent| Process::autoregression(0.6, MINUTE).drifting(percent);
    let stalling = |percent| Process::stalling(1.6, 4.0).drifting(percent);
    vec![
        steady(0.0),
        steady(5.0),
        steady(10.0),
        steady(20.0),
        stalling(0.0),
        stalling(20.0),
        stalling(40.0),
    ]
}
