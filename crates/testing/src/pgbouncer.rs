//! A private PgBouncer in transaction mode in front of a PostgreSQL server: a free port on 127.0.0.1, ended when
//! dropped.
//!
//! It refuses to run as root, so root starts it as the server's user.

use std::fs;
use std::io;
use std::net::TcpStream;
use std::process::{Child, Stdio};

use tempfile::TempDir;

use crate::postgres::{Postgres, SUPERUSER};
use crate::programs::PGBOUNCER;
use crate::server::{directory, free_port, give_away, kill, program_as, started, wait_until_ready};

/// A running pooler.
pub struct PgBouncer {
    _directory: TempDir,
    port: u16,
    child: Option<Child>,
}

/// Whether the tests that need PgBouncer are skipped; see [`PGBOUNCER`].
///
/// # Panics
///
/// Same as [`Program::is_left_out`](crate::programs::Program::is_left_out).
pub fn skipped() -> bool {
    PGBOUNCER.is_left_out()
}

impl PgBouncer {
    /// Starts one whose clients share this many server connections, per transaction.
    ///
    /// # Panics
    ///
    /// If PgBouncer is not installed or does not start.
    pub fn before(server: &Postgres, connections: u32) -> Self {
        started("PgBouncer", || Self::try_start(server, connections))
    }

    fn try_start(server: &Postgres, connections: u32) -> io::Result<Self> {
        let program = PGBOUNCER.required().map_err(io::Error::other)?;
        let directory = directory("hw-pgbouncer-")?;
        let port = free_port()?;
        let place = |name: &str| directory.path().join(name);
        fs::write(place("users"), format!("\"{SUPERUSER}\" \"\"\n"))?;
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\n\
             pool_mode = transaction\ndefault_pool_size = {connections}\nlogfile = {}\n",
            server.port(),
            place("users").display(),
            place("log").display()
        );
        fs::write(place("pgbouncer.ini"), settings)?;
        give_away(SUPERUSER, directory.path())?;
        let mut child = program_as(SUPERUSER, &program)
            .arg("-q")
            .arg(place("pgbouncer.ini"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let answers = || Ok(TcpStream::connect(("127.0.0.1", port)).is_ok());
        let ready = wait_until_ready(&mut child, answers, &[place("log")]);
        let pooler = Self { _directory: directory, port, child: Some(child) };
        ready.map(|()| pooler)
    }

    /// URL of a database for the superuser.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{SUPERUSER}@127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}
