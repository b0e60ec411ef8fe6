//! The registry of the tables that Highwater created, `highwater_tables`: its entries, and the
//! action for each table of a run.
//! Every driver keeps the registry in its database, in its own dialect; this module has the rules. Must not contain
//! SQL, or do I/O.

use highwater_model::units::Seed;
use highwater_model::user_error::{UserError, UserErrorKind};

/// Prefix of the fingerprint of a table that contains only canary rows.
const CANARY: &str = "canary of ";

/// Name of the registry table.
pub const REGISTRY_TABLE: &str = "highwater_tables";

/// The entry of one table. The registry's columns have the names of the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegistryEntry {
    /// Name of the table, unquoted.
    pub name: String,
    /// Identity of the workload's rows that it holds.
    pub fingerprint: String,
    /// The workload's seed, for display; the fingerprint covers it.
    pub seed: Seed,
    /// Rows found by the last audit; absent if none has counted them since they were written.
    pub rows: Option<u64>,
    /// Index of the next row: no row from here on has been sent, unless `writing` is set.
    pub next_index: u64,
    /// A run is writing rows from `next_index` on, or was killed before it updated the entry.
    pub writing: bool,
}

impl RegistryEntry {
    /// The entry while the table contains canary rows: the next run recreates it.
    pub fn as_canary(&self) -> Self {
        Self { fingerprint: format!("{CANARY}{}", self.fingerprint), ..self.clone() }
    }

    /// Whether the table contains only canary rows.
    pub fn is_canary(&self) -> bool {
        self.fingerprint.starts_with(CANARY)
    }
}

/// How a run treats existing tables.
#[derive(Debug, Clone, Copy)]
pub struct TablePolicy<'a> {
    /// Identity of the workload's rows: it changes with their content, not with how they are sent.
    pub fingerprint: &'a str,
    /// Its seed.
    pub seed: Seed,
    /// `--drop`: recreate registered tables, whatever they contain.
    pub drop: bool,
    /// `--drop-foreign`: tables that may be dropped although they are not registered.
    pub drop_foreign: &'a [String],
    /// `--with`: settings of created tables, by name.
    pub settings: &'a [(String, String)],
}

/// What to do with a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TableAction {
    /// It does not exist: create and register it.
    Create,
    /// It contains rows of this workload: keep it, and continue after them.
    Keep(RegistryEntry),
    /// Drop it, then create and register it.
    Replace,
    /// It contains only canary rows: recreate it, or empty it if its statements create more than a table; then register
    /// it.
    Remake,
}

/// Whether statements create something that remains when the table is dropped, so that running them again would fail.
pub fn creates_more_than_tables(statements: &[String]) -> bool {
    const OTHERS: [&str; 12] = [
        "TYPE",
        "DOMAIN",
        "FUNCTION",
        "PROCEDURE",
        "SEQUENCE",
        "EXTENSION",
        "SCHEMA",
        "VIEW",
        "SERVER",
        "ROLE",
        "COLLATION",
        "AGGREGATE",
    ];
    statements.iter().any(|statement| {
        let words: Vec<String> =
            statement.split_whitespace().take(4).map(str::to_ascii_uppercase).collect();
        let creates = words.first().is_some_and(|word| word == "CREATE");
        creates && words.iter().any(|word| OTHERS.contains(&word.as_str()))
    })
}

impl<'a> TablePolicy<'a> {
    /// The policy for tables of this workload, which drops nothing.
    pub const fn new(fingerprint: &'a str, seed: Seed) -> Self {
        Self { fingerprint, seed, drop: false, drop_foreign: &[], settings: &[] }
    }

    /// The same, with `--drop`.
    pub const fn dropping(self, drop: bool) -> Self {
        Self { drop, ..self }
    }

    /// The entry of a new table.
    pub fn new_entry(&self, table: &str) -> RegistryEntry {
        RegistryEntry {
            name: table.to_owned(),
            fingerprint: self.fingerprint.to_owned(),
            seed: self.seed,
            rows: Some(0),
            next_index: 0,
            writing: false,
        }
    }

    /// The action for the table of this name. Determine all tables' actions before changing the first one: one may be
    /// rejected.
    pub fn action(
        &self,
        table: &str,
        exists: bool,
        entry: Option<RegistryEntry>,
    ) -> Result<TableAction, UserError> {
        if table.eq_ignore_ascii_case(REGISTRY_TABLE) {
            return Err(refused(
                format!("a workload's table must not be named `{REGISTRY_TABLE}`"),
                "Highwater notes its tables under that name; choose another one",
            ));
        }
        let foreign = || self.drop_foreign.iter().any(|name| name == table);
        match (exists, entry) {
            (false, _) => Ok(TableAction::Create),
            (true, Some(entry)) if entry.is_canary() => Ok(TableAction::Remake),
            (true, None) if foreign() => Ok(TableAction::Replace),
            (true, None) => Err(refused(
                format!("table `{table}` exists and was not created by Highwater"),
                &format!(
                    "name another database or schema, or give the table up with \
                     `--drop-foreign {table}`"
                ),
            )),
            (true, Some(_)) if self.drop || foreign() => Ok(TableAction::Replace),
            (true, Some(entry)) if entry.fingerprint == self.fingerprint => {
                if self.settings.is_empty() {
                    return Ok(TableAction::Keep(entry));
                }
                Err(refused(
                    format!("table `{table}` is there already, and --with is for new tables"),
                    "add --drop to recreate it, or leave --with out to continue it",
                ))
            }
            (true, Some(entry)) => Err(refused(
                format!(
                    "table `{table}` holds rows of another workload: fingerprint {} with seed {}, and \
                     this run has {} with seed {}",
                    short(&entry.fingerprint),
                    entry.seed,
                    short(self.fingerprint),
                    self.seed
                ),
                "give the parameters and the seed that it was filled with; or, if its rows may go, add \
                 --drop to recreate it",
            )),
        }
    }
}

