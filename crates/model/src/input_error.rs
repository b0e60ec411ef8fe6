//! An error in a user's file: its place, cause, and fix. Data only. Must not print, or name the file, which the caller
//! knows.

use std::ops::Range;

use crate::user_error::UserError;

/// An error in a workload file, in a CSV file of figures, or in a setting given to one.
#[derive(Debug, Clone, Default, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InputError {
    /// Place and cause, one line, lower case.
    pub message: String,
    /// The suggested fix.
    pub hint: Option<String>,
    /// Byte range in the file's text; `0..0` for an error in a setting.
    pub span: Range<usize>,
    /// Line of the span's start, from 1; 0 for an error outside the file.
    pub line: usize,
    /// Column of the span's start in characters, from 1; 0 for an error outside the file.
    pub column: usize,
}

impl InputError {
    /// An error at a place of `text`; a span beyond its end is moved to the end.
    pub fn at(text: &str, span: Range<usize>, message: impl Into<String>) -> Self {
        let start = text.floor_char_boundary(span.start);
        let end = text.floor_char_boundary(span.end).max(start);
        let before = text.get(..start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            message: one_line(&message.into()),
            hint: None,
            span: start..end,
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        }
    }

    /// An error outside the file: in a setting, or in a request that a valid file does not support.
    pub fn elsewhere(message: impl Into<String>) -> Self {
        Self { message: one_line(&message.into()), ..Self::default() }
    }

    /// The same error with a hint.
    pub fn with_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }
}

impl From<InputError> for UserError {
    /// An error in the use of a file, outside of its text.
    fn from(error: InputError) -> Self {
        Self::usage(error.message).hinted(error.hint)
    }
}

/// A message on one line, even if it quotes names from a damaged file.
fn one_line(message: &str) -> String {
    let line: Vec<&str> = message.lines().map(str::trim).collect();
    line.join("; ").chars().take(MAX_MESSAGE).collect()
}

/// Maximum number of characters of a message.
const MAX_MESSAGE: usize = 400;

/// `did you mean …?` if a known word is similar or has the word as a prefix, otherwise the list of known words.
pub fn suggest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(longer) = known.iter().find(|known| word.len() > 1 && known.starts_with(word)) {
        return Some(format!("did you mean `{longer}`?"));
    }
    let nearest = known.iter().map(|candidate| (distance(word, candidate), *candidate)).min();
    match nearest {
        None => None,
        Some((distance, candidate)) if distance <= 1 + candidate.len() / 4 => {
            Some(format!("did you mean `{candidate}`?"))
        }
        Some(_) => Some(format!("known here: {}", known.join(", "))),
    }
}

/// Edit distance with insertions, deletions, replacements, and swaps of neighbors (optimal string alignment). Words of
/// more than 64 letters have a large distance.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    if from.len() > 64 || to.len() > 64 {
        return usize::MAX;
    }
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let change = usize::from(from[i - 1] != to[j - 1]);
            let mut least =
                (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row[j] = least;
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters_and_swaps() {
        for (from, to, letters) in [
            ("", "", 0),
            ("", "abc", 3),
            ("uniform", "unifrom", 1),
            ("hosts", "host", 1),
            ("kitten", "sitting", 3),
            ("straße", "strasse", 2),
        ] {
            assert_eq!(distance(from, to), letters, "{from} {to}");
            assert_eq!(distance(to, from), letters, "{to} {from}");
        }
        assert_eq!(distance(&"a".repeat(65), "a"), usize::MAX);
    }

    #[test]
    fn a_near_word_is_suggested_a_far_one_gets_the_list() {
        let known = ["uniform", "normal"];
        let near = suggest("unifrom", known).unwrap();
        assert_eq!(near, "did you mean `uniform`?");
        let far = suggest("zipfian", known).unwrap();
        assert_eq!(far, "known here: uniform, normal");
        assert_eq!(suggest("x", []), None);
    }

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let text = "a = 1\nbé = ü\n";
        let start = text.find('ü').unwrap();
        let error = InputError::at(text, start..start + 1, "x");
        assert_eq!((error.line, error.column), (2, 6));
        let beyond = InputError::at(text, 100..200, "x");
        assert_eq!((beyond.span, beyond.line, beyond.column), (15..15, 3, 1));
    }
}
