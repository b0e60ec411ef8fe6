//! Little's law as a check of our own arithmetic: sessions, throughput and latency must agree.
//!
//! J. D. C. Little, "A proof for the queuing formula L = λW", Operations Research 9, 1961. In
//! closed load every session is always busy or pauses, so that sessions = throughput × (mean latency +
//! think time). Figures that contradict it were not all measured over the same ops and time.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use highwater_model::numbers::to_f64;

/// Largest deviation that passes, as a fraction: the ends of a phase cut ops in two.
pub const TOLERANCE: f64 = 0.05;

/// The deviation that passes for so many ops in flight at an end of the phase (one a session), and ops:
/// [`TOLERANCE`], those in flight, and chance (two standard errors of the mean of latencies that
/// vary as much as they take).
pub fn tolerance(in_flight: u64, ops: u64) -> f64 {
    let ops = to_f64(ops.max(1));
    TOLERANCE + to_f64(in_flight) / ops + 2.0 / ops.sqrt()
}

/// Sessions as measured and as they follow from throughput and latency.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LittlesLaw {
    /// Throughput × mean latency.
    pub expected_sessions: f64,
    /// Expected divided by measured sessions; 0 where there were none.
    pub ratio: f64,
}

impl LittlesLaw {
    /// Whether both agree within [`TOLERANCE`].
    pub fn holds(&self) -> bool {
        (self.ratio - 1.0).abs() <= TOLERANCE
    }
}

/// Compares the sessions that were busy with throughput (per second) × mean latency (seconds).
pub fn littles_law(sessions: f64, throughput_per_s: f64, mean_latency_s: f64) -> LittlesLaw {
    let expected_sessions = throughput_per_s * mean_latency_s;
    let ratio = if sessions > 0.0 {
        expected_sessions / sessions
    } else {
        0.0
    };
    LittlesLaw {
        expected_sessions,
        ratio,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_per_cent_pass_and_six_do_not() {
        let check = |latency_s, holds| {
            let law = littles_law(8.0, 1_000.0, latency_s);
            assert_eq!(law.holds(), holds, "{law:?}");
        };
        check(0.008, true);
        check(0.008_39, true);
        check(0.007_61, true);
        check(0.008_48, false);
        check(0.007_52, false);
        check(f64::NAN, false);
    }

    #[test]
    fn without_sessions_it_does_not_hold() {
        assert!(!littles_law(0.0, 10.0, 0.1).holds());
        assert!(!littles_law(0.0, 0.0, 0.0).holds());
    }
}
