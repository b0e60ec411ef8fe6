//! The three judgments, and the distinct reasons of each that is not good: one per line, with its figure.

use highwater_model::display::foreign;
use highwater_model::judgment::{Reason, ReasonCode};
use highwater_model::record::RecordRef;

use super::layout::{Ink, Line, Span};
use super::lines::{WORDS, and_more};
use crate::text::judged::{self, Judged, Tone};

/// Maximum reasons if a single judgment is not good; with several, each has its first reason. The others are counted.
const REASONS_SHOWN: usize = 2;

pub(super) fn lines(record: RecordRef<'_>) -> Vec<Line> {
    let not_good = judged::remarked(record).filter(|(judged, _)| !is_good(judged));
    let most = if not_good.count() > 1 { 1 } else { REASONS_SHOWN };
    let all = judged::remarked(record);
    all.flat_map(|(judged, remark)| of(judged, remark, most)).collect()
}

/// Whether no judgment is bad or undecided.
pub(super) fn all_good(record: RecordRef<'_>) -> bool {
    judged::remarked(record).all(|(judged, _)| is_good(&judged))
}

const fn is_good(judged: &Judged<'_>) -> bool {
    matches!(judged.tone, Tone::Good | Tone::None)
}

pub(super) const fn ink(tone: Tone) -> Ink {
    match tone {
        Tone::Good => Ink::Good,
        Tone::Bad => Ink::Bad,
        Tone::Open => Ink::Open,
        Tone::None => Ink::Plain,
    }
}

fn of(judged: Judged<'_>, remark: String, reasons: usize) -> Vec<Line> {
    let is_good = is_good(&judged);
    let value = if is_good { judged.value.to_owned() } else { judged.value.to_uppercase() };
    let (name, value) = (judged.name.to_lowercase(), Span::new(ink(judged.tone), value));
    let mut lines = vec![Line::judged(&name, value, remark)];
    let different = different(judged.reasons);
    // A note on a good judgment has one line; the reasons of a bad one are more important.
    let most = if is_good { 1 } else { reasons };
    let shown: Vec<&Reason> = different.into_iter().take(most).collect();
    let more = judged.reasons.len() - shown.len();
    let last = shown.len().saturating_sub(1);
    for (at, reason) in shown.iter().enumerate() {
        let sentence = foreign(&reason.sentence(), WORDS);
        let sentence = format!("{sentence} [{}]", reason.code.name());
        let more = if at == last { more } else { 0 };
        lines.push(Line::Below(and_more(&sentence, more)));
    }
    let hint = shown.iter().find_map(|reason| reason.hint.as_ref());
    if let Some(hint) = hint.filter(|_| !is_good) {
        lines.push(Line::Below(format!("hint: {hint}")));
    }
    lines
}

/// The first reason of each code, in order: others with this code are about another stream or step.
fn different(reasons: &[Reason]) -> Vec<&Reason> {
    let mut codes: Vec<ReasonCode> = Vec::new();
    let mut is_new = |reason: &&Reason| {
        let is_new = !codes.contains(&reason.code);
        codes.push(reason.code);
        is_new
    };
    reasons.iter().filter(|reason| is_new(reason)).collect()
}
