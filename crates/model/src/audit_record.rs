//! Results of a run's audit: a part of the record. Must not judge them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::named::named;
use super::plan::AuditLevel;
use super::units::is_default;

/// The result of an audit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditRecord {
    /// The level of comparison: the requested one, or the highest one that the target supports.
    pub level: AuditLevel,
    /// Whether the audit was completed, and if not, why.
    pub status: AuditStatus,
    /// Rows acknowledged, including those of load and warm-up.
    pub acknowledged: u64,
    /// Rows with an unknown outcome when the load ended.
    pub unknown: u64,
    /// Rows found in the target.
    pub found: u64,
    /// Rows acknowledged but not found.
    pub missing: u64,
    /// Rows found beyond those acknowledged or of unknown outcome, including duplicates.
    pub surplus: u64,
    /// Rows found more than once; if rows were not read back, surplus rows in buckets that were sent.
    pub duplicated: u64,
    /// Rows found although the target refused them; part of `surplus`, known only if rows were read back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub refused_found: u64,
    /// Rows found that this program never sent, written by another client; part of `surplus`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub foreign: u64,
    /// Rows found with other values; if rows were not read back, buckets with other checksums.
    pub altered: u64,
    /// Outcome of the batches whose outcome was unknown, determined by key.
    pub resolved: ResolvedBatches,
    /// Rows read back and compared value by value.
    pub read_back: u64,
    /// Key buckets compared.
    pub buckets: u64,
    /// Columns whose checksums were compared, as `table.column`.
    pub columns: Vec<String>,
    /// Whether every wrong bucket was narrowed down to its rows. If not, counts are those of buckets.
    pub narrowed: bool,
    /// The server's own count of rows inserted; absent if it has none.
    pub server_counter: Option<u64>,
    /// Number of shard copies compared.
    pub copies: u64,
    /// Number of further shard copies that should exist but were unassigned or on a node that was down.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub copies_missing: u64,
    /// Shards whose copies differ in their rows or number of rows, as text; at most 20.
    pub copies_differ: Vec<String>,
    /// Examples of wrong rows or buckets, limited in number.
    pub examples: Vec<AuditExample>,
    /// Estimated duration in nanoseconds.
    pub estimate_ns: u64,
    /// Duration in nanoseconds.
    pub duration_ns: u64,
    /// Expected and found rows per table and key bucket, for merging shares; stored only if this process wrote a part
    /// of the plan.
    pub expectations: Vec<Expectation>,
    /// How rows that replace each other were compared; absent if no rows do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced: Option<ReplacedRecord>,
    /// Results of the workload's own invariants; empty if it has none or none was queried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<InvariantRecord>,
    /// Tables that lost all their rows at once during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<GoneTable>,
    /// Parts of the audit's own SQL that gave wrong results for known rows. The rows of these tables are not judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrong_sql: Vec<WrongSql>,
    /// Of the `missing` rows, those left in the tables by earlier runs.
    #[serde(default, skip_serializing_if = "is_default")]
    pub missing_before: u64,
    /// Comparison of rows of earlier runs with the ledgers of those runs; absent if there are no such rows or their
    /// ledgers are stored elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierAudit>,
    /// Statements that exceeded the target's memory or temporary space and were repeated in smaller parts; absent if
    /// there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exhausted: Option<ExhaustedStatements>,
    /// Whether a share compared the rows of all shares of its plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub of_all_shares: bool,
    /// Whether the audit was made after the run, from the ledger in its directory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub later: bool,
    /// The reason why the audit failed or is incomplete.
    pub error: Option<String>,
    /// What to do about `error`; absent if there is no specific advice.
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

/// Statements for which a target ran out of memory or space for temporary data.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExhaustedStatements {
    /// Number of statements.
    pub statements: u64,
    /// The target's error for the last one, which names its limit.
    pub error: String,
    /// Whether the last one was already as small as possible, so that the audit ended.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ended: bool,
}

/// The comparison of rows of earlier runs with their ledgers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierAudit {
    /// Rows before this index belong to runs whose ledgers are not available; they were only counted.
    pub from_row: u64,
    /// Rows that those runs had acknowledged.
    pub acknowledged: u64,
    /// The runs, oldest first.
    pub runs: Vec<EarlierRunRecord>,
    /// The reason why the rows were only counted; absent if they were compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Result for the rows of an earlier run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlierRunRecord {
    /// Name of the run's directory.
    pub run: String,
    /// Rows that the run had acknowledged.
    pub acknowledged: u64,
    /// Rows acknowledged but not found.
    pub missing: u64,
}

/// A table that lost all its rows at once during the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoneTable {
    /// Name of the table.
    pub table: String,
    /// How it lost its rows.
    pub how: Removal,
}

