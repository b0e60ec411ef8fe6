//! Merging the shares of a run gives the record of the unsplit run.

use proptest::prelude::*;

use highwater_model::judgment::{Data, Measurement, ReasonCode};
use highwater_model::plan::{Pace, PhaseKind, Unit};
use highwater_model::quantity::{parse_instant, print_instant};
use highwater_model::record::{
    AuditRecord, AuditStatus, Change, Expectation, ExpectedBucket, FoundBucket, Incident,
    IncidentKind, InterventionRecord, MeetingRecord, PhaseRecord, Windows,
};
use highwater_model::units::Nanos;

use super::*;
use crate::fixture::{self, MS, OpSpec, S, incident};

const WINDOWS: usize = 100;

/// An op of a share, with its part of all counts.
fn share_op(latencies: Vec<(u64, u64)>, dropped: u64, failed: u64) -> OpSpec {
    let mut op = fixture::gate_op();
    op.latencies = latencies;
    op.dropped = dropped;
    op.errors = vec![("timeout", failed)];
    op
}

/// The record of a share, or of the whole run if `of` is 1; all derived figures are computed.
fn share_record(op: &OpSpec, index: u32, of: u32, windows: &[Vec<u64>; 3]) -> RunRecord {
    let mut record = fixture::open_gate_of(op);
    record.plan.definition.share = Share { index, of, start_at: None };
    let [acknowledged, ended, over] = windows.clone();
    record.results[0].windows.acknowledged = acknowledged;
    record.results[0].windows.ended = ended;
    record.results[0].windows.over = vec![over];
    record.streams[0].planned_rate = Some(1_000.0 / f64::from(of));
    record.streams[0].sessions = 16;
    // Also if a share's part is empty.
    record.streams[0].unit = Unit::Rows;
    for interval in &mut record.intervals {
        (interval.p50_ns, interval.p99_ns) = (None, None);
    }
    audited(&mut record, of);
    record
}

fn audited(record: &mut RunRecord, of: u32) {
    let written = record.audit.acknowledged;
    let bucket = |bucket, acknowledged| ExpectedBucket {
        bucket,
        acknowledged,
        unknown: 0,
        sums: vec![acknowledged * 3],
    };
    record.audit.expectations = vec![Expectation {
        table: "cpu".to_owned(),
        width: 128,
        columns: vec!["ts".to_owned()],
        expected: vec![bucket(0, written / 2), bucket(1, written - written / 2)],
        found: Vec::new(),
    }];
    record.audit.buckets = 2;
    record.audit.narrowed = false;
    record.audit.columns = vec!["cpu.ts".to_owned()];
    record.audit.read_back = 0;
    record.audit.estimate_ns = 0;
    if of > 1 {
        record.audit.status = AuditStatus::Partial;
    }
    record.phases.push(PhaseRecord {
        name: "audit".to_owned(),
        kind: PhaseKind::Audit,
        step: None,
        start_ns: 12 * S,
        duration_ns: S,
        steady: None,
    });
}

/// Every audit finds the rows of all shares.
fn find(records: &mut [RunRecord]) {
    let mut found = [0, 1].map(|bucket| FoundBucket { bucket, rows: 0, sums: vec![0] });
    for record in records.iter() {
        for expected in &record.audit.expectations[0].expected {
            let found = &mut found[usize::try_from(expected.bucket).unwrap()];
            found.rows += expected.acknowledged;
            found.sums[0] += expected.sums[0];
        }
    }
    for record in records {
        record.audit.expectations[0].found = found.to_vec();
    }
}

/// `total` in parts of the given weights; the last takes the rest.
fn split(total: u64, weights: &[u64]) -> Vec<u64> {
    let all: u64 = weights.iter().sum::<u64>().max(1);
    let mut left = total;
    let mut parts: Vec<u64> = weights
        .iter()
        .map(|weight| {
            let part = (total * weight / all).min(left);
            left -= part;
            part
        })
        .collect();
    *parts.last_mut().unwrap() += left;
    parts
}

