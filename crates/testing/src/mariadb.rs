//! A private MariaDB server: `mariadb-install-db`, a free port on 127.0.0.1, a socket in its own
//! directory, ended when dropped.
//!
//! Root starts it as the user `mysql`, which Debian's package creates, because a server should not
//! run as root.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::programs::{MARIADB, in_path};
use crate::server::{
    directory, free_port, give_away, kill, make_data, program_as, run, started, wait_until_ready,
};

/// The superuser, without a password over loopback and over the socket.
pub const SUPERUSER: &str = "root";
/// The predefined database.
pub const DATABASE: &str = "bench";
/// The operating-system user of a server started by root.
pub(crate) const OS_USER: &str = "mysql";

/// A running server.
pub struct MariaDb {
    directory: TempDir,
    port: u16,
    settings: Vec<String>,
    child: Option<Child>,
}

/// Whether the tests that need MariaDB are skipped; see [`MARIADB`].
///
/// # Panics
///
/// Same as [`Program::is_left_out`](crate::programs::Program::is_left_out).
pub fn skipped() -> bool {
    MARIADB.is_left_out()
}

impl MariaDb {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// If MariaDB is not installed or does not start.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server with these options, such as `--innodb-rollback-on-timeout=ON`.
    ///
    /// # Panics
    ///
    /// Same as [`MariaDb::start`].
    pub fn start_with(settings: &[&str]) -> Self {
        started("MariaDB", || Self::try_start(settings))
    }

    /// Starts a server with TLS, by certificate and key as PEM.
    ///
    /// # Panics
    ///
    /// Same as [`MariaDb::start`].
    pub fn start_with_tls(certificate: &str, key: &str) -> Self {
        started("MariaDB", || {
            let mut server = Self::prepare()?;
            for (name, text) in [("cert", certificate), ("key", key)] {
                let path = server.path(&format!("{name}.pem"));
                fs::write(&path, text)?;
                give_away(OS_USER, &path)?;
                server.settings.push(format!("--ssl-{name}={}", path.display()));
            }
            server.begin()?;
            Ok(server)
        })
    }

    fn try_start(settings: &[&str]) -> io::Result<Self> {
        let mut server = Self::prepare()?;
        server.add_settings(settings.iter().map(|setting| (*setting).to_owned()));
        server.begin()?;
        Ok(server)
    }

    /// A data directory without a running server.
    pub(crate) fn prepare() -> io::Result<Self> {
        Self::prepare_from("mariadb-data", Self::install)
    }

    /// A data directory copied from the template of this name, which `make` creates once.
    pub(crate) fn prepare_from(
        template: &str,
        make: fn(&Self) -> io::Result<()>,
    ) -> io::Result<Self> {
        let directory = directory("hw-maria-")?;
        give_away(OS_USER, directory.path())?;
        let server = Self { directory, port: free_port()?, settings: Vec::new(), child: None };
        make_data(&server.path("data"), template, || make(&server))?;
        Ok(server)
    }

    /// Adds options for the next start.
    pub(crate) fn add_settings(&mut self, settings: impl IntoIterator<Item = String>) {
        self.settings.extend(settings);
    }

    /// Port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The socket's path.
    pub fn socket(&self) -> PathBuf {
        self.path("socket")
    }

    /// URL of [`DATABASE`] for a user without a password.
    pub fn url(&self, user: &str) -> String {
        format!("mysql://{user}@127.0.0.1:{}/{DATABASE}", self.port)
    }

    /// Runs SQL as the superuser over the socket; returns its output, columns separated by tabs, without headers.
    ///
    /// # Panics
    ///
    /// If a statement fails.
    pub fn sql(&self, text: &str) -> String {
        match self.try_sql(text) {
            Ok(output) => output,
            Err(error) => panic!("mariadb `{text}`: {error}"),
        }
    }

    /// The same, with the error of a failed statement.
    pub fn try_sql(&self, text: &str) -> io::Result<String> {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "--batch", "--skip-column-names", "-u", SUPERUSER])
            .args(["--default-character-set=utf8mb4", "--raw"])
            .arg(format!("--socket={}", self.socket().display()))
            .args(["-e", text, DATABASE])
            .output()?;
        if output.status.success() {
            let text = String::from_utf8_lossy(&output.stdout);
            return Ok(text.trim_end_matches('\n').to_owned());
        }
        Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
    }

    /// Kills the process, like a lost machine, and restarts the server.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn restart(&mut self) {
        self.kill();
        if let Err(error) = self.begin() {
            panic!("MariaDB did not start again: {error}");
        }
    }

    /// Stops the server cleanly, and waits until it has written its state.
    pub(crate) fn shut_down(&mut self) -> io::Result<()> {
        self.try_sql("SHUTDOWN")?;
        if let Some(mut child) = self.child.take() {
            child.wait()?;
        }
        Ok(())
    }

    /// Kills the process, like a lost machine.
    pub fn kill(&mut self) {
        kill(&mut self.child);
    }

    /// A file or directory of the server.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn install(&self) -> io::Result<()> {
        let install = in_path("mariadb-install-db")
            .ok_or_else(|| io::Error::other("mariadb-install-db is not installed"))?;
        run(self
            .program(&install)
            .args(["--no-defaults", "--auth-root-authentication-method=normal"])
            .args(["--skip-test-db", "--skip-name-resolve"])
            .arg(format!("--datadir={}", self.path("data").display())))?;
        // A directory is a database.
        let database = self.path("data").join(DATABASE);
        fs::create_dir(&database)?;
        give_away(OS_USER, &database)
    }

    /// A server program, run as a non-root user.
    fn program(&self, path: &Path) -> Command {
        let mut command = program_as(OS_USER, path);
        // Servers that share a directory for temporary tables delete each other's files when they start.
        command.current_dir(self.directory.path());
        command.env("TMPDIR", self.directory.path());
        command
    }

    fn begin(&mut self) -> io::Result<()> {
        self.spawn()?;
        self.wait_for("SELECT 1", "1")
    }

    /// Starts the process, which responds later.
    pub(crate) fn spawn(&mut self) -> io::Result<()> {
        let log = fs::File::create(self.path("log"))?;
        let child = self
            .program(&MARIADB.required().map_err(io::Error::other)?)
            .arg("--no-defaults")
            .arg(format!("--datadir={}", self.path("data").display()))
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--pid-file={}", self.path("pid").display()))
            .arg(format!("--port={}", self.port))
            .args(["--bind-address=127.0.0.1", "--skip-name-resolve"])
            .args(["--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M"])
            .args(&self.settings)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        self.child = Some(child);
        Ok(())
    }

    /// Queries a starting server until it returns this response.
    pub(crate) fn wait_for(&mut self, sql: &str, answer: &str) -> io::Result<()> {
        let Some(mut child) = self.child.take() else {
            return Err(io::Error::other("it was not started"));
        };
        let answers = || -> io::Result<bool> {
            let found = self.try_sql(sql);
            Ok(found.is_ok_and(|found| found == answer))
        };
        let ready = wait_until_ready(&mut child, answers, &[self.path("log")]);
        self.child = Some(child);
        ready
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        self.kill();
    }
}
