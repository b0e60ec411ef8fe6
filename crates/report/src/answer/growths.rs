//! The answer of a comparison of growths: the decisive size, and the number of sizes per verdict. Must not judge.

use highwater_analysis::growth::{SharedSize, SizeChange};
use highwater_model::display::{foreign, percent, percent_signed, rate};

use super::judged::together;
use super::parts::{Answer, KeyFigure, WORDS, limit_line};
use crate::compare_report::GrowthsReport;
use crate::growths::{Pair, pairs, sentence, with, word};
use crate::layout::list;
use crate::text::scale::nodes;

/// The answer of a report: the answer of its first comparison, and the judgments of all growths.
pub(crate) fn growths(report: &GrowthsReport<'_>) -> Answer {
    let Some(first) = pairs(report).first().copied() else {
        return Answer::default();
    };
    Answer {
        judgments: together(report.all().map(|of| &of.growth.record.judgments)),
        ..of_pair(first)
    }
}

fn of_pair(pair: Pair<'_>) -> Answer {
    let [a, b] = [pair.a, pair.b].map(|of| foreign(&of.name, WORDS));
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
        interval: format!("noise ±{}", percent(size.noise)),
        basis: sentence(pair.compared),
        limit: size.b.figures.limit.as_ref().map(limit_line),
        keys: keys(pair, size),
        ..Answer::default()
    }
}

fn caveat(pair: Pair<'_>, size: &SharedSize<'_>) -> Option<&'static str> {
    if pair.compared.is_guarded() {
        return Some("no verdict: the growths answer different questions");
    }
    let is_open = size.verdict == Some(SizeChange::NotDistinguished);
    is_open.then_some("measurements of one cluster differ by as much")
}

/// The size with the largest loss; without a loss, the one with the largest gain; otherwise the largest size.
fn deciding(pair: Pair<'_>) -> Option<&SharedSize<'_>> {
    let by_change = |verdict| {
        with(pair.compared, verdict)
            .into_iter()
            .max_by(|a, b| a.change.abs().total_cmp(&b.change.abs()))
    };
    let decided = by_change(SizeChange::Worse).or_else(|| by_change(SizeChange::Better));
    decided.or(pair.compared.sizes.last())
}

fn keys(pair: Pair<'_>, size: &SharedSize<'_>) -> Vec<KeyFigure> {
    let unit = pair.a.growth.scale.unit.name();
    let at = nodes(size.a.size.nodes);
    let [a, b] = size.per_s.map(|per_s| format!("{} {unit}/s", rate(per_s)));
    let all = pair.compared.sizes.len();
    let number = |verdict| {
        let same = with(pair.compared, verdict);
        let at = list(same.iter().map(|size| nodes(size.a.size.nodes)), ", ");
        let figure = format!("{} of {all}", same.len());
        KeyFigure::new(word(Some(verdict)), figure, at)
    };
    vec![
        KeyFigure::new("A", a, at.clone()),
        KeyFigure::new("B", b, at),
        number(SizeChange::Better),
        number(SizeChange::Worse),
        number(SizeChange::Equal),
        number(SizeChange::NotDistinguished),
    ]
}
