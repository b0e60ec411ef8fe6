//! JSON values, written straight into a byte vector.

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

/// Writes a float so that it reads back to the same bits; what JSON has no number for goes as the
/// text that the server converts.
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

/// Writes what stands between the quotes of a text.
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
        for (value, text) in [
            (0, "0"),
            (9, "9"),
            (10, "10"),
            (99, "99"),
            (100, "100"),
            (-1, "-1"),
        ] {
            assert_eq!(written(|out| put_integer(out, value)), text);
        }
        assert_eq!(written(|out| put_float(out, 0.0)), "0.0");
        assert_eq!(written(|out| put_float(out, f64::NAN)), "\"NaN\"");
        assert_eq!(
            written(|out| put_float(out, f64::NEG_INFINITY)),
            "\"-Infinity\""
        );
        assert_eq!(written(|out| put_boolean(out, true)), "true");
        assert_eq!(
            written(|out| put_text(out, "a\"b\\\n\u{1}é")),
            r#""a\"b\\\n\u0001é""#
        );
    }

    proptest! {
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
