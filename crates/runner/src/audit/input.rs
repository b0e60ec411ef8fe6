//! The input of an audit: what to compare, and the limits. Must not contain queries or comparisons.

use std::rc::Rc;

use highwater_driver::Timeline;
use highwater_model::op::BoundWorkload;
use highwater_model::plan::{AuditLevel, Plan};
use highwater_model::units::Nanos;
use highwater_workload::{Invariant, Workload};

use super::progress::AuditProgressReporter;
use crate::store::RunDirectory;
use crate::table_setup::ExistingTables;

/// The input of an audit.
pub(crate) struct AuditInput<'a> {
    /// The planned level, or a lower one if the target supports no more.
    pub(crate) level: AuditLevel,
    pub(crate) limit: Nanos,
    /// The plan of the run whose rows are compared.
    pub(crate) plan: &'a Plan,
    pub(crate) bound: &'a BoundWorkload,
    /// The workload with all rows keyed, including those of earlier runs.
    pub(crate) whole: &'a BoundWorkload,
    /// The tables before this run; in `bound`, rows of earlier runs have no key.
    pub(crate) tables: &'a ExistingTables,
    pub(crate) workload: &'a Workload,
    /// Per table, whether statements with an unknown effect changed it.
    pub(crate) changed: &'a [bool],
    /// Invariants to check; empty for one share of several, which cannot see all writes.
    pub(crate) invariants: &'a [Invariant],
    pub(crate) directory: &'a RunDirectory,
    /// The run ended earlier: others may have written since, and the server's counters have advanced.
    pub(crate) stored: bool,
    /// Reports the current stage and its progress.
    pub(crate) progress: AuditProgressReporter<'a>,
}

/// The times of the comparison of one table.
#[derive(Clone, Copy)]
pub(crate) struct TableTimes<'a> {
    /// Timeline of the run.
    pub(super) timeline: &'a Rc<dyn Timeline>,
    /// Until this time, wrong buckets are narrowed to their rows.
    pub(super) narrow_until: Nanos,
}
