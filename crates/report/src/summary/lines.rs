//! Lines and parts of lines that several summaries share. Must not read a record.

use super::layout::Line;
use crate::layout::Row;

/// Maximum rows of a table; the report has all of them.
const ROWS_SHOWN: usize = 8;
/// Maximum characters of a line before it wraps.
pub(super) const WORDS: usize = 400;

/// The first rows below their head, and the number of the others.
pub(super) fn first_rows(mut rows: Vec<Row>, words: usize) -> Vec<Line> {
    let more = rows.len().saturating_sub(1 + ROWS_SHOWN);
    rows.truncate(1 + ROWS_SHOWN);
    if rows.len() < 2 {
        return Vec::new();
    }
    let table = Line::Table { rows, words };
    let rest = (more > 0).then(|| Line::Below(format!("and {more} more (-v)")));
    std::iter::once(table).chain(rest).collect()
}

/// A sentence about several items, of which the first is shown.
pub(super) fn and_more(first: &str, more: usize) -> String {
    match more {
        0 => first.to_owned(),
        more => {
            let first = first.strip_suffix('.').unwrap_or(first);
            format!("{first}; and {more} more (-v)")
        }
    }
}

/// The first item, and the number of the others.
pub(super) fn first_of(label: &str, all: impl IntoIterator<Item = String>) -> Option<Line> {
    let mut all = all.into_iter();
    let first = all.next()?;
    Some(Line::labeled(label, and_more(&first, all.count())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_goes_on_has_no_period_before() {
        for (first, more, expected) in [
            ("Set --retention.", 0, "Set --retention."),
            ("Set --retention.", 1, "Set --retention; and 1 more (-v)"),
            ("CPU 97%", 2, "CPU 97%; and 2 more (-v)"),
        ] {
            assert_eq!(and_more(first, more), expected);
        }
    }
}
