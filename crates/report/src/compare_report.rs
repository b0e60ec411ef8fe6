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

/// What is compared with what.
#[derive(Debug)]
pub struct CompareReport<'a> {
    /// What the others are compared with.
    pub baseline: Group<'a>,
    /// The others, each with its comparison.
    pub others: Vec<(Group<'a>, Comparison)>,
}

impl<'a> CompareReport<'a> {
    /// The first group against each other one; absent without any.
    pub fn of(groups: Vec<Group<'a>>, criteria: Criteria<'_>) -> Option<Self> {
        let mut groups = groups.into_iter();
        let baseline = groups.next()?;
        let others = groups.map(|group| {
            let comparison = compare(&baseline.runs, &group.runs, criteria);
            (group, comparison)
        });
        let others = others.collect();
        Some(Self { baseline, others })
    }

    /// All groups.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Group<'a>> {
        let others = self.others.iter().map(|(group, _)| group);
        std::iter::once(&self.baseline).chain(others)
    }
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

impl<'a> GrowthsReport<'a> {
    /// The first growth against each other one, of which a relative change of `practical` matters, as a part above 0;
    /// absent where anything else is compared, or several growths are one group.
    pub fn of(groups: &[Group<'a>], practical: f64) -> Option<Self> {
        let named = groups.iter().map(|group| {
            let [record] = group.runs.as_slice() else {
                return None;
            };
            Some(NamedGrowth {
                name: group.name.clone(),
                growth: Grown::of(*record)?,
            })
        });
        Self::beside_first(named.collect::<Option<_>>()?, practical)
    }

    /// The first growth against each other one; absent without any.
    pub fn beside_first(growths: Vec<NamedGrowth<'a>>, practical: f64) -> Option<Self> {
        let mut growths = growths.into_iter();
        let baseline = growths.next()?;
        let others = growths.map(|other| {
            let compared = compare_growths(baseline.growth, other.growth, practical);
            (other, compared)
        });
        let others = others.collect();
        Some(Self { baseline, others })
    }

    /// All growths.
    pub(crate) fn growths(&self) -> impl Iterator<Item = &NamedGrowth<'a>> {
        let others = self.others.iter().map(|(other, _)| other);
        std::iter::once(&self.baseline).chain(others)
    }
}
