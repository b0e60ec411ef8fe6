//! The client's ceiling for each workload: rows and queries per client CPU second, to sinks on loopback that respond at
//! once.

use std::error::Error;
use std::rc::Rc;

use highwater_bench::figures::{self, Budget, Figure, median};
use highwater_bench::job::{Job, target_inserting, workload};
use highwater_bench::sending::parts;
use highwater_model::display::rate;
use highwater_model::plan::{AuditLevel, PhaseKind};
use highwater_model::record::RunRecord;
use highwater_model::units::Nanos;
use highwater_runner::request::Silent;
use highwater_workload::builtin;

const ROUNDS: usize = 3;
const SESSIONS: u32 = 8;
const MEASURE: Nanos = Nanos::from_secs(2);
const BATCH: u32 = 1_000;
/// Batches that are generated, encoded, and resent without a run.
const BATCHES: u32 = 300;
/// Twice the megabytes per second of 10 gigabit Ethernet.
const TWICE_TEN_GBE: f64 = 2.0 * 1_250.0;

/// The sinks, and the fastest insert mode of each.
const SINKS: [(&str, &str); 2] = [("null:crate", "bulk"), ("null:postgres", "copy")];

type Settings = &'static [(&'static str, &'static str)];

/// Workloads that insert batches, and their settings.
const INSERTING: [(&str, Settings); 6] = [
    ("cpu", &[("batch", "1000")]),
    ("nib-cpu", &[("batch", "1000")]),
    ("nib-cpu-strict", &[("batch", "1000")]),
    ("loadtest", &[("batch", "1000"), ("bytes", "512")]),
    ("sensors", &[("batch", "1000")]),
    ("tsbs", &[("batch", "1000")]),
];

/// Streams of queries: the workload, its stream, and its settings.
const ASKING: [(&str, &str, Settings); 6] = [
    ("cpu", "dashboards", &[]),
    ("sensors", "queries", &[]),
    ("tsbs", "queries", &[]),
    ("kv", "kv", &[]),
    ("kv", "kv", &[("batch", "100")]),
    ("kv", "kv", &[("read_percent", "95")]),
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut figures = Vec::new();
    for (name, settings) in INSERTING {
        for (sink, insert) in SINKS {
            figures.extend(inserting(name, settings, sink, insert)?);
        }
    }
    for (name, stream, settings) in ASKING {
        figures.push(queries(name, stream, settings)?);
    }
    figures::print(
        &figures,
        &format!(
            "Medians of {ROUNDS} closed runs of {} s, {SESSIONS} sessions, CPU of the client in user \
             and kernel; the sink's threads are not in it, but they share the machine. Rows: batches of \
             {BATCH}, every value fresh, --audit off; beside them the same rows made on one thread, \
             and one encoded batch that a session sends {BATCHES} times. 10 GbE carries 1,250 MB/s, twice that is the budget. Queries and \
             kv: to null:postgres, which answers each with no row.",
            MEASURE.0 / Nanos::SECOND.0
        ),
    )
}

fn inserting(
    name: &str,
    settings: Settings,
    sink: &'static str,
    insert: &'static str,
) -> Result<[Figure; 2], Box<dyn Error>> {
    let (mut fresh, mut made, mut replayed) = (Vec::new(), Vec::new(), Vec::new());
    let mut bytes = 0.0;
    for _ in 0..ROUNDS {
        let record = run(name, settings, sink, Some(insert), "insert")?;
        fresh.push(measured(&record, |result| result.rows.acknowledged) / cpu_seconds(&record));
        let parts = parts(
            &workload(text(name)?, settings)?,
            &target_inserting(sink, Some(insert))?,
            BATCHES,
            BATCH,
        )?;
        made.push(parts.made);
        replayed.push(parts.replayed);
        bytes = parts.bytes_per_row;
    }
    let (fresh, replayed) = (median(&fresh), median(&replayed));
    let what = format!("{name}, {insert}");
    Ok([
        Figure::new(format!("{what}: rows"), "rows/client CPU s", fresh)
            .beside("made, not encoded or sent", median(&made)),
        Figure::new(
            format!("{what}: rows of {} bytes", rate(bytes)),
            "MB/client CPU s",
            fresh * bytes / 1e6,
        )
        .beside("replayed body", replayed * bytes / 1e6)
        .budget(Budget::AtLeast(TWICE_TEN_GBE)),
    ])
}

fn queries(name: &str, stream: &str, settings: Settings) -> Result<Figure, Box<dyn Error>> {
    let mut speeds = Vec::new();
    for _ in 0..ROUNDS {
        let record = run(name, settings, "null:postgres", None, stream)?;
        speeds.push(measured(&record, |result| result.acknowledged) / cpu_seconds(&record));
    }
    let set: Vec<String> = settings.iter().map(|(k, v)| format!(" {k}={v}")).collect();
    let what = format!("{name}{}: ops of `{stream}`", set.concat());
    Ok(Figure::new(what, "ops/client CPU s", median(&speeds)))
}

fn run(
    name: &str,
    settings: Settings,
    sink: &str,
    insert: Option<&str>,
    stream: &str,
) -> Result<RunRecord, Box<dyn Error>> {
    let job = Job {
        settings,
        insert,
        stream,
        warm_up: Nanos::from_secs(1),
        measure: MEASURE,
        audit: AuditLevel::Off,
        ..Job::inserting(text(name)?, sink, SESSIONS)
    };
    job.run(Rc::new(Silent))
}

fn text(name: &str) -> Result<&'static str, Box<dyn Error>> {
    let found = builtin(name).ok_or_else(|| format!("there is no workload `{name}`"))?;
    Ok(found.text)
}

/// The sum of a count over all ops of the measured phase.
#[expect(clippy::cast_precision_loss, reason = "figures for people")]
fn measured(record: &RunRecord, count: fn(&highwater_model::record::ResultRecord) -> u64) -> f64 {
    let is_measured = |name: &str| {
        let mut phases = record.phases.iter();
        phases.any(|phase| phase.kind == PhaseKind::Measure && phase.name == name)
    };
    record.results.iter().filter(|r| is_measured(&r.phase)).map(count).sum::<u64>() as f64
}

fn cpu_seconds(record: &RunRecord) -> f64 {
    record.clients.first().map_or(0.0, |c| c.cpu_seconds)
}
