//! Finds the positions of a CSV record's fields in its text, so that errors can be shown there.
//!
//! Must not parse fields; the CSV library does.

use std::ops::Range;

/// The byte at which the record begins that the library reports at `position`: the library includes preceding comments
/// and blank lines.
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

/// The positions of the fields of the record that begins at `start`, without surrounding blanks.
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
