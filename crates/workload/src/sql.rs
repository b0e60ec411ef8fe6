//! SQL text with named parameters, and its conversion to a dialect's placeholders; and the possible effects of
//! statements, as shown by their words.
//!
//! It parses only enough SQL to distinguish a parameter from other uses of a colon: quoted strings and identifiers,
//! dollar-quoted strings, comments, and casts (`::`) are unchanged.

use std::ops::Range;

use serde::{Serialize, Serializer};

use highwater_model::literal::LiteralSql;
use highwater_model::op::{OpId, PlaceholderStyle};

use super::definition::{OpBodyDefinition, OpDefinition};
use super::instance::Workload;

/// One statement, split at its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sql {
    /// The text as written.
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A parameter's position in the op's list.
    Parameter(usize),
    /// `:(a, b)`: one row per value of these parameters, `($1, $3), ($2, $4)`.
    Rows(Vec<usize>),
}

/// An error in a statement.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SqlInputError {
    /// `:name` is not among the op's parameters.
    UnknownParameter(String),
    /// A parameter of the op that the statement does not use.
    UnusedParameter(String),
    /// Text after a `;`.
    SeveralStatements,
    /// A quote or a comment without an end.
    Unterminated(&'static str),
    /// The statement is empty.
    Empty,
}

impl Serialize for Sql {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl Sql {
    /// Splits `text` at the parameters `names`, all of which it must use; collects all errors.
    pub(super) fn parse(text: &str, names: &[&str]) -> Result<Self, Vec<SqlInputError>> {
        let mut all = Self::parse_all(&[text], names)
            .map_err(|errors| errors.into_iter().map(|(_, error)| error).collect::<Vec<_>>())?;
        all.pop().ok_or_else(|| vec![SqlInputError::Empty])
    }

    /// Splits several texts, which together must use all of `names` that are not empty; each error has the position of
    /// its text.
    pub(super) fn parse_all(
        texts: &[&str],
        names: &[&str],
    ) -> Result<Vec<Self>, Vec<(usize, SqlInputError)>> {
        let (all, errors) = Self::cut_all(texts, names);
        if errors.is_empty() { Ok(all) } else { Err(errors) }
    }

    /// The same; the texts with errors are incomplete.
    pub(super) fn cut_all(
        texts: &[&str],
        names: &[&str],
    ) -> (Vec<Self>, Vec<(usize, SqlInputError)>) {
        let mut errors = Vec::new();
        let mut all = Vec::with_capacity(texts.len());
        for (number, text) in texts.iter().enumerate() {
            let (sql, wrong) = Self::cut(text, names);
            errors.extend(wrong.into_iter().map(|error| (number, error)));
            all.push(sql);
        }
        for (position, name) in names.iter().enumerate() {
            if !name.is_empty() && !all.iter().any(|sql| sql.uses(position)) {
                errors.push((0, SqlInputError::UnusedParameter((*name).to_owned())));
            }
        }
        (all, errors)
    }

    /// The text as written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it uses the parameter at a position of the list.
    pub(super) fn uses(&self, position: usize) -> bool {
        self.pieces.iter().any(|piece| match piece {
            Piece::Text(_) => false,
            Piece::Parameter(used) => *used == position,
            Piece::Rows(row) => row.contains(&position),
        })
    }

    /// The number of values of each of the op's parameters in it: 0 for unused ones.
    pub(super) fn counts(&self, of_op: impl Iterator<Item = u64>) -> Vec<u64> {
        let here = |(position, count)| if self.uses(position) { count } else { 0 };
        of_op.enumerate().map(here).collect()
    }

