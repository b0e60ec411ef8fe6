//! Reduces a series from one value per second to as many as a screen can show, without losing a peak or a gap.

use highwater_model::numbers::{len_to_f64, to_f64};

/// Maximum points of a series over time.
const POINTS_MAX: u64 = 600;

/// Number of seconds per point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::html) struct Thinning {
    /// Seconds per point; at least 1.
    pub(in crate::html) seconds: u64,
    /// Total seconds.
    pub(in crate::html) total: u64,
}

impl Thinning {
    /// For a run of `total` whole seconds.
    pub(in crate::html) const fn of(total: u64) -> Self {
        let seconds = total.div_ceil(POINTS_MAX);
        Self { seconds: if seconds == 0 { 1 } else { seconds }, total }
    }

    /// Number of points.
    pub(in crate::html) fn points(self) -> usize {
        usize::try_from(self.total.div_ceil(self.seconds)).unwrap_or(0)
    }

    /// The point that a second belongs to; absent after the end.
    pub(in crate::html) fn point_of(self, second: u64) -> Option<usize> {
        (second < self.total).then(|| usize::try_from(second / self.seconds).ok()).flatten()
    }

    /// Position of a point: the middle of its seconds.
    pub(in crate::html) fn middle(self, point: usize) -> f64 {
        let first = len_to_f64(point) * to_f64(self.seconds);
        let last = (first + to_f64(self.seconds)).min(to_f64(self.total));
        f64::midpoint(first, last)
    }

    /// Seconds of a point: fewer at the end.
    pub(in crate::html) fn length(self, point: usize) -> f64 {
        let first = point as u64 * self.seconds;
        to_f64(self.seconds.min(self.total.saturating_sub(first)))
    }

    /// A sentence for the note of a chart; empty if each second has its own point.
    pub(in crate::html) fn note(self, what: &str) -> String {
        if self.seconds == 1 {
            String::new()
        } else {
            format!(" Each point covers {} seconds: {what}.", self.seconds)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_has_a_point_a_second_and_a_long_one_at_most_six_hundred() {
        for (total, seconds, points) in
            [(0, 1, 0), (62, 1, 62), (600, 1, 600), (601, 2, 301), (3_602, 7, 515)]
        {
            let thinning = Thinning::of(total);
            assert_eq!((thinning.seconds, thinning.points()), (seconds, points));
            assert_eq!(thinning.point_of(total), None);
            if total > 0 {
                assert_eq!(thinning.point_of(total - 1), Some(points - 1));
            }
        }
    }

    #[test]
    fn points_lie_in_the_middle_of_their_seconds() {
        let thinning = Thinning::of(601);
        let middles = [0, 300].map(|point| thinning.middle(point).to_string());
        assert_eq!(middles, ["1", "600.5"]);
        assert_eq!(thinning.length(300).to_string(), "1");
    }
}
