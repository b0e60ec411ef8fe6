//! The registry of tables as SQL, for servers that are sent text and answer text.

use highwater_model::units::Seed;

use crate::table_registry::{REGISTRY_TABLE, RegistryEntry};

/// The columns, in the order of [`entry`] and [`upsert`].
const COLUMNS: &str = "name, fingerprint, seed, \"rows\", next_index, writing";

/// The query of the entry of a table, whose name is quoted as a literal.
pub fn select(name: &str) -> String {
    format!("SELECT {COLUMNS} FROM {REGISTRY_TABLE} WHERE name = {name}")
}

/// The entry of a row of [`select`].
pub fn entry(row: &[Option<String>]) -> Option<RegistryEntry> {
    let [
        Some(name),
        Some(fingerprint),
        seed,
        rows,
        next_index,
        writing,
    ] = row
    else {
        return None;
    };
    let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
    Some(RegistryEntry {
        name: name.clone(),
        fingerprint: fingerprint.clone(),
        seed: Seed(number(seed).unwrap_or(0)),
        rows: number(rows),
        next_index: number(next_index).unwrap_or(0),
        // What cannot be read may be a run that is writing.
        writing: !matches!(writing.as_deref(), Some("f" | "false")),
    })
}

/// The statement that adds an entry or replaces it; `literal` quotes a text.
pub fn upsert(entry: &RegistryEntry, literal: impl Fn(&str) -> String) -> String {
    // The registry's columns have 63 bits for a count.
    let bounded = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let rows = entry
        .rows
        .map_or("NULL".to_owned(), |rows| bounded(rows).to_string());
    format!(
        "INSERT INTO {REGISTRY_TABLE} ({COLUMNS}) VALUES ({}, {}, '{}', {rows}, {}, {}) \
         ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.fingerprint, \
         seed = excluded.seed, \"rows\" = excluded.\"rows\", \
         next_index = excluded.next_index, writing = excluded.writing",
        literal(&entry.name),
        literal(&entry.fingerprint),
        entry.seed.0,
        bounded(entry.next_index),
        entry.writing
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(writing: Option<&str>) -> Vec<Option<String>> {
        let texts = [Some("cpu"), Some("abc"), Some("18446744073709551615"), None];
        let texts = texts.into_iter().chain([Some("7"), writing]);
        texts.map(|text| text.map(str::to_owned)).collect()
    }

    #[test]
    fn a_row_is_an_entry_and_what_is_not_known_may_be_writing() {
        let read = entry(&row(Some("f"))).unwrap();
        assert_eq!((read.seed, read.rows), (Seed(u64::MAX), None));
        assert_eq!((read.next_index, read.writing), (7, false));
        for (text, writing) in [(Some("false"), false), (Some("t"), true), (None, true)] {
            assert_eq!(entry(&row(text)).unwrap().writing, writing, "{text:?}");
        }
        assert_eq!(entry(&[]), None);
    }

    #[test]
    fn an_entry_is_written_whole_and_within_63_bits() {
        let entry = RegistryEntry {
            next_index: u64::MAX,
            ..entry(&row(Some("t"))).unwrap()
        };
        let sql = upsert(&entry, |text| format!("<{text}>"));
        let values =
            "VALUES (<cpu>, <abc>, '18446744073709551615', NULL, 9223372036854775807, true)";
        assert!(sql.contains(values), "{sql}");
    }
}
