//! Counts the rows of a COPY as its bytes arrive, in pieces of any size.
//!
//! Source of the binary format: PostgreSQL documentation, COPY, "Binary Format".

/// Signature, flags and extension length of binary COPY.
const HEADER_BYTES: usize = 19;

/// Rows seen so far.
#[derive(Debug, Default)]
pub(super) struct CopyRows {
    /// Rows begun (binary) or ended (text).
    pub(super) rows: u64,
    binary: Option<Binary>,
}

/// Position in the binary format at the end of the last piece.
#[derive(Debug, Default)]
struct Binary {
    /// Bytes to skip.
    skip: usize,
    /// Remaining fields of the current row.
    fields: u16,
    /// The start of a number.
    part: [u8; 4],
    filled: usize,
}

impl CopyRows {
    /// For a COPY in that format.
    pub(super) fn new(binary: bool) -> Self {
        Self {
            rows: 0,
            binary: binary.then_some(Binary { skip: HEADER_BYTES, ..Binary::default() }),
        }
    }

    /// The next piece of the data.
    pub(super) fn take(&mut self, piece: &[u8]) {
        self.rows += if let Some(binary) = &mut self.binary {
            binary.take(piece)
        } else {
            piece.split(|byte| *byte == b'\n').skip(1).count() as u64
        };
    }
}

impl Binary {
    /// Rows that begin in this piece.
    fn take(&mut self, mut piece: &[u8]) -> u64 {
        let mut rows = 0;
        while !piece.is_empty() {
            if self.skip > 0 {
                let passed = self.skip.min(piece.len());
                self.skip -= passed;
                piece = &piece[passed..];
                continue;
            }
            let needed = if self.fields == 0 { 2 } else { 4 };
            let taken = (needed - self.filled).min(piece.len());
            self.part[self.filled..self.filled + taken].copy_from_slice(&piece[..taken]);
            self.filled += taken;
            piece = &piece[taken..];
            if self.filled < needed {
                break;
            }
            self.filled = 0;
            if self.fields == 0 {
                let [high, low, ..] = self.part;
                let fields = i16::from_be_bytes([high, low]);
                // Minus one ends the data.
                self.fields = u16::try_from(fields).unwrap_or(0);
                rows += u64::from(fields >= 0);
            } else {
                self.fields -= 1;
                // Minus one is a null.
                self.skip = usize::try_from(i32::from_be_bytes(self.part)).unwrap_or(0);
            }
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rows of fields; a field without bytes is null.
    fn encoded(rows: &[Vec<Option<Vec<u8>>>]) -> Vec<u8> {
        let mut bytes = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
        for row in rows {
            bytes.extend(u16::try_from(row.len()).unwrap().to_be_bytes());
            for field in row {
                let length = field.as_ref().map_or(-1, |f| i32::try_from(f.len()).unwrap());
                bytes.extend(length.to_be_bytes());
                bytes.extend(field.iter().flatten());
            }
        }
        bytes.extend((-1_i16).to_be_bytes());
        bytes
    }

    proptest! {
        #[test]
        fn rows_are_counted_wherever_the_data_are_cut(
            rows in proptest::collection::vec(
                proptest::collection::vec(
                    proptest::option::of(proptest::collection::vec(any::<u8>(), 0..9)), 1..5),
                0..20),
            piece in 1_usize..40,
        ) {
            let mut seen = CopyRows::new(true);
            for piece in encoded(&rows).chunks(piece) {
                seen.take(piece);
            }
            prop_assert_eq!(seen.rows, rows.len() as u64);
        }
    }

    #[test]
    fn lines_are_the_rows_of_the_text_format() {
        let mut seen = CopyRows::new(false);
        for piece in [&b"1\ta\\nb\n2\t"[..], b"b", b"\n3\tc\n"] {
            seen.take(piece);
        }
        assert_eq!(seen.rows, 3);
    }
}
