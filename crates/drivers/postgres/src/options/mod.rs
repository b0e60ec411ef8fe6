//! Converts a target URL and the environment to connection options: hosts, login, TLS, TCP.
//!
//! No I/O, except for a service file, which may name the hosts: other named files are read at the first connection.

mod settings;

#[cfg(test)]
mod tests;

use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

use highwater_driver::contract::{Listener, TargetOptions};
use highwater_driver::network::{SslMode, Tls, TlsFiles, local_listener};
use highwater_driver::target_url::{Environment, Host, Secret, TargetUrl, connect_timeout};
use highwater_driver::time_limit::LingeringBackends;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;

use self::settings::Settings;

pub(super) use settings::{Binding, HostOrder, Method, RequiredAuth, SessionAttributes};

/// Parameters that are elsewhere in the displayed URL.
const SERVER_PARAMETERS: &[&str] = &["dbname", "host", "hostaddr", "port", "user"];
/// The default port, if neither URL nor environment sets one.
const DEFAULT_PORT: u16 = 5432;
/// A scheme with another default port.
const OTHER_PORT: (&str, u16) = ("cockroach", 26_257);

/// Shared by all hosts of one URL.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: Option<Secret>,
    /// The password file if no password is given.
    pub(super) passfile: Option<PathBuf>,
    /// As named; without one, the server uses its default.
    pub(super) database: Option<String>,
    /// As given; the default depends on the address.
    sslmode: Option<SslMode>,
    pub(super) tls: TlsFiles,
    pub(super) application_name: String,
    /// Command-line options for the server, such as `-csearch_path=bench`.
    pub(super) options: Option<String>,
    /// PGGEQO: whether the server plans by its genetic algorithm.
    pub(super) geqo: Option<String>,
    pub(super) connect_timeout: Nanos,
    pub(super) required_auth: RequiredAuth,
    pub(super) channel_binding: Binding,
    pub(super) tcp: TcpOptions,
    pub(super) session_attributes: SessionAttributes,
    pub(super) host_order: HostOrder,
}

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// Host and port.
    Tcp(String, u16),
    /// Directory of a Unix socket, and the port in its name.
    Socket(PathBuf, u16),
}

/// The Unix socket of a server.
pub(super) fn socket_path(directory: &Path, port: u16) -> PathBuf {
    directory.join(format!(".s.PGSQL.{port}"))
}

/// A server for sessions.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) login: Arc<Login>,
    pub(super) address: Address,
    /// The address of its host, which replaces a name lookup.
    pub(super) host_address: Option<IpAddr>,
    /// The URL for display and records.
    pub(super) shown: String,
    /// Backends of closed connections that may still be running.
    pub(super) lingering: Arc<LingeringBackends>,
    pub(super) tls: Arc<Tls>,
    /// Whether it is a pooler; known after the first connection.
    pub(super) pooled: Arc<OnceLock<bool>>,
}

impl Node {
    /// Whether the server runs on this machine.
    pub(super) fn is_local(&self) -> bool {
        self.listener().is_some()
    }

    /// Where the server listens, if it runs on this machine.
    pub(super) fn listener(&self) -> Option<Listener> {
        match &self.address {
            Address::Socket(directory, port) => {
                Some(Listener::Socket(socket_path(directory, *port)))
            }
            Address::Tcp(host, port) => match self.host_address {
                Some(address) => address.is_loopback().then_some(Listener::Port(*port)),
                None => local_listener(host, *port),
            },
        }
    }
}

/// The servers that one URL names.
pub(super) fn nodes(
    url: &TargetUrl,
    options: &TargetOptions,
    environment: Environment<'_>,
) -> Result<Vec<Node>, UserError> {
    let settings = Settings::read(url, environment)?;
    let login = Arc::new(login(url, options, &settings, environment)?);
    let shown_user = &login.user;
    let database = login.database.as_deref();
    let path = database.map_or(String::new(), |name| format!("/{name}"));
    let mut nodes = Vec::new();
    for (address, host_address) in addresses(url, &settings)? {
        let place = place(url, &address, host_address, database, &path);
        let mode = match &address {
            Address::Tcp(name, _) => login.sslmode.unwrap_or_else(|| SslMode::default_for(name)),
            Address::Socket(..) => SslMode::Disable,
        };
        let tls = Tls::new(login.tls.clone(), mode);
        tls.check_files()?;
        nodes.push(Node {
            shown: format!("{}://{shown_user}@{place}", url.scheme),
            login: Arc::clone(&login),
            address,
            host_address,
            lingering: Arc::default(),
            tls: Arc::new(tls),
            pooled: Arc::default(),
        });
    }
    Ok(nodes)
}

