//! The hash functions and the permutation of pgbench, with the same results as pgbench 15 has.

/// FNV-1a over the eight bytes of a number; the seed changes the offset basis.
pub(super) fn fnv1a(value: i64, seed: i64) -> i64 {
    let basis = 0xcbf2_9ce4_8422_2325_u64 ^ seed.cast_unsigned();
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    value.to_le_bytes().iter().fold(basis, step).cast_signed()
}

/// `MurmurHash64A` (Appleby) of one eight-byte number.
pub(super) fn murmur2(value: i64, seed: i64) -> i64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    let turn = |word: u64| word ^ (word >> 47);
    let word = turn(value.cast_unsigned().wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
    let hash = seed.cast_unsigned() ^ FACTOR.wrapping_mul(8);
    let hash = (hash ^ word).wrapping_mul(FACTOR);
    turn(turn(hash).wrapping_mul(FACTOR)).cast_signed()
}

/// The place of a value in a pseudorandom permutation of 0..`size`, by the rounds that pgbench has: in each the lower
/// half and the upper half of the range are multiplied, combined and rotated, and all is shifted.
pub(super) fn permute(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let mut words = Xoroshiro::new(seed.cast_unsigned());
    let size = size.cast_unsigned();
    let bits = size.ilog2();
    let mask = (1_u64 << bits) - 1;
    let mut place = value.cast_unsigned() % size;
    for _ in 0..6 {
        place = words.mixed(place, mask, bits);
        place = size - 1 - words.mixed(size - 1 - place, mask, bits);
        let shift = words.up_to(size - 1);
        // Both are below 2^63.
        place = (place + shift) % size;
    }
    place.cast_signed()
}

/// Xoroshiro128** (Blackman and Vigna) as pgbench seeds it.
struct Xoroshiro(u64, u64);

impl Xoroshiro {
    fn new(seed: u64) -> Self {
        const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
        let word = |n: u64| crate::random::mix(seed.wrapping_add(GAMMA.wrapping_mul(n)));
        Self(word(1), word(2))
    }

    fn next(&mut self) -> u64 {
        let (first, both) = (self.0, self.1 ^ self.0);
        self.0 = first.rotate_left(24) ^ both ^ (both << 16);
        self.1 = both.rotate_left(37);
        first.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    /// A number up to `last`, which is above 0, by rejection.
    fn up_to(&mut self, last: u64) -> u64 {
        let shift = last.leading_zeros();
        loop {
            let number = self.next() >> shift;
            if number <= last {
                return number;
            }
        }
    }

    /// A bijection of 0..=`mask`; greater numbers stay. Takes two words in either case.
    fn mixed(&mut self, number: u64, mask: u64, bits: u32) -> u64 {
        let factor = (self.next() & mask) | 1;
        let other = self.next() & mask;
        if number > mask {
            return number;
        }
        let number = (number.wrapping_mul(factor) ^ other) & mask;
        ((number << 1) & mask) | (number >> (bits - 1))
    }
}
