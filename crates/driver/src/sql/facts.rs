//! Facts common to all SQL servers, in the settings of a record. Must not know the name of a server's setting.

use std::collections::BTreeMap;

use highwater_model::record::MemoryRecord;
use highwater_model::user_error::{UserError, UserErrorKind};

use crate::sql_query::Texts;

/// The rows of settings; empty if the server refuses to show them, which does not end a run.
///
/// # Errors
///
/// The connection was lost.
pub fn readable(rows: Result<Texts, UserError>) -> Result<Texts, UserError> {
    match rows {
        Err(error) if error.kind != UserErrorKind::Unreachable => Ok(Vec::new()),
        rows => rows,
    }
}

/// Settings of the tables themselves, from rows of table, name, and value. If tables differ, each value is followed by
/// the names of its tables; it is then not a number, and not in force for all of them.
pub(super) fn of_tables(tables: usize, rows: Texts) -> BTreeMap<String, String> {
    let mut by_name: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for row in rows {
        if let [Some(table), Some(name), Some(value)] = row.as_slice() {
            let values = by_name.entry(name.clone()).or_default();
            values.entry(value.clone()).or_default().push(table.clone());
        }
    }
    let shown = by_name.into_iter().map(|(name, values)| {
        let words = values.into_iter().map(|(value, of)| {
            if of.len() == tables { value } else { format!("{value} ({})", of.join(", ")) }
        });
        (name, words.collect::<Vec<_>>().join(", "))
    });
    shown.collect()
}

/// Adds the insert mode, and whether the connection is encrypted.
pub fn add_connection(settings: &mut BTreeMap<String, String>, insert: &str, encrypted: bool) {
    let tls = if encrypted { "on" } else { "off" };
    settings.insert("insert".to_owned(), insert.to_owned());
    settings.insert("tls".to_owned(), tls.to_owned());
}

/// Adds both, and the durability of an acknowledged commit, in the server's own terms: the reported settings among
/// `names`, and `relaxed`, settings that reduce it. Returns the words for the first line of a summary: the insert mode,
/// and `relaxed`.
pub fn add_common(
    settings: &mut BTreeMap<String, String>,
    insert: &str,
    encrypted: bool,
    names: &[&str],
    mut relaxed: Vec<String>,
) -> Vec<String> {
    let reported = names.iter().filter_map(|name| {
        let value = settings.get(*name)?;
        Some(format!("{name}={value}"))
    });
    let mut words = reported.collect::<Vec<String>>().join(" ");
    if words.is_empty() {
        "not reported by the server".clone_into(&mut words);
    }
    settings.insert("durability".to_owned(), words);
    if !relaxed.is_empty() {
        settings.insert("durability.relaxed".to_owned(), relaxed.join(" "));
    }
    add_connection(settings, insert, encrypted);
    relaxed.insert(0, format!("insert={insert}"));
    relaxed
}

/// The data caches that these settings size in bytes; settings with other values are omitted.
pub fn caches(settings: &BTreeMap<String, String>, names: &[&str]) -> MemoryRecord {
    let caches = names.iter().filter_map(|name| {
        let bytes = settings.get(*name)?.parse().ok()?;
        Some(((*name).to_owned(), bytes))
    });
    MemoryRecord { caches: caches.collect(), page_cache: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_those_that_are_reported_in_bytes() {
        let settings = [("pool", "134217728"), ("cache", "128MB"), ("other", "1")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let found = caches(&settings.into(), &["pool", "cache", "absent"]).caches;
        assert_eq!(found, [("pool".to_owned(), 134_217_728)].into());
    }

    #[test]
    fn settings_that_a_server_does_not_show_end_nothing_and_a_lost_connection_does() {
        let refused = UserError::statement("no function current_setting");
        assert_eq!(readable(Err(refused)), Ok(Vec::new()));
        let lost = Err(UserError::unreachable("gone"));
        assert_eq!(readable(lost.clone()), lost);
    }

    #[test]
    fn a_setting_of_tables_is_theirs_alone_where_all_have_it() {
        let row = |of: [&str; 3]| of.map(|text| Some(text.to_owned())).to_vec();
        let rows = [["cpu", "fill", "70"], ["kv", "fill", "70"], ["cpu", "parts", "150"]];
        let found = of_tables(2, rows.map(row).to_vec());
        let expected = [("fill", "70"), ("parts", "150 (cpu)")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }

    #[test]
    fn durability_is_in_the_words_of_the_server() {
        let of = |reported: &[(&str, &str)], relaxed: &[String]| {
            let mut settings = reported
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            add_common(&mut settings, "values", true, &["a", "b"], relaxed.to_vec());
            (settings.remove("durability"), settings.remove("durability.relaxed"))
        };
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(of(&[], &[]), (text("not reported by the server"), None));
        assert_eq!(
            of(&[("b", "1"), ("c", "2"), ("a", "0")], &["a=0".to_owned()]),
            (text("a=0 b=1"), text("a=0"))
        );
    }
}
