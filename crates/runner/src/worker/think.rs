//! Think time: when a closed session pauses between a response and its next op. Must not wait.

use std::cell::Cell;

use highwater_model::units::Nanos;

/// The pauses of a session.
#[derive(Debug)]
pub(crate) struct Think {
    /// Time from a response to the next op.
    pause: Nanos,
    /// Time before its first op; below `pause`.
    offset: Nanos,
    /// End of the current pause.
    resumes: Cell<Nanos>,
}

impl Think {
    /// The pauses of session number `session` of all shares, which starts at `begin`.
    ///
    /// Sessions that all began at once would send in bursts. So each begins at its own offset within the pause: the
    /// fractional part of its number times the golden ratio, which spreads any number of sessions evenly (H. Weyl,
    /// "Über die Gleichverteilung von Zahlen mod. Eins", Mathematische Annalen 77, 1916).
    pub(crate) fn new(pause: Nanos, session: u32, begin: Nanos) -> Self {
        const GOLDEN_RATIO: u32 = 0x9E37_79B9; // times 2⁻³²
        let part = u128::from(session.wrapping_mul(GOLDEN_RATIO));
        let offset = (u128::from(pause.0) * part) >> 32;
        let offset = Nanos(u64::try_from(offset).unwrap_or(u64::MAX));
        Self { pause, offset, resumes: Cell::new(begin.saturating_add(offset)) }
    }

    /// End of the current pause.
    pub(crate) fn resumes(&self) -> Nanos {
        self.resumes.get()
    }

    /// A session without a part in the load until then begins at its offset within the pause.
    pub(crate) fn begin_after(&self, until: Nanos) {
        self.resumes.set(until.saturating_add(self.offset));
    }

    /// The pause after a response.
    pub(crate) fn pause_from(&self, finished: Nanos) {
        self.resumes.set(finished.saturating_add(self.pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the three-distance theorem, the offsets of n sessions have gaps of at most three lengths; for the golden
    /// ratio, the widest is below 1.9 / n of the whole.
    #[test]
    fn any_number_of_sessions_is_spread_evenly_over_the_pause() {
        let pause = Nanos::from_secs(10);
        for sessions in [1_u32, 2, 5, 50, 1_000, 4_097] {
            let places =
                (0..sessions).map(|session| Think::new(pause, session, Nanos::ZERO).offset.0);
            let mut places: Vec<u64> = places.collect();
            places.sort_unstable();
            places.push(pause.0 + places[0]);
            let widest = places.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
            assert!(widest * u64::from(sessions) <= 19 * pause.0 / 10, "{sessions}: {widest}");
        }
    }
}
