//! A comparison of growths: the throughput of each compared with the first one, size by size, and other differences.
//!
//! Shows the comparison of the record only. Must not judge.

use highwater_analysis::growth::{
    ComparedGrowths, GrowthDifference, LoneReason, LoneSize, SharedSize, SizeChange,
};
use highwater_model::display::{foreign, percent, percent_signed, percent_whole, rate};
use highwater_model::group::Kind;
use highwater_model::record::RecordRef;
use highwater_model::scale::ScaleTrial;

use super::comparison::against;
use crate::answer::{Answer, KeyFigure, WORDS as SHORT, limit_line, nodes, rated};
use crate::blocks::{Block, Ink, Report, Section, Table};
use crate::judgments::{flaws, objectives, together};
use crate::kinds::comparison::{GrowthsReport, NamedGrowth};
use crate::layout::{Remark, Row, headed, joined, list, or_absent};
use crate::{limit, plots};

/// Maximum characters of a name or a setting.
const WORDS: usize = 120;
/// What the words for a change mean.
const CHANGES: &str = "Not distinguished: the change is no larger than what measurements of one cluster differ by, which the first size \
     and the same again show. Equal: whatever the noise, the change is smaller than what matters. Better or worse: it \
     is larger than the noise.";
/// The order of changes in a sentence.
const ORDER: [SizeChange; 4] =
    [SizeChange::Worse, SizeChange::Better, SizeChange::Equal, SizeChange::NotDistinguished];

/// The baseline and another growth.
#[derive(Debug, Clone, Copy)]
struct Pair<'a> {
    a: &'a NamedGrowth<'a>,
    b: &'a NamedGrowth<'a>,
    compared: &'a ComparedGrowths<'a>,
}

/// All of them as one report.
pub(crate) fn page(report: &GrowthsReport<'_>) -> Report {
    let growths: Vec<&NamedGrowth<'_>> = report.all().collect();
    let facts = growths.iter().map(|of| foreign(&of.name, WORDS)).collect();
    let mut page = Report::merged(reports(report));
    page.answer.judgments = together(growths.iter().map(|of| &of.growth.record.judgments));
    page.hero = vec![Block::Charts(plots::growths(&growths).into_iter().collect())];
    for section in &mut page.sections {
        section.blocks.push(Block::Term(CHANGES.to_owned()));
    }
    page.page_facts = facts;
    page
}

/// A report for each growth that is compared with the first one.
pub(crate) fn reports(report: &GrowthsReport<'_>) -> Vec<Report> {
    let others = report.others.iter();
    others.map(|(b, compared)| report_of(Pair { a: &report.baseline, b, compared })).collect()
}

fn report_of(pair: Pair<'_>) -> Report {
    let [a, b] = [("A", pair.a), ("B", pair.b)].map(|(of, growth)| Remark::new(of, named(growth)));
    let sizes = Table::new("Sizes of both growths", rows(pair), 0);
    let lone = lone(pair).into_iter();
    let lone: Vec<Remark> =
        lone.map(|(of, size)| Remark::new(format!("only in {of}"), size)).collect();
    let evidence = |limits| {
        let limits = Remark::listed("limits", limits);
        let basis = Remark::listed("basis", basis(pair));
        lone.iter()
            .cloned()
            .chain(limits)
            .chain(basis)
            .chain(Remark::listed("differs", differing(pair)))
    };
    // On a terminal the largest size comes first: it is the subject of a growth.
    let largest_first = limits(pair).into_iter().rev().collect();
    Report {
        answer: answer(pair),
        first_line: vec![(ink(pair.compared), sentence(pair.compared))],
        facts: [a.clone(), b.clone()].into_iter().chain(evidence(largest_first)).collect(),
        sections: vec![Section {
            id: "sizes",
            title: "Sizes",
            lead: sentence(pair.compared),
            blocks: vec![
                Block::Heading(sentence(pair.compared)),
                Block::Remarks(vec![a, b]),
                Block::Table(sizes.clone()),
                Block::Remarks(evidence(limits(pair)).collect()),
            ],
        }],
        brief: Some(sizes),
        ..Report::default()
    }
}

