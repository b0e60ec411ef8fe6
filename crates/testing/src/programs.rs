//! The programs that tests need beyond Rust: where each is installed, and what happens to tests whose program is
//! missing.
//!
//! A new engine's server gets an entry in [`ALL`]: `cargo xtask test` then installs it, CI requires it, and plain
//! `cargo test` passes without it. Nothing here starts a program.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Set to `1`: a test whose program is not installed fails. Otherwise it passes without testing anything, and its test
/// binary reports this once.
pub const REQUIRE_ALL: &str = "HIGHWATER_REQUIRE_ALL";

/// A program, or a set of programs, that some tests need.
#[derive(Debug)]
pub struct Program {
    /// Its name, for messages.
    pub name: &'static str,
    /// Its package in Debian and Ubuntu.
    pub package: &'static str,
    /// The tests that need it.
    pub tests: &'static str,
    /// Where it is installed.
    find: fn() -> Option<PathBuf>,
}

/// The programs of a PostgreSQL server: a directory with `initdb` and `postgres`.
pub static POSTGRESQL: Program = Program {
    name: "PostgreSQL",
    package: "postgresql",
    tests: "the driver against a real server, audits, and runs of the command line against it",
    find: || newest_server("/usr/lib/postgresql").or_else(|| beside("initdb", "postgres")),
};

/// The pooler for tests of drivers behind one.
pub static PGBOUNCER: Program = Program {
    name: "PgBouncer",
    package: "pgbouncer",
    tests: "the driver behind a pooler in transaction mode",
    find: || {
        let pooler = PathBuf::from("/usr/sbin/pgbouncer");
        in_path("pgbouncer").or_else(|| pooler.is_file().then_some(pooler))
    },
};

/// The program of a MariaDB server; its package's programs for clients and for a data directory are next to it.
pub static MARIADB: Program = Program {
    name: "MariaDB",
    package: "mariadb-server",
    tests: "the driver against a real server, audits, and runs of the command line against it",
    find: || {
        let server = PathBuf::from("/usr/sbin/mariadbd");
        in_path("mariadbd").or_else(|| server.is_file().then_some(server))
    },
};

/// The program of a ClickHouse server.
pub static CLICKHOUSE: Program = Program {
    name: "ClickHouse",
    package: "clickhouse-server",
    tests: "the driver against a real server, audits, and runs of the command line against it",
    find: || {
        let server = PathBuf::from("/usr/sbin/clickhouse-server");
        in_path("clickhouse-server").or_else(|| server.is_file().then_some(server))
    },
};

/// ClickHouse's own client.
pub static CLICKHOUSE_CLIENT: Program = Program {
    name: "clickhouse-client",
    package: "clickhouse-client",
    tests: "the benchmark `clickhouse-insert`, which stands beside it",
    find: || in_path("clickhouse-client"),
};

/// The load generator with which the MySQL wire benchmark compares.
pub static SYSBENCH: Program = Program {
    name: "sysbench",
    package: "sysbench",
    tests: "the loads of sysbench beside it, and the benchmarks `mysql-wire` and `tools`",
    find: || in_path("sysbench"),
};

/// The library that turns MariaDB servers into cluster nodes.
pub static GALERA: Program = Program {
    name: "Galera",
    package: "galera-4",
    tests: "the driver against a cluster of three nodes, and a node that is lost in mid-run",
    find: || {
        let places = ["/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib64/galera"];
        places
            .map(|place| Path::new(place).join("libgalera_smm.so"))
            .into_iter()
            .find(|library| library.is_file())
    },
};

/// Copies the data of one Galera node to another.
pub static RSYNC: Program = Program {
    name: "rsync",
    package: "rsync",
    tests: "a node of Galera that comes back",
    find: || in_path("rsync"),
};

/// A browser for the pages of runs.
pub static CHROMIUM: Program = Program {
    name: "Chromium",
    package: "chromium",
    tests: "the pages of runs in a browser (crates/cli/tests/browser)",
    find: || in_path("chromium").or_else(|| in_path("chromium-browser")),
};

/// The package manager that fetches the accessibility checker, and Grafana's types.
pub static NPM: Program = Program {
    name: "npm",
    package: "npm",
    tests: "accessibility of the pages of runs (crates/cli/tests/browser), dashboards against Grafana's own types",
    find: || in_path("npm"),
};

/// A launcher of several processes.
pub static OPEN_MPI: Program = Program {
    name: "Open MPI",
    package: "openmpi-bin",
    tests: "several load generators as one run, started by mpirun",
    find: || in_path("mpirun.openmpi"),
};

