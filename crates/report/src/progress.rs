//! The lines that show a run's seconds where there is no terminal, and the header above them.
//!
//! Must not keep a history: everything it prints is in its arguments.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use highwater_model::display::{ABSENT, count, duration, rate};
use highwater_model::event::{SecondProgress, StreamProgress};
use highwater_model::numbers::{ceil_to_u64, to_f64};
use highwater_model::plan::Objective;

use crate::objective_progress::nearest;

/// Progress of filling a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Filling {
    first: f64,
    there: f64,
    rows: f64,
    seconds: f64,
}

impl Filling {
    /// `there` of `rows` rows exist.
    pub fn new(there: u64, rows: u64) -> Self {
        let [there, rows] = [there, rows].map(to_f64);
        Self { first: there, there, rows, seconds: 0.0 }
    }

    /// The text after the line of an interval: the fraction of the rows, and the remaining time at the rate so far.
    pub fn after(&mut self, interval: &Interval) -> String {
        let seconds = f64::from(interval.seconds);
        self.seconds += seconds;
        let first = interval.line.streams.first();
        self.there += first.map_or(0.0, |stream| stream.units_per_s) * seconds;
        let pace = (self.there - self.first) / self.seconds;
        let share = (self.there / self.rows * 100.0).min(100.0);
        let left = (self.rows - self.there).max(0.0) / pace;
        if !left.is_finite() {
            return format!("  {share:5.1}%");
        }
        format!(
            "  {share:5.1}%, {} left",
            duration(ceil_to_u64(left).saturating_mul(1_000_000_000))
        )
    }
}

impl std::fmt::Display for Filling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "fill: {} of {} rows are there", rate(self.there), rate(self.rows))
    }
}

/// Consecutive seconds of one phase that share a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// How many they are.
    pub seconds: u32,
    /// The last of them, with the mean of the rates, the worst of the latencies, and the sum of what failed: a percentile
    /// of them together cannot be known from those of the seconds.
    pub line: SecondProgress,
}

impl Interval {
    /// A single second.
    pub const fn new(line: SecondProgress) -> Self {
        Self { seconds: 1, line }
    }

    /// Adds the next second, unless it belongs to another phase, which is returned.
    pub fn join(&mut self, mut next: SecondProgress) -> Option<SecondProgress> {
        if next.phase != self.line.phase || next.streams.len() != self.line.streams.len() {
            return Some(next);
        }
        let before = f64::from(self.seconds);
        let mean = |a: f64, b: f64| (a * before + b) / (before + 1.0);
        next.errors += self.line.errors;
        next.dropped += self.line.dropped;
        for (next, held) in next.streams.iter_mut().zip(&self.line.streams) {
            next.units_per_s = mean(held.units_per_s, next.units_per_s);
            if held.p99_ns > next.p99_ns {
                (next.p99_ns, next.p99_at_least) = (held.p99_ns, held.p99_at_least);
            }
        }
        self.seconds += 1;
        self.line = next;
        None
    }
}

/// Where lines begin to hold several seconds.
pub fn intervals_begin(seconds: u64) -> String {
    format!(
        "        from here a line every {seconds} s: mean rates, p99 of the slowest second (--progress 1s shows each)"
    )
}

const PHASE_WIDTH: usize = 10;
const P99_WIDTH: usize = 14;
const RATE_WIDTH: usize = 11;

/// The header above lines with these streams and objectives. No line feed.
pub fn interval_header(streams: &[StreamProgress], objectives: &[Objective]) -> String {
    let mut text = format!("{:>6}  {:<PHASE_WIDTH$}", "second", "phase");
    for stream in streams {
        let width = rate_width(stream);
        let _ = write!(text, "  {:>width$}  {:>P99_WIDTH$}", rate_title(stream), "p99");
    }
    let _ = write!(text, "  {:>8}  {:>8}  {:>8}", "errors", "dropped", "sessions");
    match objectives {
        [] => text,
        [_] => text + "  objective so far",
        _ => text + "  objective nearest to a miss",
    }
}

/// One line, aligned with [`interval_header`] of the same streams and objectives. No line feed.
pub fn interval_line(line: &SecondProgress, objectives: &[Objective]) -> String {
    let mut text = format!("{:>6}  {:<PHASE_WIDTH$}", line.second, line.phase);
    for stream in &line.streams {
        let width = rate_width(stream);
        let p99 = p99(stream);
        let _ = write!(text, "  {:>width$}  {p99:>P99_WIDTH$}", rate(stream.units_per_s));
    }
    let [errors, dropped] = [line.errors, line.dropped].map(count);
    let _ = write!(text, "  {errors:>8}  {dropped:>8}  {:>8}", line.sessions);
    if let Some(nearest) = nearest(objectives, line) {
        let _ = write!(text, "  {nearest}");
    }
    text
}

