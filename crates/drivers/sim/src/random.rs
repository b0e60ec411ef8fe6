//! Random numbers as pure functions of a key: seed, purpose, and the identity of what they are for. Must not have
//! state, so that a number does not depend on the order of calls.

use highwater_model::units::Seed;

/// The increment of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014): 2⁶⁴ divided by the golden ratio, made odd.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The purpose of a random number; keys of different purposes never collide.
#[derive(Debug, Clone, Copy)]
pub(super) enum Purpose {
    /// Everything about one op: its place, its service times, its faults.
    Op = 1,
    /// Which rows are dropped.
    DroppedRow = 2,
    /// Which rows are stored twice.
    DuplicatedRow = 3,
    /// Which rows are stored with another value.
    AlteredRow = 4,
    /// Which pairs of rows are stored with a value swapped.
    SwappedPair = 5,
    /// Which pairs of rows are stored with two changes that offset each other.
    OffsetPair = 6,
}

/// A key, and the number that belongs to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct RandomKey(u64);

impl RandomKey {
    /// The root of all keys of one purpose.
    pub(super) fn new(seed: Seed, purpose: Purpose) -> Self {
        Self(seed.0).with(purpose as u64)
    }

    /// The key extended by a word. The mix is the finalizer of SplitMix64.
    pub(super) fn with(self, word: u64) -> Self {
        let mut z = self.0.wrapping_add(GOLDEN).wrapping_add(word.wrapping_mul(GOLDEN));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self(z ^ (z >> 31))
    }

    /// The key extended by a text.
    pub(super) fn with_text(self, text: &str) -> Self {
        text.bytes().fold(self, |key, byte| key.with(byte.into()))
    }

    /// Uniform in the open interval (0, 1): a multiple of 2⁻⁵³, offset by half of one from both ends.
    #[expect(
        clippy::cast_precision_loss,
        reason = "53 bits are exact in a double; that is why the others are shifted out"
    )]
    pub(super) fn uniform(self) -> f64 {
        ((self.with(0).0 >> 11) as f64 + 0.5) / 9_007_199_254_740_992.0
    }

    /// Uniform among the integers below `bound`, which is at least 1.
    pub(super) fn below(self, bound: u32) -> u32 {
        // The upper 32 bits times the bound, divided by 2³²: the bias is below bound / 2³².
        let scaled = (self.with(0).0 >> 32) * u64::from(bound);
        u32::try_from(scaled >> 32).unwrap_or(0)
    }

    /// True with this probability; never for 0, always for 1.
    pub(super) fn happens(self, probability: f64) -> bool {
        probability > 0.0 && self.uniform() < probability
    }

    /// Exponential with mean 1, by inversion.
    pub(super) fn exponential(self) -> f64 {
        -self.uniform().ln()
    }

    /// Lognormal with mean 1 and this coefficient of variation: exp(σz − σ²/2) with
    /// σ² = ln(1 + cv²) and z standard normal (Box and Muller, 1958).
    pub(super) fn lognormal(self, cv: f64) -> f64 {
        let variance = cv.mul_add(cv, 1.0).ln();
        let radius = (-2.0 * self.with(1).uniform().ln()).sqrt();
        let z = radius * (std::f64::consts::TAU * self.with(2).uniform()).cos();
        variance.sqrt().mul_add(z, -variance / 2.0).exp()
    }
}
