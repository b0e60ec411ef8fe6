//! Machine drift: the first size, measured again at the end. Must not draw conclusions from it.

use highwater_model::scale::{ScaleEach, ScalePurpose, ScaleRecord, SizeFigures};

use super::taken::counted;

/// Relative standard deviation of one measurement of an unchanged cluster, in addition to its own interval: runs of one
/// day differ by some percent. Scaling models use the same value.
pub const REPEAT_ERROR: f64 = 0.03;
/// Measurements that may differ by more without any change do not show whether the machine drifted: it could have lost
/// nearly a quarter of its speed between them.
const ALLOWED_MAX: f64 = 0.3;
/// Normal quantiles: half the width of a 90% and of a 95% interval, in standard deviations.
const Z90: f64 = 1.644_853_626_951_472_2;
pub(super) const Z95: f64 = 1.959_963_984_540_054;

/// The first size and its repeat.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Nodes.
    pub nodes: u32,
    /// Units per second at first, as they were measured; of a search what was confirmed.
    pub first: f64,
    /// Units per second of the repeat at the end.
    pub again: f64,
    /// The change as a fraction of the first.
    pub change: f64,
    /// The possible difference of two measurements of one cluster, as a fraction: 95 of 100 differ by less.
    pub allowed: f64,
}

impl Drift {
    /// Whether they differ by more than measurements of one cluster.
    pub fn is_drifted(&self) -> bool {
        self.part() > 1.0
    }

    /// Whether the measurements are precise enough to show that nothing changed.
    pub fn is_unchanged(&self) -> bool {
        !self.is_drifted() && self.allowed <= ALLOWED_MAX
    }

    /// The change as a fraction of the allowed difference.
    fn part(&self) -> f64 {
        self.change.ln_1p().abs() / self.allowed.ln_1p()
    }
}

/// Compares the first size with its repeats, by measured or confirmed values and never by the middles of estimates, and
/// returns the difference that is greatest relative to the allowed one; absent until both count.
pub fn drift(scale: &ScaleRecord) -> Option<Drift> {
    let again = scale
        .trials
        .iter()
        .filter(|trial| trial.purpose == ScalePurpose::Again && trial.figures.verdict.counts());
    let all = again.filter_map(|again| {
        let first = counted(scale).find(|trial| trial.size == again.size)?;
        let before = LogRate::of(scale.each, &first.figures);
        let now = LogRate::of(scale.each, &again.figures);
        let deviation = before.deviation.hypot(now.deviation);
        Some(Drift {
            nodes: again.size.nodes,
            first: first.figures.per_s,
            again: again.figures.per_s,
            change: again.figures.per_s / first.figures.per_s - 1.0,
            allowed: (Z95 * deviation).exp_m1(),
        })
    });
    all.max_by(|a, b| a.part().total_cmp(&b.part()))
}

/// The logarithm of a rate, and its precision.
pub(super) struct LogRate {
    pub(super) log: f64,
    /// Standard deviation of one measurement.
    pub(super) deviation: f64,
}

impl LogRate {
    /// Of a search the middle of its estimate, which unlike a confirmed value errs to both sides alike.
    pub(super) fn of(each: ScaleEach, figures: &SizeFigures) -> Self {
        let interval = figures.interval.filter(|[low, _]| *low > 0.0).map(|ends| ends.map(f64::ln));
        let z = match each {
            ScaleEach::Find => Z90,
            ScaleEach::Run | ScaleEach::Tune => Z95,
        };
        let own = interval.map_or(0.0, |[low, high]| (high - low) / 2.0 / z);
        let log = match (each, interval) {
            (ScaleEach::Find, Some([low, high])) => f64::midpoint(low, high),
            _ => figures.per_s.ln(),
        };
        Self { log, deviation: own.hypot(REPEAT_ERROR) }
    }
}
