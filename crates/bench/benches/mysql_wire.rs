//! The MySQL wire protocol: client CPU of a point select, and of a row of a multi-row INSERT, compared with sysbench in
//! the same benchmark, on the same server and with the same number of clients.

use std::error::Error;
use std::process::Command;
use std::rc::Rc;

use highwater_bench::cores;
use highwater_bench::figures::{self, Budget, Figure, middle};
use highwater_bench::job::{Job, measured};
use highwater_bench::meters::{ended_children_cpu, process_cpu};
use highwater_model::numbers::to_f64;
use highwater_model::plan::AuditLevel;
use highwater_model::units::Nanos;
use highwater_runner::request::Silent;
use highwater_testing::mariadb::{DATABASE, MariaDb, SUPERUSER};
use highwater_testing::programs::SYSBENCH;

const WORKLOAD: &str = include_str!("mysql_wire.toml");
const ROUNDS: usize = 9;
/// Long enough that one-time work, such as connecting and writing the record, is less than a percent of it.
const SECONDS: u64 = 5;
const CLIENTS: [u32; 3] = [1, 8, 32];
/// Rows of the table that is read; the workload samples as many.
const TABLE_ROWS: &str = "--table-size=100000";
/// The server does not wait for a disk, so that the clients have more to do.
const SETTINGS: [&str; 2] =
    ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=256M"];

/// A comparison: the workload's stream, sysbench's script, and a unit of it.
#[derive(Clone, Copy)]
struct Case {
    stream: &'static str,
    script: &'static str,
    /// Database of the script's tables: both scripts use the same table names.
    database: &'static str,
    unit: &'static str,
    per_s: &'static str,
    what: &'static str,
}

const INSERT: Case = Case {
    stream: "insert",
    script: "bulk_insert",
    database: "bulk",
    unit: "µs/row",
    per_s: "rows/s",
    what: "client CPU of a row of a multi-row INSERT",
};

const SELECT: Case = Case {
    stream: "select",
    script: "oltp_point_select",
    database: DATABASE,
    unit: "µs/op",
    per_s: "ops/s",
    what: "client CPU of a point select",
};

/// Results of one run of one program.
struct Run {
    /// Client CPU, microseconds per unit.
    cpu_us: f64,
    per_s: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = MariaDb::start_with(&SETTINGS);
    // The table of the workload's other stream must exist, too.
    prepare(&server, SELECT, 1)?;
    let mut figures = on_server(&server, INSERT)?;
    // Only the rest uses separate cores: on a single core, 32 clients of sysbench were still inserting after minutes,
    // while InnoDB's threads waited for each other in spin loops.
    drop(server);
    let server = cores::apart(|| MariaDb::start_with(&SETTINGS))?;
    figures.extend(on_server(&server, SELECT)?);
    let remark = format!(
        "Medians of {ROUNDS} rounds in which the programs take turns, {SECONDS} s each, closed load, \
         over TCP on loopback, against MariaDB with `{}`. Point selects: `sysbench oltp_point_select` \
         with `{TABLE_ROWS} --rand-type=uniform --skip-trx=on`, prepared on both sides, the clients on \
         one core and the server on the others. Rows: `sysbench bulk_insert`, whose rows are two \
         integers and whose statements have 512 KiB; Highwater's have 1,000 of the same rows, \
         `--insert values`, `--audit off`. CPU is that of the whole process in user and kernel, from \
         its first connection to its last word; the server's is not in it.",
        SETTINGS.join(" ")
    );
    figures::print(&figures, &remark)
}

fn on_server(server: &MariaDb, case: Case) -> Result<Vec<Figure>, Box<dyn Error>> {
    let mut figures = Vec::new();
    for clients in CLIENTS {
        figures.extend(rounds(server, case, clients)?);
    }
    Ok(figures)
}

