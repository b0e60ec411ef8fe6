//! The interval of an estimate holds as often as stated, if the margins of its points do.

use super::*;
use crate::search::estimate::estimate;

/// A one-sided margin of 95%, in standard errors.
const MARGIN: f64 = 1.645;

/// Probes for which the logarithms of the fraction over the allowed one are on a line that crosses zero
/// at 1,000, each with this standard error.
fn on_a_line(noise: &mut Noise, error: f64) -> Vec<ProbeRecord> {
    let values = [940.0, 970.0, 990.0, 1_000.0, 1_010.0, 1_030.0];
    let probe = |at: f64| {
        let drawn = (at / 1_000.0 - 1.0) * 20.0 + error * noise.normal();
        ProbeRecord {
            late: Some(drawn.exp()),
            pressure: Some(drawn + MARGIN * error),
            ..fixture::probe(ProbePurpose::Search, at, ProbeVerdict::NotDecided)
        }
    };
    values.map(probe).into()
}

#[test]
fn the_interval_of_a_line_holds_as_often_as_it_states() {
    let search = with_p99(Nanos::SECOND);
    for error in [0.05, 0.2] {
        let mut held = 0;
        let mut noise = Noise::new(7);
        for _ in 0..1_000 {
            let probes = on_a_line(&mut noise, error);
            let found = estimate(&ProbeHistory::new(&search, &probes)).unwrap();
            held += u32::from((found.low90..=found.high90).contains(&1_000.0));
        }
        // The line is only approximately right, which widens the interval if the points are
        // precise.
        assert!((880..=980).contains(&held), "{error}: {held}");
    }
}
