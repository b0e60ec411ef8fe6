//! What is compared with what, by the names that its user gave. Must not make a page or a text of it.

use highwater_analysis::comparison::Comparison;
use highwater_analysis::growth::{ComparedGrowths, Grown};
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

/// A growth with the name that the user gave it.
#[derive(Debug)]
pub struct NamedGrowth<'a> {
    /// Name of its record.
    pub name: String,
    /// The growth.
    pub growth: Grown<'a>,
}

/// Which growth is compared with which.
#[derive(Debug)]
pub struct GrowthsReport<'a> {
    /// What the others are compared with.
    pub baseline: NamedGrowth<'a>,
    /// The others, each with its comparison.
    pub others: Vec<(NamedGrowth<'a>, ComparedGrowths<'a>)>,
}