/// The text after the user in the displayed URL.
fn place(
    url: &TargetUrl,
    address: &Address,
    host_address: Option<IpAddr>,
    database: Option<&str>,
    path: &str,
) -> String {
    match address {
        Address::Tcp(name, port) => {
            let mut parameters = url.parameters_but(SERVER_PARAMETERS, '?');
            if let Some(ip) = host_address.filter(|ip| ip.to_string() != *name) {
                let first = if parameters.is_empty() { '?' } else { '&' };
                parameters.push_str(&format!("{first}hostaddr={ip}"));
            }
            format!("{}{path}{parameters}", Host::at(name, *port))
        }
        Address::Socket(directory, port) => {
            let parameters = url.parameters_but(SERVER_PARAMETERS, '&');
            let (name, directory) = (database.unwrap_or_default(), directory.display());
            format!("/{name}?host={directory}&port={port}{parameters}")
        }
    }
}

fn login(
    url: &TargetUrl,
    options: &TargetOptions,
    settings: &Settings<'_>,
    environment: Environment<'_>,
) -> Result<Login, UserError> {
    let given = |name: &str| settings.get(name);
    let user = url
        .named_user()
        .or_else(|| given("user"))
        .or_else(|| environment("USER"))
        .or_else(|| environment("LOGNAME"))
        .unwrap_or_else(|| "postgres".to_owned());
    let path = Some(url.path.trim_end_matches('/').to_owned());
    let database = path.filter(|path| !path.is_empty()).or_else(|| given("dbname"));
    let passfile = given("passfile")
        .map(PathBuf::from)
        .or_else(|| environment("HOME").map(|home| PathBuf::from(home).join(".pgpass")));
    let timeout = given("connect_timeout");
    Ok(Login {
        user,
        password: url.password_or(given("password")),
        passfile,
        database,
        sslmode: sslmode(settings)?,
        tls: TlsFiles::named(given),
        application_name: given("application_name")
            .or_else(|| given("fallback_application_name"))
            .unwrap_or_else(|| options.application_name.clone()),
        options: given("options"),
        geqo: given("PGGEQO"),
        connect_timeout: connect_timeout(timeout.as_deref(), options.connect_timeout)?,
        required_auth: parsed(given("require_auth"), RequiredAuth::parse)?.unwrap_or_default(),
        channel_binding: parsed(given("channel_binding"), Binding::parse)?
            .unwrap_or(Binding::Prefer),
        tcp: TcpOptions::of_settings(given)?,
        session_attributes: parsed(given("target_session_attrs"), SessionAttributes::parse)?
            .unwrap_or(SessionAttributes::Any),
        host_order: parsed(given("load_balance_hosts"), HostOrder::parse)?
            .unwrap_or(HostOrder::InTurn),
    })
}

fn parsed<T>(
    given: Option<String>,
    parse: impl FnOnce(&str) -> Result<T, UserError>,
) -> Result<Option<T>, UserError> {
    given.map(|text| parse(&text)).transpose()
}

/// `sslmode`, or the equivalents of older clients and JDBC.
fn sslmode(settings: &Settings<'_>) -> Result<Option<SslMode>, UserError> {
    if let Some(mode) = settings.get("sslmode") {
        return SslMode::parse(&mode).map(Some);
    }
    match settings.get("ssl").as_deref() {
        Some("true") => return Ok(Some(SslMode::Require)),
        Some(other) => {
            return Err(UserError::usage(format!("`ssl={other}` is not known"))
                .with_hint("write `sslmode=…`; `ssl=true` is `sslmode=require`"));
        }
        None => {}
    }
    let is_required = settings.get("PGREQUIRESSL").is_some_and(|value| value.starts_with('1'));
    Ok(is_required.then_some(SslMode::Require))
}

