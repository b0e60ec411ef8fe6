//! Row throughput of each op per size, for a growth and for a table of figures. Must not compute.

use std::collections::{BTreeMap, BTreeSet};

use highwater_model::display::{foreign, percent_signed, rate};
use highwater_sizing::OpRate;

use crate::layout::{Row, or_absent};

/// Maximum characters of an op's name.
const WORDS: usize = 40;

/// The head, and a row for each size with the size's name first; empty if no op is named.
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

/// Caption of the rows.
pub(crate) fn sentence(unit: &str) -> String {
    format!("{unit}, and the gain over the first row")
}
