//! The answer of a record: its question in words, the one figure that answers it with its interval, the limit, three
//! judgments with a sentence each, and a few key figures.
//!
//! Every output starts with the answer. Must not judge, compute a figure, or depend on a kind of record or on markup.

#[cfg(test)]
mod tests;

use highwater_model::display::{foreign, rate, span, with_unit};
use highwater_model::judgment::{Data, Judgments, Measurement};
use highwater_model::limit::Limit;
use highwater_model::plan::Unit;
use highwater_model::record::MeasuredRun;

use crate::blocks::Ink;
use crate::layout::list;
use crate::limit;

/// Maximum characters of text from the target.
pub(crate) const WORDS: usize = 60;
/// The same for a version, which is then shortened.
const VERSION: usize = 400;

/// The first part of every output.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answer {
    /// One line that ends with a question mark.
    pub(crate) question: String,
    /// Text before the figure, such as `Yes:`; may be empty.
    pub(crate) lead: String,
    /// The one large figure, or the setting that was found.
    pub(crate) figure: String,
    /// Unit of the figure; may be empty.
    pub(crate) unit: String,
    /// The condition of the figure, such as `at p99 64.0 ms`; may be empty.
    pub(crate) condition: String,
    /// How good the figure is, if it is a verdict.
    pub(crate) tone: Tone,
    /// The failures, if they exceed the default bound because none is stated.
    pub(crate) failed: Option<String>,
    /// Why the figure must not be quoted; absent if it may be.
    pub(crate) caveat: Option<&'static str>,
    /// Uncertainty of the figure.
    pub(crate) interval: String,
    /// The data on which the figure is based, printed after the interval.
    pub(crate) basis: String,
    /// The limit of the figure, or the reason why it is not another one.
    pub(crate) limit: Option<LimitLine>,
    /// Three judgments, always in the same order.
    pub(crate) judgments: Vec<JudgmentLine>,
    /// At most six figures next to the answer.
    pub(crate) keys: Vec<KeyFigure>,
    /// At most three, the most influential first, each with the flag that changes it.
    pub(crate) assumptions: Vec<String>,
}

/// How good the value of a judgment is, in ascending order of severity.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tone {
    #[default]
    None,
    Good,
    Open,
    Bad,
}

impl Tone {
    /// Its color on a terminal.
    pub(crate) const fn ink(self) -> Ink {
        match self {
            Self::Good => Ink::Good,
            Self::Bad => Ink::Bad,
            Self::Open => Ink::Open,
            Self::None => Ink::Plain,
        }
    }
}

/// The limit of an answer.
#[derive(Debug, Clone)]
pub(crate) struct LimitLine {
    /// `Limited by`.
    pub(crate) label: String,
    /// The resource with its figure; may be empty.
    pub(crate) what: String,
    /// Additional text; may be empty.
    pub(crate) more: String,
    /// Whether something was at its limit.
    pub(crate) is_reached: bool,
}

/// A judgment with one sentence of evidence.
#[derive(Debug, Clone)]
pub(crate) struct JudgmentLine {
    /// `Measurement`.
    pub(crate) name: &'static str,
    /// `valid`.
    pub(crate) value: String,
    /// Its severity.
    pub(crate) tone: Tone,
    /// The evidence.
    pub(crate) sentence: String,
}

/// A figure with its name and a word of context.
#[derive(Debug, Clone)]
pub(crate) struct KeyFigure {
    /// Name of the figure.
    pub(crate) name: String,
    /// The value with its unit.
    pub(crate) figure: String,
    /// Context of the figure; may be empty.
    pub(crate) note: String,
}

impl KeyFigure {
    pub(crate) fn new(
        name: impl Into<String>,
        figure: impl Into<String>,
        note: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), figure: figure.into(), note: note.into() }
    }
}

impl Answer {
    /// A word in place of a figure, and why there is nothing to quote.
    pub(crate) fn without_figure(word: &str, caveat: &'static str) -> Self {
        let figure = word.to_owned();
        Self { figure, tone: Tone::Open, caveat: Some(caveat), ..Self::default() }
    }

    /// No result was measured.
    pub(crate) fn nothing(question: String, caveat: &'static str) -> Self {
        Self { question, ..Self::without_figure("Nothing was measured", caveat) }
    }

    /// The answer as one sentence to quote.
    pub(crate) fn sentence(&self) -> String {
        let judged = self
            .judgments
            .iter()
            .map(|line| format!("{} {}", line.name.to_lowercase(), line.value));
        format!("{} {}. {}.", self.question, self.in_words(), list(judged, ", "))
    }

