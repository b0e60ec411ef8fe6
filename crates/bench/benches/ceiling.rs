//! The client's ceiling: new `cpu` rows to a sink on loopback, rows per client CPU second, compared with the parts of
//! that path and with a generator in Node.js.

use std::error::Error;
use std::process::Command;
use std::rc::Rc;

use highwater_bench::figures::{self, Budget, Figure, median, middle};
use highwater_bench::job::{Job, cpu_workload, measured, target_inserting, workload};
use highwater_bench::sending::{Parts, parts};
use highwater_model::plan::AuditLevel;
use highwater_model::units::Nanos;
use highwater_runner::request::Silent;

const ROUNDS: usize = 5;
const BATCH: u32 = 1_000;
const SESSIONS: u32 = 8;
const MEASURE: Nanos = Nanos::from_secs(3);
/// Batches per round that are generated and encoded, and repeats of the one that is resent.
const BATCHES: u32 = 2_000;
/// The generator in Node.js, which generates the same kind of rows and bodies, and sends nothing.
const NODE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/ceiling.js");
/// Twice the bytes per second of 10 gigabit Ethernet.
const TWICE_TEN_GBE: f64 = 2.0 * 1.25e9;

/// A sink, an insert mode, and the budget.
const PATHS: [(&str, &str, Budget); 8] = [
    ("null:crate", "bulk", Budget::AtLeast(3e6)),
    ("null:crate", "values", Budget::None),
    ("null:crate", "unnest", Budget::None),
    ("null:clickhouse", "native", Budget::AtLeast(6e6)),
    ("null:postgres", "copy", Budget::None),
    ("null:postgres", "values", Budget::None),
    ("null:mysql", "values", Budget::None),
    ("null:mysql", "load-data", Budget::None),
];

/// Results of a round, rows per client CPU second.
struct Round {
    /// A whole run with new values in every row.
    fresh: f64,
    /// The parts of the path, without a run.
    parts: Parts,
    /// The run's rows per second of wall-clock time.
    rows_per_s: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut rounds: Vec<Vec<Round>> = PATHS.iter().map(|_| Vec::new()).collect();
    let mut node = Vec::new();
    for _ in 0..ROUNDS {
        for ((sink, insert, _), rounds) in PATHS.into_iter().zip(&mut rounds) {
            rounds.push(round(sink, insert)?);
        }
        node.extend(node_rows_per_cpu_s());
    }
    let mut shown = Vec::new();
    for ((sink, insert, budget), rounds) in PATHS.into_iter().zip(&rounds) {
        shown.extend(figures_of(&format!("{sink}, {insert}"), budget, rounds));
    }
    if !node.is_empty() {
        let encoded = middle(&rounds[0], |round| round.parts.encoded);
        shown.push(
            Figure::new(
                "Node.js: rows made and put through JSON.stringify",
                "rows/CPU s",
                median(&node),
            )
            .beside("null:crate, bulk: made and encoded", encoded),
        );
    }
    let without = if node.is_empty() {
        " Node.js is not installed here, so its generator was left out."
    } else {
        ""
    };
    figures::print(
        &shown,
        &format!(
            "Medians of {ROUNDS} interleaved rounds, CPU in user and kernel. Fresh: a whole closed \
             run, {SESSIONS} sessions, batches of {BATCH} rows, {} s measured; generating, \
             encoding, sending, recording and the ledger's counts are in it, its checksums are not \
             (--audit off); the sink's threads are not, \
             but they share the machine, and the kernel does part of the receiver's work in the \
             sender's time. Made and encoded: {BATCHES} batches on one thread, nothing sent. \
             Replayed: one session sends one encoded batch {BATCHES} times. 10 GbE carries 1.25 \
             GB/s, twice that is the budget in bytes.{without}",
            MEASURE.0 / Nanos::SECOND.0
        ),
    )
}

fn figures_of(path: &str, budget: Budget, rounds: &[Round]) -> [Figure; 5] {
    let middle = |of: fn(&Round) -> f64| middle(rounds, of);
    let name = |what: &str| format!("{path}: {what}");
    let (fresh, bytes) = (middle(|r| r.fresh), middle(|r| r.parts.bytes_per_row));
    let replayed = middle(|r| r.parts.replayed);
    [
        Figure::new(name("fresh rows"), "rows/client CPU s", fresh)
            .beside("replayed body", replayed)
            .budget(budget),
        Figure::new(name("made and encoded"), "rows/CPU s", middle(|r| r.parts.encoded))
            .beside("fresh rows", fresh),
        Figure::new(name("fresh rows in bytes"), "MB/client CPU s", fresh * bytes / 1e6)
            .beside("replayed body", replayed * bytes / 1e6)
            .budget(Budget::AtLeast(TWICE_TEN_GBE / 1e6)),
        Figure::new(name("on this machine"), "rows/s", middle(|r| r.rows_per_s)),
        Figure::new(name("a row"), "bytes", bytes),
    ]
}

fn round(sink: &'static str, insert: &'static str) -> Result<Round, Box<dyn Error>> {
    let job = Job {
        insert: Some(insert),
        warm_up: Nanos::from_secs(1),
        measure: MEASURE,
        audit: AuditLevel::Off,
        ..Job::inserting(cpu_workload()?, sink, SESSIONS)
    };
    let record = job.run(Rc::new(Silent))?;
    let result = measured(&record)?;
    let cpu_seconds = record.clients.first().map_or(0.0, |client| client.cpu_seconds);
    let rows_per_s = result.throughput.rows_per_s;
    let workload = workload(cpu_workload()?, &[])?;
    let target = target_inserting(sink, Some(insert))?;
    Ok(Round {
        fresh: rows_per_s * MEASURE.as_secs_f64() / cpu_seconds,
        parts: parts(&workload, &target, BATCHES, BATCH)?,
        rows_per_s,
    })
}

/// Rows per CPU second of the generator in Node.js; `None` if that is not installed.
fn node_rows_per_cpu_s() -> Option<f64> {
    let batches = (BATCHES / 10).to_string();
    let said = Command::new("node")
        .args([NODE, &BATCH.to_string(), &batches])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    String::from_utf8(said.stdout).ok()?.trim().parse().ok()
}
