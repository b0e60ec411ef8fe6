//! The audit within a run: whether it happens, its target connection, and its interruption.

use std::sync::Arc;

use highwater_driver::{Admin, Timeline};
use highwater_model::event::{Event, Part};
use highwater_model::op::BoundWorkload;
use highwater_model::plan::{AuditLevel, Share};
use highwater_model::record::AuditStatus;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use highwater_workload::Invariant;

use super::Run;
use super::preparing::unless_stopped;
use crate::audit::{self, AuditInput, AuditOutcome, AuditProgressReporter, audit_unless};
use crate::control::{Controls, ReceivedCommand, obey_after_load};
use crate::ledger::Ledger;
use crate::request::{Observer, rows_per_op};
use crate::table_setup::writes;
use highwater_driver::interrupts::{Interrupts, StopRequest};

/// Why replaced rows cannot be compared on a model.
const NO_VALUES: &str = "the target is a model that does not keep which row replaced which";

/// Why one share of several skips the check of invariants.
const OF_THE_WHOLE: &str =
    "the workload's invariants are of the whole load, and a share checks none of them";

/// Why a share does not compare rows that replace each other.
const OF_ALL_WRITES: &str =
    "rows replace each other, and which is the last shows only with the writes of all shares";

/// Why a run is not checked by a workload's invariants.
const NONE_FITS: &str = "none of the workload's invariants could be compared: see the notes";

/// Why the effect of the user's own statements cannot be compared.
const NO_KEY: &str = "its statements write, and nothing says what should be there afterwards";

/// The status of an audit that is not started, with the reason unless it is obvious.
type SkippedAudit = (AuditStatus, Option<String>);

/// The status if none of these invariants is checked; `are_others` if the workload has others.
fn skipped(invariants: &[Invariant], are_others: bool, of_all: bool) -> Option<SkippedAudit> {
    match invariants {
        [] if are_others && of_all => Some((AuditStatus::NoInvariant, Some(NONE_FITS.to_owned()))),
        [] if !are_others => Some((AuditStatus::NoInvariant, Some(NO_KEY.to_owned()))),
        // A share that writes only a part cannot judge the whole.
        _ if !of_all => Some((AuditStatus::OneShare, Some(OF_THE_WHOLE.to_owned()))),
        _ => None,
    }
}

impl Run {
    /// Whether this run is the whole plan, or the share that audits after all others have sent their last op.
    fn is_of_all(&self) -> bool {
        let share = &self.request.plan.share;
        share.of == 1 || (self.meeting.is_some() && share.index == 1)
    }

    /// Note for the reader of the record, if some of the workload's invariants are not checked.
    pub(super) fn skipped_invariants(&self) -> Option<String> {
        let audits = self.request.plan.audit.level != AuditLevel::Off;
        let skips_all = !self.is_of_all() && self.request.workload.has_invariants();
        if audits && skips_all {
            return Some(OF_THE_WHOLE.to_owned());
        }
        let why = match self.request.plan.share.of {
            1 => {
                "an op of this run changes them in a way that the workload does not state, or they had no value before"
            }
            _ => "a share does not know what was acknowledged to the others",
        };
        let names = self.unchecked.join(", ");
        let are = audits && !names.is_empty();
        are.then(|| format!("these invariants were not checked, because {why}: {names}"))
    }

    /// Registers that this run writes from here on, and reads the values with which its invariants compare.
    pub(super) async fn begin_writing(
        &mut self,
        admin: &mut dyn Admin,
        dialects: &[String],
    ) -> Result<(), UserError> {
        let (plan, capabilities) = (&self.request.plan, self.request.target.capabilities());
        if plan.share.index == 1 && writes(&self.request) {
            self.tables.begin(admin).await?;
        }
        let audits = plan.audit.level != AuditLevel::Off && capabilities.stores_values;
        if audits && plan.share.of == 1 && !capabilities.simulated {
            let invariants = self.request.workload.invariants(dialects)?;
            let values = audit::values_before(&invariants, admin);
            self.values_before = unless_stopped(&self.later_interrupts, values).await?;
        }
        Ok(())
    }

    /// The invariants to check after ops with these effects.
    pub(super) fn invariants_due(
        &mut self,
        dialects: &[String],
        effects: &[(u64, u64)],
    ) -> Result<Vec<Invariant>, UserError> {
        let mut due = Vec::new();
        let mut before = self.values_before.iter().copied();
        for invariant in self.request.workload.invariants(dialects)? {
            let name = invariant.name.clone();
            match invariant.after(before.next().flatten(), effects) {
                Some(invariant) => due.push(invariant),
                None => self.unchecked.push(name),
            }
        }
        Ok(due)
    }

    /// Why rows that replace each other cannot be compared by this share.
    fn replaced_unknown(&self) -> Option<String> {
        if !self.is_of_all() {
            return Some(OF_ALL_WRITES.to_owned());
        }
        let missing: Vec<String> = self.shares_missing.iter().map(u32::to_string).collect();
        let why = || {
            format!(
                "rows replace each other, and the writes of these shares are not stored below the same -o folder: {}",
                missing.join(", ")
            )
        };
        (!missing.is_empty()).then(why)
    }

