//! What is compared with what, by the names that its user gave. Must not make a page or a text of it.

use highwater_analysis::comparison::Comparison;
use highwater_model::record::RecordRef;

/// Runs with the name that the user gave them.
#[derive(Debug)]
pub struct Group<'a> {
    /// Name of a run, a directory of runs, a variant.
    pub name: String,
    /// Its runs; never empty.
    pub runs: Vec<RecordRef<'a>>,
}

/// What is compared with what.
#[derive(Debug)]
pub struct CompareReport<'a> {
    /// What the others are compared with.
    pub baseline: Group<'a>,
    /// The others, each with its comparison.
    pub others: Vec<(Group<'a>, Comparison)>,
}
