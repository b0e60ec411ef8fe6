//! A private ClickHouse server: a free port on 127.0.0.1 for HTTP, and no other one unless a configuration names it;
//! its configuration and data in a separate directory; ended when dropped.
//!
//! Root starts it as the user `clickhouse`, which Debian's package creates, because a server should not run as root.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::programs::CLICKHOUSE;
use crate::server::{
    directory, free_port, free_ports, give_away, kill, program_as, signal, started,
    wait_until_ready, wait_until_stopped,
};

/// The predefined user, without a password and with every privilege.
pub const SUPERUSER: &str = "default";
/// The predefined database.
pub const DATABASE: &str = "default";
/// A user with a password and every privilege.
pub const USER: &str = "ann";
/// That user's password.
pub const PASSWORD: &str = "geheim";
/// A read-only user without a password.
pub const READER: &str = "reader";
/// The operating-system user of a server started by root.
const OS_USER: &str = "clickhouse";

/// A running server.
pub struct ClickHouse {
    directory: TempDir,
    port: u16,
    child: Option<Child>,
}

/// Whether the tests that need ClickHouse are skipped; see [`CLICKHOUSE`].
///
/// # Panics
///
/// Same as [`Program::is_left_out`](crate::programs::Program::is_left_out).
pub fn skipped() -> bool {
    CLICKHOUSE.is_left_out()
}

impl ClickHouse {
    /// Starts a server.
    ///
    /// # Panics
    ///
    /// If ClickHouse is not installed or does not start.
    pub fn start() -> Self {
        Self::start_with("", "")
    }

    /// Starts a server with this additional XML configuration, such as
    /// `<max_concurrent_queries>1</max_concurrent_queries>`, and with these additional user settings.
    ///
    /// # Panics
    ///
    /// Same as [`ClickHouse::start`].
    pub fn start_with(configuration: &str, settings: &str) -> Self {
        let attempt =
            || free_port().and_then(|port| Self::try_start(port, configuration, settings));
        started("ClickHouse", attempt)
    }

    /// Starts a server for ClickHouse's own client; returns it with the port for that client.
    ///
    /// # Panics
    ///
    /// Same as [`ClickHouse::start`].
    pub fn start_for_client() -> (Self, u16) {
        let attempt = || {
            let [http, native] = free_ports()?;
            let configuration = format!("<tcp_port>{native}</tcp_port>");
            Self::try_start(http, &configuration, "").map(|server| (server, native))
        };
        started("ClickHouse", attempt)
    }

    /// The same on that port.
    pub(crate) fn try_start(port: u16, configuration: &str, settings: &str) -> io::Result<Self> {
        let directory = directory("hw-click-")?;
        let mut server = Self { directory, port, child: None };
        server.configure(configuration, settings)?;
        server.begin()?;
        Ok(server)
    }

    /// Port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// URL of [`DATABASE`] for a user without a password.
    pub fn url(&self, user: &str) -> String {
        format!("clickhouse://{user}@127.0.0.1:{}/{DATABASE}", self.port)
    }

    /// Runs a statement as the superuser; returns its output, columns separated by tabs.
    ///
    /// # Panics
    ///
    /// If it fails.
    pub fn sql(&self, text: &str) -> String {
        match self.try_sql(text) {
            Ok(output) => output,
            Err(error) => panic!("ClickHouse `{text}`: {error}"),
        }
    }

    /// The same, with the error of a failed statement.
    pub fn try_sql(&self, text: &str) -> io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        // HTTP/1.0: the response ends with the connection. As set by the driver: a subquery over distributed tables is
        // rejected by default.
        let path = "/?distributed_product_mode=global";
        let length = text.len();
        let head = format!("POST {path} HTTP/1.0\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        stream.write_all(text.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let is_ok = head.split(' ').nth(1) == Some("200") && !body.contains("DB::Exception");
        if is_ok {
            return Ok(body.trim_end_matches('\n').to_owned());
        }
        Err(io::Error::other(body.to_owned()))
    }