/// `4.40 ms`; with few ops `4.40 ms (10 s)` over the last seconds, or `max 4.40 ms`, the maximum over them.
pub(crate) fn p99(stream: &StreamProgress) -> String {
    let shown = |ns: u64, at_least: bool| {
        let sign = if at_least { "≥ " } else { "" };
        format!("{sign}{}", duration(ns))
    };
    match (stream.p99_ns, stream.recent) {
        (Some(ns), _) => shown(ns, stream.p99_at_least),
        (None, None) => ABSENT.to_owned(),
        (None, Some(recent)) => match recent.p99_ns {
            Some(ns) => format!("{} ({} s)", shown(ns, recent.at_least), recent.seconds),
            None => format!("max {}", shown(recent.max_ns, recent.at_least)),
        },
    }
}

/// Offered units per second; `closed` in closed load.
pub(crate) fn offered(per_s: Option<f64>) -> String {
    per_s.map_or_else(|| "closed".to_owned(), rate)
}

/// Whether a second shows nothing: every op in flight takes longer.
pub fn is_silent(line: &SecondProgress) -> bool {
    let is_silent = |stream: &StreamProgress| {
        stream.units_per_s <= 0.0 && stream.p99_ns.is_none() && stream.recent.is_none()
    };
    line.errors == 0 && line.dropped == 0 && line.streams.iter().all(is_silent)
}

/// The line that replaces silent seconds.
pub const SILENCE: &str =
    "        no response: ops take longer than these seconds; such lines are left out";

fn rate_title(stream: &StreamProgress) -> String {
    format!("{} {}/s", stream.stream, stream.unit.name())
}

fn rate_width(stream: &StreamProgress) -> usize {
    rate_title(stream).chars().count().max(RATE_WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{second, stream};
    use highwater_model::event::{ObjectiveSoFar, RecentLatency};
    use highwater_model::plan::Unit;

    #[test]
    fn filling_reports_the_share_and_the_time_left() {
        let insert = |units_per_s| vec![stream("insert", Unit::Rows, units_per_s)];
        let line = |units_per_s| Interval::new(second(1, "fill", insert(units_per_s)));
        let mut filling = Filling::new(20_000, 100_000);
        let said = "fill: 20,000 of 100,000 rows are there";
        assert_eq!(filling.to_string(), said);
        assert_eq!(filling.after(&line(0.0)), "   20.0%");
        // 20,000 rows in two seconds, 60,000 remain.
        assert_eq!(filling.after(&line(20_000.0)), "   40.0%, 6.00 s left");
        assert_eq!(filling.after(&line(60_000.0)), "  100.0%, 0 ns left");
    }

    #[test]
    fn lines_stand_below_their_header() {
        let insert = StreamProgress {
            p99_ns: Some(4_400_000),
            p99_at_least: true,
            ..stream("insert", Unit::Rows, 421_200.0)
        };
        let dashboards = stream("dashboards", Unit::Queries, 49.0);
        let line = SecondProgress {
            errors: 3,
            dropped: 1_200,
            ..second(12, "measure", vec![insert, dashboards])
        };
        let (header, line) = (interval_header(&line.streams, &[]), interval_line(&line, &[]));
        insta::assert_snapshot!([header, line].join("\n"), @r"
        second  phase       insert rows/s             p99  dashboards queries/s             p99    errors   dropped  sessions
            12  measure           421,200       ≥ 4.40 ms                  49.0               –         3     1,200         8
        ");
    }

    #[test]
    fn a_line_ends_with_the_objective_that_is_nearest_to_a_miss() {
        let errors = Objective::Errors { max_ppm: 1_000 };
        let mut line = second(1, "warm-up", Vec::new());
        let of = std::slice::from_ref(&errors);
        let before = interval_line(&line, of);
        assert!(before.ends_with("         8"), "{before}");
        line.objectives = vec![ObjectiveSoFar::Part { missed: 1, counted: 2_000 }];
        let text = interval_line(&line, of);
        let stands = "  errors ≤ 0.1%: 0.0500% so far (1 of 2,000)";
        assert_eq!(text, before + stands);
        assert!(interval_header(&[], of).ends_with("  objective so far"));
    }

    #[test]
    fn a_stream_of_few_ops_shows_the_last_seconds_or_its_slowest_op_and_silence_is_said_once() {
        let mut line = second(12, "measure", vec![stream("insert", Unit::Rows, 0.0)]);
        assert!(is_silent(&line));
        assert_eq!(p99(&line.streams[0]), ABSENT);
        let recent = RecentLatency {
            seconds: 10,
            ops: 12,
            p50_ns: Some(4_000_000),
            p99_ns: None,
            max_ns: 66_600_000,
            at_least: false,
        };
        line.streams[0].recent = Some(recent);
        assert!(!is_silent(&line));
        assert_eq!(p99(&line.streams[0]), "max 66.6 ms");
        line.streams[0].recent =
            Some(RecentLatency { p99_ns: Some(60_900_000), at_least: true, ..recent });
        assert_eq!(p99(&line.streams[0]), "≥ 60.9 ms (10 s)");
    }
}
