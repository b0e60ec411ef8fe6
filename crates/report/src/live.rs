//! The live display of a terminal: a few lines, redrawn in place, with the progress, the remaining time, and the trend
//! of the last minute.
//!
//! Pure: takes the time as an argument and returns lines. Must not write to the terminal.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::mem::discriminant;

use highwater_model::display::{count, duration, foreign, plain, rate, ratio};
use highwater_model::event::{
    AuditProgress, ExperimentProgress, LoadBounds, SecondProgress, StreamProgress, Trial,
};
use highwater_model::numbers::{len_to_f64, round_to_u64, round_to_usize, to_f64};
use highwater_model::plan::{Objective, Unit};
use highwater_model::units::Nanos;

use super::events::{settings_line, unconnected};
use super::layout::{Row, aligned, headed, list, or_absent};
use super::progress::{LOWER_BOUND, is_lower_bound, offered, recent_p99, standings};

/// Seconds of a trend.
const TREND_S: usize = 60;
/// Cells of a bar, on a terminal with at least `WIDE` columns and on a narrower one.
const BAR: usize = 24;
const WIDE: usize = 79;
const SHORT_BAR: usize = 10;
/// Columns before a bar.
const LABEL: usize = 13;
/// Maximum progress that is estimated from time alone: an audit query does not end before its
/// response.
const NEARLY: f64 = 0.99;
/// Maximum number of objectives shown.
const OBJECTIVES: usize = 4;
/// Maximum characters of a name.
const WORDS: usize = 40;

/// State of the display.
#[derive(Debug, Clone, Default)]
pub struct Live {
    /// The experiments whose trials run, the outermost first.
    experiments: Vec<RunningTrial>,
    part: Part,
    /// Objectives of the current run.
    objectives: Vec<Objective>,
    /// The working directory's settings file, if it has any effect.
    settings_file: Option<String>,
    /// Whether times are those of a simulated clock.
    simulated: bool,
}

/// A trial, when it began, and the progress of its experiment then.
#[derive(Debug, Clone)]
struct RunningTrial {
    trial: Trial,
    begin: Nanos,
    progress: ExperimentProgress,
}

#[derive(Debug, Clone, Default)]
enum Part {
    #[default]
    Nothing,
    Load(Load),
    Audit {
        begin: Nanos,
        progress: AuditProgress,
    },
}

#[derive(Debug, Clone, Default)]
struct Load {
    bounds: LoadBounds,
    /// Rows acknowledged since the load began.
    rows: f64,
    /// Ops dropped since the load began.
    dropped: u64,
    last: Option<SecondProgress>,
    streams: Vec<StreamTimeline>,
}

/// Figures of a stream since the load began.
#[derive(Debug, Clone, Default)]
struct StreamTimeline {
    units_per_s: VecDeque<f64>,
    errors: u64,
    rejected: u64,
}

impl Live {
    /// A run begins, with these objectives, and the settings file of its directory.
    pub fn begin(&mut self, objectives: &[Objective], settings_file: Option<&str>) {
        self.objectives = objectives.to_vec();
        self.settings_file = settings_file.map(str::to_owned);
    }

    /// Its times are those of a simulated clock.
    pub const fn simulate(&mut self, simulated: bool) {
        self.simulated = simulated;
    }

    /// A trial begins: the next one of its experiment, or one of an experiment of the current trial.
    pub fn trial(&mut self, begin: Nanos, trial: &Trial, progress: ExperimentProgress) {
        let kind = discriminant(trial);
        let place = self.experiments.iter().position(|of| discriminant(&of.trial) == kind);
        self.experiments.truncate(place.unwrap_or(self.experiments.len()));
        self.experiments.push(RunningTrial { trial: trial.clone(), begin, progress });
        self.part = Part::Nothing;
    }

    /// A trial has ended; the target is idle until the next one.
    pub fn trial_ended(&mut self) {
        self.experiments.pop();
        self.part = Part::Nothing;
    }

    /// The next part of the run begins.
    pub fn other_part(&mut self) {
        self.part = Part::Nothing;
    }

    /// A load begins.
    pub fn load(&mut self, bounds: LoadBounds) {
        self.part = Part::Load(Load { bounds, ..Load::default() });
    }

