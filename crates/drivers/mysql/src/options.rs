//! Converts a target URL and the environment to connection options: hosts, login, TLS.
//!
//! No I/O: named files are read at the first connection.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use highwater_model::units::Nanos;

use highwater_driver::contract::{Listener, TargetOptions};
use highwater_driver::network::{SslMode, Tls, TlsFiles, local_listener};
use highwater_driver::target_url::{Environment, Host, Secret, TargetUrl};
use highwater_driver::time_limit::LingeringBackends;
use highwater_model::user_error::UserError;

/// Supported URL parameters.
const PARAMETERS: &[&str] = &[
    "connect_timeout",
    "password",
    "socket",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];
/// Parameters that are elsewhere in the displayed URL.
const SERVER_PARAMETERS: &[&str] = &["user"];
/// The default port, if neither URL nor environment sets one.
const DEFAULT_PORT: u16 = 3306;

/// Shared by all hosts of one URL.
#[derive(Debug)]
pub(super) struct Login {
    pub(super) user: String,
    pub(super) password: Option<Secret>,
    /// File with the password if none is given.
    pub(super) option_file: Option<PathBuf>,
    pub(super) database: String,
    pub(super) application_name: String,
    pub(super) connect_timeout: Nanos,
}

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Address {
    /// Host and port.
    Tcp(String, u16),
    /// A socket in the file system.
    Socket(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) => write!(out, "{host}:{port}"),
            Self::Socket(path) => write!(out, "{}", path.display()),
        }
    }
}

/// A server for sessions.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) login: Arc<Login>,
    pub(super) address: Address,
    /// The URL for display and records.
    pub(super) shown: String,
    /// Closed connections whose statements may still be running.
    pub(super) lingering: Arc<LingeringBackends>,
    pub(super) tls: Arc<Tls>,
}

impl Node {
    /// Whether the server runs on this machine.
    pub(super) fn is_local(&self) -> bool {
        self.listener().is_some()
    }

    /// Where the server listens, if it runs on this machine.
    pub(super) fn listener(&self) -> Option<Listener> {
        match &self.address {
            Address::Socket(path) => Some(Listener::Socket(path.clone())),
            Address::Tcp(host, port) => local_listener(host, *port),
        }
    }
}

