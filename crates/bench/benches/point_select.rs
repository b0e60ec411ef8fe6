//! A point select over the PostgreSQL protocol: client CPU per op, compared with pgbench in the same benchmark, on the
//! same server and table, with the same number of clients.

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
use highwater_testing::postgres::{Postgres, SUPERUSER};

const WORKLOAD: &str = include_str!("point_select.toml");
const DATABASE: &str = "postgres";
const ROUNDS: usize = 5;
const SECONDS: u64 = 3;
const CLIENTS: [u32; 3] = [1, 8, 32];

/// Results of one run of one program.
struct Run {
    /// Client CPU, microseconds per op.
    cpu_us: f64,
    ops_per_s: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = cores::apart(Postgres::start)?;
    pgbench(&server, &["-i", "-q", "-s", "1"])?;
    server.sql(DATABASE, "VACUUM ANALYZE pgbench_accounts");
    let mut figures = Vec::new();
    for clients in CLIENTS {
        figures.extend(rounds(&server, clients)?);
    }
    let threads = threads(u32::MAX);
    let remark = format!(
        "Medians of {ROUNDS} rounds in which the programs take turns, {SECONDS} s each, closed \
         load, over TCP on loopback, the clients on one core and the server on the others, \
         at most {threads} threads each; `pgbench -S -M prepared` at scale 1. CPU is that of \
         the whole process in user and kernel, from its first connection to its last word, divided \
         by all its ops; the server's is not in it."
    );
    figures::print(&figures, &remark)
}

fn rounds(server: &Postgres, clients: u32) -> Result<[Figure; 2], Box<dyn Error>> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // Each program is first in half of the rounds.
        if round % 2 == 0 {
            theirs.push(pgbench_run(server, clients)?);
            ours.push(highwater_run(server, clients)?);
        } else {
            ours.push(highwater_run(server, clients)?);
            theirs.push(pgbench_run(server, clients)?);
        }
    }
    let figure = |what: &str, unit, of: fn(&Run) -> f64| {
        let what = format!("{what}, clients: {clients}");
        Figure::new(what, unit, middle(&ours, of)).beside("pgbench", middle(&theirs, of))
    };
    Ok([
        figure("client CPU of a point select", "µs/op", |run| run.cpu_us)
            .budget(Budget::RatioAtMost(1.0)),
        figure("throughput meanwhile", "ops/s", |run| run.ops_per_s),
    ])
}

fn highwater_run(server: &Postgres, clients: u32) -> Result<Run, Box<dyn Error>> {
    let url = format!("{}?sslmode=disable", server.url(SUPERUSER, DATABASE));
    let job = Job {
        stream: "select",
        measure: Nanos::from_secs(SECONDS),
        audit: AuditLevel::Off,
        ..Job::inserting(WORKLOAD, &url, clients)
    };
    let before = process_cpu();
    let record = job.run(Rc::new(Silent))?;
    let cpu = process_cpu().saturating_sub(before);
    let result = measured(&record)?;
    Ok(Run {
        cpu_us: cpu.as_secs_f64() * 1e6 / to_f64(result.acknowledged),
        ops_per_s: result.throughput.ops_per_s,
    })
}

fn pgbench_run(server: &Postgres, clients: u32) -> Result<Run, Box<dyn Error>> {
    let (clients, threads) = (clients.to_string(), threads(clients).to_string());
    let seconds = SECONDS.to_string();
    let before = ended_children_cpu();
    let said = pgbench(
        server,
        &["-n", "-S", "-M", "prepared", "-c", &clients, "-j", &threads, "-T", &seconds],
    )?;
    let cpu = ended_children_cpu().saturating_sub(before);
    let number = |label: &str| -> Result<f64, Box<dyn Error>> {
        let line = said.lines().find_map(|line| line.strip_prefix(label));
        let word = line.and_then(|rest| rest.split_whitespace().next());
        Ok(word.ok_or_else(|| format!("pgbench says no `{label}`"))?.parse()?)
    };
    let ops = number("number of transactions actually processed:")?;
    Ok(Run { cpu_us: cpu.as_secs_f64() * 1e6 / ops, ops_per_s: number("tps =")? })
}

fn pgbench(server: &Postgres, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new(server.client_program("pgbench"))
        .args(["-h", "127.0.0.1", "-p", &server.port().to_string()])
        .args(["-U", SUPERUSER])
        .args(arguments)
        .arg(DATABASE)
        .output()?;
    if !output.status.success() {
        return Err(format!("pgbench: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Threads of either program: one per core, and at most one per client.
fn threads(clients: u32) -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores).unwrap_or(u32::MAX).min(clients)
}
