//! The input of a rule of the findings, and its report. Must not hold a rule.

use crate::judge::MeasuredStream;
use highwater_model::record::RunRecord;

/// One sentence about a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleFinding {
    /// Stable name of the rule.
    pub code: &'static str,
    /// The observation.
    pub sentence: String,
    /// The figures that support it.
    pub evidence: String,
    /// The suggested fix.
    pub hint: &'static str,
}

/// A record, read once for all rules.
pub(super) struct RuleInput<'a> {
    pub(super) record: &'a RunRecord,
    pub(super) measured: Vec<MeasuredStream<'a>>,
}
