//! Converts a target URL and the environment to connection options: host, login, TLS, database.
//!
//! No I/O: named files are read at the first connection.

use std::sync::{Arc, OnceLock};

use highwater_driver::contract::TargetOptions;
use highwater_driver::http::checked_login;
use highwater_driver::network::{SslMode, Tls, TlsFiles};
use highwater_driver::target_url::{Environment, Host, Secret, TargetUrl};
use highwater_driver::time_limit::LingeringBackends;
use highwater_model::units::Nanos;
use highwater_model::user_error::UserError;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::spools::Spooling;

/// Supported URL parameters; with libpq's names if it has them.
const PARAMETERS: &[&str] = &[
    "connect_timeout",
    INITIATOR,
    "password",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];
/// The parameter that sends all sessions to one server.
const INITIATOR: &str = "initiator";
/// The default port of ClickHouse's HTTP interface.
const DEFAULT_PORT: u16 = 8123;
/// The default port with TLS, which is a separate one.
const DEFAULT_TLS_PORT: u16 = 8443;
/// The scheme that enables TLS.
const TLS_SCHEME: &str = "clickhouse+https";
/// Default user and database, as in ClickHouse.
const DEFAULT: &str = "default";

/// A server for sessions.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) host: String,
    pub(super) port: u16,
    /// The URL for display and records.
    pub(super) shown: String,
    /// The database of the URL.
    pub(super) database: String,
    /// The name of this program's connections, as the server lists it.
    pub(super) application_name: String,
    /// The path of each request, up to its settings.
    pub(super) path: String,
    /// Whether all sessions use the first server, which forwards rows.
    pub(super) is_behind_first: bool,
    /// Follows the path in each request, up to the value of its length.
    pub(super) headers: Arc<Secret>,
    pub(super) tls: Arc<Tls>,
    pub(super) connect_timeout: Nanos,
    /// The settings of Highwater that the server knows, once queried.
    pub(super) known: Arc<OnceLock<Vec<String>>>,
    /// Whether acknowledged rows may wait to be forwarded.
    pub(super) spooling: Spooling,
    /// Closed connections whose requests may still be running.
    pub(super) lingering: Arc<LingeringBackends>,
}

impl Node {
    /// The server's address as listed in its cluster.
    pub(super) fn address(&self) -> String {
        Host::at(&self.host, self.port).to_string()
    }

    /// The database of a cluster server's own tables: the tables of [`Self::database`] are `Distributed` over all
    /// servers.
    pub(super) fn own_database(&self) -> String {
        format!("{}_local", self.database)
    }

    /// The same server, for statements on its own tables.
    pub(super) fn with_own_tables(&self) -> Self {
        Self { path: path(&self.own_database()), ..self.clone() }
    }
}

/// The path of each request, up to its settings.
fn path(database: &str) -> String {
    let encoded = utf8_percent_encode(database, NON_ALPHANUMERIC);
    format!("/?database={encoded}")
}

/// The servers that one URL names.
pub(super) fn nodes(
    url: &TargetUrl,
    options: &TargetOptions,
    environment: Environment<'_>,
) -> Result<Vec<Node>, UserError> {
    url.check_parameters(PARAMETERS)?;
    let user = url.named_user().unwrap_or_else(|| DEFAULT.to_owned());
    let password = url.password_or(environment("CLICKHOUSE_PASSWORD"));
    let login = checked_login(&user, password.as_ref())?;
    let mode = sslmode(url)?;
    let files = TlsFiles::named(|name| url.parameter(name).cloned());
    let connect_timeout = url.connect_timeout(options.connect_timeout)?;
    let is_behind_first = is_behind_first(url)?;
    let database = match url.path.trim_matches('/') {
        "" => DEFAULT,
        named => named,
    };
    let application_name = header_text(&options.application_name);
    let parameters = url.parameters_but(&["user"], '?');
    let mut nodes = Vec::new();
    for host in hosts(url) {
        let tls = Tls::new(files.clone(), mode);
        tls.check_files()?;
        nodes.push(Node {
            shown: format!("{}://{user}@{host}/{database}{parameters}", url.scheme),
            port: host.port.unwrap_or(DEFAULT_PORT),
            headers: Arc::new(headers(&host, &login, &application_name)),
            database: database.to_owned(),
            application_name: application_name.clone(),
            path: path(database),
            is_behind_first,
            host: host.name,
            tls: Arc::new(tls),
            connect_timeout,
            known: Arc::default(),
            spooling: Spooling::default(),
            lingering: Arc::default(),
        });
    }
    Ok(nodes)
}

fn is_behind_first(url: &TargetUrl) -> Result<bool, UserError> {
    match url.parameter(INITIATOR).map(String::as_str) {
        None => Ok(false),
        Some("first") => Ok(true),
        Some(_) => Err(
            UserError::usage(format!("target `{url}`: this is no {INITIATOR}")).with_hint(format!(
                "`{INITIATOR}=first` gives all sessions to the first host; without it they take the hosts in turn"
            )),
        ),
    }
}