fn dealt_windows(op: &OpSpec, shift: usize) -> [Vec<u64>; 3] {
    let acknowledged: u64 = op.latencies.iter().map(|(_, n)| n).sum();
    let over: u64 =
        op.latencies.iter().filter(|(ns, _)| *ns > 10 * MS).map(|(_, n)| n).sum::<u64>()
            + op.dropped;
    [acknowledged, acknowledged + op.dropped, over].map(|total| {
        let mut windows = fixture::dealt(total, u64::try_from(WINDOWS).unwrap());
        windows.rotate_left(shift % WINDOWS);
        windows
    })
}

/// Shares with these weights, and the whole run.
fn shares_and_whole(weights: &[u64]) -> (Vec<RunRecord>, RunRecord) {
    let of = u32::try_from(weights.len()).unwrap();
    let latencies = [(4 * MS, 9_000), (7 * MS, 900), (30 * MS, 60)];
    let parts: Vec<Vec<u64>> = latencies.iter().map(|(_, n)| split(*n, weights)).collect();
    let (dropped, failed) = (split(30, weights), split(10, weights));
    let mut shares = Vec::new();
    let mut windows: [Vec<u64>; 3] = std::array::from_fn(|_| vec![0; WINDOWS]);
    for i in 0..weights.len() {
        let own = latencies.iter().zip(&parts).map(|((ns, _), part)| (*ns, part[i]));
        let op = share_op(own.collect(), dropped[i], failed[i]);
        let own_windows = dealt_windows(&op, 7 * i);
        for (sum, own) in windows.iter_mut().zip(&own_windows) {
            timeline::add_each(sum, own);
        }
        let index = u32::try_from(i).unwrap() + 1;
        shares.push(share_record(&op, index, of, &own_windows));
    }
    find(&mut shares);
    let op = share_op(latencies.to_vec(), 30, 10);
    let mut whole = share_record(&op, 1, 1, &windows);
    whole.streams[0].sessions = 16 * of;
    find(std::slice::from_mut(&mut whole));
    // The seconds below are counted per share, in rounded parts.
    let mut per_s = Vec::new();
    for share in &shares {
        timeline::add_each(&mut per_s, &share.availability.acknowledged_per_s);
    }
    whole.availability.acknowledged_per_s = per_s;
    (shares, merge(&[whole]).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn shares_in_any_split_and_order_merge_to_the_whole(
        weights in prop::collection::vec(0_u64..100, 2..8),
        turn in 0_usize..8,
    ) {
        let (mut shares, whole) = shares_and_whole(&weights);
        let turn = turn % shares.len();
        shares.rotate_left(turn);
        let merged = merge(&shares).unwrap();
        prop_assert_eq!(&merged.results, &whole.results);
        prop_assert_eq!(&merged.streams, &whole.streams);
        prop_assert_eq!(&merged.phases, &whole.phases);
        prop_assert_eq!(&merged.availability, &whole.availability);
        prop_assert_eq!(&merged.plan, &whole.plan);
        prop_assert_eq!(&merged.judgments, &whole.judgments);
        prop_assert_eq!(merged.audit.found, whole.audit.found);
        prop_assert_eq!(merged.audit.acknowledged, whole.audit.acknowledged);
        prop_assert_eq!(merged.clients.len(), shares.len());
    }
}

fn three() -> Vec<RunRecord> {
    shares_and_whole(&[1, 1, 1]).0
}

#[test]
fn one_share_proves_nothing_and_all_of_them_prove_that_nothing_was_lost() {
    let shares = three();
    assert_eq!(judge(&shares[0]).data.value, Data::Unverified);
    let merged = merge(&shares).unwrap();
    assert_eq!(merged.audit.status, AuditStatus::Done);
    assert_eq!(merged.judgments.data.value, Data::Clean);
    assert_eq!(merged.judgments.measurement.value, Measurement::Valid);
}

/// Changes the rows that every audit found in one range.
fn found_differently(shares: &mut [RunRecord], by: i64) {
    for share in shares {
        let found = &mut share.audit.expectations[0].found[1].rows;
        *found = found.checked_add_signed(by).unwrap();
    }
}

#[test]
fn a_row_missing_from_the_sum_is_lost_and_one_too_many_is_a_duplicate() {
    let mut shares = three();
    found_differently(&mut shares, -1);
    let lost = merge(&shares).unwrap();
    assert_eq!(lost.judgments.data.value, Data::Lost);
    assert_eq!(lost.audit.missing, 1);
    let example = &lost.audit.examples[0];
    assert_eq!((example.first_key, example.last_key), (128, 255));
    found_differently(&mut shares, 2);
    let duplicated = merge(&shares).unwrap();
    assert_eq!(duplicated.judgments.data.value, Data::Duplicated);
    assert_eq!(duplicated.audit.duplicated, 1);
}

#[test]
fn checksums_of_shares_add_up_and_another_value_is_altered() {
    let mut shares = three();
    for share in &mut shares {
        share.audit.expectations[0].found[0].sums[0] += 1;
    }
    let merged = merge(&shares).unwrap();
    assert_eq!(merged.judgments.data.value, Data::Altered);
    assert_eq!(merged.audit.altered, 1);
    assert_eq!(merged.audit.examples[0].column.as_deref(), Some("ts"));
}

/// The other shares that met read no rows: only the first one waited until all had ended.
#[test]
fn of_shares_that_met_the_first_one_s_audit_counts() {
    let mut shares = three();
    for share in &mut shares {
        share.meeting = Some(MeetingRecord { id: "a".to_owned(), ..MeetingRecord::default() });
    }
    for share in &mut shares[1..] {
        let expectation = &mut share.audit.expectations[0];
        expectation.found.clear();
        // The first one's target has a checksum for one of these columns.
        expectation.columns.insert(0, "text".to_owned());
        for bucket in &mut expectation.expected {
            bucket.sums.insert(0, 7);
        }
        share.phases.last_mut().unwrap().start_ns += S;
    }
    let merged = merge(&shares).unwrap();
    assert_eq!(merged.judgments.data.value, Data::Clean, "{:?}", merged.audit);
    shares[0].audit.expectations[0].found[0].rows -= 1;
    assert_eq!(merge(&shares).unwrap().audit.missing, 1);
    // Without it, nothing is lost, and nothing is verified.
    shares[0].audit.expectations.clear();
    shares[0].audit.acknowledged = 0;
    shares[0].audit.unknown = 0;
    let merged = merge(&shares).unwrap();
    assert_eq!(merged.judgments.data.value, Data::Unverified, "{:?}", merged.audit);
    assert_eq!(merged.audit.missing, 0);
}

#[test]
fn only_the_last_audit_counts_and_only_after_all_shares_had_ended() {
    let mut shares = three();
    let found = |share: &mut RunRecord, rows| {
        share.audit.expectations[0].found[1].rows = rows;
    };
    // An early audit, before the other shares had written everything.
    found(&mut shares[0], 5);
    for share in &mut shares[1..] {
        share.phases.last_mut().unwrap().start_ns = 13 * S;
    }
    assert_eq!(merge(&shares).unwrap().judgments.data.value, Data::Clean);
    // The last audit misses rows while another share was still writing.
    for share in &mut shares[1..] {
        found(share, 5);
    }
    let measured = shares[1].phases.iter_mut().find(|p| p.name == "measure");
    measured.unwrap().duration_ns = 11 * S + 500 * MS;
    let merged = merge(&shares).unwrap();
    assert_eq!(merged.judgments.data.value, Data::Unverified);
    assert!(merged.audit.error.unwrap().contains("share 2"));
}

#[test]
fn an_audit_that_failed_on_one_share_verifies_nothing() {
    let mut shares = three();
    shares[2].audit = AuditRecord {
        status: AuditStatus::Timeout,
        error: Some("60 s".to_owned()),
        expectations: Vec::new(),
        ..shares[2].audit.clone()
    };
    let merged = merge(&shares).unwrap();
    assert_eq!(merged.judgments.data.value, Data::Unverified);
    assert_eq!(merged.audit.error.unwrap(), "share 3: timeout: 60 s");
}

/// It has counted nothing yet, but the last second before that is in no journal.
#[test]
fn a_killed_share_that_counted_nothing_may_have_written_rows() {
    let mut shares = three();
    shares[2].audit = AuditRecord::default();
    shares[2].incidents.push(Incident::new(IncidentKind::Killed, "share 3/3"));
    for share in &mut shares[..2] {
        share.audit.expectations[0].found[0].rows += 100;
    }
    let merged = merge(&shares).unwrap();
    assert_eq!(merged.judgments.data.value, Data::Unverified, "{:?}", merged.audit);
    assert!(merged.audit.error.unwrap().starts_with("share 3 was killed"));
}

#[test]
fn answers_of_shares_add_up() {
    let mut shares = three();
    for (share, rows) in shares.iter_mut().zip([5, 7, 11]) {
        share.results[0].response_rows = rows;
        share.results[0].response_bytes = 100 * rows;
    }
    let merged = merge(&shares).unwrap();
    let result = &merged.results[0];
    assert_eq!((result.response_rows, result.response_bytes), (23, 2_300));
}

#[test]
fn checks_that_no_share_could_run_are_not_clean_after_a_merge() {
    let mut shares = three();
    for share in &mut shares {
        // Their statements wrote rows that no ledger counts.
        share.audit = AuditRecord {
            status: AuditStatus::OneShare,
            error: Some("invariants".to_owned()),
            acknowledged: 0,
            expectations: Vec::new(),
            ..share.audit.clone()
        };
    }
    let judged = merge(&shares).unwrap().judgments.data;
    assert_eq!(judged.value, Data::Unverified);
    assert_eq!(judged.reasons[0].code, ReasonCode::OneShare);
    assert_eq!(judged.reasons[0].evidence, "share 1: invariants");
}

#[test]
fn a_gap_of_one_share_is_none_of_the_target() {
    let mut shares = three();
    let gaps: [&[[u64; 2]]; 3] = [
        &[[S, 900 * MS], [4 * S, 50 * MS]],
        &[[S + 800 * MS, 300 * MS], [4 * S, 50 * MS]],
        &[[4 * S + 10 * MS, 100 * MS], [0, S], [S + 850 * MS, 10 * MS]],
    ];
    for (share, gaps) in shares.iter_mut().zip(gaps) {
        share.availability.gaps = gaps.to_vec();
    }
    let merged = merge(&shares).unwrap().availability;
    let expected = [[4 * S + 10 * MS, 40 * MS], [S + 850 * MS, 10 * MS]];
    assert_eq!(merged.gaps, expected);
    assert_eq!(merged.longest_gap_ns, 40 * MS);
    assert_eq!(merged.longest_gap_start_ns, 4 * S + 10 * MS);
}

/// A share of ten ops per second: none was acknowledged from the fifth second until window `back`, when all waiting
/// ops were.
fn away_until(share: &mut RunRecord, back: usize) {
    let waited = u64::try_from(back - 40).unwrap();
    let result = &mut share.results[0];
    result.windows.offered = vec![1; WINDOWS];
    result.windows.failed = vec![0; WINDOWS];
    result.windows.acknowledged = vec![1; WINDOWS];
    result.windows.acknowledged[40..back].fill(0);
    result.windows.acknowledged[back] += waited;
    let mut phases = share.phases.iter();
    let start = phases.find(|p| p.name == result.phase).unwrap().start_ns;
    share.availability.gaps = vec![[start + 4 * S, waited * 100 * MS]];
}

#[test]
fn shares_recover_together_when_the_last_of_them_keeps_up() {
    let mut shares = three();
    for (share, back) in shares.iter_mut().zip([55, 58, 55]) {
        away_until(share, back);
    }
    let seen = merge(&shares).unwrap().availability;
    assert_eq!(seen.longest_gap_ns, 1_500 * MS);
    // A third of the rate is missing for 300 ms more: that is within the allowed backlog, but 18 ops wait that long.
    let recovery = seen.recovery.unwrap();
    assert_eq!(recovery.start_ns, seen.longest_gap_start_ns);
    assert_eq!(recovery.rate_again_ns, Some(1_500 * MS));
    assert_eq!(recovery.recovered_ns, Some(1_900 * MS));
    // Without the counts of one share there is no sum.
    shares[1].results[0].windows.offered.clear();
    assert_eq!(merge(&shares).unwrap().availability.recovery, None);
}

/// Shares that began at these times after the first.
fn begun(after_ms: [u64; 3]) -> Vec<RunRecord> {
    let mut shares = three();
    let first = parse_instant(&shares[0].header.started_at).unwrap();
    for (share, after) in shares.iter_mut().zip(after_ms) {
        share.header.started_at = print_instant(Nanos(first.0 + after * MS));
    }
    shares
}

#[test]
fn shares_that_did_not_run_together_are_not_added() {
    // Ten seconds each.
    let error = merge(&begun([0, 10_000, 0])).unwrap_err();
    assert!(matches!(error, MergeError::Apart { .. }), "{error}");
    assert!(error.to_string().contains("began 0 ns after"), "{error}");
    let reason = error.reason();
    assert_eq!(reason.code, ReasonCode::SharesDiffer);
    assert!(reason.hint.unwrap().contains("--start-at"));
    assert!(merge(&begun([86_400_000, 0, 0])).is_err());
    // A share without a start time.
    let mut shares = three();
    shares[1].header.started_at = String::new();
    let error = merge(&shares).unwrap_err();
    assert!(matches!(error, MergeError::NoBegin { .. }), "{error}");
}

#[test]
fn shares_that_met_run_together_whatever_their_own_clocks_show() {
    let meeting =
        |id: &str, late_ns| Some(MeetingRecord { id: id.to_owned(), late_ns, error_ns: 1 });
    // The machine's clock of one is an hour off.
    let mut shares = begun([0, 3_600_000, 0]);
    assert!(merge(&shares).is_err());
    for share in &mut shares {
        share.meeting = meeting("a", 0);
    }
    let merged = merge(&shares).unwrap();
    assert_eq!(merged.results, merge(&three()).unwrap().results);
    assert_eq!(merged.meeting, meeting("a", 0));
    shares[1].meeting = meeting("a", 3 * S);
    let late = merge(&shares).unwrap();
    assert_eq!(late.judgments.measurement.codes().first(), Some(&ReasonCode::SharesApart));
    assert_eq!(late.meeting, meeting("a", 3 * S));
    // Shares of two runs of the plan, at the same time by their clocks.
    for other in [meeting("b", 0), None] {
        let mut shares = three();
        for share in &mut shares {
            share.meeting = meeting("a", 0);
        }
        shares[2].meeting = other;
        let error = merge(&shares).unwrap_err();
        assert!(matches!(error, MergeError::MeetingsDiffer { .. }), "{error}");
    }
}

#[test]
fn a_share_that_began_late_makes_the_measurement_invalid_and_is_named() {
    let merged = merge(&begun([0, 3_000, 0])).unwrap();
    let judged = &merged.judgments.measurement;
    assert_eq!(judged.value, Measurement::Invalid);
    assert_eq!(judged.reasons[0].code, ReasonCode::SharesApart);
    let said = &judged.reasons[0].evidence;
    assert!(said.contains("share 2/3: began 3.00 s after the first share"), "{said}");
    // Acknowledgments of thirteen seconds, per second.
    let measured = merged.phases.iter().find(|p| p.name == "measure").unwrap();
    assert_eq!(measured.duration_ns, 13 * S);
    let whole = merge(&three()).unwrap();
    let [late, punctual] = [&merged, &whole].map(|of| &of.results[0]);
    assert_eq!(late.acknowledged, punctual.acknowledged);
    assert_eq!(late.windows.acknowledged.len(), 130);
    let per_s = punctual.throughput.ops_per_s * 10.0 / 13.0;
    assert!((late.throughput.ops_per_s - per_s).abs() < 1e-6);
    // A hundredth of the phase is the allowed shortfall of an offered rate.
    let merged = merge(&begun([0, 100, 0])).unwrap();
    let codes = merged.judgments.measurement.codes();
    assert!(!codes.contains(&ReasonCode::SharesApart), "{codes:?}");
    let merged = merge(&begun([0, 200, 0])).unwrap();
    let codes = merged.judgments.measurement.codes();
    assert_eq!(codes.first(), Some(&ReasonCode::SharesApart));
}

#[test]
fn the_throughput_of_a_share_that_was_killed_comes_from_its_journal() {
    let whole = merge(&three()).unwrap();
    let mut shares = three();
    // A journal has whole seconds and no windows.
    shares[1].results[0].windows = Windows::default();
    let merged = merge(&shares).unwrap();
    let [found, expected] = [&merged, &whole].map(|of| of.streams[0].throughput.ops_per_s);
    assert!((found / expected - 1.0).abs() < 1e-9, "{found} of {expected}");
    assert_eq!(merged.streams[0].throughput.ci95, None, "of what is known of all");
}

#[test]
fn an_interrupted_share_interrupts_the_whole_and_is_named() {
    let mut shares = three();
    incident(&mut shares[1], IncidentKind::Interrupted, "after 6 s");
    let merged = merge(&shares).unwrap();
    assert_eq!(merged.judgments.measurement.value, Measurement::Invalid);
    assert_eq!(merged.incidents[0].message, "share 2/3: after 6 s");
}

#[test]
fn anything_but_all_shares_of_one_plan_is_rejected_with_a_reason() {
    let message = |records: &[RunRecord]| merge(records).unwrap_err().to_string();
    let shares = three();
    assert_eq!(message(&[]), "no record was given");
    assert_eq!(message(&shares[..2]), "of 3 shares these are missing: 3");
    let twice = [shares[0].clone(), shares[0].clone()];
    assert_eq!(message(&twice), "share 1 of 3 was given twice");
    let other = |change: fn(&mut RunRecord), part: &str| {
        let mut other = three();
        change(&mut other[1]);
        assert!(message(&other).contains(part), "{part}");
    };
    other(|of| of.plan.hash = "0000".to_owned(), "different plans");
    other(|of| of.target.version = "9".to_owned(), "different targets");
    other(|of| of.plan.definition.share.of = 4, "is one of 4 shares");
    let unreadable = "a distribution of op insert cannot be read";
    other(|of| of.results[0].histograms.latency = "rubbish".to_owned(), unreadable);
    let reason = merge(&shares[..2]).unwrap_err().reason();
    assert_eq!(reason.code, ReasonCode::SharesDiffer);
}

/// A different load in one share means a different plan, whatever its hash is; a note does not.
#[test]
fn shares_whose_paces_were_changed_differently_do_not_merge() {
    let windows = [vec![0; WINDOWS], vec![0; WINDOWS], vec![0; WINDOWS]];
    let op = share_op(vec![(MS, 10)], 0, 0);
    let mut shares = [1, 2].map(|index| share_record(&op, index, 2, &windows));
    let change = |time_ns, sessions| InterventionRecord {
        by: None,
        time_ns,
        phase: "measure-2".to_owned(),
        change: Change::Pace {
            stream: "insert".to_owned(),
            unit: Unit::Rows,
            from: Pace::Closed { sessions: 2 },
            to: Pace::Closed { sessions },
            ramp_per_s: None,
        },
    };
    let note = InterventionRecord {
        by: None,
        time_ns: S,
        phase: "measure".to_owned(),
        change: Change::Note { text: "on one alone".to_owned() },
    };
    shares[0].interventions = vec![change(S, 4)];
    let error = merge(&shares).unwrap_err();
    assert!(matches!(error, MergeError::ChangesDiffer { .. }), "{error}");
    shares[1].interventions = vec![change(S, 5)];
    assert!(merge(&shares).is_err());
    // At slightly different times.
    shares[1].interventions = vec![note.clone(), change(S + MS, 4)];
    let merged = merge(&shares).unwrap();
    assert_eq!(merged.interventions, [change(S, 4), note]);
}
