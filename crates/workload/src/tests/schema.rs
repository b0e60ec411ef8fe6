//! The JSON Schema of workload files: it accepts valid files, and has every key.

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{EXAMPLE, WorkloadSpec, catalog, file_schema};

fn validator() -> Validator {
    let schema = serde_json::from_str(&file_schema()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

/// A file as editors pass it to a schema: timestamps are texts.
fn as_json(text: &str) -> Value {
    fn convert(value: toml::Value) -> Value {
        match value {
            toml::Value::Datetime(time) => json!(time.to_string()),
            toml::Value::Array(values) => values.into_iter().map(convert).collect(),
            toml::Value::Table(entries) => {
                entries.into_iter().map(|(k, v)| (k, convert(v))).collect()
            }
            toml::Value::String(text) => json!(text),
            toml::Value::Integer(number) => json!(number),
            toml::Value::Float(number) => json!(number),
            toml::Value::Boolean(value) => json!(value),
        }
    }
    convert(toml::Value::Table(text.parse().unwrap()))
}

#[test]
fn every_good_file_fits() {
    let validator = validator();
    let tests = [
        include_str!("everything.toml"),
        include_str!("made.toml"),
        include_str!("tpcb.toml"),
        EXAMPLE,
    ];
    let files = catalog().iter().map(|entry| entry.text).chain(tests);
    for text in files {
        let file = as_json(text);
        let wrong: Vec<String> = validator.iter_errors(&file).map(|e| e.to_string()).collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", file["name"]);
        assert!(WorkloadSpec::parse(text).is_ok());
    }
}

#[test]
fn a_wrong_key_type_or_option_does_not_fit() {
    let validator = validator();
    let good = include_str!("everything.toml");
    assert!(validator.is_valid(&as_json(good)));
    for (right, wrong) in [
        ("summary = \"a test file\"", "sumary = \"a test file\""),
        ("type = \"duration\"", "type = \"durations\""),
        ("batch = 4", "batch = \"four\""),
        ("generator = \"timeline\"", "generator = \"timelime\""),
        ("interval = \"${tick}\"", "interval = 10"),
        ("prefix = \"row \"", "suffix = \"row \""),
        (
            "type = \"bigint\", generator = \"sequence\"",
            "type = \"float\", generator = \"sequence\"",
        ),
        ("unit = \"queries\"", "unit = \"ops\""),
        ("rows = 20", "row = 20"),
    ] {
        assert!(good.contains(right), "{right}");
        assert!(!validator.is_valid(&as_json(&good.replacen(right, wrong, 1))), "{wrong}");
    }
}