fn sslmode(url: &TargetUrl) -> Result<SslMode, UserError> {
    let mode = url.parameter("sslmode");
    let mode = mode.map(|mode| SslMode::parse(mode)).transpose()?;
    let is_tls = url.scheme == TLS_SCHEME;
    match mode {
        None if is_tls => Ok(SslMode::VerifyFull),
        None | Some(SslMode::Disable) if !is_tls => Ok(SslMode::Disable),
        Some(mode @ (SslMode::Require | SslMode::VerifyCa | SslMode::VerifyFull)) if is_tls => {
            Ok(mode)
        }
        _ => Err(UserError::usage(format!(
            "target `{url}`: the scheme `{}` and this sslmode contradict each other",
            url.scheme
        ))
        .with_hint(format!(
            "TLS has a port of its own: `{TLS_SCHEME}://host:{DEFAULT_TLS_PORT}/…`, with sslmode \
             require, verify-ca or verify-full; `clickhouse://…` is without TLS"
        ))),
    }
}

/// Each with its port.
fn hosts(url: &TargetUrl) -> Vec<Host> {
    let usual = if url.scheme == TLS_SCHEME { DEFAULT_TLS_PORT } else { DEFAULT_PORT };
    let mut hosts = url.hosts.clone();
    if hosts.is_empty() {
        hosts.push(Host::named("localhost"));
    }
    for host in &mut hosts {
        host.port.get_or_insert(usual);
    }
    hosts
}

/// The characters of a text that are allowed in a header.
fn header_text(text: &str) -> String {
    let plain = |c: &char| c.is_ascii_graphic() || *c == ' ';
    text.chars().filter(plain).collect()
}

/// A constant part of all requests. Contains the password.
fn headers(host: &Host, login: &str, name: &str) -> Secret {
    Secret::new(format!(
        " HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {name}\r\n{login}Content-Length: "
    ))
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use highwater_model::units::Seed;

    use super::*;

    fn read(text: &str, environment: &[(&str, &str)]) -> Result<Vec<Node>, UserError> {
        let options = TargetOptions {
            insert: None,
            data_directory: None,
            leases_directory: None,
            application_name: "highwater\r\n 7".to_owned(),
            seed: Seed(1),
            connect_timeout: Nanos::from_secs(10),
        };
        let value = |name: &str| {
            let mut found = environment.iter();
            let found = found.find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        nodes(&TargetUrl::parse(text)?, &options, &value)
    }

    #[test]
    fn a_url_names_host_user_and_database_and_defaults_are_those_of_the_server() {
        for (text, shown, path) in [
            (
                "clickhouse://ann@h1:8124/bench",
                "clickhouse://ann@h1:8124/bench",
                "/?database=bench",
            ),
            ("clickhouse://h1", "clickhouse://default@h1:8123/default", "/?database=default"),
            (
                "clickhouse+https://h1/my%20db?user=bob&sslmode=require",
                "clickhouse+https://bob@h1:8443/my db?sslmode=require",
                "/?database=my%20db",
            ),
            ("clickhouse:", "clickhouse://default@localhost:8123/default", "/?database=default"),
        ] {
            let nodes = read(text, &[]).unwrap();
            let found = (nodes[0].shown.as_str(), nodes[0].path.as_str());
            assert_eq!(found, (shown, path));
            let own = nodes[0].with_own_tables();
            assert_eq!(own.path, format!("{path}%5Flocal"));
        }
    }

    #[test]
    fn user_and_password_are_sent_in_a_header_and_shown_nowhere() {
        let variable = [("CLICKHOUSE_PASSWORD", "zwei!")];
        for (text, environment, login) in [
            ("clickhouse://a:eins!@h/b", &variable[..], "a:eins!"),
            ("clickhouse://a@h/b", &variable, "a:zwei!"),
            ("clickhouse://a@h/b", &[], "a:"),
        ] {
            let nodes = read(text, environment).unwrap();
            let headers = nodes[0].headers.reveal();
            let login = format!("Authorization: Basic {}\r\n", STANDARD.encode(login));
            assert!(headers.contains(&login), "{headers}");
            assert!(headers.contains("User-Agent: highwater 7\r\n"), "{headers}");
            let debug = format!("{:?}", nodes[0]);
            assert!(!debug.contains("eins!") && !debug.contains("zwei!"), "{debug}");
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_a_hint() {
        for text in [
            "clickhouse://h/b?gzip=1",
            "clickhouse://h/b?sslmode=require",
            "clickhouse+https://h/b?sslmode=prefer",
            "clickhouse://h/b?connect_timeout=soon",
        ] {
            let error = read(text, &[]).unwrap_err();
            assert!(error.hint.is_some(), "{error}");
        }
    }
}
