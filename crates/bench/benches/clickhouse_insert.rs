//! New `cpu` rows as Native blocks to a real ClickHouse: rows per client CPU second, compared with inserting the same
//! blocks with ClickHouse's own client.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;

use highwater_bench::figures::{self, Figure, middle};
use highwater_bench::job::{Job, cpu_workload, measured, target_inserting, workload};
use highwater_bench::meters::ended_children_cpu;
use highwater_bench::sending::{parts, requests};
use highwater_driver::Target;
use highwater_model::plan::AuditLevel;
use highwater_model::units::Nanos;
use highwater_runner::request::Silent;
use highwater_testing::clickhouse::{ClickHouse, SUPERUSER};
use highwater_testing::programs::CLICKHOUSE_CLIENT;
use highwater_workload::Workload;

const ROUNDS: usize = 5;
/// Large, so that the server's merges keep up.
const BATCH: u32 = 20_000;
const BATCH_SETTING: (&str, &str) = ("batch", "20000");
/// Batches that are resent, and that the client inserts.
const BATCHES: u32 = 25;
const SESSIONS: u32 = 2;
const MEASURE: Nanos = Nanos::from_secs(3);

/// Results of a round, rows per client CPU second.
struct Round {
    /// A whole run with new values in every row.
    fresh: f64,
    encoded: f64,
    /// One body sent repeatedly.
    replayed: f64,
    /// ClickHouse's client, from blocks in a file.
    client: f64,
    /// The run's rows per second of wall-clock time.
    rows_per_s: f64,
}

/// Common to all rounds.
struct Setting {
    url: String,
    /// For ClickHouse's client.
    port: u16,
    workload: Arc<Workload>,
    target: Arc<dyn Target>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let client = CLICKHOUSE_CLIENT.required()?;
    let (server, port) = ClickHouse::start_for_client();
    let url = server.url(SUPERUSER);
    let setting = Setting {
        workload: workload(cpu_workload()?, &[BATCH_SETTING])?,
        target: target_inserting(&url, Some("native"))?,
        url,
        port,
    };
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(round(&setting, &client)?);
    }
    let middle = |of: fn(&Round) -> f64| middle(&rounds, of);
    let (fresh, client) = (middle(|r| r.fresh), middle(|r| r.client));
    let shown = [
        Figure::new("fresh rows", "rows/client CPU s", fresh).beside("clickhouse-client", client),
        Figure::new("the same block again", "rows/client CPU s", middle(|r| r.replayed))
            .beside("clickhouse-client", client),
        Figure::new("made and encoded", "rows/CPU s", middle(|r| r.encoded))
            .beside("fresh rows", fresh),
        Figure::new("fresh rows on this machine", "rows/s", middle(|r| r.rows_per_s)),
    ];
    figures::print(
        &shown,
        &format!(
            "Medians of {ROUNDS} rounds, CPU in user and kernel; the server's is not in it. Batches of \
             {BATCH} `cpu` rows, one block each. Fresh: a closed run of {SESSIONS} sessions, {} s \
             measured, --audit off. Again: one session sends one encoded batch {BATCHES} times. \
             clickhouse-client: one `INSERT … FORMAT Native` of {BATCHES} such blocks from a file, \
             `--compression=0`, its start and end included; their rows were made before.",
            MEASURE.0 / Nanos::SECOND.0
        ),
    )
}

fn round(setting: &Setting, client: &Path) -> Result<Round, Box<dyn Error>> {
    let job = Job {
        settings: &[BATCH_SETTING],
        insert: Some("native"),
        warm_up: Nanos::from_secs(1),
        measure: MEASURE,
        audit: AuditLevel::Off,
        ..Job::inserting(cpu_workload()?, &setting.url, SESSIONS)
    };
    // The following steps use its table.
    let record = job.run(Rc::new(Silent))?;
    let rows_per_s = measured(&record)?.throughput.rows_per_s;
    let clients = record.clients.first();
    let cpu_seconds = clients.map_or(0.0, |client| client.cpu_seconds);
    let parts = parts(&setting.workload, &setting.target, BATCHES, BATCH)?;
    Ok(Round {
        fresh: rows_per_s * MEASURE.as_secs_f64() / cpu_seconds,
        encoded: parts.encoded,
        replayed: parts.replayed,
        client: client_rows_per_cpu_s(setting, client)?,
        rows_per_s,
    })
}

/// Rows per CPU second of ClickHouse's own client.
fn client_rows_per_cpu_s(setting: &Setting, client: &Path) -> Result<f64, Box<dyn Error>> {
    let requests = requests(&setting.workload, &setting.target, BATCHES, BATCH)?;
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("blocks");
    let mut blocks = File::create(&path)?;
    let mut statement = Vec::new();
    for request in &requests {
        // The statement is the first line; the block follows.
        let end = request.iter().position(|byte| *byte == b'\n');
        let (head, block) = request.split_at(end.ok_or("a request has no statement")? + 1);
        statement = head.trim_ascii_end().to_vec();
        blocks.write_all(block)?;
    }
    drop(blocks);
    drop(requests);
    let before = ended_children_cpu();
    let output = Command::new(client)
        .args(["--host=127.0.0.1", "--compression=0"])
        .arg(format!("--port={}", setting.port))
        .arg(format!("--user={SUPERUSER}"))
        .arg(format!("--query={}", String::from_utf8(statement)?))
        .stdin(File::open(&path)?)
        .output()?;
    let cpu = ended_children_cpu().saturating_sub(before);
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("clickhouse-client: {said}").into());
    }
    Ok(f64::from(BATCH) * f64::from(BATCHES) / cpu.as_secs_f64())
}
