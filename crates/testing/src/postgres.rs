//! A private PostgreSQL server: `initdb`, a free port on 127.0.0.1, a socket in its own
//! directory, ended when dropped.
//!
//! The server refuses to run as root, so root starts it as the user `postgres`, which Debian's
//! package creates.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;

use crate::programs::POSTGRESQL;
use crate::server::{
    directory, free_port, give_away, is_root, make_data, program_as, run, signal, started,
    wait_until_ready,
};

/// The superuser; connections over the socket are always trusted.
pub const SUPERUSER: &str = "postgres";
/// Checks whether a server has ended, 20 ms apart.
const STOP_ATTEMPTS: u32 = 500;

/// A running server.
pub struct Postgres {
    programs: PathBuf,
    directory: TempDir,
    port: u16,
    child: Option<Child>,
}

/// Setup of a server.
#[derive(Debug, Default, Clone)]
pub struct Setup {
    /// Lines of `pg_hba.conf` before the one that trusts the socket.
    pub access: Vec<String>,
    /// Lines of `postgresql.conf`.
    pub settings: Vec<String>,
    /// Certificate and key of the server as PEM; turns TLS on.
    pub tls: Option<(String, String)>,
}

/// Whether the tests that need PostgreSQL are skipped; see [`POSTGRESQL`].
///
/// # Panics
///
/// Same as [`Program::is_left_out`](crate::programs::Program::is_left_out).
pub fn skipped() -> bool {
    POSTGRESQL.is_left_out()
}

impl Postgres {
    /// Starts a server that trusts every connection over loopback.
    ///
    /// # Panics
    ///
    /// If PostgreSQL is not installed or does not start.
    pub fn start() -> Self {
        Self::start_with(&Setup {
            access: vec!["host all all 127.0.0.1/32 trust".to_owned()],
            ..Setup::default()
        })
    }

    /// Starts a server with this setup.
    ///
    /// # Panics
    ///
    /// Same as [`Postgres::start`].
    pub fn start_with(setup: &Setup) -> Self {
        started("PostgreSQL", || Self::try_start(setup))
    }

    fn try_start(setup: &Setup) -> io::Result<Self> {
        let directory = directory("hw-pg-")?;
        give_away(SUPERUSER, directory.path())?;
        let mut server = Self {
            programs: POSTGRESQL.required().map_err(io::Error::other)?,
            directory,
            port: free_port()?,
            child: None,
        };
        server.make_data()?;
        server.write("pg_hba.conf", &Self::access(setup))?;
        server.write_tls(setup)?;
        server.append("postgresql.conf", &server.settings(setup))?;
        server.begin()?;
        Ok(server)
    }

    /// Starts a hot standby, which follows this server.
    ///
    /// # Panics
    ///
    /// Same as [`Postgres::start`].
    pub fn standby(&self) -> Self {
        started("a standby of PostgreSQL", || self.try_standby())
    }

    fn try_standby(&self) -> io::Result<Self> {
        let directory = directory("hw-pg-")?;
        give_away(SUPERUSER, directory.path())?;
        let mut server =
            Self { programs: self.programs.clone(), directory, port: free_port()?, child: None };
        run(server
            .program("pg_basebackup")
            .args(["-R", "-X", "stream", "-c", "fast", "-U", SUPERUSER])
            .args(["-p", &self.port.to_string(), "-h"])
            .arg(self.socket_directory())
            .arg("-D")
            .arg(server.data()))?;
        let settings = server.settings(&Setup::default());
        server.append("postgresql.conf", &settings)?;
        server.begin()?;
        Ok(server)
    }

    /// Promotes a standby to primary, and returns when it is one.
    ///
    /// # Panics
    ///
    /// If it does not become one.
    pub fn promote(&self) {
        assert_eq!(self.sql("postgres", "SELECT pg_promote()").trim(), "t");
    }

    /// Port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A client program of the server's installation, such as `pgbench`.
    pub fn client_program(&self, name: &str) -> PathBuf {
        self.programs.join(name)
    }

    /// Directory of the socket.
    pub fn socket_directory(&self) -> &Path {
        self.directory.path()
    }

    /// URL of a database for a user without a password.
    pub fn url(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/{database}", self.port)
    }

