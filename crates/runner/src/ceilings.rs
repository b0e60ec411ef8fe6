//! Ceilings: the rates that this load generator reaches against a sink, kept for later runs.
//!
//! They are in one small, versioned file per user, `ceilings.json`. A file that cannot be read is ignored and replaced.
//! It does not identify the user. Must not measure.

use std::fs;
use std::io;
use std::path::Path;

use highwater_driver::regular_file::{self, WRITTEN_BYTES_MAX};
use highwater_model::numbers::to_f64;
use highwater_model::plan::{Pace, PhaseKind, Plan, Unit};
use highwater_model::record::{CeilingBound, RunEnding, RunRecord};
use serde::{Deserialize, Serialize};

use crate::planner::sessions_of;
use crate::telemetry;

/// Version of the file format.
const VERSION: u32 = 1;
/// The file's name.
const FILE: &str = "ceilings.json";
/// Maximum number of ceilings kept; the oldest are dropped.
const KEPT_MAX: usize = 256;

/// The conditions under which a ceiling applies to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CeilingKey {
    /// Processor and cores.
    pub machine: String,
    /// The sink's URL.
    pub sink: String,
    /// Fingerprint of the workload: its rows, ops and batch.
    pub fingerprint: String,
    /// How rows are inserted.
    pub insert: String,
    /// Names of the streams that run together.
    pub streams: Vec<String>,
    /// Sessions of all streams, in this machine's share.
    pub sessions: u32,
    /// Version of the measuring program.
    pub version: String,
}

/// A ceiling.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The runs it applies to.
    pub key: CeilingKey,
    /// When it was measured, RFC 3339.
    pub measured_at: String,
    /// Units of the first stream per second, all streams of that unit together.
    pub units_per_s: f64,
    /// The unit: `rows` or `queries`.
    pub unit: String,
    /// Ops per second.
    pub ops_per_s: f64,
    /// Client CPU time per op, nanoseconds.
    pub cpu_ns_per_op: f64,
}

/// The file.
#[derive(Debug, Default, Serialize, Deserialize)]
struct File {
    version: u32,
    ceilings: Vec<Ceiling>,
}

impl CeilingKey {
    /// The key of a plan against a target with the same protocol as this sink.
    pub fn new(plan: &Plan, sink: &str, insert: &str, version: &str) -> Self {
        Self {
            machine: telemetry::machine(),
            sink: sink.to_owned(),
            fingerprint: plan.workload.fingerprint.clone(),
            insert: insert.to_owned(),
            streams: plan.streams.iter().map(|s| s.name.clone()).collect(),
            sessions: (0..plan.streams.len()).map(|s| sessions_of(plan, s)).sum(),
            version: version.to_owned(),
        }
    }
}

/// The ceiling reached by a run against a sink; `None` if the run does not measure one.
pub fn of_record(record: &RunRecord) -> Option<Ceiling> {
    let plan = &record.plan.definition;
    let closed = |pace: &Pace| matches!(pace, Pace::Closed { .. });
    let all_closed = plan.streams.iter().all(|s| s.paces.iter().all(closed));
    let steps = plan.streams.iter().map(|s| s.paces.len()).max();
    let [client] = record.clients.as_slice() else {
        return None;
    };
    let unit = plan.streams.first()?.unit;
    let mut measured = record.streams.iter().filter(|s| s.unit == unit).peekable();
    if !record.target.sink
        || !all_closed
        // The rate of pausing sessions depends on their pauses.
        || plan.streams.iter().any(|stream| stream.think.is_some())
        || steps != Some(1)
        || RunEnding::from_incidents(&record.incidents) != RunEnding::Complete
    {
        return None;
    }
    measured.peek()?;
    let units_per_s = measured
        .map(|s| match unit {
            Unit::Rows => s.throughput.rows_per_s,
            Unit::Queries | Unit::Transactions => s.throughput.ops_per_s,
        })
        .sum();
    let ops_per_s: f64 = record.streams.iter().map(|s| s.throughput.ops_per_s).sum();
    let is_measured = |name: &str| {
        let phase = record.phases.iter().find(|phase| phase.name == name);
        phase.is_some_and(|phase| phase.kind == PhaseKind::Measure)
    };
    let ops: u64 = record
        .results
        .iter()
        .filter(|r| is_measured(&r.phase))
        .map(|result| result.acknowledged)
        .sum();
    (ops > 0).then(|| Ceiling {
        key: CeilingKey::new(
            plan,
            record.target.urls.first().map_or("", String::as_str),
            record.target.settings.get("insert").map_or("", String::as_str),
            &record.header.highwater.version,
        ),
        measured_at: record.header.started_at.clone(),
        units_per_s,
        unit: unit.name().to_owned(),
        ops_per_s,
        cpu_ns_per_op: client.cpu_seconds * 1e9 / to_f64(ops),
    })
}

