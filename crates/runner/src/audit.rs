//! The audit: what was acknowledged against what is found, after everything has come to rest.

use std::rc::Rc;

use futures_util::future::{Either, select};
use highwater_core::analysis::key_ranges::{Comparison, EXAMPLES_MAX, compare};
use highwater_core::model::op::BoundWorkload;
use highwater_core::model::plan::{AuditLevel, AuditPlan, Share};
use highwater_core::model::record::{AuditExample, AuditRecord, Expectation};
use highwater_core::model::units::Nanos;
use highwater_driver::{Admin, Target, TargetError, TargetErrorKind, Timeline};

use crate::ground::Ground;
use crate::ledger::Ledger;

/// An admin that does not answer the simplest question within this time is replaced.
const ANSWER_LIMIT: Nanos = Nanos::from_secs(10);
/// Between two attempts to replace it.
const RENEW_PAUSE: Nanos = Nanos::from_millis(250);

/// What an audit needs to know.
pub(crate) struct AuditInput<'a> {
    pub(crate) plan: AuditPlan,
    pub(crate) share: &'a Share,
    pub(crate) bound: &'a BoundWorkload,
    /// By table.
    pub(crate) ledgers: &'a [Ledger],
    /// What was there before; in `bound` rows of earlier runs have no key.
    pub(crate) ground: &'a Ground,
}

/// Whether this run wrote anything that could be audited.
pub(crate) fn is_due(input: &AuditInput<'_>) -> bool {
    input.plan.level != AuditLevel::Off && input.ledgers.iter().any(has_rows)
}

fn has_rows(ledger: &Ledger) -> bool {
    let (rows, refused) = ledger.totals();
    rows.acknowledged + rows.unknown + refused > 0
}

/// Replaces an admin whose connection went in mid-run, with sessions of the load or with the
/// target, which may come back within `patience` or answer on another host.
pub(crate) async fn renew(
    admin: &mut Box<dyn Admin>,
    target: &dyn Target,
    timeline: &Rc<dyn Timeline>,
    patience: Nanos,
) -> Result<(), TargetError> {
    let begin = timeline.now();
    let limit = timeline.sleep_until(begin.saturating_add(ANSWER_LIMIT));
    if let Either::Left((Ok(_), _)) = select(admin.quiesce(Nanos::ZERO), limit).await {
        return Ok(());
    }
    let give_up = begin.saturating_add(patience);
    loop {
        let error = match target.administer(Rc::clone(timeline)).await {
            Ok(fresh) => {
                *admin = fresh;
                return Ok(());
            }
            Err(error) => error,
        };
        let next = timeline.now().saturating_add(RENEW_PAUSE);
        if error.kind != TargetErrorKind::Unreachable || next >= give_up {
            return Err(error);
        }
        timeline.sleep_until(next).await;
    }
}

/// What an audit came to.
pub(crate) struct Audited {
    pub(crate) record: AuditRecord,
    /// False if something may not have come to rest.
    pub(crate) quiet: bool,
    /// Rows in each table, those of earlier runs included; absent if they were not counted.
    pub(crate) rows: Option<Vec<u64>>,
}

impl Audited {
    /// Nothing was asked.
    pub(crate) fn unasked(record: AuditRecord) -> Self {
        Self {
            record,
            quiet: true,
            rows: None,
        }
    }
}

/// Waits for rest and compares, within the plan's limit.
pub(crate) async fn audit(
    input: &AuditInput<'_>,
    admin: &mut dyn Admin,
    timeline: &Rc<dyn Timeline>,
) -> Audited {
    let begin = timeline.now();
    let deadline = begin.saturating_add(input.plan.limit);
    let mut record = empty(input);
    let answer = {
        let asked = std::pin::pin!(ask(input, admin, deadline, &mut record));
        match select(asked, timeline.sleep_until(deadline)).await {
            Either::Left((answer, _)) => Some(answer),
            Either::Right(_) => None,
        }
    };
    match &answer {
        Some(Ok(_)) => {
            let status = if input.share.of > 1 {
                "partial"
            } else {
                "done"
            };
            status.clone_into(&mut record.status);
        }
        Some(Err(error)) => {
            "failed".clone_into(&mut record.status);
            record.error = Some(error.message.clone());
        }
        None => "timeout".clone_into(&mut record.status),
    }
    record.duration_ns = timeline.now().saturating_sub(begin).0;
    Audited {
        record,
        quiet: matches!(answer, Some(Ok((true, _)) | Err(_))),
        rows: match answer {
            Some(Ok((true, rows))) => Some(rows),
            _ => None,
        },
    }
}

