//! The verdict of a record on the rows. Must not define the expected one.

use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::record::{AuditStatus, RunRecord};

use super::{data_reasons, measured};

/// In rows; for resolved batches, in batches.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) sent: u64,
    pub(crate) acknowledged: u64,
    pub(crate) refused: u64,
    pub(crate) unknown: u64,
    pub(crate) found: u64,
    pub(crate) missing: u64,
    pub(crate) surplus: u64,
    pub(crate) duplicated: u64,
    pub(crate) refused_found: u64,
    pub(crate) altered: u64,
    pub(crate) resolved_applied: u64,
    pub(crate) resolved_partly: u64,
    pub(crate) resolved_not_applied: u64,
    pub(crate) data: Data,
    pub(crate) reasons: Vec<ReasonCode>,
}

impl Verdict {
    /// From a run with a complete audit.
    pub(crate) fn said_by(record: &RunRecord, context: &str) -> Self {
        let (audit, rows) = (&record.audit, measured(record, "insert").rows);
        assert_eq!(audit.status, AuditStatus::Done, "{context}");
        assert!(audit.narrowed, "{context}");
        Self {
            sent: rows.sent,
            acknowledged: audit.acknowledged,
            refused: rows.refused,
            unknown: audit.unknown,
            found: audit.found,
            missing: audit.missing,
            surplus: audit.surplus,
            duplicated: audit.duplicated,
            refused_found: audit.refused_found,
            altered: audit.altered,
            resolved_applied: audit.resolved.applied,
            resolved_partly: audit.resolved.partly,
            resolved_not_applied: audit.resolved.not_applied,
            data: record.judgments.data.value,
            reasons: data_reasons(record),
        }
    }
}