    /// Splits one text, which need not use every parameter.
    fn cut(text: &str, names: &[&str]) -> (Self, Vec<SqlInputError>) {
        let text = text.trim().trim_end_matches(';').trim_end();
        let mut errors = Vec::new();
        let mut pieces = Vec::new();
        let (mut copied, mut at) = (0, 0);
        while at < text.len() {
            let token = match Token::first(text.get(at..).unwrap_or_default()) {
                Ok(token) => token,
                Err(what) => {
                    errors.push(SqlInputError::Unterminated(what));
                    break;
                }
            };
            let end = at + token.length();
            let mut position = |name: &str| {
                let position = names.iter().position(|known| *known == name);
                if position.is_none() {
                    errors.push(SqlInputError::UnknownParameter(name.to_owned()));
                }
                position
            };
            let piece = match token {
                Token::Other(_) => None,
                Token::Semicolon => {
                    errors.push(SqlInputError::SeveralStatements);
                    None
                }
                Token::Parameter(name) => position(name).map(Piece::Parameter),
                Token::Rows(list) => {
                    let names = list.split(',').map(str::trim);
                    Some(Piece::Rows(names.filter_map(position).collect()))
                }
            };
            if let Some(piece) = piece {
                let before = text.get(copied..at).unwrap_or_default();
                pieces.extend([Piece::Text(before.to_owned()), piece]);
                copied = end;
            }
            at = end;
        }
        pieces.push(Piece::Text(text.get(copied..).unwrap_or_default().to_owned()));
        if text.is_empty() {
            errors.push(SqlInputError::Empty);
        }
        let text = text.to_owned();
        (Self { text, pieces }, errors)
    }

    /// Whether its words show that the statement changes nothing.
    pub(super) fn only_reads(&self) -> bool {
        const READ: [&str; 7] = ["select", "with", "values", "table", "show", "explain", "pragma"];
        const CHANGE: [&str; 5] = ["insert", "update", "delete", "merge", "into"];
        let words = words(&self.text);
        let reads = words.first().is_some_and(|word| READ.contains(&word.as_str()));
        let changes = words.iter().filter(|word| CHANGE.contains(&word.as_str()));
        // SELECT … FOR UPDATE only locks; SELECT … INTO creates a table.
        let locks = words.windows(2).filter(|pair| *pair == ["for", "update"]);
        reads && changes.count() <= locks.count()
    }

    /// The statement with numbered placeholders, one per value of [`Sql::template`].
    pub(super) fn with_placeholders(&self, style: PlaceholderStyle, counts: &[u64]) -> String {
        self.template(counts).numbered(match style {
            PlaceholderStyle::Dollar => '$',
            PlaceholderStyle::Question => '?',
        })
    }

    /// Converts a character position in the statement with placeholders to a byte position in the original text; a
    /// position in a placeholder maps to its start.
    fn written_at(&self, position: usize, counts: &[u64]) -> usize {
        let (mut sent, mut written) = (0, 0);
        for piece in &self.pieces {
            let only = Self { text: String::new(), pieces: vec![piece.clone()] };
            let characters = only.with_placeholders(PlaceholderStyle::Dollar, counts);
            let characters = characters.chars().count();
            if position < sent + characters {
                let Piece::Text(text) = piece else {
                    return written;
                };
                let before = text.chars().take(position - sent);
                return written + before.map(char::len_utf8).sum::<usize>();
            }
            sent += characters;
            written += match piece {
                Piece::Text(text) => text.len(),
                Piece::Parameter(_) | Piece::Rows(_) => {
                    let rest = self.text.get(written..).unwrap_or_default();
                    Token::first(rest).map_or(0, |token| token.length())
                }
            };
        }
        self.text.len()
    }

    /// The statement with a slot per value. `counts` has the number of values of each of the op's parameters; values
    /// are consecutive, and those of a list are separated by commas. The number of rows is that of the first
    /// parameter's values.
    pub(super) fn template(&self, counts: &[u64]) -> LiteralSql {
        let mut template = LiteralSql::default();
        let count = |position: usize| {
            let count = counts.get(position).copied().unwrap_or(1);
            usize::try_from(count).unwrap_or(usize::MAX)
        };
        let begin = |position: usize| (0..position).map(count).sum::<usize>();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => template.push_text(text),
                Piece::Parameter(position) => {
                    let first = begin(*position);
                    template.push_list(first..first + count(*position));
                }
                Piece::Rows(row) => {
                    let rows = row.first().map_or(1, |position| count(*position));
                    for number in 0..rows {
                        template.push_text(if number > 0 { ", (" } else { "(" });
                        template.push_list(row.iter().map(|position| begin(*position) + number));
                        template.push_text(")");
                    }
                }
            }
        }
        template
    }
}

