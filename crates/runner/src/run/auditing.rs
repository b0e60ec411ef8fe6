//! The audit's place in a run: whether there is one, who is asked, and who may cut it short.

use std::cell::RefCell;
use std::sync::Arc;

use futures_util::future::{Either, select};
use highwater_core::model::op::BoundWorkload;
use highwater_core::model::plan::AuditLevel;
use highwater_core::model::units::Nanos;
use highwater_driver::Admin;

use super::Run;
use crate::audit::{self, AuditInput, Audited};
use crate::interrupts::{Interrupts, Wish};
use crate::ledger::Ledger;

/// Why rows that replace each other cannot be compared on a model.
const NO_VALUES: &str = "the target is a model that does not keep which row replaced which";

/// Why the effect of the user's own statements cannot be compared.
const NO_KEY: &str = "its statements write, and nothing says what should be there afterwards";

impl Run {
    /// Audits, unless there is nothing to audit, nobody to ask, or no time.
    pub(super) async fn audit(
        &mut self,
        bound: &BoundWorkload,
        ledgers: &mut [Ledger],
        admin: &mut Box<dyn Admin>,
        lost: bool,
    ) -> Audited {
        let plan = &self.request.plan;
        let target = Arc::clone(&self.request.target);
        let capabilities = target.capabilities();
        let level = plan.audit.level.min(capabilities.auditable);
        let replaced = ledgers.iter().any(Ledger::has_replacements);
        let status = match (audit::is_due(ledgers), plan.audit.level, level) {
            (_, AuditLevel::Off, _) => Some("off"),
            (false, ..) if self.request.workload.changes_unknown_rows() => Some("no_invariant"),
            (false, ..) => Some("nothing_written"),
            (true, _, AuditLevel::Off) => Some("stores_nothing"),
            _ if replaced && !capabilities.stores_values => Some("no_invariant"),
            _ => None,
        };
        if let Some(status) = status {
            let why = match (status, replaced) {
                ("no_invariant", true) => Some(NO_VALUES.to_owned()),
                ("no_invariant", false) => Some(NO_KEY.to_owned()),
                _ => None,
            };
            return Audited::unasked(audit::not_done(level, ledgers, status, why));
        }
        if self.interrupts.wished() == Some(Wish::StopAtOnce) {
            return Audited::unasked(audit::stopped_at_once(level, ledgers));
        }
        let estimate = audit::estimate(level, ledgers, capabilities.audit_ns_per_row);
        self.phase("audit", &audit::about(level, estimate));
        // Those who found it lost have waited for it already.
        let patience = if lost {
            Nanos::ZERO
        } else {
            self.request.plan.retry.reconnect_limit
        };
        let input = AuditInput {
            level,
            limit: self.request.plan.audit.limit,
            seed: self.request.plan.seed,
            share: &self.request.plan.share,
            bound: &self.ground.own_rows(bound),
            ground: &self.ground,
            workload: &self.request.workload,
            directory: &self.request.directory,
            stage: RefCell::default(),
        };
        let audited = {
            let audit = async {
                match audit::renew(admin, target.as_ref(), &self.timeline, patience).await {
                    Ok(()) => audit::audit(&input, ledgers, admin.as_mut(), &self.timeline).await,
                    Err(error) => {
                        let why = Some(error.message);
                        Audited::unasked(audit::not_done(level, ledgers, "failed", why))
                    }
                }
            };
            let stopped = std::pin::pin!(stop_at_once(&mut self.interrupts));
            match select(stopped, std::pin::pin!(audit)).await {
                Either::Right((audited, _)) => Some(audited),
                Either::Left(_) => None,
            }
        };
        let stopped = || Audited::unasked(audit::stopped_at_once(level, ledgers));
        let mut audited = audited.unwrap_or_else(stopped);
        audited.record.estimate_ns = estimate.0;
        audited
    }
}

async fn stop_at_once(interrupts: &mut Interrupts) {
    while interrupts.next().await != Wish::StopAtOnce {}
}
