//! `keys`: which key the n-th row has, where the same keys are written again and again.
//!
//! After the original of the workload `kv`: numbers in a sequence, which may begin again, become keys.
//! Where the original hashes a number with SHA-1, ours is the bijection of [`Draws::word`], so that
//! different numbers never meet.

use super::making::Make;
use crate::generators::distribution::PowerLaw;
use crate::generators::prelude::{ColumnType, Draws, Section, Serialize, Spec, specs};

/// The exponent and the offset of the original of the workload `kv`.
const S: f64 = 1.1;
const V: f64 = 1.0;

/// How keys follow each other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Keys {
    order: Order,
    /// Numbers begin again after so many; 0 for no end.
    cycle: u64,
    /// Rows at the beginning whose keys are all different.
    different: u64,
    /// So many neighbors never have the same key, so that one statement can write them; at least 1.
    apart: u64,
}

/// What key a number becomes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    /// Any of 64 bits.
    Hash,
    /// The number itself.
    Sequential,
    /// Small numbers often: one of the ranks of a power law.
    Zipfian(PowerLaw),
}

impl Keys {
    /// Only zipfian keys depend on the rows that are loaded and on the rows of an op.
    pub(crate) fn leave_out_what_changes_no_key(&mut self) {
        if !matches!(self.order, Order::Zipfian(_)) {
            self.different = 0;
            self.apart = 1;
        }
    }

    /// Whether no key ever comes twice.
    pub(crate) fn never_repeats(&self) -> bool {
        self.cycle == 0 && !matches!(self.order, Order::Zipfian(_))
    }
}

impl Make for Keys {
    const SPECS: &'static [Spec] = specs!(
        "keys", "the key of a row where the same keys come again: hash, sequential or zipfian",
        &[ColumnType::Bigint],
        ["order": Text; "cycle": Integer, "different": Integer, "apart": Integer, "s": Float, "v": Float];
    );

    fn read(of: &Section<'_>, _: &str, _: ColumnType) -> Option<Self> {
        let cycle = of.natural("cycle", 0, Some(0));
        let different = of.natural("different", 0, Some(0));
        let apart = of.natural("apart", 1, Some(1));
        let (s, v) = (of.float("s", Some(S)), of.float("v", Some(V)));
        // A rank becomes as many keys as there are neighbors to be kept apart.
        let zipfian = || {
            let last = i64::MAX.unsigned_abs() / apart - 1;
            let good = 1.0 < s && s <= 100.0 && (1.0..=1e15).contains(&v);
            let message = format!("`s` {s} and `v` {v} of {} make no power law", of.place);
            let hint = "`s` is above 1, at most 100, such as 1.1; `v` at least 1";
            of.check(good, message, hint);
            of.good(()).map(|()| Order::Zipfian(PowerLaw::new(s, v, last)))
        };
        let words = [("hash", 0), ("sequential", 1), ("zipfian", 2)];
        let order = match of.word("order", &words, None)? {
            0 => Order::Hash,
            1 => Order::Sequential,
            _ => zipfian()?,
        };
        let least = different.max(apart);
        let place = &of.place;
        of.check(
            cycle == 0 || cycle >= least,
            format!("keys of {place} begin again after {cycle}, and {least} must be different"),
            "a longer cycle, a smaller batch, or fewer rows beforehand",
        );
        of.good(Self { order, cycle, different, apart })
    }

    fn text(&self, draws: &Draws, n: u64) -> String {
        self.integer(draws, n).to_string()
    }

    /// The key of row `n`.
    fn integer(&self, draws: &Draws, row: u64) -> i64 {
        let number = match self.cycle {
            0 => row,
            cycle => row % cycle,
        };
        match self.order {
            Order::Hash => draws.word(number).cast_signed(),
            Order::Sequential => whole(number),
            Order::Zipfian(_) if row < self.different => whole(row),
            Order::Zipfian(law) => {
                // One of `apart` kinds of keys for each of `apart` neighbors.
                let rank = law.rank(draws, number).saturating_mul(self.apart);
                whole(rank.saturating_add(row % self.apart))
            }
        }
    }
}

fn whole(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
