//! The leases of a run on its tables: whether it needs them, and what it reports if it loses them. Must not know how a
//! lease is kept.

use highwater_driver::Admin;
use highwater_model::event::Part;
use highwater_model::op::BoundWorkload;
use highwater_model::user_error::UserError;

use super::state::Run;
use crate::leases::{self, HeldLeases};
use crate::table_setup::writes;

/// Record text if another run took the tables over.
pub(super) const LOST: &str = "another run took the tables over, because this run's heartbeat was \
                               missing for half a minute: rows of both may be in them";

impl Run {
    /// Takes leases on the tables that this run fills or drops; none if nothing is stored, or if the target is a model
    /// of this run alone.
    pub(super) async fn hold_tables(
        &self,
        bound: &BoundWorkload,
        admin: &mut dyn Admin,
    ) -> Result<Option<HeldLeases>, UserError> {
        let capabilities = self.request.target.capabilities();
        let is_shared = capabilities.stores_values && !capabilities.simulated_clock;
        let options = &self.request.options;
        let drops = options.drop || !options.drop_foreign.is_empty();
        let changes = writes(&self.request) || drops;
        if bound.tables.is_empty() || !is_shared || !changes {
            return Ok(None);
        }
        let tables: Vec<&str> = bound.tables.iter().map(|t| t.name.as_str()).collect();
        let (plan, timeline) = (&self.request.plan, self.timeline.as_ref());
        if let Some(kept) = &self.kept
            && let Some(held) = kept.hand_over(admin, &tables, timeline).await?
        {
            return Ok(Some(held));
        }
        let watching = |held: Part| self.begin(held);
        let token = leases::take(admin, &tables, plan, timeline, watching).await?;
        HeldLeases::keep(&self.request.target, token)
            .map(Some)
            .map_err(|error| UserError::cannot("run", &error))
    }

    /// Releases the tables, or keeps them for the next run of a search.
    pub(super) async fn release_tables(&self, held: HeldLeases, admin: &mut dyn Admin) {
        match &self.kept {
            Some(kept) => kept.keep(held),
            None => held.end(admin, self.timeline.as_ref()).await,
        }
    }
}
