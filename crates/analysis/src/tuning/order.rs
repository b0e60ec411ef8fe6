//! Orders by chance, from the seed alone.

use highwater_workload::random::mix;

/// A key of a configuration in one stage: sorted by it, configurations are in random order (SplitMix64; Steele, Lea &
/// Flood 2014).
pub(super) fn key(seed: u64, stage: u64, at: &[usize]) -> u64 {
    let parts = at.iter().map(|position| *position as u64);
    [stage].into_iter().chain(parts).fold(seed, |state, part| {
        let key = state ^ part.wrapping_mul(0xd6e8_feb8_6659_fd93);
        mix(key.wrapping_add(0x9e37_79b9_7f4a_7c15))
    })
}

/// Configurations in random order.
pub(super) fn shuffled(
    seed: u64,
    stage: u64,
    mut configurations: Vec<Vec<usize>>,
) -> Vec<Vec<usize>> {
    configurations.sort_by_key(|at| (key(seed, stage, at), at.clone()));
    configurations
}
