//! A comparison of growths: the difference of B from A at each size, and its basis. Must not compare.

use highwater_analysis::growth::{ComparedGrowths, SizeChange};

use super::fitted::Summary;
use super::layout::{Ink, Line, Span};
use super::lines::{first_of, first_rows};
use crate::compare::growths_text;
use crate::compare_report::GrowthsReport;
use crate::growths::{self as words, Pair};

/// The summary of a comparison of growths.
pub fn growths_summary(report: &GrowthsReport<'_>) -> Summary {
    let pairs = words::pairs(report).into_iter();
    Summary::of_blocks(pairs.map(block).collect(), growths_text(report))
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
    // The largest size first: it is the subject of a growth.
    limits.reverse();
    let named =
        [("limits", limits), ("basis", words::basis(pair)), ("differs", words::differing(pair))];
    lines.extend(named.into_iter().filter_map(|(label, all)| first_of(label, all)));
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