    /// Adds a second of load.
    pub fn second(&mut self, line: &SecondProgress) {
        if !matches!(self.part, Part::Load(_)) {
            self.load(LoadBounds::default());
        }
        if let Part::Load(load) = &mut self.part {
            load.second(line);
        }
    }

    /// Updates the progress of an audit.
    pub fn audit(&mut self, now: Nanos, progress: AuditProgress) {
        let begin = match &self.part {
            Part::Audit { begin, .. } => *begin,
            Part::Nothing | Part::Load(_) => now,
        };
        self.part = Part::Audit { begin, progress };
    }

    /// The current lines for a terminal of this size.
    pub fn lines(&self, now: Nanos, columns: usize, rows: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let levels = 0..self.experiments.len();
        lines.extend(levels.map(|level| self.experiment_bar(level, now).line(columns)));
        match &self.part {
            Part::Nothing => {}
            Part::Load(load) => {
                lines.extend(load.lines(columns, self.simulated));
                lines.extend(self.objective_lines(load));
                let settings = self.settings_file.as_ref();
                lines.extend(settings.map(|file| format!("{:LABEL$}{}", "", settings_line(file))));
            }
            Part::Audit { begin, progress } => {
                lines.push(audit_bar(progress, now.saturating_sub(*begin)).line(columns));
            }
        }
        lines.truncate(rows);
        lines.iter().map(|line| cut(line, columns)).collect()
    }

    /// The progress bar of an experiment: its trials or its budget, whichever is closer to its end. On a simulated
    /// clock, the elapsed time of the current trial is the sum of that of its own trials and seconds.
    fn experiment_bar(&self, level: usize, now: Nanos) -> Bar {
        let RunningTrial { trial, begin, progress } = &self.experiments[level];
        let second = match &self.part {
            Part::Load(load) => load.last.as_ref().map_or(0, |last| last.second),
            Part::Nothing | Part::Audit { .. } => 0,
        };
        let nested = self.experiments[level + 1..].iter().map(|of| of.progress.spent.0);
        let elapsed = if self.simulated {
            Nanos(nested.fold(Nanos::from_secs(second).0, u64::saturating_add))
        } else {
            now.saturating_sub(*begin)
        };
        let spent = progress.spent.0.saturating_add(elapsed.0);
        let number = progress.done.saturating_add(1);
        let (label, one) = match trial {
            Trial::Size { .. } => ("sizes", "size"),
            _ => ("trials", "trial"),
        };
        let mut about = vec![if progress.likely < progress.most {
            format!("{one} {number} of about {}", progress.likely.max(number))
        } else {
            format!("{one} {number} of at most {}", progress.most)
        }];
        let mut share = ratio(progress.done.into(), progress.likely.max(number).into());
        if let Some(budget) = progress.budget {
            about.push(format!("{} of {}", whole_s(spent), whole_s(budget.0)));
            share = share.max(ratio(spent, budget.0));
        }
        let left = progress.left.saturating_sub(elapsed).0;
        let left = format!("about {} {}", whole_s(left), left_words(self.simulated));
        Bar { label: label.to_owned(), share, left: Some(left), about }
    }

    /// Each objective in the measured phase so far.
    fn objective_lines(&self, load: &Load) -> Vec<String> {
        let Some(last) = &load.last else {
            return Vec::new();
        };
        let mut standings = standings(&self.objectives, last);
        let mut lines: Vec<String> = standings
            .by_ref()
            .take(OBJECTIVES)
            .map(|standing| format!("{:<LABEL$}{}", "objective", standing.words()))
            .collect();
        let more = standings.count();
        if more > 0 {
            lines.push(format!("{:LABEL$}and {more} more", ""));
        }
        lines
    }
}

/// A line with a bar: the activity, its progress, the remaining time, and additional facts.
struct Bar {
    label: String,
    share: f64,
    left: Option<String>,
    about: Vec<String>,
}

impl Bar {
    /// `load         ██████░░░░░░   50.0%  5 s left · about`; shorter on a narrow terminal.
    fn line(&self, columns: usize) -> String {
        let about = self.left.iter().chain(&self.about);
        let about = list(about.map(String::as_str), " · ");
        let label = foreign(&self.label, LABEL - 2);
        let bar = bar(self.share, if columns < WIDE { SHORT_BAR } else { BAR });
        let line = format!("{label:<LABEL$}{bar}  {about}");
        line.trim_end().to_owned()
    }
}