fn ink(compared: &ComparedGrowths<'_>) -> Ink {
    match compared.verdict() {
        Some(SizeChange::Worse) => Ink::Bad,
        Some(SizeChange::Better) => Ink::Good,
        Some(SizeChange::Equal) => Ink::Strong,
        Some(SizeChange::NotDistinguished) | None => Ink::Open,
    }
}

fn answer(pair: Pair<'_>) -> Answer {
    let [a, b] = [pair.a, pair.b].map(|of| foreign(&of.name, SHORT));
    let question = format!("Does B, {b}, make more than A, {a}?");
    let Some(size) = deciding(pair) else {
        return Answer {
            question,
            ..Answer::without_figure("No verdict", "the growths have no size in common")
        };
    };
    let at = nodes(size.a.size.nodes);
    Answer {
        question,
        lead: "B:".to_owned(),
        figure: percent_signed(size.change),
        condition: format!("at {at}, {}", word(size.verdict)),
        caveat: caveat(pair, size),
        interval: format!("noise {}", noise(size)),
        basis: sentence(pair.compared),
        limit: size.b.figures.limit.as_ref().map(limit_line),
        keys: keys(pair, size),
        ..Answer::default()
    }
}

/// `±10.0%`, in the direction of the change: noise is a factor, so that a loss and a gain of it are not as large.
fn noise(size: &SharedSize<'_>) -> String {
    let factor = 1.0 + size.noise;
    let noise = if size.change < 0.0 { 1.0 - factor.recip() } else { size.noise };
    format!("±{}", percent(noise))
}

fn caveat(pair: Pair<'_>, size: &SharedSize<'_>) -> Option<&'static str> {
    if pair.compared.is_guarded() {
        return Some("no verdict: the growths answer different questions");
    }
    let is_open = size.verdict == Some(SizeChange::NotDistinguished);
    is_open.then_some("measurements of one cluster differ by as much")
}

/// The largest size with a loss; without a loss, the largest one with a gain; otherwise the largest size.
fn deciding(pair: Pair<'_>) -> Option<&SharedSize<'_>> {
    let largest = |verdict| with(pair.compared, verdict).into_iter().next_back();
    let decided = largest(SizeChange::Worse).or_else(|| largest(SizeChange::Better));
    decided.or(pair.compared.sizes.last())
}

fn keys(pair: Pair<'_>, size: &SharedSize<'_>) -> Vec<KeyFigure> {
    let unit = pair.a.growth.scale.unit.name();
    let at = nodes(size.a.size.nodes);
    let figures = [size.a, size.b].map(|of| rated(of.figures.per_s, &format!("{unit}/s")));
    let [a, b] = figures;
    let [of_a, of_b] = match size.estimates {
        Some(found) => found.map(|per_s| format!("{at}; estimate {}", rate(per_s))),
        None => [at.clone(), at.clone()],
    };
    let all = pair.compared.sizes.len();
    let number = |verdict| {
        let same = with(pair.compared, verdict);
        let at = list(same.iter().map(|size| nodes(size.a.size.nodes)), ", ");
        let figure = format!("{} of {all}", same.len());
        KeyFigure::new(word(Some(verdict)), figure, at)
    };
    vec![
        KeyFigure::new("A", a, of_a),
        KeyFigure::new("B", b, of_b),
        number(SizeChange::Better),
        number(SizeChange::Worse),
        number(SizeChange::Equal),
        number(SizeChange::NotDistinguished),
    ]
}

/// `B makes 12% more than A at 3 nodes, and no more or less than the noise explains at 1 and 2 nodes`.
fn sentence(compared: &ComparedGrowths<'_>) -> String {
    if compared.is_guarded() {
        return format!(
            "no verdict: A and B answer different questions{}",
            first_difference(compared)
        );
    }
    if compared.sizes.is_empty() {
        return "no verdict: A and B have no size in common".to_owned();
    }
    let mut phrases: Vec<String> = Vec::new();
    for verdict in ORDER {
        let sizes = with(compared, verdict);
        if !sizes.is_empty() {
            phrases.push(phrase(verdict, &sizes, phrases.is_empty()));
        }
    }
    let all = match phrases.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{}, and {last}", first.join(", ")),
    };
    format!("B makes {all}")
}

