//! Fault plans: planted faults, and the audit's expected findings.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use highwater_model::judgment::Data;
use highwater_model::plan::{AuditLevel, StopRule};
use highwater_model::record::{AuditRecord, AuditStatus, Fault, RunRecord};
use highwater_model::units::Seed;
use highwater_workload::random::Draws;

use super::database::Database;
use super::planted::Planted;
use super::proxy::{Cut, Proxy};
use super::tampered::{Faults, tampered};
use crate::support::{Job, closed};

pub(crate) const BATCH: u64 = 20;
pub(crate) const BATCHES: u64 = 40;
pub(crate) const ROWS: u64 = BATCH * BATCHES;

/// A plan.
#[derive(Debug, Clone, Default)]
pub(crate) struct FaultPlan {
    pub(crate) planted: Vec<Planted>,
    pub(crate) lost_answers: BTreeSet<u64>,
    pub(crate) applied_late: BTreeSet<u64>,
    /// Connections that a proxy cuts in the middle of a batch, and after how many bytes.
    pub(crate) cuts: Option<(u32, usize)>,
    /// The same for connections whose next response is lost; not together with cuts.
    pub(crate) lost_on_wire: Option<(u32, usize)>,
    /// Triggers plant the faults during the load, instead of SQL between load and audit.
    pub(crate) by_trigger: bool,
    /// Additional SQL between load and audit.
    pub(crate) besides: &'static str,
}

impl FaultPlan {
    /// Plan number `number`: every tenth has no fault, every tenth only lost responses and cut connections, and a third
    /// of the others use triggers; as far as the database supports it.
    pub(crate) fn drawn(number: u64, database: &Database) -> Self {
        let draws = Draws::new(Seed(number), &["fault plan"]);
        let mut next = 0;
        let mut draw = |below: u64| {
            next += 1;
            draws.below(next, below)
        };
        let mut plan = Self::default();
        if number.is_multiple_of(10) {
            return plan;
        }
        plan.by_trigger = number % 3 == 1 && database.has_triggers();
        for _ in 0..draw(3) {
            plan.lost_answers.insert(draw(BATCHES));
        }
        for _ in 0..draw(3) {
            plan.applied_late.insert(draw(BATCHES));
        }
        plan.lost_answers = &plan.lost_answers - &plan.applied_late;
        // The row of a cut is not predictable, and a trigger must not be on such a row.
        if database.has_sessions() && !plan.by_trigger && draw(2) == 0 {
            let count = u32::try_from(1 + draw(3)).unwrap();
            plan.cuts = Some((count, 1_500 + usize::try_from(draw(20_000)).unwrap()));
        }
        if number % 10 == 5 {
            return plan;
        }
        let mut taken = BTreeSet::new();
        for _ in 0..=draw(4) {
            let mut row = |batch: Option<u64>| loop {
                let row = match batch {
                    Some(batch) => batch * BATCH + draw(BATCH),
                    None => draw(ROWS),
                };
                if taken.insert(row) {
                    return row;
                }
            };
            let one = row(None);
            // Rows of different batches arrive in any order.
            let other = row(plan.by_trigger.then_some(one / BATCH));
            plan.planted.push(match draw(6) {
                0 => Planted::Dropped(one),
                1 => Planted::Duplicated(one),
                2 => Planted::Swapped(one, other),
                3 => Planted::Offset(one, other),
                4 => Planted::Strange(one),
                _ => Planted::Edited(one),
            });
        }
        if plan.by_trigger {
            let unknown = &plan.lost_answers | &plan.applied_late;
            plan.planted.retain(|planted| !unknown.contains(&(planted.last_row() / BATCH)));
        }
        plan
    }
}