    /// The status of an audit that is not started, with the reason unless it is obvious.
    fn not_due(
        &self,
        ledgers: &[Ledger],
        level: AuditLevel,
        skipped: Option<SkippedAudit>,
        is_unknown: bool,
    ) -> Option<SkippedAudit> {
        let capabilities = self.request.target.capabilities();
        let replaced = ledgers.iter().any(Ledger::has_replacements);
        match (audit::is_due(ledgers), self.request.plan.audit.level, level) {
            (_, AuditLevel::Off, _) => Some((AuditStatus::Off, None)),
            (false, ..) if self.request.workload.changes_unknown_rows() => skipped,
            (false, ..) => Some((AuditStatus::NothingWritten, None)),
            (true, _, AuditLevel::Off) => Some((AuditStatus::StoresNothing, None)),
            _ if is_unknown => skipped,
            _ if replaced && !capabilities.stores_values => {
                Some((AuditStatus::NoInvariant, Some(NO_VALUES.to_owned())))
            }
            _ if replaced => self.replaced_unknown().map(|why| (AuditStatus::OneShare, Some(why))),
            _ => None,
        }
    }

    /// Audits, unless there is nothing to audit, no connection, or no time.
    pub(super) async fn audit(
        &mut self,
        bound: &BoundWorkload,
        ledgers: &mut [Ledger],
        admin: &mut Box<dyn Admin>,
        invariants: &[Invariant],
    ) -> AuditOutcome {
        let mut plan = self.request.plan.clone();
        let of_all = self.is_of_all();
        let skipped = skipped(invariants, !self.unchecked.is_empty(), of_all);
        let invariants = if skipped.is_some() { &[] } else { invariants };
        let target = Arc::clone(&self.request.target);
        let capabilities = target.capabilities();
        let level = plan.audit.level.min(capabilities.auditable);
        let streams = plan.streams.iter().map(|stream| stream.name.as_str());
        let changed = self.request.workload.changed_by_statements(streams);
        let is_unknown = changed.contains(&true) && skipped.is_some();
        if let Some((status, why)) = self.not_due(ledgers, level, skipped, is_unknown) {
            return AuditOutcome::skipped(audit::not_done(level, ledgers, status, why));
        }
        if self.interrupts.requested() == Some(StopRequest::StopAtOnce) {
            return AuditOutcome::skipped(audit::stopped_at_once(level, ledgers));
        }
        // The ledgers of tables without such rows have this share's part only.
        let sums_nothing = plan.workload.rows_to_load == 0
            && plan.streams.iter().all(|of| rows_per_op(&self.request.workload, &of.name) == 0);
        let covers_all = of_all && (sums_nothing || ledgers.iter().all(Ledger::has_replacements));
        if covers_all {
            plan.share = Share::WHOLE;
        }
        let estimate = audit::estimate(level, ledgers, capabilities.audit_ns_per_row);
        self.begin(Part::Audit { level, estimate });
        let observer = self.observer.as_ref();
        let input = AuditInput {
            level,
            limit: plan.audit.limit,
            plan: &plan,
            bound: &self.tables.own_rows(bound),
            whole: bound,
            tables: &self.tables,
            workload: &self.request.workload,
            changed: &changed,
            invariants,
            directory: &self.request.directory,
            met: self.meeting.as_ref().map(|_| self.request.plan.share.index),
            stored: false,
            progress: AuditProgressReporter::new(
                observer,
                &self.timeline,
                level,
                estimate,
                ledgers,
            ),
        };
        let (timeline, target) = (&self.timeline, target.as_ref());
        let (interrupts, controls) = (&mut self.interrupts, &mut self.controls);
        let stopped = stop_at_once(interrupts, controls, timeline.as_ref(), observer);
        let mut audited = audit_unless(stopped, &input, ledgers, admin, target, timeline).await;
        audited.record.estimate_ns = estimate.0;
        audited.record.of_all_shares = covers_all && self.request.plan.share.of > 1;
        audited
    }
}

/// Waits for the request to stop at once; meanwhile, answers commands.
pub(super) async fn stop_at_once(
    interrupts: &mut Interrupts,
    controls: &mut Controls,
    timeline: &dyn Timeline,
    observer: &dyn Observer,
) {
    loop {
        tokio::select! {
            biased;
            stop = interrupts.next() => if stop == StopRequest::StopAtOnce {
                return;
            },
            received = controls.next() => {
                answer_after_load(controls, received, timeline.now(), observer);
            }
        }
    }
}

/// Answers a command that arrives when no load is running.
pub(super) fn answer_after_load(
    controls: &mut Controls,
    received: ReceivedCommand,
    now: Nanos,
    observer: &dyn Observer,
) {
    let answer = obey_after_load(&received, now, controls).map(|done| received.signed(done));
    if let Ok(done) = &answer {
        observer.event(&Event::Intervention(done.clone()));
    }
    controls.answer(received, answer);
}