/// The words after a remaining time; they name a simulated clock, because it differs from the reader's.
pub(crate) const fn left_words(simulated: bool) -> &'static str {
    if simulated { "left to simulate" } else { "left" }
}

/// The bar of an audit. A database reports no progress while it runs a query over all rows; until the response, the
/// expected duration estimates it.
fn audit_bar(progress: &AuditProgress, elapsed: Nanos) -> Bar {
    let counted = ratio(progress.rows, progress.of);
    let under_way = ratio(progress.rows.saturating_add(progress.under_way), progress.of);
    let expected = ratio(elapsed.0, progress.estimate.0);
    let share = counted.max(expected.min(under_way).min(NEARLY));
    // Remaining time at the pace so far.
    let left = elapsed.as_secs_f64() * (1.0 - share) / share;
    let left = Some(left.max(0.0)).filter(|left| share > 0.0 && left.is_finite());
    let rows = count(progress.rows.min(progress.of));
    Bar {
        label: "audit".to_owned(),
        share,
        left: left.map(|left| format!("about {} left", seconds(left))),
        about: vec![
            format!("{rows} of {} rows", count(progress.of)),
            foreign(&progress.doing.to_string(), 2 * WORDS),
        ],
    }
}

impl Load {
    fn second(&mut self, line: &SecondProgress) {
        self.streams.resize_with(line.streams.len(), StreamTimeline::default);
        for (timeline, stream) in self.streams.iter_mut().zip(&line.streams) {
            timeline.units_per_s.push_back(stream.units_per_s);
            if timeline.units_per_s.len() > TREND_S {
                timeline.units_per_s.pop_front();
            }
            timeline.errors += stream.errors;
            timeline.rejected += stream.rejected;
        }
        let rows = line.streams.iter().find(|s| s.unit == Unit::Rows);
        self.rows += rows.map_or(0.0, |stream| stream.units_per_s);
        self.dropped += line.dropped;
        self.last = Some(line.clone());
    }

    fn lines(&self, columns: usize, simulated: bool) -> Vec<String> {
        let mut lines = vec![self.bar(simulated).line(columns)];
        let Some(last) = &self.last else {
            return lines;
        };
        let both = || last.streams.iter().zip(&self.streams);
        let head = "stream | offered | achieved | p50 | p99 | errors | rejected";
        let rows = headed(head, both().map(|(stream, timeline)| row(stream, timeline)));
        let mut table = aligned(&rows, 1).into_iter();
        lines.extend(table.next());
        for (row, (stream, timeline)) in table.zip(both()) {
            lines.extend([row, last_minute(timeline, stream.unit, columns)]);
        }
        let is_bound = last.streams.iter().any(is_lower_bound);
        lines.extend(is_bound.then(|| format!("{:LABEL$}{LOWER_BOUND}", "")));
        let away = last.unconnected.iter();
        lines.extend(away.map(|why| format!("{:LABEL$}{}", "", unconnected(why))));
        lines
    }

    /// Progress, and the latest end.
    fn bar(&self, simulated: bool) -> Bar {
        let Some(last) = &self.last else {
            return Bar { label: "begins".to_owned(), share: 0.0, left: None, about: Vec::new() };
        };
        let mut about = Vec::new();
        let (mut share, mut left, mut estimated) = (0.0_f64, None::<f64>, "");
        let elapsed = Nanos::from_secs(last.second).as_secs_f64();
        if let Some(rows) = self.bounds.rows {
            let there = to_f64(self.bounds.there) + self.rows;
            let missing = (to_f64(rows) - there).max(0.0);
            share = (there / to_f64(rows).max(1.0)).min(1.0);
            about.push(format!("{} of {} rows", count(round_to_u64(there).min(rows)), count(rows)));
            let at_this_pace = missing / (self.rows / elapsed);
            left = Some(at_this_pace).filter(|left| left.is_finite());
            estimated = "about ";
        }
        if let Some(length) = self.bounds.length {
            let of_time = length.as_secs_f64();
            share = share.max((elapsed / of_time).min(1.0));
            about.push(format!("{} of {}", seconds(elapsed.min(of_time)), seconds(of_time)));
            let rest = (of_time - elapsed).max(0.0);
            left = Some(left.map_or(rest, |left| left.min(rest)));
        }
        about.push(format!("{} sessions", count(last.sessions.into())));
        let dropped = Some(self.dropped).filter(|dropped| *dropped > 0);
        about.extend(dropped.map(|dropped| format!("{} dropped", count(dropped))));
        Bar {
            label: last.phase.clone(),
            share,
            left: left
                .map(|left| format!("{estimated}{} {}", seconds(left), left_words(simulated))),
            about,
        }
    }
}

