//! Errors of a server that has one code for all of them, that of success: what each text stands for, as an
//! SQLSTATE. Each was provoked on a QuestDB 9.3.4. Must not guess: another text stands for an internal
//! error, after which nothing is certain.

/// The code that says nothing.
pub(super) const NO_CODE: &str = "00000";

/// Parts of texts, and the SQLSTATE of what they say.
const TEXTS: &[(&str, &str)] = &[
    // Another session writes a table that has no log: it was not begun.
    ("table busy", "55P03"),
    ("inconvertible", "22000"),
    ("bad parameter value length", "22P03"),
    ("invalid UTF8 encoding", "22021"),
    ("designated timestamp", "22008"),
    ("table does not exist", "42P01"),
    ("table already exists", "42P07"),
    ("Invalid column", "42703"),
    ("unknown function name", "42883"),
    ("unexpected token", "42601"),
    ("row value count does not match", "42601"),
    ("insert statement must populate timestamp", "42601"),
    ("invalid parameter count", "42601"),
    ("statement or portal does not exist", "26000"),
    ("invalid username/password", "28P01"),
];

/// An INSERT … SELECT that is canceled keeps the batches that it had written: this is no 57014.
const INTERNAL: &str = "XX000";

/// The SQLSTATE that the text of an error stands for.
pub(super) fn code_of(message: &str) -> &'static str {
    let known = TEXTS.iter().find(|(part, _)| message.contains(part));
    known.map_or(INTERNAL, |(_, code)| *code)
}
