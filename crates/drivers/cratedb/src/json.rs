//! Writes JSON values directly into a byte vector.

/// Size of the buffer in bytes.
const TEXT_BYTES: usize = 512;
/// Maximum bytes of a number with its comma.
const NUMBER_BYTES: usize = 24;

/// The numbers of one or two digits, each with a comma before it: most metrics. Their length follows from their value.
const SMALL: [[u8; 4]; 100] = small();

#[expect(clippy::cast_possible_truncation, reason = "digits")]
const fn small() -> [[u8; 4]; 100] {
    let mut all = [[b','; 4]; 100];
    let mut n = 0;
    while n < all.len() {
        let (tens, ones) = (b'0' + (n / 10) as u8, b'0' + (n % 10) as u8);
        all[n] = if n < 10 { [b',', ones, 0, 0] } else { [b',', tens, ones, 0] };
        n += 1;
    }
    all
}

/// Buffers consecutive integers of a row, so that the vector's capacity is checked once for all of them.
pub(super) struct Numbers {
    text: [u8; TEXT_BYTES],
    start: usize,
    end: usize,
    /// The last number of more than two digits, and its text: times repeat for many rows.
    last: i64,
    last_text: [u8; NUMBER_BYTES],
    last_length: usize,
}

impl Numbers {
    pub(super) const fn new() -> Self {
        Self {
            text: [0; TEXT_BYTES],
            start: 0,
            end: 0,
            // A small number, which is never looked up among the long ones.
            last: 0,
            last_text: [0; NUMBER_BYTES],
            last_length: 0,
        }
    }

    /// A comma and a number; no comma for the `first` of all values.
    #[inline]
    pub(super) fn put(&mut self, out: &mut Vec<u8>, value: i64, first: bool) {
        if self.end + NUMBER_BYTES > TEXT_BYTES {
            self.flush(out);
        }
        if first {
            self.start = self.end + 1;
        }
        let room = &mut self.text[self.end..self.end + NUMBER_BYTES];
        match usize::try_from(value) {
            Ok(small) if small < SMALL.len() => {
                room[..4].copy_from_slice(&SMALL[small]);
                self.end += 2 + usize::from(small > 9);
            }
            _ => {
                if value != self.last {
                    let mut buffer = itoa::Buffer::new();
                    let digits = buffer.format(value).as_bytes();
                    self.last = value;
                    self.last_text[0] = b',';
                    self.last_text[1..=digits.len()].copy_from_slice(digits);
                    self.last_length = digits.len() + 1;
                }
                room.copy_from_slice(&self.last_text);
                self.end += self.last_length;
            }
        }
    }

    /// Writes the buffered numbers.
    #[inline]
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text[self.start..self.end]);
        (self.start, self.end) = (0, 0);
    }
}

/// Writes an integer.
#[inline]
pub(super) fn put_integer(out: &mut Vec<u8>, value: i64) {
    // Metrics are mostly small: two digits need no loop.
    match u8::try_from(value) {
        Ok(small @ 0..10) => out.push(b'0' + small),
        Ok(small @ 10..100) => out.extend_from_slice(&[b'0' + small / 10, b'0' + small % 10]),
        _ => {
            let mut buffer = itoa::Buffer::new();
            out.extend_from_slice(buffer.format(value).as_bytes());
        }
    }
}

/// Writes a float so that it reads back to the same bits; a value without a JSON number is written as a text that the
/// server converts.
pub(super) fn put_float(out: &mut Vec<u8>, value: f64) {
    if value.is_finite() {
        let mut buffer = zmij::Buffer::new();
        out.extend_from_slice(buffer.format_finite(value).as_bytes());
    } else if value.is_nan() {
        out.extend_from_slice(b"\"NaN\"");
    } else if value > 0.0 {
        out.extend_from_slice(b"\"Infinity\"");
    } else {
        out.extend_from_slice(b"\"-Infinity\"");
    }
}

/// Writes `true` or `false`.
pub(super) fn put_boolean(out: &mut Vec<u8>, value: bool) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Writes a text with its quotes.
pub(super) fn put_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    put_escaped(out, text);
    out.push(b'"');
}

/// Writes the content of a quoted text.
pub(super) fn put_escaped(out: &mut Vec<u8>, text: &str) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bytes = text.as_bytes();
    let mut copied = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let escape = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0..0x20 => b'u',
            _ => continue,
        };
        out.extend_from_slice(bytes.get(copied..at).unwrap_or_default());
        out.extend_from_slice(&[b'\\', escape]);
        if escape == b'u' {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            out.extend_from_slice(&[b'0', b'0', DIGITS[high], DIGITS[low]]);
        }
        copied = at + 1;
    }
    out.extend_from_slice(bytes.get(copied..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn written(put: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        put(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_json() {
        for (value, text) in [(0, "0"), (9, "9"), (10, "10"), (99, "99"), (100, "100"), (-1, "-1")]
        {
            assert_eq!(written(|out| put_integer(out, value)), text);
        }
        assert_eq!(written(|out| put_float(out, 0.0)), "0.0");
        assert_eq!(written(|out| put_float(out, f64::NAN)), "\"NaN\"");
        assert_eq!(written(|out| put_float(out, f64::NEG_INFINITY)), "\"-Infinity\"");
        assert_eq!(written(|out| put_boolean(out, true)), "true");
        assert_eq!(written(|out| put_text(out, "a\"b\\\n\u{1}é")), r#""a\"b\\\n\u0001é""#);
    }

    proptest! {
        #[test]
        fn gathered_numbers_are_those_written_one_by_one(
            numbers in proptest::collection::vec(
                prop_oneof![any::<i64>(), -3_i64..110, Just(1_451_606_400_000)], 0..60),
        ) {
            let text = written(|out| {
                out.push(b'[');
                let mut gathered = Numbers::new();
                for (n, number) in numbers.iter().enumerate() {
                    gathered.put(out, *number, n == 0);
                }
                gathered.flush(out);
                out.push(b']');
            });
            prop_assert_eq!(serde_json::from_str::<Vec<i64>>(&text).unwrap(), numbers);
        }

        #[test]
        fn a_json_reader_finds_the_same_values(text in ".{0,30}", integer: i64, float: f64) {
            let read = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
            prop_assert_eq!(read(written(|out| put_text(out, &text))), text);
            prop_assert_eq!(read(written(|out| put_integer(out, integer))), integer);
            if float.is_finite() {
                let back = read(written(|out| put_float(out, float))).as_f64().unwrap();
                prop_assert_eq!(back.to_bits(), float.to_bits());
            }
        }
    }
}
