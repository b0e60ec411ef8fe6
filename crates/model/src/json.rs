//! A record as JSON, and parsing of it: the bytes of [`print()`] are exactly those of `record.json`.
//!
//! Must not know files.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Deserialize;
use thiserror::Error;

use crate::display;
use crate::record::{RECORD_SCHEMA, Record, RecordRef};

/// Why a text cannot be parsed as a record.
#[derive(Debug, Error)]
pub enum ParseError {
    /// It is JSON, but not a record of any version.
    #[error("not a record of Highwater: it has no `{missing}` (expected {RECORD_SCHEMA})")]
    NotARecord {
        /// The first field that every record has, and that is missing here.
        missing: &'static str,
    },
    /// It is a record of another version.
    #[error("record has schema {found:?}; this version of Highwater reads {RECORD_SCHEMA}")]
    Schema {
        /// The schema that it names, shortened.
        found: String,
    },
    /// Invalid JSON, or a field that is missing or has the wrong type.
    #[error("record cannot be read: {0}")]
    Json(#[from] serde_json::Error),
}

/// The record as it is stored: pretty-printed, fields in definition order, with a newline at the end. A number that is
/// not finite becomes `null`.
pub fn print<'a>(record: impl Into<RecordRef<'a>>) -> String {
    pretty(&record.into())
}

/// Writes the bytes of [`print()`] in pieces, because the text of a long run's record is larger than the run's state in
/// memory.
///
/// # Errors
/// If the writer fails.
pub fn write(record: RecordRef<'_>, out: &mut impl Write) -> io::Result<()> {
    write_pretty(&record, out)
}

/// Reads what [`print()`] wrote. Unknown fields are ignored.
///
/// Each kind is parsed as its own type, not as an untagged enum, which would hold a long run's record in memory twice.
///
/// # Errors
/// If the text is not JSON, not a record, or of another schema version.
pub fn parse(json: &str) -> Result<Record, ParseError> {
    /// Parsed first, so that another version is reported before one of its missing fields.
    #[derive(Deserialize)]
    struct Version {
        schema: Option<String>,
        kind: Option<Kind>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        Run,
        Experiment,
        Imported,
    }
    let version: Version = serde_json::from_str(json)?;
    let found = version.schema.ok_or(ParseError::NotARecord { missing: "schema" })?;
    if found != RECORD_SCHEMA {
        let found = found.chars().take(64).collect();
        return Err(ParseError::Schema { found });
    }
    let kind = version.kind;
    Ok(match kind.ok_or(ParseError::NotARecord { missing: "kind" })? {
        Kind::Run => Record::Run(serde_json::from_str(json)?),
        Kind::Experiment => Record::Experiment(serde_json::from_str(json)?),
        Kind::Imported => Record::Imported(serde_json::from_str(json)?),
    })
}

/// A value as [`print()`] shows a record.
pub fn pretty<T: serde::Serialize>(value: &T) -> String {
    // Fails only for a map with keys that are not strings, or for a failing `Serialize`; a record has neither.
    let mut text = Vec::new();
    drop(write_pretty(value, &mut text));
    String::from_utf8(text).unwrap_or_default()
}

fn write_pretty<T: serde::Serialize>(value: &T, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(Escaping(&mut *out), value)?;
    out.write_all(b"\n")
}

/// A value on one line, with a newline at the end.
pub fn line<T: serde::Serialize>(value: &T) -> String {
    escaped(&serde_json::to_string(value).unwrap_or_default()).into_owned() + "\n"
}

/// The same JSON, with control characters for terminals escaped. They can occur only inside strings.
fn escaped(json: &str) -> Cow<'_, str> {
    let is_escaped = |character| display::is_unsafe(character) && character != '\n';
    if !json.contains(is_escaped) {
        return json.into();
    }
    let mut text = String::with_capacity(json.len());
    for character in json.chars() {
        if is_escaped(character) {
            let units = character.encode_utf16(&mut [0; 2]).to_vec();
            text.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
        } else {
            text.push(character);
        }
    }
    text.into()
}

/// Escapes all text written through it; each piece must end at a character boundary.
struct Escaping<'a>(&'a mut dyn Write);

impl Write for Escaping<'_> {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let text = std::str::from_utf8(piece).map_err(io::Error::other)?;
        self.0.write_all(escaped(text).as_bytes())?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
