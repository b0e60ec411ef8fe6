//! Limits of one load generator: the rates that it can pace, and its number of sessions. A plan beyond them is a typing
//! error.
//!
//! Pure. Must not make a plan.

use highwater_model::display;
use highwater_model::plan::{Pace, Share, StreamPlan};
use highwater_model::units::Rate;
use highwater_model::user_error::UserError;

/// Maximum ops per second that one load generator can hand out to a stream's sessions: each op takes a shared lock, and
/// a lock and unlock take at least 100 ns.
const OPS_PER_SECOND_MAX: u64 = 10_000_000;
/// Maximum units per second of one load generator: times are whole nanoseconds.
const UNITS_PER_SECOND_MAX: u64 = 1_000_000_000;

/// Maximum sessions of one load generator: each has a connection and its own buffers.
pub const SESSIONS_MAX: u32 = 65_536;

/// The highest rate, in units, that this many load generators can pace together.
pub(crate) fn rate_max(units_per_op: u64, shares: u32) -> Rate {
    let of_each = OPS_PER_SECOND_MAX.saturating_mul(units_per_op);
    let of_each = of_each.min(UNITS_PER_SECOND_MAX);
    Rate::per_second(of_each.saturating_mul(u64::from(shares)))
}

/// Rejects rates that no load generator can offer, whatever free space the target's disk has.
pub(crate) fn check_rates(streams: &[StreamPlan], share: &Share) -> Result<(), UserError> {
    for stream in streams {
        let most = rate_max(stream.units_per_op, share.of);
        let rates = stream.paces.iter().filter_map(|pace| match pace {
            Pace::Open { rate } => Some(*rate),
            Pace::Closed { .. } => None,
        });
        let unit = stream.unit.name();
        if let Some(rate) = rates.max().filter(|rate| *rate > most) {
            return Err(impossible(
                format!(
                    "stream `{}` is planned at {} {unit}/s, and {} load generator{} can pace \
                     {} {unit}/s at most",
                    stream.name,
                    display::rate(rate.as_f64()),
                    share.of,
                    if share.of == 1 { "" } else { "s" },
                    display::rate(most.as_f64()),
                ),
                "lower --rate, or leave it out: then sessions send as fast as they are answered",
            ));
        }
    }
    Ok(())
}

/// Rejects more sessions than a load generator supports.
pub(crate) fn check_sessions(streams: &[StreamPlan], share: &Share) -> Result<(), UserError> {
    let sessions = streams.iter().map(|stream| {
        let each = stream.paces.iter().map(|pace| closed_sessions(pace).unwrap_or(stream.sessions));
        u64::from(share.part_of(each.max().unwrap_or(0)))
    });
    let all = sessions.sum();
    if all <= u64::from(SESSIONS_MAX) {
        return Ok(());
    }
    let (all, most) = (display::count(all), display::count(SESSIONS_MAX.into()));
    Err(impossible(
        format!("{all} sessions are planned, and a load generator has {most} at most"),
        "lower -c, or the sessions of --stream, or use more load generators (--share)",
    ))
}

/// The sessions of a closed pace.
pub(crate) fn closed_sessions(pace: &Pace) -> Option<u32> {
    match pace {
        Pace::Closed { sessions } => Some(*sessions),
        Pace::Open { .. } => None,
    }
}

/// The error for a plan that cannot be made.
pub(crate) fn impossible(message: impl Into<String>, hint: impl Into<String>) -> UserError {
    UserError::usage(message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_model::plan::{Arrivals, Unit};

    fn stream(paces: Vec<Pace>, sessions: u32) -> StreamPlan {
        StreamPlan {
            name: "insert".to_owned(),
            unit: Unit::Rows,
            units_per_op: 1,
            paces,
            sessions,
            arrivals: Arrivals::Constant,
            spawn_rate: None,
            think: None,
        }
    }

    /// Checks whether one of `shares` load generators can pace this rate.
    #[track_caller]
    fn check(rate: Rate, units_per_op: u64, shares: u32, expected: bool) {
        let paces = vec![Pace::Closed { sessions: 1 }, Pace::Open { rate }];
        let stream = StreamPlan { units_per_op, ..stream(paces, 1) };
        let share = Share { of: shares, ..Share::WHOLE };
        let found = check_rates(&[stream], &share);
        assert_eq!(found.is_ok(), expected, "{rate:?} {found:?}");
    }

    #[test]
    fn a_rate_is_bounded_by_its_ops_and_by_its_rows() {
        let more = |units: u64| Rate { micro_per_s: Rate::per_second(units).micro_per_s + 1 };
        check(Rate::per_second(OPS_PER_SECOND_MAX), 1, 1, true);
        check(more(OPS_PER_SECOND_MAX), 1, 1, false);
        check(more(OPS_PER_SECOND_MAX), 1, 2, true);
        check(Rate::per_second(UNITS_PER_SECOND_MAX), 1_000, 1, true);
        check(more(UNITS_PER_SECOND_MAX), 1_000, 1, false);
        check(more(UNITS_PER_SECOND_MAX), u64::MAX, 1, false);
    }
    #[test]
    fn sessions_are_bounded_over_all_streams_of_one_load_generator() {
        let open = Pace::Open { rate: Rate::per_second(1) };
        let closed = |sessions| Pace::Closed { sessions };
        let fits = |streams: &[StreamPlan], of: u32| {
            let share = Share { of, ..Share::WHOLE };
            check_sessions(streams, &share).is_ok()
        };
        let most = SESSIONS_MAX;
        assert!(fits(&[stream(vec![closed(most)], 1)], 1));
        assert!(!fits(&[stream(vec![closed(most + 1)], 1)], 1));
        assert!(fits(&[stream(vec![closed(most + 1)], 1)], 2));
        assert!(!fits(&[stream(vec![open], most + 1)], 1), "ops in flight");
        let half = || stream(vec![closed(1), closed(most / 2 + 1)], 1);
        assert!(fits(&[half()], 1));
        assert!(!fits(&[half(), half()], 1), "both of them together");
    }
}
