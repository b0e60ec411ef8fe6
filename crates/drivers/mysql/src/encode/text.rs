//! Values as text: literals of a statement, and fields of a line of LOAD DATA.
//!
//! An encoder cannot fail. A value that cannot be represented is written so that the server rejects it.

use std::io::Write;

use highwater_driver::cell::Cell;
use highwater_driver::cell::CivilTime;

/// Writes a row of VALUES.
pub(super) fn values<'c>(out: &mut Vec<u8>, cells: impl Iterator<Item = Cell<'c>>) {
    let mut before = b'(';
    for cell in cells {
        out.push(before);
        before = b',';
        match cell {
            Cell::Null => out.extend_from_slice(b"NULL"),
            Cell::Text(text) => {
                out.push(b'\'');
                escape(out, text, |byte| match byte {
                    b'\'' => Some(b'\''),
                    b'\\' => Some(b'\\'),
                    0 => Some(b'0'),
                    _ => None,
                });
                out.push(b'\'');
            }
            Cell::TimestampMs(ms) => {
                out.push(b'\'');
                timestamp(out, ms);
                out.push(b'\'');
            }
            cell => number(out, cell),
        }
    }
    out.push(b')');
}

/// Writes a line of LOAD DATA with its default format.
pub(super) fn line<'c>(out: &mut Vec<u8>, cells: impl Iterator<Item = Cell<'c>>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        match cell {
            Cell::Null => out.extend_from_slice(b"\\N"),
            Cell::Text(text) => escape(out, text, |byte| match byte {
                b'\\' => Some(b'\\'),
                b'\t' => Some(b't'),
                b'\n' => Some(b'n'),
                0 => Some(b'0'),
                _ => None,
            }),
            Cell::TimestampMs(ms) => timestamp(out, ms),
            cell => number(out, cell),
        }
    }
    out.push(b'\n');
}

/// Writes a text in which some bytes are replaced by a backslash and the result of `escaped`.
fn escape(out: &mut Vec<u8>, text: &str, escaped: impl Fn(u8) -> Option<u8>) {
    let bytes = text.as_bytes();
    let mut plain = 0;
    for (at, byte) in bytes.iter().enumerate() {
        if let Some(letter) = escaped(*byte) {
            out.extend_from_slice(bytes.get(plain..at).unwrap_or_default());
            out.extend_from_slice(&[b'\\', letter]);
            plain = at + 1;
        }
    }
    out.extend_from_slice(bytes.get(plain..).unwrap_or_default());
}

/// Writes a value that needs no quotes.
fn number(out: &mut Vec<u8>, cell: Cell<'_>) {
    match cell {
        Cell::Integer(v) => {
            out.extend_from_slice(itoa::Buffer::new().format(v).as_bytes());
        }
        Cell::Boolean(v) => out.push(if v { b'1' } else { b'0' }),
        // Without an exponent, it would be a decimal.
        Cell::Float(v) if v.is_finite() => drop(write!(out, "{v:e}")),
        // There is no such literal: a value beyond the maximum is rejected.
        Cell::Float(v) => out.extend_from_slice(if v < 0.0 { b"-1e999" } else { b"1e999" }),
        Cell::Null | Cell::Text(_) | Cell::TimestampMs(_) => {}
    }
}

/// `2026-01-31 23:59:59.123`; the server rejects years that it does not support.
pub(super) fn timestamp(out: &mut Vec<u8>, ms: i64) {
    let time = CivilTime::of_ms(ms);
    if (0..=9_999).contains(&time.year) {
        let year = u16::try_from(time.year).unwrap_or(0);
        digits(out, u8::try_from(year / 100).unwrap_or(0));
        digits(out, u8::try_from(year % 100).unwrap_or(0));
    } else {
        drop(write!(out, "{}", time.year));
    }
    for (before, number) in [
        (b'-', time.month),
        (b'-', time.day),
        (b' ', time.hour),
        (b':', time.minute),
        (b':', time.second),
    ] {
        out.push(before);
        digits(out, number);
    }
    out.push(b'.');
    out.push(b'0' + u8::try_from(time.milli / 100).unwrap_or(0));
    digits(out, u8::try_from(time.milli % 100).unwrap_or(0));
}

/// Two digits.
fn digits(out: &mut Vec<u8>, number: u8) {
    out.extend_from_slice(&[b'0' + number / 10, b'0' + number % 10]);
}
