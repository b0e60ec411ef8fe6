//! Keys of a workload that writes the same ones again and again: which key the n-th row has.
//!
//! After the original of the workload `kv`: numbers in a sequence, which may begin again, become keys.
//! Where the original hashes a number with SHA-1, ours is the bijection of [`Draws::word`], so that
//! different numbers never meet.

use serde::Serialize;

use super::distribution::PowerLaw;
use super::random::Draws;

/// How keys follow each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct KeyShape {
    pub(super) order: KeyOrder,
    /// Numbers begin again after so many; 0 for no end.
    pub(super) cycle: u64,
    /// Rows at the beginning whose keys are all different.
    pub(super) different: u64,
    /// So many neighbors never have the same key, so that one statement can write them; at least 1.
    pub(super) apart: u64,
}

/// What key a number becomes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum KeyOrder {
    /// Any of 64 bits.
    Hash,
    /// The number itself.
    Sequential,
    /// Small numbers often: one of the ranks of a power law.
    Zipfian(PowerLaw),
}

impl KeyShape {
    /// The key of row `row`.
    pub(super) fn key(&self, draws: &Draws, row: u64) -> i64 {
        let number = match self.cycle {
            0 => row,
            cycle => row % cycle,
        };
        match self.order {
            KeyOrder::Hash => draws.word(number).cast_signed(),
            KeyOrder::Sequential => whole(number),
            KeyOrder::Zipfian(_) if row < self.different => whole(row),
            KeyOrder::Zipfian(law) => {
                // One of `apart` kinds of keys for each of `apart` neighbors.
                let rank = law.rank(draws, number);
                whole(
                    rank.saturating_mul(self.apart)
                        .saturating_add(row % self.apart),
                )
            }
        }
    }

    /// Only zipfian keys depend on the rows that are loaded and on the rows of an op.
    pub(super) fn leave_out_what_changes_no_key(&mut self) {
        if !matches!(self.order, KeyOrder::Zipfian(_)) {
            self.different = 0;
            self.apart = 1;
        }
    }

    /// Whether no key ever comes twice.
    pub(super) fn never_repeats(&self) -> bool {
        self.cycle == 0 && !matches!(self.order, KeyOrder::Zipfian(_))
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
