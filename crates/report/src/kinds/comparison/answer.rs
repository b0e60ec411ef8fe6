//! The answer of a comparison: the question, the verdict in a sentence, what differs, and the key figures. Must not
//! decide a verdict.

use highwater_analysis::comparison::{
    Comparison, Difference, ESTIMATE, FigureComparison, Kind, Verdict,
};
use highwater_model::display::foreign;

use super::{
    WORDS, difference, figures_of, headlines, interval, of_verdict, setting, threshold, word,
};
use crate::answer::{Answer, KeyFigure, LimitLine, Tone, WORDS as SHORT, plural};
use crate::layout::list;

/// Kinds of settings that name a group, the most informative first.
const TELLING: [&str; 7] =
    ["pace ", "parameter ", "length", "URL ", "setting ", "target version", "target"];

/// `B is worse than A`; a verdict that is none is in the caveat.
fn sentence_of(names: [&str; 2], comparison: &Comparison) -> String {
    if comparison.is_guarded() {
        let [a, b] = titles(names, comparison);
        return format!("{b} against {a}");
    }
    let [a, b] = names.map(|name| foreign(name, WORDS));
    let is = match comparison.verdict() {
        Verdict::Worse => "is worse than",
        Verdict::Better => "is better than",
        Verdict::Equal => {
            let within = comparison.primary().map_or_else(String::new, threshold);
            return format!("{b} is within {within} of {a}");
        }
        Verdict::Inconclusive | Verdict::NotCompared => "against",
    };
    format!("{b} {is} {a}")
}

/// `B is worse than A: insert throughput -20.0%`, with the decisive figures.
pub(crate) fn sentence(names: [&str; 2], comparison: &Comparison) -> String {
    let figures = list(headlines(comparison), ", ");
    let verdict = sentence_of(names, comparison);
    let caveat = comparison.primary().and_then(|primary| caveat(comparison, primary));
    caveat.map_or_else(
        || format!("{verdict}: {figures}"),
        |caveat| format!("{verdict}: {figures}; {caveat}"),
    )
}

/// The answer of one comparison, without judgments.
pub(crate) fn answer(names: [&str; 2], comparison: &Comparison) -> Answer {
    let question = question(names, comparison);
    let limit = Some(differs(comparison));
    let primary = comparison.primary();
    if comparison.is_guarded() {
        let caveat = "no verdict: the groups answer different questions";
        return Answer {
            question,
            limit,
            lead: "A and B are".to_owned(),
            basis: alike(comparison),
            keys: primary
                .map_or_else(Vec::new, |of| keys(comparison, of).into_iter().take(2).collect()),
            ..Answer::without_figure("not comparable", caveat)
        };
    }
    let Some(primary) = primary else {
        return Answer {
            question,
            limit,
            ..Answer::without_figure(
                "Inconclusive",
                "nothing to compare: at least one has neither the figure nor an estimate of it",
            )
        };
    };
    let name = foreign(&primary.figure.full_name(), SHORT);
    let (figure, unit) = difference(primary);
    Answer {
        question,
        lead: format!("{}: {name}", lead(names, comparison)),
        figure,
        unit,
        tone: match comparison.verdict() {
            Verdict::Worse => Tone::Bad,
            Verdict::Better => Tone::Good,
            Verdict::Equal => Tone::None,
            Verdict::Inconclusive | Verdict::NotCompared => Tone::Open,
        },
        caveat: caveat(comparison, primary),
        interval: match primary.effect {
            Some(_) => format!("95% CI {}", interval(primary)),
            None if primary.verdict == Verdict::NotCompared => String::new(),
            None if primary.verdict != Verdict::Inconclusive => {
                "the percentile of one group falls among failed ops, which never end".to_owned()
            }
            None => "interval not known: one run does not show how runs vary".to_owned(),
        },
        basis: format!(
            "{} of A, {} of B; below {} counts as equal",
            plural(comparison.runs[0], "run"),
            comparison.runs[1],
            threshold(primary)
        ),
        limit,
        keys: keys(comparison, primary),
        ..Answer::default()
    }
}

/// What to do about groups that answer different questions.
fn alike(comparison: &Comparison) -> String {
    let questions = comparison.differences.iter().filter(|of| of.kind == Kind::Question);
    let names: Vec<String> = questions.take(NAMED).map(plain_name).collect();
    format!("to compare them, measure both with the same {}", list(names, ", "))
}

/// Maximum number of differing settings in a sentence.
const NAMED: usize = 3;

/// Maximum characters of a name that an answer repeats from its question.
const REPEATED: usize = 28;