/// The ceiling for a run, if one was measured.
pub fn find(directory: &Path, key: &CeilingKey) -> Option<Ceiling> {
    let file = read(directory);
    file.ceilings.into_iter().find(|ceiling| ceiling.key == *key)
}

/// Lower bound from ceilings of the same load with other session counts. A ceiling with fewer sessions bounds `key` as
/// it is. A ceiling with more sessions bounds it in proportion, because each of fewer sessions has more of the machine.
pub fn at_least(directory: &Path, key: &CeilingKey) -> Option<CeilingBound> {
    let alike = |ceiling: &Ceiling| {
        let with_same_sessions = CeilingKey { sessions: key.sessions, ..ceiling.key.clone() };
        with_same_sessions == *key && ceiling.key.sessions > 0
    };
    let bound = |ceiling: Ceiling| {
        let sessions = ceiling.key.sessions;
        let part = (f64::from(key.sessions) / f64::from(sessions)).min(1.0);
        CeilingBound { units_per_s: ceiling.units_per_s * part, sessions }
    };
    let bounds = read(directory).ceilings.into_iter().filter(alike).map(bound);
    bounds.max_by(|a, b| a.units_per_s.total_cmp(&b.units_per_s))
}

/// Stores a ceiling, replacing an older one with the same key.
pub fn keep(directory: &Path, ceiling: Ceiling) -> io::Result<()> {
    let mut file = read(directory);
    file.version = VERSION;
    file.ceilings.retain(|kept| kept.key != ceiling.key);
    file.ceilings.push(ceiling);
    let beyond = file.ceilings.len().saturating_sub(KEPT_MAX);
    file.ceilings.drain(..beyond);
    fs::create_dir_all(directory)?;
    let text = serde_json::to_string_pretty(&file)?;
    // Written atomically, because another run may be reading it.
    let unfinished = directory.join(format!("{FILE}.{}", std::process::id()));
    fs::write(&unfinished, text)?;
    fs::rename(&unfinished, directory.join(FILE))
}

fn read(directory: &Path) -> File {
    let text = regular_file::read(&directory.join(FILE), WRITTEN_BYTES_MAX).unwrap_or_default();
    let file: File = serde_json::from_slice(&text).unwrap_or_default();
    if file.version == VERSION { file } else { File::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ceiling(sessions: u32, units_per_s: f64) -> Ceiling {
        Ceiling {
            key: CeilingKey {
                machine: "a processor, 2 cores".to_owned(),
                sink: "null:wire".to_owned(),
                fingerprint: "f".to_owned(),
                insert: "copy".to_owned(),
                streams: vec!["insert".to_owned()],
                sessions,
                version: "1".to_owned(),
            },
            measured_at: "2026-01-01T00:00:00Z".to_owned(),
            units_per_s,
            unit: "rows".to_owned(),
            ops_per_s: units_per_s / 1e3,
            cpu_ns_per_op: 1e6,
        }
    }

    #[test]
    fn a_ceiling_is_found_by_everything_that_decides_it() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("state/highwater");
        assert_eq!(find(&directory, &ceiling(4, 0.0).key), None);
        for (sessions, units) in [(4, 1e6), (8, 2e6), (4, 3e6)] {
            keep(&directory, ceiling(sessions, units)).unwrap();
        }
        let found = |key: &CeilingKey| find(&directory, key).map(|c| c.units_per_s);
        assert_eq!(found(&ceiling(4, 0.0).key), Some(3e6));
        let bound = |sessions| {
            let bound = at_least(&directory, &ceiling(sessions, 0.0).key);
            bound.map(|bound| (bound.units_per_s, bound.sessions))
        };
        assert_eq!(bound(16), Some((3e6, 4)), "no less than that of fewer sessions");
        assert_eq!(bound(2), Some((1.5e6, 4)), "and in proportion of more of them");
        assert_eq!(found(&ceiling(8, 0.0).key), Some(2e6));
        let mut other = ceiling(4, 0.0).key;
        other.insert = "values".to_owned();
        assert_eq!(found(&other), None);
        let left: Vec<_> = fs::read_dir(&directory).unwrap().collect();
        assert_eq!(left.len(), 1);
    }

    #[test]
    fn an_unreadable_file_is_replaced_and_the_oldest_entries_are_removed() {
        let root = tempfile::tempdir().unwrap();
        for text in ["{", "[]", r#"{"version": 99, "ceilings": []}"#] {
            fs::write(root.path().join(FILE), text).unwrap();
            assert_eq!(find(root.path(), &ceiling(1, 0.0).key), None);
        }
        for sessions in 0..u32::try_from(KEPT_MAX).unwrap() + 10 {
            keep(root.path(), ceiling(sessions, 1.0)).unwrap();
        }
        assert_eq!(find(root.path(), &ceiling(9, 0.0).key), None);
        assert!(find(root.path(), &ceiling(10, 0.0).key).is_some());
    }
}
