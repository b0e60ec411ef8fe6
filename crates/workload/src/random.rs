//! Counter-based randomness: the n-th number is a function of a key and n, in O(1).
//!
//! The generator is SplitMix64 as published by Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014: a Weyl sequence `state + n·gamma` through a 64-bit finalizer. Its n-th output needs no predecessor, so
//! any row can be generated from its index. Keys differ in state and in gamma, like in the paper's `split`.
//!
//! Only integer operations and exactly rounded floating-point ones are used, so every machine generates the same
//! numbers.

use highwater_model::units::Seed;

/// The odd integer nearest to 2⁶⁴/φ: the paper's default gamma.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// 2⁻⁵³: the distance of neighbors in [`Draws::unit`].
const UNIT_STEP: f64 = 1.0 / 9_007_199_254_740_992.0;

/// The random numbers of one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draws {
    state: u64,
    /// Odd.
    gamma: u64,
}

impl Draws {
    /// The random numbers of a seed and a path of names, such as table and column.
    pub fn of(seed: Seed, path: &[&str]) -> Self {
        let mut key = mix(seed.0.wrapping_add(GOLDEN_GAMMA));
        for name in path {
            for chunk in name.as_bytes().chunks(8) {
                let mut word = [0_u8; 8];
                for (to, from) in word.iter_mut().zip(chunk) {
                    *to = *from;
                }
                key = mix(key.wrapping_add(GOLDEN_GAMMA) ^ u64::from_le_bytes(word));
            }
            // The length ends the name: ("ab", "c") and ("a", "bc") are different paths.
            let length = u64::try_from(name.len()).unwrap_or(u64::MAX);
            key = mix(key.wrapping_add(GOLDEN_GAMMA) ^ length);
        }
        Self { state: mix(key), gamma: mix_gamma(key.wrapping_add(GOLDEN_GAMMA)) }
    }

    /// The n-th 64 bits.
    #[inline]
    pub fn word(&self, n: u64) -> u64 {
        mix(self.weyl(n))
    }

    /// The input of the finalizer for the n-th number; add [`Draws::stride`] for the next.
    #[inline]
    pub fn weyl(&self, n: u64) -> u64 {
        self.state.wrapping_add(n.wrapping_add(1).wrapping_mul(self.gamma))
    }

    /// The distance between neighbors of [`Draws::weyl`].
    #[inline]
    pub fn stride(&self) -> u64 {
        self.gamma
    }

    /// The n-th number, uniform on [0, 1).
    #[inline]
    pub fn unit(&self, n: u64) -> f64 {
        unit_of(self.word(n))
    }

    /// The n-th number, uniform on 0..bound (its bias is below bound / 2⁶⁴); 0 for bound 0.
    #[inline]
    pub fn below(&self, n: u64, bound: u64) -> u64 {
        let wide = u128::from(self.word(n)) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// The n-th number, nearly normal with mean 0 and deviation 1, always within ±6: the sum of twelve uniform numbers
    /// minus 6 (Irwin–Hall). Uses no logarithm, whose last bit would differ between machines.
    pub fn normal(&self, n: u64) -> f64 {
        let sum: u32 =
            (0..3).map(|part| sum_of_parts(self.word(n.wrapping_mul(3).wrapping_add(part)))).sum();
        // Each 16-bit part represents (part + ½) / 65,536.
        (f64::from(sum) + 6.0) / 65_536.0 - 6.0
    }
}

/// The finalizer: a bijection of 64 bits (the paper's mix64, variant 13 by Stafford).
#[inline]
pub fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The paper's choice of a gamma: odd, with enough transitions between neighboring bits.
fn mix_gamma(word: u64) -> u64 {
    let word = (word ^ (word >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let word = (word ^ (word >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    let word = (word ^ (word >> 33)) | 1;
    if (word ^ (word >> 1)).count_ones() < 24 { word ^ 0xaaaa_aaaa_aaaa_aaaa } else { word }
}

/// 64 random bits as a number uniform on [0, 1).
#[inline]
#[expect(clippy::cast_precision_loss, reason = "53 bits fit a double exactly")]
pub fn unit_of(word: u64) -> f64 {
    (word >> 11) as f64 * UNIT_STEP
}

/// The sum of a word's four 16-bit parts.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "four 16-bit numbers")]
pub fn sum_of_parts(word: u64) -> u32 {
    let pairs = (word & 0x0000_ffff_0000_ffff) + ((word >> 16) & 0x0000_ffff_0000_ffff);
    ((pairs & 0xffff_ffff) + (pairs >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        // First outputs of SplitMix64 for seed 1234567 and the golden gamma.
        let draws = Draws { state: 1_234_567, gamma: GOLDEN_GAMMA };
        let words: Vec<u64> = (0..5).map(|n| draws.word(n)).collect();
        assert_eq!(
            words,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }

    #[test]
    fn weyl_and_stride_walk_through_the_same_sequence() {
        let draws = Draws::of(Seed(1), &["a"]);
        let next = draws.weyl(41).wrapping_add(draws.stride());
        assert_eq!(mix(next), draws.word(42));
    }

    #[test]
    fn seed_names_and_their_borders_make_different_keys() {
        let keys = [
            Draws::of(Seed(1), &["ab", "c"]),
            Draws::of(Seed(1), &["a", "bc"]),
            Draws::of(Seed(1), &["abc"]),
            Draws::of(Seed(1), &["abc", ""]),
            Draws::of(Seed(2), &["abc"]),
        ];
        for (position, key) in keys.iter().enumerate() {
            assert!(!keys[..position].contains(key), "{position}");
        }
    }

    #[test]
    fn parts_of_a_word_are_added() {
        assert_eq!(sum_of_parts(0x0001_0002_0003_0004), 10);
        assert_eq!(sum_of_parts(u64::MAX), 4 * 65_535);
    }

    #[test]
    fn normal_numbers_have_mean_0_and_deviation_1() {
        let draws = Draws::of(Seed(7), &["normal"]);
        let numbers: Vec<f64> = (0..100_000).map(|n| draws.normal(n)).collect();
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.015, "mean {mean}");
        assert!((variance - 1.0).abs() < 0.02, "variance {variance}");
        assert!(numbers.iter().all(|x| x.abs() <= 6.0));
    }

    #[test]
    fn bounded_draws_cover_their_range_evenly() {
        let draws = Draws::of(Seed(7), &["below"]);
        let mut counts = [0_u32; 10];
        for n in 0..100_000 {
            counts[usize::try_from(draws.below(n, 10)).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
        assert_eq!(draws.below(0, 0), 0);
    }
}