/// The verdict, with long names as letters.
fn lead(names: [&str; 2], comparison: &Comparison) -> String {
    let is_short = |name: &&str| name.chars().count() <= REPEATED;
    let names = if names.iter().all(is_short) { names } else { ["A", "B"] };
    let sentence = sentence_of(names, comparison);
    let is_open = comparison.verdict() == Verdict::Inconclusive;
    if is_open { format!("{sentence}, inconclusive") } else { sentence }
}

fn caveat(comparison: &Comparison, primary: &FigureComparison) -> Option<&'static str> {
    if comparison.is_guarded() {
        return Some("no verdict: the groups answer different questions");
    }
    let is_open = primary.verdict == Verdict::Inconclusive;
    if is_open && primary.figure.name == ESTIMATE {
        return Some("not all of these searches have a mark: their estimates are compared");
    }
    is_open.then_some("inconclusive: these runs do not show whether it differs")
}

/// Both names, each with its differing setting.
fn question(names: [&str; 2], comparison: &Comparison) -> String {
    let [a, b] = titles(names, comparison);
    format!("Is B, {b}, better than A, {a}?")
}

/// The title of each group: its name, and the setting in which the groups differ.
fn titles(names: [&str; 2], comparison: &Comparison) -> [String; 2] {
    let telling = telling(comparison);
    let named = |side: usize| {
        let name = foreign(names[side], SHORT);
        let Some(difference) = telling else {
            return name;
        };
        let value = foreign([&difference.a, &difference.b][side], SHORT);
        let setting = plain_name(difference);
        if is_said(&name, &setting, &value) {
            return name;
        }
        format!("{name} ({setting} {value})")
    };
    [named(0), named(1)]
}

/// Whether a name already contains the value of a setting. A bare number could also be part of a date.
fn is_said(name: &str, setting: &str, value: &str) -> bool {
    if value.parse::<f64>().is_ok() {
        return name.contains(&format!("{setting}={value}"));
    }
    let is_inner = |next: Option<char>| next.is_some_and(char::is_alphanumeric);
    name.match_indices(value).any(|(at, _)| {
        let (before, after) = (&name[..at], &name[at + value.len()..]);
        !is_inner(before.chars().next_back()) && !is_inner(after.chars().next())
    })
}

pub(super) fn telling(comparison: &Comparison) -> Option<&Difference> {
    let settings =
        || comparison.differences.iter().filter(|difference| difference.kind == Kind::Setting);
    TELLING
        .iter()
        .find_map(|start| settings().find(|difference| difference.name.starts_with(start)))
        .or_else(|| settings().next())
}

fn plain_name(difference: &Difference) -> String {
    let name = difference.name.as_str();
    let name = ["pace ", "parameter ", "URL ", "setting ", "machine "]
        .iter()
        .find_map(|start| name.strip_prefix(start))
        .unwrap_or(name);
    foreign(name, SHORT)
}

fn differs(comparison: &Comparison) -> LimitLine {
    let all = comparison.differences.len();
    let value = |text: &str| setting(text, SHORT);
    let shown = telling(comparison).or_else(|| comparison.differences.first());
    let (what, more) = match shown {
        None => ("nothing".to_owned(), "that the records show.".to_owned()),
        Some(shown) => {
            let (name, a, b) = (plain_name(shown), value(&shown.a), value(&shown.b));
            let more = match all {
                1 => "All else that the records show is the same.".to_owned(),
                more => format!("And {} more.", more - 1),
            };
            (format!("{name} {a} → {b}"), more)
        }
    };
    LimitLine {
        label: "Differs:".to_owned(),
        what,
        more,
        is_reached: shown.is_some() && comparison.is_guarded(),
    }
}

fn keys(comparison: &Comparison, primary: &FigureComparison) -> Vec<KeyFigure> {
    let [a, b] = figures_of(primary);
    let name = foreign(&primary.figure.full_name(), SHORT);
    let runs = comparison.runs.map(|runs| plural(runs, "run"));
    let number = |verdict: Verdict| {
        let same: Vec<&FigureComparison> = of_verdict(comparison, verdict).collect();
        let names = list(same.iter().map(|of| of.figure.name.as_str()), ", ");
        let note = foreign(&names, SHORT);
        let figure = format!("{} of {}", same.len(), comparison.figures.len());
        KeyFigure::new(word(verdict), figure, note)
    };
    vec![
        KeyFigure::new("A", a, format!("{name}, {}", runs[0])),
        KeyFigure::new("B", b, format!("{name}, {}", runs[1])),
        number(Verdict::Better),
        number(Verdict::Worse),
        number(Verdict::Equal),
        number(Verdict::Inconclusive),
    ]
}
