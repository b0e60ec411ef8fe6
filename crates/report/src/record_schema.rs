//! The schema of a record as JSON, and the proof that records come back as they were written.

use highwater_model::json::pretty;
use highwater_model::record::Record;

/// JSON Schema (draft 2020-12) of a record, pretty-printed, with a newline at the end.
pub fn schema() -> String {
    pretty(&schemars::schema_for!(Record))
}

#[cfg(test)]
mod tests {
    use highwater_analysis::fixture;
    use highwater_model::json::{parse, print, write};

    use super::*;

    #[test]
    fn a_record_comes_back_as_it_was() {
        for record in [fixture::closed(), fixture::open_steps(), fixture::open_gate()] {
            let text = print(&record);
            let mut written = Vec::new();
            write((&record).into(), &mut written).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), text);
            assert!(text.ends_with("}\n"));
            let back = parse(&text).unwrap();
            assert_eq!(back, Record::Run(Box::new(record)));
            assert_eq!(print(&back), text);
        }
    }

    #[test]
    fn words_of_a_target_come_back_and_cannot_steer_a_terminal() {
        let mut record = fixture::closed();
        record.target.version = "x\u{202e}\u{9b}1m\u{e0041}\u{1b}".to_owned();
        let text = print(&record);
        let escaped = r"x\u202e\u009b1m\udb40\udc41\u001b";
        assert!(text.contains(escaped), "{text}");
        assert_eq!(parse(&text).unwrap().run(), Some(&record));
        let mut written = Vec::new();
        write((&record).into(), &mut written).unwrap();
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
            let value: serde_json::Value = serde_json::from_str(&print(&record)).unwrap();
            let errors = validator.iter_errors(&value);
            let errors: Vec<String> = errors.map(|error| error.to_string()).collect();
            assert_eq!(errors, [""; 0]);
        }
        assert!(!validator.is_valid(&serde_json::json!({"schema": "highwater-record/2"})));
    }
}
