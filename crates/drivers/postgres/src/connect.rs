//! From an address to an authenticated connection: TCP or socket, TLS, start-up, password.
//!
//! Secrets go to the wire and nowhere else.

use std::rc::Rc;

use bytes::BytesMut;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use super::errors::{Failure, ServerError};
use super::message;
use super::options::{Address, Node};
use super::password::password;
use super::wire::Connection;
use highwater_driver::contract::{TargetError, TargetErrorKind, Timeline};
use highwater_driver::failure;
use highwater_driver::network::{
    AttemptError, SslMode, Stream, by_kind, connect_tcp, first_bytes, no_tls, unreachable,
};
use highwater_driver::sql::dialect::Dialect;
use highwater_driver::time_limit;

/// A connection that is ready for queries.
pub(super) struct Opened {
    pub(super) connection: Connection,
    /// From the parameters that the server reported.
    pub(super) dialect: Dialect,
    /// Why the server cannot run COPY as a whole, if so.
    pub(super) copies: Result<(), &'static str>,
}

/// Connects within the login's bound.
pub(super) async fn open(node: &Node, timeline: &Rc<dyn Timeline>) -> Result<Opened, TargetError> {
    let attempt = async |encrypted| attempt(node, encrypted).await;
    let opening = by_kind(&node.tls, &node.shown, attempt);
    let bound = node.login.connect_timeout;
    time_limit::connected(timeline, bound, &node.shown, opening).await
}

/// The error of a first contact; where something else answers, it says what.
pub(super) async fn explained(
    error: TargetError,
    node: &Node,
    timeline: &Rc<dyn Timeline>,
) -> TargetError {
    let request = b"GET / HTTP/1.0\r\n\r\n";
    if error.kind == TargetErrorKind::Unreachable
        && let Address::Tcp(host, port) = &node.address
        && let Some(answer) = first_bytes(host, *port, request, timeline).await
        && answer.starts_with(b"HTTP/")
    {
        let place = &node.shown;
        let cause = "an HTTP server answers there, not one with the PostgreSQL protocol";
        return TargetError::unreachable(format!("{place}: {cause}")).with_hint(
            "give the port of that protocol (mostly 5432); `crate://` is for CrateDB over HTTP",
        );
    }
    error
}

async fn attempt(node: &Node, encrypted: bool) -> Result<Opened, AttemptError> {
    let stream = connect(node, encrypted).await?;
    let started = start_up(node, Connection::new(stream)).await;
    started.map_err(|error| match error {
        StartUpError::Client(error) => error.into(),
        StartUpError::Server(failure) => AttemptError {
            other_kind: matches!(&failure, Failure::Server(error) if error.code == "28000"),
            error: failure.into_target_error(&node.shown),
        },
    })
}

async fn connect(node: &Node, encrypted: bool) -> Result<Stream, AttemptError> {
    let place = &node.shown;
    let failed = |error| AttemptError::from(unreachable(place, &error));
    let other_may_do = |error| AttemptError {
        error,
        other_kind: true,
    };
    let (host, port) = match &node.address {
        Address::Socket(directory, port) => {
            let path = directory.join(format!(".s.PGSQL.{port}"));
            let stream = UnixStream::connect(path).await;
            return stream.map(Stream::Unix).map_err(failed);
        }
        Address::Tcp(host, port) => (host, *port),
    };
    let mut stream = connect_tcp(place, host, port).await?;
    if !encrypted {
        return Ok(Stream::Tcp(stream));
    }
    let mut request = BytesMut::new();
    frontend::ssl_request(&mut request);
    stream.write_all(&request).await.map_err(failed)?;
    let answer = stream.read_u8().await.map_err(failed)?;
    match (answer, node.tls.mode()) {
        (b'S', _) => {
            let secured = node.tls.handshake(place, host, stream).await;
            let secured = secured.map(|stream| Stream::Tls(Box::new(stream)));
            secured.map_err(other_may_do)
        }
        (b'N', SslMode::Prefer) => Ok(Stream::Tcp(stream)),
        (b'N', _) => Err(other_may_do(no_tls(place))),
        _ => Err(TargetError::unreachable(format!(
            "{place}: what answers there does not speak the PostgreSQL protocol"
        ))
        .into()),
    }
}

/// Why start-up failed.
type StartUpError = failure::LoginError<ServerError>;

