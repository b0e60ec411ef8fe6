//! The registry of the tables that Highwater created, `highwater_tables`: its entries, and the
//! action for each table of a run.
//! Every driver keeps the registry in its database, in its own dialect; this module has the rules. Must not contain
//! SQL, or do I/O.

use highwater_model::units::{Nanos, Seed};
use highwater_model::user_error::{UserError, UserErrorKind};

use crate::sql::connection::SqlQuery;

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

/// Name of the table of leases.
pub const LEASES_TABLE: &str = "highwater_leases";
/// Time between two heartbeats.
pub const HEARTBEAT: Nanos = Nanos::from_secs(6);
/// After this long without a heartbeat, a lease is watched for [`WATCH`]; both together are the half minute after which
/// the lease of a killed run ends.
pub const HEARTBEAT_OVERDUE: Nanos = Nanos::from_secs(20);
/// A lease with an overdue heartbeat ends if none comes within this time: after an outage of the target, its owner
/// needs a moment to write again.
pub const WATCH: Nanos = Nanos::from_secs(10);
/// A lock of the owner's connection keeps a lease for this long without a heartbeat; a target may keep the connections
/// of a vanished machine for hours.
pub const LOCKED_MAX: Nanos = Nanos::from_secs(300);

/// A process, identified by its machine, its number, and its start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owner {
    /// Name of the process for display, such as `alice@host7`.
    pub name: String,
    /// The boot id and process namespace in which the number is valid; empty if the system provides neither.
    pub machine: String,
    /// Number of the process.
    pub process: u32,
    /// Its start, in the units of the system.
    pub started: u64,
}

/// A lease: a run fills a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lease {
    /// The table, unquoted.
    pub table: String,
    /// Share of the plan that this process runs, from 1.
    pub share: u32,
    /// Number of shares of the plan.
    pub shares: u32,
    /// Common to all leases of one run, and unique to it.
    pub token: String,
    /// Hash of the plan.
    pub plan: String,
    /// The holder.
    pub owner: Owner,
    /// Time since it was taken, by the target's clock.
    pub held: Nanos,
    /// Time since the last heartbeat, by the target's clock.
    pub silent: Nanos,
    /// Whether the connection of its heartbeat still holds its lock; absent if the target has no such locks.
    pub is_locked: Option<bool>,
}

/// An action on leases.
#[derive(Debug, Clone, Copy)]
pub enum LeaseAction<'a> {
    /// No change; makes the table of leases, if it does not exist.
    Read,
    /// No change, after another action: one statement.
    Look,
    /// Adds those whose table and share are not leased.
    Take(&'a [Lease]),
    /// Writes the heartbeat for a token.
    Renew(&'a str),
    /// Ends the leases of a token.
    End(&'a str),
}

/// The state of a lease's holder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// It is running.
    Alive,
    /// It is not running; the lease may be ended.
    Gone,
    /// Its heartbeat is overdue; only a second check after [`WATCH`] decides.
    Silent,
}

impl Lease {
    /// Whether the two holders must not both fill the table: true unless they are different shares of one plan.
    pub fn excludes(&self, other: &Self) -> bool {
        let is_other_share =
            self.plan == other.plan && self.shares == other.shares && self.share != other.share;
        self.table == other.table && self.token != other.token && !is_other_share
    }

    /// The state of its holder; `is_running` returns whether a process of this machine is running, and `None` for other
    /// machines.
    pub fn holder(&self, is_running: impl Fn(&Owner) -> Option<bool>) -> Holder {
        match is_running(&self.owner) {
            Some(true) => Holder::Alive,
            Some(false) => Holder::Gone,
            None if self.silent < HEARTBEAT_OVERDUE => Holder::Alive,
            None if self.is_locked == Some(true) && self.silent < LOCKED_MAX => Holder::Alive,
            None => Holder::Silent,
        }
    }

    /// Whether a heartbeat came between two checks that are `passed` apart.
    pub fn beat_since(&self, earlier: &Self, passed: Nanos) -> bool {
        self.silent < earlier.silent.saturating_add(Nanos(passed.0 / 2))
    }
}

/// One privilege that a run needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Right {
    /// The words after "may": `create tables`, `insert rows`, `read rows`, or `drop tables`.
    pub name: &'static str,
    /// Why it is denied.
    pub refusal: Option<UserError>,
}

