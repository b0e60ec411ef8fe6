//! The lines that show a run's seconds without a terminal, the header above them, and the margin of each
//! objective, over the measured phase so far.
//!
//! Must not keep a history: everything that it prints is in its arguments. Must not judge: objectives are judged at the
//! end, over the whole phase and with confidence bounds.

// Writing to a string cannot fail.
use std::fmt::Write as _;

use highwater_model::display::{
    ABSENT, count, duration, percent, percent_asked, percent_whole, rate, ratio, span,
};
use highwater_model::event::{ObjectiveSoFar, SecondProgress, StreamProgress};
use highwater_model::numbers::{ceil_to_u64, to_f64};
use highwater_model::plan::Objective;
use highwater_model::units::Nanos;

use crate::judgments::objective_bound;
use crate::live::left_words;

/// Progress of filling a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Filling {
    first: f64,
    there: f64,
    rows: f64,
    seconds: f64,
    simulated: bool,
}

impl Filling {
    /// `there` is the number of existing rows, of `rows` in total; on a `simulated` clock or not.
    pub fn new(there: u64, rows: u64, simulated: bool) -> Self {
        let [there, rows] = [there, rows].map(to_f64);
        Self { first: there, there, rows, seconds: 0.0, simulated }
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
        if !left.is_finite() || left <= 0.0 {
            return format!("  {share:5.1}%");
        }
        let left = span(ceil_to_u64(left).saturating_mul(1_000_000_000));
        format!("  {share:5.1}%, about {left} {}", left_words(self.simulated))
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
    /// Number of seconds.
    pub seconds: u32,
    /// The last second, with the mean of all rates, the worst latency, and the sum of all failures: the percentile of
    /// all seconds together cannot be computed from those of each second.
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
        next.unconnected = next.unconnected.or(self.line.unconnected.take());
        self.seconds += 1;
        self.line = next;
        None
    }
}

/// The note at the point from which lines combine several seconds.
pub fn intervals_begin(seconds: u64) -> String {
    format!(
        "        from here a line every {seconds} s: mean rates, p99 of the worst second (--progress 1s shows each)"
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
        let p99 = recent_p99(stream);
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
pub(crate) fn recent_p99(stream: &StreamProgress) -> String {
    match named_p99(stream) {
        ("p99", value) => value,
        (name, value) => format!("{name} {value}"),
    }
}

/// The p99 with its name, or the maximum with its name if there are too few ops for a p99.
pub(crate) fn named_p99(stream: &StreamProgress) -> (&'static str, String) {
    let shown = |ns: u64, at_least: bool| {
        let sign = if at_least { "≥ " } else { "" };
        format!("{sign}{}", duration(ns))
    };
    match (stream.p99_ns, stream.recent) {
        (Some(ns), _) => ("p99", shown(ns, stream.p99_at_least)),
        (None, None) => ("p99", ABSENT.to_owned()),
        (None, Some(recent)) => match recent.p99_ns {
            Some(ns) => ("p99", format!("{} ({} s)", shown(ns, recent.at_least), recent.seconds)),
            None => ("max", shown(recent.max_ns, recent.at_least)),
        },
    }
}

/// The meaning of the sign for such a percentile.
pub const LOWER_BOUND: &str =
    "≥: the slowest ops failed or have no response yet, and took at least as long";

/// The meaning of a figure over several seconds.
pub const RECENT: &str = "(10 s): p99 of the last 10 s, because a second has fewer than 100 ops; max: the slowest op in them";

/// Whether a figure over several seconds is shown, because a second has too few ops for a p99.
pub const fn is_recent(stream: &StreamProgress) -> bool {
    stream.p99_ns.is_none() && stream.recent.is_some()
}

/// Whether the percentile or maximum of the last seconds falls among ops that failed or have not ended.
pub fn is_lower_bound(stream: &StreamProgress) -> bool {
    let is_shown = stream.p99_ns.is_some();
    (is_shown && stream.p99_at_least)
        || (!is_shown && stream.recent.is_some_and(|recent| recent.at_least))
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

/// How far a trial is: `40 s of 60 s, 5,000 rows/s`.
pub fn trial_progress(second: &SecondProgress, length: Option<Nanos>) -> String {
    let of = length.map_or_else(String::new, |length| format!(" of {}", span(length.0)));
    let reached = second.streams.first().map_or_else(String::new, |stream| {
        format!(", {} {}/s", rate(stream.units_per_s), stream.unit.name())
    });
    format!("{} s{of}{reached}", second.second)
}

/// The line that replaces silent seconds.
pub const SILENCE: &str =
    "        no response in this second; the next lines without one are left out";

fn rate_title(stream: &StreamProgress) -> String {
    format!("{} {}/s", stream.stream, stream.unit.name())
}

fn rate_width(stream: &StreamProgress) -> usize {
    rate_title(stream).chars().count().max(RATE_WIDTH)
}

/// An objective and its current state.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObjectiveProgress<'a> {
    objective: &'a Objective,
    so_far: ObjectiveSoFar,
}

/// An objective in figures.
#[derive(Debug, Clone, PartialEq)]
pub struct ObjectiveFigures {
    /// The objective in words.
    pub objective: String,
    /// Its kind, named as in plans.
    pub kind: &'static str,
    /// The limit: a maximum fraction of ops, rows, or CPU, or a minimum throughput in units per second.
    pub allowed: f64,
    /// The measured value in the phase so far; absent if nothing was measured.
    pub measured: Option<f64>,
    /// Fraction of the limit that is used up; above 1 the objective is missed so far.
    pub used: Option<f64>,
}

/// All objectives, as of the last second.
pub fn objective_figures(
    objectives: &[Objective],
    last: Option<&SecondProgress>,
) -> Vec<ObjectiveFigures> {
    let known = last.map_or(&[][..], |last| last.objectives.as_slice());
    let so_far = known.iter().copied().chain(std::iter::repeat(ObjectiveSoFar::Nothing));
    objectives
        .iter()
        .zip(so_far)
        .map(|(objective, so_far)| ObjectiveProgress { objective, so_far }.figures())
        .collect()
}

/// Each objective as of a second; none outside a measured phase.
pub(crate) fn standings<'a>(
    objectives: &'a [Objective],
    line: &'a SecondProgress,
) -> impl Iterator<Item = ObjectiveProgress<'a>> {
    objectives
        .iter()
        .zip(&line.objectives)
        .map(|(objective, so_far)| ObjectiveProgress { objective, so_far: *so_far })
}