async fn start_up(node: &Node, mut connection: Connection) -> Result<Opened, StartUpError> {
    let login = &node.login;
    let mut parameters = vec![
        ("user", login.user.as_str()),
        ("application_name", login.application_name.as_str()),
        ("client_encoding", "UTF8"),
        // Timestamps without a zone compare with our parameters as UTC, whatever the machine.
        ("TimeZone", "UTC"),
    ];
    let database = login.database.as_deref();
    parameters.extend(database.map(|name| ("database", name)));
    parameters.extend(login.options.as_deref().map(|options| ("options", options)));
    let mut request = BytesMut::new();
    frontend::startup_message(parameters, &mut request)?;
    connection.send(&request).await?;
    authenticate(node, &mut connection).await?;
    let mut dialect = Dialect::PostgreSql;
    let mut version = String::new();
    let mut backend = None;
    loop {
        let message = connection.next().await?;
        match message.tag {
            b'Z' => break,
            b'E' => return Err(server_error(message.body)),
            b'K' => backend = message.body.first_chunk::<4>().copied(),
            b'S' => {
                let mut texts = message.body.split(|byte| *byte == 0);
                let mut next = || String::from_utf8_lossy(texts.next().unwrap_or_default());
                let (name, value) = (next(), next());
                if let Some(reported) = Dialect::of_parameter(&name, &value) {
                    dialect = reported;
                    version = value.into_owned();
                }
            }
            _ => {}
        }
    }
    if let Some(backend) = backend {
        connection.set_backend(i32::from_be_bytes(backend).into(), &node.lingering);
    }
    let unnamed = database.is_none();
    let selecting = dialect.without_database().filter(|_| unnamed);
    for statement in selecting.into_iter().chain(dialect.at_start()) {
        let mut request = Vec::new();
        message::query(&mut request, statement);
        let answered = connection.request(&request, |_| Ok(())).await;
        answered.map_err(StartUpError::Server)?;
    }
    Ok(Opened {
        connection,
        dialect,
        copies: dialect.copies(&version),
    })
}

fn server_error(body: &[u8]) -> StartUpError {
    StartUpError::Server(Failure::Server(ServerError::read(body)))
}

/// Codes of what an authentication message asks for.
const OK: u32 = 0;
const CLEAR_TEXT: u32 = 3;
const MD5: u32 = 5;
const SASL: u32 = 10;
const SASL_CONTINUE: u32 = 11;
const SASL_FINAL: u32 = 12;

async fn authenticate(node: &Node, connection: &mut Connection) -> Result<(), StartUpError> {
    let mut scram: Option<ScramSha256> = None;
    let mut request = BytesMut::new();
    loop {
        let message = connection.next().await?;
        let body = match message.tag {
            b'R' => message.body,
            b'E' => return Err(server_error(message.body)),
            _ => continue,
        };
        let request_of = body.split_first_chunk::<4>();
        let (code, data) = request_of.unwrap_or((&[u8::MAX; 4], &[]));
        request.clear();
        match (
            u32::from_be_bytes(*code),
            data.first_chunk::<4>(),
            &mut scram,
        ) {
            (OK, _, None) => return Ok(()),
            // A server that skips its proof is not the one that knows the password.
            (OK, _, Some(_)) => return Err(unproven(node)),
            (CLEAR_TEXT, _, None) => {
                frontend::password_message(password(node)?.reveal().as_bytes(), &mut request)?;
            }
            (MD5, Some(salt), None) => {
                let secret = password(node)?;
                let user = node.login.user.as_bytes();
                let hash = md5_hash(user, secret.reveal().as_bytes(), *salt);
                frontend::password_message(hash.as_bytes(), &mut request)?;
            }
            (SASL, _, None) => {
                let mut mechanisms = data.split(|b| *b == 0);
                if !mechanisms.any(|name| name == SCRAM_SHA_256.as_bytes()) {
                    return Err(unsupported(
                        node,
                        "a SASL mechanism other than SCRAM-SHA-256",
                    ));
                }
                let secret = password(node)?;
                let state =
                    ScramSha256::new(secret.reveal().as_bytes(), ChannelBinding::unsupported());
                frontend::sasl_initial_response(SCRAM_SHA_256, state.message(), &mut request)?;
                scram = Some(state);
            }
            (SASL_CONTINUE, _, Some(state)) => {
                state.update(data)?;
                frontend::sasl_response(state.message(), &mut request)?;
            }
            (SASL_FINAL, _, Some(state)) => {
                state.finish(data).map_err(|_| unproven(node))?;
                scram = None;
                continue;
            }
            (CLEAR_TEXT | SASL..=SASL_FINAL, ..) | (MD5, Some(_), _) => {
                return Err(unsupported(node, "authentication messages out of order"));
            }
            (code, ..) => {
                return Err(unsupported(node, &format!("authentication method {code}")));
            }
        }
        connection.send(&request).await?;
    }
}

fn unproven(node: &Node) -> StartUpError {
    let place = &node.shown;
    StartUpError::Client(TargetError::refused(format!(
        "{place}: the server did not prove that it knows the password"
    )))
}

fn unsupported(node: &Node, what: &str) -> StartUpError {
    let error = TargetError::refused(format!("{}: the server requires {what}", node.shown))
        .with_hint("password (clear text, MD5, SCRAM-SHA-256) and trust are spoken");
    StartUpError::Client(error)
}
