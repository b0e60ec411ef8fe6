//! Results of a run's audit: a part of the record. Must not judge them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named::named;
use super::plan::AuditLevel;
use super::units::is_default;

/// What the audit found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecord {
    /// How much was compared: at most what was requested, less where the target cannot stand it.
    pub level: AuditLevel,
    /// Whether it was done, or why not.
    pub status: AuditStatus,
    /// Rows acknowledged, load and warm-up included.
    pub acknowledged: u64,
    /// Rows of unknown outcome when the load ended.
    pub unknown: u64,
    /// Rows found in the target.
    pub found: u64,
    /// Acknowledged and not found.
    pub missing: u64,
    /// Found beyond what was acknowledged or unknown, duplicates included.
    pub surplus: u64,
    /// Found more than once; where rows were not read back, a surplus in a bucket that was sent.
    pub duplicated: u64,
    /// Found although the target refused them; a part of `surplus`, known where rows were read back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refused_found: u64,
    /// Found and never sent by this program: another writer's; a part of `surplus`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub foreign: u64,
    /// Found with other values; where rows were not read back, buckets with other checksums.
    pub altered: u64,
    /// What became of the batches of unknown outcome, by key.
    pub resolved: ResolvedBatches,
    /// Rows read back and compared value by value.
    pub read_back: u64,
    /// Key buckets compared.
    pub buckets: u64,
    /// Columns whose checksums were compared, as `table.column`.
    pub columns: Vec<String>,
    /// Whether every wrong bucket was narrowed to its rows; else counts are those of buckets.
    pub narrowed: bool,
    /// The server's own count of rows inserted, where it has one.
    pub server_counter: Option<u64>,
    /// Copies of shards that were compared.
    pub copies: u64,
    /// Copies that there should have been besides: they were on no node, or on one that was away.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub copies_missing: u64,
    /// Shards whose copies hold different rows, or different numbers of them, for people; at most 20.
    pub copies_differ: Vec<String>,
    /// A bounded number of rows or buckets that are wrong.
    pub examples: Vec<AuditExample>,
    /// How long it was expected to take.
    pub estimate_ns: u64,
    /// How long it took.
    pub duration_ns: u64,
    /// What was expected and found per table and key bucket, for merging shares; kept only where
    /// this process wrote a part of the plan.
    pub expectations: Vec<Expectation>,
    /// How rows that replace each other were compared; absent where none do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<ReplacedRecord>,
    /// What the workload's own invariants answered; empty where it has none or none was queried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<InvariantRecord>,
    /// Tables that lost their rows all at once during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<GoneTable>,
    /// Where the audit's own SQL was wrong about rows that are known; nothing is said of the rows of
    /// these tables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong_sql: Vec<WrongSql>,
    /// Of `missing`, rows that earlier runs had left in the tables.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missing_before: u64,
    /// How rows of earlier runs were compared with the ledgers of those runs; absent where there are
    /// none, or their ledgers are elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierAudit>,
    /// Statements for which the target had no room, so that smaller ones followed; absent where there were
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<ExhaustedStatements>,
    /// Whether it was done after the run, from the ledger in its directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub later: bool,
    /// Why it could not be done, or not in full.
    pub error: Option<String>,
    /// What to do about `error`, where its kind says that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl AuditRecord {
    /// Number of rows found; absent if the comparison was not completed.
    pub fn rows_found(&self) -> Option<u64> {
        let compared = matches!(self.status, AuditStatus::Done | AuditStatus::Partial);
        compared.then_some(self.found)
    }
}

/// Statements for which a target had no memory, or no space for temporary data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExhaustedStatements {
    /// How many.
    pub statements: u64,
    /// What the target answered to the last one: it names its limit.
    pub error: String,
    /// Whether the last one was as small as can be, so that the audit ended with it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ended: bool,
}

/// The comparison of rows of earlier runs with their ledgers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierAudit {
    /// Rows before this index are of runs whose ledgers are not there: they were counted.
    pub from_row: u64,
    /// Rows that those runs had acknowledged.
    pub acknowledged: u64,
    /// The runs, the first one first.
    pub runs: Vec<EarlierRunRecord>,
    /// Why they were only counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What became of the rows of an earlier run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierRunRecord {
    /// Name of its directory.
    pub run: String,
    /// Rows that it had acknowledged.
    pub acknowledged: u64,
    /// Acknowledged and not found.
    pub missing: u64,
}

/// A table that lost its rows all at once during the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoneTable {
    /// The table.
    pub table: String,
    /// What happened to it.
    pub how: Removal,
}

/// How a table lost its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Removal {
    /// It is not there any more.
    Dropped,
    /// None of its first rows is there, and later ones are.
    Truncated,
    /// It has no row.
    Empty,
}

/// What the audit queried of a table in vain: its SQL is wrong about rows that are there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongSql {
    /// The table.
    pub table: String,
    /// Which part of the workload's table it comes from.
    pub part: SqlPart,
    /// The column; absent where it is of the whole row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The expression in the target's dialect; of a column without one its type.
    pub expression: String,
    /// A known row, and what came out for it.
    pub evidence: String,
}

