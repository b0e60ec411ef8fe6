//! A comparison of growths: what B makes of A at which sizes, and what that rests on. Must not compare.

use highwater_analysis::growth::{ComparedGrowths, SizeChange};

use super::fitted::Summary;
use super::layout::{Ink, Line, Span};
use super::lines::{and_more, first_rows};
use crate::compare::growths_text;
use crate::compare_report::GrowthsReport;
use crate::growths::{self as words, Pair};

pub(super) fn summary(report: &GrowthsReport<'_>) -> Summary {
    let pairs = words::pairs(report).into_iter();
    let mut blocks: Vec<Vec<Line>> = pairs.map(block).collect();
    let answer = if blocks.is_empty() {
        Vec::new()
    } else {
        blocks.remove(0)
    };
    Summary {
        answer,
        blocks,
        details: growths_text(report),
    }
}

fn block(pair: Pair<'_>) -> Vec<Line> {
    let answer = Span::new(ink(pair.compared), words::sentence(pair.compared));
    let mut lines = vec![
        Line::Answer(vec![answer]),
        Line::labeled("A", words::named(pair.a)),
        Line::labeled("B", words::named(pair.b)),
    ];
    lines.extend(first_rows(words::rows(pair), 0));
    let lone = words::lone(pair).into_iter();
    lines.extend(lone.map(|(of, size)| Line::labeled(&format!("only in {of}"), size)));
    let mut limits = words::limits(pair);
    // The largest size first: it is what a growth is about.
    limits.reverse();
    let named = [
        ("limits", limits),
        ("basis", words::basis(pair)),
        ("differs", words::differing(pair)),
    ];
    for (label, all) in named {
        if let [first, more @ ..] = all.as_slice() {
            lines.push(Line::labeled(label, and_more(first, more.len())));
        }
    }
    lines
}

fn ink(compared: &ComparedGrowths<'_>) -> Ink {
    match compared.verdict() {
        Some(SizeChange::Worse) => Ink::Bad,
        Some(SizeChange::Better) => Ink::Good,
        Some(SizeChange::Equal) => Ink::Strong,
        Some(SizeChange::NotDistinguished) | None => Ink::Open,
    }
}
