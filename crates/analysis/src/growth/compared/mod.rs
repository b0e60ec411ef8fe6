//! Comparison of two growths: for each size of both, the change from A to B and a verdict.
//!
//! A size is measured once, so its noise is the difference between measurements of one cluster, as shown by the first
//! size and its repeat. Must not hold text for users, or compare runs, whose noise is the spread between runs.

mod differences;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::f64::consts::SQRT_2;

use highwater_model::scale::{ScaleRecord, ScaleSize, ScaleTrial};

use super::sizes::{LogRate, REPEAT_ERROR, Z95};
use super::{counted, drift};
use differences::{differences, is_guarded};

pub use differences::{Grown, GrowthDifference};

/// Verdict on a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeChange {
    /// B is slower.
    Worse,
    /// The change is within the difference between measurements of one cluster.
    NotDistinguished,
    /// The change is smaller than the threshold, including noise.
    Equal,
    /// B is faster.
    Better,
}

/// The possible difference between two measurements of a growth's cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrowthNoise {
    /// As a fraction: 95 of 100 pairs differ by less.
    pub part: f64,
    /// Whether the first size was repeated; otherwise the usual difference between runs of one day is assumed.
    pub is_repeated: bool,
}

impl GrowthNoise {
    /// The noise shown by the first size and its repeat; at least their difference.
    fn of(scale: &ScaleRecord) -> Self {
        let Some(repeated) = drift(scale) else {
            return Self { part: (Z95 * REPEAT_ERROR * SQRT_2).exp_m1(), is_repeated: false };
        };
        let differed = repeated.change.ln_1p().abs();
        Self { part: repeated.allowed.ln_1p().max(differed).exp_m1(), is_repeated: true }
    }
}

/// A size that counts in both growths, with the same settings.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedSize<'a> {
    /// In A.
    pub a: &'a ScaleTrial,
    /// In B.
    pub b: &'a ScaleTrial,
    /// The estimates of both searches, units per second, by which they are compared because an estimate errs to both
    /// sides alike; absent unless both have one, and then what was measured or confirmed is compared.
    pub estimates: Option<[f64; 2]>,
    /// The change from A to B, as a fraction of A.
    pub change: f64,
    /// The possible difference without any change, as a fraction: the largest of the noise of both growths and that of
    /// this size's intervals.
    pub noise: f64,
    /// The verdict; absent if the questions differ.
    pub verdict: Option<SizeChange>,
}

/// Why the other growth has no figure for a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoneReason {
    /// It does not have this number of nodes.
    NotMeasured,
    /// It measured this size, but the figure does not count.
    NoFigure,
    /// It measured the same number of nodes with other settings.
    OtherSettings,
}

/// A size that counts in one growth only.
#[derive(Debug, Clone, PartialEq)]
pub struct LoneSize<'a> {
    /// The measurement.
    pub trial: &'a ScaleTrial,
    /// Why the other growth has no figure.
    pub why: LoneReason,
}

/// Comparison of growths A and B.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedGrowths<'a> {
    /// The relative change that matters, as a fraction.
    pub practical: f64,
    /// Noise of A and of B.
    pub noise: [GrowthNoise; 2],
    /// The sizes that count in both, ascending.
    pub sizes: Vec<SharedSize<'a>>,
    /// The sizes that count in A only, and in B only.
    pub lone: [Vec<LoneSize<'a>>; 2],
    /// Other differences, most severe first.
    pub differences: Vec<GrowthDifference>,
}

impl ComparedGrowths<'_> {
    /// Whether the growths answer different questions, so that no verdict is valid.
    pub fn is_guarded(&self) -> bool {
        is_guarded(&self.differences)
    }

    /// Worse if any size is; else not distinguished if any size is not, or has no figure in one growth although both
    /// measured it; else better if any size is. Absent if the questions differ, or the growths share no size.
    pub fn verdict(&self) -> Option<SizeChange> {
        if self.is_guarded() || self.sizes.is_empty() {
            return None;
        }
        let has = |verdict| {
            let mut sizes = self.sizes.iter();
            sizes.any(|size| size.verdict == Some(verdict))
        };
        let mut lone = self.lone.iter().flatten();
        let is_open = lone.any(|size| size.why == LoneReason::NoFigure);
        Some(if has(SizeChange::Worse) {
            SizeChange::Worse
        } else if is_open || has(SizeChange::NotDistinguished) {
            SizeChange::NotDistinguished
        } else if has(SizeChange::Better) {
            SizeChange::Better
        } else {
            SizeChange::Equal
        })
    }
}

