//! Tables of a page: the first columns hold words, the others figures.

use maud::{Markup, html};

use highwater_model::display::foreign;

use crate::figures::Remark;
use crate::layout::Row;

/// Characters of a sentence.
const WORDS: usize = 200;

/// A table whose first row is its head, in a box of its own that scrolls on narrow screens.
pub(crate) fn table(label: &str, rows: &[Row], words: usize) -> Markup {
    let remarks = rows.iter().any(|row| !row.remark.is_empty());
    let Some((head, rows)) = rows.split_first() else {
        return html! {};
    };
    html! {
        div class="table" tabindex="0" role="region" aria-label=(label) {
            table {
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
                    @for row in rows { (line(row, head.cells.len(), words, remarks)) }
                }
            }
        }
    }
}

fn line(row: &Row, columns: usize, words: usize, remarks: bool) -> Markup {
    html! {
        tr {
            @for column in 0..columns {
                @let cell = row.cells.get(column).map_or("", String::as_str);
                @if column == 0 && words > 0 {
                    th scope="row" { (cell) }
                } @else {
                    td class=[(column >= words).then_some("figure")] { (cell) }
                }
            }
            @if remarks { td class="remark" { (row.remark) } }
        }
    }
}

/// Names with what belongs to them.
pub(super) fn pairs<'a>(pairs: impl Iterator<Item = (&'a str, String)>) -> Markup {
    html! {
        dl class="pairs" {
            @for (name, value) in pairs {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// Labels with their sentences; a sentence without a label continues the one before.
pub(super) fn remarks(remarks: &[Remark]) -> Markup {
    html! {
        dl class="remarks" {
            @for block in remarks.chunk_by(|_, next| next.label.is_empty()) {
                div {
                    dt { (block.first().map_or("", |remark| remark.label)) }
                    @for remark in block { dd { (foreign(&remark.sentence, WORDS)) } }
                }
            }
        }
    }
}