/// The servers' addresses, each with the IP address of its host if given.
fn addresses(
    url: &TargetUrl,
    settings: &Settings<'_>,
) -> Result<Vec<(Address, Option<IpAddr>)>, UserError> {
    let list = |text: String| -> Vec<String> { text.split(',').map(str::to_owned).collect() };
    let ips = settings.get("hostaddr").map(list).unwrap_or_default();
    let mut hosts = url.hosts.clone();
    if hosts.is_empty() {
        let named = settings.get("host").map_or_else(|| ips.clone(), list);
        let mut names: Vec<&str> = named.iter().map(String::as_str).collect();
        names.retain(|name| !name.is_empty());
        if named.is_empty() {
            names.push("localhost");
        }
        hosts = names.into_iter().map(Host::named).collect();
    } else if url.parameters.contains_key("host") {
        return Err(UserError::usage(format!("target `{url}` names its host twice"))
            .with_hint("leave out either the host of the URL or the parameter `host`"));
    }
    if hosts.is_empty() {
        return Err(UserError::usage(format!("target `{url}` names no host")));
    }
    let default = if url.scheme == OTHER_PORT.0 { OTHER_PORT.1 } else { DEFAULT_PORT };
    let ports = settings.get("port").map(list).unwrap_or_default();
    if ports.len() > 1 && ports.len() != hosts.len() {
        return Err(miscounted(url, ports.len(), "ports", hosts.len()));
    }
    if !ips.is_empty() && ips.len() != hosts.len() {
        return Err(miscounted(url, ips.len(), "addresses", hosts.len()));
    }
    let mut found = Vec::with_capacity(hosts.len());
    for (position, host) in hosts.into_iter().enumerate() {
        let port = ports.get(position).or_else(|| ports.first());
        let port = match (host.port, port.filter(|port| !port.is_empty())) {
            (Some(port), _) => port,
            (None, Some(text)) => parse_port(text)?,
            (None, None) => default,
        };
        let ip = ips.get(position).filter(|ip| !ip.is_empty());
        let ip = ip.map(|ip| parse_address(ip)).transpose()?;
        let address = if host.name.starts_with('/') {
            Address::Socket(PathBuf::from(host.name), port)
        } else if host.name.starts_with('@') {
            let cause = format!("target `{url}` names an abstract socket");
            return Err(UserError::usage(cause)
                .with_hint("name its directory in the file system, or a host"));
        } else {
            Address::Tcp(host.name, port)
        };
        found.push((address, ip));
    }
    Ok(found)
}

fn miscounted(url: &TargetUrl, count: usize, of: &str, hosts: usize) -> UserError {
    UserError::usage(format!("target `{url}` has {count} {of} for {hosts} hosts"))
        .with_hint("give one for each host")
}

fn parse_address(text: &str) -> Result<IpAddr, UserError> {
    text.parse().map_err(|_| {
        UserError::usage(format!("`hostaddr={text}` is not an IP address"))
            .with_hint("hostaddr is an address such as 10.0.0.1; `host` takes names")
    })
}

fn parse_port(text: &str) -> Result<u16, UserError> {
    text.parse().map_err(|_| {
        UserError::usage(format!("`{text}` is not a port"))
            .with_hint("a port is a number from 1 to 65535 (`port` of the URL, or PGPORT)")
    })
}

/// How a lost peer is detected; absent values mean the system's default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TcpOptions {
    /// Whether an idle connection is probed.
    keepalives: bool,
    /// Seconds without traffic before the first probe.
    idle: Option<u64>,
    /// Seconds between two probes.
    interval: Option<u64>,
    /// Probes without a response after which the connection is lost.
    count: Option<u32>,
    /// Maximum time for which sent bytes may be unacknowledged.
    user_timeout: Option<Duration>,
}

impl TcpOptions {
    /// The given options; 0 means the system's default, as in libpq.
    fn of_settings(given: impl Fn(&str) -> Option<String>) -> Result<Self, UserError> {
        let number = |name: &str| -> Result<Option<u64>, UserError> {
            let Some(text) = given(name) else {
                return Ok(None);
            };
            // libpq treats a negative number as 0.
            let value = text.trim().parse::<i32>().map_err(|_| {
                UserError::usage(format!("`{name}={text}` is not a whole number"))
                    .with_hint("0 is the default of the operating system")
            })?;
            Ok(u64::try_from(value).ok().filter(|value| *value > 0))
        };
        let count = number("keepalives_count")?;
        Ok(Self {
            keepalives: given("keepalives").is_none() || number("keepalives")?.is_some(),
            idle: number("keepalives_idle")?,
            interval: number("keepalives_interval")?,
            count: count.and_then(|count| u32::try_from(count).ok()),
            user_timeout: number("tcp_user_timeout")?.map(Duration::from_millis),
        })
    }

    /// Applies them to a connection.
    pub(crate) fn apply(self, stream: &TcpStream) -> io::Result<()> {
        let socket = SockRef::from(stream);
        // Without the option, as libpq does, the system's own limit counts.
        #[cfg(target_os = "linux")]
        if self.user_timeout.is_some() {
            socket.set_tcp_user_timeout(self.user_timeout)?;
        }
        if !self.keepalives {
            return Ok(());
        }
        let mut keepalive = TcpKeepalive::new();
        if let Some(seconds) = self.idle {
            keepalive = keepalive.with_time(Duration::from_secs(seconds));
        }
        if let Some(seconds) = self.interval {
            keepalive = keepalive.with_interval(Duration::from_secs(seconds));
        }
        if let Some(count) = self.count {
            keepalive = keepalive.with_retries(count);
        }
        socket.set_tcp_keepalive(&keepalive)
    }
}
