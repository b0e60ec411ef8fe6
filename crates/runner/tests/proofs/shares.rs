//! A plan split over several load generators sends the same ops as a single one, and their merged records equal one
//! record.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use highwater_analysis as analysis;
use highwater_driver::Target;
use highwater_driver::clock::SimulatedTimeline;
use highwater_model::judgment::ReasonCode;
use highwater_model::plan::{Arrivals, PhaseKind};
use highwater_model::record::{AuditStatus, ResultRecord, RunRecord};
use highwater_model::units::Nanos;
use proptest::prelude::*;

use crate::support::{Job, closed, measured, one_node, open};

/// The effect of a plan: its record, and how often the target has each batch.
struct Done {
    record: RunRecord,
    stored: BTreeMap<u64, u64>,
}

/// All shares one after the other against one target without queueing: so the shares do not affect each other, and the
/// last audit sees the rows of all; all times of a record count from its first phase.
fn split(job: &Job, of: u32) -> Done {
    let root = tempfile::tempdir().unwrap();
    let target = job.open_target(root.path());
    let mut records: Vec<RunRecord> = (1..=of)
        .map(|index| job.share_of(index, of))
        .map(|part| part.run_on(Arc::clone(&target), root.path()).record)
        .collect();
    begin_together(&mut records);
    let stored = stored(job, &target);
    let record = analysis::merge(&records).unwrap();
    Done { record, stored }
}

/// As if all had begun together and been audited in turn: runs that were not concurrent are not merged, and the last
/// audit sees the rows of all.
pub(crate) fn begin_together(shares: &mut [RunRecord]) {
    let first = shares[0].header.started_at.clone();
    for (turn, share) in (0..).zip(shares) {
        share.header.started_at.clone_from(&first);
        let phases = share.phases.iter_mut();
        for audit in phases.filter(|phase| phase.kind == PhaseKind::Audit) {
            audit.start_ns += turn * Nanos::from_secs(600).0;
        }
    }
}

/// Rows per batch of ten, as counted by the target.
fn stored(job: &Job, target: &Arc<dyn Target>) -> BTreeMap<u64, u64> {
    let timeline = SimulatedTimeline::new();
    let shared: Rc<dyn highwater_driver::Timeline> = Rc::new(timeline.clone());
    let target = Arc::clone(target);
    let workload = job.workload();
    let counts = timeline.block_on(async move {
        let mut admin = target.administer(shared).await.unwrap();
        let facts = admin.facts().await.unwrap();
        let bound = workload.bind(&facts.dialects, target.placeholders()).unwrap();
        admin.count_by_key(&bound.tables[0], 10).await.unwrap()
    });
    counts.unwrap().buckets.into_iter().collect()
}

/// By phase, stream, and op: a share may lack an op that comes first in another.
fn by_name(record: &RunRecord) -> BTreeMap<[&str; 3], &ResultRecord> {
    record
        .results
        .iter()
        .map(|r| ([r.phase.as_str(), r.stream.as_str(), r.op.as_str()], r))
        .collect()
}

/// Counts by second, phase and op.
fn seconds(record: &RunRecord) -> BTreeMap<(u64, &str, &str), [u64; 4]> {
    record
        .intervals
        .iter()
        .map(|i| {
            let counts = [i.offered, i.sent, i.acknowledged, i.rows_acknowledged];
            ((i.second, i.phase.as_str(), i.op.as_str()), counts)
        })
        .collect()
}

fn same(whole: &Done, parts: &Done, of: u32) {
    assert_eq!(parts.stored, whole.stored, "{of} shares: rows");
    let (parts, whole) = (&parts.record, &whole.record);
    assert_eq!(parts.plan, whole.plan, "{of} shares");
    let (found, expected) = (by_name(parts), by_name(whole));
    assert!(found.keys().eq(expected.keys()), "{of} shares: ops");
    for (name, expected) in expected {
        assert_eq!(found[&name], expected, "{of} shares");
    }
    assert_eq!(parts.streams, whole.streams, "{of} shares");
    assert_eq!(seconds(parts), seconds(whole), "{of} shares");
    assert_eq!(
        parts.availability.acknowledged_per_s, whole.availability.acknowledged_per_s,
        "{of} shares"
    );
    let audit = |record: &RunRecord| {
        let audit = &record.audit;
        assert_eq!(audit.status, AuditStatus::Done, "{of} shares");
        [audit.acknowledged, audit.found, audit.missing, audit.surplus, audit.unknown]
    };
    assert_eq!(audit(parts), audit(whole), "{of} shares");
    assert_eq!(parts.judgments, whole.judgments, "{of} shares");
}

/// Constant service: an op's latency does not depend on the share that sends it.
fn open_load(rows_per_s: u64, queries_per_s: u64, arrivals: Arrivals, seed: u64) -> Job {
    let target = one_node("cores=inf&service=constant&request=5ms&query=20ms");
    let streams = [("insert", open(rows_per_s)), ("dashboards", open(queries_per_s))];
    let mut job = Job::new(&target, &streams);
    job.arrivals = Some(arrivals);
    // Each of 64 shares has 16 for every stream.
    job.sessions = 1_024;
    job.step = Nanos::from_secs(4);
    job.warm_up = Nanos::from_secs(1);
    job.seed = seed;
    job
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, failure_persistence: None, max_shrink_iters: 0, ..ProptestConfig::default() })]

    #[test]
    fn open_load_over_shares_equals_the_whole(
        rows_per_s in 500_u64..5_000,
        queries_per_s in 20_u64..200,
        poisson: bool,
        seed: u64,
    ) {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
        let job = open_load(rows_per_s, queries_per_s, arrivals, seed);
        let whole = split(&job, 1);
        for of in [2, 5, 64] {
            same(&whole, &split(&job, of), of);
        }
    }
}

/// In closed load, the number of sessions determines when ops are sent, but not which.
#[test]
fn closed_load_over_shares_writes_the_same_rows() {
    let target = one_node("cores=inf&service=exp&request=5ms");
    let mut job = Job::new(&target, &[("insert", closed(64))]);
    job.stop.rows = Some(7_770);
    let whole = split(&job, 1);
    assert_eq!(whole.stored.len(), 777);
    assert!(whole.stored.values().all(|rows| *rows == 10));
    for of in [2, 5, 64] {
        let parts = split(&job, of);
        assert_eq!(parts.stored, whole.stored, "{of} shares");
        let (part, one) = (measured(&parts.record, "insert"), measured(&whole.record, "insert"));
        assert_eq!(part.offered, one.offered, "{of} shares");
        assert_eq!(part.rows, one.rows, "{of} shares");
        assert_eq!(parts.record.audit.missing, 0, "{of} shares");
        assert_eq!(parts.record.audit.found, whole.record.audit.found, "{of} shares");
    }
}

/// Each share loads its part of the rows before the start, which takes more than a second.
#[test]
fn a_share_that_is_not_ready_at_the_start_is_late_by_its_own_record() {
    let target = one_node("cores=1&service=constant&request=5ms");
    let mut job = Job::new(&target, &[("insert", open(1_000))]);
    job.settings.push(("rows", "10000".to_owned()));
    let invalid = [Nanos::SECOND, Nanos::from_secs(60)].map(|start_in| {
        let share = Job { start_in, ..job.share_of(1, 2) };
        let record = share.run().record;
        record.judgments.measurement.codes().contains(&ReasonCode::SharesApart)
    });
    assert_eq!(invalid, [true, false]);
}
