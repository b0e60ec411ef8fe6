//! Seeded series with known properties, for the tests of the statistics. Not part of the program.

use std::ops::Range;

use highwater_model::numbers::{len_to_f64, round_to_u64, to_f64};
use highwater_workload::random::mix;
use statrs::distribution::{Beta, ContinuousCDF};

/// A small counter-based generator (SplitMix64; Steele, Lea & Flood 2014).
pub struct Noise(u64);

impl Noise {
    /// The generator of a seed.
    pub fn new(seed: u64) -> Self {
        // Scrambled, because consecutive states would give nearly the same series.
        Self(Self(seed).bits())
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Uniform in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        (to_f64(self.bits() >> 11) + 0.5) / to_f64(1 << 53)
    }

    /// Standard normal (Box & Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Exponential with the given rate.
    pub fn exponential(&mut self, rate: f64) -> f64 {
        -self.uniform().ln() / rate
    }

    /// Poisson, by counting arrivals.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        let (mut events, mut left) = (0, mean + self.uniform().ln());
        while left > 0.0 {
            events += 1;
            left += self.uniform().ln();
        }
        events
    }

    /// Counts per window of 100 ms, about 100 each, and 0 while the target stalls. Stalls and the gaps between them are
    /// exponential with these means, seconds, in steady state.
    pub fn stalls(&mut self, stall: f64, gap: f64, windows: usize) -> Vec<u64> {
        let lasts = |noise: &mut Self, mean: f64| noise.exponential(1.0 / mean);
        self.standing_still(stall, gap, windows, lasts)
    }

    /// The same with lognormal times, whose standard deviation is their mean: most are shorter, and some much longer.
    pub fn lognormal_stalls(&mut self, stall: f64, gap: f64, windows: usize) -> Vec<u64> {
        let of_log = 2_f64.ln();
        let lasts = |noise: &mut Self, mean: f64| {
            mean * (of_log.sqrt() * noise.normal() - of_log / 2.0).exp()
        };
        self.standing_still(stall, gap, windows, lasts)
    }

    fn standing_still(
        &mut self,
        stall: f64,
        gap: f64,
        windows: usize,
        lasts: impl Fn(&mut Self, f64) -> f64,
    ) -> Vec<u64> {
        let mut running = vec![0.0; windows];
        let end = len_to_f64(windows);
        let mut at = -100.0 * (stall + gap) * (1.0 + self.uniform());
        while at < end {
            let until = at + 10.0 * lasts(self, gap);
            for (window, part) in (0_u32..).map(f64::from).zip(&mut running) {
                *part += (until.min(window + 1.0) - at.max(window)).max(0.0);
            }
            at = until + 10.0 * lasts(self, stall);
        }
        let expected: Vec<f64> = running.iter().map(|part| 100.0 * part).collect();
        let noisy: Vec<f64> =
            expected.iter().map(|mean| mean + mean.sqrt() * self.normal()).collect();
        counts(&noisy, 0.0, 1.0)
    }

    /// A first-order autoregression of unit variance, in steady state from the start.
    pub fn autoregression(&mut self, phi: f64, length: usize) -> Vec<f64> {
        let scale = (1.0 - phi * phi).sqrt();
        let mut value = self.normal();
        (0..length)
            .map(|_| {
                let now = value;
                value = phi * value + scale * self.normal();
                now
            })
            .collect()
    }
}

/// Counts around a mean.
pub fn counts(series: &[f64], mean: f64, deviation: f64) -> Vec<u64> {
    let count = |value: &f64| round_to_u64(mean + deviation * value);
    series.iter().map(count).collect()
}

/// Seeds of this version: each version has different ones, so that nothing can be tuned to them.
pub fn seeds_of_version(number: u64) -> Range<u64> {
    let version = env!("CARGO_PKG_VERSION").bytes();
    let first = version.fold(17, |seed: u64, byte| seed * 257 + u64::from(byte));
    first..first + number
}

/// 95% interval of a proportion (Clopper and Pearson 1934); `held` of `cases`, at least one.
pub fn proportion_interval(held: usize, cases: usize) -> [f64; 2] {
    let quantile = |successes: usize, failures: usize, at: f64| {
        Beta::new(len_to_f64(successes), len_to_f64(failures)).map(|beta| beta.inverse_cdf(at))
    };
    let missed = cases - held;
    [
        quantile(held, missed + 1, 0.025).unwrap_or(0.0),
        quantile(held + 1, missed, 0.975).unwrap_or(1.0),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proportion_has_the_interval_of_clopper_and_pearson() {
        // From tables: 20 of 22, and the rule of three for 0 of 30.
        let [low, high] = proportion_interval(20, 22);
        assert!((low - 0.708).abs() < 1e-3, "{low} {high}");
        assert!((high - 0.989).abs() < 1e-3, "{low} {high}");
        let [low, high] = proportion_interval(0, 30);
        assert!(low <= 0.0 && (high - 0.1157).abs() < 1e-3, "{low} {high}");
    }
}