    /// Kills the process, like a lost machine, and restarts the server.
    ///
    /// # Panics
    ///
    /// If it does not start.
    pub fn restart(&mut self) {
        self.kill();
        if let Err(error) = self.begin() {
            panic!("ClickHouse did not start again: {error}");
        }
    }

    /// The same, with these settings of its users.
    ///
    /// # Panics
    ///
    /// Same as [`ClickHouse::restart`].
    pub fn restart_with(&mut self, settings: &str) {
        if let Err(error) = self.write_users(settings) {
            panic!("the users of ClickHouse cannot be written: {error}");
        }
        self.restart();
    }

    /// Ends the process at once, as a lost machine does.
    pub fn kill(&mut self) {
        kill(&mut self.child);
    }

    /// Suspends the process; [`ClickHouse::thaw`] resumes it.
    pub fn freeze(&self) {
        self.send(Signal::STOP);
        if let Some(child) = &self.child {
            wait_until_stopped(child);
        }
    }

    /// See [`ClickHouse::freeze`].
    pub fn thaw(&self) {
        self.send(Signal::CONT);
    }

    fn send(&self, sent: Signal) {
        if let Some(child) = &self.child {
            signal(child, sent);
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn configure(&self, configuration: &str, settings: &str) -> io::Result<()> {
        for name in ["data", "tmp", "files", "schemas"] {
            fs::create_dir(self.path(name))?;
        }
        let place = |name: &str| self.path(name).display().to_string();
        let port = self.port;
        fs::write(
            self.path("config.xml"),
            format!(
                "<yandex><logger><level>warning</level><log>{log}</log></logger>\
                 <listen_host>127.0.0.1</listen_host><http_port>{port}</http_port>\
                 <path>{data}/</path><tmp_path>{tmp}/</tmp_path>\
                 <user_files_path>{files}/</user_files_path>\
                 <format_schema_path>{schemas}/</format_schema_path>\
                 <users_config>users.xml</users_config><default_profile>default</default_profile>\
                 <default_database>{DATABASE}</default_database>\
                 <mark_cache_size>67108864</mark_cache_size>{configuration}</yandex>\n",
                log = place("log"),
                data = place("data"),
                tmp = place("tmp"),
                files = place("files"),
                schemas = place("schemas"),
            ),
        )?;
        self.write_users(settings)?;
        give_away(OS_USER, self.directory.path())
    }

    /// The users, all but the reader with these settings.
    fn write_users(&self, settings: &str) -> io::Result<()> {
        let user = |name: &str, password: &str, profile: &str| {
            format!(
                "<{name}><password>{password}</password><networks><ip>127.0.0.1</ip></networks>\
                 <profile>{profile}</profile><quota>default</quota></{name}>"
            )
        };
        fs::write(
            self.path("users.xml"),
            format!(
                "<yandex><profiles><default>{settings}</default>\
                 <readonly><readonly>1</readonly></readonly></profiles>\
                 <users>{}{}{}</users><quotas><default></default></quotas></yandex>\n",
                user(SUPERUSER, "", "default"),
                user(USER, PASSWORD, "default"),
                user(READER, "", "readonly"),
            ),
        )
    }

    fn begin(&mut self) -> io::Result<()> {
        let output = fs::File::create(self.path("output"))?;
        let mut child = program_as(OS_USER, &CLICKHOUSE.required().map_err(io::Error::other)?)
            .arg(format!("--config-file={}", self.path("config.xml").display()))
            .current_dir(self.directory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(output)
            .spawn()?;
        let answers = || -> io::Result<bool> { Ok(self.try_sql("SELECT 1").is_ok()) };
        let logs = ["output", "log"].map(|name| self.path(name));
        let ready = wait_until_ready(&mut child, answers, &logs);
        self.child = Some(child);
        ready
    }
}

impl Drop for ClickHouse {
    fn drop(&mut self) {
        self.kill();
    }
}
