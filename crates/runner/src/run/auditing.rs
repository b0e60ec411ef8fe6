//! The audit within a run: whether it happens, its target connection, and its interruption.

use std::sync::Arc;

use highwater_driver::{Admin, Timeline};
use highwater_model::event::{Event, Part};
use highwater_model::op::BoundWorkload;
use highwater_model::plan::{AuditLevel, Share};
use highwater_model::record::AuditStatus;
use highwater_model::units::Nanos;
use highwater_workload::Invariant;

use super::Run;
use crate::audit::{self, AuditInput, AuditOutcome, AuditProgressReporter, audit_unless};
use crate::control::{Controls, ReceivedCommand, obey_after_load};
use crate::ledger::Ledger;
use crate::request::{Observer, RunRequest};
use highwater_driver::interrupts::{Interrupts, StopRequest};

/// Why replaced rows cannot be compared on a model.
const NO_VALUES: &str = "the target is a model that does not keep which row replaced which";

/// Why one share of several skips the check of invariants.
const OF_THE_WHOLE: &str =
    "the workload's invariants are of the whole load, and a share checks none of them";

/// Why the effect of the user's own statements cannot be compared.
const NO_KEY: &str = "its statements write, and nothing says what should be there afterwards";

/// The status of an audit that is not started, with the reason unless it is obvious.
type SkippedAudit = (AuditStatus, Option<&'static str>);

/// Note for the reader of a share's record, if the workload has invariants.
pub(super) fn skipped_invariants(request: &RunRequest) -> Option<String> {
    let plan = &request.plan;
    let audits = plan.share.of > 1 && plan.audit.level != AuditLevel::Off;
    (audits && request.workload.has_invariants()).then(|| OF_THE_WHOLE.to_owned())
}

/// The status if none of these invariants is checked.
fn skipped(invariants: &[Invariant], share: &Share) -> Option<SkippedAudit> {
    match invariants {
        [] => Some((AuditStatus::NoInvariant, Some(NO_KEY))),
        // A share that writes only a part cannot judge the whole.
        _ if share.of > 1 => Some((AuditStatus::OneShare, Some(OF_THE_WHOLE))),
        _ => None,
    }
}

impl Run {
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
                Some((AuditStatus::NoInvariant, Some(NO_VALUES)))
            }
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
        let plan = &self.request.plan;
        let skipped = skipped(invariants, &plan.share);
        let invariants = if skipped.is_some() { &[] } else { invariants };
        let target = Arc::clone(&self.request.target);
        let capabilities = target.capabilities();
        let level = plan.audit.level.min(capabilities.auditable);
        let streams = plan.streams.iter().map(|stream| stream.name.as_str());
        let changed = self.request.workload.changed_by_statements(streams);
        let is_unknown = changed.contains(&true) && skipped.is_some();
        if let Some((status, why)) = self.not_due(ledgers, level, skipped, is_unknown) {
            let why = why.map(str::to_owned);
            return AuditOutcome::skipped(audit::not_done(level, ledgers, status, why));
        }
        if self.interrupts.requested() == Some(StopRequest::StopAtOnce) {
            return AuditOutcome::skipped(audit::stopped_at_once(level, ledgers));
        }
        let estimate = audit::estimate(level, ledgers, capabilities.audit_ns_per_row);
        self.begin(Part::Audit { level, estimate });
        let observer = self.observer.as_ref();
        let input = AuditInput {
            level,
            limit: self.request.plan.audit.limit,
            plan: &self.request.plan,
            bound: &self.tables.own_rows(bound),
            whole: bound,
            tables: &self.tables,
            workload: &self.request.workload,
            changed: &changed,
            invariants,
            directory: &self.request.directory,
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
