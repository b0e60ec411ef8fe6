//! Faults of one batch between driver and PostgreSQL, in every insert mode: the audit counts them to the row, and
//! raises no alarm if every row exists.

use std::sync::Arc;

use highwater_model::judgment::{Data, ReasonCode};
use highwater_model::plan::AuditLevel;
use highwater_model::record::{Fault, RunRecord};
use highwater_model::units::Nanos;
use highwater_testing::postgres::{Postgres, skipped};

use super::database::Database;
use super::plans::{BATCH, BATCHES, ROWS, job};
use super::tampered::{Faults, tampered};
use super::wire::{Planned, WireFault, WireProxy};
use crate::support::verdict::Verdict;
use crate::support::{closed, measured};

const MODES: [&str; 4] = ["copy", "values", "unnest", "prepared"];

/// The damaged batch: one in the middle.
const AT: u64 = 17;

/// The verdict on a run without faults.
fn clean() -> Verdict {
    Verdict {
        sent: ROWS,
        acknowledged: ROWS,
        refused: 0,
        unknown: 0,
        found: ROWS,
        missing: 0,
        surplus: 0,
        duplicated: 0,
        refused_found: 0,
        altered: 0,
        resolved_applied: 0,
        resolved_partly: 0,
        resolved_not_applied: 0,
        data: Data::Clean,
        reasons: Vec::new(),
    }
}

/// The expected verdict for a fault of one batch.
fn implied_by(fault: WireFault) -> Verdict {
    match fault {
        WireFault::Swallowed => Verdict {
            found: ROWS - BATCH,
            missing: BATCH,
            data: Data::Lost,
            reasons: vec![ReasonCode::RowsLost],
            ..clean()
        },
        // The next batch was in flight when the connection ended, and did not arrive.
        WireFault::AnsweredThenLost => Verdict {
            acknowledged: ROWS - BATCH,
            unknown: BATCH,
            found: ROWS - 2 * BATCH,
            missing: BATCH,
            resolved_not_applied: 1,
            data: Data::Lost,
            reasons: vec![ReasonCode::RowsLost],
            ..clean()
        },
        // Every row exists before the audit: an early response loses nothing.
        WireFault::AnsweredEarly => clean(),
        WireFault::AppliedLate => Verdict {
            acknowledged: ROWS - BATCH,
            unknown: BATCH,
            resolved_applied: 1,
            reasons: vec![ReasonCode::ResentUnknown],
            ..clean()
        },
        WireFault::Duplicated => Verdict {
            found: ROWS + BATCH,
            surplus: BATCH,
            duplicated: BATCH,
            data: Data::Duplicated,
            reasons: vec![ReasonCode::RowsSurplus],
            ..clean()
        },
        WireFault::ByteChanged => Verdict {
            altered: 1,
            data: Data::Altered,
            reasons: vec![ReasonCode::RowsAltered],
            ..clean()
        },
        WireFault::Cut => Verdict {
            acknowledged: ROWS - BATCH,
            unknown: BATCH,
            found: ROWS - BATCH,
            resolved_not_applied: 1,
            ..clean()
        },
        WireFault::CountForged => Verdict {
            acknowledged: ROWS - 1,
            refused: 1,
            surplus: 1,
            refused_found: 1,
            data: Data::Surplus,
            reasons: vec![ReasonCode::RefusedFound],
            ..clean()
        },
    }
}

/// Without the reason based on the server's counter, which is delayed and counts rolled-back rows.
fn said_by(record: &RunRecord, context: &str) -> Verdict {
    let mut said = Verdict::said_by(record, context);
    let rows = measured(record, "insert").rows;
    assert_eq!((said.acknowledged, said.unknown), (rows.acknowledged, rows.unknown));
    said.reasons.retain(|reason| *reason != ReasonCode::CounterDiffers);
    said
}

/// The rows that the record names, and their columns.
fn assert_named(record: &RunRecord, fault: WireFault, what: &str) {
    let first = AT * BATCH;
    let expected = match fault {
        WireFault::Swallowed | WireFault::AnsweredThenLost => Some((Fault::Missing, None)),
        WireFault::Duplicated => Some((Fault::Duplicated, None)),
        WireFault::ByteChanged => Some((Fault::Altered, Some("note"))),
        WireFault::CountForged => Some((Fault::Surplus, None)),
        WireFault::AnsweredEarly | WireFault::AppliedLate | WireFault::Cut => None,
    };
    let examples = &record.audit.examples;
    assert_eq!(examples.is_empty(), expected.is_none(), "{what}: {examples:?}");
    for example in examples {
        let named = Some((example.fault, example.column.as_deref()));
        assert_eq!(named, expected, "{what}: {examples:?}");
        let within = first..first + BATCH;
        assert!(
            within.contains(&example.first_key) && within.contains(&example.last_key),
            "{what}: {examples:?}"
        );
    }
}

/// Runs one batch after another through the proxy.
fn expect_verdict(server: &Arc<Postgres>, mode: &str, fault: WireFault) {
    let planned = Planned { fault, batch: AT, batches: BATCHES };
    let proxy = WireProxy::start(server.port(), planned);
    let target = Database::Postgres(Arc::clone(server)).open(Some(proxy.port), Some(mode));
    let faults = Faults { made: Some(proxy.beginner()), ..Faults::default() };
    let target = tampered(target, faults);
    let mut job = job(AuditLevel::Sums);
    // With one session, the batches arrive in row order.
    job.streams = vec![("insert", vec![closed(1)])];
    job.sessions = 1;
    if fault == WireFault::AppliedLate {
        job.timeout = Nanos::from_secs(1);
    }
    let root = tempfile::tempdir().unwrap();
    let record = job.run_on(target, root.path()).record;
    let what = format!("{fault:?} in mode {mode}");
    assert_eq!(record.target.settings["insert"], mode, "{what}");
    assert_eq!(proxy.arrived(), BATCHES, "{what}");
    let context = format!("{what}: {:#?}\n{:?}", record.audit, record.judgments.data);
    assert_eq!(said_by(&record, &context), implied_by(fault), "{context}");
    assert_named(&record, fault, &what);
    let there = server.sql("postgres", "SELECT count(*) FROM meters");
    assert_eq!(there, record.audit.found.to_string(), "{context}");
}

#[test]
fn every_fault_on_the_wire_of_a_copy_is_counted_to_the_row() {
    if skipped() {
        return;
    }
    let server = Arc::new(Postgres::start());
    for fault in WireFault::ALL {
        expect_verdict(&server, "copy", fault);
    }
}

/// Each mode has its own form of response, and its own end of a request.
#[test]
fn a_fault_on_the_wire_of_every_other_mode_is_counted_to_the_row() {
    if skipped() {
        return;
    }
    let server = Arc::new(Postgres::start());
    expect_verdict(&server, "values", WireFault::Swallowed);
    expect_verdict(&server, "unnest", WireFault::ByteChanged);
    expect_verdict(&server, "prepared", WireFault::CountForged);
}

#[test]
#[ignore = "32 runs against a server take about a minute"]
fn long_every_fault_on_the_wire_of_every_mode_is_counted_to_the_row() {
    if skipped() {
        return;
    }
    let server = Arc::new(Postgres::start());
    for mode in MODES {
        for fault in WireFault::ALL {
            expect_verdict(&server, mode, fault);
        }
    }
}
