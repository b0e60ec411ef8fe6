//! What each op makes at one size after another, in rows: of a growth, and of a table of figures.
//!
//! It must not compute.

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::display::{foreign, percent_signed, rate};
use highwater_sizing::OpRate;

use crate::layout::{Row, or_absent};

/// Characters of an op's name.
const WORDS: usize = 40;

/// The head and a row for each size, whose name comes first; nothing where no op is named.
pub(crate) fn rows(
    axis: &str,
    sizes: impl IntoIterator<Item = String>,
    rates: &[BTreeMap<String, OpRate>],
) -> Vec<Row> {
    let names: BTreeSet<&String> = rates.iter().flat_map(BTreeMap::keys).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let mut head = vec![axis.to_owned()];
    for name in &names {
        let name = foreign(name, WORDS);
        head.extend([name.clone(), format!("{name} gain")]);
    }
    let rows = sizes.into_iter().zip(rates).map(|(size, rates)| {
        let mut cells = vec![size];
        for name in &names {
            let of = rates.get(*name);
            let gain = of.and_then(|of| of.gain);
            cells.extend([or_absent(of, |of| rate(of.per_s)), or_absent(gain, percent_signed)]);
        }
        Row::new(cells)
    });
    std::iter::once(Row::new(head)).chain(rows).collect()
}

/// What the rows show.
pub(crate) fn sentence(unit: &str) -> String {
    format!("{unit}, and the gain over the first row")
}