    /// Runs SQL as the superuser over the socket; returns its output, unaligned, without headers.
    ///
    /// # Panics
    ///
    /// If `psql` fails.
    pub fn sql(&self, database: &str, text: &str) -> String {
        let output = Command::new(self.programs.join("psql"))
            .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", SUPERUSER, "-d", database])
            .arg("-h")
            .arg(self.socket_directory())
            .args(["-p", &self.port.to_string(), "-c", text])
            .env_remove("PGOPTIONS")
            .output();
        match output {
            Ok(output) if output.status.success() => {
                String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
            }
            Ok(output) => panic!("psql `{text}`: {}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => panic!("psql: {error}"),
        }
    }

    /// Stops the server at once, without notifying its clients, and restarts it.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn restart(&mut self) {
        self.stop();
        self.start_again();
    }

    /// Starts a stopped server.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn start_again(&mut self) {
        if let Err(error) = self.begin() {
            panic!("PostgreSQL did not start again: {error}");
        }
    }

    /// Creates the data directory, or copies one of the same server version.
    fn make_data(&self) -> io::Result<()> {
        let version = self.programs.parent().and_then(Path::file_name);
        let Some(version) = version.and_then(OsStr::to_str) else {
            return self.initdb();
        };
        let name = format!("postgresql-{version}-data");
        make_data(&self.data(), &name, || self.initdb())
    }

    fn initdb(&self) -> io::Result<()> {
        run(self
            .program("initdb")
            .args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-U", SUPERUSER])
            .arg("-D")
            .arg(self.data()))
    }

    fn data(&self) -> PathBuf {
        self.directory.path().join("data")
    }

    /// A server program, run as a user that it accepts.
    fn program(&self, name: &str) -> Command {
        let mut command = program_as(SUPERUSER, &self.programs.join(name));
        if is_root() {
            command.current_dir(self.directory.path());
        }
        command
    }

    fn access(setup: &Setup) -> String {
        let mut lines = setup.access.clone();
        lines.push(format!("local all {SUPERUSER} trust"));
        // For standbys.
        lines.push("local replication all trust".to_owned());
        lines.push("local all all trust".to_owned());
        lines.join("\n") + "\n"
    }

    fn settings(&self, setup: &Setup) -> String {
        let mut lines = vec![
            "listen_addresses = '127.0.0.1'".to_owned(),
            format!("port = {}", self.port),
            format!("unix_socket_directories = '{}'", self.socket_directory().display()),
            "fsync = off".to_owned(),
            "shared_buffers = 32MB".to_owned(),
            "max_connections = 100".to_owned(),
        ];
        if setup.tls.is_some() {
            lines.push("ssl = on".to_owned());
        }
        lines.extend(setup.settings.iter().cloned());
        lines.join("\n") + "\n"
    }

    fn write_tls(&self, setup: &Setup) -> io::Result<()> {
        let Some((certificate, key)) = &setup.tls else {
            return Ok(());
        };
        self.write("server.crt", certificate)?;
        self.write("server.key", key)?;
        run(Command::new("chmod").arg("600").arg(self.data().join("server.key")))
    }

    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.data().join(name);
        fs::write(&path, text)?;
        give_away(SUPERUSER, &path)
    }

    fn append(&self, name: &str, text: &str) -> io::Result<()> {
        let before = fs::read_to_string(self.data().join(name))?;
        self.write(name, &(before + text))
    }

    fn begin(&mut self) -> io::Result<()> {
        let log = fs::File::create(self.directory.path().join("log"))?;
        let mut child = self
            .program("postgres")
            .arg("-D")
            .arg(self.data())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let answers = || -> io::Result<bool> {
            let mut looking = Command::new(self.programs.join("pg_isready"));
            looking.args(["-q", "-p", &self.port.to_string(), "-h"]);
            let ready = looking.arg(self.socket_directory()).status()?;
            Ok(ready.success())
        };
        let logs = [self.directory.path().join("log")];
        let ready = wait_until_ready(&mut child, answers, &logs);
        self.child = Some(child);
        ready
    }

    /// Stops the server at once.
    pub fn stop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        signal(&child, rustix::process::Signal::QUIT);
        for _ in 0..STOP_ATTEMPTS {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        let _killed = child.kill();
        let _ended = child.wait();
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.stop();
    }
}
