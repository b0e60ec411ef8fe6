//! A node's disk: it accepts rows at a rate, and above that rate while its credit lasts.
//!
//! A leaky bucket, scheduled virtually: `due` is when everything written so far would be done at the rate; rows wait
//! for the part beyond the credit. (The generic cell rate algorithm; ITU-T I.371, annex A.)

use highwater_model::numbers::{round_to_u64, to_f64};
use highwater_model::units::Nanos;

/// One disk.
#[derive(Debug)]
pub(super) struct Disk {
    /// Time per row at the rate, nanoseconds.
    row_ns: f64,
    /// How far `due` may be ahead of now before rows wait.
    credit: Nanos,
    due: Nanos,
    /// Rows accepted so far.
    rows: u64,
}

impl Disk {
    /// A disk that was idle for a long time; `rows_per_s` is above 0.
    pub(super) fn new(rows_per_s: f64, burst_rows: f64) -> Self {
        let row_ns = 1e9 / rows_per_s;
        Self { row_ns, credit: nanos(burst_rows * row_ns), due: Nanos::ZERO, rows: 0 }
    }

    /// When rows that arrive now are written.
    pub(super) fn write(&mut self, now: Nanos, rows: u64) -> Nanos {
        self.rows = self.rows.saturating_add(rows);
        let length = nanos(to_f64(rows) * self.row_ns);
        self.due = self.due.max(now).saturating_add(length);
        self.due.saturating_sub(self.credit).max(now)
    }

    /// Rows accepted so far.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Remaining fraction of its credit; 0 without any.
    pub(super) fn credit_left(&self, now: Nanos) -> f64 {
        let credit = self.credit.as_secs_f64();
        if credit <= 0.0 {
            return 0.0;
        }
        let used = self.due.saturating_sub(now).as_secs_f64();
        (1.0 - used / credit).clamp(0.0, 1.0)
    }

    /// Whether written rows are waiting for it now.
    pub(super) fn holds_back(&self, now: Nanos) -> bool {
        self.due.saturating_sub(now) > self.credit
    }
}

fn nanos(length: f64) -> Nanos {
    Nanos(round_to_u64(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_wait_only_when_the_credit_is_used_up() {
        let second = Nanos::SECOND;
        let mut disk = Disk::new(1_000.0, 2_000.0);
        assert_eq!(disk.write(second, 2_000), second, "all of it on credit");
        assert!((disk.credit_left(second) - 0.0).abs() < 1e-9 && !disk.holds_back(second));
        assert_eq!(disk.write(second, 500), Nanos::from_millis(1_500));
        assert!(disk.holds_back(second));
        let later = Nanos::from_millis(2_500);
        assert!((disk.credit_left(later) - 0.5).abs() < 1e-9, "earned back at the rate");
        assert_eq!(disk.write(later, 1_000), later);
        assert_eq!(disk.rows(), 3_500);
    }

    #[test]
    fn without_credit_each_row_takes_its_time() {
        let mut disk = Disk::new(1_000.0, 0.0);
        assert_eq!(disk.write(Nanos::ZERO, 100), Nanos::from_millis(100));
        assert_eq!(disk.write(Nanos::ZERO, 100), Nanos::from_millis(200));
        assert!((disk.credit_left(Nanos::ZERO) - 0.0).abs() < 1e-9);
    }
}