/// Another launcher, of a cluster; only long tests need it, so it is not in [`ALL`].
pub static SLURM: Program = Program {
    name: "Slurm",
    package: "slurm-wlm",
    tests: "several load generators as one run, as steps and as an array of jobs",
    find: || in_path("slurmctld").filter(|_| in_path("munged").is_some()),
};

/// A library that shows a process another time.
pub static FAKETIME: Program = Program {
    name: "libfaketime",
    package: "faketime",
    tests: "a load generator whose clock is wrong",
    find: || {
        let machine = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        let library = Path::new(&machine).join("faketime/libfaketime.so.1");
        library.is_file().then_some(library)
    },
};

/// Scrapes metrics, and evaluates queries over them; its `promtool` is next to it.
pub static PROMETHEUS: Program = Program {
    name: "Prometheus",
    package: "prometheus",
    tests: "metrics of a run as they are scraped, and the queries of the dashboards",
    find: || beside("promtool", "prometheus"),
};

/// Every program that a test or a benchmark needs.
pub static ALL: &[&Program] = &[
    &POSTGRESQL,
    &PGBOUNCER,
    &MARIADB,
    &GALERA,
    &RSYNC,
    &CLICKHOUSE,
    &CLICKHOUSE_CLIENT,
    &SYSBENCH,
    &CHROMIUM,
    &NPM,
    &PROMETHEUS,
    &OPEN_MPI,
    &FAKETIME,
];

/// Programs that this process has already reported as missing.
static REPORTED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

impl Program {
    /// Its path; `None` if it is not installed.
    pub fn path(&self) -> Option<PathBuf> {
        (self.find)()
    }

    /// Its path.
    ///
    /// # Errors
    ///
    /// It is not installed; the error names the package that installs it.
    pub fn required(&self) -> Result<PathBuf, String> {
        let missing = || format!("{} is not installed (Debian: {})", self.name, self.package);
        self.path().ok_or_else(missing)
    }

    /// Whether a test skips what needs this program, because it is not installed.
    ///
    /// # Panics
    ///
    /// If it is not installed and [`REQUIRE_ALL`] is set.
    pub fn is_left_out(&self) -> bool {
        let missing = self.required().err();
        if let Some(reason) = &missing {
            leave_out(&format!("need {}", self.name), reason);
        }
        missing.is_some()
    }
}

/// Skips a test that needs something that `cargo xtask test` sets up.
///
/// # Panics
///
/// If [`REQUIRE_ALL`] is set.
pub fn leave_out(need: &str, reason: &str) {
    assert!(!all_required(), "{reason}, and {REQUIRE_ALL} is set");
    let hint = "`cargo xtask test` installs what is missing and runs everything";
    report_left_out(need, &format!("{reason}. {hint}"));
}

/// Reports that the tests of this binary that `need` something are skipped for a `reason`.
///
/// The line bypasses the test harness's capture, once for each need; the name of every such test is in its captured
/// output.
#[expect(clippy::print_stdout, reason = "the test harness captures and shows it")]
pub fn report_left_out(need: &str, reason: &str) {
    let thread = std::thread::current();
    println!("left out: {}: {reason}", thread.name().unwrap_or_default());
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    if reported.insert(need.to_owned()) {
        let binary = test_binary();
        let line = format!(
            "\nleft out: the tests of `{binary}` that {need}: {reason}. \
             To list them: cargo test --test {binary} -- --show-output\n",
        );
        // A closed stderr must not fail the test.
        std::io::stderr().write_all(line.as_bytes()).ok();
    }
}

fn all_required() -> bool {
    std::env::var(REQUIRE_ALL).is_ok_and(|value| value == "1")
}

/// The name of this test binary for cargo's `--test`.
fn test_binary() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    stem.rsplit_once('-').map_or(stem.as_ref(), |(name, _hash)| name).to_owned()
}

/// The program directory of the newest version below `place`, in Debian's layout.
fn newest_server(place: &str) -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir(place)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, path)| path.join("initdb").exists())
        .collect();
    found.sort();
    found.pop().map(|(_, path)| path)
}

/// The directory in `PATH` that contains both `program` and `other`.
fn beside(program: &str, other: &str) -> Option<PathBuf> {
    let path = in_path(program)?.canonicalize().ok()?;
    let directory = path.parent()?;
    directory.join(other).exists().then(|| directory.to_path_buf())
}

/// The path of a command, as found by a shell.
pub fn in_path(command: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|directory: PathBuf| directory.join(command))
        .find(|program: &PathBuf| Path::is_file(program))
}