/// Runs a plan; returns the record, and the faults planted in rows of known outcome.
pub(crate) fn carry_out(
    plan: &FaultPlan,
    database: &Database,
    level: AuditLevel,
    root: &Path,
) -> (RunRecord, Vec<Planted>) {
    let cuts = plan.cuts.map(|cuts| (Cut::Request, cuts));
    let cuts = cuts.or(plan.lost_on_wire.map(|cuts| (Cut::Answer, cuts)));
    let proxy = database
        .port()
        .zip(cuts)
        .map(|(port, (cut, (cuts, after)))| Proxy::start(port, cut, cuts, after));
    let inner = database.open(proxy.as_ref().map(|proxy| proxy.port), None);
    let mut faults = Faults {
        lost_answers: plan.lost_answers.clone(),
        applied_late: plan.applied_late.clone(),
        ..Faults::default()
    };
    let done = Arc::new(Mutex::new(plan.planted.clone()));
    let (expected, noted) = (plan.planted.clone(), Arc::clone(&done));
    let (changed, besides) = (database.clone(), plan.besides);
    if plan.by_trigger {
        let triggers: String = plan.planted.iter().map(|p| database.trigger(*p)).collect();
        faults.made = Some(Box::new(move || changed.execute(&triggers)));
    } else {
        faults.tamper = Some(Box::new(move |unknown: &BTreeSet<u64>| {
            // A changed row of unknown outcome is not a loss: it may never have existed.
            let known = |planted: &Planted| {
                let rows = planted.rows();
                rows.iter().all(|row| !unknown.contains(&(row / BATCH)))
            };
            let planted: Vec<Planted> = expected.into_iter().filter(known).collect();
            changed.plant(&planted);
            changed.execute(besides);
            *noted.lock().unwrap() = planted;
        }));
    }
    let record = job(level).run_on(tampered(inner, faults), root).record;
    let planted = done.lock().unwrap().clone();
    (record, planted)
}

/// A job on separate tables.
pub(crate) fn job(level: AuditLevel) -> Job {
    let mut job = Job::new("", &[("insert", closed(4))]);
    job.text = Some(include_str!("meters.toml"));
    job.settings = vec![("batch", BATCH.to_string())];
    job.sessions = 4;
    job.audit = level;
    job.drop_tables = true;
    job.stop = StopRule { rows: Some(ROWS), ..StopRule::default() };
    job
}

/// Every planted fault is found and named, and nothing else.
pub(crate) fn assert_found(record: &RunRecord, planted: &[Planted], what: &str) {
    let audit = &record.audit;
    let count = |fault: Fault| -> u64 {
        planted
            .iter()
            .filter(|planted| planted.fault().0 == fault)
            .map(|planted| planted.count())
            .sum()
    };
    let context = format!("{what}: {planted:?}\n{audit:#?}\n{:?}", record.judgments.data);
    assert_eq!(audit.status, AuditStatus::Done, "{context}");
    assert!(audit.narrowed, "{context}");
    assert_eq!(audit.missing, count(Fault::Missing), "{context}");
    assert_eq!(audit.duplicated, count(Fault::Duplicated), "{context}");
    let strange = count(Fault::Surplus);
    assert_eq!(audit.surplus, audit.duplicated + strange, "{context}");
    assert_eq!(audit.foreign, strange, "{context}");
    assert_eq!(audit.altered, count(Fault::Altered), "{context}");
    for planted in planted {
        let (fault, column) = planted.fault();
        for row in planted.rows() {
            assert!(names(audit, fault, row, column), "{row}: {context}");
        }
    }
    let expected = match (audit.missing, audit.altered, audit.surplus) {
        (0, 0, 0) => Data::Clean,
        // Rows of another writer are not a fault of the target.
        (0, 0, _) if audit.duplicated == 0 => Data::Unverified,
        (0, 0, _) => Data::Duplicated,
        (0, ..) => Data::Altered,
        _ => Data::Lost,
    };
    assert_eq!(record.judgments.data.value, expected, "{context}");
}

fn names(audit: &AuditRecord, fault: Fault, row: u64, column: Option<&str>) -> bool {
    audit.examples.iter().any(|example| {
        let same = (example.fault, example.first_key, example.last_key) == (fault, row, row);
        same && example.column.as_deref() == column
    })
}