/// A prefix of a fingerprint, long enough to distinguish two.
fn short(fingerprint: &str) -> String {
    fingerprint.chars().take(12).collect()
}

fn refused(message: String, hint: &str) -> UserError {
    UserError::new(UserErrorKind::ForeignTable, message).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(fingerprint: &str) -> RegistryEntry {
        RegistryEntry {
            rows: Some(70),
            next_index: 100,
            ..TablePolicy::new(fingerprint, Seed(1)).new_entry("t")
        }
    }

    #[test]
    fn settings_are_for_new_tables_only() {
        let settings = [("a".to_owned(), "1".to_owned())];
        let policy = |drop| TablePolicy { settings: &settings, ..policy(drop, &[]) };
        assert_eq!(policy(false).action("t", false, None), Ok(TableAction::Create));
        assert_eq!(policy(true).action("t", true, Some(entry("mine"))), Ok(TableAction::Replace));
        let error = policy(false).action("t", true, Some(entry("mine"))).unwrap_err();
        assert!(error.message.contains("--with is for new tables"), "{error}");
        assert!(error.hint.unwrap().contains("--drop"));
    }

    fn policy(drop: bool, foreign: &[String]) -> TablePolicy<'_> {
        TablePolicy { drop, drop_foreign: foreign, ..TablePolicy::new("mine", Seed(1)) }
    }

    #[test]
    fn a_table_in_which_rows_were_tried_is_made_anew_whatever_comes() {
        for (fingerprint, drop) in [("mine", false), ("other", false), ("mine", true)] {
            let tried = entry(fingerprint).as_canary();
            assert!(tried.is_canary() && !entry(fingerprint).is_canary());
            let action = policy(drop, &[]).action("t", true, Some(tried));
            assert_eq!(action, Ok(TableAction::Remake), "{fingerprint}");
        }
        let statements = |all: &[&str]| -> Vec<String> {
            all.iter().map(|statement| (*statement).to_owned()).collect()
        };
        let plain = ["CREATE TABLE t (type text)", "CREATE UNIQUE INDEX i ON t (type)"];
        assert!(!creates_more_than_tables(&statements(&plain)));
        let more = ["create type mood as enum ('sad')", "CREATE TABLE t (m mood)"];
        assert!(creates_more_than_tables(&statements(&more)));
        let view = ["CREATE TABLE t (n int)", "CREATE MATERIALIZED VIEW v AS SELECT 1"];
        assert!(creates_more_than_tables(&statements(&view)));
    }

    #[test]
    fn a_table_is_created_kept_or_replaced() {
        let named = ["t".to_owned()];
        for (exists, registered, drop, foreign, action) in [
            (false, None, false, &[][..], TableAction::Create),
            // The table was dropped outside Highwater: the entry has lost its table.
            (false, Some("mine"), false, &[], TableAction::Create),
            (true, Some("mine"), false, &[], TableAction::Keep(entry("mine"))),
            (true, Some("mine"), true, &[], TableAction::Replace),
            (true, Some("other"), true, &[], TableAction::Replace),
            (true, None, false, &named, TableAction::Replace),
            (true, Some("other"), false, &named, TableAction::Replace),
        ] {
            let got = policy(drop, foreign).action("t", exists, registered.map(entry));
            assert_eq!(got, Ok(action), "{exists} {registered:?} {drop} {foreign:?}");
        }
    }

    #[test]
    fn tables_that_are_unregistered_or_of_another_workload_are_refused_with_a_hint() {
        let elsewhere = ["u".to_owned()];
        for (table, registered, drop, says, hint) in [
            ("t", None, false, "not created by Highwater", "--drop-foreign t"),
            // `--drop` applies to registered tables.
            ("t", None, true, "not created by Highwater", "--drop-foreign t"),
            ("t", Some("other"), false, "another workload", "--drop"),
            ("Highwater_Tables", None, true, "must not be named", "choose another"),
        ] {
            let error =
                policy(drop, &elsewhere).action(table, true, registered.map(entry)).unwrap_err();
            assert_eq!(error.kind, UserErrorKind::ForeignTable);
            assert!(error.message.contains(says), "{error}");
            assert!(error.hint.unwrap().contains(hint));
        }
    }
}
