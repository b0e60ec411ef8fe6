//! Converts numbered placeholders to MySQL's, which have no numbers: each `?` is the next value.
//!
//! Parses only as much SQL as is needed to distinguish a placeholder from text, a quoted name, or a comment.

use highwater_driver::sql::quoting::quoted_length;

/// The statement with `?` for each `?n`, and the index (from 0) of each one's value.
pub(super) fn positional(sql: &str) -> (String, Vec<usize>) {
    let mut text = String::with_capacity(sql.len());
    let mut values = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' | '`' => quoted_length(rest, first != '`'),
            '#' => line(rest),
            '-' if rest.starts_with("-- ") => line(rest),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '?' => {
                let digits = rest.bytes().skip(1).take_while(u8::is_ascii_digit).count();
                let number = rest.get(1..=digits).and_then(|digits| digits.parse().ok());
                if let Some(position) = number.and_then(|number: usize| number.checked_sub(1)) {
                    values.push(position);
                    text.push('?');
                    rest = rest.get(1 + digits..).unwrap_or_default();
                    continue;
                }
                1
            }
            _ => first.len_utf8(),
        };
        let (taken, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        text.push_str(taken);
        rest = behind;
    }
    (text, values)
}

/// Length in bytes up to the end of the line.
fn line(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_placeholder_is_the_value_that_its_number_names() {
        for (sql, text, values) in [
            ("SELECT ?1, ?2, ?1", "SELECT ?, ?, ?", &[0, 1, 0][..]),
            ("x IN (?10,?11)", "x IN (?,?)", &[9, 10]),
            ("'?1' \"?1\" `?1` ?1", "'?1' \"?1\" `?1` ?", &[0]),
            ("'it''s \\' ?1' ?2", "'it''s \\' ?1' ?", &[1]),
            ("`a\\` ?1", "`a\\` ?", &[0]),
            ("-- ?1\n?1 # ?2\n/* ?3 */?2", "-- ?1\n? # ?2\n/* ?3 */?", &[0, 1]),
            ("1--?1", "1--?", &[0]),
            ("?0 ? \u{e4}?1", "?0 ? \u{e4}?", &[0]),
            ("'not ended ?1", "'not ended ?1", &[]),
        ] {
            assert_eq!(positional(sql), (text.to_owned(), values.to_vec()), "{sql}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_fail(sql in "\\PC*|[?'\"`#/*0-9 \\\\-]*") {
            let (text, values) = positional(&sql);
            proptest::prop_assert!(text.len() <= sql.len() && values.len() <= sql.len());
        }
    }
}