/// The servers that one URL names.
pub(super) fn nodes(
    url: &TargetUrl,
    options: &TargetOptions,
    environment: Environment<'_>,
) -> Result<Vec<Node>, UserError> {
    url.check_parameters(PARAMETERS)?;
    let given = |name: &str| url.parameter(name).cloned();
    let login = Arc::new(login(url, options, environment)?);
    let sslmode = given("sslmode");
    let sslmode = sslmode.map(|mode| SslMode::parse(&mode)).transpose()?;
    let files = TlsFiles::named(given);
    let mut nodes = Vec::new();
    for address in addresses(url, environment)? {
        let (place, mode) = match &address {
            Address::Tcp(name, port) => {
                let mode = sslmode.unwrap_or_else(|| SslMode::default_for(name));
                (Host::at(name, *port).to_string(), mode)
            }
            Address::Socket(_) => ("localhost".to_owned(), SslMode::Disable),
        };
        let tls = Tls::new(files.clone(), mode);
        tls.check_files()?;
        nodes.push(Node {
            shown: format!(
                "{}://{}@{place}/{}{}",
                url.scheme,
                login.user,
                login.database,
                url.parameters_but(SERVER_PARAMETERS, '?')
            ),
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
) -> Result<Login, UserError> {
    let user = url
        .named_user()
        .or_else(|| environment("USER"))
        .or_else(|| environment("LOGNAME"))
        .unwrap_or_else(|| "root".to_owned());
    let database = url.path.trim_matches('/').to_owned();
    if database.is_empty() {
        return Err(UserError::usage(format!("target `{url}` names no database"))
            .with_hint("name one that is there: `…/NAME`"));
    }
    Ok(Login {
        user,
        password: url.password_or(environment("MYSQL_PWD")),
        option_file: environment("HOME").map(|home| PathBuf::from(home).join(".my.cnf")),
        database,
        application_name: options.application_name.clone(),
        connect_timeout: url.connect_timeout(options.connect_timeout)?,
    })
}

fn addresses(url: &TargetUrl, environment: Environment<'_>) -> Result<Vec<Address>, UserError> {
    if let Some(socket) = url.parameters.get("socket") {
        if url.hosts.iter().any(|host| host.name != "localhost") {
            let error = UserError::usage(format!("target `{url}` names a host and a socket"));
            return Err(error.with_hint("leave out one of the two"));
        }
        return Ok(vec![Address::Socket(PathBuf::from(socket))]);
    }
    let port = match environment("MYSQL_TCP_PORT") {
        None => DEFAULT_PORT,
        Some(text) => text.parse().map_err(|_| {
            UserError::usage(format!("MYSQL_TCP_PORT: `{text}` is not a port"))
                .with_hint("a port is a number from 1 to 65535")
        })?,
    };
    let mut addresses: Vec<Address> = url
        .hosts
        .clone()
        .into_iter()
        .map(|host| Address::Tcp(host.name, host.port.unwrap_or(port)))
        .collect();
    if addresses.is_empty() {
        let host = environment("MYSQL_HOST").unwrap_or_else(|| "localhost".to_owned());
        addresses.push(Address::Tcp(host, port));
    }
    Ok(addresses)
}

#[cfg(test)]
mod tests {
    use highwater_model::units::Seed;

    use super::*;

    fn read(text: &str, environment: &[(&str, &str)]) -> Result<Vec<Node>, UserError> {
        let options = TargetOptions {
            insert: None,
            data_directory: None,
            leases_directory: None,
            application_name: "test".to_owned(),
            seed: Seed(1),
            connect_timeout: Nanos::from_secs(10),
        };
        let value = |name: &str| {
            let mut found = environment.iter();
            found.find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        nodes(&TargetUrl::parse(text)?, &options, &value)
    }

    #[test]
    fn a_url_names_hosts_user_and_database_and_the_environment_the_rest() {
        for (text, environment, shown) in [
            (
                "mysql://ann@h1:3307,h2/bench",
                &[][..],
                &["mysql://ann@h1:3307/bench", "mysql://ann@h2:3306/bench"][..],
            ),
            (
                "mariadb:///bench?user=bob&sslmode=require",
                &[("MYSQL_HOST", "db.example"), ("MYSQL_TCP_PORT", "33")],
                &["mariadb://bob@db.example:33/bench?sslmode=require"],
            ),
            (
                "mysql://ann:geheim@localhost/bench?socket=/run/my.sock",
                &[],
                &["mysql://ann@localhost/bench?socket=/run/my.sock"],
            ),
            ("mysql://[::1]/b", &[("USER", "eve")], &["mysql://eve@[::1]:3306/b"]),
        ] {
            let nodes = read(text, environment).unwrap();
            let found: Vec<&str> = nodes.iter().map(|node| node.shown.as_str()).collect();
            assert_eq!(found, shown);
        }
    }

    #[test]
    fn the_password_is_the_url_s_or_that_of_the_environment() {
        let password = |text, environment: &[(&str, &str)]| {
            let nodes = read(text, environment).unwrap();
            let password = nodes[0].login.password.as_ref();
            password.map(|password| password.reveal().to_owned())
        };
        let variable = [("MYSQL_PWD", "two")];
        assert_eq!(password("mysql://a:one@h/b", &variable).as_deref(), Some("one"));
        assert_eq!(password("mysql://a@h/b", &variable).as_deref(), Some("two"));
        assert_eq!(password("mysql://a@h/b", &[]), None);
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_hint() {
        for text in [
            "mysql://h",
            "mysql://h/b?socket=/s",
            "mysql://h/b?charset=latin1",
            "mysql://h/b?sslmode=sometimes",
            "mysql://h/b?connect_timeout=soon",
        ] {
            let error = read(text, &[]).unwrap_err();
            assert!(error.hint.is_some(), "{error}");
        }
        assert!(read("mysql://h/b", &[("MYSQL_TCP_PORT", "x")]).is_err());
    }
}
