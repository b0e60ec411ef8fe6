//! The blocks of a report as markup: tables (words in the first columns, figures in the others), the four counts,
//! sentences, charts, and the intervals of a comparison next to each other.
//!
//! No line break separates a figure from its unit, and commands in backquotes are set as code.

use maud::{Markup, html};

use highwater_analysis::comparison::{Better, Comparison, FigureComparison, Verdict};
use highwater_model::display::{ABSENT, foreign, with_unit};

use crate::blocks::{Block, Section, Table};
use crate::chart;
use crate::kinds::comparison::{difference, figures_of, interval, place_of, word};
use crate::layout::{Remark, Row};

/// Maximum characters of a sentence.
const WORDS: usize = 600;

/// Maximum columns of a table that stays a table on phones; the rows of a wider one become cards.
const NARROW: usize = 2;

/// Definitions of the four counts, in their order.
const COUNTS: [(&str, &str); 4] = [
    ("offered", "Scheduled by the plan in the measured time."),
    ("sent", "Sent to the target."),
    ("acknowledged", "Reported as done by the target."),
    ("found", "Found in the target by the audit."),
];

/// The audit covers the rows of all phases together; the other counts cover the measured phases.
fn elsewhere(name: &str) -> &'static str {
    if name == "found" {
        "Counted with all rows, below."
    } else {
        "Counted for the measured time, above."
    }
}

/// A part of a page, folded.
pub(crate) struct Part {
    /// Unique on its page.
    pub(crate) id: &'static str,
    /// The heading.
    pub(crate) title: &'static str,
    /// Summary in one line: the part's result.
    pub(crate) abstract_line: String,
    /// The content below.
    pub(crate) body: Markup,
}

/// A section, folded.
pub(super) fn part(section: &Section) -> Part {
    Part {
        id: section.id,
        title: section.title,
        abstract_line: section.lead.clone(),
        body: html! { @for block in &section.blocks { (markup(block)) } },
    }
}

fn markup(block: &Block) -> Markup {
    match block {
        Block::Heading(text) => html! { h3 { (sentence(text)) } },
        Block::Remarks(all) => remarks(all),
        Block::Table(of) if of.rows.len() < 2 => html! {},
        Block::Table(of) => with_sentences(of, &table(&of.name, &of.rows, of.words)),
        Block::Term(text) => html! { p class="term" { (sentence(text)) } },
        Block::Paragraph(text) => html! { p { (sentence(text)) } },
        Block::Lines(_) => html! {},
        Block::Counts(of) => with_sentences(of, &counts(&of.rows)),
        Block::Charts(charts) => chart::all(charts),
        Block::Sparklines(charts) => chart::sparklines(charts),
        Block::Intervals(comparison) => forest(comparison),
        Block::Links(links) => html! {
            ul { @for [address, name] in links { li { a href=(address) { (name) } } } }
        },
        Block::Folded(title, blocks) => {
            folded(title, &html! { @for block in blocks { (markup(block)) } })
        }
    }
}

/// The content above the folds: low charts, with or without data for the script.
pub(super) fn hero(blocks: &[Block], data: bool) -> Markup {
    html! {
        @for block in blocks {
            @if let Block::Charts(charts) = block { (chart::hero(charts, data)) } @else { (markup(block)) }
        }
    }
}

/// A table between its caption and its notes.
fn with_sentences(of: &Table, table: &Markup) -> Markup {
    html! { (remarks(of.caption.as_slice())) (table) (remarks(&of.notes)) }
}

fn counts(rows: &[Row]) -> Markup {
    html! {
        @if rows.is_empty() { p { "Nothing was measured." } }
        @for row in rows { (four(row)) }
    }
}

fn four(row: &Row) -> Markup {
    html! {
        div class="counts" {
            p class="of" {
                (row.cells.first().map_or("", String::as_str))
                @if !row.remark.is_empty() { span class="rate" { (row.remark) } }
            }
            dl {
                @for ((name, meaning), figure) in COUNTS.iter().zip(row.cells.iter().skip(1)) {
                    @if figure.is_empty() {
                        div class="elsewhere" {
                            dt { (name) }
                            dd class="meaning" { (elsewhere(name)) }
                        }
                    } @else {
                        div {
                            dt { (name) }
                            dd class="figure" { (figure) }
                            dd class="meaning" { (meaning) }
                        }
                    }
                }
            }
        }
    }
}

/// A table whose first row is its head, in its own box. On phones, the rows of a wide table become cards.
pub(super) fn table(label: &str, rows: &[Row], words: usize) -> Markup {
    let remarks = rows.iter().any(|row| !row.remark.is_empty());
    let Some((head, rows)) = rows.split_first() else {
        return html! {};
    };
    html! {
        div class="table" tabindex="0" role="region" aria-label=(label) {
            table class=[(head.cells.len() + usize::from(remarks) > NARROW).then_some("cards")] {
                thead {
                    tr {
                        @for (column, cell) in head.cells.iter().enumerate() {
                            @if cell.is_empty() {
                                td {}
                            } @else {
                                th scope="col" class=[(column >= words).then_some("figure")] {
                                    (cell)
                                }
                            }
                        }
                        @if remarks { td {} }
                    }
                }
                tbody {
                    @for row in rows { (line(row, head, words, remarks)) }
                }
            }
        }
    }
}