/// Required for all other attempts.
const CREATE: &str = "create tables";

/// Makes the attempts, one after the other; `quoted` is the quoted name of the table, and `options` is what its dialect
/// needs after the columns.
///
/// # Errors
///
/// The connection to the target was lost.
pub async fn try_all(
    connection: &mut impl SqlQuery,
    quoted: &str,
    options: &str,
) -> Result<Vec<Right>, UserError> {
    let create = format!("CREATE TABLE {quoted} (n INTEGER){options}");
    let insert = format!("INSERT INTO {quoted} (n) VALUES (1)");
    let attempts = [
        (CREATE, create),
        ("insert rows", insert),
        ("read rows", format!("SELECT count(*) FROM {quoted}")),
        ("drop tables", format!("DROP TABLE {quoted}")),
    ];
    let mut rights = Vec::new();
    for (name, sql) in attempts {
        let refusal = match connection.texts(&sql).await {
            Err(error) if error.may_pass() => return Err(error),
            attempt => attempt.err(),
        };
        // Without this table, there is nothing to fill, and nothing that may be dropped.
        let goes_on = name != CREATE || refusal.is_none();
        rights.push(Right { name, refusal });
        if !goes_on {
            break;
        }
    }
    Ok(rights)
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
    fn a_table_with_canary_rows_is_recreated_in_any_case() {
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

    fn lease(token: &str, plan: &str, share: u32, shares: u32) -> Lease {
        Lease {
            table: "cpu".to_owned(),
            share,
            shares,
            token: token.to_owned(),
            plan: plan.to_owned(),
            ..Lease::default()
        }
    }

    #[test]
    fn only_different_shares_of_one_plan_fill_a_table_together() {
        let mine = lease("a", "p", 1, 2);
        for (other, excludes) in [
            (lease("a", "p", 1, 2), false),
            (lease("b", "p", 2, 2), false),
            (lease("b", "p", 1, 2), true),
            (lease("b", "q", 2, 2), true),
            (lease("b", "p", 2, 3), true),
            (Lease { table: "mem".to_owned(), ..lease("b", "q", 1, 2) }, false),
        ] {
            assert_eq!(mine.excludes(&other), excludes, "{other:?}");
            assert_eq!(other.excludes(&mine), excludes, "{other:?}");
        }
    }

    #[test]
    fn a_process_of_this_machine_decides_and_a_heartbeat_elsewhere() {
        let silent = |seconds, is_locked| Lease {
            silent: Nanos::from_secs(seconds),
            is_locked,
            ..lease("a", "p", 1, 1)
        };
        for (seconds, locked, running, holder) in [
            (500, None, Some(true), Holder::Alive),
            (0, Some(true), Some(false), Holder::Gone),
            (19, None, None, Holder::Alive),
            (20, None, None, Holder::Silent),
            (20, Some(false), None, Holder::Silent),
            (299, Some(true), None, Holder::Alive),
            (300, Some(true), None, Holder::Silent),
        ] {
            let got = silent(seconds, locked).holder(|_| running);
            assert_eq!(got, holder, "{seconds} {locked:?} {running:?}");
        }
    }

    #[test]
    fn a_heartbeat_between_two_looks_is_seen() {
        let silent = |ms| Lease { silent: Nanos::from_millis(ms), ..lease("a", "p", 1, 1) };
        let passed = Nanos::from_secs(10);
        assert!(silent(400).beat_since(&silent(25_000), passed));
        assert!(silent(9_000).beat_since(&silent(25_000), passed));
        assert!(!silent(35_000).beat_since(&silent(25_000), passed));
        // Clocks of the target's nodes differ slightly.
        assert!(!silent(34_000).beat_since(&silent(25_000), passed));
    }
}