    /// The figure with its condition, and in parentheses its interval and its basis.
    pub(crate) fn in_words(&self) -> String {
        let figure = with_unit(&self.figure, &self.unit);
        let answer = [&self.lead, &figure, &self.condition];
        let answer = list(answer.into_iter().filter(|of| !of.is_empty()).map(String::as_str), " ");
        let known = [&self.interval, &self.basis];
        let known = list(known.into_iter().filter(|of| !of.is_empty()).map(String::as_str), ", ");
        if known.is_empty() { answer } else { format!("{answer} ({known})") }
    }

    /// Marks the answer as not quotable if the measurement is not valid or the data are wrong.
    pub(crate) fn cautioned(mut self, judged: &Judgments) -> Self {
        let spoiled = match (judged.measurement.value, judged.data.value) {
            (Measurement::Invalid, _) => Some("not to be quoted: the measurement is not valid"),
            (_, Data::Lost | Data::Duplicated | Data::Surplus | Data::Altered) => {
                Some("not to be quoted: the data are wrong")
            }
            _ => None,
        };
        self.caveat = spoiled.or(self.caveat);
        self
    }
}

/// The target as it describes itself, without an address.
pub(crate) fn target_name(run: &MeasuredRun<'_>) -> String {
    let version = short_target(&run.target.version);
    match version.as_str() {
        "" => "the target".to_owned(),
        _ if run.target.simulated => format!("a {version}"),
        _ => version,
    }
}

/// A version without how the server was built, or the model of a simulated cluster.
pub fn short_target(version: &str) -> String {
    let version = foreign(version, VERSION);
    let details = [", model", " (", " on ", ", compiled"];
    let ends = details.iter().filter_map(|detail| version.find(detail));
    let short = &version[..ends.min().unwrap_or(version.len())];
    foreign(short.trim(), WORDS)
}

/// The limit as a line, followed by the runner-up.
pub(crate) fn limit_line(limit: &Limit) -> LimitLine {
    let (_, sentence) = limit::line(limit);
    let (what, more) = match sentence.split_once(" (") {
        Some((what, more)) => (what, format!("({more}")),
        None => (sentence.as_str(), String::new()),
    };
    let is_reached = limit.by.is_some();
    LimitLine {
        label: if is_reached { "Limited by" } else { "Limit" }.to_owned(),
        what: what.to_owned(),
        more,
        is_reached,
    }
}

/// `98,300 rows/s`.
pub(crate) fn rated(value: f64, unit: &str) -> String {
    format!("{} {unit}", rate(value))
}

/// The 90% interval of a figure, each end formatted by `show`.
pub(crate) fn interval90(low: f64, high: f64, show: fn(f64) -> String) -> String {
    format!("90% interval {} to {}", show(low), show(high))
}

/// `1 run`, `3 runs`.
pub(crate) fn plural(number: usize, one: &str) -> String {
    let number_text = highwater_model::display::count(number as u64);
    let s = if number == 1 { "" } else { "s" };
    format!("{number_text} {one}{s}")
}

/// A duration such as `1 min 5 s`, rounded to seconds if it is long enough.
pub(crate) fn to_the_second(ns: u64) -> String {
    const SECOND: u64 = 1_000_000_000;
    if ns < SECOND {
        return span(ns);
    }
    span((ns + SECOND / 2) / SECOND * SECOND)
}

/// Kind of a record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HistoryKind {
    /// One run.
    Run,
    /// A search for the mark.
    Search,
    /// A tuning.
    Tuning,
    /// Runs of variants.
    Group,
    /// A growth.
    Growth,
    /// A measurement of another tool.
    Imported,
    /// A run that is in progress, or ended without a record.
    #[default]
    WithoutRecord,
}

impl HistoryKind {
    /// The name in a list.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Search => "find",
            Self::Tuning => "tune",
            Self::Group => "group",
            Self::Growth => "scale",
            Self::Imported => "imported",
            Self::WithoutRecord => "no record yet",
        }
    }
}

/// A figure that answers a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HistoryAnswer {
    /// Units per second, unless it is a number of sessions.
    pub value: f64,
    /// Its confidence interval; absent if unknown.
    pub interval: Option<[f64; 2]>,
    /// What it counts; absent for sessions.
    pub unit: Option<Unit>,
}

impl HistoryAnswer {
    /// The text after the figure.
    pub(crate) fn unit_beside(self) -> String {
        let unit = self.unit;
        unit.map_or("sessions".to_owned(), |unit| format!("{}/s", unit.name()))
    }
}

/// `3 nodes`.
pub(crate) fn nodes(number: u32) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} node{plural}")
}
