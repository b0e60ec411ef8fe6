//! Groups and growths to compare, under the names that the user gave them. Must not render a page or text.

use highwater_analysis::comparison::{Comparison, Criteria, compare};
use highwater_analysis::growth::{ComparedGrowths, Grown, compare_growths};
use highwater_model::record::RecordRef;

/// Runs with the name that the user gave them.
#[derive(Debug)]
pub struct Group<'a> {
    /// Name of a run, a directory of runs, or a variant.
    pub name: String,
    /// Its runs; never empty.
    pub runs: Vec<RecordRef<'a>>,
}

/// A growth with the name that the user gave it.
#[derive(Debug)]
pub struct NamedGrowth<'a> {
    /// Name of its record.
    pub name: String,
    /// The growth.
    pub growth: Grown<'a>,
}

/// A baseline, and everything that is compared with it.
#[derive(Debug)]
pub struct Beside<T, C> {
    /// The baseline of all comparisons.
    pub baseline: T,
    /// The others, each with its comparison.
    pub others: Vec<(T, C)>,
}

/// Comparisons of groups with a baseline.
pub type CompareReport<'a> = Beside<Group<'a>, Comparison>;

/// Comparisons of growths with a baseline.
pub type GrowthsReport<'a> = Beside<NamedGrowth<'a>, ComparedGrowths<'a>>;

impl<T, C> Beside<T, C> {
    /// Compares the first with each of the others; absent without any others.
    fn first(all: Vec<T>, compare: impl Fn(&T, &T) -> C) -> Option<Self> {
        let mut all = all.into_iter();
        let baseline = all.next()?;
        let others = all.map(|other| {
            let compared = compare(&baseline, &other);
            (other, compared)
        });
        let others = others.collect();
        Some(Self { baseline, others })
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl Iterator<Item = &T> {
        let others = self.others.iter().map(|(other, _)| other);
        std::iter::once(&self.baseline).chain(others)
    }
}

impl<'a> CompareReport<'a> {
    /// Compares the first group with each of the others; absent without any others.
    pub fn of(groups: Vec<Group<'a>>, criteria: Criteria<'_>) -> Option<Self> {
        Self::first(groups, |a, b| compare(&a.runs, &b.runs, criteria))
    }
}

impl<'a> GrowthsReport<'a> {
    /// Compares the first growth with each of the others. Relative changes below the fraction `practical` (above 0)
    /// do not matter. Absent if anything else is compared, or if one group has several growths.
    pub fn of(groups: &[Group<'a>], practical: f64) -> Option<Self> {
        let named = groups.iter().map(|group| {
            let [record] = group.runs.as_slice() else {
                return None;
            };
            Some(NamedGrowth { name: group.name.clone(), growth: Grown::of(*record)? })
        });
        Self::beside_first(named.collect::<Option<_>>()?, practical)
    }

    /// Compares the first growth with each of the others; absent without any others.
    pub fn beside_first(growths: Vec<NamedGrowth<'a>>, practical: f64) -> Option<Self> {
        Self::first(growths, |a, b| compare_growths(a.growth, b.growth, practical))
    }
}
