//! Seeded series with known properties, for the tests of the statistics. Never in the program.

/// A small counter-based generator (SplitMix64; Steele, Lea & Flood 2014).
pub struct Noise(u64);

impl Noise {
    /// The series of a seed.
    pub fn new(seed: u64) -> Self {
        // Scrambled, as consecutive states would give the same series but for one value.
        Self(Self(seed).bits())
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
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

    /// Number of successes.
    pub fn binomial(&mut self, trials: u64, probability: f64) -> u64 {
        (0..trials)
            .map(|_| u64::from(self.uniform() < probability))
            .sum()
    }

    /// A first-order autoregression of unit variance, begun in its steady state.
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
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive and small by choice of the arguments"
)]
pub fn counts(series: &[f64], mean: f64, deviation: f64) -> Vec<u64> {
    let count = |value: &f64| (mean + deviation * value).round().max(0.0) as u64;
    series.iter().map(count).collect()
}