/// The objective that is nearest to a miss, or the farthest beyond its limit, in words.
pub(crate) fn nearest(objectives: &[Objective], line: &SecondProgress) -> Option<String> {
    let standings = standings(objectives, line);
    let nearest = standings
        .filter_map(|standing| Some((standing.used()?, standing)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    nearest.map(|(_, standing)| standing.words())
}

impl ObjectiveProgress<'_> {
    /// Fraction of the limit that is used up; above 1 the objective is missed so far.
    fn used(self) -> Option<f64> {
        match self.so_far {
            ObjectiveSoFar::Part { missed: 0, .. } => Some(0.0),
            ObjectiveSoFar::Part { missed, counted } => {
                Some(ratio(missed, counted) / (f64::from(self.allowed_ppm()) / 1e6))
            }
            ObjectiveSoFar::Rate { per_s } => match *self.objective {
                Objective::Throughput { min } => Some(min.as_f64() / per_s),
                _ => None,
            },
            ObjectiveSoFar::Cpu { busy } => Some(busy / (f64::from(self.allowed_ppm()) / 1e6)),
            ObjectiveSoFar::Nothing => None,
        }
    }

    fn figures(self) -> ObjectiveFigures {
        let (kind, allowed) = match *self.objective {
            Objective::Latency { .. } => ("latency", None),
            Objective::RowLatency { .. } => ("row_latency", None),
            Objective::Errors { .. } => ("errors", None),
            Objective::Rejected { .. } => ("rejected", None),
            Objective::Throughput { min } => ("throughput", Some(min.as_f64())),
            Objective::Cpu { .. } => ("cpu", None),
            Objective::Recovery { max } => ("recovery", Some(max.as_secs_f64())),
            Objective::During { min_ppm } => ("during", Some(f64::from(min_ppm) / 1e6)),
            Objective::Lost { max } => ("lost", Some(to_f64(max))),
        };
        let measured = match self.so_far {
            ObjectiveSoFar::Part { missed, counted } => Some(ratio(missed, counted)),
            ObjectiveSoFar::Rate { per_s } => Some(per_s),
            ObjectiveSoFar::Cpu { busy } => Some(busy),
            ObjectiveSoFar::Nothing => None,
        };
        ObjectiveFigures {
            objective: objective_bound(self.objective),
            kind,
            allowed: allowed.unwrap_or_else(|| f64::from(self.allowed_ppm()) / 1e6),
            measured,
            used: self.used(),
        }
    }

    /// Millionths that may exceed the limit, or be busy.
    const fn allowed_ppm(self) -> u32 {
        match *self.objective {
            Objective::Latency { quantile_ppm, .. }
            | Objective::RowLatency { quantile_ppm, .. } => {
                1_000_000_u32.saturating_sub(quantile_ppm)
            }
            Objective::Errors { max_ppm }
            | Objective::Rejected { max_ppm }
            | Objective::Cpu { max_ppm } => max_ppm,
            Objective::Throughput { .. }
            | Objective::Recovery { .. }
            | Objective::During { .. }
            | Objective::Lost { .. } => 0,
        }
    }

    /// Whether it is missed so far.
    pub(crate) fn is_missed(self) -> bool {
        self.used().is_some_and(|used| used > 1.0)
    }

    /// `p99 ≤ 50 ms: 0.42% took longer (1% allowed)`; a current miss comes first.
    pub(crate) fn words(self) -> String {
        let bound = objective_bound(self.objective);
        let (lead, so_far) = if self.is_missed() { ("failing, ", "") } else { ("", " so far") };
        let is_latency =
            matches!(self.objective, Objective::Latency { .. } | Objective::RowLatency { .. });
        let stands = match self.so_far {
            ObjectiveSoFar::Part { missed, counted } if is_latency => {
                let part = match missed {
                    0 => "none".to_owned(),
                    _ => percent(ratio(missed, counted)),
                };
                let allowed = percent_asked(self.allowed_ppm());
                format!("{part} took longer ({allowed} allowed)")
            }
            ObjectiveSoFar::Part { missed: 0, .. } => "none so far".to_owned(),
            ObjectiveSoFar::Part { missed, counted } => {
                let part = percent(ratio(missed, counted));
                format!("{part}{so_far} ({} of {})", count(missed), count(counted))
            }
            ObjectiveSoFar::Rate { per_s } => format!("{}/s{so_far}", rate(per_s)),
            ObjectiveSoFar::Cpu { busy } => format!("{} now", percent_whole(busy)),
            ObjectiveSoFar::Nothing => "nothing measured yet".to_owned(),
        };
        format!("{bound}: {lead}{stands}")
    }
}

#[cfg(test)]
mod tests {
    use highwater_model::event::{ObjectiveSoFar, RecentLatency};
    use highwater_model::plan::Unit;
    use highwater_model::units::Rate;

    use super::*;
    use crate::tests::{p99, second, stream};

    #[test]
    fn filling_reports_the_share_and_the_time_left() {
        let insert = |units_per_s| vec![stream("insert", Unit::Rows, units_per_s)];
        let line = |units_per_s| Interval::new(second(1, "fill", insert(units_per_s)));
        let mut filling = Filling::new(20_000, 100_000, false);
        let said = "fill: 20,000 of 100,000 rows are there";
        assert_eq!(filling.to_string(), said);
        assert_eq!(filling.after(&line(0.0)), "   20.0%");
        // 20,000 rows in two seconds, 60,000 remain.
        assert_eq!(filling.after(&line(20_000.0)), "   40.0%, about 6 s left");
        assert_eq!(filling.after(&line(60_000.0)), "  100.0%");
        let mut simulated = Filling::new(0, 100, true);
        assert_eq!(simulated.after(&line(20.0)), "   20.0%, about 4 s left to simulate");
    }

    #[test]
    fn a_trial_that_takes_long_shows_how_far_it_is() {
        let second = second(40, "measure", vec![stream("insert", Unit::Rows, 5_000.0)]);
        let shown = |length| trial_progress(&second, length);
        assert_eq!(shown(Some(Nanos::from_secs(60))), "40 s of 60 s, 5,000 rows/s");
        assert_eq!(shown(None), "40 s, 5,000 rows/s");
    }

    #[test]
    fn lines_stand_below_their_header() {
        let insert = StreamProgress {
            p99_ns: Some(4_400_000),
            p99_at_least: true,
            max_ns: None,
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
    fn a_stream_of_few_ops_shows_the_last_seconds_or_its_slowest_op_and_silence_once() {
        let mut line = second(12, "measure", vec![stream("insert", Unit::Rows, 0.0)]);
        assert!(is_silent(&line));
        assert_eq!(recent_p99(&line.streams[0]), ABSENT);
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
        assert_eq!(recent_p99(&line.streams[0]), "max 66.6 ms");
        line.streams[0].recent =
            Some(RecentLatency { p99_ns: Some(60_900_000), at_least: true, ..recent });
        assert_eq!(recent_p99(&line.streams[0]), "≥ 60.9 ms (10 s)");
        assert!(is_lower_bound(&line.streams[0]));
        line.streams[0].p99_ns = Some(60_900_000);
        assert!(!is_lower_bound(&line.streams[0]), "this second has a percentile of its own");
    }

    fn part(missed: u64, counted: u64) -> ObjectiveSoFar {
        ObjectiveSoFar::Part { missed, counted }
    }

    #[test]
    fn every_kind_of_objective_shows_its_distance_from_a_miss() {
        let p99 = p99(50);
        let of_insert = |quantile_ppm| Objective::Latency {
            quantile_ppm,
            max: Nanos::from_millis(50),
            op: Some("insert".to_owned()),
        };
        let errors = Objective::Errors { max_ppm: 1_000 };
        let rejected = Objective::Rejected { max_ppm: 0 };
        let min = Rate::per_second(50_000);
        let throughput = Objective::Throughput { min };
        let rate = |per_s| ObjectiveSoFar::Rate { per_s };
        let cpu = Objective::Cpu { max_ppm: 800_000 };
        let lines = [
            (&p99, ObjectiveSoFar::Nothing),
            (&p99, part(0, 900)),
            (&p99, part(4, 1_000)),
            (&p99, part(20, 1_000)),
            (&of_insert(900_000), part(20, 1_000)),
            (&of_insert(950_000), part(20, 1_000)),
            (&of_insert(999_000), part(20, 1_000)),
            (&errors, part(0, 10)),
            (&errors, part(1, 10_000)),
            (&rejected, part(1, 100)),
            (&throughput, rate(57_000.0)),
            (&throughput, rate(40_000.0)),
            (&cpu, ObjectiveSoFar::Cpu { busy: 0.71 }),
        ]
        .map(|(objective, so_far)| ObjectiveProgress { objective, so_far }.words());
        insta::assert_snapshot!(lines.join("\n"), @"
        p99 ≤ 50 ms: nothing measured yet
        p99 ≤ 50 ms: none took longer (1% allowed)
        p99 ≤ 50 ms: 0.400% took longer (1% allowed)
        p99 ≤ 50 ms: failing, 2.00% took longer (1% allowed)
        insert p90 ≤ 50 ms: 2.00% took longer (10% allowed)
        insert p95 ≤ 50 ms: 2.00% took longer (5% allowed)
        insert p99.9 ≤ 50 ms: failing, 2.00% took longer (0.1% allowed)
        errors ≤ 0.1%: none so far
        errors ≤ 0.1%: 0.0100% so far (1 of 10,000)
        rejected ≤ 0%: failing, 1.00% (1 of 100)
        throughput ≥ 50,000/s: 57,000/s so far
        throughput ≥ 50,000/s: failing, 40,000/s
        CPU ≤ 80%: 71% now
        ");
    }

    #[test]
    fn every_kind_of_objective_has_its_allowed_and_measured_value() {
        let objectives = [
            p99(50),
            Objective::RowLatency { quantile_ppm: 900_000, max: Nanos::from_millis(50) },
            Objective::Errors { max_ppm: 1_000 },
            Objective::Rejected { max_ppm: 0 },
            Objective::Throughput { min: Rate::per_second(50_000) },
            Objective::Cpu { max_ppm: 800_000 },
        ];
        let last = SecondProgress {
            objectives: vec![
                part(4, 1_000),
                ObjectiveSoFar::Nothing,
                part(0, 10),
                part(1, 100),
                ObjectiveSoFar::Rate { per_s: 40_000.0 },
                ObjectiveSoFar::Cpu { busy: 0.4 },
            ],
            ..second(1, "measure", Vec::new())
        };
        let lines = |last| {
            let figures = objective_figures(&objectives, last);
            let lines = figures.into_iter().map(|of| {
                let figure = |value: Option<f64>| value.map_or("-".to_owned(), |v| v.to_string());
                let (measured, used) = (figure(of.measured), figure(of.used));
                format!("{} {} {measured} {used}", of.kind, of.allowed)
            });
            lines.collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(lines(Some(&last)), @"
        latency 0.01 0.004 0.4
        row_latency 0.1 - -
        errors 0.001 0 0
        rejected 0 0.01 inf
        throughput 50000 40000 1.25
        cpu 0.8 0.4 0.5
        ");
        let before = lines(None);
        assert!(before.lines().all(|line| line.ends_with(" - -")), "{before}");
        assert_eq!(before.lines().count(), objectives.len());
    }

    #[test]
    fn one_line_shows_the_objective_that_is_nearest_to_a_miss() {
        let objectives =
            [p99(50), Objective::Errors { max_ppm: 1_000 }, Objective::Cpu { max_ppm: 800_000 }];
        let line = |so_far: &[ObjectiveSoFar]| SecondProgress {
            objectives: so_far.to_vec(),
            ..second(1, "measure", Vec::new())
        };
        let cpu = ObjectiveSoFar::Cpu { busy: 0.4 };
        let nearest = |so_far: &[ObjectiveSoFar]| nearest(&objectives, &line(so_far));
        let shown = nearest(&[part(4, 1_000), part(0, 1_000), cpu]);
        assert_eq!(shown.as_deref(), Some("CPU ≤ 80%: 40% now"));
        let shown = nearest(&[part(4, 1_000), part(9, 10_000), cpu]).unwrap();
        assert_eq!(shown, "errors ≤ 0.1%: 0.0900% so far (9 of 10,000)");
        let nothing = ObjectiveSoFar::Nothing;
        assert_eq!(nearest(&[nothing, nothing, nothing]), None);
        assert_eq!(nearest(&[]), None, "a warm-up shows none");
    }
}
