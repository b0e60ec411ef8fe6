//! The built-in loads of pgbench and sysbench, sent by these tools and by Highwater in turn: throughput and client CPU,
//! on one server and on the tables that Highwater made.

use std::error::Error;
use std::process::Command;
use std::rc::Rc;

use highwater_bench::cores;
use highwater_bench::figures::{self, Figure, middle};
use highwater_bench::job::{Job, measured};
use highwater_bench::meters::{ended_children_cpu, process_cpu};
use highwater_model::numbers::to_f64;
use highwater_model::plan::AuditLevel;
use highwater_model::units::Nanos;
use highwater_runner::request::Silent;
use highwater_testing::postgres::{Postgres, SUPERUSER};
use highwater_testing::programs::SYSBENCH;
use highwater_workload::builtin;

const DATABASE: &str = "postgres";
const PAIRS: usize = 5;
const SECONDS: u64 = 5;
const CLIENTS: u32 = 4;
const SCALE: &str = "10";
const TABLE_SIZE: &str = "100000";

/// A script of a tool, which is a stream of the workload of the tool's name.
#[derive(Clone, Copy)]
struct Case {
    tool: &'static str,
    script: &'static str,
}

/// sysbench's other scripts delete and insert one row from two sessions, and count the duplicates differently.
const CASES: [Case; 6] = [
    Case { tool: "pgbench", script: "tpcb-like" },
    Case { tool: "pgbench", script: "simple-update" },
    Case { tool: "pgbench", script: "select-only" },
    Case { tool: "sysbench", script: "oltp_read_only" },
    Case { tool: "sysbench", script: "oltp_update_index" },
    Case { tool: "sysbench", script: "oltp_point_select" },
];

/// Results of one run of one program.
struct Run {
    ops_per_s: f64,
    /// Client CPU, microseconds per op.
    cpu_us: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = cores::apart(Postgres::start)?;
    let mut figures = Vec::new();
    for case in CASES {
        figures.extend(pairs(&server, case)?);
    }
    let remark = format!(
        "Medians of {PAIRS} pairs of runs in which the programs take turns, {SECONDS} s each, closed load of {CLIENTS} \
         clients over TCP on loopback, the clients on one core and the server on the others. `pgbench -n -M prepared` at \
         scale {SCALE}; `sysbench --table-size={TABLE_SIZE}` with its default distribution. The tables are those that \
         Highwater made. A ratio of a pair is Highwater's throughput by the tool's. CPU is that of the whole process in \
         user and kernel, divided by all its ops; the server's is not in it."
    );
    figures::print(&figures, &remark)
}

fn pairs(server: &Postgres, case: Case) -> Result<[Figure; 4], Box<dyn Error>> {
    // Makes the tables.
    highwater(server, case, true)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        // Each program is first in half of the pairs.
        if pair % 2 == 0 {
            theirs.push(tool(server, case)?);
            ours.push(highwater(server, case, false)?);
        } else {
            ours.push(highwater(server, case, false)?);
            theirs.push(tool(server, case)?);
        }
    }
    let both = ours.iter().zip(&theirs);
    let ratios: Vec<f64> = both.map(|(ours, theirs)| ours.ops_per_s / theirs.ops_per_s).collect();
    let extreme = |of: fn(f64, f64) -> f64| ratios.iter().copied().reduce(of).unwrap_or_default();
    let figure = |what: &str, unit, of: fn(&Run) -> f64| {
        let what = format!("{}: {what}", case.script);
        Figure::new(what, unit, middle(&ours, of)).beside(case.tool, middle(&theirs, of))
    };
    let ratio = |what: &str, value| Figure::new(format!("{}: {what}", case.script), "", value);
    Ok([
        figure("throughput", "ops/s", |run| run.ops_per_s),
        ratio("least ratio of a pair", extreme(f64::min)),
        ratio("greatest ratio of a pair", extreme(f64::max)),
        figure("client CPU", "µs/op", |run| run.cpu_us),
    ])
}

fn highwater(server: &Postgres, case: Case, drop: bool) -> Result<Run, Box<dyn Error>> {
    let url = format!("{}?sslmode=disable", server.url(SUPERUSER, DATABASE));
    let workload = builtin(case.tool).ok_or("no such workload")?;
    let settings = match case.tool {
        "pgbench" => ("scale", SCALE),
        _ => ("table_size", TABLE_SIZE),
    };
    let job = Job {
        settings: &[settings],
        stream: case.script,
        measure: Nanos::from_secs(SECONDS),
        audit: AuditLevel::Off,
        drop,
        ..Job::inserting(workload.text, &url, CLIENTS)
    };
    let before = process_cpu();
    let record = job.run(Rc::new(Silent))?;
    let cpu = process_cpu().saturating_sub(before);
    let result = measured(&record)?;
    let cpu_us = cpu.as_secs_f64() * 1e6 / to_f64(result.acknowledged);
    Ok(Run { ops_per_s: result.throughput.ops_per_s, cpu_us })
}

fn tool(server: &Postgres, case: Case) -> Result<Run, Box<dyn Error>> {
    let port = server.port();
    let mut command;
    let [ops, per_s, time] = if case.tool == "pgbench" {
        command = Command::new(server.client_program("pgbench"));
        command.args([
            "-n",
            "-M",
            "prepared",
            "-h",
            "127.0.0.1",
            "-U",
            SUPERUSER,
            "-b",
            case.script,
        ]);
        command
            .args([format!("-p{port}"), format!("-c{CLIENTS}"), format!("-T{SECONDS}")])
            .arg(DATABASE);
        ["number of transactions actually processed:", "tps =", ""]
    } else {
        command = Command::new(SYSBENCH.required()?);
        command.args([case.script, "--db-driver=pgsql", "--pgsql-host=127.0.0.1"]);
        command.args([format!("--pgsql-user={SUPERUSER}"), format!("--pgsql-db={DATABASE}")]);
        command.args([format!("--pgsql-port={port}"), format!("--table-size={TABLE_SIZE}")]);
        command.args([format!("--threads={CLIENTS}"), format!("--time={SECONDS}")]).arg("run");
        ["total number of events:", "", "total time:"]
    };
    let before = ended_children_cpu();
    let output = command.output()?;
    let cpu = ended_children_cpu().saturating_sub(before);
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(
            format!("{}: {said}{}", case.tool, String::from_utf8_lossy(&output.stderr)).into()
        );
    }
    let number = |label: &str| -> Result<f64, Box<dyn Error>> {
        let rest = said.lines().find_map(|line| line.trim().strip_prefix(label));
        let word = rest.and_then(|rest| rest.split_whitespace().next());
        let word = word.ok_or_else(|| format!("{} says no `{label}`: {said}", case.tool))?;
        Ok(word.trim_end_matches('s').parse()?)
    };
    let ops = number(ops)?;
    let ops_per_s = if per_s.is_empty() { ops / number(time)? } else { number(per_s)? };
    Ok(Run { ops_per_s, cpu_us: cpu.as_secs_f64() * 1e6 / ops })
}