async fn ask(
    input: &AuditInput<'_>,
    admin: &mut dyn Admin,
    deadline: Nanos,
    record: &mut AuditRecord,
) -> Result<(bool, Vec<u64>), TargetError> {
    let quiet = admin.quiesce(deadline).await?;
    let mut rows = Vec::new();
    let rows_before = input.ground.rows_before();
    for (position, (table, ledger)) in input.bound.tables.iter().zip(input.ledgers).enumerate() {
        let before = rows_before.get(position).copied().unwrap_or(0);
        let counts = admin.count_by_key(table, ledger.width()).await?;
        let expectation = Expectation {
            found: counts
                .buckets
                .iter()
                .map(|(range, rows)| [*range, *rows])
                .collect(),
            ..expectation(ledger)
        };
        let comparison = compare(&table.name, &expectation);
        add(record, &comparison);
        rows.push(comparison.found + counts.without_key);
        let last_before = input.ground.first_row.saturating_sub(1);
        add_others(
            record,
            &table.name,
            (last_before, before),
            counts.without_key,
        );
        if input.share.of > 1 {
            record.expectation = Some(expectation);
        }
    }
    let counter = admin.rows_inserted(input.bound).await?;
    record.server_counter =
        counter.map(|now| now.saturating_sub(input.ground.counter.unwrap_or(0)));
    Ok((quiet, rows))
}

/// Rows without a key of this run: those of earlier runs, and what nobody sent.
fn add_others(
    record: &mut AuditRecord,
    table: &str,
    (last_before, before): (u64, u64),
    found: u64,
) {
    let surplus = found.saturating_sub(before);
    let missing = before.saturating_sub(found);
    record.found += surplus;
    record.surplus += surplus;
    record.missing += missing;
    if missing > 0 {
        record.examples.push(AuditExample {
            table: table.to_owned(),
            first_key: 0,
            last_key: last_before,
            acknowledged: before,
            unknown: 0,
            found,
        });
    }
}

/// The record of a run that was not audited.
pub(crate) fn not_done(input: &AuditInput<'_>, status: &str, error: Option<String>) -> AuditRecord {
    AuditRecord {
        status: status.to_owned(),
        error,
        ..empty(input)
    }
}

/// Expectations alone.
fn empty(input: &AuditInput<'_>) -> AuditRecord {
    let mut acknowledged = 0;
    let mut unknown = 0;
    for ledger in input.ledgers {
        let (rows, _) = ledger.totals();
        acknowledged += rows.acknowledged;
        unknown += rows.unknown;
    }
    AuditRecord {
        level: input.plan.level,
        status: "off".to_owned(),
        acknowledged,
        unknown,
        found: 0,
        missing: 0,
        surplus: 0,
        duplicated: 0,
        altered: 0,
        ranges: 0,
        server_counter: None,
        examples: Vec::new(),
        duration_ns: 0,
        expectation: (input.share.of > 1)
            .then(|| input.ledgers.first().map(expectation))
            .flatten(),
        error: None,
    }
}

fn expectation(ledger: &Ledger) -> Expectation {
    Expectation {
        width: ledger.width(),
        ranges: ledger
            .ranges()
            .map(|(range, rows)| [range, rows.acknowledged, rows.unknown])
            .collect(),
        found: Vec::new(),
    }
}

fn add(record: &mut AuditRecord, comparison: &Comparison) {
    record.found += comparison.found;
    record.missing += comparison.missing;
    record.surplus += comparison.surplus;
    record.duplicated += comparison.duplicated;
    record.ranges += comparison.ranges;
    record.examples.extend_from_slice(&comparison.examples);
    record.examples.truncate(EXAMPLES_MAX);
}
