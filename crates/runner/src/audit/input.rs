//! What an audit compares, and with which limits. What must not be here: queries and comparisons.

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
    /// The same with the workload's own keys.
    pub(crate) whole: &'a BoundWorkload,
    /// The tables before this run; in `bound`, rows of earlier runs have no key.
    pub(crate) tables: &'a ExistingTables,
    pub(crate) workload: &'a Workload,
    /// Per table, whether statements with an unknown effect changed it.
    pub(crate) changed: &'a [bool],
    /// Invariants to check; empty for one share of several, which cannot see all writes.
    pub(crate) invariants: &'a [Invariant],
    pub(crate) directory: &'a RunDirectory,
    /// The run ended before: others may have written since, and the server has counted on.
    pub(crate) stored: bool,
    /// Reports the current stage and its progress.
    pub(crate) progress: AuditProgressReporter<'a>,
}

/// The times of the comparison of one table.
#[derive(Clone, Copy)]
pub(crate) struct TableTimes<'a> {
    /// The run's time.
    pub(super) timeline: &'a Rc<dyn Timeline>,
    /// Wrong buckets are narrowed to their rows until then.
    pub(super) narrow_until: Nanos,
}
