//! Where the fields of a CSV record stand in its text, so that a mistake can be shown there.
//!
//! It finds places only; what the fields hold is the CSV library's word.

use std::ops::Range;

/// The byte at which the record begins that the library reports at `position`: it counts
/// comments and blank lines before a record as part of it.
pub(super) fn record_start(text: &str, position: usize) -> usize {
    let mut start = position.min(text.len());
    loop {
        let rest = text.get(start..).unwrap_or_default();
        let line = rest.split_inclusive('\n').next().unwrap_or_default();
        let is_content = !line.trim().is_empty() && !line.starts_with('#');
        if is_content || line.is_empty() {
            return start;
        }
        start += line.len();
    }
}

/// The places of the fields of the record that begins at `start`, without blanks around them.
pub(super) fn spans(text: &str, start: usize, delimiter: u8) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut spans = Vec::new();
    let (mut field, mut quoted, mut at) = (start, false, start);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            byte if byte == delimiter && !quoted => {
                spans.push(trimmed(text, field..at));
                field = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    spans.push(trimmed(text, field..at));
    spans
}

fn trimmed(text: &str, span: Range<usize>) -> Range<usize> {
    let field = text.get(span.clone()).unwrap_or_default();
    let start = span.start + (field.len() - field.trim_start().len());
    start..start + field.trim().len()
}
