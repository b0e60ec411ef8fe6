//! A group of runs: how its variants compare, or how much the runs of one variant differ.

use highwater_analysis::comparison::{Comparison, Verdict};
use highwater_analysis::group::comparisons;
use highwater_model::display::{foreign, rate};
use highwater_model::group::GroupRecord;
use highwater_model::judgment::{Reason, ReasonCode};
use highwater_model::plan::Objective;
use highwater_model::record::MeasuredRun;

use super::layout::{Ink, Line, Span};
use super::lines::{WORDS, first_rows};
use crate::answer::titles;
use crate::comparison as words;
use crate::text::group as report;

/// The answer, and additional facts.
pub(super) fn lines(record: &MeasuredRun<'_>, group: &GroupRecord) -> (Vec<Line>, Vec<Line>) {
    let mut answer: Vec<Line> = comparisons(group)
        .into_iter()
        .map(|(variant, comparison)| {
            let names = report::names(group, variant);
            Line::Answer(compared(names, &comparison))
        })
        .collect();
    if answer.is_empty() {
        answer.push(Line::Answer(repeated(group)));
    }
    if let (Some(failed), Some(Line::Answer(first))) = (failed(record, group), answer.first_mut()) {
        first.insert(0, failed);
    }
    if group.variants.len() > 1 {
        answer.extend(first_rows(report::variants(group), 1));
    }
    let load = Line::labeled("load", report::question(record, group));
    (answer, vec![load])
}

/// Of how many runs too much failed without a stated bound, and what of the first of them.
fn failed(record: &MeasuredRun<'_>, group: &GroupRecord) -> Option<Span> {
    let mut objectives = record.plan.definition.objectives.iter();
    if objectives.any(|of| matches!(of, Objective::Errors { .. })) {
        return None;
    }
    let is_it = |reason: &&Reason| reason.code == ReasonCode::ObjectiveErrors;
    let judged = || group.trials.iter().filter_map(|trial| trial.judgments.as_ref());
    let failed: Vec<&Reason> =
        judged().filter_map(|of| of.objective.reasons.iter().find(is_it)).collect();
    let first = foreign(&failed.first()?.sentence(), WORDS);
    let runs = judged().count();
    let text = format!("too much failed in {} of {runs} runs: {first}", failed.len());
    Some(Span::new(Ink::Bad, text))
}

/// `B is worse than A: insert throughput −20.0%`.
pub(super) fn compared(names: [&str; 2], comparison: &Comparison) -> Vec<Span> {
    if comparison.is_guarded() {
        let [a, b] = titles(names, comparison);
        let why = format!("no verdict: {a} and {b} answer different questions");
        return vec![Span::new(Ink::Open, why)];
    }
    let [a, b] = names.map(|name| foreign(name, WORDS));
    let (ink, sentence) = match comparison.verdict() {
        Verdict::Worse => (Ink::Bad, format!("{b} is WORSE than {a}")),
        Verdict::Better => (Ink::Good, format!("{b} is better than {a}")),
        Verdict::Equal => (Ink::Strong, format!("{b} is equal to {a}")),
        Verdict::Inconclusive => {
            (Ink::Open, format!("inconclusive: {b} and {a} cannot be distinguished"))
        }
    };
    let mut parts = vec![Span::new(ink, sentence)];
    parts.extend(words::headlines(comparison).into_iter().map(Span::plain));
    parts
}

/// The mean over all runs of one variant, and its bounds.
fn repeated(group: &GroupRecord) -> Vec<Span> {
    let reached: Vec<f64> = group.complete(0).map(|run| run.throughput_per_s).collect();
    let Some(mean) = report::mean(&reached) else {
        return vec![Span::new(Ink::Bad, "no run is complete")];
    };
    let unit = group.unit.name();
    let low = reached.iter().copied().fold(f64::INFINITY, f64::min);
    let high = reached.iter().copied().fold(0.0, f64::max);
    let runs = reached.len();
    let plural = if runs == 1 { "" } else { "s" };
    vec![
        Span::new(Ink::Strong, format!("{} {unit}/s", rate(mean))),
        Span::plain(format!("mean of {runs} run{plural}")),
        Span::plain(format!("{} to {} {unit}/s", rate(low), rate(high))),
    ]
}
