//! Classifies a statement by its text, with as little SQL as the response needs. Must not do I/O.

use memchr::{memchr, memmem};

use super::value_rows::ValueRows;

/// The response to a driver's query for version, product, and maximum bytes of a statement: the default of the
/// simulated server.
pub(super) const FACTS: [&str; 3] = ["10.11.0-MariaDB", "Highwater's own sink", "16777216"];
/// The setting that identifies that query.
const FACTS_SETTING: &str = "@@max_allowed_packet";

/// The result of executing a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// This many rows were written.
    Applied(u64),
    /// One row of one column.
    Answered,
    /// One row of [`FACTS`].
    Facts,
    /// The rows follow.
    AsksForLines,
}

/// A statement to prepare.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) effect: Effect,
    /// Number of values in its execution.
    pub(super) parameters: u16,
}

impl Statement {
    /// Parses its text.
    pub(super) fn read(sql: &[u8]) -> Self {
        let effect = match values(sql) {
            Some(rows) => Effect::Applied(ValueRows::of(rows).rows),
            None => effect(sql),
        };
        Self { effect, parameters: placeholders(sql) }
    }
}

/// The effect of a statement without rows in its text.
pub(super) fn effect(sql: &[u8]) -> Effect {
    let is = |words: &[&str]| words.iter().any(|word| begins_with(sql, word));
    if is(&["SELECT", "WITH", "SHOW", "("]) {
        let text = String::from_utf8_lossy(sql);
        return if text.contains(FACTS_SETTING) { Effect::Facts } else { Effect::Answered };
    }
    if is(&["LOAD DATA"]) { Effect::AsksForLines } else { Effect::Applied(0) }
}

/// The text after `VALUES` in a statement that writes rows.
pub(super) fn values(sql: &[u8]) -> Option<&[u8]> {
    if !["INSERT", "REPLACE"].iter().any(|word| begins_with(sql, word)) {
        return None;
    }
    let mut quoted = false;
    for (at, byte) in sql.iter().enumerate() {
        match byte {
            b'`' => quoted = !quoted,
            b' ' | b')' | b'\n' if !quoted => {
                let word = sql.get(at + 1..).unwrap_or_default();
                let rows = word.get("VALUES".len()..).unwrap_or_default();
                let ends = rows.first().is_some_and(|next| b" (\n".contains(next));
                if ends && begins_exactly(word, "VALUES") {
                    return Some(rows);
                }
            }
            _ => {}
        }
    }
    None
}

/// Whether a statement begins with that word.
fn begins_with(sql: &[u8], word: &str) -> bool {
    begins_exactly(sql.trim_ascii_start(), word)
}

fn begins_exactly(sql: &[u8], word: &str) -> bool {
    let first = sql.get(..word.len());
    first.is_some_and(|first| first.eq_ignore_ascii_case(word.as_bytes()))
}

/// Number of question marks outside texts, quoted names, and comments.
fn placeholders(sql: &[u8]) -> u16 {
    let mut count: u16 = 0;
    let mut rest = sql;
    while let Some(first) = rest.first() {
        let length = match first {
            b'\'' | b'"' | b'`' => quoted(rest, *first),
            b'#' => line(rest),
            b'-' if rest.starts_with(b"-- ") => line(rest),
            b'/' if rest.starts_with(b"/*") => {
                memmem::find(rest, b"*/").map_or(rest.len(), |end| end + 2)
            }
            b'?' => {
                count = count.saturating_add(1);
                1
            }
            _ => 1,
        };
        rest = rest.get(length..).unwrap_or_default();
    }
    count
}

/// Length in bytes of a quoted part, including both quotes. In a text, a backslash escapes the next byte.
fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut escaped = false;
    for (at, byte) in rest.iter().enumerate().skip(1) {
        match *byte {
            _ if escaped => escaped = false,
            b'\\' if quote != b'`' => escaped = true,
            byte if byte == quote => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length in bytes up to the end of the line.
fn line(rest: &[u8]) -> usize {
    memchr(b'\n', rest).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_known_by_its_first_words_and_its_rows() {
        for (sql, effect, parameters) in [
            ("SELECT ?, '?', `?` -- ?", Effect::Answered, 1),
            ("\n with x AS (SELECT 1) SELECT 2", Effect::Answered, 0),
            ("INSERT INTO `values (` (`a?`, `b`) VALUES (?,?)", Effect::Applied(1), 2),
            (
                "insert into kv (k, v)\nvalues (?, ?), (?, ?) ON DUPLICATE KEY UPDATE v = VALUES(v)",
                Effect::Applied(2),
                4,
            ),
            ("INSERT INTO t (a, values_b) VALUES (1, 2)", Effect::Applied(1), 0),
            ("REPLACE INTO t VALUES (1)", Effect::Applied(1), 0),
            ("INSERT INTO t SELECT ?", Effect::Applied(0), 1),
            ("UPDATE t SET a = ? /* ? */", Effect::Applied(0), 1),
            ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t", Effect::AsksForLines, 0),
            ("SELECT version(), @@max_allowed_packet", Effect::Facts, 0),
            ("SET autocommit = 0", Effect::Applied(0), 0),
            ("", Effect::Applied(0), 0),
        ] {
            let expected = Statement { effect, parameters };
            assert_eq!(Statement::read(sql.as_bytes()), expected, "{sql}");
        }
    }
}
