//! Tables of a page: the first columns hold words, the others figures.

use maud::{Markup, html};

use highwater_model::display::{ABSENT, foreign};

use super::super::kept::{kept, sentence};
use crate::layout::{Remark, Row};

/// Maximum characters of a sentence.
const WORDS: usize = 200;

/// Maximum columns of a table that stays a table on phones; the rows of a wider one become cards.
const NARROW: usize = 2;

/// A table whose first row is its head, in its own box. On phones, the rows of a wide table become cards.
pub(crate) fn table(label: &str, rows: &[Row], words: usize) -> Markup {
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
pub(super) fn remarks(remarks: &[Remark]) -> Markup {
    html! {
        dl class="remarks" {
            @for block in remarks.chunk_by(|_, next| next.label.is_empty()) {
                div {
                    dt { (block.first().map_or("", |remark| remark.label)) }
                    @for remark in block { dd { (sentence(&foreign(&remark.sentence, WORDS))) } }
                }
            }
        }
    }
}
