//! Converts a target URL and the environment to connection options: hosts, login, TLS, schema.
//!
//! No I/O: named files are read at the first connection.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use highwater_model::units::Nanos;

use super::stability::ClusterStability;
use highwater_driver::contract::TargetOptions;
use highwater_driver::http::checked_login;
use highwater_driver::network::{SslMode, Tls, TlsFiles};
use highwater_driver::target_url::{Environment, Host, Secret, TargetUrl};
use highwater_model::user_error::UserError;

/// Supported URL parameters; with libpq's names if it has them.
const PARAMETERS: &[&str] =
    &["connect_timeout", "gzip", "password", "sslcert", "sslkey", "sslmode", "sslrootcert", "user"];
/// The default port of CrateDB's HTTP endpoint.
const DEFAULT_PORT: u16 = 4200;
/// The scheme that enables TLS.
const TLS_SCHEME: &str = "crate+https";
/// The default schema, as in CrateDB.
const DEFAULT_SCHEMA: &str = "doc";
/// The default user, as in CrateDB.
const DEFAULT_USER: &str = "crate";

/// A server for sessions.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) host: String,
    pub(super) port: u16,
    /// The URL for display and records.
    pub(super) shown: String,
    /// The start of every request, up to the value of its length.
    pub(super) request: Arc<Secret>,
    pub(super) tls: Arc<Tls>,
    /// With `prefer` and `allow`: the first kind of connection was tried, and is not supported.
    pub(super) second_kind: Arc<AtomicBool>,
    /// Requests are compressed, at this level.
    pub(super) gzip: Option<u32>,
    pub(super) connect_timeout: Nanos,
    /// Shared by all nodes of the target.
    pub(super) stability: Arc<ClusterStability>,
}

/// The servers that one URL names.
pub(super) fn nodes(
    url: &TargetUrl,
    options: &TargetOptions,
    environment: Environment<'_>,
    stability: &Arc<ClusterStability>,
) -> Result<Vec<Node>, UserError> {
    url.check_parameters(PARAMETERS)?;
    let given = |name: &str| url.parameter(name);
    let user = url.named_user().unwrap_or_else(|| DEFAULT_USER.to_owned());
    let password = url.password_or(environment("CRATEDB_PASSWORD"));
    let sslmode = sslmode(url)?;
    let files = TlsFiles::named(|name| given(name).cloned());
    let gzip = given("gzip").map(|level| parse_gzip(level)).transpose()?;
    let connect_timeout = url.connect_timeout(options.connect_timeout)?;
    let schema = schema(url)?;
    let parameters = url.parameters_but(&["user"], '?');
    let local = [Host::named("localhost")];
    let hosts = if url.hosts.is_empty() { &local[..] } else { &url.hosts[..] };
    let mut nodes = Vec::new();
    for host in hosts {
        let port = host.port.unwrap_or(DEFAULT_PORT);
        let host = Host::at(&host.name, port);
        let mode = sslmode.unwrap_or_else(|| SslMode::default_for(&host.name));
        let tls = Tls::new(files.clone(), mode);
        tls.check_files()?;
        let head = request_head(&host, &user, password.as_ref(), &schema, gzip.is_some())?;
        nodes.push(Node {
            shown: format!("{}://{user}@{host}/{schema}{parameters}", url.scheme),
            host: host.name,
            port,
            request: Arc::new(head),
            tls: Arc::new(tls),
            second_kind: Arc::default(),
            gzip,
            connect_timeout,
            stability: Arc::clone(stability),
        });
    }
    Ok(nodes)
}

fn sslmode(url: &TargetUrl) -> Result<Option<SslMode>, UserError> {
    let mode = url.parameter("sslmode").map(|mode| SslMode::parse(mode)).transpose()?;
    if url.scheme != TLS_SCHEME {
        return Ok(mode);
    }
    match mode {
        None => Ok(Some(SslMode::VerifyFull)),
        Some(SslMode::Disable | SslMode::Allow | SslMode::Prefer) => Err(UserError::usage(
            format!("target `{url}`: `{TLS_SCHEME}` requires TLS, and this sslmode does not"),
        )
        .with_hint("use `?sslmode=require`, `verify-ca` or `verify-full`, or the scheme `crate`")),
        mode => Ok(mode),
    }
}

fn schema(url: &TargetUrl) -> Result<String, UserError> {
    let schema = url.path.trim_matches('/');
    if schema.is_empty() {
        return Ok(DEFAULT_SCHEMA.to_owned());
    }
    // It is inserted into a header unchanged.
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if schema.chars().all(plain) {
        Ok(schema.to_owned())
    } else {
        Err(UserError::usage(format!("target `{url}`: `{schema}` is not the name of a schema"))
            .with_hint(
                "a schema is made of letters, digits and underscores: `crate://host/SCHEMA`",
            ))
    }
}

fn request_head(
    host: &Host,
    user: &str,
    password: Option<&Secret>,
    schema: &str,
    gzip: bool,
) -> Result<Secret, UserError> {
    let mut head = format!(
        "POST /_sql HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Default-Schema: {schema}\r\n"
    );
    head.push_str(&checked_login(user, password)?);
    if gzip {
        head.push_str("Content-Encoding: gzip\r\n");
    }
    head.push_str("Content-Length: ");
    Ok(Secret::new(head))
}

fn parse_gzip(text: &str) -> Result<u32, UserError> {
    let level = text.parse::<u32>().ok();
    let level = level.filter(|level| (1..=9).contains(level));
    level.ok_or_else(|| {
        UserError::usage(format!("`gzip={text}` is not a level of compression"))
            .with_hint("a level is a number from 1 (fast) to 9 (small)")
    })
}

#[cfg(test)]
mod tests;