/// The words outside of quotes and comments, in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    let words = tokens(text)
        .filter_map(|(place, _)| text.get(place))
        .filter(|piece| piece.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    words.map(str::to_ascii_lowercase).collect()
}

/// The tokens of a text with their positions, up to one without an end.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = (Range<usize>, Token<'_>)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let token = Token::first(rest).ok()?;
        let begin = at;
        at += token.length().max(1);
        Some((begin..at, token))
    })
}

/// The first token of a text.
pub(super) enum Token<'t> {
    /// This many bytes without a parameter or semicolon.
    Other(usize),
    Semicolon,
    /// The name after a colon.
    Parameter(&'t str),
    /// The list of names in parentheses after a colon.
    Rows(&'t str),
}

impl<'t> Token<'t> {
    /// Length in bytes.
    fn length(&self) -> usize {
        match self {
            Self::Other(length) => *length,
            Self::Semicolon => 1,
            Self::Parameter(name) => 1 + name.len(),
            Self::Rows(list) => 3 + list.len(),
        }
    }

    /// The first token of a non-empty text; an error names a token without an end.
    fn first(text: &'t str) -> Result<Self, &'static str> {
        let until = |end: &str, skip: usize, what| {
            let body = text.get(skip..).unwrap_or_default();
            let length = body.find(end).ok_or(what)?;
            Ok(Self::Other(skip + length + end.len()))
        };
        let second = text.chars().nth(1);
        match (text.chars().next().unwrap_or(' '), second) {
            ('\'', _) => until("'", 1, "string"),
            ('"', _) => until("\"", 1, "quoted name"),
            ('`', _) => until("`", 1, "quoted name"),
            ('-', Some('-')) => Ok(Self::Other(text.find('\n').unwrap_or(text.len()))),
            ('/', Some('*')) => until("*/", 2, "comment"),
            (':', Some(':')) => Ok(Self::Other(2)),
            (':', Some(c)) if c.is_ascii_alphabetic() || c == '_' => {
                Ok(Self::Parameter(name_at_start(text.get(1..).unwrap_or_default())))
            }
            (':', Some('(')) => {
                let list = text.get(2..).unwrap_or_default();
                let list = list.split_once(')').map_or("", |(list, _)| list);
                let named = |name: &str| {
                    let name = name.trim();
                    !name.is_empty()
                        && name_at_start(name) == name
                        && !name.starts_with(char::is_numeric)
                };
                Ok(if list.split(',').all(named) { Self::Rows(list) } else { Self::Other(2) })
            }
            (';', _) => Ok(Self::Semicolon),
            ('$', Some(c)) if c == '$' || c.is_ascii_alphabetic() || c == '_' => {
                let tag = name_at_start(text.get(1..).unwrap_or_default());
                match text.get(..tag.len() + 2) {
                    Some(quote) if quote.ends_with('$') => {
                        until(quote, quote.len(), "dollar-quoted string")
                    }
                    _ => Ok(Self::Other(1)),
                }
            }
            // A word is skipped as a whole, so that a dollar or a colon inside it starts nothing.
            (c, _) if c.is_alphanumeric() || c == '_' => {
                let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$'));
                Ok(Self::Other(end.unwrap_or(text.len())))
            }
            (c, _) => Ok(Self::Other(c.len_utf8())),
        }
    }
}

/// The letters, digits, and underscores at the start of a text.
fn name_at_start(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// Maximum number of statements in a transaction.
pub(super) const MAX_STATEMENTS: usize = 1_000;

/// First words of the statements that begin or end a transaction, or divide it.
const CONTROL: [&str; 9] =
    ["abort", "begin", "commit", "end", "prepare", "release", "rollback", "savepoint", "start"];

/// The effect of a statement on its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    /// Begins one, without a mode.
    Begin,
    /// Begins one with a mode.
    BeginWithMode,
    /// Commits one.
    End,
    /// Ends one without effect.
    RollBack,
    /// Anything else that is invalid inside a transaction.
    Other,
}

impl Control {
    /// The effect of a statement; `None` if it has none.
    pub(super) fn parse(statement: &str) -> Option<Self> {
        let words = words(statement);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let words = words.strip_suffix(&["and", "no", "chain"]).unwrap_or(&words);
        match words {
            ["begin"] | ["begin", "transaction" | "work"] | ["start", "transaction"] => {
                Some(Self::Begin)
            }
            ["commit" | "end"] | ["commit" | "end", "transaction" | "work"] => Some(Self::End),
            ["rollback" | "abort"] | ["rollback" | "abort", "transaction" | "work"] => {
                Some(Self::RollBack)
            }
            ["begin", ..] | ["start", "transaction", ..] => Some(Self::BeginWithMode),
            // Savepoints are statements like others.
            ["savepoint" | "release", _]
            | ["release", "savepoint", _]
            | ["rollback", "to", ..]
            | ["rollback", "work" | "transaction", "to", ..] => None,
            [first, ..] if CONTROL.contains(first) => Some(Self::Other),
            _ => None,
        }
    }
}

/// The positions of the statements of a text, without semicolons, spaces, and comments between them.
pub(super) fn statements(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut open = false;
    let mut read = 0;
    for (place, token) in tokens(text) {
        read = place.end;
        let piece = text.get(place.clone()).unwrap_or_default();
        let blank = piece.trim().is_empty() || piece.starts_with("--") || piece.starts_with("/*");
        match (token, found.last_mut().filter(|_| open)) {
            (Token::Semicolon, _) => open = false,
            (_, _) if blank => {}
            (_, Some(last)) => last.end = place.end,
            (_, None) => {
                found.push(place);
                open = true;
            }
        }
    }
    // Text without an end belongs to the last one.
    if read < text.len() {
        match found.last_mut().filter(|_| open) {
            Some(last) => last.end = text.len(),
            None => found.push(read..text.len()),
        }
    }
    found
}

/// A statement as written in a file, and a position in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrittenStatement {
    /// With its named parameters.
    pub text: String,
    /// Byte position in the text; `None` if unknown.
    pub at: Option<usize>,
}

impl Workload {
    /// The file's text for the statement at a position of an op, once for each dialect with separate text; `position`
    /// counts characters of the statement with placeholders.
    pub fn written(
        &self,
        op: usize,
        statement: usize,
        position: Option<usize>,
    ) -> Vec<WrittenStatement> {
        let Some(OpDefinition { body, .. }) = self.definition.ops.get(op) else {
            return Vec::new();
        };
        let texts: Vec<&Sql> = match body {
            OpBodyDefinition::Transaction { sql, .. } => {
                sql.values().filter_map(|all| all.get(statement)?.statement()).collect()
            }
            _ => body.statements(),
        };
        texts
            .into_iter()
            .map(|sql| {
                let counts = sql.counts(body.parameters().iter().map(|parameter| parameter.count));
                WrittenStatement {
                    text: sql.text().to_owned(),
                    at: position.map(|position| sql.written_at(position, &counts)),
                }
            })
            .collect()
    }

    /// Whether the words of an op's statements show that it changes nothing.
    pub fn only_reads(&self, id: OpId) -> bool {
        let is_query = |body: &&OpBodyDefinition| matches!(body, OpBodyDefinition::Query { .. });
        let body = self.op_definition(id).map(|op| &op.body).filter(is_query);
        body.is_some_and(only_reads)
    }

    /// Whether a statement of an op may change rows in a way that the workload does not describe.
    pub fn changes_unknown_rows(&self) -> bool {
        let mut ops = self.definition.ops.iter();
        ops.any(|op| !changing(&op.body).is_empty())
    }

    /// Per table, whether a statement of the streams of these names may change it in a way that the workload does not
    /// describe. A table whose name merely appears in such a statement counts too: no comparison is better than one
    /// with unknown content.
    pub fn changed_by_statements<'n>(
        &self,
        streams: impl IntoIterator<Item = &'n str>,
    ) -> Vec<bool> {
        let ops =
            streams.into_iter().filter_map(|name| self.stream(name)).flat_map(|stream| stream.ops);
        let changing =
            ops.filter_map(|(id, _)| self.op_definition(id)).flat_map(|op| changing(&op.body));
        let texts: Vec<String> = changing.map(|sql| sql.text().to_lowercase()).collect();
        let changed = |name: String| texts.iter().any(|text| text.contains(&name));
        self.definition.tables.iter().map(|table| changed(table.name.to_lowercase())).collect()
    }
}

