//! From a target URL and the environment to what a connection needs: hosts, login, TLS.
//!
//! No I/O here: files that are named are read at the first connection.

use std::path::PathBuf;
use std::sync::Arc;

use highwater_model::units::Nanos;

use highwater_driver::contract::{TargetError, TargetOptions};
use highwater_driver::lingering::LingeringBackends;
use highwater_driver::network::{SslMode, Tls, TlsFiles, is_loopback};
use highwater_driver::target_url::{Environment, Host, Secret, TargetUrl};

/// Parameters of a URL that are understood; the names are libpq's.
const PARAMETERS: &[&str] = &[
    "application_name",
    "connect_timeout",
    "dbname",
    "host",
    "options",
    "passfile",
    "password",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];
/// Those that stand elsewhere in the URL that is shown.
const SERVER_PARAMETERS: &[&str] = &["dbname", "host", "port", "user"];
/// The port where neither URL nor environment names one.
const DEFAULT_PORT: u16 = 5432;
/// The scheme of URLs with another default, and that port.
const OTHER_PORT: (&str, u16) = ("cockroach", 26_257);

/// What all hosts of one URL share.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: Option<Secret>,
    /// Where passwords are looked up when none is given.
    pub(super) passfile: Option<PathBuf>,
    /// As named; a server knows what it means that none is.
    pub(super) database: Option<String>,
    /// As given; the default depends on the address.
    pub(super) sslmode: Option<SslMode>,
    pub(super) tls: TlsFiles,
    pub(super) application_name: String,
    /// Command-line options for the server, such as `-csearch_path=bench`.
    pub(super) options: Option<String>,
    pub(super) connect_timeout: Nanos,
}

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// Host and port.
    Tcp(String, u16),
    /// Directory of a Unix socket, and the port in its name.
    Socket(PathBuf, u16),
}

/// One server that sessions may talk to.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) login: Arc<Login>,
    pub(super) address: Address,
    /// The URL for display and records.
    pub(super) shown: String,
    /// Backends that we left and that may still work.
    pub(super) lingering: Arc<LingeringBackends>,
    pub(super) tls: Arc<Tls>,
}

impl Node {
    /// Whether the server runs on this machine.
    pub(super) fn is_local(&self) -> bool {
        match &self.address {
            Address::Socket(..) => true,
            Address::Tcp(host, _) => is_loopback(host),
        }
    }
}

/// The servers that one URL names.
pub(super) fn nodes(
    url: &TargetUrl,
    options: &TargetOptions,
    environment: Environment<'_>,
) -> Result<Vec<Node>, TargetError> {
    url.check_parameters(PARAMETERS)?;
    let login = Arc::new(login(url, options, environment)?);
    let shown_user = &login.user;
    let database = login.database.as_deref();
    let path = database.map_or(String::new(), |name| format!("/{name}"));
    let mut nodes = Vec::new();
    for address in addresses(url, environment)? {
        let (place, mode) = match &address {
            Address::Tcp(name, port) => {
                let parameters = url.parameters_but(SERVER_PARAMETERS, '?');
                let mode = login.sslmode.unwrap_or_else(|| SslMode::default_for(name));
                let host = Host::at(name, *port);
                (format!("{host}{path}{parameters}"), mode)
            }
            Address::Socket(directory, port) => {
                let (name, directory) = (database.unwrap_or_default(), directory.display());
                let parameters = url.parameters_but(SERVER_PARAMETERS, '&');
                let place = format!("/{name}?host={directory}&port={port}{parameters}");
                (place, SslMode::Disable)
            }
        };
        let tls = Tls::new(login.tls.clone(), mode);
        tls.check_files()?;
        nodes.push(Node {
            shown: format!("{}://{shown_user}@{place}", url.scheme),
            login: Arc::clone(&login),
            address,
            lingering: Arc::default(),
            tls: Arc::new(tls),
        });
    }
    Ok(nodes)
}

fn login(
    url: &TargetUrl,
    options: &TargetOptions,
    environment: Environment<'_>,
) -> Result<Login, TargetError> {
    let given = |name: &str| url.parameter(name).cloned();
    let user = url
        .named_user()
        .or_else(|| environment("PGUSER"))
        .or_else(|| environment("USER"))
        .or_else(|| environment("LOGNAME"))
        .unwrap_or_else(|| "postgres".to_owned());
    let path = Some(url.path.trim_end_matches('/').to_owned());
    let database = path
        .filter(|path| !path.is_empty())
        .or_else(|| given("dbname"))
        .or_else(|| environment("PGDATABASE"));
    let passfile = given("passfile")
        .or_else(|| environment("PGPASSFILE"))
        .map(PathBuf::from)
        .or_else(|| environment("HOME").map(|home| PathBuf::from(home).join(".pgpass")));
    // The names of libpq's variables are those of its parameters.
    let tls =
        |name: &str| given(name).or_else(|| environment(&format!("PG{}", name.to_uppercase())));
    Ok(Login {
        user,
        password: url.password_or(environment("PGPASSWORD")),
        passfile,
        database,
        sslmode: tls("sslmode")
            .map(|mode| SslMode::parse(&mode))
            .transpose()?,
        tls: TlsFiles::named(tls),
        application_name: given("application_name")
            .unwrap_or_else(|| options.application_name.clone()),
        options: given("options").or_else(|| environment("PGOPTIONS")),
        connect_timeout: url.connect_timeout(options.connect_timeout)?,
    })
}

fn addresses(url: &TargetUrl, environment: Environment<'_>) -> Result<Vec<Address>, TargetError> {
    let port = url.parameters.get("port").cloned();
    let port = match port.or_else(|| environment("PGPORT")) {
        None if url.scheme == OTHER_PORT.0 => OTHER_PORT.1,
        None => DEFAULT_PORT,
        Some(text) => parse_port(&text)?,
    };
    let mut hosts = url.hosts.clone();
    if hosts.is_empty() {
        let named = url.parameters.get("host").cloned();
        let named = named.or_else(|| environment("PGHOST"));
        let named = named.unwrap_or_else(|| "localhost".to_owned());
        hosts = named
            .split(',')
            .filter(|name| !name.is_empty())
            .map(Host::named)
            .collect();
    } else if url.parameters.contains_key("host") {
        return Err(
            TargetError::usage(format!("target `{url}` names its host twice"))
                .with_hint("leave out either the host of the URL or the parameter `host`"),
        );
    }
    if hosts.is_empty() {
        return Err(TargetError::usage(format!("target `{url}` names no host")));
    }
    Ok(hosts
        .into_iter()
        .map(|host| {
            let port = host.port.unwrap_or(port);
            if host.name.starts_with('/') {
                Address::Socket(PathBuf::from(host.name), port)
            } else {
                Address::Tcp(host.name, port)
            }
        })
        .collect())
}

fn parse_port(text: &str) -> Result<u16, TargetError> {
    text.parse().map_err(|_| {
        TargetError::usage(format!("`{text}` is not a port"))
            .with_hint("a port is a number from 1 to 65535 (`port` of the URL, or PGPORT)")
    })
}

#[cfg(test)]
mod tests;
