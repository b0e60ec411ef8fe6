//! Two growths beside each other: at each size that both have, what B makes of what A makes, and what can be said of
//! the difference.
//!
//! A size is measured once, so its noise is what measurements of one cluster differ by: the growth's own first size
//! and the same again say how much. What must not be here: words for people, and comparisons of runs, whose noise is
//! the spread between them.

mod differences;
#[cfg(test)]
mod tests;

use std::f64::consts::SQRT_2;

use highwater_model::scale::{ScaleRecord, ScaleSize, ScaleTrial};

use super::drift::{LogRate, REPEAT_ERROR, Z95};
use super::{counted, drift};
use differences::{differences, is_guarded};

pub use differences::{Grown, GrowthDifference};

/// What can be said of a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeChange {
    /// B makes less.
    Worse,
    /// The change is no larger than what measurements of one cluster differ by.
    NotDistinguished,
    /// Whatever the noise, the change is smaller than what matters.
    Equal,
    /// B makes more.
    Better,
}

/// By how much two measurements of a growth's cluster may differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrowthNoise {
    /// As a part: 95 of 100 pairs differ by less.
    pub part: f64,
    /// Whether the first size was measured again; else runs are taken to differ as runs of one day do.
    pub is_repeated: bool,
}

impl GrowthNoise {
    /// What the first size and the same again say; at least what they differ by.
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
    /// Units per second of A and of B; of a search the middle of its estimate, which errs to both sides alike.
    pub per_s: [f64; 2],
    /// What B makes more, as a part of A.
    pub change: f64,
    /// By how much B may differ where nothing changed, as a part: the largest of the noise of both growths and of what
    /// the intervals of this size say.
    pub noise: f64,
    /// What can be said; absent where the questions differ.
    pub verdict: Option<SizeChange>,
}

/// Why the other growth has no figure for a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoneReason {
    /// It has no such number of nodes.
    NotMeasured,
    /// It measured this size, but the figure does not count.
    NoFigure,
    /// It measured as many nodes with other settings.
    OtherSettings,
}

/// A size that counts in one growth only.
#[derive(Debug, Clone, PartialEq)]
pub struct LoneSize<'a> {
    /// As it was measured.
    pub trial: &'a ScaleTrial,
    /// Why the other growth has none.
    pub why: LoneReason,
}

/// Growth A against growth B.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedGrowths<'a> {
    /// The relative change that matters, as a part.
    pub practical: f64,
    /// Of A and of B.
    pub noise: [GrowthNoise; 2],
    /// The sizes that count in both, ascending.
    pub sizes: Vec<SharedSize<'a>>,
    /// Those that count in A only, and in B only.
    pub lone: [Vec<LoneSize<'a>>; 2],
    /// What else differs, the gravest first.
    pub differences: Vec<GrowthDifference>,
}

impl ComparedGrowths<'_> {
    /// Whether the growths answer different questions, so that no verdict stands.
    pub fn is_guarded(&self) -> bool {
        is_guarded(&self.differences)
    }

    /// Worse if any size is; else not distinguished if any size is not, or has no figure in one growth although
    /// both measured it; else better if any size is. Absent where the questions differ, or no size is in both.
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

/// Compares two growths; a relative change of `practical` matters, as a part above 0.
pub fn compare_growths<'a>(a: Grown<'a>, b: Grown<'a>, practical: f64) -> ComparedGrowths<'a> {
    let differences = differences(a, b);
    let guarded = is_guarded(&differences);
    let noise = [a, b].map(|grown| GrowthNoise::of(grown.scale));
    let least = noise[0].part.max(noise[1].part).ln_1p();
    let both = counted(a.scale).filter_map(|of_a| {
        let of_b = counted(b.scale).find(|trial| trial.size == of_a.size)?;
        let before = LogRate::of(a.scale.each, &of_a.figures);
        let now = LogRate::of(b.scale.each, &of_b.figures);
        let change = now.log - before.log;
        let noise = least.max(Z95 * before.deviation.hypot(now.deviation));
        Some(SharedSize {
            a: of_a,
            b: of_b,
            per_s: [before.log.exp(), now.log.exp()],
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
        lone: [lone(a.scale, b.scale), lone(b.scale, a.scale)],
        differences,
    }
}

/// What to make of a change with such a noise, both in the logarithm.
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

/// The sizes of a growth for which the other one has no figure, ascending.
fn lone<'a>(scale: &'a ScaleRecord, other: &ScaleRecord) -> Vec<LoneSize<'a>> {
    let sizes = counted(scale).filter_map(|trial| {
        let why = lone_reason(&trial.size, other)?;
        Some(LoneSize { trial, why })
    });
    let mut sizes: Vec<LoneSize<'a>> = sizes.collect();
    sizes.sort_by_key(|size| size.trial.size.nodes);
    sizes
}

/// Absent where the other growth has a figure.
fn lone_reason(size: &ScaleSize, other: &ScaleRecord) -> Option<LoneReason> {
    let has = |is_so: &dyn Fn(&ScaleTrial) -> bool| other.trials.iter().any(is_so);
    if counted(other).any(|trial| trial.size == *size) {
        None
    } else if has(&|trial| trial.size == *size) {
        Some(LoneReason::NoFigure)
    } else if has(&|trial| trial.size.nodes == size.nodes) {
        Some(LoneReason::OtherSettings)
    } else {
        Some(LoneReason::NotMeasured)
    }
}
