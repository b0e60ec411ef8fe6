//! Typesetting of figures and commands in a sentence: no line break separates a figure from its unit, and commands in
//! backquotes are set as code.

use maud::{Markup, html};

/// Units, which stay on the line of their figure.
const UNITS: &str = "ns µs ms s min h d B kB MB GB TB PB rows/s queries/s ops/s rows queries ops \
                     nodes node cores probes runs sessions";

/// The same text with a no-break space between a figure and its unit.
pub(crate) fn kept(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        kept.push_str(word);
        let Some(next) = words.peek() else { break };
        let unit = next.trim_end_matches([',', ';', '.', ')', ':', '?', ']']);
        let ends_in_digit = word.ends_with(|c: char| c.is_ascii_digit());
        let is_sign = matches!(word, "≤" | "≥" | "<" | ">");
        let is_kept = (ends_in_digit && UNITS.split(' ').any(|of| of == unit))
            || is_sign
            || matches!(*next, "≤" | "≥");
        kept.push(if is_kept { '\u{a0}' } else { ' ' });
    }
    kept
}

/// A sentence with the commands in backquotes set as code.
pub(crate) fn sentence(text: &str) -> Markup {
    // An unpaired backquote is part of the target's text.
    let is_paired = text.matches('`').count().is_multiple_of(2);
    if !is_paired {
        return html! { (kept(text)) };
    }
    html! {
        @for (number, part) in text.split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (kept(part)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_code_and_a_single_backquote_is_itself() {
        let set = |text| sentence(text).into_string();
        assert_eq!(
            set("`highwater find` finds 5 ms."),
            "<code>highwater find</code> finds 5\u{a0}ms."
        );
        assert_eq!(set("near `x"), "near `x");
    }

    #[test]
    fn a_figure_is_kept_with_its_unit() {
        let cases = [
            ("p99 64.0 ms.", "p99 64.0\u{a0}ms."),
            ("at 1,000 rows/s, of 3", "at 1,000\u{a0}rows/s, of 3"),
            ("within p99 ≤ 50 ms?", "within p99\u{a0}≤\u{a0}50\u{a0}ms?"),
            ("5 min 1 s more", "5\u{a0}min 1\u{a0}s more"),
            ("A 5 B", "A 5\u{a0}B"),
            ("no figure", "no figure"),
            ("", ""),
        ];
        for (text, expected) in cases {
            assert_eq!(kept(text), expected);
        }
    }
}