fn line(row: &Row, head: &Row, words: usize, remarks: bool) -> Markup {
    html! {
        tr {
            @for (column, name) in head.cells.iter().enumerate() {
                @let cell = row.cells.get(column).map_or("", String::as_str);
                @if column == 0 {
                    th scope="row" class=[(words == 0).then_some("figure")] data-label=(name) {
                        (kept(cell))
                    }
                } @else {
                    @let class = match (column >= words, cell.is_empty() || cell == ABSENT) {
                        (true, true) => "figure absent",
                        (true, false) => "figure",
                        (false, true) => "absent",
                        (false, false) => "word",
                    };
                    td class=(class) data-label=(name) { (kept(cell)) }
                }
            }
            @if remarks { td class="remark" { (row.remark) } }
        }
    }
}

/// Names and their values.
pub(super) fn pairs<'a>(pairs: impl Iterator<Item = (&'a str, String)>) -> Markup {
    html! {
        dl class="pairs" {
            @for (name, value) in pairs {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// Labels and their sentences; a sentence without a label continues the previous one.
fn remarks(remarks: &[Remark]) -> Markup {
    if remarks.is_empty() {
        return html! {};
    }
    html! {
        dl class="remarks" {
            @for block in remarks.chunk_by(|_, next| next.label.is_empty()) {
                div {
                    dt { (block.first().map_or("", |remark| remark.label.as_ref())) }
                    @for remark in block { dd { (sentence(&foreign(&remark.sentence, WORDS))) } }
                }
            }
        }
    }
}

/// Half the width of a drawing, in multiples of the smallest difference that matters.
const REACH: f64 = 4.0;
/// Width of a drawing in pixels.
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 22.0;
/// Radius of a dot, and half the size of a bar or an arrow.
const DOT: f64 = 4.0;

/// Every figure with its interval, oriented so that right is better. The unit is the smallest difference that matters,
/// so that the gray zone is the same for all.
fn forest(comparison: &Comparison) -> Markup {
    html! {
        div class="forest" {
            p class="caption" {
                b { "B against A, with 95% confidence intervals." }
                " Right of the grey zone B is better; inside it the difference is too small to matter."
            }
            div class="table" tabindex="0" role="region" aria-label="Figures of both groups" {
                table class="cards" {
                    thead {
                        tr {
                            th scope="col" { "figure" }
                            th scope="col" class="figure" { "A" }
                            th scope="col" class="figure" { "B" }
                            th scope="col" class="drawn" { "← worse · better →" }
                            th scope="col" class="figure" { "difference" }
                            th scope="col" class="figure" { "95% CI" }
                            th scope="col" { "verdict" }
                        }
                    }
                    tbody { @for compared in ordered(comparison) { (figure_row(compared)) } }
                }
            }
        }
    }
}

/// The primary figure comes first.
fn ordered(comparison: &Comparison) -> impl Iterator<Item = &FigureComparison> {
    let figures = || comparison.figures.iter();
    figures()
        .filter(|compared| compared.is_primary)
        .chain(figures().filter(|compared| !compared.is_primary))
}

fn figure_row(compared: &FigureComparison) -> Markup {
    let [a, b] = figures_of(compared);
    let (figure, unit) = difference(compared);
    let word = word(compared.verdict);
    let class = class_of(compared.verdict);
    html! {
        tr {
            th scope="row" { (place_of(compared)) " " (compared.figure.name) }
            td class="figure" data-label="A" { (a) }
            td class="figure" data-label="B" { (b) }
            td class="drawn" { (drawing(compared)) }
            td class="figure" data-label="difference" { (kept(&with_unit(&figure, &unit))) }
            td class="figure" data-label="95% CI" { (kept(&interval(compared))) }
            td class=(class) data-label="verdict" { (word) }
        }
    }
}

const fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Worse => "verdict bad",
        Verdict::Inconclusive | Verdict::NotCompared => "verdict open",
        Verdict::Equal => "verdict none",
        Verdict::Better => "verdict good",
    }
}

/// The interval as a line with a dot, and the zone of differences that do not matter.
fn drawing(compared: &FigureComparison) -> Markup {
    let turned = match compared.figure.better {
        Better::More => 1.0,
        Better::Less => -1.0,
    };
    let units = |difference: f64| turned * difference / compared.practical.max(f64::MIN_POSITIVE);
    let at = |difference: f64| {
        let half = WIDTH / 2.0 - DOT;
        half.mul_add(units(difference).clamp(-REACH, REACH) / REACH, WIDTH / 2.0)
    };
    let zone = (WIDTH / 2.0 - DOT) / REACH;
    let middle = HEIGHT / 2.0;
    // A bar, or an arrow if the interval ends outside of the drawing.
    let end = |bound: f64| {
        let (x, top, reach) = (at(bound), middle - DOT, units(bound));
        if reach.abs() <= REACH {
            return format!("M{x:.1} {top}v8");
        }
        let back = x - DOT * reach.signum();
        format!("M{back:.1} {top}L{x:.1} {middle}L{back:.1} {}", middle + DOT)
    };
    let color = class_of(compared.verdict);
    html! {
        svg class="interval" width=(WIDTH) height=(HEIGHT) viewBox=(format!("0 0 {WIDTH} {HEIGHT}"))
            aria-hidden="true" {
            rect class="zone" x=(WIDTH / 2.0 - zone) y="0" width=(2.0 * zone) height=(HEIGHT) {}
            path class="zero" d=(format!("M{} 0v{HEIGHT}", WIDTH / 2.0)) {}
            @if let Some(effect) = compared.effect {
                path class=(color) d=(format!(
                    "M{:.1} {middle}H{:.1}{}", at(effect.low), at(effect.high),
                    [effect.low, effect.high].map(end).concat()
                )) {}
                // What lies outside of the drawing has no place in it: the arrow shows the direction.
                @if units(effect.difference).abs() <= REACH {
                    circle class=(color) cx=(format!("{:.1}", at(effect.difference))) cy=(middle) r=(DOT) {}
                }
            }
        }
    }
}

/// Units, which stay on the line of their figure.
const UNITS: &str = "ns µs ms s min h d B kB MB GB TB PB rows/s queries/s ops/s rows queries ops \
                     nodes node cores probes runs sessions";

/// The same text with a no-break space between a figure and its unit.
pub(super) fn kept(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        kept.push_str(word);
        let Some(next) = words.peek() else { break };
        let unit = next.trim_end_matches([',', ';', '.', ')', ':', '?', ']']);
        let ends_in_digit = word.ends_with(|c: char| c.is_ascii_digit());
        let is_sign = matches!(word, "≤" | "≥" | "<" | ">");
        let is_kept = (ends_in_digit && UNITS.split(' ').any(|of| of == unit))
            || is_sign
            || matches!(*next, "≤" | "≥");
        kept.push(if is_kept { '\u{a0}' } else { ' ' });
    }
    kept
}

/// A sentence with the commands in backquotes set as code.
pub(super) fn sentence(text: &str) -> Markup {
    // An unpaired backquote is part of the target's text.
    let is_paired = text.matches('`').count().is_multiple_of(2);
    if !is_paired {
        return html! { (kept(text)) };
    }
    html! {
        @for (number, part) in text.split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (kept(part)) }
        }
    }
}