fn row(stream: &StreamProgress, timeline: &StreamTimeline) -> Row {
    let recent = stream.recent.and_then(|recent| recent.p50_ns);
    let p50 = stream.p50_ns.or(recent);
    Row::new([
        foreign(&stream.stream, WORDS),
        offered(stream.offered_per_s),
        format!("{} {}/s", rate(stream.units_per_s), stream.unit.name()),
        or_absent(p50, duration),
        recent_p99(stream),
        count(timeline.errors),
        count(timeline.rejected),
    ])
}

/// The trend of the last minute as far as it fits, and its maximum if that fits, too.
fn last_minute(timeline: &StreamTimeline, unit: Unit, columns: usize) -> String {
    let room = columns.saturating_sub(LABEL).max(1);
    let highest = timeline.units_per_s.iter().copied().fold(0.0, f64::max);
    let trend = trend(&timeline.units_per_s, room);
    let highest = format!("  up to {} {}/s", rate(highest), unit.name());
    let fits = trend.chars().count() + highest.chars().count() <= room;
    let highest = if fits { highest.as_str() } else { "" };
    format!("{:LABEL$}{trend}{highest}", "")
}

/// Whole seconds from ten on, as on a clock.
fn seconds(seconds: f64) -> String {
    if seconds < 10.0 {
        return format!("{} s", plain((seconds * 10.0).round() / 10.0));
    }
    whole_s(Nanos::from_secs(round_to_u64(seconds)).0)
}

fn whole_s(ns: u64) -> String {
    let second = Nanos::SECOND.0;
    match ns.div_ceil(second) {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds => duration(seconds.saturating_mul(second)),
    }
}

const FILLED: &str = "█";
const EMPTY: &str = "░";
/// Heights of a trend.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Replaces the end of a truncated line.
const CUT: char = '…';

/// `██████░░░░░░   50.0%`, for a fraction from 0 to 1, `width` characters wide.
fn bar(share: f64, width: usize) -> String {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let filled = round_to_usize(share * len_to_f64(width));
    let bar = [FILLED.repeat(filled), EMPTY.repeat(width - filled)].concat();
    format!("{bar}  {:>5.1}%", share * 100.0)
}

/// Values from 0 to their maximum, one character each.
fn trend(values: &VecDeque<f64>, most: usize) -> String {
    let highest = values.iter().copied().fold(0.0, f64::max);
    let shown = values.iter().skip(values.len().saturating_sub(most));
    let height = |value: &f64| {
        let share = if highest > 0.0 { value / highest } else { 0.0 };
        HEIGHTS[round_to_usize(share * len_to_f64(HEIGHTS.len() - 1)).min(HEIGHTS.len() - 1)]
    };
    shown.map(height).collect()
}

/// A line that a terminal with `columns` columns does not wrap.
fn cut(line: &str, columns: usize) -> String {
    if line.chars().map(width).sum::<usize>() <= columns {
        return line.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let mut shown: String = line
        .chars()
        .take_while(|character| {
            let fits = width(*character) <= left;
            left = left.saturating_sub(width(*character));
            fits
        })
        .collect();
    if columns > 0 {
        shown.push(CUT);
    }
    shown
}

/// Maximum columns of a character: 2 for scripts that are known for wide characters.
fn width(character: char) -> usize {
    let own = matches!(character, '\u{2000}'..='\u{22ff}' | '\u{2500}'..='\u{259f}');
    if character < '\u{1100}' || own { 1 } else { 2 }
}
