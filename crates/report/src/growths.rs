//! Two growths compared in words and rows: one sentence, the sizes, the basis, and other differences.
//!
//! Shows the comparison of the record only. Must not render a page or judge.

use highwater_analysis::growth::{
    ComparedGrowths, GrowthDifference, LoneReason, LoneSize, SharedSize, SizeChange,
};
use highwater_model::display::{foreign, percent, percent_signed, percent_whole, rate};
use highwater_model::scale::{ScaleEach, ScaleTrial};

use crate::compare_report::{GrowthsReport, NamedGrowth};
use crate::comparison::against;
use crate::layout::{Row, headed, list};
use crate::limit;
use crate::text::judged::objectives;
use crate::text::scale::nodes;

/// Maximum characters of a name or a setting.
const WORDS: usize = 120;
/// The order of changes in a sentence.
const ORDER: [SizeChange; 4] =
    [SizeChange::Worse, SizeChange::Better, SizeChange::Equal, SizeChange::NotDistinguished];

/// The baseline and another growth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair<'a> {
    pub(crate) a: &'a NamedGrowth<'a>,
    pub(crate) b: &'a NamedGrowth<'a>,
    pub(crate) compared: &'a ComparedGrowths<'a>,
}

/// Each growth paired with the first one.
pub(crate) fn pairs<'a>(report: &'a GrowthsReport<'a>) -> Vec<Pair<'a>> {
    let pairs = report.others.iter().map(|(other, compared)| Pair {
        a: &report.baseline,
        b: other,
        compared,
    });
    pairs.collect()
}

/// `B makes 12% more than A at 3 nodes, and as much, within the noise, at 1 and 2 nodes`.
pub(crate) fn sentence(compared: &ComparedGrowths<'_>) -> String {
    if compared.is_guarded() {
        return "no verdict: A and B answer different questions".to_owned();
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

/// The sizes with this change.
pub(crate) fn with<'a>(
    compared: &'a ComparedGrowths<'_>,
    verdict: SizeChange,
) -> Vec<&'a SharedSize<'a>> {
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
        SizeChange::NotDistinguished => format!("as much{like}, within the noise, at {at}"),
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
pub(crate) const fn word(verdict: Option<SizeChange>) -> &'static str {
    match verdict {
        Some(SizeChange::Worse) => "worse",
        Some(SizeChange::NotDistinguished) => "not distinguished",
        Some(SizeChange::Equal) => "equal",
        Some(SizeChange::Better) => "better",
        None => "no verdict",
    }
}

/// The name, and the measured figure and sizes.
pub(crate) fn named(of: &NamedGrowth<'_>) -> String {
    let scale = of.growth.scale;
    let (name, each) = (foreign(&of.name, WORDS), scale.each.name());
    let sizes = list(scale.sizes.iter().map(|size| size.nodes.to_string()), ", ");
    format!("{name} · {each} at {sizes} nodes")
}

/// The head and a row for each size that both have; empty if there is none.
pub(crate) fn rows(pair: Pair<'_>) -> Vec<Row> {
    if pair.compared.sizes.is_empty() {
        return Vec::new();
    }
    let [a, b] = [pair.a, pair.b].map(|of| of.growth.scale.unit.name());
    let head = format!("nodes | A {a}/s | B {b}/s | change | noise");
    headed(&head, pair.compared.sizes.iter().map(row))
}

fn row(size: &SharedSize<'_>) -> Row {
    let [a, b] = size.per_s;
    Row::new([
        size.a.size.nodes.to_string(),
        rate(a),
        rate(b),
        percent_signed(size.change),
        format!("±{}", percent(size.noise)),
    ])
    .remark(word(size.verdict))
}

/// The limits of A and B, a line for each size with a limit in either.
pub(crate) fn limits(pair: Pair<'_>) -> Vec<String> {
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
pub(crate) fn lone(pair: Pair<'_>) -> Vec<(&'static str, String)> {
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
pub(crate) fn basis(pair: Pair<'_>) -> Vec<String> {
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
    if pair.a.growth.scale.each == ScaleEach::Find {
        lines.push("searches are compared by the middle of their estimates".to_owned());
    }
    lines.push(format!(
        "a size is equal where the change is below {} whatever the noise",
        percent(pair.compared.practical)
    ));
    lines
}

/// Other differences, a line each.
pub(crate) fn differing(pair: Pair<'_>) -> Vec<String> {
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
