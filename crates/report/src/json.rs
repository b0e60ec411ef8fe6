//! The record as JSON, parsing of it, and its schema.
//!
//! The bytes of [`json`] are exactly those of `record.json`.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Deserialize;
use thiserror::Error;

use highwater_model::display;
use highwater_model::record::{RECORD_SCHEMA, Record, RecordRef};

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
pub fn json<'a>(record: impl Into<RecordRef<'a>>) -> String {
    pretty(&record.into())
}

/// Writes the bytes of [`json`] in pieces, because the text of a long run's record is larger than the run's state in
/// memory.
///
/// # Errors
/// If the writer fails.
pub fn write_json(record: RecordRef<'_>, out: &mut impl Write) -> io::Result<()> {
    write_pretty(&record, out)
}

/// Reads what [`json`] wrote. Unknown fields are ignored.
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

/// JSON Schema (draft 2020-12) of [`json`], pretty-printed, with a newline at the end.
pub fn schema() -> String {
    pretty(&schemars::schema_for!(Record))
}

pub(super) fn pretty<T: serde::Serialize>(value: &T) -> String {
    // Fails only for a map with keys that are not strings, or for a failing `Serialize`; a record has neither.
    let mut text = Vec::new();
    drop(write_pretty(value, &mut text));
    String::from_utf8(text).unwrap_or_default()
}

fn write_pretty<T: serde::Serialize>(value: &T, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(Escaping(&mut *out), value)?;
    out.write_all(b"\n")
}

/// The value on one line.
pub(super) fn line<T: serde::Serialize>(value: &T) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use highwater_analysis::fixture;

    #[test]
    fn a_record_comes_back_as_it_was() {
        for record in [fixture::closed(), fixture::open_steps(), fixture::open_gate()] {
            let text = json(&record);
            let mut written = Vec::new();
            write_json((&record).into(), &mut written).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), text);
            assert!(text.ends_with("}\n"));
            let back = parse(&text).unwrap();
            assert_eq!(back, Record::Run(Box::new(record)));
            assert_eq!(json(&back), text);
        }
    }

    #[test]
    fn words_of_a_target_come_back_and_cannot_steer_a_terminal() {
        let mut record = fixture::closed();
        record.target.version = "x\u{202e}\u{9b}1m\u{e0041}\u{1b}".to_owned();
        let text = json(&record);
        let escaped = r"x\u202e\u009b1m\udb40\udc41\u001b";
        assert!(text.contains(escaped), "{text}");
        assert_eq!(parse(&text).unwrap().run(), Some(&record));
        let mut written = Vec::new();
        write_json((&record).into(), &mut written).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), text);
    }

    #[test]
    fn another_version_is_named_before_anything_else() {
        for other in ["highwater-record/1", "highwater-record/9"] {
            let error = parse(&format!(r#"{{"schema": "{other}", "id": 1}}"#)).unwrap_err();
            let expected = format!(
                "record has schema \"{other}\"; this version of Highwater reads highwater-record/2"
            );
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn what_is_no_record_is_distinguished() {
        let message = |text| parse(text).unwrap_err().to_string();
        assert!(message("{}").starts_with("not a record of Highwater"));
        assert!(message("{").contains("line 1"));
        assert!(message(r#"{"schema": "highwater-record/2"}"#).contains("it has no `kind`"));
        let run = r#"{"schema": "highwater-record/2", "kind": "run"}"#;
        assert!(message(run).contains("missing field"));
    }

    #[test]
    fn the_schema_describes_every_record() {
        let schema: serde_json::Value = serde_json::from_str(&schema()).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for record in [fixture::closed(), fixture::open_steps(), fixture::open_gate()] {
            let value: serde_json::Value = serde_json::from_str(&json(&record)).unwrap();
            let errors = validator.iter_errors(&value);
            let errors: Vec<String> = errors.map(|error| error.to_string()).collect();
            assert_eq!(errors, [""; 0]);
        }
        assert!(!validator.is_valid(&serde_json::json!({"schema": "highwater-record/2"})));
    }
}
