//! Formats paces for readers. Must not know results.

use super::display::{count, duration, plain};
use super::plan::{Pace, StreamPlan, Unit};

/// `1,000 rows/s`, `8 sessions`.
pub fn pace(pace: Pace, unit: Unit) -> String {
    match pace {
        Pace::Closed { sessions: 1 } => "1 session".to_owned(),
        _ => format!("{} {}", figure(pace), unit_of(pace, unit)),
    }
}

/// The paces of all steps: `4 sessions`, `50 to 200 queries/s`, with the think time.
pub fn paces(stream: &StreamPlan) -> String {
    let (Some(&first), Some(&last)) = (stream.paces.first(), stream.paces.last()) else {
        return "no pace".to_owned();
    };
    let range = if stream.paces.iter().all(|pace| *pace == first) {
        pace(first, stream.unit)
    } else {
        let unit = unit_of(first, stream.unit);
        format!("{} to {} {unit}", figure(first), figure(last))
    };
    match stream.think {
        Some(think) => format!("{range} with a think time of {}", duration(think.0)),
        None => range,
    }
}

fn figure(pace: Pace) -> String {
    match pace {
        Pace::Open { rate } => plain(rate.as_f64()),
        Pace::Closed { sessions } => count(u64::from(sessions)),
    }
}

fn unit_of(pace: Pace, unit: Unit) -> String {
    match pace {
        Pace::Open { .. } => format!("{}/s", unit.name()),
        Pace::Closed { .. } => "sessions".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{Nanos, Rate};

    fn closed(sessions: &[u32]) -> StreamPlan {
        let paces = sessions.iter();
        StreamPlan {
            unit: Unit::Rows,
            paces: paces.map(|&sessions| Pace::Closed { sessions }).collect(),
            ..StreamPlan::default()
        }
    }

    #[test]
    fn the_paces_of_a_stream_are_one_or_a_range() {
        assert_eq!(paces(&closed(&[])), "no pace");
        assert_eq!(paces(&closed(&[1])), "1 session");
        assert_eq!(paces(&closed(&[4, 4])), "4 sessions");
        assert_eq!(paces(&closed(&[1, 5_000])), "1 to 5,000 sessions");
        assert_eq!(paces(&closed(&[8, 1])), "8 to 1 sessions");
        let thinking = StreamPlan { think: Some(Nanos::from_millis(1_500)), ..closed(&[4]) };
        assert_eq!(paces(&thinking), "4 sessions with a think time of 1.50 s");
        let rate = Rate::per_second(20_000);
        let open = StreamPlan { paces: vec![Pace::Open { rate }], ..closed(&[]) };
        assert_eq!(paces(&open), "20,000 rows/s");
    }
}