impl std::fmt::Display for WrongSql {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (table, evidence) = (&self.table, &self.evidence);
        // Workload files wrap long expressions.
        let expression: Vec<&str> = self.expression.split_whitespace().collect();
        let expression = expression.join(" ");
        let column = self.column.as_deref().unwrap_or("?");
        match self.part {
            SqlPart::Key => write!(formatter, "`key` of table `{table}`"),
            SqlPart::Locate => write!(formatter, "`locate` of table `{table}`"),
            SqlPart::Value => write!(formatter, "`values` of column `{table}.{column}`"),
            SqlPart::Type => write!(formatter, "the type of column `{table}.{column}`"),
        }?;
        write!(formatter, ": {evidence}; it is `{expression}`")
    }
}

/// A part of a workload's table that the audit's SQL is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SqlPart {
    /// The expression for a row's index.
    Key,
    /// The condition that an index answers.
    Locate,
    /// The expression for what stands for a column's value.
    Value,
    /// A column's type, which decides what stands for its value.
    Type,
}

impl AuditRecord {
    /// Whether rows are missing, surplus, or altered.
    pub const fn is_wrong(&self) -> bool {
        self.missing + self.surplus + self.altered > 0
    }

    /// The record of an audit without written or compared rows.
    pub fn empty(level: AuditLevel) -> Self {
        Self { level, ..Self::default() }
    }
}

named! {
    /// Whether an audit was done, or why not.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum AuditStatus {
        /// The rows of the whole plan were compared.
        Done = "done",
        /// No audit was requested.
        #[default]
        Off = "off",
        /// The run wrote no rows.
        NothingWritten = "nothing_written",
        /// The target keeps no rows.
        StoresNothing = "stores_nothing",
        /// It ended with an error, or was stopped.
        Failed = "failed",
        /// It did not end within its limit.
        Timeout = "timeout",
        /// The workload names nothing that could be checked.
        NoInvariant = "no_invariant",
        /// One share of several was compared; only all shares together can be complete.
        Partial = "partial",
        /// One share of several, of a workload whose rows only its invariants check.
        OneShare = "one_share",
        /// Another tool measured, and its output was imported.
        Imported = "imported",
    }
}

/// An invariant of the workload, queried after the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InvariantRecord {
    /// Its name in the workload file.
    pub name: String,
    /// What its query must answer.
    pub expected: String,
    /// What it answered: one value; absent for null or any other number of rows or values.
    pub found: Option<String>,
    /// Whether that is the same.
    pub holds: bool,
}

/// The comparison of rows that replace each other by their key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplacedRecord {
    /// Keys whose last value was compared.
    pub keys: u64,
    /// They are one in so many of those written: 1 for all of them.
    pub one_in: u64,
    /// Whether rows have their number in them; else only the keys were compared.
    pub marked: bool,
}

/// Batches, or parts of batches, with an unknown outcome: what the audit found of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedBatches {
    /// All rows are there.
    pub applied: u64,
    /// Some rows are there.
    pub partly: u64,
    /// No row is there.
    pub not_applied: u64,
    /// Rows of them that are there.
    pub rows_found: u64,
}

/// What is expected and found of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expectation {
    /// The table.
    pub table: String,
    /// Keys per bucket.
    pub width: u64,
    /// Columns with checksums.
    pub columns: Vec<String>,
    /// What should be there, ascending.
    pub expected: Vec<ExpectedBucket>,
    /// What this share's audit found there, ascending.
    pub found: Vec<FoundBucket>,
}

/// A bucket of keys as it should be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedBucket {
    /// Key div width.
    pub bucket: u64,
    /// Rows acknowledged, with those of unknown outcome that were found.
    pub acknowledged: u64,
    /// Rows whose outcome is unknown.
    pub unknown: u64,
    /// Checksums of the acknowledged rows, by column.
    pub sums: Vec<u64>,
}

/// A bucket of keys as it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundBucket {
    /// Key div width.
    pub bucket: u64,
    /// Rows.
    pub rows: u64,
    /// Checksums, by column.
    pub sums: Vec<u64>,
}

/// What is wrong with a row or a bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Too few rows in a bucket, or a row that is not there.
    Missing,
    /// Too many rows in a bucket, or a row that should not be there.
    Surplus,
    /// A row that is there more than once.
    Duplicated,
    /// A row with another value, or a bucket with other checksums.
    Altered,
}

/// A row or a bucket of keys that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditExample {
    /// What is wrong.
    pub fault: Fault,
    /// Table.
    pub table: String,
    /// First key of the bucket, or the key of the row.
    pub first_key: u64,
    /// Last key of the bucket, or the key of the row.
    pub last_key: u64,
    /// Rows acknowledged.
    pub acknowledged: u64,
    /// Rows of unknown outcome.
    pub unknown: u64,
    /// Rows found.
    pub found: u64,
    /// The column that differs.
    pub column: Option<String>,
    /// What was sent.
    pub expected: Option<String>,
    /// What is there.
    pub stored: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}