/// Compares two growths; `practical` is the relative change that matters, above 0. Settings that were `declared` to
/// differ are what is compared, and no other question.
pub fn compare_growths<'a>(
    a: Grown<'a>,
    b: Grown<'a>,
    practical: f64,
    declared: &BTreeSet<String>,
) -> ComparedGrowths<'a> {
    let differences = differences(a, b, declared);
    let guarded = is_guarded(&differences);
    let noise = [a, b].map(|grown| GrowthNoise::of(grown.scale));
    let least = noise[0].part.max(noise[1].part).ln_1p();
    let both = counted(a.scale).filter_map(|of_a| {
        let of_b = counted(b.scale).find(|trial| is_same(&trial.size, &of_a.size, declared))?;
        let both = [(a.scale, of_a), (b.scale, of_b)];
        let estimated = both.map(|(of, trial)| LogRate::estimated(of.each, &trial.figures));
        let (estimates, [before, now]) = match estimated {
            [Some(before), Some(now)] => (Some([before.log.exp(), now.log.exp()]), [before, now]),
            _ => (None, both.map(|(of, trial)| LogRate::of(of.each, &trial.figures))),
        };
        let change = now.log - before.log;
        let noise = least.max(Z95 * before.deviation.hypot(now.deviation));
        Some(SharedSize {
            a: of_a,
            b: of_b,
            estimates,
            change: change.exp_m1(),
            noise: noise.exp_m1(),
            verdict: (!guarded).then(|| judged(change, noise, practical)),
        })
    });
    let mut sizes: Vec<SharedSize<'a>> = both.collect();
    sizes.sort_by_key(|size| size.a.size.nodes);
    ComparedGrowths {
        practical,
        noise,
        sizes,
        lone: [lone(a.scale, b.scale, declared), lone(b.scale, a.scale, declared)],
        differences,
    }
}

/// The verdict on a change with this noise, both logarithmic.
fn judged(change: f64, noise: f64, practical: f64) -> SizeChange {
    let ends = [change - noise, change + noise].map(f64::exp_m1);
    if ends[0] > -practical && ends[1] < practical {
        SizeChange::Equal
    } else if change.abs() <= noise {
        SizeChange::NotDistinguished
    } else if change > 0.0 {
        SizeChange::Better
    } else {
        SizeChange::Worse
    }
}

/// Whether two sizes are equal, but for declared settings.
fn is_same(a: &ScaleSize, b: &ScaleSize, declared: &BTreeSet<String>) -> bool {
    let kept = |size: &ScaleSize| {
        let mut kept = size.settings.clone();
        kept.retain(|name, _| !declared.contains(name));
        kept
    };
    a.nodes == b.nodes && kept(a) == kept(b)
}

/// The sizes of a growth for which the other has no figure, ascending.
fn lone<'a>(
    scale: &'a ScaleRecord,
    other: &ScaleRecord,
    declared: &BTreeSet<String>,
) -> Vec<LoneSize<'a>> {
    let sizes = counted(scale).filter_map(|trial| {
        let why = lone_reason(&trial.size, other, declared)?;
        Some(LoneSize { trial, why })
    });
    let mut sizes: Vec<LoneSize<'a>> = sizes.collect();
    sizes.sort_by_key(|size| size.trial.size.nodes);
    sizes
}

/// Absent if the other growth has a figure.
fn lone_reason(
    size: &ScaleSize,
    other: &ScaleRecord,
    declared: &BTreeSet<String>,
) -> Option<LoneReason> {
    let has = |is_so: &dyn Fn(&ScaleTrial) -> bool| other.trials.iter().any(is_so);
    if counted(other).any(|trial| is_same(&trial.size, size, declared)) {
        None
    } else if has(&|trial| is_same(&trial.size, size, declared)) {
        Some(LoneReason::NoFigure)
    } else if has(&|trial| trial.size.nodes == size.nodes) {
        Some(LoneReason::OtherSettings)
    } else {
        Some(LoneReason::NotMeasured)
    }
}
