//! Counts the rows of `(…), (…)` as the text arrives, in pieces of any size.
//!
//! Most bytes are skipped by searching for a few characters at memory speed. Assumes single-quoted texts, as written by
//! Highwater's driver.

use memchr::{memchr2, memchr3};

/// Rows seen so far.
#[derive(Debug, Default)]
pub(super) struct ValueRows {
    /// Rows begun.
    pub(super) rows: u64,
    place: Place,
}

/// Position at the end of the last piece.
#[derive(Debug, Default, Clone, Copy)]
enum Place {
    /// Before a row, or between two.
    #[default]
    Between,
    /// Within this many additional parentheses of a row.
    Row(u32),
    /// In a text there.
    Text(u32),
    /// After a backslash there.
    Escaped(u32),
    /// After the last row.
    Over,
}

impl ValueRows {
    /// From the start of a text.
    pub(super) fn of(beginning: &[u8]) -> Self {
        let mut rows = Self::default();
        rows.take(beginning);
        rows
    }

    /// The next piece.
    pub(super) fn take(&mut self, mut piece: &[u8]) {
        while let Some(first) = piece.first() {
            let (next, passed) = match self.place {
                Place::Between => {
                    let next = match first {
                        b'(' => {
                            self.rows += 1;
                            Place::Row(0)
                        }
                        b',' | b' ' | b'\n' | b'\r' | b'\t' => Place::Between,
                        _ => Place::Over,
                    };
                    (next, 1)
                }
                Place::Row(depth) => match memchr3(b'(', b')', b'\'', piece) {
                    Some(at) => {
                        let next = match piece.get(at) {
                            Some(b'(') => Place::Row(depth.saturating_add(1)),
                            Some(b')') => depth.checked_sub(1).map_or(Place::Between, Place::Row),
                            _ => Place::Text(depth),
                        };
                        (next, at + 1)
                    }
                    None => return,
                },
                Place::Text(depth) => match memchr2(b'\'', b'\\', piece) {
                    Some(at) if piece.get(at) == Some(&b'\\') => (Place::Escaped(depth), at + 1),
                    // The second quote of a doubled one starts a text again.
                    Some(at) => (Place::Row(depth), at + 1),
                    None => return,
                },
                Place::Escaped(depth) => (Place::Text(depth), 1),
                Place::Over => return,
            };
            self.place = next;
            piece = piece.get(passed..).unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_row_is_what_stands_in_outer_parentheses() {
        for (text, rows) in [
            ("(1)", 1),
            (" (1,'a'),\n(2,NULL)", 2),
            ("(1,'(,''(\\'(')", 1),
            ("(1,((2)),f(3)),(4)", 2),
            ("(?) ON DUPLICATE KEY UPDATE v = VALUES(v)", 1),
            ("('\\\\'),('x')", 2),
            ("", 0),
            ("SELECT (1)", 0),
        ] {
            assert_eq!(ValueRows::of(text.as_bytes()).rows, rows, "{text}");
        }
    }

    proptest! {
        #[test]
        fn rows_are_counted_wherever_the_text_is_cut(
            texts in proptest::collection::vec("[a()'\\\\,]{0,8}", 0..20),
            piece in 1_usize..9,
        ) {
            let row = |text: &String| {
                let escaped = text.replace('\\', "\\\\").replace('\'', "\\'");
                format!("(1,'{escaped}',(2))")
            };
            let all: Vec<String> = texts.iter().map(row).collect();
            let mut seen = ValueRows::default();
            for piece in all.join(",").as_bytes().chunks(piece) {
                seen.take(piece);
            }
            prop_assert_eq!(seen.rows, texts.len() as u64);
        }
    }
}
