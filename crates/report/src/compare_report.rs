//! What is compared with what, by the names that its user gave. Must not make a page or a text of it.

use highwater_analysis::comparison::{Comparison, Criteria, compare};
use highwater_analysis::growth::{ComparedGrowths, Grown, compare_growths};
use highwater_model::record::RecordRef;

/// Runs with the name that the user gave them.
#[derive(Debug)]
pub struct Group<'a> {
    /// Name of a run, a directory of runs, a variant.
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

/// What is compared with what.
#[derive(Debug)]
pub struct Beside<T, C> {
    /// What the others are compared with.
    pub baseline: T,
    /// The others, each with its comparison.
    pub others: Vec<(T, C)>,
}

/// Which group is compared with which.
pub type CompareReport<'a> = Beside<Group<'a>, Comparison>;

/// Which growth is compared with which.
pub type GrowthsReport<'a> = Beside<NamedGrowth<'a>, ComparedGrowths<'a>>;

impl<T, C> Beside<T, C> {
    /// The first one against each other one; absent without any.
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
    /// The first group against each other one; absent without any.
    pub fn of(groups: Vec<Group<'a>>, criteria: Criteria<'_>) -> Option<Self> {
        Self::first(groups, |a, b| compare(&a.runs, &b.runs, criteria))
    }
}

impl<'a> GrowthsReport<'a> {
    /// The first growth against each other one, of which a relative change of `practical` matters, as a part above 0;
    /// absent where anything else is compared, or several growths are one group.
    pub fn of(groups: &[Group<'a>], practical: f64) -> Option<Self> {
        let named = groups.iter().map(|group| {
            let [record] = group.runs.as_slice() else {
                return None;
            };
            Some(NamedGrowth { name: group.name.clone(), growth: Grown::of(*record)? })
        });
        Self::beside_first(named.collect::<Option<_>>()?, practical)
    }

    /// The first growth against each other one; absent without any.
    pub fn beside_first(growths: Vec<NamedGrowth<'a>>, practical: f64) -> Option<Self> {
        Self::first(growths, |a, b| compare_growths(a.growth, b.growth, practical))
    }
}