/// `: batch 250 against 1000`.
fn first_difference(compared: &ComparedGrowths<'_>) -> String {
    let mut differences = compared.differences.iter();
    let first = differences.find(|difference| difference.kind == Kind::Question);
    first.map_or_else(String::new, |GrowthDifference { name, a, b, .. }| {
        let name = foreign(name.strip_prefix("parameter ").unwrap_or(name), SHORT);
        let values = [a, b].map(|value| foreign(value, SHORT));
        match values.each_ref().map(String::as_str) {
            ["", ""] => format!(": another {name}"),
            [a, b] => format!(": {name} {a} against {b}"),
        }
    })
}

/// The sizes with this change.
fn with<'a>(compared: &'a ComparedGrowths<'_>, verdict: SizeChange) -> Vec<&'a SharedSize<'a>> {
    compared.sizes.iter().filter(|size| size.verdict == Some(verdict)).collect()
}

fn phrase(verdict: SizeChange, sizes: &[&SharedSize<'_>], is_first: bool) -> String {
    let at = listed(sizes);
    let than = if is_first { " than A" } else { "" };
    let like = if is_first { " as A" } else { "" };
    match verdict {
        SizeChange::Worse => format!("{} less{than} at {at}", range(sizes)),
        SizeChange::Better => format!("{} more{than} at {at}", range(sizes)),
        SizeChange::Equal => format!("as much{like} at {at}"),
        // Not shown to differ is not equal.
        SizeChange::NotDistinguished => {
            format!("no more or less than the noise explains at {at}")
        }
    }
}

/// `1, 2 and 3 nodes`.
fn listed(sizes: &[&SharedSize<'_>]) -> String {
    let numbers: Vec<String> = sizes.iter().map(|size| size.a.size.nodes.to_string()).collect();
    match numbers.as_slice() {
        [first @ .., last] if !first.is_empty() => {
            format!("{} and {last} nodes", first.join(", "))
        }
        _ => sizes.first().map_or_else(String::new, |size| nodes(size.a.size.nodes)),
    }
}

/// `12%`, or `12% to 20%`.
fn range(sizes: &[&SharedSize<'_>]) -> String {
    let changes = || sizes.iter().map(|size| size.change.abs());
    let least = percent_whole(changes().fold(f64::INFINITY, f64::min));
    let most = percent_whole(changes().fold(0.0, f64::max));
    if least == most { most } else { format!("{least} to {most}") }
}

/// The word for the change of a size.
const fn word(verdict: Option<SizeChange>) -> &'static str {
    match verdict {
        Some(SizeChange::Worse) => "worse",
        Some(SizeChange::NotDistinguished) => "not distinguished",
        Some(SizeChange::Equal) => "equal",
        Some(SizeChange::Better) => "better",
        None => "no verdict",
    }
}

/// The name, and the measured figure and sizes.
fn named(of: &NamedGrowth<'_>) -> String {
    let scale = of.growth.scale;
    let (name, each) = (foreign(&of.name, WORDS), scale.each.name());
    let sizes = list(scale.sizes.iter().map(|size| size.nodes.to_string()), ", ");
    let flaws = flaws(std::iter::once(RecordRef::from(of.growth.record)));
    joined([format!("{name} · {each} at {sizes} nodes"), flaws])
}

/// The head and a row for each size that both have; empty if there is none.
fn rows(pair: Pair<'_>) -> Vec<Row> {
    if pair.compared.sizes.is_empty() {
        return Vec::new();
    }
    let [a, b] = [pair.a, pair.b].map(|of| of.growth.scale.unit.name());
    let has_estimates = pair.compared.sizes.iter().any(|size| size.estimates.is_some());
    let estimates = if has_estimates { " | A estimate | B estimate" } else { "" };
    let head = format!("nodes | A {a}/s | B {b}/s{estimates} | change | noise");
    headed(&head, pair.compared.sizes.iter().map(|size| row(size, has_estimates)))
}

fn row(size: &SharedSize<'_>, has_estimates: bool) -> Row {
    let mut cells = vec![size.a.size.nodes.to_string()];
    cells.extend([size.a, size.b].map(|of| rate(of.figures.per_s)));
    if has_estimates {
        let found = size.estimates.map_or([None; 2], |found| found.map(Some));
        cells.extend(found.map(|per_s| or_absent(per_s, rate)));
    }
    cells.extend([percent_signed(size.change), noise(size)]);
    Row::new(cells).remark(word(size.verdict))
}

/// The limits of A and B, a line for each size with a limit in either.
fn limits(pair: Pair<'_>) -> Vec<String> {
    let of = |trial: &ScaleTrial| match trial.figures.limit.as_ref().map(limit::named) {
        None => "not known".to_owned(),
        Some(named) if named.is_empty() => "not identified".to_owned(),
        Some(named) => named,
    };
    let sizes = pair.compared.sizes.iter();
    let is_said =
        |size: &&SharedSize<'_>| size.a.figures.limit.is_some() || size.b.figures.limit.is_some();
    let lines = sizes.filter(is_said).map(|size| {
        let at = nodes(size.a.size.nodes);
        format!("{at}: A {}; B {}", of(size.a), of(size.b))
    });
    lines.collect()
}

/// Sizes that only one growth has, with that growth: `A`, `3 nodes: 270 rows/s, not measured in B`.
fn lone(pair: Pair<'_>) -> Vec<(&'static str, String)> {
    let [in_a, in_b] = &pair.compared.lone;
    let a = in_a.iter().map(|size| ("A", alone(pair.a, size, "B")));
    let b = in_b.iter().map(|size| ("B", alone(pair.b, size, "A")));
    a.chain(b).collect()
}

fn alone(of: &NamedGrowth<'_>, size: &LoneSize<'_>, other: &str) -> String {
    let trial = size.trial;
    let settings: String =
        trial.size.settings.iter().map(|(name, value)| format!(", {name} {value}")).collect();
    let why = match size.why {
        LoneReason::NotMeasured => "not measured",
        LoneReason::NoFigure => "no figure",
        LoneReason::OtherSettings => "other settings",
    };
    format!(
        "{}: {} {}/s{}; {why} in {other}",
        nodes(trial.size.nodes),
        rate(trial.figures.per_s),
        of.growth.scale.unit.name(),
        foreign(&settings, WORDS)
    )
}

/// The basis of the verdict.
fn basis(pair: Pair<'_>) -> Vec<String> {
    let [a, b] = pair.compared.noise;
    let mut lines = vec![format!(
        "two measurements of one cluster differ by up to {} in A and {} in B",
        percent(a.part),
        percent(b.part)
    )];
    let once = match (a.is_repeated, b.is_repeated) {
        (true, true) => None,
        (false, true) => Some("A"),
        (true, false) => Some("B"),
        (false, false) => Some("A and B"),
    };
    lines.extend(once.map(|once| {
        format!(
            "the first size was not measured again in {once}: the noise is that of runs of one day"
        )
    }));
    if pair.compared.sizes.iter().any(|size| size.estimates.is_some()) {
        lines.push(
            "changes of searches are those of their estimates; the confirmed rates are floors"
                .to_owned(),
        );
    }
    lines.push(format!(
        "a size is equal where the change is below {} whatever the noise",
        percent(pair.compared.practical)
    ));
    lines
}

/// Other differences, a line each.
fn differing(pair: Pair<'_>) -> Vec<String> {
    pair.compared
        .differences
        .iter()
        .map(|difference| {
            let values = values(pair, difference);
            against(difference.kind, &difference.name, values.each_ref().map(String::as_str))
        })
        .collect()
}

/// Both values; objectives are worded as in reports.
fn values(pair: Pair<'_>, difference: &GrowthDifference) -> [String; 2] {
    if difference.name == "objective" {
        return [pair.a, pair.b].map(|of| objectives(&of.growth.record.last_run));
    }
    [difference.a.clone(), difference.b.clone()]
}
