//! Errors of a server that uses the success code for all of them: maps each text to an SQLSTATE. Each was provoked on
//! QuestDB 9.3.4. Must not guess: another text means an internal error, after which nothing is certain.

/// The meaningless code.
pub(super) const NO_CODE: &str = "00000";

/// Parts of texts, with the SQLSTATE of their meaning.
const TEXTS: &[(&str, &str)] = &[
    // Another session is writing a table without a write-ahead log: the statement was not begun.
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

/// A canceled INSERT … SELECT keeps the batches that it had written, so it is not 57014.
const INTERNAL: &str = "XX000";

/// The SQLSTATE for an error's text.
pub(super) fn code_of(message: &str) -> &'static str {
    let known = TEXTS.iter().find(|(part, _)| message.contains(part));
    known.map_or(INTERNAL, |(_, code)| *code)
}
