//! The audit tries itself: when it does, and what is left of it. Must not know which rows are sent.

use std::sync::Arc;

use highwater_driver::{Admin, TargetFacts};
use highwater_model::op::BoundWorkload;
use highwater_model::plan::AuditLevel;
use highwater_model::record::RunNote;
use highwater_model::stored_form::StoredForm;
use highwater_model::units::Nanos;

use super::RunError;
use super::preparing::unless_stopped;
use super::state::Run;
use crate::canary::{self, Canary, Uncompared};
use crate::deadline::within;
use crate::leases::KeptLeases;
use crate::record::note;
use crate::table_setup::writes;

/// For a statement that was given up.
const IDLE_LIMIT: Nanos = Nanos::from_secs(10);

impl Run {
    /// Has the audit try itself on the tables that this run has made, which are made anew then, and
    /// returns the workload as it is to be audited.
    pub(super) async fn try_audit(
        &mut self,
        admin: &mut Box<dyn Admin>,
        bound: Arc<BoundWorkload>,
        facts: &TargetFacts,
    ) -> Result<Arc<BoundWorkload>, RunError> {
        // A cluster allocates the shards of a table that is made: that alone takes longer than a try may.
        if facts.tables.shards || !self.has_canary() {
            return Ok(bound);
        }
        let tried = self.kept.as_ref().and_then(KeptLeases::tried);
        let uncompared = match tried {
            Some(uncompared) => uncompared,
            None => self.try_new_tables(admin, &bound).await?,
        };
        if let Some(kept) = &self.kept {
            kept.keep_tried(&uncompared);
        }
        if uncompared.is_empty() {
            return Ok(bound);
        }
        self.declared.leave_out(&uncompared, &bound);
        self.bind(&facts.dialects)
    }

    /// A model has no types; and another share may write to a table that is about to be made again.
    fn has_canary(&self) -> bool {
        let (plan, capabilities) = (&self.request.plan, self.request.target.capabilities());
        let level = plan.audit.level.min(capabilities.auditable);
        let is_database = capabilities.stores_values && !capabilities.simulated;
        let audits = level > AuditLevel::Off && is_database;
        audits && plan.share.of == 1 && writes(&self.request)
    }

    async fn try_new_tables(
        &mut self,
        admin: &mut Box<dyn Admin>,
        bound: &Arc<BoundWorkload>,
    ) -> Result<Vec<Uncompared>, RunError> {
        let stop = self.later_interrupts.clone();
        let unwritten = self.tables.unwritten(admin.as_mut(), bound);
        let unwritten = unless_stopped(&stop, unwritten).await?;
        if unwritten.is_empty() {
            return Ok(Vec::new());
        }
        let begun = self.tables.begin_canary(admin.as_mut(), &unwritten);
        unless_stopped(&stop, begun).await?;
        let canary = Canary {
            target: self.request.target.as_ref(),
            plan: &self.request.plan,
            workload: &self.request.workload,
            bound,
            first_row: self.tables.first_row,
            timeline: &self.timeline,
        };
        let tried = async {
            let tried = std::pin::pin!(canary.try_tables(admin.as_mut(), &unwritten));
            let tried = within(canary::LIMIT, self.timeline.as_ref(), tried).await;
            tried.transpose()
        };
        let tried = unless_stopped(&stop, tried).await;
        if matches!(tried, Ok(None) | Err(RunError::Interrupted)) {
            // A statement was given up, whose rows may still come.
            self.renew(admin).await;
            let deadline = self.timeline.now().saturating_add(IDLE_LIMIT);
            admin.quiesce(deadline).await?;
        }
        let (request, identity) = (&self.request, self.row_identity.clone());
        let ended = self.tables.end_canary(admin.as_mut(), bound, request, &identity);
        let ended = ended.await;
        // What was found is more than what could not be cleaned up behind it.
        let uncompared = tried?.unwrap_or_default();
        ended?;
        Ok(uncompared)
    }
}

/// A note on the columns that are not compared.
pub(super) fn uncompared_note(bound: &BoundWorkload) -> Option<RunNote> {
    let columns = bound
        .tables
        .iter()
        .flat_map(|table| {
            let left_out =
                table.columns.iter().filter(|column| column.form() == StoredForm::Uncompared);
            left_out
                .map(|column| format!("{}.{} ({})", table.name, column.name, column.declared.name))
        })
        .collect::<Vec<_>>()
        .join(", ");
    (!columns.is_empty()).then(|| {
        let message = format!(
            "the audit does not compare these columns, whose types give back other texts than were \
             sent: {columns}"
        );
        note("columns_not_compared", message)
    })
}