/// How a table lost its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Removal {
    /// The table no longer exists.
    Dropped,
    /// Its first rows are missing, but later ones exist.
    Truncated,
    /// It has no rows.
    Empty,
}

/// A part of the audit's SQL that gave a wrong result for rows that exist.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WrongSql {
    /// Name of the table.
    pub table: String,
    /// The part of the workload's table definition that it comes from.
    pub part: SqlPart,
    /// The column; absent if the SQL concerns the whole row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// The expression in the target's dialect; for a column without an expression, its type.
    pub expression: String,
    /// A known row, and the result for it.
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

/// A part of a workload's table definition from which the audit's SQL is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SqlPart {
    /// The expression for a row's index.
    Key,
    /// The condition that an index can serve.
    Locate,
    /// The expression that represents a column's value.
    Value,
    /// The type of a column, which determines how its value is represented.
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
    /// Whether an audit was completed, and if not, why.
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
        /// The target does not store rows.
        StoresNothing = "stores_nothing",
        /// The audit ended with an error or was stopped.
        Failed = "failed",
        /// The audit did not end within its time limit.
        Timeout = "timeout",
        /// The workload defines nothing that could be checked.
        NoInvariant = "no_invariant",
        /// One share of several was compared; only all shares together can be complete.
        Partial = "partial",
        /// One share of several, with a workload whose rows are checked only by invariants.
        OneShare = "one_share",
        /// The record was imported from another tool.
        Imported = "imported",
    }
}

/// An invariant of the workload, checked after the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InvariantRecord {
    /// Name of the invariant in the workload file.
    pub name: String,
    /// The required result of its query; `LEAST to MOST` if the outcome of some ops is unknown.
    pub expected: String,
    /// The result before the load, if the required one is so much more; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The result of its query, a single value; absent for null, and for any other number of rows or values.
    pub found: Option<String>,
    /// Whether the result is the required one.
    pub holds: bool,
}

/// The comparison of rows that replace earlier rows with the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplacedRecord {
    /// Number of keys whose last value was compared.
    pub keys: u64,
    /// One in this many of the keys written was compared; 1 for all.
    pub one_in: u64,
    /// Whether rows contain their number. If not, only keys were compared.
    pub marked: bool,
}

/// Batches, or parts of batches, with an unknown outcome, as resolved by the audit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ResolvedBatches {
    /// Number of those with all rows found.
    pub applied: u64,
    /// Number of those with some rows found.
    pub partly: u64,
    /// Number of those with no rows found.
    pub not_applied: u64,
    /// Number of their rows found.
    pub rows_found: u64,
}

/// Expected and found rows of one table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expectation {
    /// Name of the table.
    pub table: String,
    /// Number of keys per bucket.
    pub width: u64,
    /// Columns for which there are checksums.
    pub columns: Vec<String>,
    /// The expected buckets, ascending.
    pub expected: Vec<ExpectedBucket>,
    /// The buckets that this share's audit found, ascending.
    pub found: Vec<FoundBucket>,
}

/// The expected contents of a bucket of keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpectedBucket {
    /// Number of the bucket: key divided by width, rounded down.
    pub bucket: u64,
    /// Rows acknowledged, and rows of unknown outcome that were found.
    pub acknowledged: u64,
    /// Rows whose outcome is unknown.
    pub unknown: u64,
    /// Checksums of the acknowledged rows, by column.
    pub sums: Vec<u64>,
}

/// The contents found in a bucket of keys.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoundBucket {
    /// Number of the bucket: key divided by width, rounded down.
    pub bucket: u64,
    /// Number of rows.
    pub rows: u64,
    /// Checksums, by column.
    pub sums: Vec<u64>,
}

/// A fault of a row or bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Too few rows in a bucket, or a row that is missing.
    Missing,
    /// Too many rows in a bucket, or a row that should not exist.
    Surplus,
    /// A row that exists more than once.
    Duplicated,
    /// A row with another value, or a bucket with other checksums.
    Altered,
}

/// A wrong row or bucket of keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditExample {
    /// The fault.
    pub fault: Fault,
    /// Name of the table.
    pub table: String,
    /// First key of the bucket, or the key of the row.
    pub first_key: u64,
    /// Last key of the bucket, or the key of the row.
    pub last_key: u64,
    /// Rows acknowledged.
    pub acknowledged: u64,
    /// Rows with an unknown outcome.
    pub unknown: u64,
    /// Rows found.
    pub found: u64,
    /// The column that differs; absent if the fault does not concern one column.
    pub column: Option<String>,
    /// The value sent.
    pub expected: Option<String>,
    /// The value stored.
    pub stored: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
pub(crate) const fn is_zero(number: &u64) -> bool {
    *number == 0
}
