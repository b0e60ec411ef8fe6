//! The execution of a prepared statement, with its values in the protocol's binary format.

use highwater_driver::cell::Cell;
use highwater_driver::cell::CivilTime;

use super::text;
use crate::packet::{self, command, put_lenenc_bytes};

const TINY: u8 = 1;
const DOUBLE: u8 = 5;
const NULL: u8 = 6;
const LONGLONG: u8 = 8;
const DATETIME: u8 = 12;
const VAR_STRING: u8 = 253;

/// Writes one execution, with the types of its values.
pub(super) fn execute<'c>(
    out: &mut Vec<u8>,
    statement: u32,
    cells: impl Iterator<Item = Cell<'c>> + Clone,
) {
    let at = packet::start(out, 0);
    out.push(command::STMT_EXECUTE);
    out.extend_from_slice(&statement.to_le_bytes());
    // No cursor, one iteration.
    out.extend_from_slice(&[0, 1, 0, 0, 0]);
    let bitmap = out.len();
    let mut count = 0;
    for (index, cell) in cells.clone().enumerate() {
        if index % 8 == 0 {
            out.push(0);
        }
        if let (Cell::Null, Some(byte)) = (cell, out.last_mut()) {
            *byte |= 1 << (index % 8);
        }
        count += 1;
    }
    if count > 0 {
        debug_assert_eq!(out.len() - bitmap, usize::div_ceil(count, 8));
        // The types follow.
        out.push(1);
        for cell in cells.clone() {
            out.extend_from_slice(&[type_of(cell), 0]);
        }
        for cell in cells {
            put(out, cell);
        }
    }
    packet::finish(out, at);
}

fn type_of(cell: Cell<'_>) -> u8 {
    match cell {
        Cell::Null => NULL,
        Cell::Integer(_) => LONGLONG,
        Cell::Float(_) => DOUBLE,
        Cell::Boolean(_) => TINY,
        Cell::TimestampMs(ms) if has_binary_form(ms) => DATETIME,
        Cell::TimestampMs(_) | Cell::Text(_) => VAR_STRING,
    }
}

/// Whether the server supports the year; others are sent as text, which it rejects.
fn has_binary_form(ms: i64) -> bool {
    (0..=9_999).contains(&CivilTime::of_ms(ms).year)
}

fn put(out: &mut Vec<u8>, cell: Cell<'_>) {
    match cell {
        Cell::Null => {}
        Cell::Integer(v) => out.extend_from_slice(&v.to_le_bytes()),
        Cell::Float(v) => out.extend_from_slice(&v.to_le_bytes()),
        Cell::Boolean(v) => out.push(u8::from(v)),
        Cell::Text(v) => put_lenenc_bytes(out, v.as_bytes()),
        Cell::TimestampMs(ms) if has_binary_form(ms) => {
            let time = CivilTime::of_ms(ms);
            let [a, b] = u16::try_from(time.year).unwrap_or(0).to_le_bytes();
            out.extend_from_slice(&[11, a, b, time.month, time.day]);
            out.extend_from_slice(&[time.hour, time.minute, time.second]);
            let micros = u32::from(time.milli) * 1_000;
            out.extend_from_slice(&micros.to_le_bytes());
        }
        Cell::TimestampMs(ms) => {
            let mut written = Vec::new();
            text::timestamp(&mut written, ms);
            put_lenenc_bytes(out, &written);
        }
    }
}
