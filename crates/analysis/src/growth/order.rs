//! Interleaves several growths, such as those of two versions of a database.
//!
//! All growths measure a size before any measures a larger one, in random order, so machine drift favors none. Must not
//! decide what a growth measures next.

use highwater_model::scale::ScalePurpose;
use highwater_workload::random::mix;

/// The next measurement of a growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Its purpose.
    pub purpose: ScalePurpose,
    /// Nodes of the size, or the number of the node measured alone.
    pub nodes: u32,
}

/// Position of the growth to run next; `None` if all are complete. Equal candidates are ordered by the seed.
pub fn chosen(next: &[Option<Candidate>], seed: u64) -> Option<usize> {
    let turns = next.iter().enumerate().filter_map(|(at, turn)| Some((at, (*turn)?)));
    let first = turns.min_by_key(|(at, turn)| {
        let stage: u64 = match turn.purpose {
            ScalePurpose::Alone => 0,
            ScalePurpose::First | ScalePurpose::Grow => 1,
            ScalePurpose::Again => 2,
        };
        let of_turn = mixed(mixed(seed ^ stage) ^ u64::from(turn.nodes));
        (stage, turn.nodes, mixed(of_turn ^ *at as u64))
    });
    first.map(|(at, _)| at)
}

/// The output function of SplitMix64: one bit more or less changes half of all bits.
fn mixed(value: u64) -> u64 {
    mix(value.wrapping_add(0x9e37_79b9_7f4a_7c15))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[expect(clippy::unnecessary_wraps, reason = "the sides that are over are none")]
    fn of(purpose: ScalePurpose, nodes: u32) -> Option<Candidate> {
        Some(Candidate { purpose, nodes })
    }

    #[test]
    fn the_smallest_size_comes_first_and_repeated_ones_last() {
        use ScalePurpose::{Again, Alone, First, Grow};
        for (next, expected) in [
            (vec![of(Grow, 3), of(Grow, 2)], Some(1)),
            (vec![of(Again, 1), of(Grow, 5)], Some(1)),
            (vec![of(First, 1), of(Alone, 9)], Some(1)),
            (vec![of(Again, 1), None], Some(0)),
            (vec![None, None], None),
        ] {
            assert_eq!(chosen(&next, 1), expected, "{next:?}");
        }
    }

    #[test]
    fn the_order_inside_a_size_is_random_and_comes_again() {
        let both = |nodes| [of(ScalePurpose::Grow, nodes); 2];
        let order = |seed| (1..=64).map(move |nodes| chosen(&both(nodes), seed));
        assert!(order(7).eq(order(7)));
        assert!(!order(7).eq(order(8)));
        // 64 fair coins show between 16 and 48 heads, except in 6 of 100,000 cases.
        let firsts = order(7).filter(|at| *at == Some(0)).count();
        assert!((16..=48).contains(&firsts), "{firsts}");
    }
}