/// A part within a part, folded.
pub(super) fn folded(title: &str, body: &Markup) -> Markup {
    html! {
        details class="inner" {
            summary { (title) }
            div class="folded" { (body) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::comparison::Effect;
    use highwater_model::group::{Figure, Scale};

    #[test]
    fn an_interval_that_leaves_its_drawing_ends_in_an_arrow_and_a_difference_out_there_has_no_dot()
    {
        let drawn = |difference: f64, low: f64, high: f64| {
            let figure = Figure {
                place: String::new(),
                name: "throughput".to_owned(),
                unit: "rows/s".to_owned(),
                better: Better::More,
                scale: Scale::Ratio,
            };
            let drawing = drawing(&FigureComparison {
                figure,
                is_primary: true,
                a: Vec::new(),
                b: Vec::new(),
                effect: Some(Effect { difference, low, high, p_value: 0.5 }),
                practical: 0.05,
                verdict: Verdict::Inconclusive,
                spread: 0.1,
                repeats: 3,
                repeats_at_half: 2,
                detectable: None,
            });
            let drawing = drawing.into_string();
            let [bars, arrows] = ["v8", "L"].map(|part| drawing.matches(part).count());
            (bars, arrows, drawing.matches("<circle").count())
        };
        assert_eq!(drawn(0.05, -0.1, 0.15), (2, 0, 1));
        assert_eq!(drawn(0.1, -0.1, 0.9), (1, 2, 1));
        assert_eq!(drawn(0.5, 0.1, 0.9), (1, 2, 0));
    }

    #[test]
    fn commands_are_code_and_a_single_backquote_is_itself() {
        let set = |text| sentence(text).into_string();
        assert_eq!(
            set("`highwater find` finds 5 ms."),
            "<code>highwater find</code> finds 5\u{a0}ms."
        );
        assert_eq!(set("near `x"), "near `x");
    }

    #[test]
    fn a_figure_is_kept_with_its_unit() {
        let cases = [
            ("p99 64.0 ms.", "p99 64.0\u{a0}ms."),
            ("at 1,000 rows/s, of 3", "at 1,000\u{a0}rows/s, of 3"),
            ("within p99 ≤ 50 ms?", "within p99\u{a0}≤\u{a0}50\u{a0}ms?"),
            ("5 min 1 s more", "5\u{a0}min 1\u{a0}s more"),
            ("A 5 B", "A 5\u{a0}B"),
            ("no figure", "no figure"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(kept(text), expected);
        }
    }
}
