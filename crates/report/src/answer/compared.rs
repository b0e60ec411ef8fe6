//! The answer of a comparison: the difference in the primary figure, and the other differences.

use highwater_analysis::comparison::{Compared, Comparison, Difference, Kind, Verdict};
use highwater_model::display::foreign;

use super::judged::together;
use super::parts::{Answer, KeyFigure, LimitLine, WORDS, plural};
use crate::compare_report::CompareReport;
use crate::comparison::{difference, figures_of, interval, of_verdict, setting, threshold, word};
use crate::layout::list;

/// Kinds of settings that name a group, the most informative first.
const TELLING: [&str; 6] =
    ["pace ", "parameter ", "length", "setting ", "target version", "target"];

/// The answer of a report: the answer of its first comparison, and the judgments of all its runs.
pub(crate) fn compared(report: &CompareReport<'_>) -> Answer {
    let Some((group, comparison)) = report.others.first() else {
        return Answer::default();
    };
    let answer = of_comparison([&report.baseline.name, &group.name], comparison);
    let runs = report.all().flat_map(|group| group.runs.iter().map(|run| run.judgments()));
    Answer { judgments: together(runs), ..answer }
}

/// The answer of one comparison, without judgments.
pub(super) fn of_comparison(names: [&str; 2], comparison: &Comparison) -> Answer {
    let question = question(names, comparison);
    let limit = Some(differs(comparison));
    let Some(primary) = comparison.primary() else {
        return Answer {
            question,
            limit,
            ..Answer::without_figure(
                "Inconclusive",
                "not all runs have the figure that would be tested first",
            )
        };
    };
    let name = foreign(&primary.figure.full_name(), WORDS);
    let (figure, unit) = difference(primary);
    Answer {
        question,
        lead: "B:".to_owned(),
        figure,
        unit,
        condition: format!("{name}, {}", word(primary.verdict, false)),
        caveat: caveat(comparison, primary),
        interval: match primary.effect {
            Some(_) => format!("95% CI {}", interval(primary)),
            None if primary.verdict != Verdict::Inconclusive => {
                "the percentile of one group falls among failed ops, which never end".to_owned()
            }
            None => "interval not known: one run does not show how runs vary".to_owned(),
        },
        basis: format!(
            "{} of A, {} of B; {} matters",
            plural(comparison.runs[0], "run"),
            comparison.runs[1],
            threshold(primary)
        ),
        limit,
        keys: keys(comparison, primary),
        ..Answer::default()
    }
}

fn caveat(comparison: &Comparison, primary: &Compared) -> Option<&'static str> {
    if comparison.is_guarded() {
        return Some("no verdict: the groups answer different questions");
    }
    let is_open = primary.verdict == Verdict::Inconclusive;
    is_open.then_some("inconclusive: these runs do not show whether it differs")
}

/// Both names, each with its differing setting.
pub(crate) fn question(names: [&str; 2], comparison: &Comparison) -> String {
    let [a, b] = titles(names, comparison);
    format!("Is B, {b}, better than A, {a}?")
}

/// The title of each group: its name, and the setting in which the groups differ.
pub(crate) fn titles(names: [&str; 2], comparison: &Comparison) -> [String; 2] {
    let telling = telling(comparison);
    let named = |side: usize| {
        let name = foreign(names[side], WORDS);
        let Some(difference) = telling else {
            return name;
        };
        let value = foreign([&difference.a, &difference.b][side], WORDS);
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

fn telling(comparison: &Comparison) -> Option<&Difference> {
    let settings =
        || comparison.differences.iter().filter(|difference| difference.kind == Kind::Setting);
    TELLING
        .iter()
        .find_map(|start| settings().find(|difference| difference.name.starts_with(start)))
        .or_else(|| settings().next())
}

fn plain_name(difference: &Difference) -> String {
    let name = difference.name.as_str();
    let name = ["pace ", "parameter ", "setting ", "machine "]
        .iter()
        .find_map(|start| name.strip_prefix(start))
        .unwrap_or(name);
    foreign(name, WORDS)
}

fn differs(comparison: &Comparison) -> LimitLine {
    let all = comparison.differences.len();
    let value = |text: &str| setting(text, WORDS);
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

fn keys(comparison: &Comparison, primary: &Compared) -> Vec<KeyFigure> {
    let [a, b] = figures_of(primary);
    let name = foreign(&primary.figure.full_name(), WORDS);
    let runs = comparison.runs.map(|runs| plural(runs, "run"));
    let number = |verdict: Verdict| {
        let same: Vec<&Compared> = of_verdict(comparison, verdict).collect();
        let names = list(same.iter().map(|of| of.figure.name.as_str()), ", ");
        let note = foreign(&names, WORDS);
        let figure = format!("{} of {}", same.len(), comparison.figures.len());
        KeyFigure::new(word(verdict, false), figure, note)
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