fn rounds(server: &MariaDb, case: Case, clients: u32) -> Result<[Figure; 2], Box<dyn Error>> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    prepare(server, case, clients)?;
    for round in 0..ROUNDS {
        // Each program is first in half of the rounds.
        if round % 2 == 0 {
            theirs.push(sysbench_run(server, case, clients)?);
            ours.push(highwater_run(server, case, clients)?);
        } else {
            ours.push(highwater_run(server, case, clients)?);
            theirs.push(sysbench_run(server, case, clients)?);
        }
    }
    let figure = |what: &str, unit, of: fn(&Run) -> f64| {
        let what = format!("{what}, clients: {clients}");
        Figure::new(what, unit, middle(&ours, of)).beside("sysbench", middle(&theirs, of))
    };
    Ok([
        figure(case.what, case.unit, |run| run.cpu_us).budget(Budget::RatioAtMost(1.0)),
        figure("throughput meanwhile", case.per_s, |run| run.per_s),
    ])
}

fn highwater_run(server: &MariaDb, case: Case, clients: u32) -> Result<Run, Box<dyn Error>> {
    let url = format!("{}?sslmode=disable", server.url(SUPERUSER));
    let job = Job {
        stream: case.stream,
        insert: Some("values"),
        measure: Nanos::from_secs(SECONDS),
        audit: AuditLevel::Off,
        ..Job::inserting(WORKLOAD, &url, clients)
    };
    let before = process_cpu();
    let record = job.run(Rc::new(Silent))?;
    let cpu = process_cpu().saturating_sub(before);
    let result = measured(&record)?;
    let (units, per_s) = match case.stream {
        "insert" => (result.rows.acknowledged, result.throughput.rows_per_s),
        _ => (result.acknowledged, result.throughput.ops_per_s),
    };
    Ok(Run { cpu_us: cpu.as_secs_f64() * 1e6 / to_f64(units), per_s })
}

fn sysbench_run(server: &MariaDb, case: Case, clients: u32) -> Result<Run, Box<dyn Error>> {
    if case.stream == "insert" {
        // Its keys begin with 1 in each run.
        prepare(server, case, clients)?;
    }
    let before = ended_children_cpu();
    let said = sysbench(server, case, clients, "run")?;
    let cpu = ended_children_cpu().saturating_sub(before);
    let number = |label: &str| -> Result<f64, Box<dyn Error>> {
        let mut lines = said.lines();
        let rest = lines.find_map(|line| line.trim().strip_prefix(label));
        let word = rest.ok_or_else(|| format!("sysbench says no `{label}`: {said}"))?;
        Ok(word.trim().trim_end_matches('s').parse()?)
    };
    let events = number("total number of events:")?;
    Ok(Run { cpu_us: cpu.as_secs_f64() * 1e6 / events, per_s: events / number("total time:")? })
}

/// Recreates the script's own tables.
fn prepare(server: &MariaDb, case: Case, clients: u32) -> Result<(), Box<dyn Error>> {
    let of = case.database;
    server.sql(&format!("CREATE DATABASE IF NOT EXISTS {of}"));
    let tables = (1..=clients).map(|number| format!("{of}.sbtest{number}"));
    let tables: Vec<String> = tables.collect();
    server.sql(&format!("DROP TABLE IF EXISTS {}", tables.join(", ")));
    sysbench(server, case, clients, "prepare")?;
    Ok(())
}

fn sysbench(
    server: &MariaDb,
    case: Case,
    clients: u32,
    command: &str,
) -> Result<String, Box<dyn Error>> {
    let output = Command::new(SYSBENCH.required()?)
        .arg(case.script)
        .args(["--db-driver=mysql", "--mysql-host=127.0.0.1"])
        .arg(format!("--mysql-port={}", server.port()))
        .arg(format!("--mysql-user={SUPERUSER}"))
        .arg(format!("--mysql-db={}", case.database))
        .arg(format!("--threads={clients}"))
        .arg(format!("--time={SECONDS}"))
        .args(script_options(case))
        .arg(command)
        .output()?;
    if !output.status.success() {
        let said = [output.stdout, output.stderr].concat();
        return Err(format!("sysbench: {}", String::from_utf8_lossy(&said)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Options that only one of the scripts has.
fn script_options(case: Case) -> &'static [&'static str] {
    match case.stream {
        "select" => &["--tables=1", TABLE_ROWS, "--rand-type=uniform", "--skip-trx=on"],
        _ => &[],
    }
}