/// Whether the words of an op's statements show that it changes nothing.
pub(super) fn only_reads(body: &OpBodyDefinition) -> bool {
    !body.is_insert() && body.writes().is_none() && changing(body).is_empty()
}

/// Statements that may change rows in a way that the workload does not describe.
fn changing(body: &OpBodyDefinition) -> Vec<&Sql> {
    if body.writes().is_some() {
        return Vec::new();
    }
    body.statements().into_iter().filter(|sql| !sql.only_reads()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, names: &[&str], dollar: &str) {
        let sql = Sql::parse(text, names).unwrap();
        let counts = vec![1; names.len()];
        assert_eq!(sql.with_placeholders(PlaceholderStyle::Dollar, &counts), dollar);
    }

    fn rejected(text: &str, names: &[&str], error: SqlInputError) {
        assert_eq!(Sql::parse(text, names), Err(vec![error]), "{text}");
    }

    #[test]
    fn parameters_are_numbered_by_the_list_not_by_the_text() {
        check("SELECT :b, :a, :b", &["a", "b"], "SELECT $2, $1, $2");
        let sql = Sql::parse("SELECT :a;", &["a"]).unwrap();
        assert_eq!(sql.with_placeholders(PlaceholderStyle::Question, &[1]), "SELECT ?1");
    }

    #[test]
    fn a_list_has_a_placeholder_for_each_value() {
        let sql = Sql::parse("a IN (:b) AND :a AND :c", &["a", "b", "c"]).unwrap();
        assert_eq!(
            sql.with_placeholders(PlaceholderStyle::Question, &[1, 3, 1]),
            "a IN (?2, ?3, ?4) AND ?1 AND ?5"
        );
    }

    #[test]
    fn rows_have_a_placeholder_for_each_value_of_each_parameter() {
        let sql = Sql::parse("VALUES :(k, v) AND :x", &["x", "k", "v"]).unwrap();
        assert_eq!(
            sql.with_placeholders(PlaceholderStyle::Dollar, &[1, 2, 2]),
            "VALUES ($2, $4), ($3, $5) AND $1"
        );
        rejected("VALUES :(k, w)", &["k"], SqlInputError::UnknownParameter("w".into()));
        check("a[1:(2)]", &[], "a[1:(2)]");
    }

    #[test]
    fn other_colons_are_left_alone() {
        check(
            "SELECT ':no', \":no\", `:no`, 'it''s :no', x::text, :a::int, a[1:2] -- :no ;\n/* :no; */",
            &["a"],
            "SELECT ':no', \":no\", `:no`, 'it''s :no', x::text, $1::int, a[1:2] -- :no ;\n/* :no; */",
        );
        check(
            "SELECT $$ :no; $$, $t$ :no $$ $t$, $1",
            &[],
            "SELECT $$ :no; $$, $t$ :no $$ $t$, $1",
        );
        check("SELECT 'é', :a, 'ü:no'", &["a"], "SELECT 'é', $1, 'ü:no'");
    }

    #[test]
    fn statements_that_change_rows_are_distinguished_from_those_that_only_read() {
        for (text, only_reads) in [
            ("SELECT 'insert into t' FROM t -- delete", true),
            ("select * from t where id = 1 for update", true),
            ("WITH x AS (SELECT 1) SELECT * FROM x", true),
            ("VALUES (1)", true),
            ("WITH x AS (DELETE FROM t RETURNING *) SELECT * FROM x", false),
            ("SELECT * INTO u FROM t", false),
            ("UPDATE t SET a = 1", false),
            ("INSERT INTO t VALUES (1)", false),
            ("/* select */ TRUNCATE t", false),
        ] {
            assert_eq!(Sql::parse(text, &[]).unwrap().only_reads(), only_reads, "{text}");
        }
    }

    #[test]
    fn each_error_has_its_own_kind() {
        rejected("SELECT :hots", &[], SqlInputError::UnknownParameter("hots".into()));
        rejected("SELECT 1", &["host"], SqlInputError::UnusedParameter("host".into()));
        rejected("SELECT 1; SELECT 2", &[], SqlInputError::SeveralStatements);
        rejected("SELECT 'a", &[], SqlInputError::Unterminated("string"));
        rejected("SELECT /* a", &[], SqlInputError::Unterminated("comment"));
        rejected(" ; ", &[], SqlInputError::Empty);
    }

    #[test]
    fn a_position_in_the_sent_text_is_found_in_the_written_text() {
        let sql = Sql::parse("SELECT é FROM t WHERE a IN (:list) AND wrong = :b", &["b", "list"]);
        let sql = sql.unwrap();
        let counts = [1, 2];
        let sent = sql.with_placeholders(PlaceholderStyle::Dollar, &counts);
        for (word, written) in [("é", "é"), ("$2", ":list"), ("wrong", "wrong"), ("$1", ":b")] {
            let before = sent.split(word).next().unwrap().chars().count();
            let at = sql.written_at(before, &counts);
            assert!(sql.text()[at..].starts_with(written), "{word}: {sent}");
        }
        assert_eq!(sql.written_at(1_000, &counts), sql.text().len());
    }

    fn cut(text: &str) -> Vec<&str> {
        statements(text).into_iter().map(|place| &text[place]).collect()
    }

    #[test]
    fn a_text_is_cut_at_semicolons_outside_of_quotes_and_comments() {
        for (text, expected) in [
            ("", &[][..]),
            (" ; -- nothing\n;/* ; */", &[]),
            ("SELECT 1", &["SELECT 1"]),
            (
                "-- first\nBEGIN;\n UPDATE t SET a = ';' ; -- then\nEND ;\n",
                &["BEGIN", "UPDATE t SET a = ';'", "END"],
            ),
            ("SELECT $$;$$, \";\";SELECT :a", &["SELECT $$;$$, \";\"", "SELECT :a"]),
            ("SELECT 1; SELECT 'x; END", &["SELECT 1", "SELECT 'x; END"]),
            ("'x; END", &["'x; END"]),
        ] {
            assert_eq!(cut(text), expected, "{text}");
        }
    }

    #[test]
    fn transaction_control_is_distinguished_from_statements_about_rows() {
        for (text, control) in [
            ("BEGIN", Some(Control::Begin)),
            ("begin work", Some(Control::Begin)),
            ("/* so */ START TRANSACTION", Some(Control::Begin)),
            ("BEGIN ISOLATION LEVEL SERIALIZABLE", Some(Control::BeginWithMode)),
            ("BEGIN IMMEDIATE", Some(Control::BeginWithMode)),
            ("END", Some(Control::End)),
            ("COMMIT WORK", Some(Control::End)),
            ("COMMIT PREPARED 'x'", Some(Control::Other)),
            ("COMMIT AND NO CHAIN", Some(Control::End)),
            ("ROLLBACK", Some(Control::RollBack)),
            ("abort work", Some(Control::RollBack)),
            ("ROLLBACK AND CHAIN", Some(Control::Other)),
            ("SAVEPOINT a", None),
            ("RELEASE a", None),
            ("release savepoint a", None),
            ("ROLLBACK TO SAVEPOINT a", None),
            ("ROLLBACK WORK TO a", None),
            ("UPDATE t SET begin = 1", None),
            ("SELECT 'commit'", None),
        ] {
            assert_eq!(Control::parse(text), control, "{text}");
        }
    }
}
