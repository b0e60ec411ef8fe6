//! The table registry as SQL, for servers with a text protocol.

use highwater_model::units::Seed;

use super::dialect::Dialect;
use crate::table_registry::{REGISTRY_TABLE, RegistryEntry};

/// The key, and the other columns in the order of [`entry`] and [`upsert`].
fn columns(dialect: &Dialect) -> (&'static str, [String; 5]) {
    let rows = dialect.identifier("rows");
    let plain = ["fingerprint", "seed", &rows, "next_index", "writing"];
    ("name", plain.map(str::to_owned))
}

/// The statement that creates the registry, if it does not exist.
pub fn create(dialect: &Dialect) -> String {
    let rows = dialect.identifier("rows");
    if let Some(create) = dialect.registry {
        return create.to_owned();
    }
    format!(
        "CREATE TABLE IF NOT EXISTS {REGISTRY_TABLE} (name {} PRIMARY KEY, \
         fingerprint TEXT NOT NULL, seed TEXT NOT NULL, {rows} BIGINT, \
         next_index BIGINT NOT NULL, writing BOOLEAN NOT NULL){}",
        dialect.key_text, dialect.registry_options
    )
}

/// Selects the entry of a table; on append-only servers, the newest one.
pub fn select(dialect: &Dialect, name: &str) -> String {
    let (key, columns) = columns(dialect);
    let newest = if dialect.only_appends { " ORDER BY version DESC LIMIT 1" } else { "" };
    format!(
        "SELECT {key}, {} FROM {REGISTRY_TABLE} WHERE {key} = {}{newest}",
        columns.join(", "),
        dialect.literal(name)
    )
}

/// The entry in a row of [`select`].
pub fn entry(row: &[Option<String>]) -> Option<RegistryEntry> {
    let [Some(name), Some(fingerprint), seed, rows, next_index, writing] = row else {
        return None;
    };
    let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
    Some(RegistryEntry {
        name: name.clone(),
        fingerprint: fingerprint.clone(),
        seed: Seed(number(seed).unwrap_or(0)),
        rows: number(rows),
        next_index: number(next_index).unwrap_or(0),
        // An unreadable value may mean that a run is writing.
        writing: !matches!(writing.as_deref(), Some("f" | "false" | "0")),
    })
}

/// Inserts or replaces an entry; on append-only servers, adds a newer one.
pub fn upsert(dialect: &Dialect, entry: &RegistryEntry) -> String {
    // The registry's columns store 63 bits of a count.
    let bounded = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let rows = entry.rows.map_or("NULL".to_owned(), |rows| bounded(rows).to_string());
    let (key, columns) = columns(dialect);
    let name = dialect.literal(&entry.name);
    let values = format!(
        "{name}, {}, '{}', {rows}, {}",
        dialect.literal(&entry.fingerprint),
        entry.seed.0,
        bounded(entry.next_index)
    );
    let (names, writing) = (columns.join(", "), entry.writing);
    if dialect.only_appends {
        let writing = u8::from(writing);
        return format!(
            "INSERT INTO {REGISTRY_TABLE} ({key}, {names}, version) \
             SELECT {values}, {writing}, max(version) + 1 FROM {REGISTRY_TABLE} WHERE {key} = {name}"
        );
    }
    let [stamp, time] = dialect.stamp;
    let replaces = (dialect.on_duplicate)(key, &columns);
    format!(
        "INSERT INTO {REGISTRY_TABLE} ({key}, {names}{stamp}) VALUES ({values}, {writing}{time}) {replaces}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::dialect::STANDARD;

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
        for (text, writing) in
            [(Some("false"), false), (Some("0"), false), (Some("t"), true), (None, true)]
        {
            assert_eq!(entry(&row(text)).unwrap().writing, writing, "{text:?}");
        }
        assert_eq!(entry(&[]), None);
    }

    #[test]
    fn an_entry_is_written_whole_and_within_63_bits() {
        let entry = RegistryEntry { next_index: u64::MAX, ..entry(&row(Some("t"))).unwrap() };
        let values =
            "VALUES ('cpu', 'abc', '18446744073709551615', NULL, 9223372036854775807, true)";
        let sql = upsert(&STANDARD, &entry);
        let replaces = "ON CONFLICT (name) DO UPDATE SET fingerprint = excluded.";
        assert!(sql.contains(values) && sql.contains(replaces), "{sql}");
        let stamped = Dialect {
            stamp: [", ts", ", cast(0 AS timestamp)"],
            on_duplicate: |_, _| String::new(),
            ..STANDARD
        };
        let sql = upsert(&stamped, &entry);
        let values = "next_index, writing, ts) VALUES ('cpu', 'abc', '18446744073709551615', NULL, \
                      9223372036854775807, true, cast(0 AS timestamp)) ";
        assert!(sql.ends_with(values), "{sql}");
        let appending = Dialect { only_appends: true, ..STANDARD };
        let sql = upsert(&appending, &entry);
        let values = "SELECT 'cpu', 'abc', '18446744073709551615', NULL, 9223372036854775807, 1, \
                      max(version) + 1 FROM highwater_tables WHERE name = 'cpu'";
        assert!(sql.contains(values), "{sql}");
        let newest = select(&appending, "cpu");
        assert!(newest.ends_with("ORDER BY version DESC LIMIT 1"), "{newest}");
    }
}
